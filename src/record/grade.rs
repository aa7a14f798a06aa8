//! What became of answers that were checked.

/// What became of an answer that was checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// It is the truth.
    Right,
    /// It is something else, or more than one thing.
    Wrong,
    /// There is none: nothing marked, an empty mark, a response cut off.
    NoAnswer,
}

impl Verdict {
    /// Every verdict.
    pub const ALL: [Verdict; 3] = [Verdict::Right, Verdict::Wrong, Verdict::NoAnswer];

    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Right => "right",
            Verdict::Wrong => "wrong",
            Verdict::NoAnswer => "no_answer",
        }
    }
}

/// How an answer was graded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grade {
    /// Whether it is the truth.
    pub verdict: Verdict,
    /// The rule that found the answer, or why there is none.
    pub rule: String,
    /// The answer as it stands in the response, bounded.
    pub answer: String,
    /// The truth it was compared with, bounded.
    pub truth: String,
}
