//! What the simulated model says: words that follow from the prompt alone, unless it knows better.

use std::rc::Rc;

use super::prefix::{fold, fold_bytes};
use super::tokenize::Tokenize;
use crate::seed::Seed;

/// Every token of an answer is one of these, as long as it has nothing to say; none needs escaping in JSON.
const WORDS: [&str; 64] = [
    "about", "above", "after", "air", "along", "answer", "arrive", "balance", "barge", "bay", "before",
    "below", "bridge", "cargo", "carry", "channel", "clear", "coast", "count", "course", "crane", "day",
    "deck", "depth", "dock", "draft", "each", "fair", "fleet", "freight", "gauge", "harbour", "heavy",
    "hold", "hull", "keel", "lantern", "level", "light", "line", "load", "long", "mark", "measure", "moor",
    "north", "pilot", "port", "quay", "ready", "river", "rope", "sail", "sea", "ship", "slow", "steady",
    "stern", "tide", "tonne", "vessel", "wave", "weight", "wind",
];

/// The ids of [`WORDS`], first in a text and after a blank.
#[derive(Clone, Debug)]
pub(super) struct Vocabulary {
    first: Vec<u32>,
    later: Vec<u32>,
}

impl Vocabulary {
    pub(super) fn new(tokenizer: &dyn Tokenize) -> Vocabulary {
        let first = WORDS.iter().map(|word| piece_id(tokenizer, word)).collect();
        let later = WORDS.iter().map(|word| piece_id(tokenizer, &format!(" {word}"))).collect();
        Vocabulary { first, later }
    }

    /// The words.
    pub(super) fn words() -> impl Iterator<Item = &'static str> {
        WORDS.into_iter()
    }
}

/// The id of a piece of an answer, which is one token here whatever the tokenizer makes of it.
fn piece_id(tokenizer: &dyn Tokenize, piece: &str) -> u32 {
    let mut ids = Vec::with_capacity(1);
    tokenizer.encode(piece, &mut ids);
    match ids[..] {
        [id] => id,
        _ => ids.into_iter().fold(0, |hash, id| fold(hash, u64::from(id))) as u32,
    }
}

/// One answer, as long as it may be: thoughts, if it was asked for them, then text, then words without end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    key: u64,
    thoughts: u64,
    /// What it has to say, in tokens; every token after them is a word.
    said: Rc<[Box<str>]>,
}

/// Where a token belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Channel {
    /// What the model thinks.
    Reasoning,
    /// What it answers.
    Answer,
}

/// One token as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) channel: Channel,
    /// A blank before the text.
    pub(super) blank: bool,
    pub(super) text: &'a str,
    /// The text needs no escaping in JSON.
    pub(super) plain: bool,
}

impl Answer {
    /// The answer to a prompt of this key.
    pub(super) fn new(key: u64) -> Answer {
        Answer { key, thoughts: 0, said: Rc::default() }
    }

    /// Thinks for so many tokens first.
    pub(super) fn thinking(self, tokens: u64) -> Answer {
        Answer { thoughts: tokens, ..self }
    }

    /// Says `text` first. A token is a word with the white space before it.
    pub(super) fn saying(self, text: &str) -> Answer {
        let mut pieces: Vec<Box<str>> = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let blank = rest.len() - rest.trim_start().len();
            let end = rest[blank..].find(char::is_whitespace).map_or(rest.len(), |word| blank + word);
            pieces.push(rest[..end].into());
            rest = &rest[end..];
        }
        Answer { said: pieces.into(), ..self }
    }

    /// Tokens of thought before the answer proper.
    pub(super) fn thoughts(&self) -> u64 {
        self.thoughts
    }

    /// Draws for what becomes of this answer, for one purpose.
    pub(super) fn draw(&self, purpose: &str) -> f64 {
        Seed(self.key).stream(purpose, "").unit()
    }

    /// Tokens after which the answer ends by itself: when all is said, or else uniform over mean ± half of it, at
    /// least 1; thoughts come on top.
    pub(super) fn tokens(&self, mean: u64) -> u64 {
        let own = if self.said.is_empty() {
            let half = mean / 2;
            let more = Seed(self.key).stream("answer length", "").below(2 * half + 1);
            (mean - half).saturating_add(more).max(1)
        } else {
            self.said.len() as u64
        };
        self.thoughts.saturating_add(own)
    }

    /// Token `index`.
    pub(super) fn token(&self, index: u64) -> Token<'_> {
        if index < self.thoughts {
            let text = WORDS[self.word(index)];
            return Token { channel: Channel::Reasoning, blank: index > 0, text, plain: true };
        }
        let place = index - self.thoughts;
        match self.said.get(place as usize) {
            Some(piece) => Token { channel: Channel::Answer, blank: false, text: piece, plain: false },
            None => {
                let text = WORDS[self.word(index)];
                Token { channel: Channel::Answer, blank: place > 0, text, plain: true }
            }
        }
    }

    /// The id of token `index`.
    pub(super) fn token_id(&self, index: u64, vocabulary: &Vocabulary, tokenizer: &dyn Tokenize) -> u32 {
        let place = index.checked_sub(self.thoughts);
        if let Some(piece) = place.and_then(|place| self.said.get(place as usize)) {
            return piece_id(tokenizer, piece);
        }
        let ids = if place.unwrap_or(index) == 0 { &vocabulary.first } else { &vocabulary.later };
        ids[self.word(index)]
    }

    /// The text of one channel among the first `tokens` tokens.
    pub(super) fn text(&self, tokens: u64, channel: Channel) -> String {
        let mut text = String::new();
        for token in (0..tokens).map(|index| self.token(index)).filter(|token| token.channel == channel) {
            text.push_str(if token.blank { " " } else { "" });
            text.push_str(token.text);
        }
        text
    }

    /// Looks for the first of `stops` in the text that `tokens` tokens after more than `min_tokens` make. Where one
    /// is found, the answer ends before it, and with the token that completes it: its number is returned.
    pub(super) fn stop_at(&mut self, stops: &[String], min_tokens: u64, tokens: u64) -> Option<u64> {
        let longest = stops.iter().map(String::len).max()?;
        let mut text = String::new();
        let mut ends = Vec::new();
        for index in self.thoughts..tokens {
            let token = self.token(index);
            text.push_str(if token.blank { " " } else { "" });
            text.push_str(token.text);
            let fresh = ends.last().map_or(0, |end: &usize| end.saturating_sub(longest));
            let fresh = text.floor_char_boundary(fresh);
            ends.push(text.len());
            if index < min_tokens {
                continue;
            }
            let found = stops.iter().filter_map(|stop| text[fresh..].find(stop.as_str())).min();
            if let Some(found) = found {
                self.cut(&text[..fresh + found], &ends);
                return Some(index + 1);
            }
        }
        None
    }

    /// Says `text` alone, in tokens that end at `ends`; those beyond the text are empty.
    fn cut(&mut self, text: &str, ends: &[usize]) {
        let starts = [0].into_iter().chain(ends.iter().copied());
        let pieces =
            starts.zip(ends).map(|(start, end)| text[start.min(text.len())..(*end).min(text.len())].into());
        self.said = pieces.collect();
    }

    /// Which word token `index` is. Any is to be had without those before it: the draws are SplitMix64 (Steele, Lea
    /// and Flood, 2014), whose state is a counter.
    fn word(&self, index: u64) -> usize {
        let mut bits = self.key.wrapping_add((index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
        (bits % WORDS.len() as u64) as usize
    }
}

/// Makes the key of an answer from the pieces of a prompt (roles and texts, in order).
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyMaker(u64);

impl KeyMaker {
    /// Keys of another seed give other answers to the same prompts.
    pub(super) fn new(seed: u64) -> KeyMaker {
        KeyMaker(seed)
    }

    pub(super) fn add(&mut self, piece: &str) {
        self.0 = fold_bytes(self.0, piece.as_bytes());
    }

    pub(super) fn key(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::Words;

    fn to(seed: u64, pieces: &[&str]) -> Answer {
        let mut key = KeyMaker::new(seed);
        pieces.iter().for_each(|piece| key.add(piece));
        Answer::new(key.key())
    }

    fn words(answer: &Answer, tokens: u64) -> String {
        answer.text(tokens, Channel::Answer)
    }

    #[test]
    fn an_answer_follows_from_prompt_and_seed_for_ever() {
        let answer = to(0, &["user", "How heavy is a tonne?"]);
        insta::assert_snapshot!(words(&answer, 8), @"freight deck slow freight harbour deck vessel ready");
        assert_eq!(answer.tokens(100), 125);
        assert_ne!(answer, to(0, &["user", "How heavy is a tonne", "?"]));
        assert_ne!(answer, to(0, &["system", "How heavy is a tonne?"]));
        assert_ne!(answer, to(1, &["user", "How heavy is a tonne?"]));
    }

    #[test]
    fn lengths_lie_around_the_mean() {
        let lengths = (0..4000).map(|key| Answer::new(key).tokens(100)).collect::<Vec<_>>();
        let mean = lengths.iter().sum::<u64>() as f64 / 4000.0;
        assert!(lengths.iter().all(|length| (50..=150).contains(length)));
        assert!((mean - 100.0).abs() < 2.0, "mean {mean}");
        assert!((0..100).all(|key| Answer::new(key).tokens(1) == 1));
        assert!((0..100).all(|key| Answer::new(key).tokens(u64::MAX) > 0));
        assert_eq!(Answer::new(3).thinking(7).tokens(100), 7 + Answer::new(3).tokens(100));
    }

    #[test]
    fn every_word_occurs_and_each_is_one_plain_word() {
        let text = words(&to(0, &["user", "x"]), 2000);
        assert_eq!(text.split_whitespace().count(), 2000);
        for word in WORDS {
            assert!(word.bytes().all(|byte| byte.is_ascii_lowercase()));
            assert!(text.contains(word), "{word}");
        }
    }

    #[test]
    fn what_is_said_comes_whole_with_its_white_space_and_then_words() {
        let said = "48 / 2 = 24.\n\n#### 72";
        let answer = Answer::new(7).saying(said);
        assert_eq!(answer.tokens(100), 7);
        assert_eq!(words(&answer, 7), said);
        assert_eq!(words(&answer, 4), "48 / 2 =");
        assert_eq!(words(&answer, 9).split_whitespace().count(), 9);
        assert!(words(&answer, 9).starts_with(said));
        assert_eq!(Answer::new(7).saying("").tokens(100), Answer::new(7).tokens(100));
    }

    #[test]
    fn thoughts_come_first_on_a_channel_of_their_own() {
        let answer = Answer::new(7).saying("It is 4.").thinking(3);
        assert_eq!(answer.text(5, Channel::Reasoning).split(' ').count(), 3);
        assert_eq!(answer.text(5, Channel::Answer), "It is");
        assert_eq!(answer.text(2, Channel::Answer), "");
        assert!(!answer.token(0).blank && answer.token(1).blank);
        assert_eq!(answer.tokens(100), 6);
    }

    #[test]
    fn the_ids_of_an_answer_are_those_of_its_text() {
        let vocabulary = Vocabulary::new(&Words);
        let answer = Answer::new(7).saying("One two.\nThree");
        let ids = (0..20).map(|index| answer.token_id(index, &vocabulary, &Words)).collect::<Vec<_>>();
        let mut expected = Vec::new();
        Words.encode(&words(&answer, 20), &mut expected);
        assert_eq!(ids, expected);
    }

    #[test]
    fn an_answer_ends_before_the_first_stop_and_with_the_token_that_completes_it() {
        let stop = |stops: &[&str], min_tokens, tokens| {
            let stops = stops.iter().map(|stop| (*stop).to_owned()).collect::<Vec<_>>();
            let mut answer = Answer::new(7).saying("one two, three four five");
            let end = answer.stop_at(&stops, min_tokens, tokens);
            (end, words(&answer, end.unwrap_or(tokens)))
        };
        assert_eq!(stop(&[","], 0, 5), (Some(2), "one two".to_owned()));
        assert_eq!(stop(&["hree fo", "zzz"], 0, 5), (Some(4), "one two, t".to_owned()));
        assert_eq!(stop(&["five", "two"], 0, 5), (Some(2), "one ".to_owned()));
        assert_eq!(stop(&["o"], 2, 5), (Some(4), "one two, three f".to_owned()), "not among the first two");
        assert_eq!(stop(&["six"], 0, 5), (None, "one two, three four five".to_owned()));
        assert_eq!(stop(&["four"], 0, 3), (None, "one two, three".to_owned()));
        assert_eq!(stop(&["one"], 0, 5), (Some(1), String::new()));
    }
}
