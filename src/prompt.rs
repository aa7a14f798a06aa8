//! What is asked of a model: messages, before any API gives them a form, and the finished request after.

mod token_model;

use bytes::Bytes;

use crate::blocks::KnownPrompt;

pub use token_model::{TokenModel, all_words};

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub content: String,
}

impl Message {
    /// A message of the user.
    pub fn user(content: impl Into<String>) -> Message {
        Message { role: Role::User, content: content.into() }
    }
}

/// Who speaks in a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Instructions before the conversation.
    System,
    /// The one who asks.
    User,
    /// The model.
    Assistant,
}

impl Role {
    /// The name that chat APIs share.
    pub fn name(self) -> &'static str {
        match self {
            Role::System => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
        }
    }
}

/// One request, ready to go.
#[derive(Clone, Debug)]
pub struct Outgoing {
    /// Value of `x-request-id`.
    pub id: String,
    /// Whether a stream is asked for.
    pub stream: bool,
    /// Whether the text of the answer is wanted: the next turn of a conversation carries it.
    pub keep_answer: bool,
    /// Whether the text of the answer is to be checked, or its tokens counted, once it is over.
    pub check_answer: bool,
    /// A hash of the body, where the answer is to be compared with others to the same request.
    pub body_hash: Option<u64>,
    /// What the prompt begins with, where its tokens are known: then the first token is told as soon as it comes.
    pub known: Option<KnownPrompt>,
    /// The body, whole.
    pub body: Bytes,
}
