//! How many independent values a series is worth.
//!
//! Latencies of neighbouring requests are alike: they waited in the same queue. A series of n of them says as
//! much about a mean or a percentile as n/τ independent values would. τ is the variance of the means of blocks,
//! times their length, over the variance of single values (batch means; Law, *Simulation Modeling and Analysis*,
//! 5th ed., §9.5.3); for a percentile the values are the indicators of lying above it, since the variance of an
//! empirical quantile is that of its exceedances (Heidelberger and Lewis, "Quantile Estimation in Dependent
//! Sequences", *Operations Research* 32, 1984).
//!
//! Ten blocks, few and long: a block must be longer than what makes neighbours alike. Where it is not, τ comes out too
//! small, and the more so the shorter the block. Blocks of a fifth show by how much: 2 τ(m) − τ(m/5) takes that bias
//! off in the main and errs, if it does, to the wide side (the lugsail of Vats and Flegal, "Lugsail lag windows for
//! estimating time-average covariance matrices", *Biometrika* 109, 2022, with r = 5 and c = 1/2; never less than
//! τ(m) here). What ten blocks leave open about τ itself is paid for by Student's t with nine degrees in place of the
//! normal quantile. By simulation (`benches/coverage.rs`) 95 % intervals then hold in 98–100 % of runs for independent values
//! and in 92–97 % for the times in an M/M/1 queue at load 0.8, from 400 values on.

/// Blocks that a series is cut into.
pub const BLOCKS: usize = 10;

/// Parts that a block is cut into to see whether it is long enough.
const PARTS: usize = 5;

/// The fewest values whose dependence can be looked at: two a block.
pub const FEWEST: usize = 2 * BLOCKS;

/// Chance left on each side of an interval.
pub(super) const TAIL: f64 = 0.025;

/// The normal quantile that leaves it.
pub(super) const Z: f64 = 1.959_963_984_540_054;

/// Student's quantile with nine degrees that leaves it.
const T: f64 = 2.262_157_162_798_205;

/// The price of having only [`BLOCKS`] blocks.
pub(super) const BOUND_FACTOR: f64 = (T / Z) * (T / Z);

/// τ of a series in order of time, never below 1, for the mean of its values; `None` of fewer than [`FEWEST`].
pub fn dependence(series: &[f64]) -> Option<f64> {
    of_blocks(
        series,
        |block| block.iter().sum(),
        |mean, used| {
            used.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / used.len() as f64
        },
    )
}

/// How much the blocks of a series differ in the share of values for which `holds` is true, over what independent
/// values would: χ² with nine degrees, over nine, where they are. For the question whether they are.
pub fn block_dispersion<T>(series: &[T], holds: impl Fn(&T) -> bool) -> Option<f64> {
    let count = |block: &[T]| block.iter().filter(|value| holds(value)).count() as f64;
    dispersion(series, BLOCKS, &count, &|share, _| share * (1.0 - share))
}

/// τ of a series in order of time for the share of values for which `holds` is true.
pub fn dependence_where<T>(series: &[T], holds: impl Fn(&T) -> bool) -> Option<f64> {
    let count = |block: &[T]| block.iter().filter(|value| holds(value)).count() as f64;
    of_blocks(series, count, |share, _| share * (1.0 - share))
}

/// The number of independent values that n dependent ones are worth.
pub fn effective_count(count: usize, dependence: f64) -> f64 {
    count as f64 / dependence
}

/// The same for the bounds of a 95 % interval: as many normal values as give it the width that Student's t asks for
/// where τ was read off [`BLOCKS`] blocks.
pub(super) fn bound_count(count: usize, dependence: f64) -> f64 {
    effective_count(count, dependence) / BOUND_FACTOR
}

/// Independent values needed for a 95 % interval of a share near `share` to reach at most `half_width` to either side,
/// times `dependence` where they are alike. A percentile p is known to ± `half_width` in rank by as many:
/// n = τ z² p (1 − p) / h².
pub fn needed(share: f64, half_width: f64, dependence: f64) -> u64 {
    (dependence * Z * Z * share * (1.0 - share) / (half_width * half_width)).ceil() as u64
}

fn of_blocks<T>(series: &[T], sum: impl Fn(&[T]) -> f64, variance: impl Fn(f64, &[T]) -> f64) -> Option<f64> {
    let plain = dispersion(series, BLOCKS, &sum, &variance)?;
    let short = dispersion(series, PARTS * BLOCKS, &sum, &variance);
    let corrected = short.map_or(plain, |short| 2.0 * plain - short);
    Some(corrected.max(plain).clamp(1.0, series.len() as f64))
}

/// Variance of the means of blocks, times their length, over the variance of single values; `None` where there are too
/// few. Values that do not fill the blocks are left out at the start, where a run is least itself.
fn dispersion<T>(
    series: &[T],
    blocks: usize,
    sum: &impl Fn(&[T]) -> f64,
    variance: &impl Fn(f64, &[T]) -> f64,
) -> Option<f64> {
    let length = series.len() / blocks;
    if series.len() < FEWEST || length == 0 {
        return None;
    }
    let used = &series[series.len() - length * blocks..];
    let means: Vec<f64> = used.chunks_exact(length).map(|block| sum(block) / length as f64).collect();
    let mean = means.iter().sum::<f64>() / blocks as f64;
    let between =
        means.iter().map(|block| (block - mean) * (block - mean)).sum::<f64>() / (blocks - 1) as f64;
    let single = variance(mean, used);
    // Values that are all alike show no dependence.
    Some(if single > 0.0 { length as f64 * between / single } else { 1.0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::Seed;
    use crate::stats::quantile::{normal_quantile, student_quantile};

    #[test]
    fn the_quantiles_are_those_of_their_distributions() {
        assert!((normal_quantile(1.0 - TAIL) - Z).abs() < 1e-14);
        assert!((student_quantile(1.0 - TAIL, (BLOCKS - 1) as f64) - T).abs() < 1e-12);
    }

    #[test]
    fn independent_values_are_worth_about_their_number() {
        let mut stream = Seed(1).stream("test", "");
        let mut taus: Vec<f64> = (0..101)
            .map(|_| {
                let series: Vec<f64> = (0..2_000).map(|_| stream.exponential()).collect();
                dependence_where(&series, |value| *value > 2.3).unwrap()
            })
            .collect();
        taus.sort_unstable_by(f64::total_cmp);
        assert!((1.0..1.2).contains(&taus[50]), "median {}", taus[50]);
        assert!(taus[95] < 2.6, "p95 {}", taus[95]);
    }

    #[test]
    fn values_that_come_in_runs_are_worth_one_a_run() {
        let mut stream = Seed(2).stream("test", "");
        let mut taus: Vec<f64> = (0..101)
            .map(|_| {
                let runs: Vec<f64> = (0..200).map(|_| stream.exponential()).collect();
                let series: Vec<f64> = runs.iter().flat_map(|value| [*value; 20]).collect();
                dependence(&series).unwrap()
            })
            .collect();
        taus.sort_unstable_by(f64::total_cmp);
        assert!((15.0..25.0).contains(&taus[50]), "median {}", taus[50]);
    }

    #[test]
    fn few_values_tell_nothing_and_equal_ones_are_independent() {
        assert_eq!(dependence(&[1.0; FEWEST - 1]), None);
        assert_eq!(dependence(&[1.0; FEWEST]), Some(1.0));
        assert_eq!(dependence_where(&[1.0; 50], |value| *value > 2.0), Some(1.0));
    }

    #[test]
    fn needed_counts_are_those_of_the_textbook() {
        assert_eq!(needed(0.5, 0.05, 1.0), 385, "the poll that everyone knows");
        assert_eq!(needed(0.99, 0.005, 1.0), 1_522);
        assert_eq!(needed(0.99, 0.005, 10.0), 15_213);
    }
}
