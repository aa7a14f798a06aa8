//! APIs of language-model servers: what a request says and what an answer means.
//!
//! One file per API turns an event into a common form. A [`Decoder`] reads
//! one answer: each event gives a small [`Step`] for the caller to stamp, and folds into the [`Answer`], which
//! knows how the request ended as far as the bytes tell. Time is the caller's.

mod answer;
mod body;
mod chat;
mod decoder;
mod failure;
mod parts;
mod template;

pub use answer::{Answer, Failure, Generated, Texts, ToolCall};
pub use body::BodyOptions;
pub use decoder::{Decoder, Step};
pub use failure::{ERROR_LIMIT_CHARS, error_message};

/// An API that a target speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    /// OpenAI's chat completions.
    Chat,
}

impl Api {
    /// Every API.
    pub const ALL: [Api; 1] = [Api::Chat];

    /// The value of `target.api`.
    pub fn name(self) -> &'static str {
        match self {
            Api::Chat => "chat",
        }
    }

    /// Where requests go, below the target's URL.
    pub fn path(self) -> &'static str {
        match self {
            Api::Chat => "/v1/chat/completions",
        }
    }
}
