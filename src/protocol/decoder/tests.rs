//! Answers as servers send them, event by event, and the law of the template.

mod cases;
mod completions;
mod law;
mod llamacpp;
mod messages;
mod ollama;
mod responses;

use std::ops::ControlFlow;

use super::*;
use crate::protocol::ToolCall;
use crate::record::Outcome;
use crate::wire::Parser;
use crate::wire::sse::Field;

/// An event of chat completions around `delta`, without a finish reason.
fn delta(delta: &str) -> String {
    data(&format!(r#"{{"choices":[{{"index":0,"delta":{delta},"finish_reason":null}}]}}"#))
}

/// The event that names the role.
fn role() -> String {
    delta(r#"{"role":"assistant","content":""}"#)
}

/// An event with answer text, which must need no escape.
fn content(text: &str) -> String {
    delta(&format!(r#"{{"content":"{text}"}}"#))
}

fn finish(reason: &str) -> String {
    data(&format!(r#"{{"choices":[{{"index":0,"delta":{{}},"finish_reason":"{reason}"}}]}}"#))
}

fn usage(prompt: u64, completion: u64) -> String {
    data(&format!(
        r#"{{"choices":[],"usage":{{"prompt_tokens":{prompt},"completion_tokens":{completion}}}}}"#
    ))
}

fn data(json: &str) -> String {
    format!("data: {json}\n\n")
}

fn done() -> String {
    data("[DONE]")
}

/// An event with what a server states of its tokens: in its choice, and so far in all.
fn stating(delta: &str, listed: &str, completion: Option<u64>) -> String {
    let usage = match completion {
        Some(tokens) => format!(r#"{{"prompt_tokens":9,"completion_tokens":{tokens}}}"#),
        None => "null".to_owned(),
    };
    data(&format!(r#"{{"choices":[{{"index":0,"delta":{delta}{listed}}}],"usage":{usage}}}"#))
}

/// An ordinary event, past the parser.
fn event_of(json: &str) -> Event<'_> {
    Event { name: b"", field: Field::Data, data: json.as_bytes() }
}

/// What became of a stream: the steps up to the end marker, and the answer.
struct Read {
    steps: Vec<Step>,
    answer: Answer,
}

impl Read {
    fn text(&self) -> &str {
        &self.texts().answer
    }

    fn texts(&self) -> &Texts {
        self.answer.texts.as_ref().expect("kept")
    }

    fn tokens(&self) -> Vec<Option<u32>> {
        self.steps.iter().map(|step| step.tokens()).collect()
    }

    fn error(&self) -> &str {
        self.answer.failure.as_ref().expect("failed").text()
    }
}

/// Reads a stream of chat completions given in `pieces`.
fn read_pieces<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Read {
    read_pieces_as(Api::Chat, pieces)
}

/// Reads a stream given in `pieces`, as an exchange would: it stops at the end marker.
fn read_pieces_as<'a>(api: Api, pieces: impl IntoIterator<Item = &'a [u8]>) -> Read {
    let mut decoder = Decoder::new(api, Some(1 << 20));
    let mut steps = Vec::new();
    let mut parser = Parser::new(api.framing());
    let mut on = |event: Event<'_>| {
        steps.push(decoder.event(event));
        if decoder.answer().done { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let mut is_open = true;
    for piece in pieces {
        is_open = is_open && parser.feed(piece, &mut on).expect("no overflow").is_continue();
    }
    if is_open {
        let _ = parser.finish(&mut on).expect("no overflow");
    }
    Read { steps, answer: decoder.into_answer() }
}

fn read<S: AsRef<str>>(events: &[S]) -> Read {
    let text: String = events.iter().map(AsRef::as_ref).collect();
    read_pieces([text.as_bytes()])
}

/// Reads a stream whole, and again cut everywhere, which must come to the same.
fn read_as(api: Api, stream: &str) -> Read {
    let bytes = stream.as_bytes();
    let whole = read_pieces_as(api, [bytes]);
    for cut in 0..=bytes.len() {
        let read = read_pieces_as(api, [&bytes[..cut], &bytes[cut..]]);
        assert_eq!((read.steps, &read.answer), (whole.steps.clone(), &whole.answer), "cut at {cut}");
    }
    whole
}

/// Named events, of which each is its name and its data.
fn named(events: &[(&str, &str)]) -> String {
    events.iter().map(|(name, json)| format!("event: {name}\ndata: {json}\n\n")).collect()
}

fn read_document(body: &str) -> Read {
    read_document_as(Api::Chat, body)
}

fn read_document_as(api: Api, body: &str) -> Read {
    let mut decoder = Decoder::new(api, Some(1 << 20));
    let steps = vec![decoder.document(body.as_bytes())];
    Read { steps, answer: decoder.into_answer() }
}

/// A step of answer text without a stated count.
const TOKEN: Step = Step::Output { generated: Generated::Answer, tokens: None, finished: false };

/// The same for reasoning or a tool call.
const ASIDE: Step = Step::Output { generated: Generated::Aside, tokens: None, finished: false };

/// A step of nothing but a finish reason.
const FINISH: Step = Step::Output { generated: Generated::Nothing, tokens: None, finished: true };

fn counted(generated: Generated, tokens: u32) -> Step {
    Step::Output { generated, tokens: Some(tokens), finished: false }
}

fn usage_of(prompt: u64, completion: u64) -> Usage {
    Usage { prompt: Some(prompt), completion: Some(completion), ..Usage::default() }
}

fn tool_call(index: u64, name: &str, arguments: &str) -> ToolCall {
    ToolCall { index, name: name.to_owned(), arguments: arguments.to_owned() }
}
