//! The target: not there, not ready, replaced, failing.

use std::net::TcpListener;

use super::results::Results;
use super::sandbox::{Ended, Sandbox};
use super::server::{Reply, Server};
use super::usage::{QUICK, quick_at};

/// Runs `x.toml` into `r`. A busy machine may spoil the verdict of a run against a real server: the exit code must
/// follow it.
fn run_and_judge(sandbox: &Sandbox) -> (Ended, Results) {
    let ended = sandbox.tonnage(&["run", "x.toml", "--out", "r"]);
    let results = Results::at(sandbox.path("r"));
    let code = if results.verdict() == "invalid" { 4 } else { 0 };
    (ended.expect(code), results)
}

#[test]
fn a_port_nobody_listens_on_is_named_and_leaves_no_folder() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let sandbox = Sandbox::with(&quick_at(&format!("http://{address}")));
    let ended = sandbox.tonnage(&["run", "x.toml"]).expect(3);
    assert_eq!(ended.out, "");
    ended.says(&[&address.to_string(), "cannot be reached", "help:", "--target"]);
    sandbox.tonnage(&["run", "x.toml", "--out", "r"]).expect(3);
    assert!(!sandbox.has("results") && !sandbox.has("r"));
}

#[test]
fn a_host_that_does_not_exist_is_named_and_leaves_no_folder() {
    let sandbox = Sandbox::with(QUICK);
    let ended = sandbox.tonnage(&["run", "x.toml", "--target", "http://no-such-host.invalid:8000"]);
    ended.expect(3).says(&["no-such-host.invalid", "help:"]);
    assert!(!sandbox.has("results"));
}

#[test]
fn a_server_that_is_not_ready_or_refuses_the_key_ends_before_any_load() {
    for (status, words) in
        [(503, "503 Service Unavailable"), (401, "refuses the key (401"), (403, "refuses the key (403")]
    {
        let server = Server::bare(move |_| Reply::Document(status, r#"{"error":"Loading model"}"#.into()));
        let sandbox = Sandbox::with(&quick_at(&server.url()));
        let once = ["run", "x.toml", "--set", "target.ready_within=0s"];
        sandbox.tonnage(&once).expect(3).says(&[&server.url(), words, "help:"]);
        assert!(!sandbox.has("results"));
        assert_eq!(server.posts(), 0);
    }
}

#[test]
fn the_length_of_an_answer_goes_by_the_name_that_the_scenario_gives_it() {
    for (set, name) in [(None, "max_tokens"), (Some("max_completion_tokens"), "max_completion_tokens")] {
        let server = Server::start(|_| Reply::Tokens(1));
        let sandbox = Sandbox::with(&quick_at(&server.url()));
        let set = set.map(|name| format!("target.length_member={name}"));
        let mut arguments = vec!["run", "x.toml", "--out", "r", "--quiet"];
        arguments.extend(set.iter().flat_map(|set| ["--set", set]));
        let ended = sandbox.tonnage(&arguments);
        assert!(matches!(ended.code, Some(0 | 4)), "{ended:#?}");
        let post = server.seen().into_iter().find(|request| request.is_post()).unwrap();
        let body: serde_json::Value = serde_json::from_str(&post.body).unwrap();
        let lengths = ["max_tokens", "max_completion_tokens"].map(|name| body.get(name).is_some());
        assert_eq!(lengths, [name == "max_tokens", name != "max_tokens"]);
    }
}

#[test]
fn a_proxy_of_the_environment_is_ignored_and_named() {
    let server = Server::start(|_| Reply::Tokens(2));
    let sandbox = Sandbox::with(&quick_at(&server.url()));
    let ended = sandbox.shell("http_proxy=http://127.0.0.1:9 \"$0\" run x.toml --out r");
    let ended = ended.says(&["http_proxy is set and ignored: connections go straight to the target"]);
    assert!(matches!(ended.code, Some(0 | 4)), "{ended:#?}");
    assert_eq!(server.posts(), 40);
}

#[test]
fn a_target_replaces_the_server_of_the_scenario_and_an_embedded_one() {
    let server = Server::start(|_| Reply::Tokens(6));
    for scenario in [QUICK.to_owned(), quick_at("http://127.0.0.1:1")] {
        let sandbox = Sandbox::with(&scenario);
        let before = server.posts();
        let ended = sandbox.tonnage(&["run", "x.toml", "--target", &server.url(), "--out", "r"]);
        assert!(matches!(ended.code, Some(0 | 4)), "{ended:#?}");
        assert_eq!(server.posts() - before, 40);
        let manifest = Results::at(sandbox.path("r")).manifest();
        assert!(manifest["target"].as_str().unwrap().starts_with(&server.url()), "{manifest:#}");
        assert_eq!(manifest["verdict"]["simulated"], false);
    }
}

#[test]
fn c035_answers_of_503_are_failures_and_each_request_is_one_attempt() {
    let server = Server::start(|request| match request.number % 2 {
        0 => Reply::Tokens(8),
        _ => Reply::Document(503, r#"{"error":{"message":"no \"room\",\nsorry"}}"#.into()),
    });
    let sandbox = Sandbox::with(&quick_at(&server.url()).replace("requests = 40", "requests = 100"));
    let (ended, results) = run_and_judge(&sandbox);
    assert!(ended.out.contains("50 ok of 100 measured, success 50.0 %: 50 http_error"), "{}", ended.out);
    assert_eq!(server.posts(), 100, "nothing is sent twice");
    let rows = results.rows("requests.csv");
    for row in &rows {
        match &*row["outcome"] {
            "ok" => {
                assert_eq!([&*row["http_status"], &row["error"], &row["output_tokens"]], ["200", "", "8"]);
            }
            "http_error" => {
                assert_eq!([&*row["http_status"], &row["ttft_ms"], &row["e2e_ms"]], ["503", "", ""]);
                assert_eq!(row["error"], "no \"room\",\nsorry");
            }
            other => panic!("{other}: {row:#?}"),
        }
        assert_eq!([&*row["attempts"], &row["reconnects"]], ["1", "0"]);
    }
    assert_eq!([rows.len(), results.count("ok"), results.count("http_error")], [100, 50, 50]);
    assert_eq!(results.manifest_count("ok") + results.manifest_count("http_error"), 100);
    assert_eq!(results.summary("steady", "success", "value")["value"], "0.5");
    assert_eq!(results.summary("steady", "ttft", "p50")["count"], "50");
    assert_eq!(results.read_by_python(), 100);
}

#[test]
fn c138_a_run_in_which_everything_failed_has_empty_cells_and_says_so() {
    let server = Server::start(|_| Reply::Document(500, String::new()));
    let sandbox = Sandbox::with(&quick_at(&server.url()));
    let (ended, results) = run_and_judge(&sandbox);
    assert!(ended.out.contains("0 ok of 40 measured, success 0.0 %: 40 http_error"), "{}", ended.out);
    assert_eq!(results.summary("steady", "ttft", "p50")["value"], "");
    assert_eq!(results.read_by_python(), 40);
    let json = sandbox.tonnage(&["run", "x.toml", "--json", "--quiet"]).out;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert!(json["figures"][0]["metrics"]["ttft"]["p50"].is_null());
}
