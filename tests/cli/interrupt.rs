//! Signals and kills in the middle of a run.

use super::results::Results;
use super::sandbox::{Running, Sandbox, eventually};
use super::server::{Reply, Server};
use super::usage::quick_at;

/// A run of eight users that goes on until it is told to stop: the first requests end, then all of them hang.
fn endless(sandbox: &Sandbox, server: &Server) -> Running {
    endless_with(sandbox, server, "")
}

/// The same with more tables in the scenario.
fn endless_with(sandbox: &Sandbox, server: &Server, tables: &str) -> Running {
    let scenario = quick_at(&server.url()).replace("requests = 40", "duration = \"10m\"");
    sandbox.write("x.toml", &(scenario + tables));
    let running = sandbox.start(&["run", "x.toml", "--out", "r"]);
    eventually("every user hangs", || server.posts() == ENDING + 8);
    running
}

/// So many requests end.
const ENDING: usize = 24;

fn hanging() -> Server {
    Server::start(|request| if request.number < ENDING { Reply::Tokens(4) } else { Reply::Stall })
}

/// What holds however a run was interrupted.
fn assert_whole(results: &Results) {
    let manifest = results.manifest();
    assert_eq!(manifest["state"], "interrupted");
    assert_eq!(manifest["phases"][0]["ended_by"], "signal");
    assert_eq!((results.count("ok"), results.count("cancelled")), (ENDING, 8));
    assert_eq!(results.manifest_count("cancelled"), 8);
    let rows = results.rows("requests.csv");
    let unfinished = rows.iter().filter(|row| row["outcome"] == "cancelled");
    for row in unfinished {
        assert!(!row["first_token_s"].is_empty() && !row["ended_s"].is_empty() && row["e2e_ms"].is_empty());
    }
    assert!(results.rows("summary.csv").len() > 10);
    results.read_by_python();
}

/// How long the phase drained, in seconds.
fn drained_s(results: &Results) -> f64 {
    let phase = &results.manifest()["phases"][0];
    phase["drained_s"].as_f64().unwrap() - phase["end_s"].as_f64().unwrap()
}

#[test]
fn a_signal_drains_briefly_and_keeps_what_there_is() {
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let (sandbox, server) = (Sandbox::new(), hanging());
        let running = endless(&sandbox, &server);
        running.signal(signal);
        let ended = running.wait().expect(code).says(&["stopping: "]);
        assert!(ended.out.lines().next().unwrap().ends_with("interrupted"), "{}", ended.out);
        assert_eq!(ended.out.lines().last(), Some("r"));
        let results = Results::at(sandbox.path("r"));
        assert_whole(&results);
        assert!(drained_s(&results) >= 2.0);
    }
}

#[test]
fn a_second_signal_leaves_at_once_with_whole_files() {
    let (sandbox, server) = (Sandbox::new(), hanging());
    let running = endless(&sandbox, &server);
    running.signal("INT");
    eventually("the first signal is heard", || running.stderr().contains("stopping: "));
    running.signal("INT");
    running.wait().expect(130);
    let results = Results::at(sandbox.path("r"));
    assert_whole(&results);
    assert!(drained_s(&results) < 2.0);
}

#[test]
fn a_signal_before_the_run_leaves_nothing_behind() {
    let server = Server::bare(|_| Reply::Stall);
    let sandbox = Sandbox::with(&quick_at(&server.url()));
    let running = sandbox.start(&["run", "x.toml"]);
    eventually("the target is asked", || !server.seen().is_empty());
    running.signal("INT");
    let ended = running.wait();
    assert!(ended.signal == Some(2) || ended.code == Some(130), "{ended:#?}");
    assert!(!sandbox.has("results"));
}

#[test]
fn c136_a_kill_leaves_every_row_that_was_flushed_and_each_whole() {
    let (sandbox, server) = (Sandbox::new(), hanging());
    let running = endless(&sandbox, &server);
    let results = Results::at(sandbox.path("r"));
    let whole_lines = || results.text("requests.csv").matches('\n').count() - 1;
    eventually("what has ended is on disk while the run goes on", || whole_lines() == ENDING);
    running.signal("KILL");
    assert_eq!(running.wait().signal, Some(9));
    assert_eq!((results.rows("requests.csv").len(), results.count("ok")), (ENDING, ENDING));
    assert_eq!(results.manifest()["state"], "running");
    assert_eq!(results.read_by_python(), ENDING);
}

#[test]
fn c136_a_kill_leaves_the_details_that_were_flushed_and_each_whole() {
    let (sandbox, server) = (Sandbox::new(), hanging());
    let running = endless_with(&sandbox, &server, "\n[results]\nchunks = true\nresponses = true\n");
    let results = Results::at(sandbox.path("r"));
    eventually("the texts of what has ended are on disk while the run goes on", || {
        results.text("responses.jsonl").lines().count() == ENDING
    });
    running.signal("KILL");
    assert_eq!(running.wait().signal, Some(9));
    let rows = results.rows("requests.csv");
    assert_eq!(rows.len(), ENDING);
    let chunks = results.rows("chunks.csv");
    for row in &rows {
        let own = chunks.iter().filter(|chunk| chunk["request"] == row["request"]).count();
        assert_eq!((own, row["events"].as_str()), (4, "4"));
    }
    assert_eq!(chunks.len(), 4 * ENDING, "of no other request");
    for line in results.text("responses.jsonl").split_inclusive('\n') {
        assert!(line.ends_with('\n'), "{line}");
        let response: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(rows.iter().any(|row| row["request"] == response["request"].to_string().as_str()), "{line}");
    }
}
