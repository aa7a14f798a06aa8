//! Values of one metric over the measured rows of a group, in order of time and in order of size.

use super::interval::{Interval, of_mean, of_percentile};
use super::statistic::Statistic;

/// Values, each of a row. None is negative; an infinite one never came.
#[derive(Clone, Debug, Default)]
pub(super) struct Sample {
    /// In order of due time.
    pub(super) series: Vec<f64>,
    /// The same ascending.
    pub(super) sorted: Vec<f64>,
}

impl Sample {
    pub(super) fn new(series: Vec<f64>) -> Sample {
        Sample { sorted: ascending(&series), series }
    }

    pub(super) fn count(&self) -> u64 {
        self.sorted.len() as u64
    }

    /// A statistic of the values, with its interval where `bounded`.
    pub(super) fn statistic(&self, statistic: Statistic, bounded: bool) -> (Option<f64>, Interval) {
        let value = statistic.of_sorted(&self.sorted);
        let interval = match (value, statistic) {
            (Some(mean), Statistic::Mean) if bounded => Statistic::Sd
                .of_sorted(&self.sorted)
                .map_or(Interval::NONE, |sd| of_mean(&self.series, mean, sd)),
            (Some(_), Statistic::Percentile(percentile)) if bounded => {
                of_percentile(percentile, &self.series, &self.sorted)
            }
            _ => Interval::NONE,
        };
        (value, interval)
    }
}

/// Values that are not negative, ascending: their bits sort as they do, and faster.
fn ascending(values: &[f64]) -> Vec<f64> {
    let mut bits: Vec<u64> = values.iter().map(|value| value.to_bits()).collect();
    bits.sort_unstable();
    bits.into_iter().map(f64::from_bits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_sorted_with_those_that_never_came_last() {
        let sample = Sample::new(vec![3.0, f64::INFINITY, 0.0, 1.5]);
        assert_eq!(sample.sorted, [0.0, 1.5, 3.0, f64::INFINITY]);
        assert_eq!(sample.count(), 4);
    }
}
