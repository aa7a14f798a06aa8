//! Counts of times in log buckets at most 1 % wide: what is kept of millions of gaps.
//!
//! A bucket holds the whole microseconds that share their eight leading binary digits: below 256 µs each value
//! has a bucket of its own (zero too), above it a bucket spans 2ᵏ values from 128·2ᵏ or more on, at most
//! 1/128 = 0.8 % of them. Edges are whole numbers, the same on every machine and for every run, so histograms
//! merge by adding counts. Every figure is taken from the buckets alone, so that one rebuilt from `gaps.csv` is
//! the same to the last digit.

use super::percentile::Percentile;
use super::statistic::Statistic;
use crate::units::Micros;

/// Leading binary digits that tell buckets apart.
const DIGITS: u32 = 8;

/// Buckets that are allocated together.
const CHUNK: usize = 16;

/// How many times fell into each bucket. Memory follows the buckets in use, 8 bytes a bucket in chunks of 16.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    chunks: Vec<Option<Box<[u64; CHUNK]>>>,
    count: u64,
}

/// A bucket in use: `low ≤ time ≤ high`, both in whole microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// Its smallest time.
    pub low: Micros,
    /// Its largest time.
    pub high: Micros,
    /// How many fell into it.
    pub count: u64,
}

impl Histogram {
    /// Counts one time.
    pub fn add(&mut self, time: Micros) {
        self.add_times(time, 1);
    }

    /// Counts the same time `times` over.
    pub fn add_times(&mut self, time: Micros, times: u64) {
        if times == 0 {
            return;
        }
        let index = index_of(time.0);
        let (chunk, place) = (index / CHUNK, index % CHUNK);
        if chunk >= self.chunks.len() {
            self.chunks.resize(chunk + 1, None);
        }
        self.chunks[chunk].get_or_insert_default()[place] += times;
        self.count += times;
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Histogram) {
        for bucket in other.buckets() {
            self.add_times(bucket.low, bucket.count);
        }
    }

    /// How many times were counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// How many of them were zero.
    pub fn zeros(&self) -> u64 {
        self.chunks.first().and_then(|chunk| chunk.as_ref()).map_or(0, |counts| counts[0])
    }

    /// The buckets in use, ascending.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> {
        let used =
            self.chunks.iter().enumerate().filter_map(|(chunk, counts)| Some((chunk, counts.as_deref()?)));
        used.flat_map(|(chunk, counts)| {
            counts.iter().enumerate().filter(|(_, count)| **count > 0).map(move |(place, count)| {
                let (low, high) = edges_of(chunk * CHUNK + place);
                Bucket { low: Micros(low), high: Micros(high), count: *count }
            })
        })
    }

    /// The upper edge of the bucket that holds the percentile's rank, whatever the count; `None` of none.
    pub fn nearest_rank(&self, percentile: Percentile) -> Option<Micros> {
        let rank = percentile.rank(self.count);
        let mut seen = 0;
        self.buckets().find_map(|bucket| {
            seen += bucket.count;
            (seen >= rank).then_some(bucket.high)
        })
    }

    /// A statistic in ms; `None` where the times are too few. Mean and deviation take each time as the middle
    /// of its bucket, the smallest as a lower edge, percentiles and the largest as upper edges.
    pub fn statistic_ms(&self, statistic: Statistic) -> Option<f64> {
        if self.count < statistic.needs() {
            return None;
        }
        match statistic {
            Statistic::Mean => Some(self.mean_ms()),
            Statistic::Sd => {
                let mean = self.mean_ms();
                let square = |bucket: Bucket| bucket.count as f64 * (bucket.middle_ms() - mean).powi(2);
                Some((self.buckets().map(square).sum::<f64>() / (self.count - 1) as f64).sqrt())
            }
            Statistic::Min => self.buckets().next().map(|bucket| bucket.low.as_ms()),
            Statistic::Percentile(percentile) => self.nearest_rank(percentile).map(Micros::as_ms),
            Statistic::Max => self.buckets().last().map(|bucket| bucket.high.as_ms()),
        }
    }

    /// Summed in whole numbers, so that no order of adding shows in the last digit.
    fn mean_ms(&self) -> f64 {
        let twice = |bucket: Bucket| {
            u128::from(bucket.count) * (u128::from(bucket.low.0) + u128::from(bucket.high.0))
        };
        let sum: u128 = self.buckets().map(twice).sum();
        sum as f64 / (2.0 * self.count as f64) / 1e3
    }
}

impl Bucket {
    fn middle_ms(self) -> f64 {
        self.low.as_ms().midpoint(self.high.as_ms())
    }
}

/// The bucket of a time: itself below 2⁸, then 2⁷ buckets for every doubling.
fn index_of(us: u64) -> usize {
    let shift = (u64::BITS - us.leading_zeros()).saturating_sub(DIGITS);
    ((u64::from(shift) << (DIGITS - 1)) + (us >> shift)) as usize
}

/// The smallest and the largest time of a bucket.
fn edges_of(index: usize) -> (u64, u64) {
    let index = index as u64;
    let shift = (index >> (DIGITS - 1)).saturating_sub(1);
    let low = (index - (shift << (DIGITS - 1))) << shift;
    (low, low + ((1 << shift) - 1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn histogram(times: &[u64]) -> Histogram {
        let mut histogram = Histogram::default();
        times.iter().for_each(|us| histogram.add(Micros(*us)));
        histogram
    }

    #[test]
    fn buckets_join_without_a_hole_from_zero_to_the_largest_time() {
        let mut next = 0;
        for index in 0..index_of(u64::MAX) {
            let (low, high) = edges_of(index);
            assert_eq!(low, next, "bucket {index}");
            assert_eq!((index_of(low), index_of(high)), (index, index));
            assert!(high == low || (high - low) * 100 < low, "bucket {index} is wider than 1 %");
            next = high + 1;
        }
        assert_eq!(edges_of(index_of(u64::MAX)).1, u64::MAX);
    }

    #[test]
    fn zero_and_small_times_have_buckets_of_their_own() {
        let buckets: Vec<_> = histogram(&[0, 0, 1, 255, 256, 257, 20_000])
            .buckets()
            .map(|b| (b.low.0, b.high.0, b.count))
            .collect();
        assert_eq!(buckets, [(0, 0, 2), (1, 1, 1), (255, 255, 1), (256, 257, 2), (19_968, 20_095, 1)]);
        assert_eq!(histogram(&[0, 0, 3]).zeros(), 2);
        assert_eq!(histogram(&[3]).zeros(), 0);
        assert_eq!(Histogram::default().zeros(), 0);
    }

    #[test]
    fn statistics_come_from_the_buckets() {
        let histogram = histogram(&[100, 100, 200, 256]);
        assert_eq!(histogram.statistic_ms(Statistic::Mean), Some(0.164125));
        assert_eq!(histogram.statistic_ms(Statistic::Min), Some(0.1));
        assert_eq!(histogram.statistic_ms(Statistic::Max), Some(0.257));
        assert_eq!(histogram.statistic_ms(Statistic::Percentile(Percentile::P50)), Some(0.1));
        assert_eq!(histogram.statistic_ms(Statistic::Percentile(Percentile::P90)), None, "needs 36");
        assert!(Statistic::ALL.iter().all(|(_, s)| Histogram::default().statistic_ms(*s).is_none()));
    }

    #[test]
    fn memory_follows_the_buckets_in_use() {
        let far_apart = histogram(&[0, 3_600_000_000]);
        assert_eq!(far_apart.chunks.iter().flatten().count(), 2);
    }

    proptest! {
        #[test]
        fn merging_is_counting_all_of_them(a in times(), b in times()) {
            let mut merged = histogram(&a);
            merged.merge(&histogram(&b));
            let all: Vec<u64> = a.into_iter().chain(b).collect();
            prop_assert_eq!(merged, histogram(&all));
        }

        #[test]
        fn a_percentile_is_at_most_one_percent_above_the_sorted_value(mut all in times(), percent in 1u32..100) {
            prop_assume!(!all.is_empty());
            let percentile = Percentile::new(f64::from(percent)).unwrap();
            let estimate = histogram(&all).nearest_rank(percentile).unwrap().0;
            all.sort_unstable();
            let exact = percentile.nearest_rank(&all).unwrap();
            prop_assert!(estimate >= exact && (estimate - exact) * 100 <= exact, "{estimate} for {exact}");
        }
    }

    fn times() -> impl Strategy<Value = Vec<u64>> {
        prop::collection::vec(prop_oneof![0u64..300, 0u64..100_000, 0u64..7_200_000_000], 0..60)
    }
}
