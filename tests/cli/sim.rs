//! The simulated server as a command of its own.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;

use super::results::Results;
use super::sandbox::{Running, Sandbox, binary, eventually};
use super::usage::QUICK;

/// Starts one on a free port and returns its address.
pub(crate) fn start(sandbox: &Sandbox, arguments: &[&str], key: Option<&str>) -> (Running, String) {
    let mut command = Command::new(binary());
    command.args(["sim", "--listen", "127.0.0.1:0"]).args(arguments);
    command.envs(key.map(|key| ("SIM_KEY", key)));
    let running = sandbox.spawn(command);
    eventually("it says where it listens", || running.stdout().contains("Ctrl-C"));
    let out = running.stdout();
    let address = out.split("http://").nth(1).unwrap().split_whitespace().next().unwrap().to_owned();
    (running, address)
}

/// What comes back to a request of these lines, until the server closes.
fn ask(address: &str, line: &str, headers: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let length = body.len();
    write!(
        stream,
        "{line} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n{headers}content-length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn it_says_how_to_use_it_and_answers_until_a_signal_comes() {
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let sandbox = Sandbox::new();
        let (running, address) = start(&sandbox, &["--profile", "8b-h100"], None);
        let out = running.stdout();
        assert!(out.starts_with(&format!("simulating 8b-h100 on http://{address}\n")), "{out}");
        assert!(out.contains(&format!("tonnage run SCENARIO --target http://{address}\n")), "{out}");
        let models = ask(&address, "GET /v1/models", "", "");
        assert!(models.starts_with("HTTP/1.1 200") && models.contains("\"8b-h100\""), "{models}");
        let body =
            r#"{"model":"8b-h100","stream":true,"max_tokens":3,"messages":[{"role":"user","content":"hi"}]}"#;
        let headers = "content-type: application/json\r\n";
        let answer = ask(&address, "POST /v1/chat/completions", headers, body);
        assert!(answer.contains("text/event-stream") && answer.contains("data: [DONE]"), "{answer}");
        let missing = ask(&address, "GET /nowhere", "", "");
        assert!(missing.starts_with("HTTP/1.1 404"), "{missing}");
        running.signal(signal);
        assert_eq!(running.wait().expect(code).err, "");
    }
}

#[test]
fn a_run_measures_it_as_any_other_server() {
    let sandbox = Sandbox::with(QUICK);
    let (running, address) = start(&sandbox, &[], None);
    let ended = sandbox.tonnage(&["run", "x.toml", "--target", &format!("http://{address}"), "--out", "r"]);
    assert!(matches!(ended.code, Some(0 | 4)), "{ended:#?}");
    assert_eq!(Results::at(sandbox.path("r")).count("ok"), 40);
    running.signal("INT");
    running.wait().expect(130);
}

#[test]
fn a_key_is_asked_for_where_a_variable_is_named() {
    let sandbox = Sandbox::new();
    let (running, address) = start(&sandbox, &["--api-key-env", "SIM_KEY"], Some("sk-SIM-7"));
    assert!(!running.stdout().contains("sk-SIM-7"));
    assert!(ask(&address, "GET /v1/models", "", "").starts_with("HTTP/1.1 401"));
    let keyed = ask(&address, "GET /v1/models", "authorization: Bearer sk-SIM-7\r\n", "");
    assert!(keyed.starts_with("HTTP/1.1 200"), "{keyed}");
    let ended = sandbox.tonnage(&["sim", "--listen", "127.0.0.1:0", "--api-key-env", "NO_KEY"]);
    ended.expect(2).says(&["`NO_KEY` is not set"]);
}

#[test]
fn an_address_in_use_is_named_with_a_way_out() {
    let sandbox = Sandbox::new();
    let (_running, address) = start(&sandbox, &[], None);
    let ended = sandbox.tonnage(&["sim", "--listen", &address]).expect(2);
    ended.says(&[&format!("cannot listen on {address}"), "in use", "--listen", "port 0"]);
}
