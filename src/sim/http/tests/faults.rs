//! Each fault, as the other side of the wire sees it.

use super::*;
use crate::sim::FaultPlan;

/// What came over the wire, and when.
#[derive(Debug)]
struct Seen {
    /// Reads, in order: time and text.
    reads: Vec<(u64, String)>,
    /// When the other side closed, if it did.
    closed: Option<u64>,
}

impl Seen {
    fn text(&self) -> String {
        self.reads.iter().map(|(_, text)| text.as_str()).collect()
    }

    /// The data of the events, taken out of lines and chunks.
    fn data(&self) -> Vec<String> {
        let text = self.text().replace('\r', "\n");
        let data = text.lines().filter_map(|line| line.strip_prefix("data:"));
        data.map(|data| data.trim_start().to_owned()).collect()
    }

    fn tokens(&self) -> usize {
        self.text().matches(r#"{"content":""#).count() - self.text().matches(r#"{"content":"""#).count()
    }
}

/// Asks for `tokens` tokens under `faults` named in the header and listens for ten seconds.
fn under(faults: &str, tokens: u64) -> Seen {
    planned("", faults, tokens, true)
}

fn planned(plan: &str, header: &str, tokens: u64, stream: bool) -> Seen {
    let options = Options { faults: FaultPlan::parse(plan).unwrap(), ..Options::default() };
    simulate(profile(4), options, async |clock, server| {
        let (mut near, far) = duplex(64 * 1024);
        spawn_local(server.serve(far));
        let body = ask(30, tokens, stream);
        let header = if header.is_empty() { String::new() } else { format!("x-sim-fault: {header}\r\n") };
        let head = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: sim\r\n{header}content-length: {}\r\n\r\n",
            body.len()
        );
        near.write_all((head + &body).as_bytes()).await.unwrap();
        let mut seen = Seen { reads: Vec::new(), closed: None };
        let mut end = std::pin::pin!(clock.sleep(Duration::from_secs(10)));
        loop {
            let mut bytes = Vec::with_capacity(1 << 16);
            let read = tokio::select! {
                biased;
                read = near.read_buf(&mut bytes) => read,
                () = &mut end => return seen,
            };
            match read {
                Ok(0) | Err(_) => {
                    seen.closed = Some(clock.now().0);
                    return seen;
                }
                Ok(_) => seen.reads.push((clock.now().0, String::from_utf8(bytes).unwrap())),
            }
        }
    })
}

const END: &str = "0\r\n\r\n";
const FIRST: u64 = step(1, 30);

#[test]
fn without_a_fault_the_stream_is_whole_and_the_connection_stays() {
    let seen = under("", 3);
    assert_eq!((seen.tokens(), seen.closed), (3, None));
    assert!(seen.text().ends_with(&format!("data: [DONE]\n\n\r\n{END}")));
    assert_eq!(seen.reads[1].0, FIRST);
}

#[test]
fn a_status_comes_with_its_time_to_try_again() {
    let seen = under("status=429:1500ms", 3);
    assert!(seen.text().starts_with("HTTP/1.1 429 Too Many Requests\r\n"), "{}", seen.text());
    assert!(seen.text().contains("retry-after: 2\r\n"));
    assert!(seen.text().contains(r#""type":"RateLimitError""#));
    assert_eq!(seen.closed, None);
    assert!(under("status=503", 3).text().starts_with("HTTP/1.1 503 Service Unavailable\r\n"));
}

#[test]
fn a_delay_moves_everything() {
    let seen = under("delay=2s", 3);
    assert_eq!(seen.reads[0].0, 2_000_000_000);
    assert_eq!(seen.reads[1].0, 2_000_000_000 + FIRST);
    assert_eq!(seen.tokens(), 3);
}

#[test]
fn a_hang_leaves_the_connection_open() {
    let seen = under("hang", 3);
    assert_eq!((seen.text(), seen.closed), (String::new(), None));
    let seen = under("hang=2", 5);
    assert_eq!((seen.tokens(), seen.closed), (2, None));
    assert!(seen.text().starts_with("HTTP/1.1 200 OK\r\n"));
    let seen = under("hang=bytes:50", 5);
    assert_eq!((seen.text().len(), seen.closed), (50, None));
}

#[test]
fn a_reset_and_a_cut_end_the_connection_at_their_stage() {
    for kind in ["reset", "cut"] {
        let seen = under(kind, 3);
        assert_eq!((seen.text(), seen.closed), (String::new(), Some(0)));
        let seen = under(&format!("{kind}=2"), 5);
        assert_eq!((seen.tokens(), seen.closed), (2, Some(FIRST + step(1, 0))));
        assert!(!seen.text().contains(END));
        let seen = under(&format!("{kind}=0"), 5);
        assert_eq!((seen.tokens(), seen.closed), (0, Some(FIRST)), "the opening event is out");
        let seen = under(&format!("{kind}=bytes:300"), 5);
        assert_eq!((seen.text().len(), seen.closed), (300, Some(FIRST)), "in the middle of an event");
    }
}

#[test]
fn a_truncated_stream_ends_in_good_order() {
    let seen = under("truncate=2", 5);
    assert_eq!((seen.tokens(), seen.closed), (2, None));
    assert!(seen.text().ends_with(END) && !seen.text().contains("[DONE]"));
    assert!(!seen.text().contains(r#""finish_reason":"length""#));
}

#[test]
fn the_end_of_a_stream_can_be_missing_in_parts() {
    let ends = |fault: &str| {
        let text = under(fault, 2).text();
        (text.contains("[DONE]"), text.contains(r#""finish_reason":"length""#), text.ends_with(END))
    };
    assert_eq!(ends("missing=done"), (false, true, true));
    assert_eq!(ends("missing=finish"), (true, false, true));
    assert_eq!(ends("missing=both"), (false, false, true));
}

#[test]
fn one_event_can_be_broken_json_and_the_others_are_not() {
    let seen = under("malformed=1", 3);
    let broken =
        seen.data().iter().filter(|data| serde_json::from_str::<serde_json::Value>(data).is_err()).count();
    assert_eq!(broken, 2, "one event, and [DONE]");
    assert!(seen.text().ends_with(END));
}

#[test]
fn an_error_ends_the_stream_in_its_shape() {
    for (shape, sign, done) in [
        ("object", r#"data: {"error":{"#, true),
        ("text", r#"data: {"error":"The"#, false),
        ("choices", r#"data: {"choices":[],"error":{"#, true),
        ("event", "event: error\ndata: {\"code\"", false),
        ("field", "\nerror: {", true),
        ("detail", r#"data: {"detail":"The"#, false),
    ] {
        let seen = under(&format!("error={shape}:2"), 5);
        assert_eq!(seen.tokens(), 2, "{shape}");
        assert!(seen.text().contains(sign), "{shape}: {}", seen.text());
        assert_eq!(seen.text().contains("[DONE]"), done, "{shape}");
        assert!(seen.text().ends_with(END));
    }
}

#[test]
fn a_stall_holds_the_rest_back() {
    let seen = under("stall=1:3s", 3);
    let times = seen.reads.iter().map(|(at, _)| *at).collect::<Vec<_>>();
    assert_eq!(times, [0, FIRST, FIRST + 3_000_000_000], "head, first token, and all that was due meanwhile");
    assert_eq!(seen.tokens(), 3);
}

#[test]
fn the_opening_event_has_many_forms() {
    let opening = |fault: &str| {
        let seen = under(fault, 1);
        let at = seen.reads.iter().find(|(_, text)| text.contains("data:")).unwrap().0;
        (
            at,
            seen.data()[0]
                .split(r#""delta":"#)
                .nth(1)
                .unwrap()
                .split(",\"logprobs")
                .next()
                .unwrap()
                .to_owned(),
        )
    };
    assert_eq!(opening("role=early"), (0, r#"{"role":"assistant","content":""}"#.to_owned()));
    assert_eq!(opening("role=null"), (FIRST, r#"{"role":"assistant","content":null}"#.to_owned()));
    assert_eq!(opening("role=bare"), (FIRST, r#"{"role":"assistant"}"#.to_owned()));
    assert!(opening("role=none").1.starts_with(r#"{"content":"#));
}

#[test]
fn tokens_events_and_writes_can_be_put_together_or_apart() {
    let seen = under("join=3", 7);
    assert_eq!(seen.tokens(), 3);
    let plain = under("", 7);
    let words = |seen: &Seen| {
        let text = seen.text();
        let contents = text.split(r#"{"content":""#).skip(1).map(|rest| rest.split('"').next().unwrap());
        contents.collect::<String>()
    };
    assert_eq!(words(&seen), words(&plain));
    assert!(seen.text().contains(r#""completion_tokens":7"#));

    let seen = under("empty=2", 3);
    assert_eq!((seen.tokens(), seen.text().matches(r#"{"content":""}"#).count()), (3, 6));

    // Role and two tokens, then two tokens and the finish, then usage and [DONE].
    let seen = under("batch=3", 4);
    assert_eq!(
        seen.reads.iter().map(|(_, text)| text.matches("data:").count()).collect::<Vec<_>>(),
        [0, 3, 5]
    );
    assert_eq!(seen.text().matches("\r\ndata:").count(), 3, "three chunks");

    let seen = under("split=10:1ms", 1);
    assert!(seen.reads.iter().all(|(_, text)| text.len() <= 10));
    assert!(seen.reads.windows(2).all(|pair| pair[1].0 >= pair[0].0 + 1_000_000));
    assert_eq!((words(&seen), seen.tokens()), (words(&under("", 1)), 1));
}

#[test]
fn lines_blanks_and_comments_can_differ_and_say_the_same() {
    let plain = under("", 3).data();
    for fault in ["lines=crlf", "lines=cr", "no-blank", "comments", "lines=crlf,no-blank,comments"] {
        assert_eq!(under(fault, 3).data(), plain, "{fault}");
    }
    assert!(under("lines=crlf", 1).text().contains("}\r\n\r\n"));
    assert_eq!(
        under("comments", 3).text().matches(": still here\n\n").count(),
        plain.len() - 1,
        "all but [DONE]"
    );
}

#[test]
fn pings_come_while_nothing_else_does() {
    let seen = under("stall=1:3500ms,ping=1s", 2);
    let pings = seen.reads.iter().filter(|(_, text)| text.contains(": still here")).map(|(at, _)| at - FIRST);
    assert_eq!(pings.collect::<Vec<_>>(), [1_000_000_000, 2_000_000_000, 3_000_000_000]);
    assert_eq!(seen.tokens(), 2);
}

#[test]
fn usage_can_be_late_in_the_finish_zero_or_missing() {
    let last = FIRST + step(1, 0);
    let seen = under("usage=late:2s", 2);
    let (at, text) = seen.reads.last().unwrap();
    assert_eq!(*at, last + 2_000_000_000);
    assert!(text.contains(r#""completion_tokens":2"#) && text.contains("[DONE]"));
    let seen = under("usage=finish", 2);
    assert_eq!(seen.text().matches("usage").count(), 1);
    assert!(
        seen.data()[3].contains(r#""finish_reason":"length"}],"usage":{"completion_tokens":2"#),
        "{:?}",
        seen.data()
    );
    assert!(under("usage=zero", 2).text().contains(r#""completion_tokens":0,"prompt_tokens":0"#));
    assert!(!under("usage=none", 2).text().contains("usage"));
}

#[test]
fn a_buffering_proxy_sends_everything_at_the_end() {
    let seen = under("buffer", 5);
    let times = seen.reads.iter().map(|(at, _)| *at).collect::<Vec<_>>();
    assert_eq!(times, [0, FIRST + 4 * step(1, 0)]);
    assert_eq!(seen.tokens(), 5);
    let seen = under("buffer=600", 5);
    assert!(seen.reads.len() > 2 && seen.reads.len() < 7, "{:?}", seen.reads);
    assert_eq!(seen.tokens(), 5);
}

#[test]
fn one_document_can_come_instead_of_a_stream() {
    let seen = under("document", 3);
    assert!(seen.text().contains("content-type: application/json"));
    assert_eq!(seen.reads[0].0, FIRST + 2 * step(1, 0));
    assert!(seen.text().contains(r#""completion_tokens":3"#));
}

#[test]
fn a_whole_answer_can_fail_too() {
    let whole = |fault: &str| planned("", fault, 3, false);
    assert!(whole("error").text().starts_with("HTTP/1.1 500 "));
    assert_eq!((whole("hang=1").text(), whole("hang=1").closed), (String::new(), None));
    assert_eq!((whole("cut=1").text(), whole("cut=1").closed.is_some()), (String::new(), true));
    for fault in ["malformed", "truncate"] {
        let text = whole(fault).text();
        let body = text.split("\r\n\r\n").nth(1).unwrap();
        assert!(serde_json::from_str::<serde_json::Value>(body).is_err(), "{body}");
    }
}

#[test]
fn a_slowly_read_request_waits_for_its_body() {
    let bytes = ask(30, 1, true).len() as u64;
    let seen = under(&format!("slow-read={bytes}"), 1);
    assert_eq!(seen.reads[0].0, 1_000_000_000);
}

#[test]
fn a_plan_fails_the_requests_it_names() {
    let options =
        Options { faults: FaultPlan::parse("status=503@1/2, delay=1s@#3").unwrap(), ..Options::default() };
    let log = simulate(profile(4), options, async |clock, server| {
        let mut sender = connect(&server).await;
        let mut log = Vec::new();
        for _ in 0..4 {
            let began = clock.now();
            let answer = exchange(&mut sender, post(ask(30, 1, false))).await;
            log.push((answer[..3].to_owned(), clock.now().since(began).as_secs()));
            assert!(exchange(&mut sender, bare("GET", "/v1/models")).await.starts_with("200"), "not counted");
        }
        log
    });
    let log = log.iter().map(|(status, seconds)| (status.as_str(), *seconds)).collect::<Vec<_>>();
    assert_eq!(log, [("200", 0), ("503", 0), ("200", 1), ("503", 0)]);
}

#[test]
fn a_header_adds_to_the_plan_and_one_that_cannot_be_read_is_refused() {
    let seen = planned("join=2, comments", "join=4", 8, true);
    assert_eq!(seen.tokens(), 2);
    assert!(seen.text().contains(": still here"));
    insta::assert_snapshot!(under("explode", 1).text().split("\r\n\r\n").nth(1).unwrap(), @r#"{"error":{"code":400,"message":"fault `explode`: there is no such fault; there are status, delay, slow-read, hang, reset, cut, truncate, missing, malformed, error, stall, role, empty, join, batch, split, lines, no-blank, comments, ping, usage, buffer, document, corrupt, accept-delay, refuse, idle-close","param":"x-sim-fault","type":"BadRequestError"}}"#);
    assert!(under("refuse", 1).text().starts_with("HTTP/1.1 400 "));
}

#[test]
fn connections_can_be_taken_up_late_or_not_at_all() {
    let seen = planned("accept-delay=2s", "", 1, true);
    assert_eq!((seen.reads[0].0, seen.tokens()), (2_000_000_000, 1));
    let seen = planned("refuse", "", 1, true);
    assert_eq!((seen.text(), seen.closed), (String::new(), Some(0)));
}

#[test]
fn an_idle_connection_is_closed_when_its_time_is_over_and_a_busy_one_is_not() {
    let seen = planned("idle-close=500us, stall=1:2s", "", 3, true);
    assert_eq!(seen.tokens(), 3);
    assert!(seen.text().ends_with(END));
    assert_eq!(seen.closed, Some(FIRST + 2_000_000_000 + 500_000));
    let options = Options { faults: FaultPlan::parse("idle-close=5s").unwrap(), ..Options::default() };
    let closed = simulate(profile(4), options, async |clock, server| {
        let (mut near, far) = duplex(1024);
        spawn_local(server.serve(far));
        assert_eq!(near.read(&mut [0; 8]).await.unwrap(), 0);
        clock.now()
    });
    assert_eq!(closed, Nanos(5_000_000_000), "nothing was ever asked");
}

#[test]
fn a_reset_over_tcp_is_a_reset_and_a_cut_an_end() {
    let read = |fault: &str| {
        let options = Options { faults: FaultPlan::parse(fault).unwrap(), ..Options::default() };
        let embedded = Embedded::start(profile(4), options).unwrap();
        let mut stream = TcpStream::connect(embedded.addr()).unwrap();
        stream.write_all(raw(&ask(20, 9, true)).as_bytes()).unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).map_err(|error| error.kind())
    };
    assert_eq!(read("reset"), Err(io::ErrorKind::ConnectionReset));
    assert_eq!(read("reset=2"), Err(io::ErrorKind::ConnectionReset));
    assert!(read("cut=2").unwrap() > 0);
    assert_eq!(read("cut"), Ok(0));
}
