//! The events of a streamed answer, as bytes.
//!
//! What all events of a stream share is written once; an event then costs a few copies and, for some twenty of them
//! together, one allocation.

use bytes::{Bytes, BytesMut};
use serde_json::{Value, json};

use super::answer::{Channel, Token};
use super::ask::Form;
use super::fault::{ErrorShape, LineEnd, Manner, Role};
use super::request::Finish;

/// Bytes asked of the allocator at once.
const BLOCK: usize = 4096;

/// A comment that means nothing.
const COMMENT: &str = ": still here";

/// Writes the events of one stream.
pub(super) struct Frames {
    form: Form,
    /// `data: {"id":…,"model":…,"choices":[`, and what precedes every event of this stream.
    head: Box<str>,
    /// What begins a line of data.
    data: &'static str,
    line_end: &'static str,
    buffer: BytesMut,
}

/// Tokens of a request as its usage states them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Usage {
    pub(super) prompt_tokens: u64,
    pub(super) completion_tokens: u64,
    /// Prompt tokens that were cached; `None` where nothing is cached.
    pub(super) cached_tokens: Option<u64>,
    /// Tokens of thought among the completion's; `None` where there was no thinking.
    pub(super) reasoning_tokens: Option<u64>,
}

impl Usage {
    /// As a JSON object.
    pub(super) fn to_json(self) -> Value {
        let Usage { prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens } = self;
        let mut usage = json!({
            "prompt_tokens": prompt_tokens,
            "completion_tokens": completion_tokens,
            "total_tokens": prompt_tokens + completion_tokens,
        });
        if let Some(cached_tokens) = cached_tokens {
            usage["prompt_tokens_details"] = json!({ "cached_tokens": cached_tokens });
        }
        if let Some(reasoning_tokens) = reasoning_tokens {
            usage["completion_tokens_details"] = json!({ "reasoning_tokens": reasoning_tokens });
        }
        usage
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

impl Form {
    /// How the ids of its answers begin.
    pub(super) fn id_prefix(self) -> &'static str {
        match self {
            Form::Chat => "chatcmpl",
            Form::Completion => "cmpl",
        }
    }
}

impl Frames {
    /// The events of stream `id`; `model` as a JSON string, `created` in Unix seconds.
    pub(super) fn new(form: Form, id: &str, model: &str, created: u64, manner: &Manner) -> Frames {
        let object = match form {
            Form::Chat => "chat.completion.chunk",
            Form::Completion => "text_completion",
        };
        let line_end = match manner.line_end {
            LineEnd::Lf => "\n",
            LineEnd::CrLf => "\r\n",
            LineEnd::Cr => "\r",
        };
        let data = if manner.no_blank { "data:" } else { "data: " };
        let comment = if manner.comments { format!("{COMMENT}{line_end}{line_end}") } else { String::new() };
        let head = format!(
            r#"{comment}{data}{{"id":"{id}","object":"{object}","created":{created},"model":{model},"choices":["#
        );
        Frames { form, head: head.into(), data, line_end, buffer: BytesMut::new() }
    }

    /// The opening event of a chat: who speaks, and nothing yet.
    pub(super) fn role(&mut self, role: Role) -> Option<Bytes> {
        let content = match role {
            _ if self.form == Form::Completion => return None,
            Role::Absent => return None,
            Role::Proper | Role::Early => r#","content":"""#,
            Role::Null => r#","content":null"#,
            Role::Bare => "",
        };
        let opening = r#"{"index":0,"delta":{"role":"assistant""#;
        Some(self.choice(&[opening, content, r#"},"logprobs":null,"finish_reason":null}]"#], None))
    }

    /// A token.
    pub(super) fn token(&mut self, token: Token<'_>, usage: Option<Usage>) -> Bytes {
        let opening = self.opening(token.channel);
        let blank = if token.blank { " " } else { "" };
        if token.plain {
            return self.choice(&[opening, blank, token.text, self.closing()], usage);
        }
        self.choice(&[opening, blank, &escape(token.text), self.closing()], usage)
    }

    /// Several tokens of one channel in one event.
    pub(super) fn tokens<'a>(
        &mut self,
        tokens: impl Iterator<Item = Token<'a>>,
        usage: Option<Usage>,
    ) -> Bytes {
        let mut text = String::new();
        let mut channel = Channel::Answer;
        for token in tokens {
            channel = token.channel;
            text.push_str(if token.blank { " " } else { "" });
            text.push_str(token.text);
        }
        self.choice(&[self.opening(channel), &escape(&text), self.closing()], usage)
    }

    /// An event without text.
    pub(super) fn empty(&mut self) -> Bytes {
        self.choice(&[self.opening(Channel::Answer), self.closing()], None)
    }

    /// A token whose JSON breaks off.
    pub(super) fn malformed(&mut self, token: Token<'_>) -> Bytes {
        let opening = self.opening(token.channel);
        self.under_head(&[opening, token.text], &[])
    }

    /// The end of the answer.
    pub(super) fn finish(&mut self, finish: Finish, usage: Option<Usage>) -> Bytes {
        let opening = match self.form {
            Form::Chat => r#"{"index":0,"delta":{},"logprobs":null,"finish_reason":""#,
            Form::Completion => r#"{"index":0,"text":"","logprobs":null,"finish_reason":""#,
        };
        self.choice(&[opening, finish.reason(), r#""}]"#], usage)
    }

    /// The count of tokens, with no choice beside it.
    pub(super) fn usage(&mut self, usage: Usage) -> Bytes {
        self.choice(&["]"], Some(usage))
    }

    /// An error in the middle of the stream.
    pub(super) fn error(&mut self, shape: ErrorShape) -> Bytes {
        let detail = json!({
            "message": "The simulated engine failed.", "type": "InternalServerError", "param": null, "code": 500,
        });
        let (data, line_end) = (self.data, self.line_end);
        let text = match shape {
            ErrorShape::Object => format!("{data}{}", json!({ "error": detail })),
            ErrorShape::Text => format!("{data}{}", json!({ "error": detail["message"] })),
            ErrorShape::Choices => format!("{data}{}", json!({ "choices": [], "error": detail })),
            ErrorShape::Event => format!("event: error{line_end}{data}{detail}"),
            ErrorShape::Field => format!("error: {detail}"),
            ErrorShape::Detail => format!("{data}{}", json!({ "detail": detail["message"] })),
        };
        self.event(&[&text])
    }

    /// A comment.
    pub(super) fn comment(&mut self) -> Bytes {
        self.event(&[COMMENT])
    }

    /// The end of the stream.
    pub(super) fn done(&mut self) -> Bytes {
        self.event(&[self.data, "[DONE]"])
    }

    fn opening(&self, channel: Channel) -> &'static str {
        match (self.form, channel) {
            (Form::Chat, Channel::Answer) => r#"{"index":0,"delta":{"content":""#,
            (Form::Chat, Channel::Reasoning) => r#"{"index":0,"delta":{"reasoning_content":""#,
            (Form::Completion, _) => r#"{"index":0,"text":""#,
        }
    }

    fn closing(&self) -> &'static str {
        match self.form {
            Form::Chat => r#""},"logprobs":null,"finish_reason":null}]"#,
            Form::Completion => r#"","logprobs":null,"finish_reason":null}]"#,
        }
    }

    /// An event of a choice, and of the usage so far.
    fn choice(&mut self, pieces: &[&str], usage: Option<Usage>) -> Bytes {
        let usage = usage.map(|usage| format!(r#","usage":{}"#, usage.to_json()));
        self.under_head(pieces, &[usage.as_deref().unwrap_or_default(), "}"])
    }

    fn under_head(&mut self, pieces: &[&str], tail: &[&str]) -> Bytes {
        // An empty box in its place costs nothing.
        let head = std::mem::take(&mut self.head);
        let bytes = self.write(&[&head], pieces, tail);
        self.head = head;
        bytes
    }

    fn event(&mut self, pieces: &[&str]) -> Bytes {
        self.write(&[], pieces, &[])
    }

    fn write(&mut self, head: &[&str], pieces: &[&str], tail: &[&str]) -> Bytes {
        let all = || head.iter().chain(pieces).chain(tail);
        let length = all().map(|piece| piece.len()).sum::<usize>() + 2 * self.line_end.len();
        if self.buffer.capacity() < length {
            self.buffer = BytesMut::with_capacity(BLOCK.max(length));
        }
        for piece in all() {
            self.buffer.extend_from_slice(piece.as_bytes());
        }
        self.buffer.extend_from_slice(self.line_end.as_bytes());
        self.buffer.extend_from_slice(self.line_end.as_bytes());
        self.buffer.split().freeze()
    }
}

/// `text` as it stands within a JSON string.
fn escape(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::answer::Answer;

    fn read(events: &[Bytes]) -> String {
        let text = String::from_utf8(events.concat()).unwrap();
        for event in text.split_terminator("\n\n").filter(|event| !event.ends_with("[DONE]")) {
            serde_json::from_str::<Value>(&event["data: ".len()..]).expect(event);
        }
        text
    }

    fn frames(form: Form) -> Frames {
        Frames::new(form, "id-1", r#""tiny""#, 17, &Manner::default())
    }

    #[test]
    fn events_read_as_an_openai_client_expects_them() {
        let mut frames = frames(Form::Chat);
        let answer = Answer::new(7).thinking(1).saying("a \"b\"");
        let usage = Usage { prompt_tokens: 5, completion_tokens: 2, ..Usage::default() };
        let full = Usage { cached_tokens: Some(0), reasoning_tokens: Some(1), ..usage };
        let events = [
            frames.role(Role::Proper).unwrap(),
            frames.token(answer.token(0), None),
            frames.token(answer.token(1), Some(usage)),
            frames.token(answer.token(2), None),
            frames.tokens((2..4).map(|index| answer.token(index)), None),
            frames.finish(Finish::Length, None),
            frames.usage(full),
            frames.done(),
        ];
        insta::assert_snapshot!(read(&events), @r#"
data: {"id":"id-1","object":"chat.completion.chunk","created":17,"model":"tiny","choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}

data: {"id":"id-1","object":"chat.completion.chunk","created":17,"model":"tiny","choices":[{"index":0,"delta":{"reasoning_content":"depth"},"logprobs":null,"finish_reason":null}]}

data: {"id":"id-1","object":"chat.completion.chunk","created":17,"model":"tiny","choices":[{"index":0,"delta":{"content":"a"},"logprobs":null,"finish_reason":null}],"usage":{"completion_tokens":2,"prompt_tokens":5,"total_tokens":7}}

data: {"id":"id-1","object":"chat.completion.chunk","created":17,"model":"tiny","choices":[{"index":0,"delta":{"content":" \"b\""},"logprobs":null,"finish_reason":null}]}

data: {"id":"id-1","object":"chat.completion.chunk","created":17,"model":"tiny","choices":[{"index":0,"delta":{"content":" \"b\" below"},"logprobs":null,"finish_reason":null}]}

data: {"id":"id-1","object":"chat.completion.chunk","created":17,"model":"tiny","choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"length"}]}

data: {"id":"id-1","object":"chat.completion.chunk","created":17,"model":"tiny","choices":[],"usage":{"completion_tokens":2,"completion_tokens_details":{"reasoning_tokens":1},"prompt_tokens":5,"prompt_tokens_details":{"cached_tokens":0},"total_tokens":7}}

data: [DONE]
"#);
    }

    #[test]
    fn events_of_a_completion_have_text_and_no_role() {
        let mut frames = frames(Form::Completion);
        assert_eq!(frames.role(Role::Proper), None);
        let events =
            [frames.token(Answer::new(7).token(0), None), frames.finish(Finish::Stop, None), frames.done()];
        insta::assert_snapshot!(read(&events), @r#"
data: {"id":"id-1","object":"text_completion","created":17,"model":"tiny","choices":[{"index":0,"text":"depth","logprobs":null,"finish_reason":null}]}

data: {"id":"id-1","object":"text_completion","created":17,"model":"tiny","choices":[{"index":0,"text":"","logprobs":null,"finish_reason":"stop"}]}

data: [DONE]
"#);
    }

    #[test]
    fn a_model_name_longer_than_a_block_is_written_whole() {
        let model = format!("\"{}\"", "m".repeat(3 * BLOCK));
        let mut frames = Frames::new(Form::Chat, "chatcmpl-1", &model, 0, &Manner::default());
        for _ in 0..3 {
            let event = frames.role(Role::Proper).unwrap();
            assert!(event.starts_with(b"data: {") && event.ends_with(b"]}\n\n"));
        }
    }

    #[test]
    fn errors_have_the_shapes_that_servers_were_seen_to_send() {
        let mut frames = frames(Form::Chat);
        let shapes = [
            ErrorShape::Object,
            ErrorShape::Text,
            ErrorShape::Choices,
            ErrorShape::Event,
            ErrorShape::Field,
            ErrorShape::Detail,
        ];
        let events = shapes.map(|shape| frames.error(shape)).concat();
        insta::assert_snapshot!(String::from_utf8(events).unwrap(), @r#"
data: {"error":{"code":500,"message":"The simulated engine failed.","param":null,"type":"InternalServerError"}}

data: {"error":"The simulated engine failed."}

data: {"choices":[],"error":{"code":500,"message":"The simulated engine failed.","param":null,"type":"InternalServerError"}}

event: error
data: {"code":500,"message":"The simulated engine failed.","param":null,"type":"InternalServerError"}

error: {"code":500,"message":"The simulated engine failed.","param":null,"type":"InternalServerError"}

data: {"detail":"The simulated engine failed."}
"#);
    }

    #[test]
    fn lines_end_and_begin_as_the_manner_says() {
        let manner = Manner { line_end: LineEnd::CrLf, no_blank: true, comments: true, ..Manner::default() };
        let mut frames = Frames::new(Form::Completion, "x", "\"m\"", 0, &manner);
        let event = frames.token(Answer::new(7).token(0), None);
        let text = std::str::from_utf8(&event).unwrap();
        assert!(text.starts_with(": still here\r\n\r\ndata:{\"id\""), "{text}");
        assert!(text.ends_with("}\r\n\r\n"), "{text}");
        assert_eq!(&frames.done()[..], b"data:[DONE]\r\n\r\n");
        let manner = Manner { line_end: LineEnd::Cr, ..Manner::default() };
        assert_eq!(&Frames::new(Form::Chat, "x", "\"m\"", 0, &manner).done()[..], b"data: [DONE]\r\r");
    }
}
