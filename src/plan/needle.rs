//! Retrieval prompts: sentences that matter, hidden in text that does not, and a question about them.
//!
//! The text is our own (`datasets/make-filler.py`): sentences drawn anew for every request, each of whose words is one
//! token in every common vocabulary. A first sentence of words from the list of made-up prompts brings a prompt to its
//! length, and sets it apart from all others.

use std::sync::{Arc, LazyLock};

use super::compose::{Salt, word};
use super::step;
use crate::dataset::tokenizer::{Specials, Tokenizer};
use crate::prompt::TokenModel;
use crate::record::Planned;
use crate::scenario::NeedleForm;
use crate::seed::{Seed, Stream};

/// Plain sentences, one a line, none of which can be taken for a needle.
static FILLER: LazyLock<Vec<&str>> =
    LazyLock::new(|| include_str!("../../datasets/filler.txt").lines().collect());

/// The sentences counted in words.
static IN_WORDS: LazyLock<Filler> = LazyLock::new(|| Filler::of_words(0));

/// Least words of the first sentence: those that tell requests apart, and one more.
const LEAST_LEAD_WORDS: u64 = 5;

/// The text that needles are hidden in, and how long pieces of it are: in words, or in tokens.
#[derive(Clone)]
pub struct Filler {
    count: Count,
    /// Length of each sentence after another.
    lengths: Arc<[u64]>,
}

#[derive(Clone)]
enum Count {
    /// A word is one, a mark of punctuation so many.
    Words {
        mark_tokens: u64,
    },
    Tokenizer(Arc<Tokenizer>),
}

impl Count {
    /// Length of a piece that follows the end of a sentence after `gap`.
    fn piece(&self, gap: &str, piece: &str) -> u64 {
        match self {
            Count::Words { mark_tokens } => {
                let marks = piece.bytes().filter(u8::is_ascii_punctuation).count() as u64;
                piece.split_whitespace().count() as u64 + marks * mark_tokens
            }
            Count::Tokenizer(tokenizer) => {
                // No valid tokenizer refuses a text.
                let count = |text: &str| tokenizer.count(text, Specials::Without).unwrap_or(0) as u64;
                count(&format!("the.{gap}{piece}")).saturating_sub(count("the."))
            }
        }
    }
}

impl Filler {
    /// Counted in words.
    pub fn in_words() -> Filler {
        IN_WORDS.clone()
    }

    /// Counted as a token for each word and `mark_tokens` for each mark of punctuation.
    pub fn of_words(mark_tokens: u64) -> Filler {
        Filler::new(Count::Words { mark_tokens })
    }

    /// Counted by a tokenizer; `None` where sentences are longer or shorter together than each by itself.
    pub fn counted(tokenizer: Arc<Tokenizer>) -> Option<Filler> {
        let filler = Filler::new(Count::Tokenizer(tokenizer));
        let all = filler.count.piece(" ", &FILLER.join(" "));
        (all == filler.lengths.iter().sum::<u64>()).then_some(filler)
    }

    fn new(count: Count) -> Filler {
        let lengths = FILLER.iter().map(|sentence| count.piece(" ", sentence)).collect();
        Filler { count, lengths }
    }

    /// The shortest prompt that hides so much, without what a template adds.
    pub fn shortest(&self, hay: Hay) -> u64 {
        let widest = Hidden { name: "able", number: 8_765_432 };
        // Numbers of one width may differ in tokens a little.
        let slack = if matches!(self.count, Count::Tokenizer(_)) { 2 } else { 0 };
        let (needles, all) = (u64::from(hay.needles), u64::from(hay.needles + hay.distractors));
        let sentence = self.count.piece(" ", &widest.sentence()) + slack;
        let question = self.count.piece("\n\n", &question(&[widest]));
        all * sentence + needles * question + LEAST_LEAD_WORDS + self.mark()
    }

    /// Length of a full stop.
    fn mark(&self) -> u64 {
        match &self.count {
            Count::Words { mark_tokens } => *mark_tokens,
            Count::Tokenizer(tokenizer) => {
                let count = |text: &str| tokenizer.count(text, Specials::Without).unwrap_or(0) as u64;
                count("the.").saturating_sub(count("the"))
            }
        }
    }
}

/// How much is hidden in a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hay {
    /// Numbers that are asked for, at least one.
    pub needles: u32,
    /// Others of the same form.
    pub distractors: u32,
}

impl From<&NeedleForm> for Hay {
    fn from(form: &NeedleForm) -> Hay {
        Hay { needles: form.needles, distractors: form.distractors }
    }
}

/// What is hidden in one prompt.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Hidden {
    name: &'static str,
    /// Of seven digits, so that it is as many tokens as any other.
    number: u64,
}

impl Hidden {
    fn draw(stream: &mut Stream) -> Hidden {
        Hidden { name: word(stream), number: 1_000_000 + stream.below(9_000_000) }
    }

    fn sentence(&self) -> String {
        format!("The secret number for {} is {}.", self.name, self.number)
    }
}

/// So many of different names.
fn hidden(stream: &mut Stream, needles: u32) -> Vec<Hidden> {
    let mut hidden: Vec<Hidden> = Vec::new();
    while hidden.len() < needles as usize {
        let next = Hidden::draw(stream);
        if hidden.iter().all(|known| known.name != next.name) {
            hidden.push(next);
        }
    }
    hidden
}

fn question(asked: &[Hidden]) -> String {
    let questions = asked.iter().map(|hidden| format!("What is the secret number for {}?", hidden.name));
    let number = if asked.len() > 1 { "numbers" } else { "number" };
    format!("{} Answer with the {number} alone.", questions.collect::<Vec<_>>().join(" "))
}

/// The numbers that the prompt of a turn of `workload` asks for, in order.
pub fn truths(salt: Salt, workload: &str, turn: &Planned, needles: u32) -> Vec<String> {
    let mut stream = stream(salt, workload, step(turn.session, turn.turn));
    hidden(&mut stream, needles).iter().map(|hidden| hidden.number.to_string()).collect()
}

/// The stream that a prompt is drawn from.
pub(super) fn stream(salt: Salt, workload: &str, request: u64) -> Stream {
    Seed(salt.0).indexed_stream("needle", workload, request)
}

/// A prompt that hides something.
pub(super) struct Haystack<'a> {
    pub(super) hay: Hay,
    pub(super) filler: &'a Filler,
    /// Words of its first sentence.
    pub(super) model: &'a TokenModel,
    /// What its first words tell.
    pub(super) number: u64,
    /// Its length, as the filler counts.
    pub(super) length: u64,
    /// How deep the first needle lies, as a share of the text; the others follow at equal distances to its end.
    pub(super) depth: f64,
}

impl Haystack<'_> {
    pub(super) fn text(&self, mut stream: Stream) -> String {
        let asked = hidden(&mut stream, self.hay.needles);
        let mut others = Vec::new();
        while others.len() < self.hay.distractors as usize {
            let other = Hidden::draw(&mut stream);
            if asked.iter().all(|hidden| hidden.name != other.name) {
                others.push(other);
            }
        }
        let question = question(&asked);
        let sentences = asked.iter().chain(&others).map(Hidden::sentence).collect::<Vec<_>>();
        let count = &self.filler.count;
        let taken = sentences.iter().map(|sentence| count.piece(" ", sentence)).sum::<u64>()
            + count.piece("\n\n", &question);
        let mut pieces = self.pieces(self.length.saturating_sub(taken), &mut stream);
        // Where all are told apart first, insertions leave the other places as they are.
        let mut places = Vec::new();
        for (index, sentence) in sentences.into_iter().enumerate() {
            let place = if index < asked.len() {
                let share = index as f64 / asked.len() as f64;
                place(&pieces, self.depth + (1.0 - self.depth) * share)
            } else {
                1 + stream.below(pieces.len() as u64) as usize
            };
            places.push((place, sentence));
        }
        places.sort_by_key(|(place, _)| std::cmp::Reverse(*place));
        for (place, sentence) in places {
            pieces.insert(place, (0, sentence));
        }
        let text = pieces.into_iter().map(|(_, piece)| piece).collect::<Vec<_>>().join(" ");
        format!("{text}\n\n{question}")
    }

    /// Sentences of so much length in all, each with its own. The last makes up what the others leave.
    fn pieces(&self, length: u64, stream: &mut Stream) -> Vec<(u64, String)> {
        let least = LEAST_LEAD_WORDS + self.filler.mark();
        let mut left = length;
        let mut pieces = Vec::new();
        loop {
            let drawn = stream.below(FILLER.len() as u64) as usize;
            let length = self.filler.lengths[drawn];
            if left < least + length {
                break;
            }
            left -= length;
            pieces.push((length, FILLER[drawn].to_owned()));
        }
        // As short as it may be: what is hidden at the beginning lies behind it.
        let mark = self.filler.mark();
        let rest = left.saturating_sub(least);
        let (lead, tail) = if rest > mark { (least, rest) } else { (left.max(least), 0) };
        let mut sentence = |length: u64, number: Option<u64>| {
            let mut text = String::new();
            self.model.extend_by_words(&mut text, length - mark, number, stream);
            text.push('.');
            (length, text)
        };
        pieces.insert(0, sentence(lead, Some(self.number)));
        pieces.extend((tail > 0).then(|| sentence(tail, None)));
        pieces
    }
}

/// The gap after a piece that is nearest to a share of all their length.
fn place(pieces: &[(u64, String)], depth: f64) -> usize {
    let target = depth * pieces.iter().map(|(length, _)| *length).sum::<u64>() as f64;
    let mut best = (f64::INFINITY, 1);
    let mut before = 0;
    for (index, (length, _)) in pieces.iter().enumerate() {
        before += length;
        let distance = (target - before as f64).abs();
        if distance <= best.0 {
            best = (distance, index + 1);
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(request: u64, depth: f64, length: u64, needles: u32, distractors: u32) -> String {
        let (model, filler) = (TokenModel::common(), Filler::in_words());
        let hay = Hay { needles, distractors };
        let stack = Haystack { hay, filler: &filler, model: &model, number: request, length, depth };
        stack.text(stream(Salt(1), "find", request))
    }

    fn numbers(salt: u64, request: u64, needles: u32) -> Vec<String> {
        truths(Salt(salt), "find", &Planned { session: request, ..Planned::default() }, needles)
    }

    #[test]
    fn a_prompt_has_its_length_and_the_needle_at_its_depth() {
        for (request, length) in [(0, 60), (1, 500), (2, 20_000)] {
            for depth in [0.0, 0.25, 0.5, 1.0] {
                let text = find(request, depth, length, 1, 2);
                assert_eq!(text.split_whitespace().count() as u64, length);
                let truth = &numbers(1, request, 1)[0];
                assert_eq!(text.matches(&format!(" is {truth}.")).count(), 1, "{text}");
                let before = text[..text.find(truth).unwrap()].split_whitespace().count() as f64;
                let off = (before / length as f64 - depth).abs() * length as f64;
                assert!(off < 60.0, "{off} words off at {depth} of {length}");
            }
        }
    }

    #[test]
    fn several_needles_lie_at_equal_distances_from_the_first_on_and_all_are_asked_for() {
        for (depth, expected) in [(0.0, [0.0, 0.25, 0.5, 0.75]), (0.6, [0.6, 0.7, 0.8, 0.9])] {
            let text = find(4, depth, 8_000, 4, 3);
            let truths = numbers(1, 4, 4);
            assert_eq!((text.split_whitespace().count(), truths.len()), (8_000, 4));
            for (truth, expected) in truths.iter().zip(expected) {
                let before = text[..text.find(truth).unwrap()].split_whitespace().count() as f64;
                assert!((before / 8_000.0 - expected).abs() < 0.01, "{before} of 8,000, not {expected}");
            }
            assert_eq!(text.matches("What is the secret number for ").count(), 4);
            assert!(text.ends_with("? Answer with the numbers alone."));
            assert_eq!(text.matches("The secret number for ").count(), 7);
        }
    }

    #[test]
    fn what_is_asked_for_is_named_once_among_distractors() {
        for request in 0..50 {
            let text = find(request, 0.5, 400, 1, 5);
            let (_, question) = text.rsplit_once("What is the secret number for ").unwrap();
            let (name, _) = question.split_once('?').unwrap();
            assert_eq!(text.matches("The secret number for ").count(), 6);
            assert_eq!(text.matches(&format!("The secret number for {name} is ")).count(), 1);
        }
    }

    #[test]
    fn prompts_begin_differently_and_follow_the_salt() {
        let begins = (0..500).map(|request| {
            find(request, 0.0, 500, 1, 0).split(' ').take(4).map(str::to_owned).collect::<Vec<_>>()
        });
        assert_eq!(begins.collect::<std::collections::BTreeSet<_>>().len(), 500);
        assert_eq!(find(3, 0.5, 500, 1, 0), find(3, 0.5, 500, 1, 0));
        assert_ne!(numbers(1, 0, 1), numbers(2, 0, 1));
    }

    #[test]
    fn the_shortest_prompt_can_be_made_and_the_filler_hides_nothing() {
        let words = NeedleForm::shortest(2, 3);
        assert_eq!(find(0, 0.5, words, 2, 3).split_whitespace().count() as u64, words);
        let least = Filler::in_words().shortest(Hay { needles: 2, distractors: 3 });
        assert!(least <= words, "{least}");
        assert!(find(0, 0.5, least, 2, 3).split_whitespace().count() as u64 <= least);
        let clean = |sentence: &&str| {
            !sentence.contains("secret") && !sentence.contains(|c: char| c.is_ascii_digit())
        };
        assert!(FILLER.len() >= 1_000 && FILLER.iter().all(clean));
    }

    #[test]
    fn marks_count_where_they_are_tokens() {
        let filler = Filler::of_words(1);
        assert_eq!(filler.count.piece(" ", "Before noon, the cook sang."), 5 + 2);
        assert_eq!(filler.shortest(Hay { needles: 1, distractors: 0 }), 8 + (7 + 1) + (5 + 1) + 6);
    }
}
