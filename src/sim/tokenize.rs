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
        for word in words(text) {
            ids.push(word_id(word));
        }
    }

    fn count(&self, text: &str) -> u64 {
        words(text).count() as u64
    }
}

/// What white space separates. Nearly all of it is blanks, so blanks part the text first.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(' ').filter(|part| !part.is_empty()).flat_map(str::split_whitespace)
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

    use super::*;

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
