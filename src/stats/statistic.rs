//! The statistics of a sample: what is said of a set of values.

use super::percentile::Percentile;

/// One figure of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    /// Arithmetic mean.
    Mean,
    /// Standard deviation of a sample, over n − 1.
    Sd,
    /// Smallest value.
    Min,
    /// By nearest rank.
    Percentile(Percentile),
    /// Largest value.
    Max,
}

impl Statistic {
    /// Every statistic of latencies and token counts with its name, in the order of files.
    pub const ALL: [(&'static str, Statistic); 14] = [
        ("mean", Statistic::Mean),
        ("sd", Statistic::Sd),
        ("min", Statistic::Min),
        ("p1", Statistic::Percentile(Percentile::P1)),
        ("p5", Statistic::Percentile(Percentile::P5)),
        ("p10", Statistic::Percentile(Percentile::P10)),
        ("p25", Statistic::Percentile(Percentile::P25)),
        ("p50", Statistic::Percentile(Percentile::P50)),
        ("p75", Statistic::Percentile(Percentile::P75)),
        ("p90", Statistic::Percentile(Percentile::P90)),
        ("p95", Statistic::Percentile(Percentile::P95)),
        ("p99", Statistic::Percentile(Percentile::P99)),
        ("p99.9", Statistic::Percentile(Percentile::P99_9)),
        ("max", Statistic::Max),
    ];

    /// The percentiles among them.
    pub fn percentiles() -> impl Iterator<Item = (&'static str, Percentile)> {
        Statistic::ALL.into_iter().filter_map(|(name, statistic)| match statistic {
            Statistic::Percentile(percentile) => Some((name, percentile)),
            _ => None,
        })
    }

    /// The fewest values it can be taken of.
    pub fn needs(self) -> u64 {
        match self {
            Statistic::Mean | Statistic::Min | Statistic::Max => 1,
            Statistic::Sd => 2,
            Statistic::Percentile(percentile) => percentile.needs(),
        }
    }

    /// Of ascending values; `None` where they are too few. Sums run in ascending order, so that the order of
    /// arrival leaves no trace in the last digit.
    pub fn of_sorted(self, sorted: &[f64]) -> Option<f64> {
        if (sorted.len() as u64) < self.needs() {
            return None;
        }
        match self {
            Statistic::Mean => Some(mean(sorted)),
            Statistic::Sd => {
                let mean = mean(sorted);
                let squares: f64 = sorted.iter().map(|value| (value - mean) * (value - mean)).sum();
                Some((squares / (sorted.len() - 1) as f64).sqrt())
            }
            Statistic::Min => sorted.first().copied(),
            Statistic::Percentile(percentile) => percentile.nearest_rank(sorted),
            Statistic::Max => sorted.last().copied(),
        }
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_of_a_small_sample_are_as_by_hand() {
        let values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
        let of = |name| {
            Statistic::ALL.iter().find(|(known, _)| *known == name).and_then(|(_, s)| s.of_sorted(&values))
        };
        assert_eq!(of("mean"), Some(5.0));
        assert_eq!(of("sd"), Some((32.0f64 / 7.0).sqrt()));
        assert_eq!((of("min"), of("p50"), of("max")), (Some(2.0), Some(4.0), Some(9.0)));
        assert_eq!(
            (of("p25"), of("p75"), of("p99")),
            (None, None, None),
            "8 values carry no other percentile"
        );
    }

    #[test]
    fn nothing_has_no_statistics_and_one_value_no_spread() {
        assert!(Statistic::ALL.iter().all(|(_, statistic)| statistic.of_sorted(&[]).is_none()));
        assert_eq!(Statistic::Sd.of_sorted(&[3.0]), None);
        assert_eq!(Statistic::Mean.of_sorted(&[3.0]), Some(3.0));
    }

    #[test]
    fn names_of_percentiles_are_those_of_the_percentile_itself() {
        for (name, statistic) in Statistic::ALL {
            if let Statistic::Percentile(percentile) = statistic {
                assert_eq!(name, percentile.to_string());
            }
        }
    }
}
