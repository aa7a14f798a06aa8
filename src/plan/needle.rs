//! Retrieval prompts: a sentence that matters, hidden in text that does not, and a question about it.
//!
//! The text is our own (`datasets/make-filler.py`): sentences drawn anew for every request, so that no two prompts
//! begin alike. Depth and length are counted in words.

use std::sync::LazyLock;

use super::compose::{Salt, word};
use super::step;
use crate::record::{Needle, Planned};
use crate::scenario::NeedleForm;
use crate::seed::{Seed, Stream};

/// Plain sentences, one a line, none of which can be taken for a needle.
static FILLER: LazyLock<Vec<&str>> =
    LazyLock::new(|| include_str!("../../datasets/filler.txt").lines().collect());

/// What is hidden in one prompt.
struct Hidden {
    name: &'static str,
    number: u64,
}

impl Hidden {
    fn draw(stream: &mut Stream) -> Hidden {
        Hidden { name: word(stream), number: 1_000 + stream.below(9_000_000) }
    }

    fn sentence(&self) -> String {
        format!("The secret number for {} is {}.", self.name, self.number)
    }
}

/// The number hidden in the prompt of a turn of `workload`.
pub fn truth(salt: Salt, workload: &str, turn: &Planned) -> String {
    number(salt, workload, step(turn.session, turn.turn)).to_string()
}

fn number(salt: Salt, workload: &str, request: u64) -> u64 {
    Hidden::draw(&mut stream(salt, workload, request)).number
}

fn stream(salt: Salt, workload: &str, request: u64) -> Stream {
    Seed(salt.0).indexed_stream("needle", workload, request)
}

/// A prompt of the needle's length with the needle at its depth, and `distractors` others that are not asked for.
pub(super) fn text(salt: Salt, workload: &str, request: u64, needle: Needle, distractors: u32) -> String {
    let mut stream = stream(salt, workload, request);
    let hidden = Hidden::draw(&mut stream);
    let taken = NeedleForm::NEEDLE_WORDS * (1 + u64::from(distractors)) + NeedleForm::QUESTION_WORDS;
    let words = u64::from(needle.length_tokens).saturating_sub(taken);
    let mut sentences = filler(&mut stream, words);
    // From the last place to the first, so that one insertion leaves the other places as they are.
    let mut others = Vec::new();
    while others.len() < distractors as usize {
        let other = Hidden::draw(&mut stream);
        if other.name != hidden.name {
            others.push((stream.below(sentences.len() as u64 + 1) as usize, other.sentence()));
        }
    }
    others.push((place(&sentences, needle.depth), hidden.sentence()));
    others.sort_by_key(|(place, _)| std::cmp::Reverse(*place));
    for (place, sentence) in others {
        sentences.insert(place, sentence);
    }
    let question = format!("What is the secret number for {}? Answer with the number alone.", hidden.name);
    format!("{}\n\n{question}", sentences.join(" "))
}

/// Sentences of so many words in all; the last is cut.
fn filler(stream: &mut Stream, mut words: u64) -> Vec<String> {
    let mut sentences = Vec::new();
    while words > 0 {
        let sentence = FILLER[stream.below(FILLER.len() as u64) as usize];
        let kept = sentence.split(' ').take(usize::try_from(words).unwrap_or(usize::MAX));
        let kept = kept.collect::<Vec<_>>();
        words -= kept.len() as u64;
        sentences.push(kept.join(" "));
    }
    sentences
}

/// The gap between two sentences that is nearest to a share of all words.
fn place(sentences: &[String], depth: f64) -> usize {
    let count = |sentence: &String| sentence.split(' ').count();
    let target = depth * sentences.iter().map(count).sum::<usize>() as f64;
    let mut best = (target.abs(), 0);
    let mut before = 0;
    for (index, sentence) in sentences.iter().enumerate() {
        before += count(sentence);
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

    fn find(request: u64, depth: f64, length_tokens: u32, distractors: u32) -> String {
        text(Salt(1), "find", request, Needle { depth, length_tokens }, distractors)
    }

    #[test]
    fn a_prompt_has_its_length_and_the_needle_at_its_depth() {
        for (request, length) in [(0, 60), (1, 500), (2, 20_000)] {
            for depth in [0.0, 0.25, 0.5, 1.0] {
                let text = find(request, depth, length, 2);
                assert_eq!(text.split_whitespace().count(), length as usize);
                let truth = number(Salt(1), "find", request).to_string();
                assert_eq!(text.matches(&format!(" is {truth}.")).count(), 1, "{text}");
                let before = text[..text.find(&truth).unwrap()].split_whitespace().count() as f64;
                let off = (before / f64::from(length) - depth).abs() * f64::from(length);
                assert!(off < 60.0, "{off} words off at {depth} of {length}");
            }
        }
    }

    #[test]
    fn what_is_asked_for_is_named_once_among_distractors() {
        for request in 0..50 {
            let text = find(request, 0.5, 400, 5);
            let (_, question) = text.rsplit_once("What is the secret number for ").unwrap();
            let (name, _) = question.split_once('?').unwrap();
            assert_eq!(text.matches("The secret number for ").count(), 6);
            assert_eq!(text.matches(&format!("The secret number for {name} is ")).count(), 1);
        }
    }

    #[test]
    fn prompts_begin_differently_and_follow_the_salt() {
        let begins = |text: String| text.split(' ').take(16).map(str::to_owned).collect::<Vec<_>>();
        assert_ne!(begins(find(0, 0.5, 500, 0)), begins(find(1, 0.5, 500, 0)));
        assert_eq!(find(3, 0.5, 500, 0), find(3, 0.5, 500, 0));
        assert_ne!(number(Salt(1), "find", 0), number(Salt(2), "find", 0));
    }

    #[test]
    fn the_shortest_prompt_can_be_made_and_the_filler_hides_nothing() {
        let length = NeedleForm::shortest(3) as u32;
        assert_eq!(find(0, 0.5, length, 3).split_whitespace().count(), length as usize);
        let clean = |sentence: &&str| {
            !sentence.contains("secret") && !sentence.contains(|c: char| c.is_ascii_digit())
        };
        assert!(FILLER.len() >= 1_000 && FILLER.iter().all(clean));
    }
}
