//! Sweeps: one folder for all points, each run as its own, taken up again after an interruption.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::results::{Results, Row, TABLES};
use super::sandbox::{Sandbox, eventually};
use super::server::{Reply, Request, Server};

const LADDER: &str = r#"
name = "ladder"
seed = 3

[target]
sim.profile = "8b-h100"

[[workload]]
name = "chat"
prompt.synthetic.words = 200
output.max_tokens = 16

[[phase]]
name = "steady"
warm_up = "1s"
duration = "4s"
load.closed = {}

[sweep]
repeats = 2
pause = "5s"
skip = [{ words = 800, users = 4 }]

[[sweep.axis]]
name = "words"
key = "workload.chat.prompt.synthetic.words"
values = [50, 800]

[[sweep.axis]]
name = "users"
key = "phase.steady.load.closed.users"
values.geometric = { from = 1, to = 4, factor = 4 }
"#;

#[test]
fn an_objective_of_all_points_that_one_misses_ends_a_sweep_with_its_exit_code() {
    // Eight hundred words take longer than fifty, and than the bound between.
    let bounded = |at_most: &str, points: &str| {
        let objective = "\n[[objective]]\nmetric = \"ttft\"\npercentile = 50\n";
        format!("{LADDER}{objective}at_most = \"{at_most}\"\npoints = \"{points}\"\n")
            .replace("duration = \"4s\"", "duration = \"8s\"")
    };
    let (_kept, results) = rehearsed(&bounded("20ms", "none"), &[]);
    let told: BTreeSet<_> = results.rows("points.csv").iter().map(|row| row["objectives"].clone()).collect();
    assert!(told.contains("fail") && told.contains("pass"), "{told:?}");
    rehearsed(&bounded("200ms", "all"), &[]);
    let missed = Sandbox::with(&bounded("20ms", "all"));
    missed.tonnage(&["rehearse", "x.toml", "--out", "r"]).expect(5);
}

fn key(row: &Row) -> (String, String) {
    (row["point"].clone(), row["repeat"].clone())
}

fn rehearsed(scenario: &str, arguments: &[&str]) -> (Sandbox, Results) {
    let sandbox = Sandbox::with(scenario);
    let mut all = vec!["rehearse", "x.toml", "--out", "r"];
    all.extend(arguments);
    sandbox.tonnage(&all).expect(0);
    let results = Results::at(sandbox.path("r"));
    (sandbox, results)
}

/// The same against `server`, with three requests a run and no pause.
fn small(server: &Server) -> String {
    LADDER
        .replace("sim.profile = \"8b-h100\"", &format!("url = \"{}\"", server.url()))
        .replace("warm_up = \"1s\"\nduration = \"4s\"", "requests = 3")
        .replace("pause = \"5s\"\n", "")
}

#[test]
fn every_row_of_every_file_names_its_point_and_points_csv_has_the_axes_first() {
    let (_sandbox, results) = rehearsed(&(LADDER.to_owned() + "\n[server]\nmetrics = \"/metrics\"\n"), &[]);
    let points = results.rows("points.csv");
    let told: Vec<_> =
        points.iter().map(|row| (row["words"].as_str(), row["users"].as_str(), key(row))).collect();
    let run = |point: &str, repeat: &str| (point.to_owned(), repeat.to_owned());
    assert_eq!(
        told,
        [
            ("50", "1", run("1", "1")),
            ("50", "1", run("1", "2")),
            ("50", "4", run("2", "1")),
            ("50", "4", run("2", "2")),
            ("800", "1", run("3", "1")),
            ("800", "1", run("3", "2")),
        ]
    );
    assert!(results.text("points.csv").starts_with("words,users,point,repeat,state,verdict,"));
    let runs: BTreeSet<_> = told.into_iter().map(|(_, _, run)| run).collect();
    // No answer is scored, so none is accurate.
    for table in TABLES.into_iter().chain(["server.csv"]).filter(|table| *table != "accuracy.csv") {
        let keys: BTreeSet<_> = results.rows(table).iter().map(key).collect();
        assert_eq!(keys, runs, "{table}");
    }
    // As in the summary, which is judged elsewhere.
    for row in
        results.rows("summary.csv").iter().filter(|row| row["phase"] == "all" && row["workload"] == "all")
    {
        let point = points.iter().find(|point| key(point) == key(row)).unwrap();
        let column = format!("{}_{}", row["metric"], row["statistic"]);
        assert_eq!(point[&column], row["value"], "{column}");
    }
    results.read_by_python();
}

#[test]
fn points_follow_one_another_with_a_pause_and_nothing_open() {
    let (_sandbox, results) = rehearsed(LADDER, &[]);
    let mut last = 0.0;
    for phase in results.manifest()["phases"].as_array().unwrap() {
        let start = phase["start_s"].as_f64().unwrap();
        assert!(last == 0.0 || start - last > 4.999, "{phase}");
        last = phase["drained_s"].as_f64().unwrap();
        let warm_up = phase["window_start_s"].as_f64().unwrap() - start;
        assert!((warm_up - 1.0).abs() < 1e-6, "each has its warm-up: {warm_up}");
    }
    for row in results.rows("requests.csv") {
        let at = row["ended_s"].parse::<f64>().unwrap();
        assert!(at <= last);
    }
}

#[test]
fn points_have_one_plan_and_prompts_of_their_own_and_repeats_another_plan() {
    let scenario = LADDER
        .replace("output.max_tokens = 16", "output.max_tokens.uniform = { min = 2, max = 40 }")
        .replace("load.closed = {}", "load.closed = {}\nrequests = 12");
    let (sandbox, results) = rehearsed(&scenario, &[]);
    let lengths = |point: &str, repeat: &str| {
        let mut rows = results.rows("requests.csv");
        rows.retain(|row| row["point"] == point && row["repeat"] == repeat);
        rows.sort_by_key(|row| row["request"].parse::<u64>().unwrap());
        rows.into_iter().map(|row| row["output_tokens_planned"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(lengths("1", "1"), lengths("2", "1"));
    assert_eq!(lengths("1", "2"), lengths("2", "2"));
    assert_ne!(lengths("1", "1"), lengths("1", "2"));
    let manifest = results.manifest();
    let salts: BTreeSet<_> =
        manifest["points"].as_array().unwrap().iter().map(|point| point["salt"].to_string()).collect();
    assert_eq!(salts.len(), 6);
    // The first repeat is the run that the scenario is without a sweep.
    let single = scenario[..scenario.find("[sweep]").unwrap()].replace("load.closed = {}", "load.closed = 1");
    sandbox.write("single.toml", &single);
    sandbox
        .tonnage(&[
            "rehearse",
            "single.toml",
            "--out",
            "s",
            "--set",
            "workload.chat.prompt.synthetic.words=50",
        ])
        .expect(0);
    let mut rows = Results::at(sandbox.path("s")).rows("requests.csv");
    rows.sort_by_key(|row| row["request"].parse::<u64>().unwrap());
    let planned: Vec<_> = rows.into_iter().map(|row| row["output_tokens_planned"].clone()).collect();
    assert_eq!(planned, lengths("1", "1"));
}

#[test]
fn request_ids_carry_point_and_repeat() {
    let server = Server::start(|_| Reply::Tokens(2));
    let sandbox = Sandbox::with(&small(&server));
    sandbox.tonnage(&["run", "x.toml", "--out", "r"]).expect(0);
    let id = Results::at(sandbox.path("r")).manifest()["run_id"].as_str().unwrap().to_owned();
    let seen = server.seen();
    let ids: BTreeSet<_> = seen.iter().filter_map(|request| id_of(request)).collect();
    for (point, repeat, request) in [(1, 1, 0), (1, 2, 2), (3, 1, 0), (3, 2, 2)] {
        let id = format!("{id}-{point}-{repeat}-{request}");
        assert!(ids.contains(&*id), "{id} is missing from {ids:?}");
    }
    assert_eq!(ids.len(), 18);
}

fn id_of(request: &Request) -> Option<&str> {
    request.headers.lines().find_map(|line| line.strip_prefix("x-request-id: "))
}

#[test]
fn c147_an_interrupted_sweep_goes_on_with_old_and_new_rows_and_none_twice() {
    let sandbox = Sandbox::with(LADDER);
    for out in ["whole", "r"] {
        sandbox.tonnage(&["rehearse", "x.toml", "--out", out]).expect(0);
    }
    sandbox.tonnage(&["rehearse", "x.toml", "--resume", "r"]).expect(2).says(&["r is complete"]);
    let before = Results::at(sandbox.path("r"));
    let kept: Vec<_> = before.rows("requests.csv").into_iter().filter(|row| row["point"] == "1").collect();
    cut_back(&sandbox, 2);
    let other = LADDER.replace("duration = \"4s\"", "duration = \"5s\"");
    sandbox.write("other.toml", &other);
    let refused = sandbox.tonnage(&["rehearse", "other.toml", "--resume", "r"]).expect(2);
    refused.says(&["the scenario is not the one of r", "duration = \"4s\"", "duration = \"5s\""]);
    sandbox.tonnage(&["rehearse", "x.toml", "--resume", "r"]).expect(0);
    let [whole, results] = ["whole", "r"].map(|out| Results::at(sandbox.path(out)));
    let rows = results.rows("requests.csv");
    let ids: BTreeSet<_> = rows.iter().map(|row| (key(row), row["request"].clone())).collect();
    assert_eq!(ids.len(), rows.len(), "a row is there twice");
    assert!(rows.starts_with(&kept), "old rows are kept as they were");
    let manifest = results.manifest();
    assert_eq!(manifest["state"], "complete");
    assert_eq!(manifest["resumed"][0]["rows_removed"], 3);
    results.read_by_python();
    // It goes on in time: its rows are those of a sweep that was not interrupted, but for the rounding of its start.
    let whole = whole.rows("requests.csv");
    assert_eq!(rows.len(), whole.len());
    for (resumed, row) in rows.iter().zip(&whole) {
        for column in ["point", "repeat", "request", "outcome", "prompt_tokens", "output_tokens"] {
            assert_eq!(resumed[column], row[column], "{column} of {resumed:?}");
        }
        let apart =
            |column: &str| resumed[column].parse::<f64>().unwrap() - row[column].parse::<f64>().unwrap();
        assert!(apart("scheduled_s").abs() < 5e-6 && apart("ttft_ms").abs() < 5e-3, "{resumed:?}");
    }
}

/// Leaves the folder `r` as a kill would in the run after the first `runs`, with two rows of it and a torn one.
fn cut_back(sandbox: &Sandbox, runs: usize) {
    let results = Results::at(sandbox.path("r"));
    let mut manifest = results.manifest();
    manifest["state"] = "running".into();
    manifest["verdict"] = serde_json::Value::Null;
    manifest["points"].as_array_mut().unwrap().truncate(runs);
    let phases = manifest["phases"].as_array_mut().unwrap();
    phases.truncate(runs + 1);
    for key in ["window_start_s", "window_end_s", "end_s", "drained_s", "ended_by"] {
        phases[runs][key] = serde_json::Value::Null;
    }
    fs::write(sandbox.path("r/manifest.json"), manifest.to_string()).unwrap();
    for table in ["requests.csv", "gaps.csv", "summary.csv", "timeline.csv", "points.csv"] {
        let rows = results.rows(table);
        let ended = rows.iter().position(|row| row["point"] == "2").unwrap();
        let under_way = if table == "requests.csv" { 2 } else { 0 };
        let text = results.text(table);
        let lines: Vec<_> = text.split_inclusive('\n').take(1 + ended + under_way).collect();
        let torn = if table == "requests.csv" { "2,1,99,stea" } else { "" };
        fs::write(sandbox.path("r").join(table), lines.concat() + torn).unwrap();
    }
}

const CONTEXTS: &str = r#"
name = "contexts"
seed = 5

[target]
sim.profile = "7b-24gb"
reset_cache = true

[[workload]]
name = "chat"
prompt.synthetic.shared_prefix = { tokens = 512, fill = true }
output.max_tokens = 8

[[phase]]
name = "steady"
requests = 4
load.closed = 1

[results]
chunks = true
responses = true

[[sweep.axis]]
name = "context"
key = "workload.chat.prompt.synthetic.tokens"
values = [600, "1Ki"]

[[sweep.axis]]
name = "cache"
key = "workload.chat.cache"
values = ["shared", "cold"]
"#;

/// Point, repeat and request of each line of the details.
fn details(results: &Results) -> [Vec<[String; 3]>; 2] {
    let keys = ["point", "repeat", "request"];
    let chunks = results.rows("chunks.csv").into_iter().map(|row| keys.map(|key| row[key].clone()));
    let text = results.text("responses.jsonl");
    let lines = text.lines().map(|line| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        keys.map(|key| line[key].to_string())
    });
    [chunks.collect(), lines.collect()]
}

#[test]
fn each_run_has_its_own_lengths_cache_prefixes_and_details_also_when_it_is_resumed() {
    let (sandbox, whole) = rehearsed(CONTEXTS, &[]);
    let rows = whole.rows("requests.csv");
    assert_eq!(rows.len(), 16);
    for row in &rows {
        let (length, cached) = match row["point"].as_str() {
            "1" => ("600", "512"),
            "2" => ("600", "0"),
            "3" => ("1024", "512"),
            _ => ("1024", "0"),
        };
        let seen =
            ["outcome", "prompt_tokens_planned", "prompt_tokens", "cached_tokens"].map(|name| &*row[name]);
        assert_eq!(seen, ["ok", length, length, cached], "{row:?}");
    }
    let whole_details = details(&whole);
    let [chunks, responses] = &whole_details;
    assert_eq!((chunks.len(), responses.len()), (16 * 8, 16));
    let points = |results: &Results| {
        let manifest = results.manifest();
        let lengths = manifest["lengths"].as_array().unwrap();
        lengths.iter().map(|entry| (entry["point"].as_u64(), entry["repeat"].as_u64())).collect::<Vec<_>>()
    };
    assert_eq!(points(&whole), [1, 2, 3, 4].map(|point| (Some(point), Some(1))));
    cut_back(&sandbox, 1);
    sandbox.tonnage(&["rehearse", "x.toml", "--resume", "r"]).expect(0);
    let resumed = Results::at(sandbox.path("r"));
    assert_eq!(details(&resumed), whole_details);
    assert_eq!(points(&resumed).len(), 4);
}

#[test]
fn a_target_that_cannot_do_what_comes_before_a_run_leaves_no_folder_at_first_and_whole_books_later() {
    let server = Server::start(|request| match request.line.contains("chat") {
        true => Reply::Tokens(2),
        false => Reply::Document(404, String::new()),
    });
    let refused = "reset_cache = true\n";
    let at_once = small(&server).replace("[[workload]]", &format!("{refused}\n[[workload]]"));
    let sandbox = Sandbox::with(&at_once);
    let ended = sandbox.tonnage(&["run", "x.toml", "--out", "r"]).expect(3);
    ended.says(&["the server's prefix cache cannot be emptied"]);
    assert!(!sandbox.path("r").exists());
    let axis = "\n[[sweep.axis]]\nname = \"resets\"\nkey = \"target.reset_cache\"\nvalues = [false, true]\n";
    let later = small(&server).replacen("[[sweep.axis]]", &format!("{axis}\n[[sweep.axis]]"), 1);
    sandbox.write("later.toml", &later);
    sandbox.tonnage(&["run", "later.toml", "--out", "r"]).expect(3);
    let manifest = Results::at(sandbox.path("r")).manifest();
    assert_eq!(manifest["state"], "stopped");
    assert_ne!(manifest["verdict"], serde_json::Value::Null);
    assert!(!manifest["points"].as_array().unwrap().is_empty());
}

#[test]
fn a_killed_or_interrupted_run_is_resumed_against_the_same_server() {
    for signal in ["KILL", "INT"] {
        let hangs = Arc::new(AtomicBool::new(true));
        let server = Server::start({
            let hangs = Arc::clone(&hangs);
            move |request| match request.number >= 9 && hangs.load(Ordering::Relaxed) {
                true => Reply::Stall,
                false => Reply::Tokens(2),
            }
        });
        let sandbox = Sandbox::with(&small(&server));
        let running = sandbox.start(&["run", "x.toml", "--out", "r"]);
        eventually("the run after the third hangs", || server.posts() > 9);
        running.signal(signal);
        running.wait();
        hangs.store(false, Ordering::Relaxed);
        sandbox.tonnage(&["report", "r"]).expect(0);
        sandbox.tonnage(&["run", "x.toml", "--resume", "r"]).expect(0);
        let results = Results::at(sandbox.path("r"));
        let rows = results.rows("requests.csv");
        assert_eq!((rows.len(), results.count("ok"), results.rows("points.csv").len()), (18, 18, 6));
        let ended: Vec<f64> = rows.iter().map(|row| row["ended_s"].parse().unwrap()).collect();
        assert!(ended.is_sorted(), "one time axis: {ended:?}");
        results.read_by_python();
    }
}

#[test]
fn a_stop_rule_ends_its_point_as_failed_and_the_sweep_goes_on() {
    let server = Server::start(|request| {
        if (12..16).contains(&request.number) {
            Reply::Document(500, "{}".to_owned())
        } else {
            Reply::Tokens(2)
        }
    });
    // The rule is held against a run that goes on for a while.
    let scenario = small(&server)
        .replace("repeats = 2", "repeats = 1")
        .replace("requests = 3", "requests = 12")
        .replace("load.closed = {}", "load.closed = { think = \"100ms\" }");
    let sandbox = Sandbox::with(&(scenario + "\n[stop]\nerrors_in_a_row = 3\n"));
    // A busy machine makes every run invalid.
    let ended = sandbox.tonnage(&["run", "x.toml", "--out", "r"]);
    assert!([Some(0), Some(4)].contains(&ended.code), "{ended:?}");
    let results = Results::at(sandbox.path("r"));
    let states: Vec<_> = results.rows("points.csv").iter().map(|row| row["state"].clone()).collect();
    assert_eq!(states, ["complete", "stopped", "complete"]);
    assert_eq!(results.manifest()["state"], "complete");
}

#[test]
fn a_sweep_is_valid_where_one_point_is_and_fails_where_none_is() {
    let server = Server::start(|_| Reply::Document(500, "{}".to_owned()));
    let sandbox = Sandbox::with(&small(&server));
    sandbox.tonnage(&["run", "x.toml", "--out", "r", "--strict"]).expect(4);
    let manifest = Results::at(sandbox.path("r")).manifest();
    assert_eq!(manifest["verdict"]["verdict"], "insufficient");
}

#[test]
fn report_tells_a_sweep_again_as_the_run_did_and_compare_sets_point_against_point() {
    let sandbox = Sandbox::with(LADDER);
    let ran = sandbox.tonnage(&["rehearse", "x.toml", "--out", "a"]).expect(0);
    let told = sandbox.tonnage(&["report", "a"]).expect(0);
    let table = |text: &str| {
        text.lines()
            .skip(1)
            .take_while(|line| !line.contains("a/report.html") && *line != "a")
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(table(ran.out.trim_end()), table(told.out.trim_end())[..table(ran.out.trim_end()).len()]);
    let page = fs::read_to_string(sandbox.path("a/report.html")).unwrap();
    assert!(page.contains("<h2>Points</h2>") && page.contains("<th>words</th><th>users</th>"));
    sandbox.tonnage(&["rehearse", "x.toml", "--out", "b"]).expect(0);
    let compared = sandbox.tonnage(&["compare", "a", "b", "--csv"]).expect(0);
    let mut points: Vec<_> = compared.out.lines().skip(1).filter_map(|line| line.split(',').next()).collect();
    points.dedup();
    assert_eq!(points, ["1", "2", "3"]);
}

#[test]
fn check_previews_every_point_and_shards_are_refused() {
    let sandbox = Sandbox::with(LADDER);
    let told = sandbox.tonnage(&["check", "x.toml"]).expect(0).out;
    assert!(told.contains("point  words  users  requests"), "{told}");
    assert!(told.contains("6 runs of 3 points"), "{told}");
    assert!(told.contains("49s with pauses"), "{told}");
    let object = sandbox.tonnage(&["check", "x.toml", "--json"]).expect(0).out;
    let object: serde_json::Value = serde_json::from_str(&object).unwrap();
    assert_eq!(object["files"][0]["preview"]["points"][2]["settings"]["words"], "800");
    let refused = sandbox.tonnage(&["run", "x.toml", "--shard", "0/2", "--run-id", "a"]).expect(2);
    refused.says(&["a sweep or search cannot be split into shards"]);
}
