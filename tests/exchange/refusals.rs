//! Answers other than the one asked for: statuses, errors inside a stream, nothing at all.

use hyper::header::{HeaderName, HeaderValue};
use serde_json::json;
use tonnage::clock::Clock;
use tonnage::record::{Outcome, Timeline};

use crate::support::bench::{Bench, KEY, ask, ask_with, ms, settings, tell};
use crate::support::frames::{DONE, content, event, finish, role, usage};
use crate::support::script::{Framing, Intake, Script, reply, stream};

/// Outcome, status and text of what became of a request.
fn verdict(timeline: &Timeline) -> (Outcome, Option<u16>, &str) {
    (timeline.outcome, timeline.http_status, timeline.error.as_deref().unwrap_or("-"))
}

#[test]
fn c029_an_error_after_tokens_is_a_failure_that_keeps_the_message() {
    let error = event(&json!({ "error": { "message": "engine died", "code": 500 } }));
    let tokens = stream().at(1, role()).at(10, content("a")).at(20, content("b")).at(30, content("c"));
    let timeline = ask(tokens.at(40, error).at(40, DONE));
    assert_eq!(
        tell(&timeline),
        "stream_error: token 10 answer 10 last 30 output 30 ended 40; 3 events, 1 ignored; usage -+-; -; engine died"
    );
}

#[test]
fn c031_an_error_beside_empty_choices_is_a_failure() {
    let error = event(&json!({ "choices": [], "error": { "code": 502, "message": "provider busy" } }));
    let timeline = ask(stream().at(40, error).at(40, DONE));
    assert_eq!(
        tell(&timeline),
        "stream_error: token - answer - last - output - ended 40; 0 events, 0 ignored; usage -+-; -; provider busy"
    );
}

#[test]
fn c032_an_answer_without_a_token_is_empty() {
    for framing in Framing::EACH {
        let nothing = ask(stream().framed(framing).ending(25));
        assert_eq!(verdict(&nothing), (Outcome::Empty, Some(200), "the response was empty"), "{framing:?}");
        assert_eq!(nothing.ended.since(nothing.sent), ms(25));
    }
    let done = ask(stream().at(25, DONE));
    assert_eq!(verdict(&done), (Outcome::Empty, Some(200), "the answer holds no token"));
    let timeline = ask(stream().at(5, role()).at(6, finish("stop")).at(6, DONE));
    assert_eq!(
        tell(&timeline),
        "empty: token - answer - last - output 6 ended 6; 0 events, 1 ignored; usage -+-; stop; \
         the answer holds no token"
    );
    let no_content = Script::silent(Intake::Whole).write(ms(3), "HTTP/1.1 204 No Content\r\n\r\n");
    assert_eq!(verdict(&ask(no_content)), (Outcome::Empty, Some(204), "the response was empty"));
}

#[test]
fn c034_an_event_named_error_is_a_failure() {
    let error = "event: error\ndata: {\"message\":\"overloaded\"}\n\n";
    let timeline = ask(stream().at(1, role()).at(10, content("a")).at(20, error).script().close(ms(20)));
    assert_eq!(
        tell(&timeline),
        "stream_error: token 10 answer 10 last 10 output 10 ended 20; 1 events, 1 ignored; usage -+-; -; overloaded"
    );
}

#[test]
fn c035_refusals_between_answers_fail_alone_and_are_not_repeated() {
    let good = stream().at(10, [&content("a"), &finish("stop"), &usage(1, 1), DONE].concat());
    let busy = reply("503 Service Unavailable", "application/json")
        .at(1, json!({ "error": { "message": "no worker free" } }).to_string());
    let (timelines, requests, opened) = Clock::run_virtual(|clock| async move {
        let scripts = (0..100).map(|k| if k % 2 == 0 { good.clone() } else { busy.clone() });
        let bench = Bench::new(&clock, scripts);
        let mut timelines = Vec::new();
        for _ in 0..100 {
            timelines.push(bench.ask().await);
        }
        (timelines, bench.server.heard().len(), bench.server.opened())
    })
    .unwrap();
    let (ok, failed): (Vec<_>, Vec<_>) =
        timelines.iter().partition(|timeline| timeline.outcome == Outcome::Ok);
    assert_eq!((ok.len(), failed.len(), requests, opened), (50, 50, 100, 1));
    for timeline in failed {
        assert_eq!(verdict(timeline), (Outcome::HttpError, Some(503), "no worker free"));
        assert_eq!(timeline.attempts, 1);
    }
}

#[test]
fn c036_a_request_refused_for_now_is_a_failure_and_not_sent_again() {
    let refusal = reply("429 Too Many Requests", "text/plain").header("retry-after", "1").at(3, "slow down");
    let (timeline, requests) = Clock::run_virtual(|clock| async move {
        let bench = Bench::new(&clock, [refusal]);
        (bench.ask().await, bench.server.heard().len())
    })
    .unwrap();
    assert_eq!(
        tell(&timeline),
        "http_error: token - answer - last - output - ended 3; 0 events, 0 ignored; usage -+-; -; slow down"
    );
    assert_eq!((requests, timeline.attempts), (1, 1));
}

#[test]
fn a_refusal_without_text_is_told_by_its_status() {
    let timeline = ask(reply("502 Bad Gateway", "text/html").framed(Framing::Length));
    assert_eq!((timeline.outcome, timeline.error.as_deref()), (Outcome::HttpError, Some("502 Bad Gateway")));
}

#[test]
fn c148_a_path_that_is_not_there_is_told_with_the_whole_url() {
    let gone = reply("404 Not Found", "application/json").at(1, r#"{"detail":"Not Found"}"#);
    assert_eq!(ask(gone).error.as_deref(), Some("POST http://mock.test:8000/v1/chat/completions: Not Found"));
}

#[test]
fn a_redirect_is_not_followed() {
    let redirect = reply("302 Found", "text/html").header("location", "http://elsewhere/").at(3, "");
    let (timeline, requests) = Clock::run_virtual(|clock| async move {
        let bench = Bench::new(&clock, [redirect.framed(Framing::Length)]);
        (bench.ask().await, bench.server.heard().len())
    })
    .unwrap();
    assert_eq!(verdict(&timeline), (Outcome::HttpError, Some(302), "302 Found"));
    assert_eq!(requests, 1);
}

#[test]
fn informational_responses_before_the_answer_are_passed_over() {
    let early = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n";
    let mut script = stream().at(90, [&content("a"), &finish("stop"), DONE].concat()).script();
    script.acts.insert(0, (ms(10), crate::support::script::Act::Write(early.into())));
    let timeline = ask(script);
    assert_eq!(
        tell(&timeline),
        "ok: token 90 answer 90 last 90 output 90 ended 90; 1 events, 0 ignored; usage -+-; stop"
    );
    assert_eq!(timeline.http_status, Some(200));
    assert_eq!(timeline.first_byte.unwrap().since(timeline.sent), ms(10));
}

#[test]
fn a_bare_error_in_place_of_events_keeps_its_message() {
    let body = r#"{"error": {"message": "the model is overloaded", "code": 503}}"#;
    for cut in [1, 20, body.len() - 1] {
        let answer = reply("200 OK", "text/event-stream").at(5, &body[..cut]).at(6, &body[cut..]);
        assert_eq!(
            verdict(&ask(answer)),
            (Outcome::StreamError, Some(200), "the model is overloaded"),
            "{cut}"
        );
    }
}

#[test]
fn a_page_instead_of_a_stream_is_malformed() {
    for content_type in ["text/html", "text/event-stream"] {
        let timeline = ask(reply("200 OK", content_type).at(5, "<html>\n<body>Welcome</body>\n</html>\n"));
        assert_eq!(verdict(&timeline), (Outcome::Malformed, Some(200), "the body is no event stream"));
    }
}

#[test]
fn a_stream_under_another_content_type_is_read_as_what_it_is() {
    for content_type in ["text/plain; charset=utf-8", "application/octet-stream", "TEXT/EVENT-STREAM"] {
        let timeline =
            ask(reply("200 OK", content_type).at(5, [&content("a"), &finish("stop"), DONE].concat()));
        assert_eq!(timeline.outcome, Outcome::Ok, "{content_type}");
    }
}

#[test]
fn an_error_document_with_status_200_keeps_its_message() {
    let error = json!({ "error": { "message": "model is loading" } }).to_string();
    let timeline = ask(reply("200 OK", "Application/JSON; charset=utf-8").at(5, error));
    assert_eq!(verdict(&timeline), (Outcome::StreamError, Some(200), "model is loading"));
}

#[test]
fn the_servers_id_of_the_request_is_kept_and_bounded() {
    for (name, value, kept) in [
        ("x-request-id", "req-1".to_owned(), "req-1".to_owned()),
        ("request-id", "req-2".to_owned(), "req-2".to_owned()),
        ("x-request-id", "9".repeat(5_000), "9".repeat(200)),
    ] {
        let timeline = ask(stream().header(name, &value).at(5, DONE));
        assert_eq!(timeline.server_request_id, Some(kept));
    }
}

#[test]
fn c142_a_key_that_the_server_echoes_does_not_reach_the_row() {
    let bearer = format!("Bearer {KEY}");
    let json = json!({ "error": { "message": format!("Incorrect API key provided: {KEY}.") } }).to_string();
    let in_stream = event(&json!({ "error": { "message": format!("bad header {bearer}") } }));
    let garbage = format!("data: nonsense with {KEY} inside\n\n");
    let named = finish(&format!("refused {KEY}"));
    let scripts: Vec<Script> = vec![
        reply("401 Unauthorized", "application/json").at(1, &json).into(),
        reply("401 Unauthorized", "text/plain").at(1, &bearer).into(),
        reply("401 Unauthorized", "text/plain").header("x-request-id", KEY).at(1, "no").into(),
        // The text is cut in the middle of the key.
        reply("401 Unauthorized", "text/plain").at(1, format!("{}{KEY}", "x".repeat(1_990))).into(),
        reply("200 OK", "application/json").at(1, &json).into(),
        stream().at(1, content("a")).at(2, in_stream).into(),
        stream().at(1, content("a")).at(2, garbage).into(),
        stream().at(1, content("a")).at(2, named).at(2, DONE).into(),
    ];
    for script in scripts {
        let timeline = ask(script.clone());
        let row = format!("{timeline:?}");
        assert!(!row.contains("sk-TEST"), "{row}\n{script:?}");
    }
}

#[test]
fn values_of_the_scenarios_headers_are_no_more_shown_than_the_key() {
    let secret = HeaderValue::from_static("tenant-pass-77");
    let mut settings = settings();
    settings.headers.push((HeaderName::from_static("x-pass"), secret));
    let timeline = ask_with(settings, reply("403 Forbidden", "text/plain").at(1, "who is tenant-pass-77?"));
    assert_eq!(verdict(&timeline), (Outcome::HttpError, Some(403), "who is [redacted]?"));
}

#[test]
fn a_huge_refusal_keeps_the_beginning_of_its_text() {
    let page = format!("<h1>upstream failed</h1>{}", "é".repeat(100_000));
    for framing in Framing::EACH {
        let timeline = ask(reply("502 Bad Gateway", "text/html").framed(framing).at(1, &page));
        let error = timeline.error.unwrap();
        assert_eq!((timeline.outcome, timeline.http_status), (Outcome::HttpError, Some(502)));
        assert!(error.starts_with("<h1>upstream failed</h1>éé"), "{error}");
        assert!(error.ends_with("; the body is longer than 65536 bytes") && error.chars().count() < 2_100);
    }
}
