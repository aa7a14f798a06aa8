//! C142: a key is nowhere to be found after a run, whatever the server does with it.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::sandbox::{Ended, Sandbox, binary};
use super::server::{Reply, Request, Server};
use super::usage::quick_at;

const KEY: &str = "sk-TEST-123";
const TENANT: &str = "tenant-SECRET-9";

/// Repeats everything it was sent, in an error.
fn echo(status: u16, request: &Request) -> Reply {
    let text = format!("refused: {}\n{}", request.headers, request.body);
    Reply::Document(status, serde_json::json!({ "error": { "message": text } }).to_string())
}

/// Runs against `server` with a key in the environment and one in a header, and looks for both.
fn assert_kept(server: &Server) -> (Sandbox, Ended) {
    let keys = format!(
        "api_key_env = \"LOAD_KEY\"\nheaders = {{ x-tenant = \"{TENANT}\", x-both = \"Token {KEY}\" }}\n[[workload]]"
    );
    let scenario = quick_at(&server.url()).replacen("[[workload]]", &keys, 1);
    let sandbox = Sandbox::with(&scenario);
    let mut command = Command::new(binary());
    command.args(["run", "x.toml", "--out", "r"]).env("LOAD_KEY", KEY);
    let ended = sandbox.spawn(command).wait();
    let first = &server.seen()[0];
    assert!(first.headers.contains(KEY) && first.headers.contains(TENANT), "they are sent");
    fs::remove_file(sandbox.path("x.toml")).unwrap();
    assert_absent(&sandbox.path(""));
    (sandbox, ended)
}

/// Looks for the keys in every file below `folder`, those with what was printed among them.
fn assert_absent(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            assert_absent(&path);
            continue;
        }
        let text = String::from_utf8(fs::read(&path).unwrap()).unwrap();
        for secret in [KEY, TENANT] {
            assert!(!text.contains(secret), "{} holds {secret}: {text}", path.display());
        }
    }
}

#[test]
fn c142_a_key_echoed_to_the_first_question_is_nowhere() {
    for status in [401, 400, 503] {
        let server = Server::bare(move |request| echo(status, request));
        let (_, ended) = assert_kept(&server);
        ended.expect(if status == 400 { 2 } else { 3 });
    }
}

#[test]
fn c142_a_key_echoed_by_every_answer_is_nowhere() {
    for status in [401, 400, 500] {
        let server = Server::start(move |request| echo(status, request));
        let (sandbox, _) = assert_kept(&server);
        let rows = super::results::Results::at(sandbox.path("r")).rows("requests.csv");
        assert_eq!(rows.len(), 40);
        assert!(rows.iter().all(|row| row["error"].contains("refused: ")), "the rest of the text is kept");
    }
}

#[test]
fn c142_a_scenario_with_a_mistake_beside_a_key_does_not_show_it() {
    let sandbox = Sandbox::new();
    let keys = format!("headers = {{ x-tenant = \"{TENANT}\", \"x y\" = \"{KEY}\" }}\n[[workload]]");
    sandbox.write("x.toml", &quick_at("http://127.0.0.1:1").replacen("[[workload]]", &keys, 1));
    let ended = sandbox.tonnage(&["run", "x.toml"]).expect(2).says(&["x.toml:"]);
    assert!(!ended.err.contains(KEY) && !ended.err.contains(TENANT), "{}", ended.err);
}
