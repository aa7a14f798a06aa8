//! OpenAI's chat completions, as the servers that imitate it send them.
//!
//! Only `choices`, `usage` and `error` matter. All other members are passed over, and none need be there.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, IgnoredAny, SeqAccess, Visitor};
use serde_json::Value;

use super::failure::{bounded, error_message, message_of};
use super::parts::{Meaning, Parts, ToolPiece};
use crate::record::Usage;
use crate::wire::sse::{Event, Field};

/// How much of an event that could not be read is quoted, in characters.
const QUOTE_CHARS: usize = 200;

/// Reads an event of a stream.
pub(super) fn read_event(event: Event<'_>) -> Meaning<'_> {
    let data = event.data.trim_ascii();
    if event.field == Field::Error || event.name == b"error" {
        let text =
            if data.is_empty() { "an error without a message".to_owned() } else { error_message(data) };
        return Meaning::Error(text);
    }
    match data {
        b"" | b"null" => Meaning::Nothing,
        b"[DONE]" => Meaning::Done,
        _ => match read_chunk(data) {
            Ok(chunk) => mean(chunk, data),
            Err(error) => malformed("an event", &error, data),
        },
    }
}

/// Reads a whole answer. Some servers put the end marker of a stream after it.
pub(super) fn read_document(body: &[u8]) -> Meaning<'_> {
    let body = body.trim_ascii();
    let mut documents = serde_json::Deserializer::from_slice(body).into_iter();
    let Some(document) = documents.next() else {
        return Meaning::Malformed("the answer is empty".to_owned());
    };
    let chunk = match expect_object(body).and(document) {
        Ok(chunk) => chunk,
        Err(error) => return malformed("the answer", &error, body),
    };
    let after = body[documents.byte_offset()..].trim_ascii();
    if !matches!(after, b"" | b"data: [DONE]" | b"data:[DONE]") {
        return Meaning::Malformed(format!("bytes after the answer's JSON: {}", quote(after)));
    }
    match mean(chunk, body) {
        Meaning::Parts(parts) if parts.choices > 0 => Meaning::Parts(parts),
        Meaning::Parts(_) | Meaning::Nothing => {
            Meaning::Malformed(format!("the answer has no choices: {}", quote(body)))
        }
        other => other,
    }
}

fn read_chunk(data: &[u8]) -> Result<Chunk<'_>, serde_json::Error> {
    expect_object(data)?;
    // Checking all bytes at once is cheaper than each string apart.
    let text = str::from_utf8(data).map_err(serde_json::Error::custom)?;
    serde_json::from_str(text)
}

/// Refuses what does not begin an object: a derived reader would take a list for one, member by member.
fn expect_object(json: &[u8]) -> Result<(), serde_json::Error> {
    if json.first() == Some(&b'{') { Ok(()) } else { Err(serde_json::Error::custom("expected an object")) }
}

fn malformed<'a>(what: &str, error: &serde_json::Error, data: &[u8]) -> Meaning<'a> {
    Meaning::Malformed(bounded(&format!("{what} cannot be read: {error}: {}", quote(data))))
}

fn quote(data: &[u8]) -> String {
    // Four bytes a character at most, so this much holds them all.
    let start = &data[..data.len().min(4 * QUOTE_CHARS)];
    String::from_utf8_lossy(start).chars().take(QUOTE_CHARS).collect()
}

fn mean<'a>(chunk: Chunk<'a>, data: &[u8]) -> Meaning<'a> {
    // Before the choices: some gateways send an error beside an empty list of them.
    if let Some(error) = chunk.error.filter(says_something) {
        return Meaning::Error(message_of(&error));
    }
    let Choices { first, more } = chunk.choices;
    let Some(first) = first else {
        return match chunk.usage {
            Some(usage) => Meaning::Parts(Parts { usage: Some(usage.into()), ..Parts::default() }),
            None => mean_without_choices(data),
        };
    };
    let mut parts = first.into_parts();
    for choice in more {
        append(&mut parts, choice.into_parts());
    }
    parts.usage = chunk.usage.map(Usage::from);
    Meaning::Parts(parts)
}

/// Whether an `error` member is one: `null`, `false` and `""` are ways to say that there is none.
fn says_something(error: &Value) -> bool {
    !matches!(error, Value::Null | Value::Bool(false)) && error.as_str() != Some("")
}

/// An object without choices, usage and error: perhaps an error in yet another form.
fn mean_without_choices<'a>(data: &[u8]) -> Meaning<'a> {
    let is_error = |value: &Value| {
        value.get("detail").is_some_and(says_something)
            || value.get("object").is_some_and(|kind| kind == "error")
    };
    match serde_json::Deserializer::from_slice(data).into_iter().next() {
        Some(Ok(value)) if is_error(&value) => Meaning::Error(message_of(&value)),
        _ => Meaning::Nothing,
    }
}

/// Joins what a further choice says: alternatives count as one answer.
fn append<'a>(parts: &mut Parts<'a>, other: Parts<'a>) {
    parts.answer += other.answer;
    parts.reasoning += other.reasoning;
    parts.tool_calls.extend(other.tool_calls);
    if !other.finish_reason.is_empty() {
        parts.finish_reason = other.finish_reason;
    }
    parts.tokens = match (parts.tokens, other.tokens) {
        (Some(tokens), Some(more)) => Some(tokens + more),
        (tokens, more) => tokens.or(more),
    };
    parts.choices += other.choices;
}

/// One event, or a whole answer.
#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow, default)]
    choices: Choices<'a>,
    usage: Option<Counts>,
    error: Option<Value>,
}

/// `choices`: one, as a rule, for which no list is allocated.
#[derive(Default)]
struct Choices<'a> {
    first: Option<Choice<'a>>,
    more: Vec<Choice<'a>>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow)]
    delta: Option<Delta<'a>>,
    /// In place of `delta` in a whole answer.
    #[serde(borrow)]
    message: Option<Box<Delta<'a>>>,
    #[serde(borrow, default)]
    finish_reason: Text<'a>,
    token_ids: Option<Length>,
    logprobs: Option<LogProbs>,
}

#[derive(Default, Deserialize)]
struct Delta<'a> {
    #[serde(borrow, default)]
    content: Text<'a>,
    #[serde(borrow, default)]
    reasoning_content: Text<'a>,
    #[serde(borrow, default)]
    reasoning: Text<'a>,
    #[serde(borrow)]
    reasoning_details: Option<Vec<ReasoningDetail<'a>>>,
    #[serde(borrow)]
    tool_calls: Option<Vec<ToolCall<'a>>>,
}

#[derive(Deserialize)]
struct ReasoningDetail<'a> {
    #[serde(borrow, default)]
    text: Text<'a>,
    #[serde(borrow, default)]
    summary: Text<'a>,
}

#[derive(Deserialize)]
struct ToolCall<'a> {
    index: Option<u64>,
    #[serde(borrow)]
    function: Option<Function<'a>>,
}

#[derive(Default, Deserialize)]
struct Function<'a> {
    #[serde(borrow, default)]
    name: Text<'a>,
    #[serde(borrow, default)]
    arguments: Text<'a>,
}

#[derive(Deserialize)]
struct LogProbs {
    content: Option<Length>,
}

#[derive(Deserialize)]
struct Counts {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<PromptDetails>,
    completion_tokens_details: Option<CompletionDetails>,
}

#[derive(Deserialize)]
struct PromptDetails {
    cached_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct CompletionDetails {
    reasoning_tokens: Option<u64>,
}

impl From<Counts> for Usage {
    fn from(counts: Counts) -> Usage {
        Usage {
            prompt: counts.prompt_tokens,
            completion: counts.completion_tokens,
            cached: counts.prompt_tokens_details.and_then(|details| details.cached_tokens),
            reasoning: counts.completion_tokens_details.and_then(|details| details.reasoning_tokens),
        }
    }
}

impl<'a> Choice<'a> {
    fn into_parts(self) -> Parts<'a> {
        let delta = self.delta.or_else(|| self.message.map(|message| *message)).unwrap_or_default();
        let listed = self.logprobs.and_then(|logprobs| logprobs.content);
        let tool_calls = delta.tool_calls.unwrap_or_default();
        Parts {
            answer: delta.content.0,
            reasoning: join_reasoning(delta.reasoning_content, delta.reasoning, delta.reasoning_details),
            tool_calls: (0..).zip(tool_calls).map(|(at, call)| call.into_piece(at)).collect(),
            finish_reason: self.finish_reason.0,
            usage: None,
            tokens: self.token_ids.or(listed).map(|Length(tokens)| tokens),
            choices: 1,
        }
    }
}

impl<'a> ToolCall<'a> {
    /// The piece as the `at`-th of its event, which counts where it has no number.
    fn into_piece(self, at: u64) -> ToolPiece<'a> {
        let function = self.function.unwrap_or_default();
        ToolPiece { index: self.index.unwrap_or(at), name: function.name.0, arguments: function.arguments.0 }
    }
}

/// The same reasoning may stand under several names: the first that has any is taken.
fn join_reasoning<'a>(
    content: Text<'a>,
    plain: Text<'a>,
    details: Option<Vec<ReasoningDetail<'a>>>,
) -> Cow<'a, str> {
    if !content.0.is_empty() {
        return content.0;
    }
    if !plain.0.is_empty() {
        return plain.0;
    }
    let mut joined = Cow::Borrowed("");
    for detail in details.unwrap_or_default() {
        joined += detail.text.0;
        joined += detail.summary.0;
    }
    joined
}

/// A string or null. Borrowed where no escape stands in it, which `Cow` alone would not be.
struct Text<'a>(Cow<'a, str>);

impl Default for Text<'_> {
    fn default() -> Self {
        Text(Cow::Borrowed(""))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Text<'a>, D::Error> {
        struct TextVisitor;

        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or null")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }

            fn visit_unit<E>(self) -> Result<Text<'de>, E> {
                Ok(Text::default())
            }
        }

        deserializer.deserialize_any(TextVisitor)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Choices<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Choices<'a>, D::Error> {
        struct ChoicesVisitor;

        impl<'de> Visitor<'de> for ChoicesVisitor {
            type Value = Choices<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of choices or null")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Choices<'de>, A::Error> {
                let first = list.next_element()?;
                let mut more = Vec::new();
                while let Some(choice) = list.next_element()? {
                    more.push(choice);
                }
                Ok(Choices { first, more })
            }

            fn visit_unit<E>(self) -> Result<Choices<'de>, E> {
                Ok(Choices::default())
            }
        }

        deserializer.deserialize_any(ChoicesVisitor)
    }
}

/// How many members a list has.
struct Length(u64);

impl<'de> Deserialize<'de> for Length {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Length, D::Error> {
        struct LengthVisitor;

        impl<'de> Visitor<'de> for LengthVisitor {
            type Value = Length;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Length, A::Error> {
                let mut length = 0;
                while list.next_element::<IgnoredAny>()?.is_some() {
                    length += 1;
                }
                Ok(Length(length))
            }
        }

        deserializer.deserialize_seq(LengthVisitor)
    }
}
