//! Prompts of a wanted length in tokens.
//!
//! A text decoded from random token ids does not encode to those ids again. So prompts are made of words each of
//! which, with the blank before it, is one token: n words are n tokens, whatever their order, because tokenizers
//! split at blanks before they do anything else. The words of our list are one token each in every common
//! vocabulary; which of them are so in the one at hand is asked for where it can be, and measured where it cannot.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use crate::seed::Stream;

/// Our words. Those that a common tokenizer splits where no blank stands before them are written with a blank.
static LIST: LazyLock<Vec<&str>> = LazyLock::new(|| include_str!("words.txt").lines().collect());

/// Fewest words that prompts are made of: with fewer, blocks of tokens would repeat.
const FEWEST_WORDS: usize = 64;

/// Every word of our list, in alphabetical order.
pub fn all_words() -> impl ExactSizeIterator<Item = &'static str> {
    LIST.iter().map(|word| word.trim_start())
}

/// What texts of a wanted length are made of.
#[derive(Clone, Debug)]
pub struct TokenModel {
    /// Words that are one token with a blank before them.
    words: Arc<[Cow<'static, str>]>,
    /// Words that are one token at the beginning of a text.
    firsts: Arc<[Cow<'static, str>]>,
    /// Tokens of a word; 1 unless measured otherwise.
    tokens_per_word: f64,
}

/// Asked for by every prompt whose model is not measured, and made once.
static COMMON: LazyLock<TokenModel> = LazyLock::new(|| {
    let firsts = LIST.iter().filter(|word| !word.starts_with(' '));
    TokenModel {
        words: all_words().map(Cow::Borrowed).collect(),
        firsts: firsts.copied().map(Cow::Borrowed).collect(),
        tokens_per_word: 1.0,
    }
});

impl TokenModel {
    /// The model of a tokenizer of which nothing is known: every word of our list is one token.
    pub fn common() -> TokenModel {
        COMMON.clone()
    }

    /// Ids of tokens for words, from `least` to `most`, at least one: what an API takes that is given ids.
    pub fn ids(least: u32, most: u32) -> TokenModel {
        let words: Arc<[Cow<'static, str>]> =
            (least..=most.max(least)).map(|id| Cow::Owned(id.to_string())).collect();
        TokenModel { firsts: Arc::clone(&words), words, tokens_per_word: 1.0 }
    }

    /// The model of a tokenizer that can be asked: `count` gives the tokens of a text, without those of a template.
    /// `None` where too few words are one token, or words are joined over blanks.
    pub fn counted(mut count: impl FnMut(&str) -> Option<u64>) -> Option<TokenModel> {
        let (mut words, mut firsts) = (Vec::new(), Vec::new());
        for word in all_words() {
            // The word before it may be one or several tokens: only the difference counts.
            if count(&format!("the {word}"))?.checked_sub(count("the")?) == Some(1) {
                words.push(Cow::Borrowed(word));
            }
            if count(word)? == 1 {
                firsts.push(Cow::Borrowed(word));
            }
        }
        let model = TokenModel { words: words.into(), firsts: firsts.into(), tokens_per_word: 1.0 };
        let is_rich = model.words.len() >= FEWEST_WORDS && model.firsts.len() >= FEWEST_WORDS;
        let first = model.firsts.first()?;
        let text = format!("{first} {}", model.words.join(" "));
        let is_exact = is_rich && count(&text)? == 1 + model.words.len() as u64;
        is_exact.then_some(model)
    }

    /// The same words, of so many tokens each.
    #[must_use]
    pub fn with_tokens_per_word(self, tokens_per_word: f64) -> TokenModel {
        TokenModel { tokens_per_word, ..self }
    }

    /// The same words, of which those begin a text that do so for every common tokenizer.
    #[must_use]
    pub fn begun_as_common(self) -> TokenModel {
        let firsts = TokenModel::common().firsts;
        TokenModel {
            firsts: firsts.iter().filter(|word| self.words.contains(word)).cloned().collect(),
            ..self
        }
    }

    /// Tokens of a word.
    pub fn tokens_per_word(&self) -> f64 {
        self.tokens_per_word
    }

    /// Whether n tokens asked for are n tokens made.
    pub fn is_exact(&self) -> bool {
        self.tokens_per_word == 1.0
    }

    /// Appends a text of `tokens` tokens, at least one word, drawn from `stream`. Texts of different `number` differ
    /// from their first words on: a number is written in words before any are drawn.
    pub fn extend(&self, text: &mut String, tokens: u64, number: Option<u64>, stream: &mut Stream) {
        self.extend_by_words(text, self.words(tokens).max(1), number, stream);
    }

    /// How many words have so many tokens, as nearly as can be.
    pub fn words(&self, tokens: u64) -> u64 {
        if self.is_exact() { tokens } else { (tokens as f64 / self.tokens_per_word).round() as u64 }
    }

    /// Appends a text of `count` words, as [`TokenModel::extend`] does.
    pub fn extend_by_words(&self, text: &mut String, count: u64, number: Option<u64>, stream: &mut Stream) {
        text.reserve(usize::try_from(count).unwrap_or(usize::MAX).saturating_mul(6).min(64 << 20));
        let mut code = number.unwrap_or_default();
        for i in 0..count {
            let list = if text.is_empty() { &self.firsts } else { &self.words };
            let length = list.len() as u64;
            let index = if number.is_some() && i < NUMBER_WORDS {
                let digit = code % length;
                code /= length;
                digit
            } else {
                stream.below(length)
            };
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(&list[index as usize]);
        }
    }
}

/// Words that a number is written in: enough for those of every request of a run, with the few hundred words of the
/// poorest model.
const NUMBER_WORDS: u64 = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::Seed;

    fn text(model: &TokenModel, tokens: u64, number: Option<u64>) -> String {
        let mut text = String::new();
        model.extend(&mut text, tokens, number, &mut Seed(1).stream("words", "w"));
        text
    }

    /// A tokenizer of words, of which those with an `e` are two tokens, and those with a `k` are so at the beginning.
    fn count(text: &str) -> u64 {
        let words = text.split(' ').enumerate();
        words.map(|(at, word)| 1 + u64::from(word.contains('e') || at == 0 && word.contains('k'))).sum()
    }

    #[test]
    fn the_word_list_is_clean() {
        assert!(LIST.len() > 800);
        assert!(
            all_words().all(|word| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase()))
        );
        assert!(all_words().is_sorted());
    }

    #[test]
    fn n_tokens_are_n_words_that_are_one_token_each() {
        let model = TokenModel::counted(|text| Some(count(text))).unwrap();
        assert!(model.is_exact());
        for tokens in [1, 2, 17, 5_000] {
            assert_eq!(count(&text(&model, tokens, Some(8))), tokens);
            assert_eq!(count(&text(&model, tokens, None)), tokens);
        }
        assert!(text(&TokenModel::common(), 500, None).contains('e'));
    }

    #[test]
    fn ids_are_words_too() {
        let model = TokenModel::ids(1_000, 1_099);
        let text = text(&model, 500, Some(7));
        let ids = text.split(' ').map(|id| id.parse::<u32>().unwrap()).collect::<Vec<_>>();
        assert_eq!((ids.len(), ids[0]), (500, 1_007));
        assert!(ids.iter().all(|id| (1_000..1_100).contains(id)));
    }

    #[test]
    fn a_text_goes_on_where_another_ends() {
        let model = TokenModel::counted(|text| Some(count(text))).unwrap();
        let mut whole = text(&model, 10, None);
        let prefix = whole.clone();
        model.extend(&mut whole, 5, Some(3), &mut Seed(2).stream("words", "w"));
        assert!(whole.starts_with(&format!("{prefix} ")));
        assert_eq!(count(&whole), 15);
    }

    #[test]
    fn c100_texts_of_different_numbers_differ_from_their_first_words() {
        let model = TokenModel::common();
        let firsts = (0..500).map(|number| text(&model, 512, Some(number)));
        let firsts = firsts.map(|text| text.split(' ').next().unwrap_or_default().to_owned());
        let distinct = firsts.collect::<std::collections::BTreeSet<_>>();
        assert_eq!(distinct.len(), 500);
        let begins = |number| text(&model, 20, Some(number)).split(' ').take(4).collect::<Vec<_>>().join(" ");
        let (far, further) = (begins(7_000_000_123), begins(7_000_000_123 + 677 * 823));
        assert_ne!(far, further);
    }

    #[test]
    fn words_of_several_tokens_are_taken_in_proportion() {
        let model = TokenModel::common().with_tokens_per_word(1.25);
        assert_eq!(text(&model, 1_000, None).split(' ').count(), 800);
        assert_eq!(text(&model, 0, None).split(' ').count(), 1);
        assert!(!model.is_exact());
    }

    #[test]
    fn a_tokenizer_that_cannot_be_asked_or_knows_no_words_makes_no_model() {
        assert!(TokenModel::counted(|_| None).is_none());
        assert!(TokenModel::counted(|text| Some(text.len() as u64)).is_none());
        // Joins words over blanks.
        assert!(TokenModel::counted(|text| Some(count(text).min(5))).is_none());
    }
}
