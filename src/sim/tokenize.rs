//! How the simulated server counts a prompt.

/// Tokens that the chat template adds to each message (its role and its end), whatever the tokenizer.
pub const TEMPLATE_TOKENS_PER_MESSAGE: u64 = 4;

/// Counts the tokens of a text.
pub trait Tokenize: Send + Sync {
    /// Tokens of one message's text, without those of the template.
    fn count(&self, text: &str) -> u64;
}

/// One token for each word, words being what whitespace separates.
#[derive(Clone, Copy, Debug, Default)]
pub struct Words;

impl Tokenize for Words {
    fn count(&self, text: &str) -> u64 {
        text.split_whitespace().count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_a_token_however_it_is_spaced() {
        let counts =
            ["", " \n", "one", "one two", "  one\n\ttwo  three ", "你好 🙂"].map(|text| Words.count(text));
        assert_eq!(counts, [0, 0, 1, 2, 3, 2]);
    }
}
