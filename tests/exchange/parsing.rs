//! What the bytes of an answer mean, whatever form they come in.

use insta::assert_snapshot;
use serde_json::json;
use tonnage::clock::Clock;
use tonnage::prompt::Outgoing;
use tonnage::record::{Outcome, Timeline};

use crate::support::bench::{BODY, Bench, ask, gaps, ms, outgoing, settings, tell, tpot_ms};
use crate::support::frames::{DONE, content, counts, delta, document, event, finish, role, usage};
use crate::support::script::{Framing, Intake, Reply, Script, reply, stream};
use crate::support::server::Server;

/// Two tokens, 20 ms apart, after 200 ms.
fn greeting(role: &str) -> Reply {
    let end = [&content(" you"), &finish("stop"), &usage(4, 2), DONE].concat();
    stream().at(5, role).at(200, content("Hi")).at(220, end)
}

/// What becomes of one request for a whole document.
fn ask_for_document(reply: Reply) -> Timeline {
    Clock::run_virtual(|clock| async move {
        let bench = Bench::new(&clock, [reply]);
        bench.send(&Outgoing { stream: false, ..outgoing(BODY) }).await
    })
    .unwrap()
}

#[test]
fn c001_a_role_event_is_no_token() {
    let roles =
        [role(), delta(&json!({"role": "assistant", "content": null})), delta(&json!({"role": "assistant"}))];
    for role in roles {
        let timeline = ask(greeting(&role));
        assert_eq!(
            tell(&timeline),
            "ok: token 200 answer 200 last 220 output 220 ended 220; 2 events, 1 ignored; usage 4+2; stop"
        );
        assert_eq!(gaps(&timeline), [ms(20)]);
        assert_eq!(tpot_ms(&timeline), Some(20.0));
    }
}

#[test]
fn c003_a_usage_event_without_choices_is_no_output() {
    for usage in [usage(7, 2), event(&json!({ "usage": counts(7, 2) }))] {
        let reply = stream().at(1, role()).at(2, content("a")).at(3, content("b")).at(3, finish("stop"));
        let timeline = ask(reply.at(50, usage).at(51, DONE));
        assert_eq!(
            tell(&timeline),
            "ok: token 2 answer 2 last 3 output 3 ended 51; 2 events, 1 ignored; usage 7+2; stop"
        );
        assert_eq!(gaps(&timeline), [ms(1)]);
    }
}

#[test]
fn c005_a_comment_and_its_blank_line_dispatch_nothing_after_an_id() {
    let numbered = |event: String| format!("id: 3\n{event}");
    let timeline = ask(stream()
        .at(10, numbered(content("a")))
        .at(20, numbered(content("b")))
        .at(30, ": ping\n\n")
        .at(40, numbered(content("c")))
        .at(40, finish("stop"))
        .at(40, DONE));
    assert_snapshot!(tell(&timeline), @"ok: token 10 answer 10 last 40 output 40 ended 40; 3 events, 0 ignored; usage -+-; stop");
}

#[test]
fn c006_pings_during_the_prompt_are_no_output() {
    let answer = [&role(), &content("x"), &finish("stop"), &usage(3, 1), DONE].concat();
    let timeline = ask(stream().at(500, ":\n\n").at(1_000, ":\n\n").at(1_500, ":\n\n").at(2_000, answer));
    assert_snapshot!(tell(&timeline), @"ok: token 2000 answer 2000 last 2000 output 2000 ended 2000; 1 events, 1 ignored; usage 3+1; stop");
    assert_eq!(timeline.first_byte.unwrap().since(timeline.sent), ms(500));
}

#[test]
fn c008_empty_data_lines_are_skipped_in_silence() {
    let timeline = ask(stream()
        .at(10, "data:\n\n")
        .at(20, "data: \n\n")
        .at(200, content("Hi"))
        .at(205, "data:\n\n")
        .at(210, "data: \n\n")
        .at(220, content(" you"))
        .at(220, finish("stop"))
        .at(220, DONE));
    assert_snapshot!(tell(&timeline), @"ok: token 200 answer 200 last 220 output 220 ended 220; 2 events, 0 ignored; usage -+-; stop");
}

#[test]
fn c009_data_needs_no_blank_after_its_colon() {
    let tight = |event: &str| event.replacen("data: ", "data:", 1);
    let timeline = ask(stream()
        .at(10, tight(&content("ok")))
        .at(15, tight(&content(" then")))
        .at(15, tight(&finish("stop")))
        .at(16, tight(DONE)));
    assert_snapshot!(tell(&timeline), @"ok: token 10 answer 10 last 15 output 15 ended 16; 2 events, 0 ignored; usage -+-; stop");
}

/// Five tokens 50 ms apart, each with its own time.
fn five_tokens() -> Reply {
    let tokens = (1..=5).fold(stream(), |reply, k| reply.at(50 * k, content("x")));
    tokens.at(250, finish("stop")).at(250, usage(3, 5)).at(250, DONE)
}

#[test]
fn c011_lines_may_end_in_crlf() {
    let (lf, crlf) = (ask(five_tokens()), ask(five_tokens().with_line_ends("\r\n")));
    assert_snapshot!(tell(&crlf), @"ok: token 50 answer 50 last 250 output 250 ended 250; 5 events, 0 ignored; usage 3+5; stop");
    assert_eq!(crlf.stamps, lf.stamps);
    assert_eq!(gaps(&crlf), [ms(50); 4]);
}

#[test]
fn c013_lines_may_end_in_a_lone_cr() {
    let (lf, cr) = (ask(five_tokens()), ask(five_tokens().with_line_ends("\r")));
    assert_eq!(tell(&cr), tell(&lf));
    assert_eq!(cr.stamps, lf.stamps);
}

#[test]
fn c015_a_character_may_be_cut_between_reads() {
    let event = content("你好🙂").into_bytes();
    let position = |character: &str| {
        event.windows(character.len()).position(|window| window == character.as_bytes()).unwrap()
    };
    let (first, second) = (position("好") + 1, position("🙂") + 2);
    let timeline = ask(stream()
        .at(10, &event[..first])
        .at(20, &event[first..second])
        .at(30, &event[second..])
        .at(30, finish("stop"))
        .at(30, DONE));
    assert_snapshot!(tell(&timeline), @"ok: token 30 answer 30 last 30 output 30 ended 30; 1 events, 0 ignored; usage -+-; stop");
}

#[test]
fn c017_events_of_one_write_share_their_time() {
    for framing in [Framing::Chunked, Framing::Chunks(50), Framing::Length, Framing::Close] {
        let timeline = ask(stream()
            .framed(framing)
            .at(60, [role(), content("a"), content("b"), content("c")].concat())
            .at(100, [&finish("stop"), &usage(2, 3), DONE].concat()));
        assert_eq!(
            tell(&timeline),
            "ok: token 60 answer 60 last 60 output 100 ended 100; 3 events, 1 ignored; usage 2+3; stop",
            "{framing:?}"
        );
        assert_eq!(gaps(&timeline), [ms(0), ms(0)]);
    }
}

#[test]
fn c018_an_event_cut_into_single_bytes_has_the_time_of_its_last_byte() {
    for framing in Framing::EACH {
        let whole = stream()
            .framed(framing)
            .at(0, [&role(), &content("a"), &content("b"), &finish("stop"), &usage(2, 2), DONE].concat());
        let script = whole.script();
        let bytes = script.bytes();
        let timeline = ask(script.in_pieces(1, ms(1)));
        // An event is there with the second LF behind it: in chunks, payload bytes are not contiguous.
        let nth_end = |n: usize| {
            let body = bytes.windows(4).position(|window| window == b"\r\n\r\n").unwrap() + 4;
            let newlines = (body..bytes.len()).filter(|at| bytes[*at] == b'\n' && bytes[at - 1] != b'\r');
            newlines.map(|at| at as u64 + 1).nth(2 * n - 1).unwrap()
        };
        let (a, b, stop, done) = (nth_end(2), nth_end(3), nth_end(4), nth_end(6));
        assert_eq!(
            tell(&timeline),
            format!(
                "ok: token {a} answer {a} last {b} output {stop} ended {done}; 2 events, 1 ignored; \
                 usage 2+2; stop"
            ),
            "{framing:?}"
        );
    }
}

#[test]
fn c020_a_field_named_error_is_a_failure() {
    let error = "error: {\"code\":400,\"message\":\"prompt too long\"}\n\n";
    let timeline = ask(stream().at(8, [error, DONE].concat()));
    assert_snapshot!(tell(&timeline), @"stream_error: token - answer - last - output - ended 8; 0 events, 0 ignored; usage -+-; -; prompt too long");
}

#[test]
fn c021_only_the_members_that_matter_need_be_there() {
    let bare = |delta: &str| format!("data: {{\"choices\":[{{\"delta\":{delta}}}]}}\n\n");
    let timeline = ask(stream()
        .at(10, bare(r#"{"content":"a"}"#))
        .at(20, bare(r#"{"content":"b","unheard_of":[1,{"x":null}]}"#))
        .at(30, "data: {\"choices\":[{\"finish_reason\":\"stop\"}]}\n\n")
        .at(30, DONE));
    assert_snapshot!(tell(&timeline), @"ok: token 10 answer 10 last 20 output 30 ended 30; 2 events, 0 ignored; usage -+-; stop");
}

#[test]
fn c022_usage_may_stand_beside_the_finish_reason() {
    let choice = json!({ "index": 0, "delta": {}, "finish_reason": "length" });
    let last = event(&json!({ "choices": [choice], "usage": counts(5, 2), "timings": {} }));
    let timeline = ask(stream().at(100, content("a")).at(130, content("b")).at(130, last).at(130, DONE));
    assert_snapshot!(tell(&timeline), @"ok: token 100 answer 100 last 130 output 130 ended 130; 2 events, 0 ignored; usage 5+2; length");
    assert_eq!(tpot_ms(&timeline), Some(30.0));
}

#[test]
fn c023_an_empty_finish_reason_is_none_and_a_usage_of_zeros_is_not_believed() {
    let unfinished = |text: &str| {
        let choice = json!({ "index": 0, "delta": { "content": text }, "finish_reason": "" });
        event(&json!({ "choices": [choice] }))
    };
    let last = json!({ "index": 0, "delta": {}, "finish_reason": "stop" });
    let last = event(&json!({ "choices": [last], "usage": counts(0, 0) }));
    let tokens = (1..=5).fold(stream(), |reply, k| reply.at(10 * k, unfinished("x")));
    let timeline = ask(tokens.at(50, last).at(50, DONE));
    assert_eq!(timeline.usage.completion, None);
    assert_eq!(tpot_ms(&timeline), None);
    assert_eq!((timeline.events, timeline.finish_reason.as_deref()), (5, Some("stop")));

    // The stream breaks off: the empty reasons said nothing of an end.
    let timeline = ask(stream().at(10, unfinished("x")).script().close(ms(20)));
    assert_snapshot!(tell(&timeline), @"truncated: token 10 answer 10 last 10 output 10 ended 10; 1 events, 0 ignored; usage -+-; -; the answer ended without a finish reason");
}

#[test]
fn c024_a_document_instead_of_a_stream_has_no_token_times() {
    let reply = reply("200 OK", "application/json").framed(Framing::Length).at(800, document("Hello", 3, 20));
    let timeline = ask(reply);
    assert_snapshot!(tell(&timeline), @"not_streamed: token - answer - last - output - ended 800; 0 events, 0 ignored; usage 3+20; stop; the server sent one document instead of a stream");
    assert!(timeline.stamps.is_empty());
}

#[test]
fn a_document_that_was_asked_for_is_ok_and_has_no_token_times() {
    for framing in Framing::EACH {
        let reply = reply("200 OK", "application/json").framed(framing).at(800, document("Hello", 3, 20));
        assert_eq!(
            tell(&ask_for_document(reply)),
            "ok: token - answer - last - output 800 ended 800; 0 events, 0 ignored; usage 3+20; stop",
            "{framing:?}"
        );
    }
}

#[test]
fn a_late_end_does_not_stretch_a_document() {
    let reply = reply("200 OK", "application/json").at(800, document("Hello", 3, 20)).ending(1_500);
    assert_snapshot!(tell(&ask_for_document(reply)), @"ok: token - answer - last - output 800 ended 1500; 0 events, 0 ignored; usage 3+20; stop");
}

#[test]
fn c025_an_end_marker_behind_a_document_is_allowed() {
    let glued = format!("{}\n\n{DONE}", document("ok", 1, 1));
    let timeline = ask_for_document(stream().at(30, glued));
    assert_snapshot!(tell(&timeline), @"ok: token - answer - last - output 30 ended 30; 0 events, 0 ignored; usage 1+1; stop");

    let other = format!("{}\nand more", document("ok", 1, 1));
    let timeline = ask_for_document(stream().at(30, other));
    assert_snapshot!(tell(&timeline), @"malformed: token - answer - last - output - ended 30; 0 events, 0 ignored; usage -+-; -; bytes after the answer's JSON: and more");
}

#[test]
fn a_stream_instead_of_a_document_is_a_failure_that_shows_it() {
    let timeline = ask_for_document(stream().at(30, content("a")).at(30, DONE));
    assert_eq!(timeline.outcome, Outcome::Malformed);
    let error = timeline.error.unwrap();
    assert!(error.starts_with("the answer cannot be read") && error.contains("data: {"), "{error}");
}

#[test]
fn c026_lines_of_json_are_no_event_stream() {
    let line = |done: bool| format!("{}\n", json!({ "message": { "content": "a" }, "done": done }));
    for content_type in ["application/x-ndjson", "text/event-stream"] {
        let timeline = ask(reply("200 OK", content_type)
            .at(10, line(false))
            .at(20, line(false))
            .at(30, line(false))
            .at(40, line(true)));
        assert_eq!(
            tell(&timeline),
            "malformed: token - answer - last - output - ended 40; 0 events, 0 ignored; usage -+-; -; \
             the body is no event stream",
            "{content_type}"
        );
    }
}

#[test]
fn c027_an_end_marker_ends_the_exchange_though_the_connection_stays_open() {
    let reply =
        stream().at(100, content("a")).at(150, content("b")).at(200, [&finish("stop"), DONE].concat()).open();
    let (timeline, after) = Clock::run_virtual(|clock| async move {
        let bench = Bench::before(Server::new(&clock, [reply]), &clock, settings());
        (bench.ask().await, clock.now())
    })
    .unwrap();
    assert_snapshot!(tell(&timeline), @"ok: token 100 answer 100 last 150 output 200 ended 200; 2 events, 0 ignored; usage -+-; stop");
    assert_eq!(after, timeline.ended);
}

#[test]
fn uneven_times_are_kept_to_the_nanosecond() {
    let at = std::time::Duration::from_nanos;
    let timeline = ask(stream()
        .after(at(1), role())
        .after(at(123_456_789), content("a"))
        .after(at(123_456_790), content("b"))
        .after(at(47_654_321_001), content("c"))
        .after(at(47_654_321_003), finish("stop"))
        .after(at(47_654_321_004), DONE));
    assert_snapshot!(tell(&timeline), @"ok: token 123.456789 answer 123.456789 last 47654.321001 output 47654.321003 ended 47654.321004; 3 events, 1 ignored; usage -+-; stop");
}

#[test]
fn an_event_without_its_blank_line_has_the_time_of_its_bytes_and_not_of_the_end() {
    for framing in Framing::EACH {
        let unfinished = finish("stop");
        let timeline =
            ask(stream().framed(framing).at(10, content("a")).at(20, unfinished.trim_end()).ending(90));
        // A body of stated length ends with its last byte.
        let ended = if framing == Framing::Length { 20 } else { 90 };
        assert_eq!(
            tell(&timeline),
            format!(
                "ok: token 10 answer 10 last 10 output 20 ended {ended}; 1 events, 0 ignored; usage -+-; stop"
            ),
            "{framing:?}"
        );
    }
}

#[test]
fn rare_but_lawful_framing_is_understood() {
    let events = [&content("a"), &finish("stop"), DONE].concat();
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n";
    let chunked = format!("{head}Transfer-Encoding: Chunked\r\n\r\n");
    let size = events.len();
    let script = |bytes: String| Script::silent(Intake::Whole).write(ms(5), bytes);
    for script in [
        script(format!("{chunked}{size:X};name=\"value\"\r\n{events}\r\n0\r\n\r\n")),
        script(format!("{chunked}000{size:x}\r\n{events}\r\n0\r\nx-checksum: 1\r\n\r\n")),
        script(format!("{head}Content-Length: {size}\r\n\r\n{events}")),
        script(format!("HTTP/1.1 200 \r\nconnection: close\r\n\r\n{events}")).close(ms(5)),
        script(format!("HTTP/1.0 200 OK\r\ncontent-type: text/event-stream\r\n\r\n{events}")).close(ms(5)),
    ] {
        let timeline = ask(script);
        assert_eq!(
            tell(&timeline),
            "ok: token 5 answer 5 last 5 output 5 ended 5; 1 events, 0 ignored; usage -+-; stop"
        );
    }
}
