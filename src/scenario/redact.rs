//! Blots out what must not be shown.

use std::ops::Range;

use super::keys;
use super::secret::is_secret_name;

/// `text` with every byte of `secrets` replaced by `*`, line ends kept, so that all offsets stay.
pub(super) fn blot(text: &str, secrets: &[Range<usize>]) -> String {
    if secrets.is_empty() {
        return text.to_owned();
    }
    let mut bytes = text.as_bytes().to_vec();
    for secret in secrets.iter().filter(|secret| !secret.is_empty()) {
        // A span that splits a character would leave a broken one: the whole of it goes.
        let (start, end) = (text.floor_char_boundary(secret.start), text.ceil_char_boundary(secret.end));
        for byte in bytes[start..end.max(start)].iter_mut().filter(|byte| !matches!(byte, b'\n' | b'\r')) {
            *byte = b'*';
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// What may be secret in a text that cannot be parsed: values on lines that name a secret, and all that follows
/// such a line until another table or a known key begins.
pub(super) fn suspects(text: &str) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    let mut among_secrets = false;
    let mut begin = 0;
    for line in text.split_inclusive('\n') {
        let range = begin..begin + line.len();
        begin = range.end;
        let mut words = line.split(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_'));
        let names_secret = words.any(|word| !word.is_empty() && is_secret_name(word));
        if is_header(line.trim()) {
            among_secrets = names_secret;
            continue;
        }
        let key = line.split_once('=').map(|(key, _)| key).filter(|key| is_plain_key(key.trim()));
        let value = range.start + key.map_or(0, |key| key.len() + 1)..range.end;
        if names_secret {
            among_secrets = true;
            spans.push(value);
        } else if key.is_some_and(|key| is_known_key(key.trim())) {
            among_secrets = false;
            if line.contains("://") {
                spans.push(value);
            }
        } else if among_secrets || line.contains("://") {
            spans.push(range);
        }
    }
    spans
}

/// `[target.headers]`, say.
fn is_header(line: &str) -> bool {
    let inner = line.trim_start_matches('[').trim_end_matches(']');
    line.starts_with('[') && line.ends_with(']') && is_plain_key(inner)
}

fn is_plain_key(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'))
}

fn is_known_key(path: &str) -> bool {
    path.split('.').next().is_some_and(|name| keys::TABLES.iter().any(|table| table.key(name).is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blotting_keeps_offsets_and_line_ends() {
        let blotted = |text, secret: Range<usize>| blot(text, std::slice::from_ref(&secret));
        assert_eq!(blotted("a = \"é\nb\" # c", 4..10), "a = ***\n** # c");
        assert_eq!(blotted("é", 1..1), "é");
        assert_eq!(blotted("aé", 0..2), "***");
    }

    #[test]
    fn in_a_broken_text_secrets_are_hidden_by_the_look_of_their_lines() {
        let text = "[target]\nurl = 'http://u:p@h'\nmodel = \"m\"\nheaders = { a = 'one',\n b = 'two'\n}\nmodel = 3\n\
            [target.headers]\nx = 'three'\n[[phase]]\nduration = 5\napi_key = 'four'\n'five'\n";
        let shown = blot(text, &suspects(text));
        for secret in ["u:p", "one", "two", "three", "four", "five"] {
            assert!(!shown.contains(secret), "{shown}");
        }
        assert!(
            shown.contains("model = \"m\"") && shown.contains("model = 3") && shown.contains("duration = 5")
        );
        assert!(shown.contains("[target.headers]"));
    }
}
