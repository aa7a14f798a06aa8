//! Built-in profiles, impossible ones, and files with something wrong.

use super::*;
use crate::diagnostic::Style;
use crate::sim::{CostModel, FixedCost};

#[test]
fn every_built_in_profile_is_possible_and_found_by_its_name() {
    for (name, text) in BUILT_IN {
        if let Err(problems) = Profile::parse(name, text) {
            panic!("{}", problems.render(Style::Plain));
        }
        assert_eq!(Profile::named(name).unwrap().name(), name);
    }
    assert_eq!(Profile::NAMES, ["7b-24gb", "8b-h100", "72b-4x64gb", "70b-8xh100"]);
    assert_eq!(Profile::named("9000b-abacus"), None);
}

#[test]
fn the_built_in_profiles_take_plausible_times_and_hold_plausible_contexts() {
    let figures = Profile::NAMES.iter().map(|name| {
        let profile = Profile::named(name).unwrap();
        let parameters = profile.parameters();
        let decode = |sequences, context| {
            let mut batch = Batch::default();
            (0..sequences).for_each(|_| batch.add(1, context, false));
            parameters.cost.step_time(batch).as_secs_f64() * 1e3
        };
        let mut prompt = Batch::default();
        prompt.add(8192, 0, true);
        let rate = 8192.0 / parameters.cost.step_time(prompt).as_secs_f64();
        format!(
            "{name}: decode {:.1} ms alone, {:.1} ms for 64 at 2,000 tokens; prefill {rate:.0} tokens/s; \
             {} KV tokens",
            decode(1, 1000),
            decode(64, 2000),
            parameters.kv_blocks * parameters.block_tokens
        )
    });
    insta::assert_snapshot!(figures.collect::<Vec<_>>().join("\n"), @r"
7b-24gb: decode 19.4 ms alone, 29.1 ms for 64 at 2,000 tokens; prefill 5370 tokens/s; 138672 KV tokens
8b-h100: decode 7.6 ms alone, 14.4 ms for 64 at 2,000 tokens; prefill 27024 tokens/s; 467280 KV tokens
72b-4x64gb: decode 30.3 ms alone, 39.8 ms for 64 at 2,000 tokens; prefill 3790 tokens/s; 328016 KV tokens
70b-8xh100: decode 9.9 ms alone, 13.4 ms for 64 at 2,000 tokens; prefill 18772 tokens/s; 1456528 KV tokens
");
}

#[test]
fn impossible_values_are_refused() {
    let refusal = |change: &dyn Fn(&mut Parameters)| {
        let mut parameters = Parameters::default();
        change(&mut parameters);
        Profile::new("p", parameters).unwrap_err()
    };
    let fixed = |change: &dyn Fn(&mut FixedCost)| {
        let mut cost = FixedCost::default();
        change(&mut cost);
        refusal(&|p| p.cost = CostModel::Fixed(cost))
    };
    assert_eq!(refusal(&|p| p.max_num_seqs = 0), Impossible::NoSequences);
    assert_eq!(refusal(&|p| p.max_batched_tokens = 255), Impossible::BatchBelowSequences);
    assert_eq!(refusal(&|p| p.max_model_len = 1), Impossible::NoContext);
    assert_eq!(refusal(&|p| p.chunked_prefill = false), Impossible::BatchBelowContext);
    assert_eq!(refusal(&|p| p.mean_answer_tokens = 0), Impossible::AnswerLength);
    assert_eq!(refusal(&|p| p.mean_answer_tokens = p.max_model_len), Impossible::AnswerLength);
    assert_eq!(refusal(&|p| p.block_tokens = 0), Impossible::Blocks);
    assert_eq!(refusal(&|p| p.kv_blocks = 1 << 33), Impossible::Blocks);
    assert_eq!(
        refusal(&|p| p.kv_blocks = 2047),
        Impossible::NoMemory { kv_tokens: 2047 * 16, max_model_len: 32_768 }
    );
    assert_eq!(refusal(&|p| p.skill.right_share = 1.1), Impossible::Share("right_share"));
    assert_eq!(refusal(&|p| p.utilisation = f64::NAN), Impossible::Share("utilisation"));
    for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(
            fixed(&|c| c.prefill_tokens_per_s = Some(rate)),
            Impossible::NotPositive("prefill_tokens_per_s")
        );
    }
    assert_eq!(fixed(&|c| c.sequence_cost = Duration::from_secs(15)), Impossible::StepTooLong, "256 × 15 s");
    assert_eq!(fixed(&|c| c.prefill_tokens_per_s = Some(2.0)), Impossible::StepTooLong, "8192 / 2 s");
    for name in ["", "a b", "a/b", "ä"] {
        assert_eq!(Profile::new(name, Parameters::default()), Err(Impossible::Name), "{name:?}");
    }
}

fn problems(text: &str) -> String {
    Profile::parse("mine", text).unwrap_err().render(Style::Plain)
}

#[test]
fn a_fixed_profile_states_its_times() {
    let text = "[fixed]\nprefill_tokens_per_s = 1e6\n[engine]\nstep_overhead_us = 1500.5\nsequence_cost_us = 2\n\
                max_num_seqs = 1\nkv_blocks = 4_096\nprefix_caching = false\n";
    let profile = Profile::parse("mine", text).unwrap();
    let cost = FixedCost {
        step_overhead: Duration::from_nanos(1_500_500),
        sequence_cost: Duration::from_micros(2),
        prefill_tokens_per_s: Some(1e6),
    };
    let expected = Parameters {
        cost: CostModel::Fixed(cost),
        max_num_seqs: 1,
        kv_blocks: 4096,
        prefix_caching: false,
        ..Parameters::default()
    };
    assert_eq!(profile, Profile::new("mine", expected).unwrap());
    assert_eq!(Profile::parse("mine", "[fixed]\n").unwrap().parameters(), &Parameters::default());
}

#[test]
fn every_problem_of_a_file_is_told_with_its_key_and_line() {
    insta::assert_snapshot!(problems("[fixed]\n[engine]\nmax_num_seq = 4\nblock_tokens = \"16\"\nchunked_prefill = 1\nkv_blocks = -1\n[server]\n"), @r#"
error: no key `max_num_seq` in `[engine]`
 --> mine.toml:3:1
  |
3 | max_num_seq = 4
  | ^^^^^^^^^^^
  |
  = help: its keys are step_overhead_us, sequence_cost_us, utilisation, block_tokens, max_batched_tokens, max_num_seqs, max_model_len, chunked_prefill, prefix_caching, kv_blocks

error: `engine.block_tokens` takes a whole number from 0 on, not text
 --> mine.toml:4:16
  |
4 | block_tokens = "16"
  |                ^^^^

error: `engine.chunked_prefill` takes true or false, not this number
 --> mine.toml:5:19
  |
5 | chunked_prefill = 1
  |                   ^

error: `engine.kv_blocks` takes a whole number from 0 on, not this number
 --> mine.toml:6:13
  |
6 | kv_blocks = -1
  |             ^^

error: no table `server` in a profile
 --> mine.toml:7:2
  |
7 | [server]
  |  ^^^^^^
  |
  = help: tables are model, machine, fixed, engine, answers
"#);
}

#[test]
fn a_file_needs_model_and_machine_or_fixed_times() {
    insta::assert_snapshot!(problems(""), @r"
error: `[model]` is missing
--> mine.toml
 = help: a profile has `[model]` and `[machine]`, or `[fixed]`

error: `[machine]` is missing
--> mine.toml
 = help: a profile has `[model]` and `[machine]`, or `[fixed]`
");
    insta::assert_snapshot!(problems("[fixed]\n[model]\nlayers = 1\n"), @r"
error: `[model]` beside `[fixed]`
 --> mine.toml:2:2
  |
2 | [model]
  |  ^^^^^
  |
  = help: times are stated or follow from model and machine: keep one
");
    insta::assert_snapshot!(problems("[model]\nlayers = 2\n[machine]\ndevices = 2\n"), @r"
error: `model.parameters` is missing
 --> mine.toml:1:2
  |
1 | [model]
  |  ^^^^^

error: `model.hidden_size` is missing
 --> mine.toml:1:2
  |
1 | [model]
  |  ^^^^^

error: `model.attention_heads` is missing
 --> mine.toml:1:2
  |
1 | [model]
  |  ^^^^^

error: `model.kv_heads` is missing
 --> mine.toml:1:2
  |
1 | [model]
  |  ^^^^^

error: `model.head_size` is missing
 --> mine.toml:1:2
  |
1 | [model]
  |  ^^^^^

error: `machine.memory_gib` is missing
 --> mine.toml:3:2
  |
3 | [machine]
  |  ^^^^^^^

error: `machine.bandwidth_gb_per_s` is missing
 --> mine.toml:3:2
  |
3 | [machine]
  |  ^^^^^^^

error: `machine.tflops` is missing
 --> mine.toml:3:2
  |
3 | [machine]
  |  ^^^^^^^

error: `machine.link_gb_per_s` is missing
 --> mine.toml:3:2
  |
3 | [machine]
  |  ^^^^^^^
");
    insta::assert_snapshot!(problems("fixed = 1\n"), @r"
error: `[model]` is missing
--> mine.toml
 = help: a profile has `[model]` and `[machine]`, or `[fixed]`

error: `[machine]` is missing
--> mine.toml
 = help: a profile has `[model]` and `[machine]`, or `[fixed]`

error: `fixed` is a table
 --> mine.toml:1:1
  |
1 | fixed = 1
  | ^^^^^
  |
  = help: write `[fixed]` on a line of its own
");
}

#[test]
fn what_cannot_be_is_told_at_the_key_it_is_about() {
    insta::assert_snapshot!(problems("[fixed]\n[engine]\nmax_num_seqs = 0\n"), @r"
error: `max_num_seqs` must be at least 1
 --> mine.toml:3:1
  |
3 | max_num_seqs = 0
  | ^^^^^^^^^^^^
");
    insta::assert_snapshot!(problems(&BUILT_IN[2].1.replace("memory_gib = 64", "memory_gib = 40")), @r"
error: the memory beside the weights holds 38608 tokens, fewer than one sequence may have (`max_model_len` = 131072)
  --> mine.toml:26:1
   |
26 | max_model_len = 131072     # model card: with YaRN
   | ^^^^^^^^^^^^^
");
    insta::assert_snapshot!(problems("[fixed]\nx = \n"), @r"
error: not valid TOML: string values must be quoted, expected literal string
 --> mine.toml:2:5
  |
2 | x = 
  |     ^
  |
  = help: a line is `key = value` or `[table]`
");
}

#[test]
fn every_key_of_a_profile_stands_in_the_documentation() {
    let docs = include_str!("../../../docs/simulator.md");
    for (_, text) in BUILT_IN {
        for key in
            text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once(" = "))
        {
            assert!(docs.contains(&format!("`{}`", key.0)), "{}", key.0);
        }
    }
    assert!(Profile::NAMES.iter().all(|name| docs.contains(&format!("`{name}`"))));
    let (_, example) = docs.split_once("```toml\n").unwrap();
    let profile = Profile::parse("queue", example.split("```").next().unwrap()).unwrap();
    assert_eq!(profile.parameters().max_num_seqs, 1);
}
