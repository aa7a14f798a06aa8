//! Requests that are sent again after a refusal, where the scenario asks for it.

use tonnage::clock::Clock;
use tonnage::record::Timeline;
use tonnage::scenario::{Retries, Transport};

use crate::support::bench::{Bench, ms, settings, tell};
use crate::support::frames::{DONE, content, finish};
use crate::support::script::{Framing, Reply, reply, stream};
use crate::support::server::Server;

fn answer() -> Reply {
    stream().at(10, [&content("a"), &finish("stop"), DONE].concat())
}

fn refusal(status: &'static str) -> Reply {
    reply(status, "text/plain").framed(Framing::Length).at(3, "slow down")
}

/// What becomes of a request that may be attempted so often, and how many requests the server heard.
fn ask(attempts: u32, scripts: impl IntoIterator<Item = Reply>) -> (Timeline, usize) {
    let scripts: Vec<_> = scripts.into_iter().collect();
    Clock::run_virtual(|clock| async move {
        let mut settings = settings();
        settings.timeouts.first_token = ms(20_000);
        let retries = Some(Retries { attempts, on: vec![429, 503] });
        settings.transport = Transport { retries, ..Transport::default() };
        let bench = Bench::before(Server::new(&clock, scripts), &clock, settings);
        (bench.ask().await, bench.server.heard().len())
    })
    .unwrap()
}

#[test]
fn a_refusal_is_answered_by_another_attempt_and_the_time_counts_from_the_first() {
    let (timeline, heard) =
        ask(3, [refusal("429 Too Many Requests"), refusal("503 Service Unavailable"), answer()]);
    // Two refusals of 3 ms, half a second and one second between, and the answer's 10 ms.
    assert_eq!(
        tell(&timeline),
        "ok: token 1516 answer 1516 last 1516 output 1516 ended 1516; 1 events, 0 ignored; usage -+-; stop"
    );
    assert_eq!((timeline.attempts, heard, timeline.http_status), (3, 3, Some(200)));
    assert_eq!((timeline.new_connection, timeline.connect), (Some(false), None));
}

#[test]
fn the_server_says_when_it_wants_to_be_asked_again() {
    let (timeline, _) = ask(2, [refusal("429 Too Many Requests").header("retry-after", "7"), answer()]);
    assert_eq!(timeline.ended.since(timeline.sent), ms(7_013));
    let (timeline, heard) = ask(2, [refusal("429 Too Many Requests").header("retry-after", "61"), answer()]);
    assert_eq!(
        tell(&timeline),
        "http_error: token - answer - last - output - ended 3; 0 events, 0 ignored; usage -+-; -; \
         slow down; it asks for more patience than a minute"
    );
    assert_eq!((timeline.attempts, heard), (1, 1));
}

#[test]
fn a_request_is_attempted_no_more_often_than_it_may_be() {
    let (timeline, heard) = ask(2, [refusal("503 Service Unavailable")]);
    assert_eq!((timeline.attempts, heard), (2, 2));
    assert_eq!(timeline.error.as_deref(), Some("slow down"));
    assert_eq!((timeline.http_status, timeline.ended.since(timeline.sent)), (Some(503), ms(506)));
}

#[test]
fn other_refusals_are_final() {
    let (timeline, heard) = ask(3, [refusal("400 Bad Request"), answer()]);
    assert_eq!((timeline.attempts, heard, timeline.http_status), (1, 1, Some(400)));
}

#[test]
fn attempts_end_with_the_limits_of_the_request() {
    let patient = refusal("429 Too Many Requests").header("retry-after", "15");
    let (timeline, heard) = ask(9, [patient]);
    assert_eq!(
        tell(&timeline),
        "timeout_first_token: token - answer - last - output - ended 20000; 0 events, 0 ignored; usage -+-; -; \
         no token within 20s of the send"
    );
    assert_eq!((timeline.attempts, heard, timeline.http_status), (2, 2, Some(429)));
}
