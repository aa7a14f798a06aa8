//! The first question to a target: which models does it have.

use hyper::StatusCode;
use tonnage::client::preflight::{Models, NotReady};
use tonnage::clock::Clock;
use tonnage::units::Nanos;

use crate::support::bench::{Bench, KEY, ms, settings};
use crate::support::frames::{DONE, content, finish};
use crate::support::script::{Framing, Intake, Script, chunk, reply, stream};
use crate::support::server::Server;

const LIST: &str = r#"{"object":"list","data":[{"id":"small"},{"id":"large"}]}"#;

/// What comes of the question, and when.
fn ask(script: impl Into<Script>) -> (Result<Models, NotReady>, Nanos) {
    let script = script.into();
    Clock::run_virtual(|clock| async move {
        let bench = Bench::new(&clock, [script]);
        (bench.client.models().await, clock.now())
    })
    .unwrap()
}

#[test]
fn models_are_asked_for_with_the_key_over_a_connection_of_their_own() {
    let list = reply("200 OK", "application/json").framed(Framing::Length).at(3, LIST);
    let answer = stream().at(1, [&content("a"), &finish("stop"), DONE].concat());
    let (models, timeline, heard) = Clock::run_virtual(|clock| async move {
        let bench = Bench::before(Server::new(&clock, [list, answer]), &clock, settings());
        (bench.client.models().await, bench.ask().await, bench.server.heard())
    })
    .unwrap();
    assert_eq!(models, Ok(Models::Listed(vec!["small".into(), "large".into()])));
    assert_eq!((heard[0].method.as_str(), heard[0].path.as_str()), ("GET", "/v1/models"));
    assert_eq!(heard[0].all("authorization"), [format!("Bearer {KEY}")]);
    assert!(heard[0].body.is_empty());
    assert_eq!((timeline.new_connection, timeline.reconnects), (Some(true), 0));
    assert_eq!((heard[0].connection, heard[1].connection), (0, 1));
    assert_eq!(timeline.first_token.unwrap().since(timeline.sent), ms(1));
}

#[test]
fn a_target_is_ready_refuses_the_key_or_is_not_ready() {
    let status = |status| ask(reply(status, "text/plain").at(3, "…")).0;
    assert_eq!(status("404 Not Found"), Ok(Models::Unlisted));
    assert_eq!(status("200 OK"), Ok(Models::Unlisted));
    assert_eq!(status("401 Unauthorized"), Err(NotReady::Refused(StatusCode::UNAUTHORIZED)));
    assert_eq!(status("403 Forbidden"), Err(NotReady::Refused(StatusCode::FORBIDDEN)));
    assert_eq!(
        status("503 Service Unavailable"),
        Err(NotReady::Unavailable(StatusCode::SERVICE_UNAVAILABLE))
    );
}

#[test]
fn a_target_that_hangs_up_or_says_nothing_is_unreachable() {
    let gone = "connection closed before message completed".to_owned();
    let closing = Script::silent(Intake::Whole).close(ms(3));
    assert_eq!(ask(closing), (Err(NotReady::Unreachable(gone)), Nanos(3_000_000)));
    let silent = Script::silent(Intake::Whole);
    let patience = "no answer within 10s".to_owned();
    assert_eq!(ask(silent), (Err(NotReady::Unreachable(patience)), Nanos(10_000_000_000)));
}

#[test]
fn a_list_without_end_is_none() {
    let start = reply("200 OK", "application/json").at(1, "[").open().script();
    let endless = Script { repeats: 1 << 20, ..start.write(ms(1), chunk(&[b' '; 60_000])) };
    assert_eq!(ask(endless), (Ok(Models::Unlisted), Nanos(1_000_000)));
}
