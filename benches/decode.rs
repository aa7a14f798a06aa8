//! What reading a token event costs: parser and decoder over the events of one long answer.
//!
//! Does one way of reading so many times and says nothing, to be counted by a profiler. The difference of two
//! runs is free of what starting costs:
//!
//! ```text
//! cargo bench --bench decode --no-run
//! for n in 100000 200000; do valgrind --tool=callgrind target/release/deps/decode-* template $n; done
//! ```

use std::convert::Infallible;
use std::ops::ControlFlow;

use tonnage::protocol::{Api, Decoder};
use tonnage::wire::sse::Parser;

/// Bytes the parser is fed at a time.
const READ_BYTES: usize = 64 << 10;

/// Events made at a time.
const BATCH: usize = 1_000;

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let way = arguments.next().unwrap_or_else(|| "template".to_owned());
    let events = arguments.next().map_or(BATCH, |count| count.parse().expect("a number of events"));
    let stream = events_for(&way).concat();
    let mut parser = Parser::new();
    let mut decoder = Decoder::new(Api::Chat, None);
    let mut tokens = 0;
    for _ in 0..events / BATCH {
        for piece in stream.as_bytes().chunks(READ_BYTES) {
            let fed = parser.feed(piece, |event| {
                match way.as_str() {
                    "parser" => tokens += usize::from(!event.data.is_empty()),
                    _ => tokens += usize::from(decoder.event(event).is_token_bearing()),
                }
                ControlFlow::<Infallible>::Continue(())
            });
            assert!(fed.is_ok(), "no event is too large");
        }
    }
    assert_eq!(tokens, events / BATCH * BATCH, "every event is a token");
}

/// Token events as vLLM sends them. For `full`, each second one belongs to another second of the day, so that
/// none is like the one before.
fn events_for(way: &str) -> Vec<String> {
    let words = ["The", " answer", " is", " a", " rather", " long", " one", ".", " 42", " tokens"];
    (0..BATCH)
        .map(|at| {
            let created = if way == "full" { 1_700_000_000 + at % 2 } else { 1_700_000_000 };
            let word = words[at % words.len()];
            format!(
                "data: {{\"id\":\"chatcmpl-0123456789abcdef\",\"object\":\"chat.completion.chunk\",\
                 \"created\":{created},\"model\":\"tiny\",\"choices\":[{{\"index\":0,\
                 \"delta\":{{\"content\":\"{word}\"}},\"logprobs\":null,\"finish_reason\":null,\
                 \"token_ids\":null}}]}}\n\n"
            )
        })
        .collect()
}
