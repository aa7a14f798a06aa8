//! Series whose true percentiles are known, and how often intervals hold them.

use tonnage::seed::{Seed, Stream};
use tonnage::stats::Percentile;
use tonnage::stats::interval::of_percentile;

/// Independent exponential times with mean 1.
pub(crate) fn independent(count: usize, stream: &mut Stream) -> Vec<f64> {
    (0..count).map(|_| stream.exponential()).collect()
}

/// Times in an M/M/1 queue at `load`, in order of arrival, from its steady state on; mean service 1. They are
/// exponential with mean 1 / (1 − load).
pub(crate) fn queue(load: f64, count: usize, stream: &mut Stream) -> Vec<f64> {
    let mut wait = if stream.unit() < load { stream.exponential() / (1.0 - load) } else { 0.0 };
    let mut next = || {
        let time = wait + stream.exponential();
        wait = (time - stream.exponential() / load).max(0.0);
        time
    };
    (0..count).map(|_| next()).collect()
}

/// The share of `runs` series whose interval holds the percentile of an exponential law with this mean.
pub(crate) fn coverage(
    percentile: Percentile,
    mean: f64,
    runs: u64,
    mut series: impl FnMut(&mut Stream) -> Vec<f64>,
) -> f64 {
    let truth = -mean * (1.0 - percentile.as_percent() / 100.0).ln();
    let held = (0..runs).filter(|run| {
        let series = series(&mut Seed(*run).stream("coverage", ""));
        let mut sorted = series.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let interval = of_percentile(percentile, &series, &sorted);
        interval.low.is_none_or(|low| low <= truth) && interval.high.is_none_or(|high| truth <= high)
    });
    held.count() as f64 / runs as f64
}
