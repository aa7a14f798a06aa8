//! What an exchange costs: client, HTTP, parser and decoder, over a pipe in memory and without a clock to read.
//!
//! Sends so many requests one after the other, each answered by 100 events, and says nothing, to be counted by a
//! profiler. The difference of two runs is free of what starting costs; the server's share is a copy of its bytes:
//!
//! ```text
//! cargo bench --bench exchange --no-run
//! for n in 100 200; do valgrind --tool=callgrind target/release/deps/exchange-* whole $n; done
//! ```
//!
//! Ways: `whole` has each answer written at once, as by a server that outruns the client; `single` has each event
//! written when the one before has been read, as by a server that generates.

use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio::task::{spawn_local, yield_now};
use tonnage::client::{Client, Connector, Settings};
use tonnage::clock::Clock;
use tonnage::prompt::Outgoing;
use tonnage::protocol::Api;
use tonnage::record::{Outcome, Timeline};
use tonnage::scenario::{Timeouts, Transport};

const EVENTS: u64 = 100;

/// A pipe holds more than an answer.
const PIPE_BYTES: usize = 64 << 10;

fn main() {
    let arguments = std::env::args().skip(1).filter(|argument| argument != "--bench").collect::<Vec<_>>();
    let is_whole = arguments.first().is_none_or(|way| way == "whole");
    let requests: usize = arguments.get(1).map_or(10, |count| count.parse().expect("a number of requests"));
    let answer = answer(is_whole);
    let done = Clock::run_virtual(|clock| async move {
        let connector = Connector::memory(move || {
            let (ours, theirs) = tokio::io::duplex(PIPE_BYTES);
            spawn_local(serve(ours, Rc::clone(&answer)));
            theirs
        });
        let client = Client::new(clock.clone(), connector, settings()).expect("good settings");
        let body = Bytes::from_static(br#"{"messages":[{"role":"user","content":"Hi"}],"stream":true}"#);
        let request = Outgoing {
            id: "run-0-0-7".to_owned(),
            stream: true,
            keep_answer: false,
            check_answer: false,
            body_hash: None,
            known: None,
            body,
        };
        for _ in 0..requests {
            let mut timeline = Timeline::begin(clock.now(), client.stamp_source());
            client.exchange(&request, &mut timeline, &mut |_| {}).await;
            assert_eq!((timeline.outcome, timeline.events), (Outcome::Ok, EVENTS));
        }
    });
    assert!(done.is_ok(), "the runtime starts");
}

async fn serve(mut stream: DuplexStream, answer: Rc<Vec<Vec<u8>>>) {
    let mut request = vec![0; PIPE_BYTES];
    // Each request is one write.
    while stream.read(&mut request).await.is_ok_and(|read| read > 0) {
        for piece in answer.iter() {
            if stream.write_all(piece).await.is_err() {
                return;
            }
            yield_now().await;
        }
    }
}

/// What is written, piece by piece.
fn answer(is_whole: bool) -> Rc<Vec<Vec<u8>>> {
    let chunk = |data: &str| {
        let event = format!("data: {data}\n\n");
        format!("{:x}\r\n{event}\r\n", event.len())
    };
    let event = |delta: &str, finish: &str| {
        chunk(&format!(
            r#"{{"id":"chatcmpl-7","object":"chat.completion.chunk","created":1,"model":"m","choices":[{{"index":0,"delta":{delta},"finish_reason":{finish}}}]}}"#
        ))
    };
    let mut pieces = vec![
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n".to_owned(),
    ];
    pieces.extend((0..EVENTS).map(|_| event(r#"{"content":" tide"}"#, "null")));
    pieces.push(event("{}", r#""stop""#) + &chunk("[DONE]") + "0\r\n\r\n");
    let pieces = if is_whole { vec![pieces.concat()] } else { pieces };
    Rc::new(pieces.into_iter().map(String::into_bytes).collect())
}

fn settings() -> Settings {
    Settings {
        authority: "bench:8000".to_owned(),
        path: "/v1/chat/completions".to_owned(),
        models_path: "/v1/models".to_owned(),
        health_path: "/health".to_owned(),
        api: Api::Chat,
        headers: Vec::new(),
        timeouts: Timeouts {
            connect: Duration::from_secs(5),
            first_token: Duration::from_secs(120),
            idle: Duration::from_secs(60),
            total: None,
        },
        transport: Transport::default(),
        keeps_texts: false,
    }
}
