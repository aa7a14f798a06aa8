//! All of GSM8K's test split, each row once, by 32 users.

use super::results::{Results, TABLES};
use super::sandbox::Sandbox;
use super::shared;

const ROWS: usize = 1_319;

fn sandbox() -> Sandbox {
    let file = shared("data/gsm8k").join("test.jsonl");
    Sandbox::with(&format!(
        r#"
name = "gsm8k"
target.sim.profile = "8b-h100"

[[workload]]
name = "problems"
prompt.dataset = {{ path = "{}", format = "gsm8k" }}
output.max_tokens = 8

[[phase]]
name = "all-rows"
requests = "all"
load.closed = 32
"#,
        file.display()
    ))
}

/// Every row was sent once and ended, and all files say so.
fn assert_complete(results: &Results) {
    let rows = results.rows("requests.csv");
    let mut sent: Vec<usize> = rows.iter().map(|row| row["dataset_row"].parse().unwrap()).collect();
    sent.sort_unstable();
    assert_eq!(sent, (0..ROWS).collect::<Vec<_>>());
    assert_eq!(results.count("ok"), ROWS);
    for row in &rows {
        // The simulated model knows the answers, and stops where one is over.
        let tokens: u64 = row["output_tokens"].parse().unwrap();
        match &*row["finish_reason"] {
            "length" => assert_eq!(tokens, 8),
            reason => assert_eq!((reason, (1..=8).contains(&tokens)), ("stop", true)),
        }
        assert!(!row["ttft_ms"].is_empty() && !row["e2e_ms"].is_empty() && !row["prompt_tokens"].is_empty());
    }
    for count in ["planned", "sent", "ok"] {
        assert_eq!(results.manifest_count(count), ROWS as u64, "{count}");
        assert_eq!(results.summary("all-rows", "requests", count)["count"], ROWS.to_string(), "{count}");
    }
    let manifest = results.manifest();
    assert_eq!([&manifest["state"], &manifest["phases"][0]["ended_by"]], ["complete", "requests"]);
    assert_eq!(manifest["skipped_rows"], serde_json::json!([]));
    let timeline = results.rows("timeline.csv");
    let completed: usize = timeline.iter().map(|row| row["completed"].parse::<usize>().unwrap()).sum();
    assert_eq!(completed, ROWS);
    assert_eq!(results.read_by_python(), ROWS);
}

#[test]
fn every_row_is_measured_once_in_a_real_run() {
    let sandbox = sandbox();
    sandbox.tonnage(&["run", "x.toml", "--out", "r"]).expect(0);
    assert_complete(&Results::at(sandbox.path("r")));
}

#[test]
fn every_row_is_rehearsed_once_and_the_same_way_each_time() {
    let sandbox = sandbox();
    let runs = ["a", "b"].map(|out| {
        sandbox.tonnage(&["rehearse", "x.toml", "--set", "seed=3", "--out", out]).expect(0);
        Results::at(sandbox.path(out))
    });
    assert_complete(&runs[0]);
    for table in TABLES {
        assert!(runs[0].text(table) == runs[1].text(table), "{table} differs");
    }
}
