//! The request as the server reads it.

use std::time::Duration;

use hyper::header::{HeaderName, HeaderValue};
use tonnage::client::{Client, Settings};
use tonnage::clock::Clock;
use tonnage::prompt::Outgoing;
use tonnage::record::{Outcome, Timeline};

use crate::support::bench::{BODY, Bench, KEY, ms, outgoing, settings};
use crate::support::frames::{DONE, content, finish};
use crate::support::script::{Intake, Script, stream};
use crate::support::server::{Heard, Server};

fn answer() -> Script {
    stream().at(0, [&content("a"), &finish("stop"), DONE].concat()).script()
}

/// What the server reads when `request` is sent under `settings`.
fn heard(settings: Settings, request: &Outgoing) -> Heard {
    Clock::run_virtual(|clock| async move {
        let bench = Bench::before(Server::new(&clock, [answer()]), &clock, settings);
        assert_eq!(bench.send(request).await.outcome, Outcome::Ok);
        bench.server.heard().remove(0)
    })
    .unwrap()
}

#[test]
fn a_request_says_what_it_is_who_asks_and_what_it_accepts() {
    let heard = heard(settings(), &outgoing(BODY));
    assert_eq!((heard.method.as_str(), heard.path.as_str()), ("POST", "/v1/chat/completions"));
    let bearer = format!("Bearer {KEY}");
    for (name, value) in [
        ("host", "mock.test:8000"),
        ("content-type", "application/json"),
        ("accept", "text/event-stream"),
        ("authorization", bearer.as_str()),
        ("x-request-id", "run-0-0-7"),
        ("x-tenant", "load-test"),
        ("content-length", &BODY.len().to_string()),
        ("user-agent", concat!("tonnage/", env!("CARGO_PKG_VERSION"))),
    ] {
        assert_eq!(heard.all(name), [value], "{name}");
    }
    assert_eq!(heard.headers.len(), 8, "{:?}", heard.headers);
    assert_eq!(heard.body, BODY.as_bytes());
}

#[test]
fn a_request_for_a_document_accepts_json() {
    let request = Outgoing { stream: false, ..outgoing(BODY) };
    let heard = Clock::run_virtual(|clock| async move {
        let bench = Bench::new(&clock, [answer()]);
        bench.send(&request).await;
        bench.server.heard().remove(0)
    });
    assert_eq!(heard.unwrap().all("accept"), ["application/json"]);
}

#[test]
fn c148_the_path_of_the_api_stands_below_the_base_path() {
    let path = "/api/openai/v1/chat/completions".to_owned();
    assert_eq!(heard(Settings { path: path.clone(), ..settings() }, &outgoing(BODY)).path, path);
}

#[test]
fn headers_of_the_scenario_win_over_ours() {
    let mut settings = settings();
    let own = [
        ("accept", "text/event-stream, */*"),
        ("user-agent", "probe/2"),
        ("content-type", "application/json; v=2"),
    ];
    settings
        .headers
        .extend(own.map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))));
    let heard = heard(settings, &outgoing(BODY));
    for (name, value) in own {
        assert_eq!(heard.all(name), [value]);
    }
}

#[test]
fn a_path_that_cannot_stand_in_a_request_is_refused() {
    Clock::run_virtual(|clock| async move {
        let server = Server::new(&clock, [answer()]);
        for (path, authority) in [("/a b", "host"), ("/ok", "ho\nst")] {
            let settings = Settings { path: path.to_owned(), authority: authority.to_owned(), ..settings() };
            assert!(Client::new(clock.clone(), server.in_memory(), settings).is_err(), "{path} {authority}");
        }
    })
    .unwrap();
}

/// What becomes of a request of `body`, the server taking it in as `intake` says through pipes of `pipe_bytes`.
fn upload(body: Vec<u8>, pipe_bytes: usize, intake: Intake) -> (Timeline, Heard) {
    Clock::run_virtual(|clock| async move {
        let server = Server::new(&clock, [answer().taking(intake)]).with_pipes_of(pipe_bytes);
        let bench = Bench::before(server, &clock, settings());
        (bench.send(&outgoing(body)).await, bench.server.heard().remove(0))
    })
    .unwrap()
}

#[test]
fn a_small_request_goes_out_at_once() {
    let (timeline, heard) = upload(BODY.into(), 64 << 10, Intake::Whole);
    assert_eq!((timeline.upload, timeline.connect), (Some(Duration::ZERO), Some(Duration::ZERO)));
    let head = timeline.bytes_sent - heard.body.len() as u64;
    assert!((200..400).contains(&head), "{head}");
}

#[test]
fn a_large_body_arrives_whole_and_its_upload_is_measured() {
    let body: Vec<u8> = (0..100_000_u32).map(|k| b'a' + (k % 23) as u8).collect();
    // 10,000 bytes every 50 ms: the last fits into the pipe when all but it have been read.
    let slow = Intake::Slow { bytes: 10_000, pause: ms(50) };
    let (timeline, heard) = upload(body.clone(), 10_000, slow);
    assert_eq!(timeline.outcome, Outcome::Ok);
    assert!(heard.body == body);
    let total = timeline.bytes_sent;
    // One byte was read at once; each later read makes room for as much again.
    let reads = (total - 10_000 - 1).div_ceil(10_000);
    assert_eq!(timeline.upload, Some(ms(50) * reads as u32));
    assert_eq!(timeline.first_token.unwrap().since(timeline.sent), timeline.upload.unwrap() + ms(50));
}

#[test]
fn an_answer_may_come_before_the_whole_request_was_read() {
    use crate::support::script::reply;
    let refusal =
        reply("413 Content Too Large", "text/plain").header("connection", "close").at(7, "too long");
    let script = refusal.script().taking(Intake::Beginning).close(ms(8));
    let timeline = Clock::run_virtual(|clock| async move {
        let server = Server::new(&clock, [script]).with_pipes_of(1_000);
        let bench = Bench::before(server, &clock, settings());
        bench.send(&outgoing(vec![b'x'; 100_000])).await
    })
    .unwrap();
    assert_eq!(timeline.outcome, Outcome::HttpError);
    assert_eq!(timeline.error.as_deref(), Some("too long"));
    assert_eq!(timeline.ended.since(timeline.sent), ms(7));
}
