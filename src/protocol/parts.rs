//! What one event, or one whole document, says, whatever the API.

use std::borrow::Cow;

use super::answer::Generated;
use super::json::{Read, Reader};
use crate::record::Usage;

/// What an event means.
#[derive(Debug)]
pub(super) enum Meaning<'a> {
    /// Part of the answer.
    Parts(Parts<'a>),
    /// The API's end marker.
    Done,
    /// Nothing that counts.
    Nothing,
    /// The server failed, and says why.
    Error(String),
    /// Not what the API calls for, and why not.
    Malformed(String),
}

/// Part of an answer. A text that is absent, null or empty is empty: APIs mean the same by all three.
#[derive(Debug, Default)]
pub(super) struct Parts<'a> {
    /// Text of the answer.
    pub(super) answer: Cow<'a, str>,
    /// Text of the reasoning before it.
    pub(super) reasoning: Cow<'a, str>,
    /// Pieces of tool calls.
    pub(super) tool_calls: Vec<ToolPiece<'a>>,
    /// Why the model stopped; empty while it has not.
    pub(super) finish_reason: Cow<'a, str>,
    /// Token counts so far or in all.
    pub(super) usage: Option<Usage>,
    /// Tokens listed here by id or log probability, where they are listed.
    pub(super) tokens: Option<u64>,
    /// How many alternatives of the answer it speaks of.
    pub(super) choices: usize,
    /// JSON of what stands in the place of an error; empty where nothing does.
    pub(super) error: &'a str,
    /// What it is to its API.
    pub(super) place: Place,
}

/// What an object is to its API.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Place {
    /// Nothing that the API has.
    #[default]
    Foreign,
    /// An event of the API, or an answer.
    Within,
    /// The event that ends an answer.
    Last,
}

/// Piece of a tool call.
#[derive(Debug, Default)]
pub(super) struct ToolPiece<'a> {
    /// Which call it belongs to.
    pub(super) index: u64,
    /// The tool's name.
    pub(super) name: Cow<'a, str>,
    /// Arguments, or the next piece of them.
    pub(super) arguments: Cow<'a, str>,
}

impl ToolPiece<'_> {
    /// Whether it bears a name or arguments.
    pub(super) fn has_text(&self) -> bool {
        !self.name.is_empty() || !self.arguments.is_empty()
    }
}

/// A channel of plain text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Channel {
    Answer,
    Reasoning,
}

impl Channel {
    /// What text of it is.
    pub(super) fn generated(self) -> Generated {
        match self {
            Channel::Answer => Generated::Answer,
            Channel::Reasoning => Generated::Aside,
        }
    }
}

impl<'a> Parts<'a> {
    /// Reads a text of the answer.
    pub(super) fn read_answer(&mut self, json: &mut Reader<'a>) -> Read<()> {
        self.answer += json.string()?;
        Ok(())
    }

    /// Reads a text of the reasoning.
    pub(super) fn read_reasoning(&mut self, json: &mut Reader<'a>) -> Read<()> {
        self.reasoning += json.string()?;
        Ok(())
    }

    /// Reads why the model stopped, if it says so.
    pub(super) fn read_finish_reason(&mut self, json: &mut Reader<'a>) -> Read<()> {
        let reason = json.string()?;
        if !reason.is_empty() {
            self.finish_reason = reason;
        }
        Ok(())
    }

    /// Adds tokens that are listed, if they are.
    pub(super) fn list(&mut self, tokens: Option<u64>) {
        if let Some(tokens) = tokens {
            self.tokens = Some(self.tokens.unwrap_or(0).saturating_add(tokens));
        }
    }

    /// Ends an object of an API that states its counts bare and marks its last event. `usage` is none where it states
    /// no count.
    pub(super) fn close(&mut self, usage: Usage, is_last: bool) {
        self.usage = Some(usage).filter(|usage| *usage != Usage::default());
        self.place = match (is_last, self.choices) {
            (true, _) => Place::Last,
            (false, 1..) => Place::Within,
            (false, 0) => Place::Foreign,
        };
    }

    /// Reads what stands in the place of an error.
    pub(super) fn read_error(&mut self, json: &mut Reader<'a>) -> Read<()> {
        self.error = json.json()?;
        Ok(())
    }

    /// Whether there is an error: `null`, `false` and `""` are ways to say that there is none.
    pub(super) fn has_error(&self) -> bool {
        !matches!(self.error, "" | "null" | "false" | "\"\"")
    }

    /// Whether a tool's name or arguments are among the pieces.
    pub(super) fn has_tool_text(&self) -> bool {
        self.tool_calls.iter().any(ToolPiece::has_text)
    }

    /// The text, if one channel's text, as it stands in the bytes, is all that is said, token counts aside.
    pub(super) fn sole_text(&self) -> Option<(Channel, &'a str)> {
        let says_more = !self.tool_calls.is_empty()
            || !self.finish_reason.is_empty()
            || self.tokens.is_some()
            || self.choices != 1
            || self.place == Place::Last;
        if says_more {
            return None;
        }
        match (&self.answer, &self.reasoning) {
            (Cow::Borrowed(text), other) if !text.is_empty() && other.is_empty() => {
                Some((Channel::Answer, text))
            }
            (other, Cow::Borrowed(text)) if !text.is_empty() && other.is_empty() => {
                Some((Channel::Reasoning, text))
            }
            _ => None,
        }
    }
}
