//! Prompts of planned lengths, and what they share, against the simulated server.

use super::results::Results;
use super::sandbox::Sandbox;

const SCENARIO: &str = r#"
name = "lengths"
seed = 7
target.sim.profile = "7b-24gb"

[[workload]]
name = "shared"
prompt.synthetic.tokens.lognormal = { median = 900, sigma = 0.6, max = "4Ki" }
prompt.synthetic.shared_prefix = { tokens = 512, groups = 4, popularity.zipf = 1.1, fill = true }
output.max_tokens.uniform = { min = 16, max = 64 }
output.exact = true

[[workload]]
name = "control"
prompt.synthetic.tokens.lognormal = { median = 900, sigma = 0.6, max = "4Ki" }
prompt.synthetic.shared_prefix = { tokens = 512, groups = 4, popularity = "round_robin" }
cache = "cold"

[[workload]]
name = "chat"
prompt.synthetic.tokens.uniform = { min = 60, max = 300 }
system.tokens = 36
request.max_tokens = 16

[[phase]]
name = "steady"
requests = 90
load.poisson = "2/s"
"#;

/// Whether every row is as long as planned.
fn is_as_planned(results: &Results) -> bool {
    let rows = results.rows("requests.csv");
    assert_eq!(rows.len(), 90);
    assert!(rows.iter().all(|row| row["outcome"] == "ok"));
    rows.iter().all(|row| row["prompt_tokens"] == row["prompt_tokens_planned"])
}

#[test]
fn c090_every_prompt_is_exactly_as_long_as_planned_and_shares_what_was_declared() {
    let sandbox = Sandbox::with(SCENARIO);
    for api in ["chat", "completions"] {
        let set = format!("target.api={api}");
        sandbox.tonnage(&["rehearse", "x.toml", "--out", api, "--set", &set]).expect(0);
        let results = Results::at(sandbox.path(api));
        assert!(is_as_planned(&results));
        for row in results.rows("requests.csv") {
            let (cached, prefix) = (&row["cached_tokens"], &row["prefix_tokens"]);
            match row["workload"].as_str() {
                "shared" => assert_eq!((cached.as_str(), prefix.as_str()), ("512", "512")),
                "control" => assert_eq!((cached.as_str(), prefix.as_str()), ("0", "512")),
                // Two blocks of the instructions, once a first request has brought them.
                _ => assert!(["0", "32"].contains(&cached.as_str()), "{cached}"),
            }
            assert!(row["workload"] != "shared" || row["output_tokens"] == row["output_tokens_planned"]);
        }
        let lengths = &results.manifest()["lengths"];
        assert_eq!(lengths.as_array().map(Vec::len), Some(3));
        assert_eq!((&lengths[0]["words"], &lengths[0]["error_share"]), (&"common".into(), &0.0.into()));
        assert_eq!(results.manifest()["workloads"][1]["cache"], "cold");
    }
}

#[test]
fn over_real_sockets_prompts_are_as_long_as_planned_too() {
    let sandbox = Sandbox::with(&SCENARIO.replace("2/s", "60/s"));
    sandbox.tonnage(&["run", "x.toml", "--out", "a"]);
    assert!(is_as_planned(&Results::at(sandbox.path("a"))));
    let endpoint = ["run", "x.toml", "--out", "b", "--set", "target.tokenizer=server"];
    sandbox.tonnage(&endpoint);
    let results = Results::at(sandbox.path("b"));
    assert!(is_as_planned(&results));
    assert_eq!(results.manifest()["lengths"][0]["words"], "endpoint");
}

#[test]
fn a_tokenizer_file_makes_prompts_and_counts_for_the_simulated_server() {
    let sandbox = Sandbox::with(SCENARIO);
    // Every word is a token, those it does not know as well.
    let tokenizer = r#"{ "version": "1.0", "added_tokens": [], "normalizer": null, "post_processor": null,
        "decoder": null, "pre_tokenizer": { "type": "Whitespace" },
        "model": { "type": "WordLevel", "unk_token": "?", "vocab": { "?": 0, "able": 1 } } }"#;
    std::fs::write(sandbox.path("tokenizer.json"), tokenizer).unwrap();
    let arguments = ["rehearse", "x.toml", "--out", "a", "--set", "target.tokenizer.file=tokenizer.json"];
    sandbox.tonnage(&arguments);
    let results = Results::at(sandbox.path("a"));
    assert!(is_as_planned(&results));
    assert_eq!(results.manifest()["lengths"][0]["words"], "tokenizer");

    std::fs::write(sandbox.path("tokenizer.json"), "{}").unwrap();
    sandbox.tonnage(&arguments[..3]).expect(2);
    let refused = sandbox.tonnage(&["rehearse", "x.toml", "--set", arguments[5]]).expect(2);
    refused.says(&["tokenizer.json is no tokenizer file"]);
    sandbox.tonnage(&["check", "x.toml", "--set", arguments[5]]).expect(2);
}

#[test]
fn c096_a_prompt_and_its_answer_fill_the_context_to_the_last_token() {
    let sandbox = Sandbox::with(
        "name = \"full\"\nseed = 1\ntarget.sim.profile = \"7b-24gb\"\n\
         [[workload]]\nname = \"w\"\nprompt.synthetic.tokens = 32736\noutput = { max_tokens = 32, exact = true }\n\
         [[phase]]\nname = \"p\"\nrequests = 4\nload.closed = 1\n",
    );
    sandbox.tonnage(&["rehearse", "x.toml", "--out", "a"]);
    let rows = Results::at(sandbox.path("a")).rows("requests.csv");
    assert!(rows.iter().all(|row| row["outcome"] == "ok" && row["prompt_tokens"] == "32736"));
    // One more is refused.
    sandbox.tonnage(&[
        "rehearse",
        "x.toml",
        "--out",
        "b",
        "--set",
        "workload.w.prompt.synthetic.tokens=32769",
    ]);
    let rows = Results::at(sandbox.path("b")).rows("requests.csv");
    assert!(rows.iter().any(|row| row["outcome"] == "http_error"));
}

#[test]
fn a_salt_that_is_stated_is_that_of_the_run_and_a_cache_is_emptied_on_request() {
    let sandbox = Sandbox::with(SCENARIO);
    let arguments = ["--set", "salt=255", "--set", "target.reset_cache=true"];
    sandbox.tonnage(&[&["rehearse", "x.toml", "--out", "a"][..], &arguments].concat()).expect(0);
    assert_eq!(Results::at(sandbox.path("a")).manifest()["salt"], "00000000000000ff");
}

#[test]
fn check_tells_lengths_in_tokens_and_their_sum() {
    let sandbox = Sandbox::with(SCENARIO);
    let checked = sandbox.tonnage(&["check", "x.toml"]).expect(0);
    assert!(checked.out.contains("prompts: 6") && checked.out.contains(" tokens in all"), "{}", checked.out);
    assert!(!checked.out.contains("Prompts are counted in words"), "{}", checked.out);
    let json = sandbox.tonnage(&["check", "x.toml", "--json"]).expect(0);
    let json: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert!(
        json["files"][0]["preview"]["workloads"][0]["prompt_tokens"]["p50"]
            .as_u64()
            .is_some_and(|p50| p50 > 600)
    );
}
