//! What one event, or one whole document, says, whatever the API.

use std::borrow::Cow;

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
}

/// Piece of a tool call.
#[derive(Debug)]
pub(super) struct ToolPiece<'a> {
    /// Which call it belongs to.
    pub(super) index: u64,
    /// The tool's name.
    pub(super) name: Cow<'a, str>,
    /// Arguments, or the next piece of them.
    pub(super) arguments: Cow<'a, str>,
}

/// A channel of plain text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Channel {
    Answer,
    Reasoning,
}

impl<'a> Parts<'a> {
    /// Whether a tool's name or arguments are among the pieces.
    pub(super) fn has_tool_text(&self) -> bool {
        self.tool_calls.iter().any(|piece| !piece.name.is_empty() || !piece.arguments.is_empty())
    }

    /// The text, if one channel's text, as it stands in the bytes, is all that is said.
    pub(super) fn sole_text(&self) -> Option<(Channel, &'a str)> {
        let says_more = !self.tool_calls.is_empty()
            || !self.finish_reason.is_empty()
            || self.usage.is_some()
            || self.tokens.is_some()
            || self.choices != 1;
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
