//! The events of a chat stream, as bytes.

use serde_json::{Value, json};

/// The end marker.
pub(crate) const DONE: &str = "data: [DONE]\n\n";

/// An event that only names who speaks.
pub(crate) fn role() -> String {
    delta(&json!({ "role": "assistant", "content": "" }))
}

/// A piece of the answer.
pub(crate) fn content(text: &str) -> String {
    delta(&json!({ "content": text }))
}

/// A piece of the reasoning.
pub(crate) fn reasoning(text: &str) -> String {
    delta(&json!({ "reasoning_content": text }))
}

/// An event with any other delta.
pub(crate) fn delta(delta: &Value) -> String {
    event(&json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] }))
}

/// Why the model stopped.
pub(crate) fn finish(reason: &str) -> String {
    event(&json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] }))
}

/// Token counts on their own.
pub(crate) fn usage(prompt: u64, completion: u64) -> String {
    event(&json!({ "choices": [], "usage": counts(prompt, completion) }))
}

/// The value of a `usage` member.
pub(crate) fn counts(prompt: u64, completion: u64) -> Value {
    json!({
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    })
}

/// An event of this data.
pub(crate) fn event(data: &Value) -> String {
    format!("data: {data}\n\n")
}

/// A whole answer as one document.
pub(crate) fn document(text: &str, prompt: u64, completion: u64) -> String {
    let choice = json!({ "index": 0, "message": { "content": text }, "finish_reason": "stop" });
    json!({ "choices": [choice], "usage": counts(prompt, completion) }).to_string()
}
