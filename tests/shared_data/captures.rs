//! Answers as real servers wrote them, in every API we have captures of: one outcome each, and the same figures however the bytes are cut.

use std::fs;
use std::ops::ControlFlow;

use tonnage::protocol::{Api, Decoder, error_message};
use tonnage::record::{Outcome, Usage};
use tonnage::wire::Parser;

use super::shared;

const SERVERS: [&str; 6] = ["guidellm-mock", "llama", "llmsim", "vllm", "vllm-flags", "vllm-interval10"];

/// Captures of status 200 that are no whole answer; all others are `ok`.
const NOT_OK: [(&str, Outcome); 10] = [
    ("llama/comp-stream-cancel", Outcome::Truncated),
    ("llama/comp-stream-cancel-reset", Outcome::Truncated),
    ("llama/comp-stream-empty-prompt", Outcome::Empty),
    ("llama/err-midstream-comp", Outcome::StreamError),
    ("llama/err-midstream-sigkill", Outcome::Truncated),
    ("llama/err-midstream-sigterm", Outcome::Truncated),
    ("llama/native-completion-partial-utf8", Outcome::StreamError),
    ("vllm/comp-stream-cancel", Outcome::Truncated),
    ("vllm/comp-stream-cancel-reset", Outcome::Truncated),
    ("vllm-flags/err-midstream-engine-killed", Outcome::StreamError),
];

/// What a capture came to.
#[derive(Debug, PartialEq, Eq)]
struct Figures {
    outcome: Outcome,
    finish_reason: Option<String>,
    done: bool,
    usage: Usage,
    counted_tokens: Option<u64>,
    /// The tokens that each token-bearing event states.
    event_tokens: Vec<Option<u32>>,
    answer: String,
    reasoning: String,
}

/// A captured response: its status and its body without the chunks' framing, whole or broken off.
struct Capture {
    name: String,
    api: Api,
    status: u16,
    is_stream: bool,
    body: Vec<u8>,
    /// From the index: whether `[DONE]` came.
    done: bool,
    /// From the index: why it ended.
    finish_reason: Option<String>,
}

/// All answers to requests of an API.
fn captures() -> Vec<Capture> {
    let mut captures = Vec::new();
    for server in SERVERS {
        let folder = shared("wire").join(server);
        let index = fs::read_to_string(folder.join("INDEX.tsv")).unwrap();
        for line in index.lines() {
            let cells: Vec<&str> = line.split('\t').collect();
            let api = Api::ALL
                .into_iter()
                .find(|api| cells[1].strip_prefix("POST ").is_some_and(|path| path == api.path()));
            let Some(api) = api else { continue };
            let response = fs::read(folder.join(format!("{}.http", cells[0]))).unwrap();
            let end = response.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
            let head = str::from_utf8(&response[..end]).unwrap().to_ascii_lowercase();
            let rest = &response[end + 4..];
            captures.push(Capture {
                name: format!("{server}/{}", cells[0]),
                api,
                status: cells[2].parse().unwrap(),
                is_stream: head.contains("\ncontent-type: text/event-stream"),
                body: if head.contains("\ntransfer-encoding: chunked") {
                    unchunk(rest)
                } else {
                    rest.to_vec()
                },
                done: cells.get(6) == Some(&"yes"),
                finish_reason: cells.get(7).filter(|cell| !cell.is_empty()).map(|cell| (*cell).to_owned()),
            });
        }
    }
    captures
}

/// The data of a chunked body, as far as it came.
fn unchunk(mut framed: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = framed.windows(2).position(|window| window == b"\r\n") {
        let length = usize::from_str_radix(str::from_utf8(&framed[..end]).unwrap(), 16).unwrap();
        let data = &framed[end + 2..];
        body.extend_from_slice(&data[..length.min(data.len())]);
        if length == 0 || data.len() < length + 2 {
            break;
        }
        framed = &data[length + 2..];
    }
    body
}

/// Reads a stream in pieces of `size` bytes.
fn read_stream(api: Api, body: &[u8], size: usize) -> Figures {
    let mut parser = Parser::new(api.framing());
    let mut decoder = Decoder::new(api, Some(1 << 20));
    let mut event_tokens = Vec::new();
    let mut take = |event: tonnage::wire::sse::Event<'_>| {
        let step = decoder.event(event);
        if step.is_token_bearing() {
            event_tokens.push(step.tokens());
        }
        ControlFlow::<()>::Continue(())
    };
    body.chunks(size).for_each(|piece| assert!(parser.feed(piece, &mut take).unwrap().is_continue()));
    assert!(parser.finish(&mut take).unwrap().is_continue());
    figures(decoder, event_tokens)
}

fn figures(decoder: Decoder, event_tokens: Vec<Option<u32>>) -> Figures {
    let answer = decoder.into_answer();
    let texts = answer.texts.clone().unwrap();
    Figures {
        outcome: answer.outcome(),
        finish_reason: answer.finish_reason.clone(),
        done: answer.done,
        usage: answer.usage(),
        counted_tokens: answer.counted_tokens(),
        event_tokens,
        answer: texts.answer,
        reasoning: texts.reasoning,
    }
}

/// The last count stated under `"name":` in the text of `body`, by plain search.
fn last_stated(body: &[u8], name: &str) -> Option<u64> {
    let text = String::from_utf8_lossy(body);
    let after = text.rsplit(&format!("\"{name}\":")).next().filter(|after| after.len() < text.len())?;
    let digits: String = after.trim_start().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

#[test]
fn every_answer_has_the_outcome_that_its_server_meant() {
    let captures = captures();
    assert!(captures.len() > 200, "{}", captures.len());
    for capture in captures.iter().filter(|capture| capture.status == 200) {
        let name = &capture.name;
        let figures = if capture.is_stream {
            read_stream(capture.api, &capture.body, capture.body.len())
        } else {
            let mut decoder = Decoder::new(capture.api, Some(1 << 20));
            decoder.document(&capture.body);
            figures(decoder, Vec::new())
        };
        let expected =
            NOT_OK.iter().find(|(other, _)| other == name).map_or(Outcome::Ok, |(_, outcome)| *outcome);
        assert_eq!(figures.outcome, expected, "{name}: {figures:#?}");
        let (prompt, completion) = match capture.api {
            Api::Chat | Api::Completions => ("prompt_tokens", "completion_tokens"),
            Api::LlamaCpp => ("tokens_evaluated", "tokens_predicted"),
            _ => ("input_tokens", "output_tokens"),
        };
        assert_eq!(figures.usage.completion, last_stated(&capture.body, completion), "{name}");
        let stated = last_stated(&capture.body, prompt);
        match capture.api {
            // Beside what the cache gave.
            Api::Messages => assert!(figures.usage.prompt >= stated, "{name}"),
            _ => assert_eq!(figures.usage.prompt, stated, "{name}"),
        }
        if matches!(capture.api, Api::Chat | Api::Completions) {
            assert_eq!(figures.finish_reason, capture.finish_reason, "{name}");
            assert!(!capture.is_stream || figures.done == capture.done, "{name}");
        } else {
            assert_eq!(figures.done, expected == Outcome::Ok, "{name}");
        }
        if let (Some(counted), Some(stated)) = (figures.counted_tokens, figures.usage.completion) {
            assert!(counted <= stated, "{name}: {counted} listed, {stated} stated");
        }
    }
}

#[test]
fn every_stream_gives_the_same_figures_however_it_is_cut() {
    for capture in captures().iter().filter(|capture| capture.is_stream) {
        let whole = read_stream(capture.api, &capture.body, capture.body.len());
        for size in [1, 7, 100] {
            assert_eq!(
                read_stream(capture.api, &capture.body, size),
                whole,
                "{} in pieces of {size}",
                capture.name
            );
        }
    }
}

#[test]
fn every_refusal_has_a_message() {
    let captures = captures();
    let refusals: Vec<_> = captures.iter().filter(|capture| capture.status != 200).collect();
    assert!(refusals.len() > 20, "{}", refusals.len());
    for capture in refusals {
        let message = error_message(&capture.body);
        assert!(message.chars().any(char::is_alphabetic), "{}: {message:?}", capture.name);
        let is_data = message.trim_start().starts_with('{');
        assert!(!is_data, "{}: the message is not found in {message}", capture.name);
    }
}
