//! Rehearsals: exact, repeatable, without server or key.

use std::collections::BTreeSet;

use super::results::{Results, Row, TABLES};
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
    let sandbox = Sandbox::with(&format!("{TWO_LOADS}\n[results]\nchunks = true\nresponses = true\n"));
    for out in ["a", "b"] {
        let ended = sandbox.tonnage(&["rehearse", "x.toml", "--out", out]).expect(0);
        assert!(ended.out.lines().next().unwrap().contains("simulated"), "{}", ended.out);
        ended.says(&["two-loads → 7b-24gb in virtual time (seed 11)"]);
    }
    let [a, b] = ["a", "b"].map(|out| Results::at(sandbox.path(out)));
    for table in TABLES {
        let is_empty = table == "accuracy.csv";
        assert!(is_empty || a.text(table).lines().count() > 5, "{table}");
    }
    let names = |results: &Results| {
        let entries = std::fs::read_dir(&results.folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect::<BTreeSet<_>>()
    };
    assert_eq!(names(&a), names(&b));
    // Without what may differ: the run's name, its time of day, and where it lies.
    let kept = |results: &Results, name: &str| {
        let manifest = results.manifest();
        let own = ["run_id", "started"].map(|key| manifest[key].as_str().unwrap().to_owned());
        own.iter().fold(results.text(name), |text, own| text.replace(own, "·"))
    };
    for name in names(&a) {
        assert!(kept(&a, &name) == kept(&b, &name), "{name} differs");
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

#[test]
fn details_asked_for_are_written_and_no_figure_needs_them() {
    let scenario = format!("{TWO_LOADS}\n[results]\nchunks = true\nresponses = true\n");
    let sandbox = Sandbox::with(&scenario);
    let ended = sandbox.tonnage(&["rehearse", "x.toml", "--quiet", "--out", "r"]);
    assert!(matches!(ended.code, Some(0 | 4)), "{ended:#?}");
    let results = Results::at(sandbox.path("r"));
    let rows = results.rows("requests.csv");
    let events = |row: &Row| row["events"].parse::<usize>().unwrap_or(0);
    let chunks = results.rows("chunks.csv");
    assert_eq!(chunks.len(), rows.iter().map(events).sum::<usize>());
    let row = rows.iter().find(|row| events(row) > 3).unwrap();
    let own: Vec<_> = chunks.iter().filter(|chunk| chunk["request"] == row["request"]).collect();
    assert_eq!(own.len(), events(row));
    assert_eq!(
        (&own[0]["t_s"], own[0]["gap_ms"].as_str(), own[0]["event"].as_str()),
        (&row["first_token_s"], "", "1")
    );
    assert_eq!(own.last().unwrap()["t_s"], row["last_token_s"]);

    let text = results.text("responses.jsonl");
    let responses: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(responses.len(), rows.iter().filter(|row| !row["sent_s"].is_empty()).count());
    for response in &responses {
        let words = response["answer"].as_str().unwrap().split_whitespace().count();
        let request = response["request"].to_string();
        let row = rows.iter().find(|row| row["request"] == request).unwrap();
        assert_eq!(
            (words > 0, response["cut"].as_bool()),
            (row["outcome"] == "ok", Some(false)),
            "{response}"
        );
    }
    assert_eq!(results.manifest()["left_out"]["chunks"], 0);

    let told = sandbox.tonnage(&["report", "r", "--csv"]).expect(0).out;
    for file in ["chunks.csv", "responses.jsonl"] {
        std::fs::remove_file(sandbox.path("r").join(file)).unwrap();
    }
    assert_eq!(sandbox.tonnage(&["report", "r", "--csv"]).expect(0).out, told);
    let plain = Sandbox::with(TWO_LOADS);
    plain.tonnage(&["rehearse", "x.toml", "--quiet", "--out", "r"]);
    assert!(!plain.has("r/chunks.csv") && !plain.has("r/responses.jsonl"));
    assert!(Results::at(plain.path("r")).text("requests.csv") == results.text("requests.csv"));
}
