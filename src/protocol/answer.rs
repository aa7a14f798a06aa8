//! What an answer came to, once its events are folded.

use crate::record::{Outcome, Usage};

/// Longest finish reason kept, in characters.
const FINISH_REASON_LIMIT_CHARS: usize = 100;

/// What is known of one answer so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Whether the API's end marker came.
    pub done: bool,
    /// Why the model stopped; `None` while it has not said so.
    pub finish_reason: Option<String>,
    /// The first failure that showed in the bytes.
    pub failure: Option<Failure>,
    /// The most that any event carried.
    pub generated: Generated,
    /// What was said, if it was to be kept.
    pub texts: Option<Texts>,
    usage: Usage,
    listed_tokens: u64,
    /// Text came that was not listed token by token.
    has_unlisted_text: bool,
}

/// A failure inside the bytes of an answer, and its text, of at most [`super::ERROR_LIMIT_CHARS`] characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The server reported an error.
    Error(String),
    /// An event was not what the API calls for.
    Malformed(String),
}

impl Failure {
    /// The server's message, or what was wrong.
    pub fn text(&self) -> &str {
        match self {
            Failure::Error(text) | Failure::Malformed(text) => text,
        }
    }
}

/// Generated text that an event carries, in order of what it means for a reader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Generated {
    /// None.
    #[default]
    Nothing,
    /// Reasoning or a tool call only.
    Aside,
    /// Text of the answer, perhaps beside the other two.
    Answer,
}

/// What was said, channel by channel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Texts {
    /// The answer.
    pub answer: String,
    /// The reasoning before it.
    pub reasoning: String,
    /// Tool calls in order of their first piece.
    pub tool_calls: Vec<ToolCall>,
    /// Whether something was left out for want of room.
    pub cut: bool,
    room_bytes: usize,
}

/// A call that the model wants made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolCall {
    /// Its number in the answer, as the server gave it.
    pub index: u64,
    /// The tool's name.
    pub name: String,
    /// Arguments as the model wrote them: JSON, if it did well.
    pub arguments: String,
}

impl Answer {
    /// An answer before its first event, with room for its texts if they are to be kept.
    pub(super) fn keeping(texts: Option<Texts>) -> Answer {
        Answer { texts, ..Answer::default() }
    }

    /// Token counts as the server stated them, the most complete of each. A count of zero output tokens beside
    /// text is not believed and left out.
    pub fn usage(&self) -> Usage {
        let Usage { prompt, completion, cached, reasoning } = self.usage;
        let is_blank =
            [prompt, completion, cached, reasoning].into_iter().flatten().all(|tokens| tokens == 0);
        if is_blank && self.generated != Generated::Nothing {
            // A server that counts nothing says so in zeros.
            return Usage::default();
        }
        let is_believed = |tokens: &u64| *tokens > 0 || self.generated == Generated::Nothing;
        Usage { completion: completion.filter(is_believed), ..self.usage }
    }

    /// Output tokens counted from ids or log probabilities; `None` unless every event with text listed them.
    pub fn counted_tokens(&self) -> Option<u64> {
        (self.listed_tokens > 0 && !self.has_unlisted_text).then_some(self.listed_tokens)
    }

    /// Whether the server has said that the answer is over: a finish reason or the API's end marker.
    pub fn is_terminal(&self) -> bool {
        self.done || self.finish_reason.is_some()
    }

    /// Whether at least one token was generated, by text, list or usage.
    pub fn has_tokens(&self) -> bool {
        let stated = self.usage.completion.is_some_and(|tokens| tokens > 0);
        self.generated != Generated::Nothing || self.listed_tokens > 0 || stated
    }

    /// How a request with status 2xx and this answer ended, if the connection brought the answer to its end.
    pub fn outcome(&self) -> Outcome {
        match self.failure {
            Some(Failure::Error(_)) => Outcome::StreamError,
            Some(Failure::Malformed(_)) => Outcome::Malformed,
            None if !self.is_terminal() => Outcome::Truncated,
            None if !self.has_tokens() => Outcome::Empty,
            None => Outcome::Ok,
        }
    }

    pub(super) fn fail(&mut self, failure: Failure) {
        self.failure.get_or_insert(failure);
    }

    pub(super) fn finish(&mut self, reason: &str) {
        self.finish_reason = Some(reason.chars().take(FINISH_REASON_LIMIT_CHARS).collect());
    }

    /// Notes that an event carried `generated`, listed as so many tokens.
    pub(super) fn note(&mut self, generated: Generated, listed: Option<u64>) {
        self.generated = self.generated.max(generated);
        self.has_unlisted_text |= generated != Generated::Nothing && listed.is_none();
        self.listed_tokens = self.listed_tokens.saturating_add(listed.unwrap_or(0));
    }

    pub(super) fn state(&mut self, usage: Usage) {
        let known = &mut self.usage;
        // A message that begins may tell more of its prompt than one that ends.
        known.prompt = known.prompt.max(usage.prompt);
        known.completion = later(known.completion, usage.completion);
        known.cached = later(known.cached, usage.cached);
        known.reasoning = later(known.reasoning, usage.reasoning);
    }
}

/// The later of two statements, unless it says less: some servers end with a usage of zeros.
fn later(known: Option<u64>, stated: Option<u64>) -> Option<u64> {
    stated.filter(|count| *count > 0).or(known).or(stated)
}

impl Texts {
    /// Empty texts that will take `limit_bytes` in all.
    pub(super) fn with_room(limit_bytes: usize) -> Texts {
        Texts { room_bytes: limit_bytes, ..Texts::default() }
    }

    pub(super) fn push_answer(&mut self, text: &str) {
        self.cut |= push_bounded(&mut self.answer, text, &mut self.room_bytes);
    }

    pub(super) fn push_reasoning(&mut self, text: &str) {
        self.cut |= push_bounded(&mut self.reasoning, text, &mut self.room_bytes);
    }

    pub(super) fn push_tool_call(&mut self, index: u64, name: &str, arguments: &str) {
        let Some(at) = self.find_tool_call(index) else {
            self.cut = true;
            return;
        };
        let call = &mut self.tool_calls[at];
        self.cut |= push_bounded(&mut call.name, name, &mut self.room_bytes);
        self.cut |= push_bounded(&mut call.arguments, arguments, &mut self.room_bytes);
    }

    /// Position of a tool call, begun if it is new and there is room.
    fn find_tool_call(&mut self, index: u64) -> Option<usize> {
        if let Some(at) = self.tool_calls.iter().rposition(|call| call.index == index) {
            return Some(at);
        }
        self.room_bytes = self.room_bytes.checked_sub(size_of::<ToolCall>())?;
        self.tool_calls.push(ToolCall { index, ..ToolCall::default() });
        Some(self.tool_calls.len() - 1)
    }
}

/// Appends as much of `text` as there is room for; whether something was left out.
fn push_bounded(kept: &mut String, text: &str, room_bytes: &mut usize) -> bool {
    let end = text.floor_char_boundary(*room_bytes);
    kept.push_str(&text[..end]);
    *room_bytes -= end;
    end < text.len()
}
