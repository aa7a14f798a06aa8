//! Ollama's own API: a line of JSON an event, and counts on the last one.
//!
//! `chat` takes messages, `generate` a text, to which the server applies the model's template unless `raw` is set.

use serde_json::{Map, Value};

use super::body::{Asked, Member};
use super::form::{Form, KeyHeader};
use super::json::{Read, Reader};
use super::parts::{Parts, ToolPiece};
use crate::record::Usage;
use crate::wire::Framing;

pub(super) const CHAT: Form = Form {
    name: "ollama",
    path: "/api/chat",
    models_path: "/api/tags",
    framing: Framing::Ndjson,
    key: KeyHeader::Bearer,
    headers: &[],
    has_exact_length: false,
    takes_ids: false,
    members: |asked| {
        let messages = Member::Messages(asked.messages.iter().collect());
        vec![asked.model(), ("messages", messages), asked.stream(), options(asked)]
    },
    event: read,
    document: read,
    volatile: &["created_at"],
    own: &[],
    counter: None,
};

pub(super) const GENERATE: Form = Form {
    name: "ollama_generate",
    path: "/api/generate",
    members: |asked| {
        let (instructions, turns) = asked.split_system();
        let mut members = vec![asked.model(), ("prompt", Member::Text(asked.text(turns)))];
        if !instructions.is_empty() {
            members.push(("system", Member::Text(instructions)));
        }
        members.extend([asked.stream(), options(asked)]);
        members
    },
    ..CHAT
};

fn options<'a>(asked: &Asked<'a>) -> (&'static str, Member<'a>) {
    let mut options = Map::new();
    options.insert("num_predict".to_owned(), asked.max_tokens.into());
    if let Some(temperature) = asked.options.temperature {
        options.insert("temperature".to_owned(), temperature.into());
    }
    ("options", Member::Value(Value::Object(options)))
}

fn read<'a>(json: &mut Reader<'a>, parts: &mut Parts<'a>) -> Read<()> {
    let mut usage = Usage::default();
    let mut is_done = false;
    json.object(|json, name| {
        match name {
            "message" => {
                parts.choices = 1;
                read_message(json, parts)?;
            }
            "response" => {
                parts.choices = 1;
                parts.read_answer(json)?;
            }
            "thinking" => parts.read_reasoning(json)?,
            "done" => is_done = json.truth()?,
            "done_reason" => parts.read_finish_reason(json)?,
            "prompt_eval_count" => usage.prompt = json.count()?,
            "eval_count" => usage.completion = json.count()?,
            "logprobs" => parts.tokens = json.length()?,
            "error" => parts.read_error(json)?,
            _ => json.skip()?,
        }
        Ok(())
    })?;
    parts.close(usage, is_done);
    Ok(())
}

fn read_message<'a>(json: &mut Reader<'a>, parts: &mut Parts<'a>) -> Read<()> {
    json.members(|json, name| match name {
        "content" => parts.read_answer(json),
        "thinking" => parts.read_reasoning(json),
        "tool_calls" => json.elements(|json| {
            // A call comes whole, in one event, and without a number.
            let mut piece = ToolPiece::default();
            json.members(|json, name| match name {
                "function" => json.members(|json, name| {
                    match name {
                        "index" => piece.index = json.count()?.unwrap_or(0),
                        "name" => piece.name = json.string()?,
                        "arguments" => piece.arguments = json.string_or_json()?,
                        _ => json.skip()?,
                    }
                    Ok(())
                }),
                _ => json.skip(),
            })?;
            parts.tool_calls.push(piece);
            Ok(())
        }),
        _ => json.skip(),
    })
}
