//! A run split over processes, and joined again.

use super::results::{Results, TABLES};
use super::sandbox::Sandbox;
use super::sim;

const SCENARIO: &str = r#"
name = "split"
seed = 5

[target]
url = "http://127.0.0.1:1"

[[workload]]
name = "chat"
prompt.synthetic.words = 20
output.max_tokens.uniform = { min = 2, max = 12 }

[[phase]]
name = "steady"
duration = "3s"
load.poisson = "40/s"

[server]
metrics = "/metrics"
every = "500ms"

[results]
chunks = true
responses = true
"#;

#[test]
fn three_processes_are_joined_to_one_result() {
    let sandbox = Sandbox::with(SCENARIO);
    let (server, address) = sim::start(&sandbox, &["--profile", "8b-h100"], None);
    let url = format!("http://{address}");
    let parts: Vec<_> = (0..3)
        .map(|shard| {
            let (shard, out) = (format!("{shard}/3"), format!("part-{shard}"));
            sandbox.start(&[
                "run",
                "x.toml",
                "--target",
                &url,
                "--shard",
                &shard,
                "--run-id",
                "joint",
                "--start-at",
                "+2",
                "--out",
                &out,
                "--quiet",
            ])
        })
        .collect();
    for part in parts {
        let ended = part.wait();
        assert!(matches!(ended.code, Some(0 | 4)), "{ended:#?}");
    }
    let ended = sandbox.tonnage(&["merge", "part-2", "part-0", "part-1", "--out", "whole"]);
    assert!(matches!(ended.code, Some(0 | 4)), "{ended:#?}");
    assert!(
        ended.out.contains("shard         0/3 on ") && ended.out.trim_end().ends_with("whole"),
        "{}",
        ended.out
    );

    let whole = Results::at(sandbox.path("whole"));
    let rows = whole.rows("requests.csv");
    let mut requests: Vec<usize> = rows.iter().map(|row| row["request"].parse().unwrap()).collect();
    requests.sort_unstable();
    assert_eq!(requests, (0..rows.len()).collect::<Vec<_>>(), "every request of the plan once");
    assert_eq!(whole.read_by_python(), rows.len());
    let manifest = whole.manifest();
    assert_eq!(manifest["shards"].as_array().unwrap().len(), 3);
    assert!(manifest["shards"][1]["host"]["origin_unix_ns"].as_u64().unwrap() > 1_600_000_000_000_000_000);
    assert_eq!(manifest["shard"], serde_json::Value::Null);
    let offered: u64 =
        whole.rows("timeline.csv").iter().map(|row| row["offered"].parse::<u64>().unwrap()).sum();
    assert_eq!(offered, rows.len() as u64);

    let parts: Vec<_> = (0..3).map(|shard| Results::at(sandbox.path(&format!("part-{shard}")))).collect();
    assert!(
        whole.text("server.csv").lines().count() > 3
            && whole.text("server.csv") == parts[0].text("server.csv")
    );
    let lines = |results: &Results, file: &str| results.text(file).lines().count();
    let header = 1;
    let chunks: usize = parts.iter().map(|part| lines(part, "chunks.csv") - header).sum();
    assert_eq!(lines(&whole, "chunks.csv") - header, chunks);
    assert_eq!(
        lines(&whole, "responses.jsonl"),
        parts.iter().map(|part| lines(part, "responses.jsonl")).sum::<usize>()
    );
    let analysis = whole.text("analysis.csv");
    assert!(analysis.contains("\nkv_capacity,") && ended.out.contains("not identifiable"), "{analysis}");

    let written = whole.text("summary.csv");
    let told = sandbox.tonnage(&["report", "whole", "--csv"]).expect(0);
    assert_eq!(told.out.trim_end(), written.trim_end(), "report rebuilds it to the last digit");
    assert!(whole.text("report.html").contains("shard 0/3 on "));
    assert_eq!(whole.text("analysis.csv"), analysis, "and so the analysis");
    sandbox.tonnage(&["compare", "whole", "./whole"]).expect(2).says(&["./whole is the same run as whole"]);
    assert!(TABLES.iter().all(|table| sandbox.has(&format!("whole/{table}"))));

    let again = sandbox.tonnage(&["merge", "part-0", "part-1", "part-2", "--out", "whole"]).expect(2);
    again.says(&["whole exists, and results are never overwritten"]);
    sandbox
        .tonnage(&["merge", "part-0", "part-2", "--out", "more"])
        .expect(2)
        .says(&["there is no shard 1/3"]);
    sandbox.tonnage(&["merge", "whole", "--out", "more"]).expect(2).says(&["whole is no shard of a run"]);
    assert!(!sandbox.has("more"));
    server.signal("INT");
    server.wait().expect(130);
}
