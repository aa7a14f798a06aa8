//! Values of one metric over the measured rows of a group, in order of time and in order of size.

use std::cell::OnceCell;

use super::effective::dependence_where;
use super::interval::{Interval, of_mean, of_percentile_alike};
use super::percentile::Percentile;
use super::statistic::Statistic;

/// Values, each of a row. None is negative; an infinite one never came.
#[derive(Clone, Debug, Default)]
pub(super) struct Sample {
    /// In order of due time.
    pub(super) series: Vec<f64>,
    /// The same ascending.
    pub(super) sorted: Vec<f64>,
    /// In order of due time, how many of all percentiles each lies above: a byte each is looked through in a fraction of the
    /// time that the values take, once for every percentile.
    levels: OnceCell<Vec<u8>>,
}

impl Sample {
    pub(super) fn new(series: Vec<f64>) -> Sample {
        Sample { sorted: ascending(&series), series, levels: OnceCell::new() }
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
            (Some(_), Statistic::Percentile(percentile)) if bounded => self
                .dependence_beyond(percentile)
                .map_or(Interval::NONE, |tau| of_percentile_alike(percentile, &self.sorted, tau)),
            _ => Interval::NONE,
        };
        (value, interval)
    }
}

impl Sample {
    /// τ for the share of values that lie above a percentile: of those that never came where that is infinite.
    pub(super) fn dependence_beyond(&self, percentile: Percentile) -> Option<f64> {
        let place = Statistic::percentiles().position(|(_, known)| known == percentile)?;
        let levels = self.levels.get_or_init(|| self.levels());
        dependence_where(levels, |level| usize::from(*level) > place)
    }

    fn levels(&self) -> Vec<u8> {
        let limit = |(_, percentile): (&str, Percentile)| percentile.nearest_rank(&self.sorted);
        let limits: Vec<f64> = Statistic::percentiles()
            .map(|named| limit(named).map_or(f64::MAX, |it| it.min(f64::MAX)))
            .collect();
        let level = |value: &f64| limits.iter().map(|limit| u8::from(value > limit)).sum();
        self.series.iter().map(level).collect()
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
    use crate::seed::{Seed, Stream};

    #[test]
    fn dependence_is_that_of_the_values_themselves() {
        let mut stream = Seed(3).stream("test", "");
        // Some are equal, some never came.
        let value = |stream: &mut Stream| match stream.exponential() {
            late if late > 3.5 => f64::INFINITY,
            value => (value * 10.0).floor(),
        };
        let series: Vec<f64> = (0..777).map(|_| value(&mut stream)).collect();
        let sample = Sample::new(series.clone());
        for (_, percentile) in Statistic::percentiles() {
            let limit = percentile.nearest_rank(&sample.sorted).unwrap();
            let beyond = |value: &f64| *value > limit || value.is_infinite();
            assert_eq!(
                sample.dependence_beyond(percentile),
                dependence_where(&series, beyond),
                "{percentile}"
            );
        }
    }

    #[test]
    fn values_are_sorted_with_those_that_never_came_last() {
        let sample = Sample::new(vec![3.0, f64::INFINITY, 0.0, 1.5]);
        assert_eq!(sample.sorted, [0.0, 1.5, 3.0, f64::INFINITY]);
        assert_eq!(sample.count(), 4);
    }
}
