//! Prompts cut from a text of the user's, against the simulated server.

use super::results::Results;
use super::sandbox::Sandbox;

const SCENARIO: &str = r#"
name = "texts"
seed = 7
target.sim.profile = "7b-24gb"
target.tokenizer.file = "tokenizer.json"

[[workload]]
name = "book"
prompt.text.path = "book.txt"
prompt.text.tokens.uniform = { min = 10, max = 900 }
output.max_tokens = 4

[[phase]]
name = "steady"
requests = 60
load.closed = 1
"#;

/// Marks are tokens, and all words that it does not know are one and the same.
fn tokenizer() -> String {
    let words =
        ["?"].into_iter().chain(tonnage::prompt::all_words()).chain(["It", "nobody", "hurried", "pilot"]);
    let vocabulary = words.enumerate().map(|(id, word)| (word.to_owned(), id.into()));
    let vocabulary = serde_json::Value::Object(vocabulary.collect());
    format!(
        r#"{{ "version": "1.0", "added_tokens": [], "normalizer": null, "post_processor": null, "decoder": null,
            "pre_tokenizer": {{ "type": "Whitespace" }},
            "model": {{ "type": "WordLevel", "unk_token": "?", "vocab": {vocabulary} }} }}"#
    )
}

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::with(SCENARIO);
    sandbox.write("tokenizer.json", &tokenizer());
    let book =
        "It was a quiet harbour, and nobody hurried.\n\nOne, two; three...\n\n  \"Well?\" said the pilot. ";
    sandbox.write("book.txt", &book.repeat(4));
    sandbox
}

#[test]
fn texts_are_as_many_tokens_as_planned_and_share_what_their_policy_says() {
    let sandbox = sandbox();
    for (out, set, most_cached) in [
        ("default", "seed=7", 0),
        ("shared", "workload.book.system.tokens=40", 32),
        ("cold", "workload.book.cache=cold", 0),
        ("natural", "workload.book.cache=natural", 899),
    ] {
        sandbox.tonnage(&["rehearse", "x.toml", "--out", out, "--set", set]).expect(0);
        let results = Results::at(sandbox.path(out));
        let rows = results.rows("requests.csv");
        assert_eq!(rows.len(), 60, "{out}");
        let numbers =
            |name: &str| rows.iter().map(|row| row[name].parse::<u64>().unwrap()).collect::<Vec<_>>();
        assert_eq!(numbers("prompt_tokens"), numbers("prompt_tokens_planned"), "{out}");
        assert_eq!(numbers("cached_tokens"), numbers("eligible_tokens"), "{out}");
        let most = numbers("cached_tokens").into_iter().max().unwrap();
        assert!(most <= most_cached && (most > 0) == (most_cached > 0), "{out}: {most}");
        let manifest = results.manifest();
        assert_eq!(
            (&manifest["lengths"][0]["words"], &manifest["lengths"][0]["error_share"]),
            (&"tokenizer".into(), &0.0.into())
        );
        if out == "natural" {
            assert!(most > 500, "{most}");
        }
    }
}

#[test]
fn texts_in_words_need_no_tokenizer_and_are_shown_before_the_run() {
    let sandbox = sandbox();
    let words = SCENARIO
        .replace("prompt.text.tokens.uniform = { min = 10, max = 900 }", "prompt.text.words = 120")
        .replace("target.tokenizer.file = \"tokenizer.json\"\n", "");
    sandbox.write("words.toml", &words);
    let shown = |file: &str| sandbox.tonnage(&["check", file]).expect(0).out;
    let (in_words, in_tokens) = (shown("words.toml"), shown("x.toml"));
    assert!(in_words.contains("120 words") && in_words.contains("counted in words"), "{in_words}");
    assert!(in_tokens.contains(" tokens in all") && !in_tokens.contains("counted in words"), "{in_tokens}");
    sandbox.tonnage(&["rehearse", "words.toml", "--out", "a"]).expect(0);
    let results = Results::at(sandbox.path("a"));
    // The simulated server's template has four tokens.
    assert!(results.rows("requests.csv").iter().all(|row| row["prompt_tokens"] == "124"));
    let resolved = std::fs::read_to_string(sandbox.path("a/scenario.toml")).unwrap();
    assert!(resolved.contains("prompt.text.words = 120"), "{resolved}");
    let refused =
        sandbox.tonnage(&["check", "x.toml", "--set", "target.tokenizer.endpoint=server"]).expect(2);
    refused.says(&["only by the model's tokenizer", "give the length in `words`"]);
}

const ROWS: &str = r#"
name = "rows"
seed = 7
target.sim.profile = "7b-24gb"

[[workload]]
name = "rows"
prompt.dataset = { path = "rows.jsonl", when_exhausted = "repeat" }
output = { max_tokens.uniform = { min = 4, max = 40 }, exact = true }

[[phase]]
name = "steady"
requests = 24
load.closed = 1
"#;

/// Cells of the rows of a run, as written.
fn cells(sandbox: &Sandbox, out: &str, name: &str) -> Vec<String> {
    let rows = Results::at(sandbox.path(out)).rows("requests.csv");
    assert!(rows.iter().all(|row| row["outcome"] == "ok"), "{out}");
    rows.iter().map(|row| row[name].clone()).collect()
}

#[test]
fn by_a_tokenizer_rows_of_data_sets_have_eligible_tokens() {
    let sandbox = Sandbox::with(ROWS);
    sandbox.write("tokenizer.json", &tokenizer());
    let words = tonnage::prompt::all_words().collect::<Vec<_>>();
    let document = |from: usize| words[from..from + 200].join(" ");
    let row = |document: &str, question: usize| {
        format!("{{\"prompt\": \"{document}. What of {}?\"}}\n", words[question])
    };
    let rows = (0..8).map(|i| row(&document(i % 2 * 300), 600 + i)).collect::<String>();
    let talks = (0..4).map(|i| {
        let asked = |at: usize| format!("\"{}\"", words[at..at + 30].join(" "));
        format!(
            "{{\"document\": \"{}\", \"turns\": [{}, {}, {}]}}\n",
            document(i),
            asked(9 * i),
            asked(7),
            asked(3)
        )
    });
    let set = ["--set", "target.tokenizer.file=tokenizer.json"];
    for (content, more) in [
        (rows.clone(), &[][..]),
        (rows.clone(), &["--set", "workload.rows.cache=cold"]),
        (rows, &["--set", "workload.rows.system.text=Answer the pilot: in one word, and nobody asks."]),
        // Each conversation once.
        (talks.clone().collect(), &["--set", "phase.steady.requests=12"]),
        (talks.collect(), &["--set", "workload.rows.session.history=none"]),
    ] {
        sandbox.write("rows.jsonl", &content);
        let out = format!("run{}", std::fs::read_dir(sandbox.path("")).unwrap().count());
        let arguments = [&["rehearse", "x.toml", "--out", &out][..], &set, more].concat();
        sandbox.tonnage(&arguments);
        let (cached, eligible) =
            (cells(&sandbox, &out, "cached_tokens"), cells(&sandbox, &out, "eligible_tokens"));
        // What the requests before the run were told, the first one of it may find.
        assert_eq!(cached[1..], eligible[1..], "{more:?}");
        let is_cold = more.iter().any(|set| set.ends_with("cold"));
        assert_eq!(cached.iter().all(|tokens| tokens == "0"), is_cold, "{more:?}");
    }
}

#[test]
fn without_a_tokenizer_only_the_declared_prefix_is_eligible() {
    let sandbox = Sandbox::with(ROWS);
    sandbox.write("rows.jsonl", &"{\"prompt\": \"What of the pilot?\"}\n".repeat(3));
    sandbox.tonnage(&["rehearse", "x.toml", "--out", "none"]);
    assert!(cells(&sandbox, "none", "eligible_tokens").iter().all(String::is_empty));
    for (policy, expected) in [("natural", "32"), ("shared", "32"), ("cold", "0")] {
        let policy_set = format!("workload.rows.cache={policy}");
        let set = ["--set", "workload.rows.system.tokens=40", "--set", &policy_set];
        sandbox.tonnage(&[&["rehearse", "x.toml", "--out", policy][..], &set].concat());
        let eligible = cells(&sandbox, policy, "eligible_tokens");
        assert_eq!((eligible[0].as_str(), eligible[1].as_str()), ("0", expected), "{policy}");
        assert!(eligible[1..].iter().all(|tokens| tokens == expected), "{eligible:?}");
    }
}

#[test]
fn answers_are_as_long_as_those_of_the_rows() {
    let sandbox = Sandbox::with(ROWS);
    sandbox.write("tokenizer.json", &tokenizer());
    let said = |who: &str, what: &str| format!("{{\"role\": \"{who}\", \"content\": \"{what}\"}}");
    let (asked, first, second) =
        (said("user", "And?"), said("assistant", "able able, able"), said("assistant", "able"));
    sandbox.write("rows.jsonl", &format!("[{asked}, {first}, {asked}, {second}]\n"));
    let set = ["--set", "workload.rows.output.max_tokens=dataset", "--set", "phase.steady.requests=4"];
    let counted = [&set[..], &["--set", "target.tokenizer.file=tokenizer.json"]].concat();
    sandbox.tonnage(&[&["rehearse", "x.toml", "--out", "a"][..], &counted].concat());
    assert_eq!(cells(&sandbox, "a", "output_tokens_planned"), ["4", "1", "4", "1"]);
    assert_eq!(cells(&sandbox, "a", "output_tokens"), ["4", "1", "4", "1"]);
    let refused = sandbox.tonnage(&[&["check", "x.toml"][..], &set].concat()).expect(2);
    refused.says(&["needs a tokenizer to count the answers", "target.tokenizer.file"]);
}

#[test]
fn c092_answers_that_the_server_does_not_count_are_counted_by_the_tokenizer_without_its_specials() {
    let sandbox = Sandbox::with(&ROWS.replace(
        "prompt.dataset = { path = \"rows.jsonl\", when_exhausted = \"repeat\" }",
        "prompt.synthetic = 20",
    ));
    let begins = r#""post_processor": { "type": "TemplateProcessing", "single": [
        { "SpecialToken": { "id": "able", "type_id": 0 } }, { "Sequence": { "id": "A", "type_id": 0 } }],
        "pair": [{ "Sequence": { "id": "A", "type_id": 0 } }, { "Sequence": { "id": "B", "type_id": 0 } }],
        "special_tokens": { "able": { "id": "able", "ids": [1], "tokens": ["able"] } } }"#;
    sandbox.write("tokenizer.json", &tokenizer().replace("\"post_processor\": null", begins));
    let set = ["--set", "target.tokenizer.file=tokenizer.json", "--set", "target.sim.faults=usage=none"];
    sandbox.tonnage(&[&["rehearse", "x.toml", "--out", "a"][..], &set].concat());
    assert!(cells(&sandbox, "a", "token_source").iter().all(|source| source == "tokenizer"));
    assert_eq!(cells(&sandbox, "a", "output_tokens"), cells(&sandbox, "a", "output_tokens_planned"));
    // Without one there is no telling.
    sandbox.tonnage(&[&["rehearse", "x.toml", "--out", "b"][..], &set[2..]].concat());
    assert!(cells(&sandbox, "b", "output_tokens").iter().all(String::is_empty));
}
