//! What reading a token event costs: parser and decoder over the events of one long answer, for each API.
//!
//! Does one way of reading so many times and says nothing, to be counted by a profiler. The difference of two
//! runs is free of what starting costs:
//!
//! ```text
//! cargo bench --bench decode --no-run
//! for n in 100000 200000; do valgrind --tool=callgrind target/release/deps/decode-* template chat $n; done
//! ```
//!
//! Ways: `parser` cuts events and reads none; `template` reads a stream as servers send it; `full` reads events of
//! which none has the surroundings of the one before; `short` reads answers of a role, a token, a finish and a
//! usage event (chat only), each by a decoder of its own.

use std::convert::Infallible;
use std::ops::ControlFlow;

use tonnage::protocol::{Api, Decoder, Step};
use tonnage::wire::{Framing, Parser};

/// Bytes the parser is fed at a time.
const READ_BYTES: usize = 64 << 10;

/// Events made at a time.
const BATCH: usize = 1_000;

fn main() {
    let arguments = std::env::args().skip(1).filter(|argument| argument != "--bench").collect::<Vec<_>>();
    let argument = |at: usize, default: &str| arguments.get(at).map_or(default, String::as_str).to_owned();
    let (way, name) = (argument(0, "template"), argument(1, "chat"));
    let events: usize = argument(2, "1000").parse().expect("a number of events");
    let api = Api::ALL.into_iter().find(|api| api.name() == name).expect("the name of an API");
    let stream = (0..BATCH).map(|at| frame(api, &event(api, &way, at))).collect::<String>();
    let mut parser = Parser::new(api.framing());
    let mut decoder = Decoder::new(api, None);
    let (is_cut_only, is_short) = (way == "parser", way == "short");
    let mut seen = 0;
    for _ in 0..events / BATCH {
        for piece in stream.as_bytes().chunks(READ_BYTES) {
            let fed = parser.feed(piece, |event| {
                if is_short && seen % 4 == 0 {
                    decoder = Decoder::new(api, None);
                }
                let is_read = is_cut_only || !matches!(decoder.event(event), Step::Ignored | Step::Malformed);
                seen += usize::from(is_read || is_short);
                ControlFlow::<Infallible>::Continue(())
            });
            assert!(fed.is_ok(), "no event is too large");
        }
    }
    assert_eq!(seen, events / BATCH * BATCH, "every event is one of the answer");
}

fn frame(api: Api, json: &str) -> String {
    match (api, api.framing()) {
        (_, Framing::Ndjson) => format!("{json}\n"),
        (Api::Messages, _) => format!("event: content_block_delta\ndata: {json}\n\n"),
        (Api::Responses, _) => format!("event: response.output_text.delta\ndata: {json}\n\n"),
        (_, Framing::Sse) => format!("data: {json}\n\n"),
    }
}

/// The event at a place in a stream as a well-known server of the API sends it.
fn event(api: Api, way: &str, at: usize) -> String {
    let words = ["The", " answer", " is", " a", " rather", " long", " one", ".", " 42", " tokens"];
    let word = words[at % words.len()];
    let id = if way == "full" { at % 2 } else { 0 };
    let count = at + 1;
    match api {
        Api::Chat => {
            let (delta, finish, rest) = match (way, at % 4) {
                ("short", 0) => (r#"{"role":"assistant","content":""}"#.to_owned(), "null", ""),
                ("short", 2) => ("{}".to_owned(), r#""stop""#, ""),
                ("short", 3) => (
                    "{}".to_owned(),
                    "null",
                    r#","usage":{"prompt_tokens":9,"total_tokens":10,"completion_tokens":1}"#,
                ),
                _ => (format!(r#"{{"content":"{word}"}}"#), "null", ""),
            };
            format!(
                "{{\"id\":\"chatcmpl-0123456789abcde{id}\",\"object\":\"chat.completion.chunk\",\
                 \"created\":1700000000,\"model\":\"tiny\",\"choices\":[{{\"index\":0,\"delta\":{delta},\
                 \"logprobs\":null,\"finish_reason\":{finish},\"token_ids\":null}}]{rest}}}"
            )
        }
        Api::Completions => format!(
            "{{\"id\":\"cmpl-0123456789abcde{id}\",\"object\":\"text_completion\",\"created\":1700000000,\
             \"model\":\"tiny\",\"choices\":[{{\"index\":0,\"text\":\"{word}\",\"logprobs\":null,\
             \"finish_reason\":null,\"stop_reason\":null,\"prompt_token_ids\":null,\"token_ids\":null}}]}}"
        ),
        Api::Responses => format!(
            "{{\"content_index\":0,\"delta\":\"{word}\",\"item_id\":\"msg_0123456789abcde{id}\",\
             \"logprobs\":[],\"output_index\":0,\"sequence_number\":{count},\
             \"type\":\"response.output_text.delta\"}}"
        ),
        Api::Messages => format!(
            "{{\"type\":\"content_block_delta\",\"index\":{id},\
             \"delta\":{{\"type\":\"text_delta\",\"text\":\"{word}\"}}}}"
        ),
        Api::Ollama => format!(
            "{{\"model\":\"tiny{id}\",\"created_at\":\"2026-12-01T20:00:00.{count:09}Z\",\
             \"message\":{{\"role\":\"assistant\",\"content\":\"{word}\"}},\"done\":false}}"
        ),
        Api::OllamaGenerate => format!(
            "{{\"model\":\"tiny{id}\",\"created_at\":\"2026-12-01T20:00:00.{count:09}Z\",\
             \"response\":\"{word}\",\"done\":false}}"
        ),
        Api::LlamaCpp => format!(
            "{{\"index\":0,\"content\":\"{word}\",\"tokens\":[{}],\"stop\":false,\"id_slot\":-{id},\
             \"tokens_predicted\":{count},\"tokens_evaluated\":4}}",
            at * 37
        ),
    }
}
