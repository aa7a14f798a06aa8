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
    for secret in secrets {
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
    let mut suspicious = false;
    let mut begin = 0;
    for line in text.split_inclusive('\n') {
        let range = begin..begin + line.len();
        begin = range.end;
        let words = line.split(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_'));
        if words.clone().any(|word| !word.is_empty() && is_secret_name(word)) || line.contains("://") {
            suspicious = !line.contains("://") || suspicious;
            let value = match line.find('=') {
                // A header in brackets names a table and shows nothing.
                None if line.trim_start().starts_with('[') && line.trim_end().ends_with(']') => continue,
                None => 0,
                Some(at) => at + 1,
            };
            spans.push(range.start + value..range.end);
            continue;
        }
        let first = line.trim_start();
        let known = words.clone().find(|word| !word.is_empty()).is_some_and(is_known_key);
        if first.starts_with('[') || (known && first.contains('=')) {
            suspicious = false;
        } else if suspicious {
            spans.push(range);
        }
    }
    spans
}

fn is_known_key(word: &str) -> bool {
    keys::TABLES.iter().any(|table| table.key(word).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blotting_keeps_offsets_and_line_ends() {
        assert_eq!(blot("a = \"é\nb\" # c", &[(4..10)]), "a = ***\n** # c");
        assert_eq!(blot("é", &[(1..1)]), "é");
        assert_eq!(blot("aé", &[(0..2)]), "***");
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
