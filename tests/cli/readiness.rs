//! A target that is not ready yet is waited for, and what is waited for is said.

use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd as _, OwnedFd};

use nix::sys::socket::{Backlog, listen};
use tokio::net::TcpSocket;

use super::results::Results;
use super::sandbox::{Sandbox, eventually};
use super::server::{Reply, Server, models};

/// A short scenario for a server at `url` that is waited for so long.
fn waiting(url: &str, ready_within: &str) -> Sandbox {
    Sandbox::with(&format!(
        "name = \"load\"\n[target]\nurl = \"{url}\"\nready_within = \"{ready_within}\"\n\
         [[workload]]\nname = \"w\"\nprompt.synthetic.words = 5\n\
         [[phase]]\nname = \"p\"\nrequests = 1\nload.closed = 1\n"
    ))
}

/// A port that refuses connections until it is listened to.
fn closed_port() -> (OwnedFd, SocketAddr) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    (socket.as_fd().try_clone_to_owned().unwrap(), socket.local_addr().unwrap())
}

#[test]
fn a_server_that_is_loading_is_waited_for() {
    let server = Server::bare(|request| match (request.is_post(), request.number) {
        (true, _) => Reply::Tokens(1),
        (false, 0 | 1) => Reply::Document(503, "{}".into()),
        (false, 2) => Reply::Document(502, "{}".into()),
        (false, _) => models(&["small", "large"]),
    });
    let sandbox = waiting(&server.url(), "20s");
    let ended = sandbox.tonnage(&["run", "x.toml"]).expect(2);
    let first = format!("waiting for {}: it answers 503 Service Unavailable (0 s of 20s)\n", server.url());
    assert!(ended.err.starts_with(&first), "{}", ended.err);
    // It got as far as to the list.
    ended.says(&["serves 2 models"]);
    assert!(!sandbox.has("results"));
}

#[test]
fn a_server_that_is_not_there_yet_is_waited_for() {
    let (socket, address) = closed_port();
    let sandbox = waiting(&format!("http://{address}"), "60s");
    let running = sandbox.start(&["run", "x.toml"]);
    let refusal = format!("waiting for http://{address}: connection refused by {address} (0 s of 1m)\n");
    eventually("it says what it waits for", || running.stderr().starts_with(&refusal));
    listen(&socket, Backlog::new(16).unwrap()).unwrap();
    let listener = TcpListener::from(socket);
    listener.set_nonblocking(false).unwrap();
    let _server = Server::on(listener, |_| models(&["small", "large"]));
    running.wait().expect(2).says(&["serves 2 models"]);
}

#[test]
fn a_server_that_stays_away_ends_the_run_with_exit_code_3() {
    let (_socket, address) = closed_port();
    for (ready_within, limit) in [("0s", ""), ("300ms", " within 300ms")] {
        let sandbox = waiting(&format!("http://{address}"), ready_within);
        let ended = sandbox.tonnage(&["run", "x.toml"]).expect(3);
        ended.says(&[&format!("http://{address} cannot be reached{limit}: connection refused by {address}")]);
        assert!(!sandbox.has("results"));
    }
}

#[test]
fn what_the_server_says_of_itself_is_kept_and_compared() {
    let serving = |version: &'static str| {
        Server::bare(move |request| match request.line.as_str() {
            line if line.starts_with("GET /version") => {
                Reply::Document(200, format!(r#"{{"version": "{version}"}}"#))
            }
            line if line.starts_with("GET ") => models(&["small", "large"]),
            _ => Reply::Tokens(3),
        })
    };
    // One server tells what it was sent: that is a secret still.
    let (old, new) = (serving("0.10.0"), serving("0.11.0+secret-of-ours"));
    let scenario = "name = \"w\"\n[target]\nurl = \"http://127.0.0.1:1\"\nmodel = \"small\"\n\
         headers = { x-tenant = \"secret-of-ours\" }\n\
         [[workload]]\nname = \"w\"\nprompt.synthetic = 4\n[[phase]]\nname = \"p\"\nrequests = 40\nload.closed = 2\n";
    let sandbox = Sandbox::with(scenario);
    for (server, out) in [(&old, "old"), (&new, "new")] {
        sandbox.tonnage(&["run", "x.toml", "--quiet", "--target", &server.url(), "--out", out]);
        let manifest = Results::at(sandbox.path(out)).manifest();
        assert_eq!(manifest["serving"]["models"], serde_json::json!(["small", "large"]));
    }
    let version = |out: &str| Results::at(sandbox.path(out)).manifest()["serving"]["version"].clone();
    assert_eq!((version("old"), version("new")), ("0.10.0".into(), "0.11.0+[redacted]".into()));
    let compared = sandbox.tonnage(&["compare", "old", "new"]);
    assert!(
        compared.out.contains("server version: 0.10.0 → 0.11.0+[redacted]"),
        "{}{}",
        compared.out,
        compared.err
    );
    assert!(!compared.out.contains("models:"), "{}", compared.out);
}
