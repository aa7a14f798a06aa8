//! When a connection is kept, when another is opened, and what a dead one costs.

use std::time::Duration;

use tonnage::clock::Clock;
use tonnage::record::{Outcome, Timeline};

use crate::support::bench::{Bench, ask, ms, settings, tell};
use crate::support::frames::{DONE, content, finish};
use crate::support::script::{Framing, Intake, Reply, Script, stream};
use crate::support::server::Server;

fn answer(ms: u64) -> Reply {
    stream().at(ms, [&content("a"), &finish("stop"), DONE].concat())
}

/// What becomes of as many requests as there are pauses, each so long after the end of the one before, and how
/// many connections were opened.
fn ask_in_turn(scripts: Vec<Script>, pauses: &[Duration]) -> (Vec<Timeline>, usize) {
    Clock::run_virtual(|clock| async move {
        let bench = Bench::new(&clock, scripts);
        let mut timelines = Vec::new();
        for pause in pauses {
            clock.sleep(*pause).await;
            timelines.push(bench.ask().await);
        }
        (timelines, bench.server.opened())
    })
    .unwrap()
}

fn all_ok(timelines: &[Timeline]) -> bool {
    timelines.iter().all(|timeline| timeline.outcome == Outcome::Ok)
}

#[test]
fn a_response_that_ended_leaves_its_connection_to_the_next_request() {
    for framing in [Framing::Chunked, Framing::Chunks(5), Framing::Length] {
        let (timelines, opened) = ask_in_turn(vec![answer(10).framed(framing).into()], &[ms(0); 3]);
        assert!(all_ok(&timelines));
        assert_eq!(opened, 1, "{framing:?}");
        let new: Vec<_> = timelines.iter().map(|timeline| timeline.new_connection.unwrap()).collect();
        assert_eq!(new, [true, false, false]);
        let connect: Vec<_> = timelines.iter().map(|timeline| timeline.connect).collect();
        assert_eq!(connect, [Some(Duration::ZERO), None, None]);
        // Each exchange has its own account.
        assert_eq!(timelines[1].bytes_received, timelines[0].bytes_received);
        assert_eq!(timelines[1].bytes_sent, timelines[0].bytes_sent);
        assert_eq!(timelines[2].first_byte.unwrap().since(timelines[2].sent), ms(10));
    }
}

#[test]
fn c027_a_response_left_open_frees_the_user_but_not_its_connection() {
    let (timelines, opened) = ask_in_turn(vec![answer(10).open().into(), answer(10).into()], &[ms(0), ms(0)]);
    assert!(all_ok(&timelines));
    assert_eq!(
        (timelines[0].ended.since(timelines[0].sent), timelines[1].sent),
        (ms(10), timelines[0].ended)
    );
    assert_eq!((timelines[1].new_connection, timelines[1].reconnects, opened), (Some(true), 0, 2));
}

#[test]
fn a_connection_comes_back_when_its_response_ends_a_little_after_the_marker() {
    let late = answer(10).ending(500);
    // The second is sent before the end of the first's response, the third after.
    let (timelines, opened) = ask_in_turn(
        vec![late.into(), answer(10).open().into(), answer(10).into()],
        &[ms(0), ms(100), ms(700)],
    );
    assert!(all_ok(&timelines));
    let new: Vec<_> = timelines.iter().map(|timeline| timeline.new_connection.unwrap()).collect();
    assert_eq!((new, opened), (vec![true, true, false], 2));
}

#[test]
fn a_response_that_does_not_end_for_long_costs_its_connection() {
    let closed_at = Clock::run_virtual(|clock| async move {
        let bench = Bench::new(&clock, [answer(10).open()]);
        assert_eq!(bench.ask().await.outcome, Outcome::Ok);
        bench.server.has_closed(1).await;
        clock.now()
    });
    assert_eq!(closed_at.unwrap().0, 1_010_000_000);
}

#[test]
fn a_connection_that_the_server_closed_while_idle_costs_nothing() {
    let closing = answer(10).script().close(ms(500));
    let (timelines, opened) = ask_in_turn(vec![closing, answer(10).into()], &[ms(0), ms(600)]);
    assert!(all_ok(&timelines));
    assert_eq!((timelines[1].new_connection, timelines[1].reconnects, opened), (Some(true), 0, 2));
}

#[test]
fn bytes_that_nobody_asked_for_cost_an_idle_connection() {
    let noisy = answer(10).script().write(ms(500), "HTTP/1.1 408 Request Timeout\r\n\r\n");
    let (timelines, opened) = ask_in_turn(vec![noisy, answer(10).into()], &[ms(0), ms(600)]);
    assert!(all_ok(&timelines));
    assert_eq!((timelines[1].new_connection, timelines[1].reconnects, opened), (Some(true), 0, 2));
}

#[test]
fn a_connection_that_ends_with_its_response_costs_nothing() {
    for closing in [answer(10).framed(Framing::Close), answer(10).header("connection", "close")] {
        let (timelines, opened) = ask_in_turn(vec![closing.script().close(ms(10))], &[ms(0); 3]);
        assert!(all_ok(&timelines));
        assert_eq!(opened, 3);
        assert!(timelines.iter().all(|timeline| timeline.reconnects == 0));
        assert!(timelines.iter().all(|timeline| timeline.new_connection == Some(true)));
    }
}

#[test]
fn c038_a_reused_connection_that_dies_before_an_answer_is_replaced_once_within_the_latency() {
    let dying = Script::silent(Intake::Whole).close(ms(30));
    let (timelines, opened) = ask_in_turn(vec![answer(10).into(), dying, answer(10).into()], &[ms(0), ms(5)]);
    assert_eq!(
        tell(&timelines[1]),
        "ok: token 40 answer 40 last 40 output 40 ended 40; 1 events, 0 ignored; usage -+-; stop"
    );
    assert_eq!((timelines[1].reconnects, timelines[1].attempts), (1, 1));
    assert_eq!((timelines[1].new_connection, timelines[1].connect), (Some(true), Some(Duration::ZERO)));
    assert_eq!(opened, 2);
}

#[test]
fn a_request_is_replaced_only_once() {
    let dying = || Script::silent(Intake::Whole).close(ms(30));
    let (timelines, opened) =
        ask_in_turn(vec![answer(10).into(), dying(), dying(), answer(10).into()], &[ms(0); 2]);
    assert_eq!(
        tell(&timelines[1]),
        "connect_error: token - answer - last - output - ended 60; 0 events, 0 ignored; usage -+-; -; \
         the connection ended before a response: connection closed before message completed"
    );
    assert_eq!((timelines[1].reconnects, opened), (1, 2));
}

#[test]
fn a_reused_connection_that_dies_after_a_byte_is_not_replaced() {
    let dying = Script::silent(Intake::Whole).write(ms(20), "H").close(ms(30));
    let (timelines, opened) = ask_in_turn(vec![answer(10).into(), dying, answer(10).into()], &[ms(0), ms(5)]);
    assert_eq!(
        tell(&timelines[1]),
        "truncated: token - answer - last - output - ended 30; 0 events, 0 ignored; usage -+-; -; \
         connection closed before message completed"
    );
    assert_eq!((timelines[1].reconnects, opened), (0, 1));
}

#[test]
fn a_fresh_connection_that_dies_before_an_answer_is_no_connection() {
    for script in
        [Script::silent(Intake::Whole).close(ms(30)), Script::silent(Intake::Beginning).reset(ms(30))]
    {
        let timeline = ask(script);
        assert_eq!(
            tell(&timeline),
            "connect_error: token - answer - last - output - ended 30; 0 events, 0 ignored; usage -+-; -; \
             the connection ended before a response: connection closed before message completed"
        );
        assert_eq!((timeline.reconnects, timeline.first_byte), (0, None));
    }
}

#[test]
fn a_connection_closed_before_it_is_used_is_told_at_once() {
    let timeline = Clock::run_virtual(|clock| async move {
        // Closed on the client's first look at it, before anything could be written.
        let gone = tonnage::client::Connector::memory(|| tokio::io::duplex(64).0);
        let client = tonnage::client::Client::new(clock.clone(), gone, settings()).unwrap();
        let mut timeline = Timeline::begin(clock.now(), client.stamp_source());
        client.exchange(&crate::support::bench::outgoing("{}"), &mut timeline, &mut |_| {}).await;
        timeline
    })
    .unwrap();
    assert_eq!(timeline.outcome, Outcome::ConnectError, "{}", tell(&timeline));
    assert_eq!(timeline.ended, timeline.sent);
}

#[test]
fn c038_a_server_that_closes_idle_connections_at_the_pace_of_the_requests_causes_no_failure() {
    // Requests are due every second; the server loses patience after a second: both at the same instant.
    let (timelines, reconnects) = Clock::run_virtual(|clock| async move {
        let server = Server::new(&clock, [answer(0)]).with_patience(ms(1_000));
        let bench = Bench::before(server, &clock, settings());
        let mut timelines = Vec::new();
        for k in 0..60 {
            clock.sleep_until(tonnage::units::Nanos(k * 1_000_000_000)).await;
            timelines.push(bench.ask().await);
        }
        let reconnects: u32 = timelines.iter().map(|timeline| timeline.reconnects).sum();
        (timelines, reconnects)
    })
    .unwrap();
    assert!(all_ok(&timelines));
    assert!(reconnects <= 60);
}

#[test]
fn requests_at_once_have_a_connection_each_and_leave_them_all() {
    let opened = Clock::run_virtual(|clock| async move {
        let bench = std::rc::Rc::new(Bench::new(&clock, [answer(10)]));
        for _ in 0..2 {
            let at_once: Vec<_> = (0..300)
                .map(|_| {
                    let bench = std::rc::Rc::clone(&bench);
                    tokio::task::spawn_local(async move { bench.ask().await })
                })
                .collect();
            for asked in at_once {
                let timeline = asked.await.unwrap();
                assert_eq!(timeline.ended.since(timeline.sent), ms(10));
            }
        }
        bench.server.opened()
    });
    assert_eq!(opened.unwrap(), 300);
}
