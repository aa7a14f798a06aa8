//! Whether a model's answer is right.
//!
//! [`Rule::check`] takes a whole response and the truth of its data set, finds the answer in both by the same rules,
//! and compares: numbers as exact rationals, mathematics by form and value, letters, or text. It is pure, never
//! panics, and ends soon whatever the response is. `docs/scoring.md` has the rules.
//!
//! ```
//! use tonnage::score::{Kind, Rule, Verdict};
//!
//! let rule = Rule::new(Kind::Math)?;
//! let check = rule.check(r"So it is $\boxed{\dfrac{4}{6}}$.", r"\frac{2}{3}");
//! assert_eq!(check.verdict, Verdict::Right);
//! assert_eq!((check.rule, check.answer.as_str()), ("box", r"\dfrac{4}{6}"));
//! # Ok::<(), tonnage::score::RuleError>(())
//! ```

mod choice;
mod clean;
mod explain;
mod extract;
mod marks;
mod math;
mod number;
mod phrase;
mod tally;
mod work;

#[cfg(test)]
mod tests;

use std::fmt;

use num_traits::Signed as _;
use regex::{Regex, RegexBuilder};

pub use crate::record::Verdict;
pub use tally::{Accuracy, Tally};

use extract::{Extracted, Fired, Role, Value, extract};
use work::{MAX_ANSWER, Work};

/// What kind of answer is expected, and how it is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A number, as in GSM8K.
    Gsm8k,
    /// A formula, number, set or word, as in MATH.
    Math,
    /// A letter.
    Choice {
        /// The last letter there is, after `A`.
        last: char,
    },
    /// The whole response.
    Exact,
    /// The truth somewhere in the response, whatever its case.
    Contains,
    /// What a pattern finds. With a capture group (named `answer`, or the first) the captured text has to equal the
    /// truth; without one the pattern is the test, and the truth is not looked at.
    Regex {
        /// The pattern, in the syntax of the `regex` crate.
        pattern: String,
    },
}

impl Kind {
    /// The names of all kinds.
    pub const NAMES: [&'static str; 6] = ["gsm8k", "math", "choice", "exact", "contains", "regex"];

    /// Letters `A` to `J`.
    pub const CHOICE: Kind = Kind::Choice { last: 'J' };

    /// The kind of a name, with its defaults; `None` for an unknown name and for `regex`, which has no default.
    pub fn named(name: &str) -> Option<Kind> {
        Some(match name {
            "gsm8k" => Kind::Gsm8k,
            "math" => Kind::Math,
            "choice" => Kind::CHOICE,
            "exact" => Kind::Exact,
            "contains" => Kind::Contains,
            _ => return None,
        })
    }

    /// Its name in scenarios and files.
    pub fn name(&self) -> &'static str {
        match self {
            Kind::Gsm8k => "gsm8k",
            Kind::Math => "math",
            Kind::Choice { .. } => "choice",
            Kind::Exact => "exact",
            Kind::Contains => "contains",
            Kind::Regex { .. } => "regex",
        }
    }
}

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// The verdict.
    pub verdict: Verdict,
    /// The rule that found the answer (`box`, `hashes`, `phrase`, …) or why there is none (`open_box`, …).
    pub rule: &'static str,
    /// The answer as it stands in the response, at most 4 KiB of it; empty where there is none.
    pub answer: String,
    /// The truth it was compared with, at most 4 KiB of it; empty where there is none to compare with.
    pub truth: String,
}

/// How answers are checked.
#[derive(Clone, Debug)]
pub struct Rule {
    kind: Kind,
    marked_only: bool,
    tolerance: f64,
    pattern: Option<Regex>,
}

/// A pattern follows from its kind.
impl PartialEq for Rule {
    fn eq(&self, other: &Rule) -> bool {
        (&self.kind, self.marked_only, self.tolerance) == (&other.kind, other.marked_only, other.tolerance)
    }
}

/// A rule that cannot be.
#[derive(Clone, Debug, PartialEq)]
pub enum RuleError {
    /// The last letter is not `B` to `Z`.
    Letters(char),
    /// The pattern is empty, or the reason why it is none.
    Pattern(String),
    /// The tolerance is not a number from 0 to below 1.
    Tolerance(f64),
}

impl fmt::Display for RuleError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RuleError::Letters(last) => {
                write!(out, "the last letter of a choice is `B` to `Z`, not `{last}`")
            }
            RuleError::Pattern(reason) => write!(out, "the pattern cannot be used: {reason}"),
            RuleError::Tolerance(share) => {
                write!(out, "a tolerance is a share of the truth, 0 or more and below 1, not {share}")
            }
        }
    }
}

impl std::error::Error for RuleError {}

impl Rule {
    /// The largest compiled pattern, in bytes.
    const MAX_PATTERN: usize = 1 << 20;

    /// A rule for answers of `kind`, compared exactly.
    ///
    /// # Errors
    /// When the letters or the pattern are impossible.
    pub fn new(kind: Kind) -> Result<Rule, RuleError> {
        let pattern = match &kind {
            Kind::Choice { last } if !('B'..='Z').contains(last) => return Err(RuleError::Letters(*last)),
            Kind::Regex { pattern } if pattern.is_empty() => {
                return Err(RuleError::Pattern("it is empty".to_owned()));
            }
            Kind::Regex { pattern } => {
                let built = RegexBuilder::new(pattern).size_limit(Rule::MAX_PATTERN).build();
                Some(built.map_err(|error| RuleError::Pattern(error.to_string()))?)
            }
            _ => None,
        };
        Ok(Rule { kind, marked_only: false, tolerance: 0.0, pattern })
    }

    /// The same, counting only answers in a final mark: a box, `####`, or `<answer>` tags. Applies to the kinds `gsm8k`,
    /// `math` and `choice`.
    #[must_use]
    pub fn marked_only(self) -> Rule {
        Rule { marked_only: true, ..self }
    }

    /// The same, with numbers allowed to differ from the truth by a share of it. Applies to the kinds `gsm8k` and
    /// `math`.
    ///
    /// # Errors
    /// When the share is not a number from 0 to below 1.
    pub fn tolerance(self, share: f64) -> Result<Rule, RuleError> {
        if !(0.0..1.0).contains(&share) {
            return Err(RuleError::Tolerance(share));
        }
        Ok(Rule { tolerance: share, ..self })
    }

    /// The kind of answer.
    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// Whether only answers in a final mark count.
    pub fn is_marked_only(&self) -> bool {
        self.marked_only
    }

    /// By how much a number may differ from the truth, as a share of it.
    pub fn share_tolerated(&self) -> f64 {
        self.tolerance
    }

    /// The answer that a truth comes to; `None` where it has none that a response could equal. Truths go through the
    /// rules of responses: a bare value, GSM8K's `answer` field and MATH's `solution` field all do.
    pub fn truth(&self, truth: &str) -> Option<String> {
        if self.ignores_truth() {
            return Some(String::new());
        }
        usable(extract(self, truth, Role::Truth)).map(|truth| bounded(truth.text))
    }

    /// Checks a response against a truth.
    ///
    /// A truth without a value ([`Rule::truth`] tells) is not equalled by anything.
    pub fn check(&self, prediction: &str, truth: &str) -> Check {
        let truth = if self.ignores_truth() { None } else { usable(extract(self, truth, Role::Truth)) };
        let found = extract(self, prediction, Role::Prediction);
        let (verdict, rule, answer) = match (&found, &truth) {
            (Err(why), _) if self.ignores_truth() && *why == Fired::Nothing => {
                let blank = prediction.trim().is_empty();
                (if blank { Verdict::NoAnswer } else { Verdict::Wrong }, why.name(), String::new())
            }
            (Err(why), _) => (Verdict::NoAnswer, why.name(), String::new()),
            (Ok(found), None) if self.ignores_truth() => {
                (Verdict::Right, found.fired.name(), found.text.clone())
            }
            (Ok(found), None) => (Verdict::Wrong, found.fired.name(), found.text.clone()),
            (Ok(found), Some(truth)) => self.judged(found, truth),
        };
        Check {
            verdict,
            rule,
            answer: bounded(answer),
            truth: bounded(truth.map_or(String::new(), |truth| truth.text)),
        }
    }

    /// Whether the truth says nothing here: a pattern without a capture group is the whole test.
    pub fn ignores_truth(&self) -> bool {
        self.pattern.as_ref().is_some_and(|pattern| pattern.captures_len() == 1)
    }

    fn judged(&self, found: &Extracted, truth: &Extracted) -> (Verdict, &'static str, String) {
        if self.kind == Kind::Contains {
            return match needle(&found.text, &truth.text) {
                Some(needle) => (Verdict::Right, Fired::Needle.name(), needle),
                None => (Verdict::Wrong, Fired::Whole.name(), found.text.clone()),
            };
        }
        let verdict =
            if self.equal(found, truth, &mut Work::default()) { Verdict::Right } else { Verdict::Wrong };
        (verdict, found.fired.name(), found.text.clone())
    }

    fn equal(&self, found: &Extracted, truth: &Extracted, work: &mut Work) -> bool {
        match (&found.value, &truth.value) {
            (Value::Number(Some(found)), Value::Number(Some(truth))) => self.tolerates(found, truth),
            (Value::Letter(Some(found)), Value::Letter(Some(truth))) => found == truth,
            (Value::Text, Value::Text) if self.kind == Kind::Math => {
                math::compare(&found.text, &truth.text, self.tolerance, work).is_some()
            }
            (Value::Text, Value::Text) => found.text == truth.text,
            _ => false,
        }
    }

    /// Whether two numbers are equal, or near enough where a tolerance is set.
    fn tolerates(&self, found: &math::Rational, truth: &math::Rational) -> bool {
        if found == truth {
            return true;
        }
        let Some(share) = math::share(self.tolerance) else {
            return false;
        };
        (found - truth).abs() <= share * truth.abs()
    }
}

/// Whether a truth equals itself under `kind`: what a data set is tried with before it is trusted.
///
/// # Errors
/// When the kind is impossible.
pub fn self_check(kind: Kind, truth: &str) -> Result<bool, RuleError> {
    let rule = Rule::new(kind)?;
    let Some(reduced) = usable(extract(&rule, truth, Role::Truth)) else { return Ok(rule.ignores_truth()) };
    Ok(match rule.kind {
        Kind::Contains => needle(&reduced.text, &reduced.text).is_some(),
        _ => rule.equal(&reduced, &reduced, &mut Work::default()),
    })
}

/// A truth that something can equal.
fn usable(truth: Result<Extracted, Fired>) -> Option<Extracted> {
    truth.ok().filter(|truth| !matches!(truth.value, Value::Number(None) | Value::Letter(None)))
}

/// The stretch of `text` that is the needle, whatever its case and blanks. A needle that begins or ends with a digit
/// is not found inside a longer number.
fn needle(text: &str, needle: &str) -> Option<String> {
    let squeeze = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    let (text, needle) = (squeeze(text), squeeze(needle));
    let digit_at = |end: Option<char>| end.is_some_and(|char| char.is_ascii_digit());
    let (starts, ends) = (digit_at(needle.chars().next()), digit_at(needle.chars().next_back()));
    text.match_indices(&needle).find_map(|(at, found)| {
        let before = text[..at].chars().next_back();
        let after = text[at + found.len()..].chars().next();
        (!(starts && digit_at(before) || ends && digit_at(after))).then(|| found.to_owned())
    })
}

/// At most 4 KiB of a text, cut between characters.
fn bounded(mut text: String) -> String {
    if text.len() > MAX_ANSWER {
        text.truncate(text.floor_char_boundary(MAX_ANSWER));
    }
    text
}
