//! OpenAI's text completions: the prompt is the messages' text, as it stands.

use super::body::{Asked, Member};
use super::form::{Form, KeyHeader};
use super::json::{Read, Reader};
use super::openai;
use super::parts::Parts;
use crate::wire::Framing;

pub(super) const FORM: Form = Form {
    name: "completions",
    path: "/v1/completions",
    models_path: "/v1/models",
    framing: Framing::Sse,
    key: KeyHeader::Bearer,
    headers: &[],
    has_exact_length: true,
    takes_ids: true,
    members,
    event: |json, parts| openai::read(json, parts, read_choice),
    document: |json, parts| openai::read(json, parts, read_choice),
    volatile: openai::VOLATILE,
    own: openai::OWN,
    counter: Some(openai::COUNTER),
};

fn members<'a>(asked: &Asked<'a>) -> Vec<(&'static str, Member<'a>)> {
    openai::members_around(asked, ("prompt", asked.prompt()), "max_tokens")
}

fn read_choice<'a>(json: &mut Reader<'a>, parts: &mut Parts<'a>) -> Read<()> {
    let (mut ids, mut log_probabilities) = (None, None);
    json.members(|json, name| {
        match name {
            "text" => parts.read_answer(json)?,
            "finish_reason" => parts.read_finish_reason(json)?,
            "token_ids" => ids = json.length()?,
            "logprobs" => json.members(|json, name| {
                match name {
                    // `content` in llama.cpp.
                    "tokens" | "content" => log_probabilities = json.length()?,
                    _ => json.skip()?,
                }
                Ok(())
            })?,
            _ => json.skip()?,
        }
        Ok(())
    })?;
    parts.list(ids.or(log_probabilities));
    Ok(())
}
