//! From an event, or a whole document, to what it means: all that APIs have in common.

use serde_json::Value;

use super::failure::{bounded, error_message, message_of};
use super::form::{Form, ReadParts};
use super::json::{Fault, Reader};
use super::parts::{Meaning, Parts, Place};
use crate::wire::sse::Event;

/// How much of an event that could not be read is quoted, in characters.
const QUOTE_CHARS: usize = 200;

/// Reads an event of a stream.
pub(super) fn read_event<'a>(form: &Form, event: Event<'a>) -> Meaning<'a> {
    let data = event.data.trim_ascii();
    if event.is_failure() {
        let text =
            if data.is_empty() { "an error without a message".to_owned() } else { error_message(data) };
        return Meaning::Error(text);
    }
    match data {
        b"" | b"null" => return Meaning::Nothing,
        b"[DONE]" => return Meaning::Done,
        _ => {}
    }
    match read(form.event, data) {
        Ok((parts, "")) => mean(parts, data),
        Ok((_, rest)) => {
            malformed("an event", Fault { expected: "the end", at: data.len() - rest.len() }, data)
        }
        Err(fault) => malformed("an event", fault, data),
    }
}

/// Reads a whole answer. Some servers put the end marker of a stream after it.
pub(super) fn read_document<'a>(form: &Form, body: &'a [u8]) -> Meaning<'a> {
    let body = body.trim_ascii();
    if body.is_empty() {
        return Meaning::Malformed("the answer is empty".to_owned());
    }
    let (parts, after) = match read(form.document, body) {
        Ok(read) => read,
        Err(fault) => return malformed("the answer", fault, body),
    };
    if !matches!(after, "" | "data: [DONE]" | "data:[DONE]") {
        return Meaning::Malformed(format!("bytes after the answer's JSON: {}", quote(after.as_bytes())));
    }
    match mean(parts, body) {
        Meaning::Parts(parts) if parts.choices > 0 => Meaning::Parts(parts),
        Meaning::Parts(_) | Meaning::Nothing => {
            Meaning::Malformed(format!("the document holds no answer: {}", quote(body)))
        }
        other => other,
    }
}

/// Reads an object at the front of `data`, and returns what follows it.
fn read(read_parts: ReadParts, data: &[u8]) -> Result<(Parts<'_>, &str), Fault> {
    // Checking all bytes at once is cheaper than each string apart.
    let text = str::from_utf8(data)
        .map_err(|error| Fault { expected: "a character of UTF-8", at: error.valid_up_to() })?;
    let mut json = Reader::new(text);
    let mut parts = Parts::default();
    read_parts(&mut json, &mut parts)?;
    Ok((parts, json.rest().trim_ascii_start()))
}

fn mean<'a>(parts: Parts<'a>, data: &[u8]) -> Meaning<'a> {
    // Whatever stands beside it: some gateways send an error with an empty list of choices.
    if parts.has_error() {
        return Meaning::Error(error_message(parts.error.as_bytes()));
    }
    match parts.place {
        Place::Foreign => mean_foreign(data),
        Place::Within | Place::Last => Meaning::Parts(parts),
    }
}

/// An object that the API does not have: perhaps an error in yet another form.
fn mean_foreign<'a>(data: &[u8]) -> Meaning<'a> {
    let is_error = |value: &Value| {
        let says_something =
            |detail: &Value| !matches!(detail, Value::Null | Value::Bool(false)) && detail != "";
        value.get("detail").is_some_and(says_something)
            || value.get("object").is_some_and(|kind| kind == "error")
    };
    match serde_json::Deserializer::from_slice(data).into_iter().next() {
        Some(Ok(value)) if is_error(&value) => Meaning::Error(message_of(&value)),
        _ => Meaning::Nothing,
    }
}

fn malformed<'a>(what: &str, fault: Fault, data: &[u8]) -> Meaning<'a> {
    Meaning::Malformed(bounded(&format!("{what} cannot be read: {fault}: {}", quote(data))))
}

fn quote(data: &[u8]) -> String {
    // Four bytes a character at most, so this much holds them all.
    let start = &data[..data.len().min(4 * QUOTE_CHARS)];
    String::from_utf8_lossy(start).chars().take(QUOTE_CHARS).collect()
}
