//! The events of a streamed answer, as bytes.
//!
//! What all events of a stream share is written once; an event then costs three copies and, for some twenty
//! of them together, one allocation.

use bytes::{Bytes, BytesMut};
use serde_json::{Value, json};

use super::answer::Answer;
use super::request::Finish;

/// Bytes asked of the allocator at once.
const BLOCK: usize = 4096;

/// Writes the events of one stream.
pub(super) struct Frames {
    /// `data: {"id":…,"model":…,"choices":[`
    head: Box<str>,
    buffer: BytesMut,
}

/// Tokens of a request as its usage states them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Usage {
    pub(super) prompt_tokens: u64,
    pub(super) completion_tokens: u64,
}

impl Usage {
    /// As a JSON object.
    pub(super) fn to_json(self) -> Value {
        let Usage { prompt_tokens, completion_tokens } = self;
        json!({
            "prompt_tokens": prompt_tokens,
            "completion_tokens": completion_tokens,
            "total_tokens": prompt_tokens + completion_tokens,
        })
    }
}

impl Finish {
    /// As `finish_reason` says it.
    pub(super) fn reason(self) -> &'static str {
        match self {
            Finish::Stop => "stop",
            Finish::Length => "length",
        }
    }
}

impl Frames {
    /// The events of stream `id`; `model` as a JSON string, `created` in Unix seconds.
    pub(super) fn new(id: &str, model: &str, created: u64) -> Frames {
        let head = format!(
            r#"data: {{"id":"{id}","object":"chat.completion.chunk","created":{created},"model":{model},"choices":["#
        );
        Frames { head: head.into(), buffer: BytesMut::new() }
    }

    /// The opening event: who speaks, and nothing yet.
    pub(super) fn role(&mut self) -> Bytes {
        self.event(&[
            r#"{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}"#,
        ])
    }

    /// Token `index` of `answer`.
    pub(super) fn token(&mut self, answer: Answer, index: u64) -> Bytes {
        let opening = if index == 0 {
            r#"{"index":0,"delta":{"content":""#
        } else {
            r#"{"index":0,"delta":{"content":" "#
        };
        self.event(&[opening, answer.word(index), r#""},"logprobs":null,"finish_reason":null}]}"#])
    }

    /// The end of the answer.
    pub(super) fn finish(&mut self, finish: Finish) -> Bytes {
        self.event(&[
            r#"{"index":0,"delta":{},"logprobs":null,"finish_reason":""#,
            finish.reason(),
            r#""}]}"#,
        ])
    }

    /// The count of tokens, with no choice beside it.
    pub(super) fn usage(&mut self, usage: Usage) -> Bytes {
        self.event(&[r#"],"usage":"#, &usage.to_json().to_string(), "}"])
    }

    /// The end of the stream.
    pub(super) fn done() -> Bytes {
        Bytes::from_static(b"data: [DONE]\n\n")
    }

    fn event(&mut self, pieces: &[&str]) -> Bytes {
        let length = self.head.len() + pieces.iter().map(|piece| piece.len()).sum::<usize>() + 2;
        if self.buffer.capacity() < length {
            self.buffer = BytesMut::with_capacity(BLOCK.max(length));
        }
        self.buffer.extend_from_slice(self.head.as_bytes());
        for piece in pieces {
            self.buffer.extend_from_slice(piece.as_bytes());
        }
        self.buffer.extend_from_slice(b"\n\n");
        self.buffer.split().freeze()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_read_as_an_openai_client_expects_them() {
        let mut frames = Frames::new("chatcmpl-1", r#""tiny""#, 17);
        let answer = Answer::to(["user", "hello"]);
        let usage = Usage { prompt_tokens: 5, completion_tokens: 2 };
        let events = [
            frames.role(),
            frames.token(answer, 0),
            frames.token(answer, 1),
            frames.finish(Finish::Length),
            frames.usage(usage),
            Frames::done(),
        ];
        let text = String::from_utf8(events.concat()).unwrap();
        insta::assert_snapshot!(text, @r##"
data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":17,"model":"tiny","choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":17,"model":"tiny","choices":[{"index":0,"delta":{"content":"sail"},"logprobs":null,"finish_reason":null}]}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":17,"model":"tiny","choices":[{"index":0,"delta":{"content":" air"},"logprobs":null,"finish_reason":null}]}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":17,"model":"tiny","choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"length"}]}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":17,"model":"tiny","choices":[],"usage":{"completion_tokens":2,"prompt_tokens":5,"total_tokens":7}}

data: [DONE]
"##);
        for event in text.split_terminator("\n\n").filter(|event| !event.ends_with("[DONE]")) {
            serde_json::from_str::<Value>(&event["data: ".len()..]).unwrap();
        }
    }

    #[test]
    fn a_model_name_longer_than_a_block_is_written_whole() {
        let model = format!("\"{}\"", "m".repeat(3 * BLOCK));
        let mut frames = Frames::new("chatcmpl-1", &model, 0);
        for _ in 0..3 {
            let event = frames.role();
            assert!(event.starts_with(b"data: {") && event.ends_with(b"]}\n\n"));
        }
    }
}
