//! Answers that break off, and bytes that are no answer. None of them is a success, none holds much memory.

use std::cell::RefCell;
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tonnage::client::{Client, Connector};
use tonnage::clock::Clock;
use tonnage::record::{Outcome, StampSource, Timeline};
use tonnage::units::Nanos;

use crate::support::bench::{BODY, Bench, ask, ask_with, has_failed, ms, outgoing, settings, tell};
use crate::support::frames::{DONE, content, counts, event, finish, role, usage};
use crate::support::script::{Framing, Intake, Script, chunk, reply, stream};
use crate::support::server::Server;

/// A good answer in one write, and how many of its bytes hold the finish reason and all before it.
fn small_answer(framing: Framing) -> (Vec<u8>, usize) {
    let reply = |end: &str| {
        stream()
            .framed(framing)
            .at(0, [&role(), &content("a"), &finish("stop"), end].concat())
            .script()
            .bytes()
    };
    let whole = reply(&[&usage(2, 1), DONE].concat());
    // The blank line that dispatches the event of the finish reason.
    let stop = whole.windows(4).position(|window| window == b"stop").unwrap();
    let ends = (stop..whole.len()).filter(|at| whole[*at] == b'\n' && whole[at - 1] != b'\r');
    let end = ends.take(2).last().unwrap() + 1;
    (whole, end)
}

#[test]
fn an_answer_cut_at_any_byte_is_ok_only_if_its_finish_reason_had_come() {
    for framing in [Framing::Chunked, Framing::Chunks(9), Framing::Length] {
        let (whole, finished) = small_answer(framing);
        for cut in 0..=whole.len() {
            let script = Script::silent(Intake::Whole).write(ms(1), &whole[..cut]).close(ms(2));
            let timeline = ask(script);
            let expected = match cut {
                0 => Outcome::ConnectError,
                _ if cut < finished => Outcome::Truncated,
                _ => Outcome::Ok,
            };
            assert_eq!(timeline.outcome, expected, "{framing:?} cut at {cut}: {}", tell(&timeline));
            assert_eq!(timeline.error.is_some(), has_failed(&timeline));
        }
    }
}

#[test]
fn an_answer_that_ends_with_its_connection_is_ok_only_if_its_finish_reason_had_come() {
    let (whole, finished) = small_answer(Framing::Close);
    for cut in 0..=whole.len() {
        let timeline = ask(Script::silent(Intake::Whole).write(ms(1), &whole[..cut]).close(ms(2)));
        // The event was all there but for its two line ends.
        let is_ok = timeline.outcome == Outcome::Ok;
        assert_eq!(is_ok, cut >= finished - 2, "cut at {cut}: {}", tell(&timeline));
        assert_eq!(timeline.error.is_some(), !is_ok);
    }
}

#[test]
fn an_event_cut_in_two_by_the_end_of_the_body_is_truncated_and_does_not_spoil_a_complete_answer() {
    for framing in Framing::EACH {
        let timeline = ask(stream().framed(framing).at(5, content("a")).at(6, "data: {\"choi"));
        assert_eq!(
            tell(&timeline),
            "truncated: token 5 answer 5 last 5 output 5 ended 6; 1 events, 0 ignored; usage -+-; -; \
             the answer ended in the middle of an event",
            "{framing:?}"
        );
        let finished = stream().framed(framing).at(5, content("a")).at(6, finish("stop"));
        let timeline = ask(finished.at(7, "data: {\"choices\":[],\"usa"));
        assert_eq!(
            tell(&timeline),
            "ok: token 5 answer 5 last 5 output 6 ended 7; 1 events, 0 ignored; usage -+-; stop",
            "{framing:?}"
        );
    }
}

#[test]
fn c043_a_broken_chunk_is_one_failure_and_the_connection_is_not_used_again() {
    let good = stream().at(5, [&content("a"), &finish("stop"), DONE].concat()).script();
    let broken = stream().at(5, content("a")).open().script();
    let broken = broken.write(ms(6), "40\r\n0123456789").close(ms(6));
    let (first, second, opened) = Clock::run_virtual(|clock| async move {
        let bench = Bench::new(&clock, [broken, good]);
        (bench.ask().await, bench.ask().await, bench.server.opened())
    })
    .unwrap();
    assert_eq!(
        tell(&first),
        "truncated: token 5 answer 5 last 5 output 5 ended 6; 1 events, 0 ignored; usage -+-; -; \
         error reading a body from connection: end of file before message length reached"
    );
    assert_eq!((second.outcome, second.new_connection, second.reconnects), (Outcome::Ok, Some(true), 0));
    assert_eq!(opened, 2);
}

#[test]
fn bytes_that_break_the_framing_are_malformed() {
    let begun = || stream().at(5, content("a")).open().script();
    for bad in ["zz\r\n", "-1\r\n", "10000000000000000\r\n", "3\r\nabcdef\r\n", "\r\n\r\n"] {
        let timeline = ask(begun().write(ms(6), bad));
        assert_eq!(
            (timeline.outcome, timeline.events),
            (Outcome::Malformed, 1),
            "{bad:?}: {}",
            tell(&timeline)
        );
        assert_eq!(timeline.ended.since(timeline.sent), ms(6));
    }
    for bad in [
        "nonsense\r\n\r\n",
        "HTTP/1.1 abc\r\n\r\n",
        "SSH-2.0-OpenSSH_9.6\r\n",
        "HTTP/1.1 200 OK\r\na b\r\n\r\n",
    ] {
        let timeline = ask(Script::silent(Intake::Whole).write(ms(6), bad));
        assert_eq!(timeline.outcome, Outcome::Malformed, "{bad:?}: {}", tell(&timeline));
        assert_eq!((timeline.http_status, timeline.ended.since(timeline.sent)), (None, ms(6)));
    }
}

#[test]
fn a_server_that_speaks_before_it_is_asked_is_malformed() {
    let timeline = Clock::run_virtual(|clock| async move {
        let (mut server, client) = tokio::io::duplex(64);
        server.write_all(b"220 mail.test ESMTP\r\n").await.unwrap();
        let pipe = RefCell::new(Some(client));
        let connector = Connector::memory(move || pipe.take().unwrap());
        let client = Client::new(clock.clone(), connector, settings()).unwrap();
        let mut timeline = Timeline::begin(clock.now(), StampSource::Virtual);
        client.exchange(&outgoing(BODY), &mut timeline, &mut |_| {}).await;
        timeline
    })
    .unwrap();
    assert_eq!(
        tell(&timeline),
        "malformed: token - answer - last - output - ended 0; 0 events, 0 ignored; usage -+-; -; \
         operation was canceled: received unexpected message from connection"
    );
}

#[test]
fn an_event_that_is_no_json_is_malformed_and_ends_the_exchange() {
    let timeline = ask(stream().at(5, content("a")).at(6, "data: {\"choices\":[}\n\n").at(7, content("b")));
    assert_eq!((timeline.outcome, timeline.events), (Outcome::Malformed, 1));
    assert_eq!(timeline.ended.since(timeline.sent), ms(6));
    assert!(timeline.error.unwrap().starts_with("an event cannot be read: "));
}

#[test]
fn a_head_without_end_is_malformed_before_it_fills_memory() {
    let line = format!("x-filler: {}\r\n", "y".repeat(1_000));
    for filler in [line, "z".repeat(1_000)] {
        let head = Script::silent(Intake::Whole).write(ms(1), "HTTP/1.1 200 OK\r\n");
        let endless = (0..20_000).fold(head, |script, _| script.write(ms(1), filler.as_bytes()));
        let timeline = ask(endless);
        assert_eq!(timeline.outcome, Outcome::Malformed, "{}", tell(&timeline));
        assert!(timeline.bytes_received < 1 << 20, "{}", timeline.bytes_received);
    }
}

/// Writes `piece` again and again, a gigabyte in all, after the head of a stream.
fn flood(piece: &[u8]) -> Script {
    const FLOOD_BYTES: usize = 1 << 30;
    let start = stream().at(1, content("a")).open().script();
    let chunk = chunk(piece);
    Script { repeats: FLOOD_BYTES / chunk.len(), ..start.write(ms(1), chunk) }
}

#[test]
fn a_line_without_end_is_malformed_before_it_fills_memory() {
    let timeline = ask(flood(&[b'x'; 50_000]));
    assert_eq!(
        tell(&timeline),
        "malformed: token 1 answer 1 last 1 output 1 ended 1; 1 events, 0 ignored; usage -+-; -; \
         an event of the stream is larger than 16777216 bytes"
    );
    assert!(timeline.bytes_received < 20 << 20);
}

#[test]
fn an_event_without_end_is_malformed_before_it_fills_memory() {
    let line = format!("data: {}\n", "x".repeat(49_990));
    let timeline = ask(flood(line.as_bytes()));
    assert_eq!(timeline.outcome, Outcome::Malformed);
    assert!(timeline.bytes_received < 20 << 20);
}

#[test]
fn a_document_without_end_is_malformed_before_it_fills_memory() {
    let start = reply("200 OK", "application/json").at(1, "[").open().script();
    let chunk = chunk(&[b' '; 50_000]);
    let script = Script { repeats: (1 << 30) / chunk.len(), ..start.write(ms(1), chunk) };
    let timeline = ask(script);
    assert_eq!(timeline.outcome, Outcome::Malformed, "{}", tell(&timeline));
    assert!(timeline.bytes_received < 70 << 20);
}

#[test]
fn comments_without_end_are_ended_by_the_total_limit() {
    let mut settings = settings();
    settings.timeouts.total = Some(ms(1_000));
    let endless = (1..3_000).fold(stream().at(1, content("a")), |reply, k| reply.at(k, ": ping\n\n"));
    let timeline = ask_with(settings, endless);
    assert_eq!(timeline.outcome, Outcome::TimeoutTotal);
    assert_eq!(timeline.ended.since(timeline.sent), ms(1_000));
}

#[test]
fn a_flood_behind_the_end_marker_is_neither_read_for_long_nor_waited_for() {
    let start = stream().at(1, [&content("a"), &finish("stop"), DONE].concat()).open().script();
    let flooding = Script { repeats: 1 << 14, ..start.write(ms(1), chunk(&[b'x'; 60_000])) };
    let (timeline, closed_at) = Clock::run_virtual(|clock| async move {
        let bench = Bench::before(Server::new(&clock, [flooding]), &clock, settings());
        let timeline = bench.ask().await;
        bench.server.has_closed(1).await;
        (timeline, clock.now())
    })
    .unwrap();
    assert_eq!(timeline.outcome, Outcome::Ok);
    assert_eq!(timeline.ended.since(timeline.sent), ms(1));
    assert_eq!(closed_at, Nanos(1_000_000), "the connection is given up as soon as the flood shows");
}

#[test]
fn an_exchange_that_is_dropped_leaves_what_had_happened() {
    let counted = |text: &str, k: u64| {
        let choice = serde_json::json!({ "index": 0, "delta": { "content": text } });
        event(&serde_json::json!({ "choices": [choice], "usage": counts(7, k) }))
    };
    let tokens = (1..100).fold(stream(), |reply, k| reply.at(10 * k, counted("x", k)));
    let timeline = dropped_after(ms(55), tokens.header("x-request-id", "req-1").into());
    assert_eq!(
        tell(&timeline),
        "truncated: token 10 answer 10 last 50 output 50 ended 0; 5 events, 0 ignored; usage 7+5; -"
    );
    assert_eq!(timeline.stamps.len(), 5);
    assert_eq!(timeline.http_status, Some(200));
    assert_eq!(timeline.server_request_id.as_deref(), Some("req-1"));
    assert_eq!(timeline.first_byte, Some(Nanos(10_000_000)));
    assert_eq!((timeline.upload, timeline.new_connection), (Some(Duration::ZERO), Some(true)));
    assert!(timeline.bytes_sent > BODY.len() as u64);
    assert!(timeline.bytes_received > 5 * 100, "{}", timeline.bytes_received);
}

#[test]
fn an_exchange_that_is_dropped_before_the_answer_tells_what_was_sent() {
    let timeline = dropped_after(ms(55), Script::silent(Intake::Whole));
    assert!(timeline.bytes_sent > BODY.len() as u64);
    assert_eq!((timeline.upload, timeline.first_byte), (Some(Duration::ZERO), None));

    let document = reply("200 OK", "application/json").at(10, "{\"choices\":[").at(90, "]}");
    let timeline = dropped_after(ms(55), document.into());
    assert_eq!((timeline.http_status, timeline.first_byte), (Some(200), Some(Nanos(10_000_000))));
    assert!(timeline.bytes_received > 50);
}

/// What is left of an exchange that is dropped `after` so long.
fn dropped_after(after: Duration, script: Script) -> Timeline {
    Clock::run_virtual(|clock| async move {
        let bench = Bench::new(&clock, [script]);
        let request = outgoing(BODY);
        let mut timeline = Timeline::begin(clock.now(), StampSource::Virtual);
        let mut hand_over = |_| {};
        tokio::select! {
            biased;
            () = bench.client.exchange(&request, &mut timeline, &mut hand_over) => panic!("it ended"),
            () = clock.sleep(after) => {}
        }
        timeline
    })
    .unwrap()
}
