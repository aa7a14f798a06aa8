//! Checking answers beside the run: each against its truth, and each against the first to the same request.

use std::collections::{BTreeMap, VecDeque};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use crate::record::{Grade, Planned, Verdict};
use crate::score::{Check, Rule};

/// Requests whose first answer is remembered; of more, the oldest are forgotten, and counted.
pub(super) const MOST_REMEMBERED: usize = 1 << 18;

/// How the answers of one workload are checked.
pub struct AnswerCheck {
    /// How they are compared with their truths.
    pub rule: Rule,
    /// The truths of a planned request, all of which its answer must have; empty where it has none that can be used.
    pub truth: Truth,
}

/// Finds the truths of a planned request.
pub type Truth = Box<dyn Fn(&Planned) -> Vec<String> + Send>;

impl AnswerCheck {
    /// Grades an answer; `None` where there is no truth to hold it against.
    pub(super) fn grade(&self, planned: &Planned, answer: &str) -> Option<Grade> {
        let truths = if self.rule.ignores_truth() { vec![String::new()] } else { (self.truth)(planned) };
        let mut checks: Vec<Check> = truths.iter().map(|truth| self.rule.check(answer, truth)).collect();
        if checks.is_empty() {
            return None;
        }
        // What is said of several is said of the first that the answer lacks, if there is one.
        let place = checks.iter().position(|check| check.verdict != Verdict::Right).unwrap_or(0);
        let all = |part: fn(&Check) -> &str| checks.iter().map(part).collect::<Vec<_>>().join(", ");
        let (truth, found) = (all(|check| &check.truth), all(|check| &check.answer));
        let Check { verdict, rule, answer, .. } = checks.swap_remove(place);
        let answer = if verdict == Verdict::Right { found } else { answer };
        Some(Grade { verdict, rule: rule.to_owned(), answer, truth })
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
    fn an_answer_must_have_every_truth() {
        let rule = Rule::new(crate::score::Kind::Contains).unwrap();
        let check = AnswerCheck { rule, truth: Box::new(|_| vec!["471".to_owned(), "82".to_owned()]) };
        let grade = |answer| check.grade(&Planned::default(), answer).unwrap();
        let right = grade("They are 82 and 471.");
        assert_eq!((right.verdict, &*right.answer, &*right.truth), (Verdict::Right, "471, 82", "471, 82"));
        assert_eq!((grade("471").verdict, grade("82").verdict), (Verdict::Wrong, Verdict::Wrong));
        assert_eq!(grade(" ").verdict, Verdict::NoAnswer);
        let none = AnswerCheck { truth: Box::new(|_| Vec::new()), ..check };
        assert_eq!(none.grade(&Planned::default(), "471"), None);
    }

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
