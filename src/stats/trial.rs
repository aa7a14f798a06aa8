//! Whether few enough requests miss a bound, tested at a stated chance to err.
//!
//! A percentile of at most a limit says the same as a share of requests beyond that limit, and a share is a share: so
//! most objectives ask whether requests miss something at most so often. That is tested by the exact binomial tail at the
//! number of independent requests that those of a series are worth: see [`super::effective`]. What ten blocks leave open
//! about that number is paid for by Student's t with nine degrees in place of the normal quantile, at the very chance to
//! err that is asked for.

use super::effective::{BLOCKS, dependence_where, effective_count};
use super::objective::Answer;
use super::quantile::{binomial_at_most, normal_quantile, student_quantile};

/// How the requests of a run kept a bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// Those that missed it.
    pub misses: u64,
    /// Those of which it is not known, since they were cut off before.
    pub open: u64,
    /// All of them, the open ones too.
    pub n: u64,
    /// How many of them are worth one that is independent, at least 1; `None` of too few to tell.
    pub dependence: Option<f64>,
    /// The share that may miss it, within 0 and 1.
    pub allowed: f64,
}

/// What is known of a request: whether it missed, `None` where it was cut off before.
pub type Missed = Option<bool>;

impl Trial {
    /// Requests in order of due time. Where none missed, neighbours are as alike as `proxy`, which is true for those
    /// that were slow among the others, says.
    pub fn new(rows: &[Missed], proxy: &[bool], allowed: f64) -> Trial {
        let misses = rows.iter().filter(|missed| **missed == Some(true)).count() as u64;
        let dependence = match misses {
            0 if proxy.len() == rows.len() => dependence_where(proxy, |slow| *slow),
            _ => dependence_where(rows, |missed| *missed == Some(true)),
        };
        let open = rows.iter().filter(|missed| missed.is_none()).count() as u64;
        Trial { misses, open, n: rows.len() as u64, dependence, allowed }
    }

    /// The number of independent requests that a test at this chance to `err` may count.
    pub fn worth(&self, err: f64) -> Option<f64> {
        let worth = effective_count(self.n as usize, self.dependence?);
        let (t, z) = (student_quantile(1.0 - err, (BLOCKS - 1) as f64), normal_quantile(1.0 - err));
        Some(worth * (z / t) * (z / t))
    }

    /// Whether the bound holds; each answer but `undetermined` is wrong with chance `err` at most. Requests that were
    /// cut off count against either.
    pub fn judge(&self, err: f64) -> Answer {
        // Of less than one request nothing is said.
        let Some(worth) = self.worth(err).map(libm::floor).filter(|worth| *worth >= 1.0) else {
            return Answer::Undetermined;
        };
        let scale = worth / self.n as f64;
        // Parts of a miss speak for neither.
        let least = libm::floor(self.misses as f64 * scale) as u64;
        let most = libm::ceil((self.misses + self.open) as f64 * scale) as u64;
        let worth = worth as u64;
        let so_many_by_chance = match least.checked_sub(1) {
            None => 1.0,
            Some(below) => 1.0 - binomial_at_most(below, worth, self.allowed),
        };
        if so_many_by_chance <= err {
            return Answer::Fail;
        }
        if binomial_at_most(most, worth, self.allowed) <= err { Answer::Pass } else { Answer::Undetermined }
    }

    /// Misses over those that may be: above 1 where there are more.
    pub fn strain(&self) -> f64 {
        self.misses as f64 / (self.n as f64 * self.allowed).max(f64::MIN_POSITIVE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::Seed;

    const ERR: f64 = 0.01;

    /// Runs of requests that share one fate, of which so many on average miss.
    fn rows(share: f64, runs: usize, alike: usize, seed: u64) -> Vec<Missed> {
        let mut stream = Seed(seed).stream("test", "trial");
        (0..runs).flat_map(|_| vec![Some(stream.unit() < share); alike]).collect()
    }

    /// How often, of 300 times, a test says this word.
    fn said(share: f64, runs: usize, alike: usize, word: Answer) -> usize {
        (0..300)
            .filter(|seed| Trial::new(&rows(share, runs, alike, *seed), &[], 0.05).judge(ERR) == word)
            .count()
    }

    #[test]
    fn at_the_bound_itself_either_word_is_as_rare_as_stated() {
        for (runs, alike) in [(500, 1), (1_000, 5)] {
            for word in [Answer::Pass, Answer::Fail] {
                let wrong = said(0.05, runs, alike, word);
                assert!(wrong <= 6, "{word:?} {wrong} of 300 times for {runs} runs of {alike}");
            }
        }
    }

    #[test]
    fn away_from_the_bound_it_says_so() {
        let right = [said(0.01, 1_000, 1, Answer::Pass), said(0.12, 1_000, 1, Answer::Fail)];
        assert!(right.iter().all(|right| *right > 285), "{right:?} of 300");
    }

    #[test]
    fn few_requests_say_nothing_and_none_that_missed_need_their_number() {
        let clean = |count| Trial::new(&vec![Some(false); count], &[], 0.05).judge(ERR);
        assert_eq!(clean(19), Answer::Undetermined, "too few for their dependence");
        assert_eq!(clean(90), Answer::Undetermined, "0.95^90 = 0.0099, but dependence costs something");
        assert_eq!(clean(150), Answer::Pass);
    }

    #[test]
    fn where_none_missed_the_slow_ones_tell_how_alike_neighbours_are() {
        let none = vec![Some(false); 200];
        let slow: Vec<bool> = (0..200).map(|at| at >= 180).collect();
        let trial = Trial::new(&none, &slow, 0.05);
        assert!(trial.dependence.unwrap() > 10.0 && trial.judge(ERR) == Answer::Undetermined, "{trial:?}");
    }

    #[test]
    fn requests_that_were_cut_off_speak_for_neither() {
        let mut rows = vec![Some(false); 400];
        rows[200..240].fill(None);
        let trial = Trial::new(&rows, &[], 0.05);
        assert_eq!((trial.misses, trial.open, trial.n), (0, 40, 400));
        assert_eq!(trial.judge(ERR), Answer::Undetermined);
        let cut = Trial { open: 0, ..trial };
        assert_eq!(cut.judge(ERR), Answer::Pass);
    }
}
