//! Counts of verdicts, and the share of right ones with its uncertainty.

use super::Verdict;

/// The quantile of the normal distribution for 95 % confidence.
const Z_95: f64 = 1.959_963_984_540_054;

/// How many answers had which verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Right answers.
    pub right: u64,
    /// Wrong answers.
    pub wrong: u64,
    /// Responses without an answer.
    pub no_answer: u64,
}

/// A share of independent trials, with the ends of its 95 % interval; all three between 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Accuracy {
    /// The share.
    pub share: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Tally {
    /// Counts one verdict.
    pub fn add(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Right => self.right += 1,
            Verdict::Wrong => self.wrong += 1,
            Verdict::NoAnswer => self.no_answer += 1,
        }
    }

    /// Answers scored: `no_answer` is one of them, and not right.
    pub fn scored(&self) -> u64 {
        self.right + self.wrong + self.no_answer
    }

    /// Right answers among those scored; `None` without any.
    ///
    /// The interval is Wilson's (1927), which stays within [0, 1] and says something at 0 and at 100 %: with n trials,
    /// share p and z = 1.96 it is (p + z²/2n ± z·√(p(1−p)/n + z²/4n²)) / (1 + z²/n).
    pub fn accuracy(&self) -> Option<Accuracy> {
        if self.scored() == 0 {
            return None;
        }
        let n = self.scored() as f64;
        let share = self.right as f64 / n;
        let z2 = Z_95 * Z_95;
        let centre = share + z2 / (2.0 * n);
        let reach = Z_95 * (share * (1.0 - share) / n + z2 / (4.0 * n * n)).sqrt();
        let scale = 1.0 + z2 / n;
        let low = if self.right == 0 { 0.0 } else { (centre - reach) / scale };
        let high = if self.right == self.scored() { 1.0 } else { (centre + reach) / scale };
        Some(Accuracy { share, low, high })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accuracy_without_answers_is_unknown() {
        assert_eq!(Tally::default().accuracy(), None);
    }

    #[test]
    fn the_interval_is_wilsons() {
        let accuracy = Tally { right: 8, wrong: 1, no_answer: 1 }.accuracy().unwrap();
        assert!((accuracy.share - 0.8).abs() < 1e-12);
        assert!((accuracy.low - 0.490_162).abs() < 1e-6, "{accuracy:?}");
        assert!((accuracy.high - 0.943_318).abs() < 1e-6, "{accuracy:?}");
        let all = Tally { right: 5, ..Tally::default() }.accuracy().unwrap();
        assert_eq!((all.share, all.high), (1.0, 1.0));
        assert!(all.low > 0.5 && all.low < 0.6);
        let none = Tally { wrong: 5, ..Tally::default() }.accuracy().unwrap();
        assert_eq!((none.share, none.low), (0.0, 0.0));
    }
}
