//! What a run prints and leaves, by its options.

use std::fs;
use std::io::Read as _;
use std::process::{Command, Stdio};

use super::results::{Results, TABLES};
use super::sandbox::{Sandbox, binary, eventually};
use super::server::{Reply, Server, models};
use super::usage::{QUICK, quick_at};

#[test]
fn a_run_prints_its_summary_and_ends_with_the_folder() {
    let sandbox = Sandbox::with(QUICK);
    let ended = sandbox.tonnage(&["run", "x.toml", "--out", "deep/er/r"]).expect(0);
    let lines: Vec<_> = ended.out.lines().collect();
    assert!(lines[0].starts_with("quick · sim 8b-h100 · 8b-h100 · simulated, "), "{}", lines[0]);
    assert_eq!(lines.last(), Some(&"deep/er/r"));
    assert!(ended.out.contains("40 ok of 40 measured, success 100.0 %"), "{}", ended.out);
    let ended = ended.says(&["quick → simulated 8b-h100 at http://127.0.0.1:", "(seed 7)"]);
    ended.says(&["time-outs: connect 5s, first token 120s, idle 60s, total none"]);
    let results = Results::at(sandbox.path("deep/er/r"));
    assert_eq!(results.rows("requests.csv").len(), 40);
    assert_eq!(results.read_by_python(), 40);
    let manifest = results.manifest();
    assert_eq!([&manifest["state"], &manifest["clock"]], ["complete", "real"]);
    assert_eq!(manifest["verdict"]["simulated"], true);
    assert_eq!(results.manifest_count("ok"), 40);
}

#[test]
fn c147_results_go_to_a_fresh_folder_each_time_and_old_ones_stay() {
    let sandbox = Sandbox::with(QUICK);
    let folder = |out: String| out.lines().last().unwrap().to_owned();
    let first = folder(sandbox.tonnage(&["run", "x.toml", "--quiet"]).expect(0).out);
    insta::with_settings!({ filters => vec![(r"\d{8}T\d{6}Z", "<time>")] }, {
        insta::assert_snapshot!(first, @"results/quick-<time>");
    });
    let read = |folder: &str| {
        let results = Results::at(sandbox.path(folder));
        TABLES.map(|table| results.text(table)).join("\n") + &results.text("manifest.json")
    };
    let before = read(&first);
    let second = folder(sandbox.tonnage(&["run", "x.toml", "--quiet"]).expect(0).out);
    assert_ne!(first, second);
    assert_eq!(read(&first), before);
    assert_eq!(fs::read_dir(sandbox.path("results")).unwrap().count(), 2);
}

#[test]
fn c146_the_scenario_beside_the_results_runs_again_with_what_was_set() {
    let sandbox = Sandbox::with(QUICK);
    let arguments = ["run", "x.toml", "--set", "phase.steady.requests=44", "--set", "seed=9", "--out"];
    sandbox.tonnage(&[&arguments[..], &["r"]].concat()).expect(0).says(&["(seed 9)"]);
    let results = Results::at(sandbox.path("r"));
    assert_eq!(results.rows("requests.csv").len(), 44);
    assert_eq!(results.manifest()["seed"], 9);
    sandbox.tonnage(&["run", "r/scenario.toml", "--out", "again"]).expect(0);
    assert_eq!(Results::at(sandbox.path("again")).text("scenario.toml"), results.text("scenario.toml"));
}

#[test]
fn quiet_leaves_standard_error_empty() {
    let sandbox = Sandbox::with(QUICK);
    let text = sandbox.tonnage(&["run", "x.toml", "--quiet", "--out", "a"]).expect(0);
    assert_eq!(text.err, "");
    let json = sandbox.tonnage(&["rehearse", "x.toml", "--quiet", "--json", "--out", "b"]).expect(0);
    assert_eq!(json.err, "");
    assert_eq!(json.out.lines().count(), 1);
}

#[test]
fn quiet_keeps_warnings_back_and_errors_not() {
    let rows = r#"prompt.dataset = { path = "rows.jsonl", format = "prompts", when_exhausted = "repeat" }"#;
    let sandbox = Sandbox::with(&QUICK.replace("prompt.synthetic = 20", rows));
    sandbox.write(
        "rows.jsonl",
        "{\"prompt\":\"How heavy is a tonne?\"}\n{\"prompt\":\"How deep is a dock?\"}\n",
    );
    sandbox
        .tonnage(&["rehearse", "x.toml", "--out", "a"])
        .expect(0)
        .says(&["warning: ", "sends each of its 2 rows"]);
    assert_eq!(sandbox.tonnage(&["rehearse", "x.toml", "--quiet", "--out", "b"]).expect(0).err, "");
    sandbox.tonnage(&["rehearse", "x.toml", "--quiet", "--out", "b"]).expect(2).says(&["error: b exists"]);
}

#[test]
fn json_is_one_object_with_verdict_figures_and_folder() {
    let sandbox = Sandbox::with(QUICK);
    let ended = sandbox.tonnage(&["run", "x.toml", "--json", "--out", "r"]).expect(0);
    let object: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!([&object["verdict"], &object["folder"], &object["state"]], ["valid", "r", "complete"]);
    assert_eq!(object["simulated"], true);
    let all = object["figures"].as_array().unwrap().iter();
    let mut all = all.filter(|group| group["phase"] == "steady" && group["workload"] == "all");
    let ttft = &all.next().unwrap()["metrics"]["ttft"];
    assert_eq!(ttft["count"], 40);
    let printed = ttft["p50"].as_f64().unwrap();
    let in_file = Results::at(sandbox.path("r")).summary("steady", "ttft", "p50")["value"].clone();
    assert_eq!(in_file.parse::<f64>().unwrap(), printed);
}

#[test]
fn a_small_sample_fails_only_under_strict() {
    let sandbox = Sandbox::with(&QUICK.replace("requests = 40", "requests = 10"));
    let ended = sandbox.tonnage(&["rehearse", "x.toml", "--out", "a"]).expect(0);
    assert!(ended.out.contains("insufficient"), "{}", ended.out);
    let ended = sandbox.tonnage(&["rehearse", "x.toml", "--strict", "--out", "b"]).expect(4);
    assert_eq!(ended.out.lines().last(), Some("b"), "the results stand all the same");
}

#[test]
fn numbers_that_are_not_valid_end_with_4() {
    // The rows vanish between the scan and the run: every request fails by the client's own fault.
    let sandbox = Sandbox::new();
    let rows = sandbox.path("rows.jsonl");
    fs::write(&rows, "{\"prompt\":\"How heavy is a tonne?\"}\n".repeat(60)).unwrap();
    let server = Server::bare(move |_| {
        fs::write(&rows, "").unwrap();
        models(&["tiny"])
    });
    let data = r#"prompt.dataset = { path = "rows.jsonl", format = "prompts" }"#;
    sandbox.write("x.toml", &quick_at(&server.url()).replace("prompt.synthetic = 20", data));
    let ended = sandbox.tonnage(&["run", "x.toml", "--out", "r"]).expect(4);
    assert!(ended.out.lines().next().unwrap().ends_with("invalid"), "{}", ended.out);
    let results = Results::at(sandbox.path("r"));
    assert_eq!((results.verdict(), results.count("client_error")), ("invalid".to_owned(), 40));
    assert!(results.rows("requests.csv")[0]["error"].contains("changed"), "the cause is named");
    assert_eq!(server.posts(), 0);
}

#[test]
fn a_reader_that_leaves_early_harms_nothing() {
    let sandbox = Sandbox::with(QUICK);
    for (index, arguments) in [&["run", "x.toml"][..], &["rehearse", "x.toml", "--json"]].iter().enumerate() {
        let out = format!("r{index}");
        let mut child = Command::new(binary())
            .args(*arguments)
            .args(["--out", &out])
            .current_dir(sandbox.path(""))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let mut err = String::new();
        child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0), "{err}");
        assert!(!err.contains("panicked") && !err.contains("pipe"), "{err}");
        assert_eq!(Results::at(sandbox.path(&out)).manifest()["state"], "complete");
    }
    sandbox.shell("\"$0\" run --help | head -n0").expect(0).says(&[]);
}

#[test]
fn a_standard_output_that_is_full_is_an_error_and_the_files_stand() {
    let sandbox = Sandbox::with(QUICK);
    let ended = sandbox.shell("exec \"$0\" rehearse x.toml --out r > /dev/full").expect(1);
    ended.says(&["cannot write to standard output", "the results are in r"]);
    assert_eq!(Results::at(sandbox.path("r")).manifest()["state"], "complete");
}

#[test]
fn progress_comes_in_lines_where_no_terminal_renews_them() {
    let sandbox = Sandbox::with(&QUICK.replace("requests = 40", "duration = \"1s\""));
    let ended = sandbox.tonnage(&["run", "x.toml", "--out", "r"]).expect(0);
    assert!(!ended.err.contains('\r') && !ended.err.contains('\x1b'), "{:?}", ended.err);
}

#[test]
fn a_target_that_takes_its_time_is_said_to_be_waited_for() {
    let (let_go, go) = std::sync::mpsc::channel::<()>();
    let go = std::sync::Mutex::new(go);
    let server = Server::bare(move |request| match request.is_post() {
        true => Reply::Tokens(6),
        false => {
            // Ends with the sender: every question is answered from then on.
            let _ = go.lock().unwrap().recv();
            models(&["tiny"])
        }
    });
    let sandbox = Sandbox::with(&quick_at(&server.url()));
    let running = sandbox.start(&["run", "x.toml", "--out", "r"]);
    eventually("the wait is spoken of", || running.stderr().contains("waiting for http://127"));
    drop(let_go);
    assert!(matches!(running.wait().code, Some(0 | 4)));
}
