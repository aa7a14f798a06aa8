//! What OpenAI's chat and text completions share: the frame of their answers and most of a request.
//!
//! Only `choices`, `usage` and `error` matter. All other members are passed over, and none need be there.

use serde_json::json;

use super::body::{Asked, Member};
use super::json::{Read, Reader};
use super::parts::{Parts, Place};
use crate::record::Usage;

/// A member of `usage` that grows beside the counter.
pub(super) const VOLATILE: &[&str] = &["total_tokens"];

/// Members that name a stream: its id, and when it was made.
pub(super) const OWN: &[&str] = &["id", "created"];

/// The member of `usage` that grows, where a server states usage at every event.
pub(super) const COUNTER: &str = "completion_tokens";

/// Reads an event or a document, each of its choices by `choice`. Several choices count as one answer.
pub(super) fn read<'a>(
    json: &mut Reader<'a>,
    parts: &mut Parts<'a>,
    choice: impl Fn(&mut Reader<'a>, &mut Parts<'a>) -> Read<()>,
) -> Read<()> {
    json.object(|json, name| match name {
        "choices" => json.elements(|json| {
            parts.choices += 1;
            choice(json, parts)
        }),
        "usage" => read_usage(json, parts),
        "error" => parts.read_error(json),
        _ => json.skip(),
    })?;
    if parts.choices > 0 || parts.usage.is_some() {
        parts.place = Place::Within;
    }
    Ok(())
}

fn read_usage<'a>(json: &mut Reader<'a>, parts: &mut Parts<'a>) -> Read<()> {
    let mut usage = None;
    json.members(|json, name| {
        let usage = usage.get_or_insert_default();
        read_count(json, name, usage)
    })?;
    parts.usage = usage;
    Ok(())
}

fn read_count(json: &mut Reader<'_>, name: &str, usage: &mut Usage) -> Read<()> {
    match name {
        "prompt_tokens" => usage.prompt = json.count()?,
        "completion_tokens" => usage.completion = json.count()?,
        "prompt_tokens_details" | "completion_tokens_details" => {
            json.members(|json, name| read_count(json, name, usage))?;
        }
        "cached_tokens" => usage.cached = json.count()?,
        "reasoning_tokens" => usage.reasoning = json.count()?,
        _ => json.skip()?,
    }
    Ok(())
}

/// What a request says beside its prompt, whose length limit is named `limit`.
pub(super) fn members_around<'a>(
    asked: &Asked<'a>,
    prompt: (&'static str, Member<'a>),
    limit: &'static str,
) -> Vec<(&'static str, Member<'a>)> {
    let mut members = vec![asked.model(), prompt, (limit, Member::Value(asked.max_tokens.into()))];
    if asked.options.exact {
        // llama.cpp knows the second alone; in vLLM the first holds off other stop tokens and texts too.
        members.push(("min_tokens", Member::Value(asked.max_tokens.into())));
    }
    members.extend(asked.ignore_eos());
    members.extend(asked.temperature());
    members.push(asked.stream());
    if asked.options.stream {
        members.push(("stream_options", Member::Value(json!({ "include_usage": true }))));
    }
    members
}
