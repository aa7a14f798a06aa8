//! The scenarios that come with the program, each against the profile it names, whose truth is known.

use std::path::Path;

use super::results::{Results, Row};
use super::sandbox::Sandbox;

/// Prompt tokens a second of `8b-h100`: half of 989 TFLOP/s over 2 × 8.03 · 10⁹ a token.
const PREFILL: f64 = 989e12 * 0.5 / (2.0 * 8.03e9);

/// What `scenarios/NAME.toml` finds in a rehearsal, with what it tells.
fn rehearsed(name: &str) -> (Vec<Row>, String) {
    let sandbox = Sandbox::new();
    let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios").join(name);
    let scenario = scenario.with_extension("toml");
    let told =
        sandbox.tonnage(&["rehearse", scenario.to_str().unwrap(), "--quiet", "--out", "r"]).expect(0).out;
    let results = Results::at(sandbox.path("r"));
    results.read_by_python();
    let file = if sandbox.has("r/analysis.csv") { "analysis.csv" } else { "accuracy.csv" };
    (results.rows(file), told)
}

fn find<'a>(rows: &'a [Row], analysis: &str, term: &str) -> &'a Row {
    let found = rows.iter().find(|row| row["analysis"] == analysis && row["term"] == term);
    found.unwrap_or_else(|| panic!("no {term} of {analysis}: {rows:#?}"))
}

fn value(rows: &[Row], analysis: &str, term: &str) -> f64 {
    find(rows, analysis, term)["value"].parse().unwrap()
}

#[test]
fn the_ladder_of_contexts_finds_prefill_knees_and_chunks() {
    let (rows, told) = rehearsed("context-ladder");
    assert!((value(&rows, "prefill", "rate") / PREFILL - 1.0).abs() < 0.02);
    assert!(find(&rows, "interference", "stopped")["note"].starts_with("absent"), "the profile cuts prompts");
    let knees = rows.iter().filter(|row| row["term"] == "load" && !row["value"].is_empty());
    let loads: Vec<f64> = knees.map(|row| row["value"].parse().unwrap()).collect();
    assert_eq!(loads, [4.0, 1.0, 1.0, 1.0], "it falls with the context");
    assert!(told.contains("knee load of 1024 tokens: 4.00 users"), "{told}");
    assert!(!told.contains("knee output throughput"), "that stands in the table of points: {told}");
}

#[test]
fn pressure_on_the_cache_finds_its_size() {
    let (rows, _) = rehearsed("kv-pressure");
    let capacity = value(&rows, "kv_capacity", "stated");
    for source in ["fitted", "model"] {
        assert!((value(&rows, "kv_capacity", source) / capacity - 1.0).abs() < 0.03, "{source}");
    }
    assert!(value(&rows, "kv_capacity", "preempted") >= capacity);
    let verdict = &find(&rows, "interference", "stopped")["note"];
    assert!(!verdict.starts_with("absent"), "a chunk is as long as these prompts: {verdict}");
    assert!(value(&rows, "interference", "gap_without") < 50.0, "a chunk takes 300 ms");
    assert!(find(&rows, "knee", "load")["ci_low"].is_empty(), "eight users are the fewest that were tried");
}

#[test]
fn shared_prefixes_are_told_from_cold_ones_point_by_point() {
    let (rows, _) = rehearsed("prefix-cache");
    assert!((value(&rows, "prefill", "rate") / PREFILL - 1.0).abs() < 0.02);
    let shares: Vec<(&str, f64)> = rows
        .iter()
        .filter(|row| row["term"] == "warm_of_cold")
        .map(|row| (row["scope"].as_str(), row["value"].parse().unwrap()))
        .collect();
    assert_eq!(
        shares.iter().map(|(scope, _)| *scope).collect::<Vec<_>>(),
        ["steady, point 2", "steady, point 3"]
    );
    assert!(shares[1].1 < shares[0].1 && shares[0].1 < 0.6, "{shares:?}");
}

#[test]
fn prompts_that_are_cut_do_not_stop_running_answers() {
    let (rows, told) = rehearsed("chunked-prefill");
    assert!(find(&rows, "interference", "stopped")["note"].starts_with("absent"), "{told}");
    assert!(value(&rows, "interference", "gap_beside") > value(&rows, "interference", "gap_without"));
}

#[test]
fn needles_are_found_at_every_length_and_depth() {
    let (rows, told) = rehearsed("needle");
    let all: Vec<_> = rows.iter().filter(|row| row["finish_reason"] == "all").collect();
    assert!(all.len() >= 20 && all.iter().all(|row| row["accuracy"] == "1"), "{told}");
}
