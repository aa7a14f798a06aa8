//! Distributions of lengths and counts, and how they are sampled.
//!
//! The samplers are ours: what a library makes of the same bits may change between releases, and a scenario
//! with its seed must give the same lengths for ever.

use std::time::Duration;

use crate::seed::Stream;

/// A law of whole numbers: tokens, say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distribution {
    /// Always this value. Draws nothing from the stream.
    Fixed(u64),
    /// Every value from `min` to `max`, both included, equally often. [`Distribution::uniform`] makes one.
    Uniform {
        /// Smallest value.
        min: u64,
        /// Largest value, at least `min`.
        max: u64,
    },
}

impl Distribution {
    /// Values from `min` to `max`, both included; `None` if `min` is above `max`.
    pub fn uniform(min: u64, max: u64) -> Option<Distribution> {
        (min <= max).then_some(Distribution::Uniform { min, max })
    }

    /// One value.
    pub fn sample(self, stream: &mut Stream) -> u64 {
        match self {
            Distribution::Fixed(value) => value,
            Distribution::Uniform { min, max } => match max.saturating_sub(min).checked_add(1) {
                Some(width) => min + stream.below(width),
                None => stream.bits(),
            },
        }
    }

    /// The smallest value that can be drawn.
    pub fn min(self) -> u64 {
        match self {
            Distribution::Fixed(value) => value,
            Distribution::Uniform { min, .. } => min,
        }
    }

    /// The largest value that can be drawn.
    pub fn max(self) -> u64 {
        match self {
            Distribution::Fixed(value) => value,
            Distribution::Uniform { max, .. } => max,
        }
    }

    /// The expected value.
    pub fn mean(self) -> f64 {
        self.min() as f64 / 2.0 + self.max() as f64 / 2.0
    }
}

/// A law of times: pauses, say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeLaw {
    /// Always this time. Draws nothing from the stream.
    Fixed(Duration),
    /// Every time from `min` to `max` equally often. [`TimeLaw::uniform`] makes one.
    Uniform {
        /// Shortest time.
        min: Duration,
        /// Longest time, at least `min`.
        max: Duration,
    },
    /// Exponential times of this mean: the pauses of a Poisson process.
    Exponential {
        /// The mean.
        mean: Duration,
    },
}

impl TimeLaw {
    /// Times from `min` to `max`; `None` if `min` is above `max`.
    pub fn uniform(min: Duration, max: Duration) -> Option<TimeLaw> {
        (min <= max).then_some(TimeLaw::Uniform { min, max })
    }

    /// One time, in whole nanoseconds.
    pub fn sample(self, stream: &mut Stream) -> Duration {
        match self {
            TimeLaw::Fixed(time) => time,
            TimeLaw::Uniform { min, max } => {
                let width = u64::try_from(max.saturating_sub(min).as_nanos()).unwrap_or(u64::MAX);
                min + Duration::from_nanos(stream.below(width.saturating_add(1)))
            }
            // f64 to integer casts saturate.
            TimeLaw::Exponential { mean } => {
                Duration::from_nanos(libm::rint(stream.exponential() * mean.as_nanos() as f64) as u64)
            }
        }
    }

    /// The expected time.
    pub fn mean(self) -> Duration {
        match self {
            TimeLaw::Fixed(time) | TimeLaw::Exponential { mean: time } => time,
            TimeLaw::Uniform { min, max } => min / 2 + max / 2,
        }
    }
}

/// A standard normal value. Box and Muller, "A Note on the Generation of Random Normal Deviates" (1958): two draws
/// a value, none rejected, so that streams stay in step whatever the value.
pub fn sample_normal(stream: &mut Stream) -> f64 {
    let radius = libm::sqrt(2.0 * stream.exponential());
    radius * libm::cos(std::f64::consts::TAU * stream.unit())
}

/// A gamma value of scale 1 and the given shape, above 0. Marsaglia and Tsang, "A Simple Method for Generating Gamma
/// Variables" (2000), with their boost for shapes below 1.
pub fn sample_gamma(shape: f64, stream: &mut Stream) -> f64 {
    if shape < 1.0 {
        // 1 − unit is never 0.
        let boost = libm::pow(1.0 - stream.unit(), 1.0 / shape);
        return sample_gamma(shape + 1.0, stream) * boost;
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / libm::sqrt(9.0 * d);
    loop {
        let x = sample_normal(stream);
        let v = (1.0 + c * x).powi(3);
        if v > 0.0 && libm::log(1.0 - stream.unit()) < 0.5 * x * x + d - d * v + d * libm::log(v) {
            return d * v;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::Seed;

    #[test]
    fn a_fixed_distribution_gives_its_value_and_leaves_the_stream_alone() {
        let mut stream = Seed(1).stream("lengths", "w");
        let mut untouched = Seed(1).stream("lengths", "w");
        assert_eq!(Distribution::Fixed(1024).sample(&mut stream), 1024);
        assert_eq!(stream.bits(), untouched.bits());
        assert_eq!(Distribution::Fixed(1024).mean(), 1024.0);
    }

    #[test]
    fn uniform_draws_of_a_seed_are_pinned() {
        let uniform = Distribution::uniform(64, 512).unwrap();
        let mut stream = Seed(7).stream("lengths", "documents");
        let draws = (0..6).map(|_| uniform.sample(&mut stream)).collect::<Vec<_>>();
        insta::assert_compact_debug_snapshot!(draws, @"[267, 176, 292, 160, 140, 422]");
    }

    #[test]
    fn a_uniform_distribution_reaches_every_value_equally_often() {
        let uniform = Distribution::uniform(3, 7).unwrap();
        let mut stream = Seed(2).stream("lengths", "w");
        let mut counts = [0_u32; 10];
        for _ in 0..50_000 {
            counts[uniform.sample(&mut stream) as usize] += 1;
        }
        assert!(counts[3..=7].iter().all(|count| (9_500..10_500).contains(count)), "{counts:?}");
        assert_eq!(counts.iter().sum::<u32>(), 50_000);
        assert_eq!(uniform.mean(), 5.0);
    }

    #[test]
    fn impossible_bounds_are_refused_and_the_widest_are_not() {
        assert_eq!(Distribution::uniform(2, 1), None);
        assert!(Distribution::uniform(5, 5).is_some());
        let widest = Distribution::uniform(0, u64::MAX).unwrap();
        widest.sample(&mut Seed(1).stream("lengths", "w"));
    }

    #[test]
    fn times_of_a_seed_are_pinned_and_have_their_mean() {
        let ms = Duration::from_millis;
        let laws = [
            TimeLaw::Fixed(ms(5)),
            TimeLaw::uniform(ms(1), ms(9)).unwrap(),
            TimeLaw::Exponential { mean: ms(5) },
        ];
        let first = laws.map(|law| law.sample(&mut Seed(7).stream("think", "w")).as_nanos());
        insta::assert_compact_debug_snapshot!(first, @"[5000000, 7211391, 7490015]");
        for law in laws {
            let mut stream = Seed(3).stream("think", "w");
            let sum: Duration = (0..20_000).map(|_| law.sample(&mut stream)).sum();
            let mean_ms = sum.as_secs_f64() * 1e3 / 20_000.0;
            assert!((mean_ms - 5.0).abs() < 0.1, "{law:?}: {mean_ms} ms");
            assert_eq!(law.mean(), ms(5));
        }
        assert_eq!(TimeLaw::uniform(ms(2), ms(1)), None);
    }

    proptest::proptest! {
        #[test]
        fn draws_stay_within_bounds(min: u64, width: u64, seed: u64) {
            let uniform = Distribution::uniform(min, min.saturating_add(width)).unwrap();
            let mut stream = Seed(seed).stream("lengths", "w");
            for _ in 0..20 {
                let value = uniform.sample(&mut stream);
                proptest::prop_assert!((uniform.min()..=uniform.max()).contains(&value));
            }
        }
    }
}
