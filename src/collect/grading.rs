//! Checking answers beside the run: each against its truth, and each against the first to the same request.

use std::collections::{BTreeMap, VecDeque};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use crate::record::{Grade, Planned};
use crate::score::Rule;

/// Requests whose first answer is remembered; of more, the oldest are forgotten, and counted.
pub(super) const MOST_REMEMBERED: usize = 1 << 18;

/// How the answers of one workload are checked.
pub struct AnswerCheck {
    /// How they are compared with their truths.
    pub rule: Rule,
    /// The truth of a planned request; `None` where it has none that can be used.
    pub truth: Truth,
}

/// Finds the truth of a planned request.
pub type Truth = Box<dyn Fn(&Planned) -> Option<String> + Send>;

impl AnswerCheck {
    /// Grades an answer; `None` where there is no truth to hold it against.
    pub(super) fn grade(&self, planned: &Planned, answer: &str) -> Option<Grade> {
        let truth = if self.rule.ignores_truth() { String::new() } else { (self.truth)(planned)? };
        let check = self.rule.check(answer, &truth);
        let (verdict, rule) = (check.verdict, check.rule.to_owned());
        Some(Grade { verdict, rule, answer: check.answer, truth: check.truth })
    }
}

/// The first answer to each request, by hashes of both.
pub(super) struct FirstAnswers {
    answers: BTreeMap<u64, u64>,
    /// Requests in order of their first answer.
    order: VecDeque<u64>,
    most: usize,
    forgotten: u64,
}

impl FirstAnswers {
    /// Remembers the first answers to at most so many requests.
    pub(super) fn new(most: usize) -> FirstAnswers {
        FirstAnswers { answers: BTreeMap::new(), order: VecDeque::new(), most, forgotten: 0 }
    }

    /// Whether `answer` is the one that the same request got first; `None` if this is the first.
    pub(super) fn compare(&mut self, body_hash: u64, answer: &str) -> Option<bool> {
        let mut hasher = DefaultHasher::new();
        answer.hash(&mut hasher);
        let hash = hasher.finish();
        if let Some(first) = self.answers.get(&body_hash) {
            return Some(*first == hash);
        }
        if self.order.len() == self.most
            && let Some(oldest) = self.order.pop_front()
        {
            self.answers.remove(&oldest);
            self.forgotten += 1;
        }
        self.answers.insert(body_hash, hash);
        self.order.push_back(body_hash);
        None
    }

    /// First answers that were forgotten for want of room.
    pub(super) fn forgotten(&self) -> u64 {
        self.forgotten
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_answer_is_held_against_the_first() {
        let mut first = FirstAnswers::new(MOST_REMEMBERED);
        assert_eq!(first.compare(1, "72"), None);
        assert_eq!(first.compare(2, "72"), None, "another request");
        assert_eq!(first.compare(1, "72"), Some(true));
        assert_eq!(first.compare(1, "73"), Some(false));
        assert_eq!(first.compare(1, "73"), Some(false), "the first one stays the measure");
    }

    #[test]
    fn the_oldest_are_forgotten_and_counted() {
        let mut first = FirstAnswers::new(2);
        for request in 0..5 {
            assert_eq!(first.compare(request, "a"), None);
        }
        assert_eq!((first.answers.len(), first.forgotten()), (2, 3));
        assert_eq!(first.compare(4, "b"), Some(false));
        assert_eq!(first.compare(0, "b"), None, "it was forgotten");
    }
}
