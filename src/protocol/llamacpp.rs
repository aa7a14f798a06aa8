//! llama.cpp's own completions: the prompt is the messages' text, as it stands, and every event states the tokens
//! so far.
//!
//! The ids in `tokens` are passed over: a report of the prompt's progress lists one that was never generated.

use super::body::{Asked, Member};
use super::form::{Form, KeyHeader};
use super::json::{Read, Reader};
use super::parts::Parts;
use crate::record::Usage;
use crate::wire::Framing;

pub(super) const FORM: Form = Form {
    name: "llamacpp",
    path: "/completion",
    models_path: "/v1/models",
    framing: Framing::Sse,
    key: KeyHeader::Bearer,
    headers: &[],
    has_exact_length: true,
    takes_ids: true,
    members,
    event: read,
    document: read,
    volatile: &["tokens"],
    own: &[],
    counter: Some("tokens_predicted"),
};

fn members<'a>(asked: &Asked<'a>) -> Vec<(&'static str, Member<'a>)> {
    let mut members = vec![
        asked.model(),
        ("prompt", asked.prompt()),
        ("n_predict", Member::Value(asked.max_tokens.into())),
    ];
    members.extend(asked.ignore_eos());
    members.extend(asked.temperature());
    members.push(asked.stream());
    members
}

fn read<'a>(json: &mut Reader<'a>, parts: &mut Parts<'a>) -> Read<()> {
    let mut usage = Usage::default();
    let mut is_last = false;
    json.object(|json, name| {
        match name {
            "content" => {
                parts.choices = 1;
                parts.read_answer(json)?;
            }
            "stop" => is_last = json.truth()?,
            "stop_type" => parts.read_finish_reason(json)?,
            "tokens_evaluated" => usage.prompt = json.count()?,
            "tokens_predicted" => usage.completion = json.count()?,
            "timings" => json.members(|json, name| {
                match name {
                    "cache_n" => usage.cached = json.count()?,
                    _ => json.skip()?,
                }
                Ok(())
            })?,
            "error" => parts.read_error(json)?,
            _ => json.skip()?,
        }
        Ok(())
    })?;
    parts.close(usage, is_last);
    Ok(())
}
