//! Percentiles where some values are not known to their end.
//!
//! Adjusted statistics leave nobody out: a request that failed or was never sent is infinitely late, and one cut off
//! while it waited is known to have waited so long at least (right-censored). A percentile is then bounded from below
//! by taking each cut row as if it had ended when it was cut, and from above as if it had never ended. Where the two
//! agree (no cut value lies at or below it) it stands; else it is empty, and its interval bounds it.

use super::effective::bound_count;
use super::interval::{Interval, ranks};
use super::percentile::Percentile;
use super::sample::Sample;

/// What is known of when something came.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reached {
    /// After so many ms.
    After(f64),
    /// Not within so many ms; then nobody looked any more.
    Beyond(f64),
    /// It failed: never.
    Never,
}

impl Reached {
    /// The least that it took, in ms.
    pub(super) fn at_least(self) -> f64 {
        match self {
            Reached::After(ms) | Reached::Beyond(ms) => ms,
            Reached::Never => f64::INFINITY,
        }
    }

    /// The most that it took, in ms.
    pub(super) fn at_most(self) -> f64 {
        match self {
            Reached::After(ms) => ms,
            Reached::Beyond(_) | Reached::Never => f64::INFINITY,
        }
    }
}

/// Values of a group, each known between two bounds; both samples hold the same rows.
pub(super) struct Bounded {
    pub(super) low: Sample,
    pub(super) high: Sample,
}

impl Bounded {
    pub(super) fn new(rows: &[Reached]) -> Bounded {
        let low = Sample::new(rows.iter().map(|row| row.at_least()).collect());
        let is_exact = rows.iter().all(|row| row.at_least() == row.at_most());
        let high =
            if is_exact { low.clone() } else { Sample::new(rows.iter().map(|row| row.at_most()).collect()) };
        Bounded { low, high }
    }

    /// A percentile and its interval. The value is `None` where it is not known, infinite, or the rows are too few; a
    /// lower end may be infinite: with 95 % confidence the percentile is never reached.
    pub(super) fn percentile(&self, percentile: Percentile, bounded: bool) -> (Option<f64>, Interval) {
        let count = self.low.count();
        if count < percentile.needs() {
            return (None, Interval::NONE);
        }
        let at_least = percentile.nearest_rank(&self.low.sorted);
        let value = at_least
            .filter(|value| value.is_finite() && percentile.nearest_rank(&self.high.sorted) == Some(*value));
        let tau = at_least.filter(|_| bounded).and_then(|_| self.low.dependence_beyond(percentile));
        let Some(tau) = tau else { return (value, Interval::NONE) };
        let (low, high) = ranks(percentile, count, bound_count(self.low.series.len(), tau));
        let at =
            |sample: &Sample, rank: Option<u64>| sample.sorted.get(rank?.checked_sub(1)? as usize).copied();
        let high = at(&self.high, high).filter(|high| high.is_finite());
        (value, Interval { low: at(&self.low, low), high })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(answered: u32, cut_at: Option<f64>, failed: usize) -> Vec<Reached> {
        let cut = cut_at.map(Reached::Beyond);
        let failed = std::iter::repeat_n(Reached::Never, failed);
        let answered = (1..=answered).map(|ms| Reached::After(f64::from(ms)));
        let rows: Vec<Reached> = answered.chain(cut).chain(failed).collect();
        // Slow and fast ones mixed, as independent ones would be.
        (0..rows.len()).map(|at| rows[at * 37 % rows.len()]).collect()
    }

    fn of(rows: &[Reached], percentile: Percentile) -> Option<f64> {
        Bounded::new(rows).percentile(percentile, true).0
    }

    #[test]
    fn failures_shift_percentiles_to_later_values_and_at_last_to_none() {
        assert_eq!(of(&rows(100, None, 0), Percentile::P90), Some(90.0));
        assert_eq!(of(&rows(100, None, 10), Percentile::P90), Some(99.0));
        assert_eq!(of(&rows(100, None, 12), Percentile::P90), None);
        assert_eq!(of(&rows(100, None, 12), Percentile::P50), Some(56.0));
        assert_eq!(of(&rows(0, None, 40), Percentile::P50), None);
    }

    #[test]
    fn a_percentile_at_or_beyond_the_first_cut_value_is_empty_and_those_below_stand() {
        let rows = rows(100, Some(70.5), 0);
        assert_eq!(of(&rows, Percentile::P50), Some(51.0));
        assert_eq!(of(&rows, Percentile::P90), None);
        let (_, interval) = Bounded::new(&rows).percentile(Percentile::P90, true);
        assert!(interval.low.is_some_and(|low| (70.0..90.0).contains(&low)), "{interval:?}");
    }

    #[test]
    fn an_interval_reaches_into_what_never_came() {
        let (value, interval) = Bounded::new(&rows(30, None, 70)).percentile(Percentile::P50, true);
        assert_eq!(value, None);
        assert_eq!(interval, Interval { low: Some(f64::INFINITY), high: None });
        assert_eq!(of(&rows(10, None, 0), Percentile::P90), None, "too few");
    }
}
