//! APIs of language-model servers: what a request says and what an answer means.
//!
//! One file per API turns an event into a common form. A [`Decoder`] reads
//! one answer: each event gives a small [`Step`] for the caller to stamp, and folds into the [`Answer`], which
//! knows how the request ended as far as the bytes tell. Time is the caller's.

mod answer;
mod body;
mod chat;
mod completions;
mod decoder;
mod failure;
mod form;
mod json;
mod llamacpp;
mod messages;
mod models;
mod ollama;
mod openai;
mod parts;
mod plain;
mod reading;
mod responses;
mod template;

pub use answer::{Answer, Failure, Generated, Texts, ToolCall};
pub use body::{BodyOptions, ChatLimit};
pub use decoder::{Decoder, Step};
pub use failure::{ERROR_LIMIT_CHARS, error_message};
pub use models::{model_names, version};
pub use plain::Plain;
pub use template::Layouts;

use crate::wire::Framing;
use form::{Form, KeyHeader};

/// An API that a target speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    /// OpenAI's chat completions.
    Chat,
    /// OpenAI's text completions.
    Completions,
    /// OpenAI's responses.
    Responses,
    /// Anthropic's messages.
    Messages,
    /// Ollama's chat.
    Ollama,
    /// Ollama's completion of a text.
    OllamaGenerate,
    /// llama.cpp's own completions.
    LlamaCpp,
}

impl Api {
    /// Every API.
    pub const ALL: [Api; 7] = [
        Api::Chat,
        Api::Completions,
        Api::Responses,
        Api::Messages,
        Api::Ollama,
        Api::OllamaGenerate,
        Api::LlamaCpp,
    ];

    /// The value of `target.api`.
    pub fn name(self) -> &'static str {
        self.form().name
    }

    /// Where requests go, below the target's URL.
    pub fn path(self) -> &'static str {
        self.form().path
    }

    /// Where servers of this API list their models, below the target's URL; [`model_names`] reads the list.
    pub fn models_path(self) -> &'static str {
        self.form().models_path
    }

    /// How streams are cut into events.
    pub fn framing(self) -> Framing {
        self.form().framing
    }

    /// Headers that every request bears unless the user sets them: lower-case names and values.
    pub fn headers(self) -> &'static [(&'static str, &'static str)] {
        self.form().headers
    }

    /// The header that shows `key`: lower-case name and value.
    pub fn key_header(self, key: &str) -> (&'static str, String) {
        match self.form().key {
            KeyHeader::Bearer => ("authorization", format!("Bearer {key}")),
            KeyHeader::XApiKey => ("x-api-key", key.to_owned()),
        }
    }

    /// Whether [`BodyOptions::exact`] has a way to be asked for. Servers may ignore it all the same.
    pub fn has_exact_length(self) -> bool {
        self.form().has_exact_length
    }

    /// Whether a prompt may be a list of token ids.
    pub fn takes_ids(self) -> bool {
        self.form().takes_ids
    }

    fn form(self) -> &'static Form {
        match self {
            Api::Chat => &chat::FORM,
            Api::Completions => &completions::FORM,
            Api::Responses => &responses::FORM,
            Api::Messages => &messages::FORM,
            Api::Ollama => &ollama::CHAT,
            Api::OllamaGenerate => &ollama::GENERATE,
            Api::LlamaCpp => &llamacpp::FORM,
        }
    }
}
