//! Percentiles by nearest rank, and how many values each one takes.
//!
//! The p-th percentile of n values is the ⌈p·n⌉-th smallest: a value that was measured, never one between two.
//! A high percentile of a small sample is its maximum under another name, so a percentile stands only where an
//! order-statistic interval for it has finite ends: see [`Percentile::needs`].

use std::fmt;

/// A percentile between 0 and 100, both excluded, in steps of a thousandth of a percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Percentile {
    /// Thousandths of a percent, so that ranks are exact in whole numbers.
    thousandths: u32,
}

/// 100 %, in the same steps.
const WHOLE: u32 = 100_000;

/// What one tail of a two-sided 95 % interval may miss.
const TAIL: f64 = 0.025;

impl Percentile {
    /// 1 %
    pub const P1: Percentile = Percentile { thousandths: 1_000 };
    /// 5 %
    pub const P5: Percentile = Percentile { thousandths: 5_000 };
    /// 10 %
    pub const P10: Percentile = Percentile { thousandths: 10_000 };
    /// 25 %
    pub const P25: Percentile = Percentile { thousandths: 25_000 };
    /// The median.
    pub const P50: Percentile = Percentile { thousandths: 50_000 };
    /// 75 %
    pub const P75: Percentile = Percentile { thousandths: 75_000 };
    /// 90 %
    pub const P90: Percentile = Percentile { thousandths: 90_000 };
    /// 95 %
    pub const P95: Percentile = Percentile { thousandths: 95_000 };
    /// 99 %
    pub const P99: Percentile = Percentile { thousandths: 99_000 };
    /// 99.9 %
    pub const P99_9: Percentile = Percentile { thousandths: 99_900 };

    /// The percentile nearest to `percent`; `None` unless that lies between 0 and 100.
    pub fn new(percent: f64) -> Option<Percentile> {
        let thousandths = (percent * 1e3).round();
        (thousandths > 0.0 && thousandths < f64::from(WHOLE))
            .then_some(Percentile { thousandths: thousandths as u32 })
    }

    /// In percent.
    pub fn as_percent(self) -> f64 {
        f64::from(self.thousandths) / 1e3
    }

    /// Its place among `count` sorted values, from 1: ⌈p·n⌉; 0 of none.
    pub fn rank(self, count: u64) -> u64 {
        (u128::from(count) * u128::from(self.thousandths)).div_ceil(u128::from(WHOLE)) as u64
    }

    /// The value at its rank, whatever their number; `None` of none. `sorted` ascends.
    pub fn nearest_rank<T: Copy>(self, sorted: &[T]) -> Option<T> {
        let index = self.rank(sorted.len() as u64).checked_sub(1)?;
        sorted.get(index as usize).copied()
    }

    /// The fewest values that carry it: 368 for p99, 36 for p90, 3,688 for p99.9, mirrored below the median.
    ///
    /// The chance that all n values lie below the p-th percentile is pⁿ; while that exceeds 2.5 %, no order
    /// statistic bounds it from above with 95 % confidence on two sides (David and Nagaraja, *Order
    /// Statistics*, 3rd ed., §7.1; Hahn and Meeker, *Statistical Intervals*, §5.2). So n = ⌈ln 0.025 / ln p⌉,
    /// with 1 − p in place of p below the median. The median itself always stands.
    pub fn needs(self) -> u64 {
        if self == Percentile::P50 {
            return 1;
        }
        let far = self.thousandths.max(WHOLE - self.thousandths);
        (libm::log(TAIL) / libm::log(f64::from(far) / f64::from(WHOLE))).ceil() as u64
    }
}

impl fmt::Display for Percentile {
    /// `p99`, `p99.9`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p{}", self.as_percent())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn c062_few_values_give_measured_values_by_nearest_rank() {
        let three = [10, 20, 30];
        let of = |percentile: Percentile, values: &[i32]| percentile.nearest_rank(values);
        assert_eq!(of(Percentile::P50, &three), Some(20));
        assert_eq!(of(Percentile::P90, &three), Some(30));
        assert_eq!(of(Percentile::P99, &three), Some(30));
        let ten: Vec<i32> = (1..=10).collect();
        assert_eq!(of(Percentile::P95, &ten), Some(10));
        assert_eq!(of(Percentile::P99, &ten), Some(10));
        assert_eq!(of(Percentile::P10, &ten), Some(1));
        assert_eq!(of(Percentile::P50, &[]), None);
    }

    #[test]
    fn percentiles_need_more_values_the_further_out_they_lie() {
        let needs = [
            Percentile::P1,
            Percentile::P5,
            Percentile::P10,
            Percentile::P25,
            Percentile::P50,
            Percentile::P75,
            Percentile::P90,
            Percentile::P95,
            Percentile::P99,
            Percentile::P99_9,
        ]
        .map(Percentile::needs);
        assert_eq!(needs, [368, 72, 36, 13, 1, 13, 36, 72, 368, 3_688]);
    }

    #[test]
    fn the_needed_count_is_the_smallest_whose_missed_tail_is_under_a_fortieth() {
        for percentile in
            [Percentile::P75, Percentile::P90, Percentile::P95, Percentile::P99, Percentile::P99_9]
        {
            let (p, n) = (percentile.as_percent() / 100.0, percentile.needs() as f64);
            assert!(libm::pow(p, n) <= 0.025, "{percentile} at {n}");
            assert!(libm::pow(p, n - 1.0) > 0.025, "{percentile} at {}", n - 1.0);
        }
    }

    #[test]
    fn only_percentiles_between_nought_and_a_hundred_exist() {
        for bad in [0.0, 100.0, -1.0, 101.0, f64::NAN, f64::INFINITY, 0.0004] {
            assert_eq!(Percentile::new(bad), None, "{bad}");
        }
        assert_eq!(Percentile::new(99.9), Some(Percentile::P99_9));
        assert_eq!(Percentile::P99_9.to_string(), "p99.9");
        assert_eq!(Percentile::P50.to_string(), "p50");
    }

    proptest! {
        #[test]
        fn at_least_p_of_all_values_lie_at_or_below_it_and_fewer_below_the_one_before(
            mut values in prop::collection::vec(0u32..1_000, 1..200),
            thousandths in 1u32..WHOLE,
        ) {
            values.sort_unstable();
            let percentile = Percentile { thousandths };
            let value = percentile.nearest_rank(&values).unwrap();
            let at_or_below = values.iter().filter(|other| **other <= value).count() as u64;
            let below = values.iter().filter(|other| **other < value).count() as u64;
            let (n, p) = (values.len() as u64, u64::from(thousandths));
            prop_assert!(at_or_below * u64::from(WHOLE) >= p * n);
            prop_assert!(below * u64::from(WHOLE) < p * n);
        }
    }
}
