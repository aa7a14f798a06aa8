//! The laws of lengths, as written and as written back.

use super::*;
use crate::distribution::{Bounds, Law};

/// The law written under `output.max_tokens`.
fn law(text: &str) -> Result<Distribution, String> {
    let scenario = read_with(MINIMAL, &set(&[&format!("workload.w.output.max_tokens={text}")]))?;
    assert_eq!(again(&scenario), scenario, "{text}");
    Ok(scenario.workloads[0].max_tokens.clone())
}

#[test]
fn every_law_is_read_and_written_back() {
    let bounds = |min, max| Bounds { min, max };
    let most = u32::MAX.into();
    let drawn = |law, bounds| Ok(Distribution::Drawn { law, bounds });
    let normal = Law::Normal { mean: 1_000.0, sd: 200.5 };
    assert_eq!(law("{ fixed = \"1Ki\" }"), Ok(Distribution::Fixed(1_024)));
    assert_eq!(law("{ normal = { mean = 1000, sd = 200.5 } }"), drawn(normal, bounds(1, most)));
    let lognormal = Law::Lognormal { median: 8_000.0, sigma: 0.8 };
    let text = "{ lognormal = { median = 8000, sigma = 0.8, min = \"4Ki\", max = \"120Ki\" } }";
    assert_eq!(law(text), drawn(lognormal, bounds(4_096, 122_880)));
    let by_p99 = law("{ lognormal = { median = 100, p99 = 1000 } }");
    assert_eq!(by_p99, drawn(Law::lognormal_by_p99(100.0, 1_000.0), bounds(1, most)));
    let gamma = Law::Gamma { mean: 250.0, cv: 0.5 };
    assert_eq!(law("{ gamma = { mean = 250, cv = 0.5, max = 900 } }"), drawn(gamma, bounds(1, 900)));
    let zipf = Distribution::zipf(1.1, 16, 4_096).unwrap();
    assert_eq!(law("{ zipf = { exponent = 1.1, min = 16, max = \"4Ki\" } }"), Ok(zipf.clone()));
    let values = |weighted: &[(u64, f64)]| Ok(Distribution::values(weighted).unwrap());
    assert_eq!(law("{ values = [5, \"1k\"] }"), values(&[(5, 1.0), (1_000, 1.0)]));
    assert_eq!(law("{ values = { of = [5, 9], weights = [3, 0.5] } }"), values(&[(5, 3.0), (9, 0.5)]));
    let mix = vec![(Distribution::Fixed(7), 3.0), (zipf, 1.0)];
    let text = "{ mix = [{ weight = 3, fixed = 7 }, { zipf = { exponent = 1.1, min = 16, max = 4096 } }] }";
    assert_eq!(law(text), Ok(Distribution::mix(mix).unwrap()));
}

/// The workload of `MINIMAL` with `text` for its prompt.
fn workload(text: &str) -> Workload {
    let scenario = read(&MINIMAL.replace("prompt.synthetic.words = 200", text));
    let scenario = scenario.unwrap_or_else(|problems| panic!("{text}: {problems}"));
    // A path in the resolved form is one from where it was read, and its folder has gone.
    if !text.contains("path") {
        assert_eq!(again(&scenario), scenario, "{text}");
    }
    scenario.workloads[0].clone()
}

#[test]
fn prompts_of_tokens_and_what_they_share_are_read_and_written_back() {
    let prompt = |shared_prefix| {
        let tokens = Distribution::Fixed(8_192);
        PromptSource::Tokens(TokenPrompts {
            tokens,
            joint_output: None,
            shared_prefix,
            material: Material::Words,
        })
    };
    assert_eq!(workload("prompt.synthetic.tokens = \"8Ki\"").prompt, prompt(None));
    let prefix = |popularity| Some(SharedPrefix { tokens: 2_048, groups: 16, popularity, fill: true });
    for (text, popularity) in [
        ("", Popularity::Uniform),
        (", popularity = \"round_robin\"", Popularity::RoundRobin),
        (", popularity.zipf = 1.1", Popularity::Zipf(1.1)),
    ] {
        let shared = format!("{{ tokens = 2048, groups = 16, fill = true{text} }}");
        let text = format!("prompt.synthetic = {{ tokens = 8192, shared_prefix = {shared} }}");
        assert_eq!(workload(&text).prompt, prompt(prefix(popularity)));
    }
    let alone = SharedPrefix { tokens: 64, groups: 1, popularity: Popularity::Uniform, fill: false };
    assert_eq!(
        workload("prompt.synthetic = { tokens = 8192, shared_prefix = 64 }").prompt,
        prompt(Some(alone))
    );
}

#[test]
fn pairs_of_lengths_are_read_and_written_back() {
    let joint = workload(
        "prompt.synthetic.joint = { prompt = [500, \"8Ki\"], output = [400, 50], weights = [3, 0.5] }",
    );
    let values = |weighted: &[(u64, f64)]| Distribution::values(weighted).unwrap();
    let output = values(&[(400, 3.0), (50, 0.5)]);
    let tokens = values(&[(500, 3.0), (8_192, 0.5)]);
    let prompts = TokenPrompts {
        tokens,
        joint_output: Some(output.clone()),
        shared_prefix: None,
        material: Material::Words,
    };
    assert_eq!((joint.prompt, joint.max_tokens), (PromptSource::Tokens(prompts), output));
}

#[test]
fn the_cache_policy_follows_from_the_prompts_unless_it_is_stated() {
    for (text, policy) in [
        ("prompt.synthetic.words = 5", CachePolicy::Cold),
        ("prompt.synthetic.tokens = 5", CachePolicy::Cold),
        ("prompt.synthetic.words = 5\nsystem = \"Be brief.\"", CachePolicy::Shared),
        ("prompt.synthetic.tokens = 50\nsystem.tokens = 20", CachePolicy::Shared),
        ("prompt.synthetic = { tokens = 50, shared_prefix = 20 }", CachePolicy::Shared),
        ("prompt.synthetic = { tokens = 50, shared_prefix = 20 }\ncache = \"cold\"", CachePolicy::Cold),
        ("prompt.dataset = \"rows.jsonl\"", CachePolicy::Natural),
        ("prompt.dataset = \"rows.jsonl\"\nsystem.path = \"system.txt\"", CachePolicy::Natural),
        ("prompt.dataset = \"rows.jsonl\"\ncache = \"cold\"", CachePolicy::Cold),
    ] {
        let workload = match text.contains("rows") {
            true => read(&MINIMAL.replace("prompt.synthetic.words = 200", text)).unwrap().workloads.remove(0),
            false => workload(text),
        };
        assert_eq!(workload.cache, policy, "{text}");
    }
    let file = workload("prompt.synthetic.words = 5\nsystem.path = \"system.txt\"").system;
    assert!(matches!(file, Some(SystemText::File { text, .. }) if text == "\"a prompt\"\n"));
}

#[test]
fn tokenizers_salts_and_exact_answers_are_read_and_written_back() {
    let with = |arguments: &[&str]| read_with(MINIMAL, &set(arguments)).unwrap();
    assert_eq!(with(&["target.tokenizer=server"]).target.tokenizer, Some(TokenizerSource::Server));
    let file = with(&["target.tokenizer.file=tokenizer.json"]).target.tokenizer;
    assert!(matches!(file, Some(TokenizerSource::File(path)) if path.ends_with("tokenizer.json")));
    let scenario = with(&["salt=9", "workload.w.output.exact=true", "target.reset_cache=true"]);
    assert_eq!((scenario.salt, scenario.workloads[0].exact_output), (Some(9), true));
    assert!(scenario.target.reset_cache);
    assert_eq!(again(&scenario), scenario);
}
