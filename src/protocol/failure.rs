//! What servers say when they fail, in every shape they say it.

use serde_json::Value;

/// Longest error text kept, in characters.
pub const ERROR_LIMIT_CHARS: usize = 2_000;

/// The message in an error that a server sent, be it the body of a response or the data of an event.
///
/// Finds `{"error": {"message": …}}`, `{"error": "…"}`, `{"message": …}`, `{"detail": …}` and their mixtures; of
/// JSON without any of those, and of anything that is no JSON, the text itself. At most
/// [`ERROR_LIMIT_CHARS`] characters. It may repeat what the request held: secrets are the caller's to remove.
pub fn error_message(bytes: &[u8]) -> String {
    match serde_json::from_slice::<Value>(bytes) {
        Ok(value) => message_of(&value),
        Err(_) => bounded(String::from_utf8_lossy(bytes).trim()),
    }
}

/// The message in an error value.
pub(super) fn message_of(value: &Value) -> String {
    bounded(find_text(value).unwrap_or(&value.to_string()))
}

/// `text` cut to [`ERROR_LIMIT_CHARS`].
pub(super) fn bounded(text: &str) -> String {
    match text.char_indices().nth(ERROR_LIMIT_CHARS) {
        Some((end, _)) => text[..end].to_owned(),
        None => text.to_owned(),
    }
}

fn find_text(value: &Value) -> Option<&str> {
    match value {
        Value::String(text) => Some(text.as_str()).filter(|text| !text.trim().is_empty()),
        Value::Object(map) => {
            ["message", "error", "detail"].into_iter().find_map(|key| find_text(map.get(key)?))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_found_in_every_shape() {
        for (body, message) in [
            (r#"{"error":{"message":"too long","code":400}}"#, "too long"),
            (r#"{"error":"Unauthorized"}"#, "Unauthorized"),
            (r#"{"error":{"error":{"message":"inner"}}}"#, "inner"),
            (r#"{"detail":"Not Found"}"#, "Not Found"),
            (
                r#"{"detail":[{"loc":["body"],"msg":"missing"}]}"#,
                r#"{"detail":[{"loc":["body"],"msg":"missing"}]}"#,
            ),
            (r#"{"object":"error","message":"overloaded"}"#, "overloaded"),
            (r#"{"message":"","error":"busy"}"#, "busy"),
            (r#"{"error":{"code":500}}"#, r#"{"error":{"code":500}}"#),
            (r#""plain""#, "plain"),
            ("  <h1>502</h1>\n", "<h1>502</h1>"),
            ("", ""),
        ] {
            assert_eq!(error_message(body.as_bytes()), message, "{body}");
        }
        assert_eq!(error_message(b"\xFF!"), "\u{FFFD}!");
    }

    #[test]
    fn messages_are_cut_between_characters() {
        let long = format!(r#"{{"error":"{}"}}"#, "é".repeat(3_000));
        assert_eq!(error_message(long.as_bytes()), "é".repeat(ERROR_LIMIT_CHARS));
    }
}
