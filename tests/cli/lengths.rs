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
fn what_the_simulated_server_finds_cached_is_what_was_eligible() {
    let sandbox = Sandbox::with(SCENARIO);
    for block in ["16", "48"] {
        let sets =
            ["--set", &format!("server.block_size={block}"), "--set", "phase.steady.load.closed.users=1"];
        let arguments = ["rehearse", "x.toml", "--out", block];
        sandbox.tonnage(&[&arguments[..], &sets[..]].concat()).expect(0);
        let rows = Results::at(sandbox.path(block)).rows("requests.csv");
        let known = rows.iter().filter(|row| !row["eligible_tokens"].is_empty()).count();
        assert_eq!((rows.len(), known), (90, 90));
        for row in &rows {
            let [cached, eligible] =
                ["cached_tokens", "eligible_tokens"].map(|name| row[name].parse::<u64>().unwrap());
            // The simulated server's blocks have 16 tokens.
            let expected = if block == "16" { cached } else { cached / 48 * 48 };
            assert_eq!(eligible, expected, "{} {}", row["workload"], row["request"]);
        }
        let hits =
            rows.iter().filter(|row| row["workload"] == "chat" && row["eligible_tokens"] != "0").count();
        assert_eq!(hits > 0, block == "16", "instructions of 40 tokens");
        assert!(rows.iter().all(|row| row["workload"] != "shared" || row["eligible_tokens"] != "0"));
    }
}

#[test]
fn a_conversation_finds_what_was_said_before() {
    let sandbox = Sandbox::with(
        "name = \"talk\"\nseed = 1\ntarget.sim.profile = \"7b-24gb\"\n\
         [[workload]]\nname = \"w\"\nprompt.synthetic.tokens.uniform = { min = 20, max = 90 }\n\
         output.max_tokens.uniform = { min = 8, max = 80 }\noutput.exact = true\n\
         session = { turns = 6, think = \"200ms\" }\n\
         [[phase]]\nname = \"p\"\nrequests = 120\nload.closed = 4\n",
    );
    sandbox.tonnage(&["rehearse", "x.toml", "--out", "a"]);
    let rows = Results::at(sandbox.path("a")).rows("requests.csv");
    let cells = |name: &str| rows.iter().map(|row| row[name].clone()).collect::<Vec<_>>();
    assert_eq!(cells("cached_tokens"), cells("eligible_tokens"));
    assert!(rows.iter().filter(|row| row["turn"] != "0").all(|row| row["eligible_tokens"].len() > 1));
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

const REPLAY: &str = r#"
name = "replay"
seed = 3
target.sim.profile = "7b-24gb"
[[workload]]
name = "replay"
prompt.dataset = { path = "trace.jsonl", format = "mooncake" }
output.max_tokens = "dataset"
[[phase]]
name = "p"
load.trace.workload = "replay"
"#;

const TRACE: &str = r#"{"timestamp": 0, "input_length": 1030, "output_length": 3, "hash_ids": [1, 2, 3]}
{"timestamp": 9000, "input_length": 1200, "output_length": 4, "hash_ids": [1, 2, 8]}
{"timestamp": 18000, "input_length": 2, "output_length": 4, "hash_ids": [9]}
"#;

#[test]
fn rows_of_a_trace_are_as_many_tokens_as_they_say_where_the_server_counts() {
    let sandbox = Sandbox::with(REPLAY);
    sandbox.write("trace.jsonl", TRACE);
    let ended = sandbox.tonnage(&["rehearse", "x.toml", "--out", "a"]);
    ended.says(&["prompts of `replay` have at least 5 tokens (4 of them around the text)"]);
    let results = Results::at(sandbox.path("a"));
    let cells = |results: &Results, name: &str| {
        results.rows("requests.csv").iter().map(|row| row[name].clone()).collect::<Vec<_>>()
    };
    assert_eq!(cells(&results, "prompt_tokens_planned"), ["1030", "1200", "5"]);
    assert_eq!(cells(&results, "prompt_tokens"), ["1030", "1200", "5"]);
    assert_eq!(cells(&results, "cached_tokens"), ["0", "1024", "0"]);
    assert_eq!(results.manifest()["lengths"][0]["overhead_tokens"], 4);
    // A server that does not count.
    let silent = ["rehearse", "x.toml", "--out", "b", "--set", "target.sim.faults=usage=none"];
    sandbox.tonnage(&silent).says(&["lengths of `replay` are counted in words"]);
    let results = Results::at(sandbox.path("b"));
    assert_eq!(cells(&results, "prompt_tokens_planned"), ["", "", ""]);
    assert_eq!(results.manifest().get("lengths"), None);
}

#[test]
fn prompts_with_needles_are_as_many_tokens_as_they_say_however_the_server_counts() {
    let sandbox = Sandbox::with(
        "name = \"needles\"\nseed = 3\ntarget.sim.profile = \"7b-24gb\"\n\
         [[workload]]\nname = \"find\"\nscore = \"contains\"\noutput.max_tokens = 64\n\
         prompt.needle = { depths = [0, 0.5, 1], lengths = [200, 777, \"4Ki\"], needles = 3, distractors = 2 }\n\
         [[phase]]\nname = \"p\"\nrequests = \"all\"\nload.closed = 1\n",
    );
    // Marks are tokens, and words that it does not know as well.
    let tokenizer = r#"{ "version": "1.0", "added_tokens": [], "normalizer": null, "post_processor": null,
        "decoder": null, "pre_tokenizer": { "type": "Whitespace" },
        "model": { "type": "WordLevel", "unk_token": "?", "vocab": { "?": 0, "able": 1 } } }"#;
    std::fs::write(sandbox.path("tokenizer.json"), tokenizer).unwrap();
    for (out, set) in [
        ("common", "seed=3"),
        ("endpoint", "target.tokenizer=server"),
        ("tokenizer", "target.tokenizer.file=tokenizer.json"),
    ] {
        sandbox.tonnage(&["rehearse", "x.toml", "--out", out, "--set", set]).expect(0);
        let results = Results::at(sandbox.path(out));
        let rows = results.rows("requests.csv");
        assert_eq!(rows.len(), 9);
        for row in &rows {
            assert_eq!((&row["outcome"], &row["verdict"]), (&"ok".to_owned(), &"right".to_owned()), "{out}");
            assert_eq!(
                (&row["prompt_tokens"], &row["prompt_tokens_planned"]),
                (&row["needle_length"], &row["needle_length"])
            );
            assert_eq!(row["truth"].split(", ").count(), 3);
        }
        let lengths = &results.manifest()["lengths"][0];
        assert_eq!((&lengths["words"], &lengths["error_share"]), (&out.into(), &0.0.into()));
    }
    let short = ["--set", "workload.find.prompt.needle.lengths=[90]"];
    let ended = sandbox.tonnage(
        &[&["rehearse", "x.toml", "--set", "target.tokenizer.file=tokenizer.json"][..], &short].concat(),
    );
    ended.says(&["prompts of `find` have at least"]);
}

#[test]
fn prompts_of_token_ids_have_their_length_where_the_api_takes_them() {
    let sandbox = Sandbox::with(
        "name = \"ids\"\nseed = 3\ntarget.sim.profile = \"7b-24gb\"\ntarget.api = \"completions\"\n\
         [[workload]]\nname = \"w\"\nprompt.synthetic.tokens.uniform = { min = 600, max = 900 }\n\
         prompt.synthetic.ids = { min = 1000, max = 30000 }\n\
         prompt.synthetic.shared_prefix = { tokens = 512, fill = true }\noutput.max_tokens = 4\n\
         [[phase]]\nname = \"p\"\nrequests = 12\nload.closed = 1\n",
    );
    sandbox.tonnage(&["rehearse", "x.toml", "--out", "a"]).expect(0);
    let results = Results::at(sandbox.path("a"));
    let rows = results.rows("requests.csv");
    assert_eq!(rows.len(), 12);
    for row in &rows {
        assert_eq!(
            (&row["outcome"], &row["prompt_tokens"]),
            (&"ok".to_owned(), &row["prompt_tokens_planned"])
        );
        assert_eq!((row["cached_tokens"].as_str(), row["eligible_tokens"].as_str()), ("512", "512"));
    }
    assert_eq!(results.manifest()["lengths"][0]["words"], "ids");
    let refused = sandbox.tonnage(&["check", "x.toml", "--set", "target.api=chat"]).expect(2);
    refused.says(&["takes no token ids"]);
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

#[test]
fn c098_a_second_run_of_the_same_prompts_is_found_out_and_one_of_new_ones_is_cold() {
    let sandbox = Sandbox::with(
        "name = \"again\"\nseed = 1\ntarget.url = \"http://replaced\"\n\
         [[workload]]\nname = \"w\"\nprompt.synthetic.tokens = 400\noutput.max_tokens = 4\n\
         [[phase]]\nname = \"p\"\nrequests = 40\nload.closed = 4\n",
    );
    let (_running, address) = super::sim::start(&sandbox, &[], None);
    let url = format!("http://{address}");
    let strange = |out: &str, set: &[&str]| {
        sandbox.tonnage(&[&["run", "x.toml", "--target", &url, "--out", out], set].concat());
        let results = Results::at(sandbox.path(out));
        let rows = results.rows("requests.csv");
        assert!(rows.iter().all(|row| row["outcome"] == "ok" && row["eligible_tokens"] == "0"));
        let found = results.manifest()["verdict"].to_string().contains("strange_hits");
        let is_warm = rows.iter().all(|row| row["cached_tokens"] != "0");
        assert_eq!(found, is_warm, "{out}");
        found
    };
    assert!(!strange("a", &[]));
    assert!(!strange("b", &[]), "a salt of its own");
    let stated = ["--set", "salt=7"];
    assert!(!strange("c", &stated));
    assert!(strange("d", &stated));
}
