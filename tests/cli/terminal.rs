//! The lines that renew themselves on a terminal.

use std::process::Command;

use super::sandbox::{Running, Sandbox, binary, eventually};
use super::sim::{address_of, chat};
use super::usage::QUICK;

/// The latest of the lines that were written one over the other.
fn line(running: &Running) -> String {
    running.stderr().rsplit('\r').next().unwrap_or_default().to_owned()
}

#[test]
fn a_simulated_server_shows_what_it_does() {
    let sandbox = Sandbox::new();
    let mut command = Command::new(binary());
    command.args(["sim", "--listen", "127.0.0.1:0"]);
    let running = sandbox.spawn_on_terminal(command);
    let address = address_of(&running);
    let idle = "0 running, 0 waiting, KV 0.0 %, 0 requests, 0 tokens";
    eventually("it shows that it rests", || line(&running).starts_with(idle));
    assert!(chat(&address, 3).contains("data: [DONE]"));
    eventually("it shows what it did", || line(&running).contains("1 requests, 3 tokens"));
    running.signal("INT");
    let ended = running.wait().expect(130);
    assert!(ended.err.contains("\x1b[K") && ended.err.ends_with('\n'), "{:?}", ended.err);
}

#[test]
fn a_run_renews_one_line_and_leaves_the_terminal_as_it_was() {
    let lasting = QUICK.replace("requests = 40", "duration = \"3s\"");
    let sandbox = Sandbox::with(&lasting.replace("closed = 8", "constant = \"5/s\""));
    let mut command = Command::new(binary());
    command.args(["run", "x.toml", "--out", "r"]);
    let ended = sandbox.spawn_on_terminal(command).wait();
    assert!(matches!(ended.code, Some(0 | 4)), "{ended:#?}");
    let shown = ended.err.matches("\r\x1b[K\x1b[?7l").count();
    assert!(shown >= 2 && ended.err.contains("steady"), "{:?}", ended.err);
    assert_eq!(ended.err.matches("\x1b[?7h").count(), shown, "wrapping is on again: {:?}", ended.err);
    let last = ended.err.rsplit("\r\x1b[K").next().unwrap();
    assert!(!last.contains("in flight"), "the line is taken away at the end: {:?}", ended.err);
}
