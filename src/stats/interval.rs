//! 95 % intervals of percentiles, means, shares and rates, for values that are not independent.
//!
//! Each one is computed at the number of independent values that a series is worth: see [`super::effective`].

use super::effective::{BLOCKS, BOUND_FACTOR, FEWEST, TAIL, Z, bound_count, dependence, dependence_where};
use super::percentile::Percentile;
use super::quantile::binomial_at_most;
use crate::seed::Seed;

/// Ends of a two-sided 95 % interval; an end that the sample does not bound is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
}

impl Interval {
    /// Nothing is known.
    pub const NONE: Interval = Interval { low: None, high: None };

    fn around(value: f64, half_width: f64) -> Interval {
        Interval { low: Some(value - half_width), high: Some(value + half_width) }
    }
}

/// Places among `count` sorted values, from 1, between which a percentile lies with 95 % confidence, for a series
/// whose dependence at that percentile is τ; `None` where no value bounds it.
///
/// With N independent values the l-th and u-th smallest bound the p-th percentile with the binomial chance of l to
/// u − 1 values below it (David and Nagaraja, *Order Statistics*, 3rd ed., §7.1). Of n dependent values that are
/// worth N, the l-th of N stands for the (l − 1)n/N + 1-st, the u-th for the un/N-th: the outer ends, which for
/// τ = 1 are l and u.
pub fn ranks(percentile: Percentile, count: u64, worth: f64) -> (Option<u64>, Option<u64>) {
    let p = percentile.as_percent() / 100.0;
    let independent = (worth.floor() as u64).clamp(1, count.max(1));
    let scale = |place: u64| u128::from(place) * u128::from(count);
    let low = last_where(independent, |l| binomial_at_most(l - 1, independent, p) <= TAIL)
        .map(|l| (scale(l - 1) / u128::from(independent)) as u64 + 1);
    let below =
        last_where(independent, |u| binomial_at_most(u - 1, independent, p) < 1.0 - TAIL).unwrap_or(0);
    let high = (below < independent).then(|| scale(below + 1).div_ceil(u128::from(independent)) as u64);
    (low, high)
}

/// The last of 1..=`end` for which `holds`, which holds up to some place and not beyond.
fn last_where(end: u64, holds: impl Fn(u64) -> bool) -> Option<u64> {
    let (mut known, mut beyond) = (0, end + 1);
    while beyond - known > 1 {
        let middle = known.midpoint(beyond);
        if holds(middle) {
            known = middle;
        } else {
            beyond = middle;
        }
    }
    (known > 0).then_some(known)
}

/// The interval of a percentile of `series`, values in order of time; `sorted` holds the same ones ascending.
pub fn of_percentile(percentile: Percentile, series: &[f64], sorted: &[f64]) -> Interval {
    let Some(value) = percentile.nearest_rank(sorted) else { return Interval::NONE };
    let Some(tau) = dependence_where(series, |other| *other > value) else { return Interval::NONE };
    of_percentile_alike(percentile, sorted, tau)
}

/// The same of ascending values whose dependence at that percentile is τ.
pub(super) fn of_percentile_alike(percentile: Percentile, sorted: &[f64], tau: f64) -> Interval {
    let (low, high) = ranks(percentile, sorted.len() as u64, bound_count(sorted.len(), tau));
    let at = |rank: Option<u64>| sorted.get(rank?.checked_sub(1)? as usize).copied();
    Interval { low: at(low), high: at(high) }
}

/// The interval of the mean of `series`, values in order of time, around their `mean` with deviation `sd`.
pub fn of_mean(series: &[f64], mean: f64, sd: f64) -> Interval {
    let Some(tau) = dependence(series) else { return Interval::NONE };
    Interval::around(mean, Z * sd / bound_count(series.len(), tau).sqrt())
}

/// The interval of the share of true ones among `series`, in order of time: Wilson's score interval (Wilson,
/// "Probable Inference", *JASA* 22, 1927) at the number of independent values. Where all are alike nothing
/// speaks for dependence, and all count.
pub fn of_share(series: &[bool]) -> Interval {
    let count = series.len();
    let hits = series.iter().filter(|hit| **hit).count();
    if count == 0 {
        return Interval::NONE;
    }
    let worth = if hits == 0 || hits == count {
        count as f64
    } else {
        let Some(tau) = dependence_where(series, |hit| *hit) else { return Interval::NONE };
        bound_count(count, tau)
    };
    let interval = wilson(hits as f64 / count as f64, worth);
    // Exact where rounding would leave a trace.
    Interval {
        low: if hits == 0 { Some(0.0) } else { interval.low },
        high: if hits == count { Some(1.0) } else { interval.high },
    }
}

fn wilson(share: f64, count: f64) -> Interval {
    let square = Z * Z / count;
    let centre = (share + square / 2.0) / (1.0 + square);
    let half = Z / (1.0 + square) * (share * (1.0 - share) / count + square / (4.0 * count)).sqrt();
    Interval::around(centre, half)
}

/// Equal parts of a window in which a rate is counted for its interval: each block of the bootstrap takes a tenth
/// of them.
pub const SLICES: usize = 20 * BLOCKS;

/// Times the window is put together anew.
const RESAMPLES: usize = 1_000;

/// The interval of a rate `value` whose amounts in [`SLICES`] successive equal parts of the window are `slices`.
///
/// A circular block bootstrap (Politis and Romano, 1992): windows of ten blocks, each a tenth of the window long and
/// beginning anywhere, give the spread of their sums. Ten blocks underrate it, by √(9/10) and by the normal law in
/// place of Student's, and the interval is stretched by as much. Draws follow from `name` alone.
pub fn of_rate(value: f64, slices: &[f64], name: &str) -> Interval {
    let total: f64 = slices.iter().sum();
    if slices.len() != SLICES || slices.iter().filter(|amount| **amount > 0.0).count() < FEWEST {
        return Interval::NONE;
    }
    let length = SLICES / BLOCKS;
    let block_from = |start: usize| (0..length).map(|at| slices[(start + at) % SLICES]).sum::<f64>();
    let blocks: Vec<f64> = (0..SLICES).map(block_from).collect();
    let mut stream = Seed(0).stream("bootstrap", name);
    let mut draw = || -> f64 { (0..BLOCKS).map(|_| blocks[stream.below(SLICES as u64) as usize]).sum() };
    let mut sums: Vec<f64> = (0..RESAMPLES).map(|_| draw() / total).collect();
    sums.sort_unstable_by(f64::total_cmp);
    let stretch = (BOUND_FACTOR * BLOCKS as f64 / (BLOCKS - 1) as f64).sqrt();
    let end = |percentile: Option<Percentile>| {
        let share = percentile?.nearest_rank(&sums)?;
        Some((value * (1.0 + stretch * (share - 1.0))).max(0.0))
    };
    Interval { low: end(Percentile::new(100.0 * TAIL)), high: end(Percentile::new(100.0 * (1.0 - TAIL))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn independent_ranks_are_those_of_the_tables() {
        // Hahn and Meeker, Statistical Intervals, §5.2: 100 values, median between the 40th and the 61st.
        assert_eq!(ranks(Percentile::P50, 100, 100.0), (Some(40), Some(61)));
        assert_eq!(ranks(Percentile::P90, 100, 100.0), (Some(84), Some(96)));
        assert_eq!(ranks(Percentile::P99, 100, 100.0), (Some(97), None), "the largest does not bound p99");
    }

    #[test]
    fn a_percentile_is_bounded_on_both_sides_from_the_count_it_needs_on() {
        for percentile in
            [Percentile::P1, Percentile::P10, Percentile::P90, Percentile::P99, Percentile::P99_9]
        {
            let needs = percentile.needs();
            let (low, high) = ranks(percentile, needs, needs as f64);
            assert!(low.is_some() && high.is_some(), "{percentile} of {needs}");
            let (low, high) = ranks(percentile, needs - 1, (needs - 1) as f64);
            assert!(low.is_none() || high.is_none(), "{percentile} of {}", needs - 1);
        }
    }

    #[test]
    fn dependent_values_bound_less() {
        let (low, high) = ranks(Percentile::P50, 1_000, 100.0);
        assert_eq!((low, high), (Some(391), Some(610)));
        assert_eq!(ranks(Percentile::P90, 1_000, 20.0), (Some(701), None));
    }

    #[test]
    fn wilson_is_as_in_the_textbook() {
        // Newcombe, Statistics in Medicine 17 (1998), table I: 81 of 263, and 0 of 20.
        let close = |value: Option<f64>, expected: f64| (value.unwrap() - expected).abs() < 5e-5;
        let interval = wilson(81.0 / 263.0, 263.0);
        assert!(close(interval.low, 0.2553) && close(interval.high, 0.3662), "{interval:?}");
        let interval = of_share(&[false; 20]);
        assert!(close(interval.low, 0.0) && close(interval.high, 0.1611), "{interval:?}");
    }

    #[test]
    fn the_interval_of_a_steady_rate_is_the_rate_and_that_of_counts_about_two_roots_wide() {
        let steady = of_rate(5.0, &[2.0; SLICES], "steady");
        assert_eq!(steady, Interval { low: Some(5.0), high: Some(5.0) });
        let mut stream = Seed(3).stream("test", "");
        let mut slices = [0.0; SLICES];
        let mut at = stream.exponential() / 20.0;
        while at < SLICES as f64 {
            slices[at as usize] += 1.0;
            at += stream.exponential() / 20.0;
        }
        let total: f64 = slices.iter().sum();
        let interval = of_rate(total, &slices, "poisson");
        let half = (interval.high.unwrap() - interval.low.unwrap()) / 2.0;
        assert!((1.0..4.5).contains(&(half / total.sqrt())), "{half} of {total}");
        assert_eq!(of_rate(total, &slices, "poisson"), interval, "the same draws each time");
    }

    #[test]
    fn few_values_have_no_interval() {
        assert_eq!(of_percentile(Percentile::P50, &[1.0; 19], &[1.0; 19]), Interval::NONE);
        assert_eq!(of_mean(&[1.0; 19], 1.0, 0.0), Interval::NONE);
        assert_eq!(of_share(&[]), Interval::NONE);
        assert_eq!(of_share(&[true, false]), Interval::NONE);
        assert_eq!(of_rate(1.0, &[0.0; SLICES], "none"), Interval::NONE);
    }
}
