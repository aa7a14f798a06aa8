//! Time limits, each at its exact instant.

use std::time::Duration;

use tonnage::client::Settings;
use tonnage::record::Timeline;
use tonnage::scenario::Timeouts;

use crate::support::bench::{ask_with, ms, settings, tell};
use crate::support::frames::{DONE, content, finish, role, usage};
use crate::support::script::{Framing, Intake, Script, reply, stream};

fn limits(first_token: u64, idle: u64, total: Option<u64>) -> Settings {
    let timeouts =
        Timeouts { connect: ms(5_000), first_token: ms(first_token), idle: ms(idle), total: total.map(ms) };
    Settings { timeouts, ..settings() }
}

fn ask(limits: Settings, script: impl Into<Script>) -> Timeline {
    ask_with(limits, script)
}

#[test]
fn a_server_that_never_answers_is_given_up_at_the_first_token_limit() {
    let timeline = ask(limits(1_500, 100, None), Script::silent(Intake::Whole));
    assert_eq!(
        tell(&timeline),
        "timeout_first_token: token - answer - last - output - ended 1500; 0 events, 0 ignored; usage -+-; -; \
         no token within 1.5s of the send"
    );
    assert_eq!((timeline.first_byte, timeline.http_status), (None, None));
    assert!(timeline.bytes_sent > 0);
}

#[test]
fn pings_and_roles_do_not_reset_the_first_token_limit() {
    let pinging = (1..40).fold(stream().at(10, role()), |reply, k| reply.at(100 * k, ":\n\n"));
    let timeline = ask(limits(1_500, 100, None), pinging);
    assert_eq!(
        tell(&timeline),
        "timeout_first_token: token - answer - last - output - ended 1500; 0 events, 1 ignored; usage -+-; -; \
         no token within 1.5s of the send"
    );
    assert_eq!(timeline.http_status, Some(200));
}

#[test]
fn a_token_at_the_last_nanosecond_is_in_time() {
    let just = Duration::from_nanos(1_499_999_999);
    let timeline =
        ask(limits(1_500, 100, None), stream().after(just, [&content("x"), &finish("stop"), DONE].concat()));
    assert_eq!(
        tell(&timeline),
        "ok: token 1499.999999 answer 1499.999999 last 1499.999999 output 1499.999999 ended 1499.999999; \
         1 events, 0 ignored; usage -+-; stop"
    );
}

#[test]
fn c039_silence_after_a_token_ends_at_the_idle_limit_after_the_last_byte() {
    let timeline =
        ask(limits(120_000, 3_000, None), stream().at(100, content("a")).at(150, content("b")).open());
    assert_eq!(
        tell(&timeline),
        "timeout_idle: token 100 answer 100 last 150 output 150 ended 3150; 2 events, 0 ignored; usage -+-; -; \
         nothing came for 3s"
    );
}

#[test]
fn pings_reset_the_idle_limit() {
    let pinging =
        (1..=50).fold(stream().at(100, content("a")), |reply, k| reply.at(100 + 2_900 * k, ":\n\n"));
    let timeline = ask(limits(1_000, 3_000, None), pinging.open());
    assert_eq!(
        tell(&timeline),
        "timeout_idle: token 100 answer 100 last 100 output 100 ended 148100; 1 events, 0 ignored; usage -+-; -; \
         nothing came for 3s"
    );
}

#[test]
fn an_idle_limit_longer_than_the_first_token_limit_holds_in_full() {
    let timeline = ask(limits(1_000, 60_000, None), stream().at(999, content("a")).open());
    assert_eq!(timeline.ended.since(timeline.sent), ms(60_999));
}

#[test]
fn the_total_limit_ends_a_stream_that_flows() {
    let tokens = (1..200).fold(stream(), |reply, k| reply.at(10 * k, content("x")));
    let timeline = ask(limits(1_000, 1_000, Some(1_234)), tokens);
    assert_eq!(
        tell(&timeline),
        "timeout_total: token 10 answer 10 last 1230 output 1230 ended 1234; 123 events, 0 ignored; usage -+-; -; \
         not done within 1.234s of the send"
    );
}

#[test]
fn the_total_limit_holds_before_the_first_token_too() {
    let timeline = ask(limits(5_000, 1_000, Some(700)), Script::silent(Intake::Whole));
    assert_eq!(
        tell(&timeline),
        "timeout_total: token - answer - last - output - ended 700; 0 events, 0 ignored; usage -+-; -; \
         not done within 700ms of the send"
    );
}

#[test]
fn an_answer_that_was_complete_stays_so_when_a_limit_passes_after_it() {
    let complete = stream().at(100, content("a")).at(120, finish("stop"));
    for (reply, usage) in [(complete.clone().open(), "-+-"), (complete.at(130, usage(3, 1)).open(), "3+1")] {
        let ended = if usage == "-+-" { 1_120 } else { 1_130 };
        let timeline = ask(limits(1_000, 1_000, None), reply);
        assert_eq!(
            tell(&timeline),
            format!(
                "ok: token 100 answer 100 last 100 output 120 ended {ended}; 1 events, 0 ignored; usage {usage}; stop"
            )
        );
    }
}

#[test]
fn a_document_that_stops_half_way_ends_at_the_idle_limit() {
    let half = reply("200 OK", "application/json").framed(Framing::Length).at(400, "{").at(9_000, "}");
    let timeline = ask(limits(5_000, 1_000, None), half);
    assert_eq!(
        tell(&timeline),
        "timeout_idle: token - answer - last - output - ended 1400; 0 events, 0 ignored; usage -+-; -; \
         nothing came for 1s"
    );
    assert!(timeline.bytes_received > 60);
}

#[test]
fn a_refusal_that_stops_half_way_is_still_a_refusal() {
    let half = reply("503 Service Unavailable", "text/plain").at(400, "busy").open();
    let timeline = ask(limits(5_000, 1_000, None), half);
    assert_eq!(
        tell(&timeline),
        "http_error: token - answer - last - output - ended 1400; 0 events, 0 ignored; usage -+-; -; \
         busy; nothing came for 1s"
    );
    assert_eq!(timeline.http_status, Some(503));
}

#[test]
fn a_slow_upload_counts_towards_the_first_token_limit() {
    let slow = Script::silent(Intake::Slow { bytes: 16, pause: ms(1_000) });
    let timeline = ask(limits(2_500, 1_000, None), slow);
    assert_eq!(timeline.ended.since(timeline.sent), ms(2_500));
    assert_eq!(timeline.outcome.name(), "timeout_first_token");
}
