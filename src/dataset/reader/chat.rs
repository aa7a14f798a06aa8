//! Conversations: ShareGPT and its relatives, OpenAI messages, requests of a batch API, lists of questions.

use serde::Deserialize;

use super::{Flexible, json};
use crate::dataset::row::{Row, Turn};
use crate::dataset::scan::SkipReason;
use crate::prompt::{Message, Role};

/// Text as chat APIs take it: as it is, in parts, or none at all beside a call of a tool.
#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
    Nothing(()),
}

#[derive(Deserialize)]
struct Part {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
}

impl Content {
    fn text(self) -> Result<String, SkipReason> {
        match self {
            Content::Text(text) => Ok(text),
            Content::Nothing(()) => Ok(String::new()),
            Content::Parts(parts) => {
                let texts = parts.into_iter().map(|part| match (part.kind.as_str(), part.text) {
                    ("text" | "input_text" | "output_text", Some(text)) => Ok(text),
                    _ => Err(SkipReason::NotText),
                });
                Ok(texts.collect::<Result<Vec<_>, _>>()?.join("\n"))
            }
        }
    }
}

#[derive(Deserialize)]
struct Said {
    role: String,
    content: Content,
}

impl Said {
    fn message(self) -> Result<Message, SkipReason> {
        Ok(Message { role: role(&self.role)?, content: self.content.text()? })
    }
}

fn role(name: &str) -> Result<Role, SkipReason> {
    match name {
        "user" | "human" => Ok(Role::User),
        "assistant" | "gpt" | "chatgpt" | "bing" | "bard" | "model" => Ok(Role::Assistant),
        "system" | "developer" => Ok(Role::System),
        _ => Err(SkipReason::Role),
    }
}

/// One utterance of ShareGPT, in any of its dialects.
#[derive(Deserialize)]
#[serde(untagged)]
enum Utterance {
    From { from: String, value: Content },
    Role(Said),
    Both { human: String, assistant: String },
}

#[derive(Deserialize)]
struct ShareGpt {
    #[serde(alias = "conversation", alias = "items")]
    conversations: Vec<Utterance>,
    system: Option<String>,
}

pub(super) fn sharegpt(text: &str) -> Result<Row, SkipReason> {
    let row: ShareGpt = json(text)?;
    let mut messages = Vec::new();
    let system = row.system.filter(|system| !system.trim().is_empty());
    messages.extend(system.map(|content| Message { role: Role::System, content }));
    for utterance in row.conversations {
        match utterance {
            Utterance::From { from, value } => {
                messages.push(Message { role: role(&from)?, content: value.text()? });
            }
            Utterance::Role(said) => messages.push(said.message()?),
            Utterance::Both { human, assistant } => {
                messages.push(Message::user(human));
                messages.push(Message { role: Role::Assistant, content: assistant });
            }
        }
    }
    Row::conversation(messages).ok_or(SkipReason::NoQuestion)
}

#[derive(Deserialize)]
struct Messages {
    messages: Vec<Said>,
}

pub(super) fn messages(text: &str) -> Result<Row, SkipReason> {
    let said = if text.trim_start().starts_with('[') {
        json::<Vec<Said>>(text)?
    } else {
        json::<Messages>(text)?.messages
    };
    let messages = said.into_iter().map(Said::message).collect::<Result<Vec<_>, _>>()?;
    Row::conversation(messages).ok_or(SkipReason::NoQuestion)
}

/// Whether `text` is one message, and a list of such is a conversation and no list of rows.
pub(in crate::dataset) fn is_message(text: &[u8]) -> bool {
    serde_json::from_slice::<Said>(text).is_ok()
}

#[derive(Deserialize)]
struct Batch {
    body: Body,
}

#[derive(Deserialize)]
struct Body {
    messages: Option<Vec<Said>>,
    prompt: Option<String>,
    max_tokens: Option<Flexible>,
    max_completion_tokens: Option<Flexible>,
}

/// A request as it stands: one turn, whatever was said before in it.
pub(super) fn batch(text: &str) -> Result<Row, SkipReason> {
    let body = json::<Batch>(text)?.body;
    let said = match (body.messages, body.prompt) {
        (Some(messages), _) => messages.into_iter().map(Said::message).collect::<Result<Vec<_>, _>>()?,
        (None, Some(prompt)) => vec![Message::user(prompt)],
        (None, None) => return Err(SkipReason::Fields),
    };
    let is_asked = |message: &Message| message.role == Role::User && !message.content.trim().is_empty();
    if !said.iter().any(is_asked) {
        return Err(SkipReason::NoQuestion);
    }
    let limit = body.max_completion_tokens.or(body.max_tokens);
    let output_tokens = limit.map(Flexible::count).transpose()?;
    Ok(Row { turns: vec![Turn { said, answer: None }], output_tokens, ..Row::default() })
}

#[derive(Deserialize)]
struct Turns {
    #[serde(alias = "document")]
    system: Option<String>,
    turns: Vec<Question>,
}

/// One question, with its answer or without.
#[derive(Deserialize)]
#[serde(untagged)]
enum Question {
    Alone(String),
    Answered { user: String, assistant: Option<String> },
}

pub(super) fn turns(text: &str) -> Result<Row, SkipReason> {
    let mut turns = Vec::new();
    let row: Turns = json(text)?;
    let system = row.system.filter(|system| !system.trim().is_empty());
    for question in row.turns {
        let (asked, answer) = match question {
            Question::Alone(asked) => (asked, None),
            Question::Answered { user, assistant } => (user, assistant),
        };
        if asked.trim().is_empty() {
            return Err(SkipReason::Blank);
        }
        turns.push(Turn { said: vec![Message::user(asked)], answer });
    }
    if turns.is_empty() {
        return Err(SkipReason::NoQuestion);
    }
    Ok(Row { system, turns, ..Row::default() })
}
