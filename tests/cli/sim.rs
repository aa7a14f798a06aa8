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
    let address = address_of(&running);
    (running, address)
}

/// Where a server listens that was started, as soon as it says so.
pub(crate) fn address_of(running: &Running) -> String {
    eventually("it says where it listens", || running.stdout().contains("Ctrl-C"));
    let out = running.stdout();
    out.split("http://").nth(1).unwrap().split_whitespace().next().unwrap().to_owned()
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

/// The answer to a chat of so many tokens.
pub(crate) fn chat(address: &str, tokens: u32) -> String {
    let body = format!(
        r#"{{"stream":true,"max_tokens":{tokens},"ignore_eos":true,"messages":[{{"role":"user","content":"hi"}}]}}"#
    );
    ask(address, "POST /v1/chat/completions", "content-type: application/json\r\n", &body)
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

#[test]
fn it_serves_a_profile_of_the_users_and_goes_wrong_as_told() {
    let sandbox = Sandbox::new();
    sandbox.write("my server.toml", "[fixed]\n[engine]\nstep_overhead_us = 1000\nmax_model_len = 777\n");
    let faults = ["--fault", "status=503:7s@#1", "--fault", "truncate=2@#2"];
    let arguments = [&["--profile", "my server.toml"], faults.as_slice()].concat();
    let (running, address) = start(&sandbox, &arguments, None);
    let out = running.stdout();
    assert!(out.starts_with("simulating my-server on "), "{out}");
    assert!(out.contains("goes wrong on purpose: status=503:7s@#1, truncate=2@#2\n"), "{out}");
    let [refused, cut, whole] = [(); 3].map(|()| chat(&address, 5));
    assert!(refused.starts_with("HTTP/1.1 503") && refused.contains("retry-after: 7\r\n"), "{refused}");
    assert!(cut.starts_with("HTTP/1.1 200") && !cut.contains("[DONE]"), "{cut}");
    assert!(whole.contains("data: [DONE]"), "{whole}");
    let models = ask(&address, "GET /v1/models", "", "");
    assert!(models.contains("\"max_model_len\":777"), "{models}");
    running.signal("INT");
    running.wait().expect(130);
}

#[test]
fn a_profile_or_fault_that_cannot_be_is_refused_with_its_place() {
    let sandbox = Sandbox::new();
    sandbox.write("bad.toml", "[fixed]\n[engine]\nmax_num_seq = 3\n");
    let sim = |arguments: &[&str]| {
        sandbox.tonnage(&[&["sim", "--listen", "127.0.0.1:0"], arguments].concat()).expect(2)
    };
    sim(&["--profile", "bad.toml"]).says(&["max_num_seq", "max_num_seqs", "bad.toml"]);
    sim(&["--profile", "none.toml"]).says(&["the profile none.toml cannot be read"]);
    sim(&["--profile", "9b"]).says(&["no profile `9b`", "8b-h100"]);
    sim(&["--fault", "explode"]).says(&["explode", "malformed[=N]"]);
}

/// Each fault, and what it must come to in the client: outcome, output tokens, events with text.
const FAULTS: [(&str, &str, &str, &str); 58] = [
    ("status=503:1s", "http_error", "", "0"),
    ("status=429", "http_error", "", "0"),
    ("delay=100ms", "ok", "12", "12"),
    ("slow-read=1000", "ok", "12", "12"),
    ("hang", "timeout_first_token", "", "0"),
    ("hang=3", "timeout_idle", "", "3"),
    ("hang=bytes:40", "timeout_first_token", "", "0"),
    ("reset", "connect_error", "", "0"),
    ("reset=3", "truncated", "", "3"),
    ("reset=bytes:40", "truncated", "", "0"),
    ("cut", "connect_error", "", "0"),
    ("cut=3", "truncated", "", "3"),
    ("cut=bytes:40", "truncated", "", "0"),
    ("truncate", "truncated", "", "0"),
    ("truncate=3", "truncated", "", "3"),
    ("missing=done", "ok", "12", "12"),
    ("missing=finish", "ok", "12", "12"),
    ("missing=both", "truncated", "12", "12"),
    ("malformed", "malformed", "", "0"),
    ("malformed=2", "malformed", "", "2"),
    ("error", "stream_error", "", "0"),
    ("error=object:2", "stream_error", "", "2"),
    ("error=text:2", "stream_error", "", "2"),
    ("error=choices:2", "stream_error", "", "2"),
    ("error=event:2", "stream_error", "", "2"),
    ("error=field:2", "stream_error", "", "2"),
    ("error=detail:2", "stream_error", "", "2"),
    ("stall=2:200ms", "ok", "12", "12"),
    ("stall=2:3s", "timeout_idle", "", "2"),
    ("role=early", "ok", "12", "12"),
    ("role=null", "ok", "12", "12"),
    ("role=bare", "ok", "12", "12"),
    ("role=none", "ok", "12", "12"),
    ("empty=2", "ok", "12", "12"),
    ("join=2", "ok", "12", "6"),
    ("batch=3", "ok", "12", "12"),
    ("split=7", "ok", "12", "12"),
    ("split=7:1ms", "ok", "12", "12"),
    ("lines=crlf", "ok", "12", "12"),
    ("lines=cr", "ok", "12", "12"),
    ("no-blank", "ok", "12", "12"),
    ("comments", "ok", "12", "12"),
    ("ping=5ms", "ok", "12", "12"),
    // Without usage nothing says how many tokens there were.
    ("usage=none", "ok", "", "12"),
    ("usage=zero", "ok", "", "12"),
    ("usage=finish", "ok", "12", "12"),
    ("usage=late:100ms", "ok", "12", "12"),
    ("buffer", "ok", "12", "12"),
    ("buffer=100", "ok", "12", "12"),
    ("document", "not_streamed", "12", "0"),
    ("corrupt", "ok", "12", "12"),
    ("accept-delay=50ms", "ok", "12", "12"),
    // The kernel, or memory here, takes a connection that the server does not take up.
    ("accept-delay=3s", "timeout_first_token", "", "0"),
    ("idle-close=1ms", "ok", "12", "12"),
    // A reused connection that closes as the next request is sent.
    ("idle-close=1s", "ok", "12", "12"),
    ("idle-close=890ms", "ok", "12", "12"),
    ("idle-close=880ms", "ok", "12", "12"),
    ("hang=3, stall=2:200ms", "timeout_idle", "", "3"),
];

#[test]
fn each_fault_comes_to_the_outcome_it_must_have_in_the_client() {
    let sandbox = Sandbox::with(
        "name = \"faults\"\nseed = 5\ntarget.sim.profile = \"server.toml\"\n\
         target.timeouts = { connect = \"1s\", first_token = \"2s\", idle = \"1s\" }\n\
         [[workload]]\nname = \"w\"\nprompt.synthetic.words = 20\n\
         output = { max_tokens = 12, exact = true }\n\
         [[phase]]\nname = \"steady\"\nrequests = 3\nload.constant = \"1/s\"\n",
    );
    sandbox.write("server.toml", "[fixed]\n[engine]\nstep_overhead_us = 10000\n");
    let mut wrong = Vec::new();
    for (index, fault) in FAULTS.into_iter().enumerate() {
        let out = format!("out{index}");
        sandbox.tonnage(&["rehearse", "x.toml", "--fault", fault.0, "--out", &out, "--quiet"]).expect(0);
        let rows = Results::at(sandbox.path(&out)).rows("requests.csv");
        assert_eq!(rows.len(), 3);
        for row in rows {
            let found = ["outcome", "output_tokens", "events"].map(|name| row[name].clone());
            if found != [fault.1, fault.2, fault.3] {
                wrong.push((fault, found));
            }
            assert_eq!(row["error"].is_empty(), row["outcome"] == "ok", "{fault:?}: {row:?}");
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    sandbox.tonnage(&["rehearse", "x.toml", "--fault", "refuse", "--out", "none"]).expect(3);
}
