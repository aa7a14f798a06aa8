//! OpenAI's responses.
//!
//! An event says its kind in `type`, which may stand after all else. Events named `….delta` carry what is new; the
//! others that bear text repeat it.

use std::borrow::Cow;

use super::body::{Asked, Member};
use super::form::{Form, KeyHeader};
use super::json::{Read, Reader};
use super::parts::{Parts, Place, ToolPiece};
use crate::record::Usage;
use crate::wire::Framing;

pub(super) const FORM: Form = Form {
    name: "responses",
    path: "/v1/responses",
    models_path: "/v1/models",
    framing: Framing::Sse,
    key: KeyHeader::Bearer,
    headers: &[],
    has_exact_length: true,
    takes_ids: false,
    members,
    event: read_event,
    document: read_document,
    volatile: &["sequence_number", "obfuscation"],
    own: &["item_id"],
    counter: None,
};

fn members<'a>(asked: &Asked<'a>) -> Vec<(&'static str, Member<'a>)> {
    let mut members = vec![
        asked.model(),
        ("input", Member::Items(asked.messages)),
        ("max_output_tokens", Member::Value(asked.max_tokens.into())),
    ];
    members.extend(asked.ignore_eos());
    members.extend(asked.temperature());
    members.push(asked.stream());
    members
}

fn read_event<'a>(json: &mut Reader<'a>, parts: &mut Parts<'a>) -> Read<()> {
    let [mut kind, mut delta, mut status] = [const { Cow::Borrowed("") }; 3];
    let mut piece = ToolPiece::default();
    json.object(|json, name| {
        match name {
            "type" => kind = json.string()?,
            "delta" => delta = json.string_or_json()?,
            "output_index" => piece.index = json.count()?.unwrap_or(0),
            "item" => json.members(|json, name| {
                match name {
                    "name" => piece.name = json.string()?,
                    _ => json.skip()?,
                }
                Ok(())
            })?,
            "response" => json.members(|json, name| {
                match name {
                    "status" => status = json.string()?,
                    "output" => json.skip()?,
                    _ => read_outcome(json, name, parts)?,
                }
                Ok(())
            })?,
            "error" => parts.read_error(json)?,
            _ => json.skip()?,
        }
        Ok(())
    })?;
    parts.place = if kind.is_empty() { Place::Foreign } else { Place::Within };
    match &*kind {
        "response.output_text.delta" | "response.refusal.delta" => parts.answer = delta,
        "response.reasoning_text.delta" | "response.reasoning_summary_text.delta" => parts.reasoning = delta,
        "response.function_call_arguments.delta"
        | "response.custom_tool_call_input.delta"
        | "response.mcp_call_arguments.delta" => {
            let (index, arguments) = (piece.index, delta);
            parts.tool_calls.push(ToolPiece { index, arguments, ..ToolPiece::default() });
        }
        "response.output_item.added" if piece.has_text() => parts.tool_calls.push(piece),
        "response.completed" | "response.incomplete" => {
            parts.place = Place::Last;
            if parts.finish_reason.is_empty() {
                parts.finish_reason = status;
            }
            return Ok(());
        }
        "response.failed" | "response.cancelled" | "error" => {
            if !parts.has_error() {
                parts.error = json.text();
            }
            return Ok(());
        }
        _ => return Ok(()),
    }
    parts.choices = 1;
    Ok(())
}

fn read_document<'a>(json: &mut Reader<'a>, parts: &mut Parts<'a>) -> Read<()> {
    let mut status = Cow::Borrowed("");
    json.object(|json, name| {
        match name {
            "output" => {
                (parts.choices, parts.place) = (1, Place::Within);
                let mut index = 0;
                json.elements(|json| {
                    read_item(json, parts, index)?;
                    index += 1;
                    Ok(())
                })?;
            }
            "status" => status = json.string()?,
            _ => read_outcome(json, name, parts)?,
        }
        Ok(())
    })?;
    if parts.finish_reason.is_empty() {
        parts.finish_reason = status;
    }
    Ok(())
}

/// Reads a member that tells how a response ended and what it took.
fn read_outcome<'a>(json: &mut Reader<'a>, name: &str, parts: &mut Parts<'a>) -> Read<()> {
    match name {
        "incomplete_details" => json.members(|json, name| match name {
            "reason" => parts.read_finish_reason(json),
            _ => json.skip(),
        }),
        "usage" => read_usage(json, parts),
        "error" => parts.read_error(json),
        _ => json.skip(),
    }
}

/// Reads an item of a whole response: a message, reasoning or a call.
fn read_item<'a>(json: &mut Reader<'a>, parts: &mut Parts<'a>, index: u64) -> Read<()> {
    let (mut kind, mut text) = (Cow::Borrowed(""), Cow::Borrowed(""));
    let mut piece = ToolPiece { index, ..ToolPiece::default() };
    json.members(|json, name| {
        match name {
            "type" => kind = json.string()?,
            "content" | "summary" => json.elements(|json| {
                json.members(|json, name| {
                    match name {
                        "text" | "refusal" => text += json.string()?,
                        _ => json.skip()?,
                    }
                    Ok(())
                })
            })?,
            "name" => piece.name = json.string()?,
            "arguments" | "input" => piece.arguments = json.string_or_json()?,
            _ => json.skip()?,
        }
        Ok(())
    })?;
    match &*kind {
        "message" => parts.answer += text,
        "reasoning" => parts.reasoning += text,
        _ => parts.tool_calls.extend(Some(piece).filter(ToolPiece::has_text)),
    }
    Ok(())
}

fn read_usage(json: &mut Reader<'_>, parts: &mut Parts<'_>) -> Read<()> {
    json.members(|json, name| read_count(json, name, parts.usage.get_or_insert_default()))
}

fn read_count(json: &mut Reader<'_>, name: &str, usage: &mut Usage) -> Read<()> {
    match name {
        "input_tokens" => usage.prompt = json.count()?,
        "output_tokens" => usage.completion = json.count()?,
        "input_tokens_details" | "output_tokens_details" => {
            json.members(|json, name| read_count(json, name, usage))?;
        }
        "cached_tokens" => usage.cached = json.count()?,
        "reasoning_tokens" => usage.reasoning = json.count()?,
        _ => json.skip()?,
    }
    Ok(())
}
