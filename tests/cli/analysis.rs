//! The analysis of a run in its folder: what the server holds, and the same again from the files.

use super::results::{Results, Row};
use super::sandbox::Sandbox;

/// Users with cold prompts and long answers, on a machine whose memory is known.
const HELD: &str = r#"
name = "held"
seed = 3

[target]
sim.profile = "8b-h100"

[[workload]]
name = "w"
prompt.synthetic.words = 6000
output.max_tokens = 300

[[phase]]
name = "four"
requests = 8
load.closed = 4

[[phase]]
name = "sixteen"
requests = 32
load.closed = 16

[server]
every = "250ms"

[model]
layers = 32
kv_heads = 8
head_size = 128
kv_type = "bf16"
weights = "16.06GB"
memory = "80GiB"
"#;

fn term<'a>(rows: &'a [Row], analysis: &str, term: &str) -> &'a Row {
    let found = rows.iter().find(|row| row["analysis"] == analysis && row["term"] == term);
    found.unwrap_or_else(|| panic!("no {term} of {analysis}: {rows:#?}"))
}

#[test]
fn the_capacity_is_found_to_three_percent_and_again_from_the_files() {
    let sandbox = Sandbox::with(HELD);
    let told = sandbox.tonnage(&["rehearse", "x.toml", "--out", "a", "--quiet"]).expect(0).out;
    let results = Results::at(sandbox.path("a"));
    let written = results.text("analysis.csv");
    let rows = results.rows("analysis.csv");
    // 80 GiB × 0.9 less 16.06 GB, at 131,072 bytes a token.
    let truth = 467_295.0;
    for source in ["stated", "fitted", "model"] {
        let value: f64 = term(&rows, "kv_capacity", source)["value"].parse().unwrap();
        assert!((value / truth - 1.0).abs() < 0.03, "{source}: {value}");
    }
    assert!(!rows.iter().any(|row| row["term"] == "disagreement"), "{rows:#?}");
    assert!(told.contains("kv capacity fitted: 4") && told.contains("not identifiable"), "{told}");
    assert!(rows.iter().all(|row| !row["value"].is_empty() || row["note"].starts_with("not identifiable: ")));
    std::fs::remove_file(sandbox.path("a/analysis.csv")).unwrap();
    let again = sandbox.tonnage(&["report", "a"]).expect(0).out;
    assert_eq!(results.text("analysis.csv"), written);
    let object = sandbox.tonnage(&["report", "a", "--json"]).expect(0).out;
    let object: serde_json::Value = serde_json::from_str(&object).unwrap();
    let found = object["analysis"].as_array().unwrap();
    assert_eq!(found.len(), rows.len());
    let fitted = found.iter().find(|row| row["term"] == "fitted").unwrap();
    assert!((fitted["value"].as_f64().unwrap() / truth - 1.0).abs() < 0.03, "{fitted}");
    let of_analysis = |text: &str| {
        let start = text.find("\nanalysis\n").unwrap();
        text[start..]
            .lines()
            .take_while(|line| !line.starts_with('a') || line.starts_with("analysis"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(of_analysis(told.trim_end())[..8], of_analysis(again.trim_end())[..8]);
}

#[test]
fn a_run_of_no_ladder_is_not_analysed() {
    let plain = HELD.split("[server]").next().unwrap();
    let sandbox = Sandbox::with(plain);
    let told = sandbox.tonnage(&["rehearse", "x.toml", "--out", "a", "--quiet"]).expect(0).out;
    assert!(!told.contains("identifiable") && !sandbox.has("a/analysis.csv"), "{told}");
}
