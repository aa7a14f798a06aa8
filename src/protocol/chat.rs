//! OpenAI's chat completions, as the servers that imitate it send them.

use std::borrow::Cow;

use super::body::{Asked, Member};
use super::form::{Form, KeyHeader};
use super::json::{Read, Reader};
use super::openai;
use super::parts::{Parts, ToolPiece};
use crate::wire::Framing;

pub(super) const FORM: Form = Form {
    name: "chat",
    path: "/v1/chat/completions",
    models_path: "/v1/models",
    framing: Framing::Sse,
    key: KeyHeader::Bearer,
    headers: &[],
    has_exact_length: true,
    takes_ids: false,
    members,
    event: |json, parts| openai::read(json, parts, |json, parts| read_choice(json, parts, "delta")),
    document: |json, parts| openai::read(json, parts, |json, parts| read_choice(json, parts, "message")),
    volatile: openai::VOLATILE,
    own: openai::OWN,
    counter: Some(openai::COUNTER),
};

fn members<'a>(asked: &Asked<'a>) -> Vec<(&'static str, Member<'a>)> {
    let prompt = ("messages", Member::Messages(asked.messages.iter().collect()));
    openai::members_around(asked, prompt, asked.options.chat_limit.name())
}

/// Reads a choice, whose text stands in `message` or, in an event, in `delta`. Some servers send both in events,
/// the message so far beside what is new.
fn read_choice<'a>(json: &mut Reader<'a>, parts: &mut Parts<'a>, place: &str) -> Read<()> {
    let (mut ids, mut log_probabilities) = (None, None);
    json.members(|json, name| {
        match name {
            "finish_reason" => parts.read_finish_reason(json)?,
            "token_ids" => ids = json.length()?,
            "logprobs" => json.members(|json, name| {
                match name {
                    "content" => log_probabilities = json.length()?,
                    _ => json.skip()?,
                }
                Ok(())
            })?,
            _ if name == place => read_message(json, parts)?,
            _ => json.skip()?,
        }
        Ok(())
    })?;
    parts.list(ids.or(log_probabilities));
    Ok(())
}

fn read_message<'a>(json: &mut Reader<'a>, parts: &mut Parts<'a>) -> Read<()> {
    let [mut content, mut plain, mut details] = [const { Cow::Borrowed("") }; 3];
    json.members(|json, name| {
        match name {
            "content" => parts.read_answer(json)?,
            "reasoning_content" => content = json.string()?,
            "reasoning" => plain = json.string()?,
            "reasoning_details" => json.elements(|json| {
                json.members(|json, name| {
                    match name {
                        "text" | "summary" => details += json.string()?,
                        _ => json.skip()?,
                    }
                    Ok(())
                })
            })?,
            "tool_calls" => read_tool_calls(json, parts)?,
            _ => json.skip()?,
        }
        Ok(())
    })?;
    // The same reasoning may stand under several names: the first that has any is taken.
    let told = [content, plain, details].into_iter().find(|text| !text.is_empty());
    parts.reasoning += told.unwrap_or_default();
    Ok(())
}

fn read_tool_calls<'a>(json: &mut Reader<'a>, parts: &mut Parts<'a>) -> Read<()> {
    let mut at = 0;
    json.elements(|json| {
        // Its place in the list counts where it has no number.
        let mut piece = ToolPiece { index: at, ..ToolPiece::default() };
        at += 1;
        json.members(|json, name| {
            match name {
                "index" => piece.index = json.count()?.unwrap_or(piece.index),
                "function" => json.members(|json, name| {
                    match name {
                        "name" => piece.name = json.string()?,
                        "arguments" => piece.arguments = json.string()?,
                        _ => json.skip()?,
                    }
                    Ok(())
                })?,
                _ => json.skip()?,
            }
            Ok(())
        })?;
        parts.tool_calls.push(piece);
        Ok(())
    })
}
