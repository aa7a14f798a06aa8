//! Anthropic's messages.
//!
//! An event says its kind in `type`, but what it means shows in its members: text in `delta`, the start of a
//! block in `content_block`, token counts in `usage`. The prompt's cached tokens stand beside `input_tokens` there,
//! not in it.

use std::borrow::Cow;

use super::body::{Asked, Member};
use super::form::{Form, KeyHeader};
use super::json::{Read, Reader};
use super::parts::{Parts, Place, ToolPiece};
use crate::record::Usage;
use crate::wire::Framing;

pub(super) const FORM: Form = Form {
    name: "messages",
    path: "/v1/messages",
    models_path: "/v1/models",
    framing: Framing::Sse,
    key: KeyHeader::XApiKey,
    headers: &[("anthropic-version", "2023-06-01")],
    has_exact_length: false,
    takes_ids: false,
    members,
    event: read_event,
    document: read_document,
    volatile: &[],
    own: &[],
    counter: None,
};

fn members<'a>(asked: &Asked<'a>) -> Vec<(&'static str, Member<'a>)> {
    let (instructions, turns) = asked.split_system();
    let mut members = vec![asked.model()];
    if !instructions.is_empty() {
        members.push(("system", Member::Text(instructions)));
    }
    members.push(("messages", Member::Messages(turns)));
    members.push(("max_tokens", Member::Value(asked.max_tokens.into())));
    members.extend(asked.temperature());
    members.push(asked.stream());
    members
}

fn read_event<'a>(json: &mut Reader<'a>, parts: &mut Parts<'a>) -> Read<()> {
    let mut kind = Cow::Borrowed("");
    let mut piece = ToolPiece::default();
    json.object(|json, name| {
        match name {
            "type" => kind = json.string()?,
            "index" => piece.index = json.count()?.unwrap_or(0),
            "message" => json.members(|json, name| match name {
                "usage" => read_prompt_usage(json, parts),
                _ => json.skip(),
            })?,
            "content_block" => {
                parts.choices = 1;
                read_block(json, parts, &mut piece)?;
                // An empty object, whose text comes in pieces.
                piece.arguments = Cow::Borrowed("");
            }
            "delta" => {
                parts.choices = 1;
                read_delta(json, parts, &mut piece)?;
            }
            "usage" => parts.usage = read_usage(json)?,
            "error" => parts.read_error(json)?,
            _ => json.skip()?,
        }
        Ok(())
    })?;
    parts.tool_calls.extend(Some(piece).filter(ToolPiece::has_text));
    parts.place = match &*kind {
        "message_stop" => Place::Last,
        "" if parts.choices == 0 => Place::Foreign,
        _ => Place::Within,
    };
    Ok(())
}

fn read_delta<'a>(json: &mut Reader<'a>, parts: &mut Parts<'a>, piece: &mut ToolPiece<'a>) -> Read<()> {
    json.members(|json, name| {
        match name {
            "text" => parts.read_answer(json)?,
            "thinking" => parts.read_reasoning(json)?,
            "partial_json" => piece.arguments = json.string()?,
            "stop_reason" => parts.read_finish_reason(json)?,
            _ => json.skip()?,
        }
        Ok(())
    })
}

/// Reads a block of content: text, thinking or the use of a tool.
fn read_block<'a>(json: &mut Reader<'a>, parts: &mut Parts<'a>, piece: &mut ToolPiece<'a>) -> Read<()> {
    json.members(|json, name| {
        match name {
            "text" => parts.read_answer(json)?,
            "thinking" => parts.read_reasoning(json)?,
            "name" => piece.name = json.string()?,
            "input" => piece.arguments = json.string_or_json()?,
            _ => json.skip()?,
        }
        Ok(())
    })
}

fn read_document<'a>(json: &mut Reader<'a>, parts: &mut Parts<'a>) -> Read<()> {
    json.object(|json, name| {
        match name {
            "content" => {
                parts.choices = 1;
                let mut index = 0;
                json.elements(|json| {
                    let mut piece = ToolPiece { index, ..ToolPiece::default() };
                    index += 1;
                    read_block(json, parts, &mut piece)?;
                    parts.tool_calls.extend(Some(piece).filter(ToolPiece::has_text));
                    Ok(())
                })?;
                parts.place = Place::Within;
            }
            "stop_reason" => parts.read_finish_reason(json)?,
            "usage" => parts.usage = read_usage(json)?,
            "error" => parts.read_error(json)?,
            _ => json.skip()?,
        }
        Ok(())
    })
}

/// The counts of a message that begins. Its output tokens are no count of anything yet.
fn read_prompt_usage(json: &mut Reader<'_>, parts: &mut Parts<'_>) -> Read<()> {
    parts.usage = read_usage(json)?.map(|usage| Usage { completion: None, ..usage });
    Ok(())
}

fn read_usage(json: &mut Reader<'_>) -> Read<Option<Usage>> {
    let (mut is_there, mut fresh, mut written, mut usage) = (false, None, None, Usage::default());
    json.members(|json, name| {
        is_there = true;
        match name {
            "input_tokens" => fresh = json.count()?,
            "cache_creation_input_tokens" => written = json.count()?,
            "cache_read_input_tokens" => usage.cached = json.count()?,
            "output_tokens" => usage.completion = json.count()?,
            _ => json.skip()?,
        }
        Ok(())
    })?;
    let beside = written.unwrap_or(0).saturating_add(usage.cached.unwrap_or(0));
    usage.prompt = fresh.map(|tokens: u64| tokens.saturating_add(beside));
    Ok(is_there.then_some(usage))
}
