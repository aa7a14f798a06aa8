//! Searches for a capacity against the simulated server.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{fs, thread};

use super::results::Results;
use super::sandbox::{Sandbox, eventually};
use super::server::{Reply, Request, Server};

#[path = "../support/capacity.rs"]
mod queue;
use queue::{Ended, SEARCH};

/// A folder with the search and its server.
fn folder(search: &str) -> Sandbox {
    let sandbox = Sandbox::with(search);
    sandbox.write("queue.toml", queue::PROFILE);
    sandbox
}

#[test]
fn a_search_bounds_the_capacity_and_keeps_every_try() {
    let sandbox = folder(SEARCH);
    let told = sandbox.tonnage(&["rehearse", "x.toml", "--out", "r"]).expect(0).out;
    assert!(told.contains("capacity      phase.steady.load.poisson.rate: holds at"), "{told}");
    let results = Results::at(sandbox.path("r"));
    let capacity = &results.manifest()["capacity"];
    let (holds, fails) = (capacity["holds"].as_f64().unwrap(), capacity["fails"].as_f64().unwrap());
    assert!(holds >= 8.0 && holds < fails, "{capacity}");
    assert!(capacity["undetermined"].is_null(), "{capacity}");
    let points = results.rows("points.csv");
    for row in &points {
        let rate: f64 = row["rate"].parse().unwrap();
        match row["step_result"].as_str() {
            "pass" => assert!(rate <= holds + 1e-9, "{row:?}"),
            "fail" => assert!(rate >= fails - 1e-9, "{row:?}"),
            _ => assert!(row["reason"] == "too_few" || row["reason"] == "growing", "{row:?}"),
        }
        assert_eq!(row["decided_by"], "ttft_p90");
        let count = |column: &str| row[column].parse::<u64>().unwrap();
        assert!(count("misses") <= count("n") && count("n") <= count("requests_planned"), "{row:?}");
    }
    let shown = format!("{holds}");
    assert!(points.iter().any(|row| row["rate"] == shown && row["step_result"] == "pass"));
    results.read_by_python();
    // Told again from the folder, it is the same.
    let again = sandbox.tonnage(&["report", "r"]).expect(0).out;
    let line = |text: &str| text.lines().find(|line| line.starts_with("capacity")).map(str::to_owned);
    assert_eq!(line(&again), line(&told));
}

#[test]
fn an_interrupted_search_goes_on_where_it_was_and_ends_alike() {
    let sandbox = folder(SEARCH);
    sandbox.tonnage(&["rehearse", "x.toml", "--out", "whole"]).expect(0);
    fs::create_dir(sandbox.path("r")).unwrap();
    for file in fs::read_dir(sandbox.path("whole")).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), sandbox.path("r").join(file.file_name())).unwrap();
    }
    let [whole, results] = ["whole", "r"].map(|out| Results::at(sandbox.path(out)));
    let mut manifest = results.manifest();
    manifest["state"] = "running".into();
    manifest["points"].as_array_mut().unwrap().truncate(3);
    manifest["phases"].as_array_mut().unwrap().truncate(3);
    manifest.as_object_mut().unwrap().remove("capacity");
    fs::write(sandbox.path("r/manifest.json"), manifest.to_string()).unwrap();
    sandbox.tonnage(&["rehearse", "x.toml", "--resume", "r"]).expect(0);
    assert_eq!(results.manifest()["capacity"], whole.manifest()["capacity"]);
    let steps = |results: &Results| {
        let rows = results.rows("points.csv").into_iter();
        rows.map(|row| (row["rate"].clone(), row["repeat"].clone(), row["step_result"].clone()))
            .collect::<Vec<_>>()
    };
    assert_eq!(steps(&results), steps(&whole));
}

#[test]
fn a_search_without_time_is_undetermined_and_one_that_never_holds_says_so() {
    let sandbox = folder(SEARCH);
    let hurried = ["rehearse", "x.toml", "--out", "a", "--set", "capacity.max_time=60s"];
    let told = sandbox.tonnage(&hurried).expect(4).out;
    assert!(told.contains("undetermined: its time is up"), "{told}");
    let strict = [
        "rehearse",
        "x.toml",
        "--out",
        "b",
        "--set",
        "objective=[{metric='ttft',percentile=90,at_most='1ms'}]",
    ];
    sandbox.tonnage(&strict).expect(0);
    let capacity = &Results::at(sandbox.path("b")).manifest()["capacity"];
    assert!(capacity["holds"].is_null() && capacity["fails"] == 8.0, "{capacity}");
}

#[test]
fn users_are_searched_in_whole_numbers() {
    let scenario = SEARCH
        .replace("load.poisson.rate = \"1/s\"", "load.closed.users = 1")
        .replace("load.poisson.rate", "load.closed.users")
        .replace("\"8/s\"", "1")
        .replace("\"40/s\"", "16");
    let sandbox = folder(&scenario);
    sandbox.tonnage(&["rehearse", "x.toml", "--out", "r"]).expect(0);
    let results = Results::at(sandbox.path("r"));
    assert!(results.rows("points.csv").iter().all(|row| row["users"].parse::<u32>().is_ok()));
    assert!(results.manifest()["capacity"]["holds"].as_f64().unwrap() >= 1.0);
}

/// Twenty searches with seeds of their own: CI's share of what `benches/capacity.rs` does, with shorter runs, since a
/// development build takes twenty times as long for them.
#[test]
fn searches_find_the_capacity_of_a_textbook_queue() {
    let sandbox = folder(SEARCH);
    let search = |seed: u32| {
        let (seed, out) = (format!("seed={seed}"), format!("r{seed}"));
        let ran = sandbox.tonnage(&["rehearse", "x.toml", "--quiet", "--set", &seed, "--out", &out]);
        let capacity = &Results::at(sandbox.path(&out)).manifest()["capacity"];
        let is_open = !capacity["undetermined"].is_null();
        ran.expect(if is_open { 4 } else { 0 });
        queue::judge(capacity["holds"].as_f64(), capacity["fails"].as_f64(), is_open)
    };
    let of = |first: u32| (first..=20).step_by(2).map(search).collect::<Vec<Ended>>();
    let ends = thread::scope(|scope| {
        let odd = scope.spawn(|| of(1));
        let even = of(2);
        [odd.join().unwrap(), even].concat()
    });
    let count = |end| ends.iter().filter(|other| **other == end).count();
    let wrong = count(Ended::FalsePass) + count(Ended::FalseFail);
    assert!(wrong as f64 <= queue::MAY_ERR * ends.len() as f64, "{ends:?}");
    assert!(count(Ended::Within) >= 15, "{ends:?}");
}

#[test]
fn a_search_that_a_signal_ends_keeps_its_runs_and_goes_on_with_resume() {
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let hangs = Arc::new(AtomicBool::new(true));
        let server = Server::start({
            let hangs = Arc::clone(&hangs);
            move |request| match hangs.load(Ordering::Relaxed) && is_of_second_value(request) {
                true => Reply::Stall,
                false => Reply::Tokens(2),
            }
        });
        let sandbox = Sandbox::with(&USERS.replace("SERVER", &server.url()));
        let running = sandbox.start(&["run", "x.toml", "--out", "r"]);
        eventually("the second value hangs", || server.seen().iter().any(is_of_second_value));
        running.signal(signal);
        running.wait().expect(code);
        let results = Results::at(sandbox.path("r"));
        assert_eq!(results.manifest()["state"], "interrupted");
        let first = |row: &BTreeMap<String, String>| row["point"] == "1" && row["step_result"] == "pass";
        assert!(results.rows("points.csv").iter().any(first), "the first value is kept");
        assert!(results.count("ok") > 0 && results.count("cancelled") > 0);
        results.read_by_python();
        sandbox.tonnage(&["report", "r"]).expect(0);

        hangs.store(false, Ordering::Relaxed);
        let told = sandbox.tonnage(&["run", "x.toml", "--resume", "r"]).expect(0).out;
        assert!(told.contains("capacity      phase.steady.load.closed.users: holds at 2"), "{told}");
        assert_eq!(results.manifest()["state"], "complete");
        assert_eq!(results.count("cancelled"), 0, "the run that was broken off is made again");
        let rows = results.rows("requests.csv");
        let id = |row: &BTreeMap<String, String>| ["point", "repeat", "request"].map(|key| row[key].clone());
        assert_eq!(rows.iter().map(id).collect::<BTreeSet<_>>().len(), rows.len(), "a row is there twice");
        results.read_by_python();
    }
}

/// Users, one or two, against `SERVER`.
const USERS: &str = r#"
name = "users"
seed = 1
target.url = "SERVER"

[[workload]]
name = "questions"
prompt.synthetic.words = 5
output.max_tokens = 2

[[phase]]
name = "steady"
duration = "500ms"
load.closed = { users = 1, think = "5ms" }

[[objective]]
metric = "success"
at_least = "60%"

[capacity]
key = "phase.steady.load.closed.users"
from = 1
to = 2
precision = "30%"
confidence = "80%"
max_step = "4s"
"#;

fn is_of_second_value(request: &Request) -> bool {
    let id = request.headers.lines().find_map(|line| line.strip_prefix("x-request-id: "));
    id.and_then(|id| id.rsplit('-').nth(2)) == Some("2")
}
