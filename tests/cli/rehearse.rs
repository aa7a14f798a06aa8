//! Rehearsals: exact, repeatable, without server or key.

use super::results::{Results, TABLES};
use super::sandbox::{Sandbox, eventually};
use super::usage::QUICK;

const TWO_LOADS: &str = r#"
name = "two-loads"
seed = 11

[target]
url = "http://10.255.255.1:8000"
api_key_env = "LOAD_KEY"

[[workload]]
name = "short"
prompt.synthetic = 20
output.max_tokens.uniform = { min = 2, max = 30 }

[[workload]]
name = "long"
prompt.synthetic = 900

[[phase]]
name = "open"
warm_up = "2s"
duration = "10s"
load.poisson = "8/s"

[[phase]]
name = "closed"
requests = 60
load.closed = 12
"#;

#[test]
fn two_rehearsals_give_the_same_files_and_need_neither_server_nor_key() {
    let sandbox = Sandbox::with(TWO_LOADS);
    for out in ["a", "b"] {
        let ended = sandbox.tonnage(&["rehearse", "x.toml", "--out", out]).expect(0);
        assert!(ended.out.lines().next().unwrap().contains("simulated"), "{}", ended.out);
        ended.says(&["two-loads → 7b-24gb in virtual time (seed 11)"]);
    }
    let [a, b] = ["a", "b"].map(|out| Results::at(sandbox.path(out)));
    for table in TABLES {
        let is_empty = table == "accuracy.csv";
        assert!(is_empty || a.text(table).lines().count() > 5, "{table}");
        assert!(a.text(table) == b.text(table), "{table} differs");
    }
    let manifest = a.manifest();
    assert_eq!(
        [&manifest["clock"], &manifest["stamps"], &manifest["state"]],
        ["virtual", "virtual", "complete"]
    );
    assert_eq!(manifest["verdict"]["simulated"], true);
    assert!(a.rows("requests.csv").iter().all(|row| row["lag_ms"] == "0.000" || row["phase"] == "closed"));
    a.read_by_python();
}

#[test]
fn an_api_that_the_simulator_does_not_speak_is_not_rehearsed() {
    let sandbox = Sandbox::with(&TWO_LOADS.replace("[target]\n", "[target]\napi = \"messages\"\n"));
    let ended = sandbox.tonnage(&["rehearse", "x.toml", "--out", "a"]).expect(2);
    ended.says(&["the simulated server does not speak `messages`", "chat, completions"]);
    assert!(!sandbox.path("a").exists());
    sandbox.tonnage(&["rehearse", "x.toml", "--set", "target.api=completions", "--out", "a"]).expect(0);
}

#[test]
fn another_seed_gives_other_arrivals_and_a_drawn_one_is_printed_and_stored() {
    let sandbox = Sandbox::with(&TWO_LOADS.replace("seed = 11\n", ""));
    let ended = sandbox.tonnage(&["rehearse", "x.toml", "--out", "a"]).expect(0);
    let a = Results::at(sandbox.path("a"));
    let seed = a.manifest()["seed"].to_string();
    let ended = ended.says(&[&format!("(seed {seed})")]);
    drop(ended);
    sandbox.tonnage(&["rehearse", "x.toml", "--set", &format!("seed={seed}"), "--out", "b"]).expect(0);
    sandbox.tonnage(&["rehearse", "x.toml", "--set", "seed=12", "--out", "c"]).expect(0);
    let [b, c] = ["b", "c"].map(|out| Results::at(sandbox.path(out)));
    assert!(a.text("requests.csv") == b.text("requests.csv"));
    assert!(a.text("requests.csv") != c.text("requests.csv"));
}

#[test]
fn the_profile_is_the_scenarios_unless_another_is_named() {
    let sandbox = Sandbox::with(QUICK);
    sandbox.tonnage(&["rehearse", "x.toml", "--out", "a"]).expect(0).says(&["quick → 8b-h100 in virtual"]);
    let arguments = ["rehearse", "x.toml", "--profile", "72b-4x64gb", "--out", "b"];
    sandbox.tonnage(&arguments).expect(0).says(&["quick → 72b-4x64gb in virtual"]);
    let ttft = |out: &str| {
        let row = Results::at(sandbox.path(out)).summary("steady", "ttft", "p50");
        row["value"].parse::<f64>().unwrap()
    };
    assert!(ttft("b") > 2.0 * ttft("a"));
}

#[test]
fn a_signal_ends_a_long_rehearsal_with_whole_files() {
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let sandbox = Sandbox::with(&QUICK.replace("requests = 40", "duration = \"900h\""));
        let running = sandbox.start(&["rehearse", "x.toml", "--out", "r"]);
        let file = sandbox.path("r/requests.csv");
        eventually("rows are on disk", || {
            std::fs::metadata(&file).is_ok_and(|metadata| metadata.len() > 100_000)
        });
        running.signal(signal);
        let ended = running.wait().expect(code);
        assert!(ended.out.lines().next().unwrap().ends_with("interrupted"), "{}", ended.out);
        let results = Results::at(sandbox.path("r"));
        assert_eq!(results.manifest()["state"], "interrupted");
        assert_eq!(results.rows("requests.csv").len() as u64, results.manifest_count("planned"));
        assert!(results.count("cancelled") <= 8 && results.count("ok") > 100);
        assert!(results.read_by_python() > 100);
    }
}
