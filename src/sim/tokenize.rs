//! How the simulated server turns text into tokens.

use super::prefix::fold_bytes;

/// Tokens that the chat template adds to each message, whatever the tokenizer.
///
/// They follow the message's text (who spoke, and that he has ended), so that a prompt and its answer are together
/// the beginning of the conversation's next prompt, as they are with the templates of real models.
pub const TEMPLATE_TOKENS_PER_MESSAGE: u64 = 4;

/// Turns text into tokens and back.
pub trait Tokenize: Send + Sync {
    /// Appends the ids of the tokens of `text` to `ids`. Equal texts have equal ids.
    fn encode(&self, text: &str, ids: &mut Vec<u32>);

    /// Tokens of one text, without those of a template.
    fn count(&self, text: &str) -> u64 {
        let mut ids = Vec::new();
        self.encode(text, &mut ids);
        ids.len() as u64
    }

    /// The text of `ids`; `None` where the tokenizer cannot go back from ids to text.
    fn decode(&self, _ids: &[u32]) -> Option<String> {
        None
    }
}

/// One token for each word, words being what whitespace separates. A token's id is a hash of its word.
#[derive(Clone, Copy, Debug, Default)]
pub struct Words;

impl Tokenize for Words {
    fn encode(&self, text: &str, ids: &mut Vec<u32>) {
        each_word(text, |word| ids.push(word_id(word)));
    }

    fn count(&self, text: &str) -> u64 {
        let mut count = 0;
        each_word(text, |_| count += 1);
        count
    }
}

/// Hands over what white space separates. Prompts are long and most of them ASCII, where a byte tells.
fn each_word<'a>(text: &'a str, mut take: impl FnMut(&'a str)) {
    if !text.is_ascii() {
        text.split_whitespace().for_each(take);
        return;
    }
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t'..=b'\r');
    let bytes = text.as_bytes();
    let mut start = 0;
    while let Some(blanks) = bytes[start..].iter().position(|byte| !is_space(byte)) {
        start += blanks;
        let end = bytes[start..].iter().position(is_space).map_or(bytes.len(), |length| start + length);
        take(&text[start..end]);
        start = end;
    }
}

/// The id of a word, the same for ever.
pub(super) fn word_id(word: &str) -> u32 {
    (fold_bytes(0, word.as_bytes()) >> 32) as u32
}

/// The ids of the template's tokens after a message of `role`.
pub(super) fn template_ids(role: &str) -> [u32; TEMPLATE_TOKENS_PER_MESSAGE as usize] {
    let role = word_id(role);
    [u32::MAX, role, u32::MAX - 1, u32::MAX - 2]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn words_are_what_white_space_separates(text in r"[ \t\n\x0b\x0c\r\x1c\x1fa-c]*|\PC*|[ \u{85}\u{a0}\u{2003}ab]*") {
            let mut words = Vec::new();
            each_word(&text, |word| words.push(word));
            prop_assert_eq!(words, text.split_whitespace().collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_word_is_a_token_however_it_is_spaced() {
        let counts = ["", " \n", "one", "one two", "  one\n\ttwo  three ", "你好 🙂", "a\u{3000}b\u{b}c"]
            .map(|text| Words.count(text));
        assert_eq!(counts, [0, 0, 1, 2, 3, 2, 3]);
        let ids = |text: &str| {
            let mut ids = Vec::new();
            Words.encode(text, &mut ids);
            ids
        };
        assert_eq!(ids("one two"), ids("\tone\n\n  two "));
        assert_ne!(ids("one two"), ids("two one"));
        assert_eq!(ids("a a b").len(), 3);
    }

    #[test]
    fn words_have_ids_of_their_own_for_ever() {
        assert_eq!([word_id("a"), word_id("lantern"), word_id("")], [176_002_925, 1_259_306_151, 0]);
        let words = (0..20_000).map(|i| format!("w{i}")).collect::<Vec<_>>();
        let ids = words.iter().map(|word| word_id(word)).collect::<BTreeSet<_>>();
        assert!(ids.len() > 19_990, "{} of 20,000 ids differ", ids.len());
        assert_ne!(word_id("a"), word_id("a\0"));
    }
}
