//! Distributions of lengths and counts, and how they are sampled.
//!
//! The samplers are ours: what a library makes of the same bits may change between releases, and a scenario
//! with its seed must give the same lengths for ever.

use std::sync::Arc;
use std::time::Duration;

use crate::seed::{Seed, Stream};

/// A law of whole numbers: tokens, say.
#[derive(Clone, Debug, PartialEq)]
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
    /// A law of real numbers, rounded. [`Distribution::drawn`] makes one.
    Drawn {
        /// The law.
        law: Law,
        /// What its values lie between: those outside are drawn again.
        bounds: Bounds,
    },
    /// `min` to `max`, value k in proportion to k to the power of −`exponent`. [`Distribution::zipf`] makes one.
    Zipf {
        /// How steeply it falls, above 0.
        exponent: f64,
        /// Smallest value, at least 1.
        min: u64,
        /// Largest value, at least `min`.
        max: u64,
    },
    /// Values and their weights. [`Distribution::values`] makes one.
    Values(Arc<[(u64, f64)]>),
    /// Laws and their weights. [`Distribution::mix`] makes one.
    Mix(Arc<[(Distribution, f64)]>),
}

/// A law of real numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Law {
    /// The bell curve.
    Normal {
        /// Its mean.
        mean: f64,
        /// Its standard deviation.
        sd: f64,
    },
    /// Values whose logarithms follow a bell curve: most are short, a few very long.
    Lognormal {
        /// Half of the values lie below.
        median: f64,
        /// Standard deviation of their natural logarithms.
        sigma: f64,
    },
    /// Sums of exponential values.
    Gamma {
        /// Its mean.
        mean: f64,
        /// Standard deviation divided by mean.
        cv: f64,
    },
}

/// What values lie between, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Smallest.
    pub min: u64,
    /// Largest.
    pub max: u64,
}

/// The standard normal value below which 99 of 100 lie.
const NORMAL_P99: f64 = 2.326_347_874_040_841;
/// Draws that show how much of a law lies within bounds, and its mean.
const TRIALS: u32 = 10_000;
/// The least share of draws that bounds must take, or a run would be busy drawing.
const LEAST_TAKEN: f64 = 0.01;
/// Draws after which the nearer bound is taken: with a share of one in a hundred it is never seen to happen.
const MOST_DRAWS: u32 = 10_000;

impl Law {
    /// The log-normal law of which half lies below `median`, and 99 of 100 below `p99`.
    pub fn lognormal_by_p99(median: f64, p99: f64) -> Law {
        Law::Lognormal { median, sigma: libm::log(p99 / median) / NORMAL_P99 }
    }

    fn sample(self, stream: &mut Stream) -> f64 {
        match self {
            Law::Normal { mean, sd } => mean + sd * sample_normal(stream),
            Law::Lognormal { median, sigma } => median * libm::exp(sigma * sample_normal(stream)),
            Law::Gamma { mean, cv: 0.0 } => mean,
            Law::Gamma { mean, cv } => mean * cv * cv * sample_gamma(1.0 / (cv * cv), stream),
        }
    }

    /// A value within `bounds`; for one outside, as an error, the bound that is nearer.
    fn draw(self, bounds: Bounds, stream: &mut Stream) -> Result<u64, u64> {
        let value = libm::rint(self.sample(stream));
        let (min, max) = (bounds.min as f64, bounds.max as f64);
        match value {
            low if low < min => Err(bounds.min),
            high if high > max => Err(bounds.max),
            // Within bounds, and a cast to an integer saturates.
            value => Ok((value as u64).clamp(bounds.min, bounds.max)),
        }
    }
}

impl Distribution {
    /// Values from `min` to `max`, both included; `None` if `min` is above `max`.
    pub fn uniform(min: u64, max: u64) -> Option<Distribution> {
        (min <= max).then_some(Distribution::Uniform { min, max })
    }

    /// A law whose values outside `bounds` are drawn again; `None` where fewer than one draw in a hundred would
    /// be taken.
    pub fn drawn(law: Law, bounds: Bounds) -> Option<Distribution> {
        let mut stream = Seed(0).stream("trial", "distribution");
        let taken = (0..TRIALS).filter(|_| law.draw(bounds, &mut stream).is_ok()).count();
        let is_enough = taken as f64 >= LEAST_TAKEN * f64::from(TRIALS);
        (bounds.min <= bounds.max && is_enough).then_some(Distribution::Drawn { law, bounds })
    }

    /// Values from `min` to `max`, both included, in proportion to their power of −`exponent`; `None` where these
    /// make no sense: `min` of 0 or above `max`, or an exponent that is not above 0.
    pub fn zipf(exponent: f64, min: u64, max: u64) -> Option<Distribution> {
        let is_law = exponent.is_finite() && exponent > 0.0 && 0 < min && min <= max;
        is_law.then_some(Distribution::Zipf { exponent, min, max })
    }

    /// Each value in proportion to its weight; `None` where no weight is above 0, or one is below.
    pub fn values(weighted: &[(u64, f64)]) -> Option<Distribution> {
        is_weighted(weighted.iter().map(|(_, weight)| *weight)).then(|| Distribution::Values(weighted.into()))
    }

    /// Each law in proportion to its weight; `None` where no weight is above 0, or one is below.
    pub fn mix(weighted: Vec<(Distribution, f64)>) -> Option<Distribution> {
        is_weighted(weighted.iter().map(|(_, weight)| *weight)).then(|| Distribution::Mix(weighted.into()))
    }

    /// One value.
    pub fn sample(&self, stream: &mut Stream) -> u64 {
        match self {
            Distribution::Fixed(value) => *value,
            Distribution::Uniform { min, max } => match max.saturating_sub(*min).checked_add(1) {
                Some(width) => min + stream.below(width),
                None => stream.bits(),
            },
            Distribution::Drawn { law, bounds } => {
                let mut nearer = bounds.min;
                for _ in 0..MOST_DRAWS {
                    match law.draw(*bounds, stream) {
                        Ok(value) => return value,
                        Err(bound) => nearer = bound,
                    }
                }
                nearer
            }
            Distribution::Zipf { exponent, min, max } => sample_zipf(*exponent, *min, *max, stream),
            Distribution::Values(weighted) => *choose(weighted, stream),
            Distribution::Mix(weighted) => choose(weighted, stream).sample(stream),
        }
    }

    /// The smallest value that can be drawn.
    pub fn min(&self) -> u64 {
        match self {
            Distribution::Fixed(value) => *value,
            Distribution::Uniform { min, .. } | Distribution::Zipf { min, .. } => *min,
            Distribution::Drawn { bounds, .. } => bounds.min,
            Distribution::Values(weighted) => drawn(weighted).copied().min().unwrap_or_default(),
            Distribution::Mix(weighted) => drawn(weighted).map(Distribution::min).min().unwrap_or_default(),
        }
    }

    /// The largest value that can be drawn.
    pub fn max(&self) -> u64 {
        match self {
            Distribution::Fixed(value) => *value,
            Distribution::Uniform { max, .. } | Distribution::Zipf { max, .. } => *max,
            Distribution::Drawn { bounds, .. } => bounds.max,
            Distribution::Values(weighted) => drawn(weighted).copied().max().unwrap_or_default(),
            Distribution::Mix(weighted) => drawn(weighted).map(Distribution::max).max().unwrap_or_default(),
        }
    }

    /// The expected value: exact for fixed, uniform and weighted values, from 10,000 draws for other laws.
    pub fn mean(&self) -> f64 {
        match self {
            Distribution::Fixed(_) | Distribution::Uniform { .. } => {
                self.min() as f64 / 2.0 + self.max() as f64 / 2.0
            }
            Distribution::Values(weighted) => {
                weighted_mean(weighted.iter().map(|(value, weight)| (*value as f64, *weight)))
            }
            Distribution::Mix(weighted) => {
                weighted_mean(weighted.iter().map(|(law, weight)| (law.mean(), *weight)))
            }
            Distribution::Drawn { .. } | Distribution::Zipf { .. } => {
                let mut stream = Seed(0).stream("trial", "distribution");
                (0..TRIALS).map(|_| self.sample(&mut stream) as f64).sum::<f64>() / f64::from(TRIALS)
            }
        }
    }
}

/// Whether weights are at least 0 each, and above 0 together.
fn is_weighted(weights: impl Iterator<Item = f64> + Clone) -> bool {
    weights.clone().all(|weight| weight.is_finite() && weight >= 0.0) && weights.sum::<f64>() > 0.0
}

/// Those that can be drawn.
fn drawn<T>(weighted: &[(T, f64)]) -> impl Iterator<Item = &T> {
    weighted.iter().filter(|(_, weight)| *weight > 0.0).map(|(value, _)| value)
}

/// The first whose share of the unit interval, in order, reaches past the draw. There must be a weight above 0.
fn choose<'a, T>(weighted: &'a [(T, f64)], stream: &mut Stream) -> &'a T {
    let total: f64 = weighted.iter().map(|(_, weight)| weight).sum();
    let mut left = stream.unit() * total;
    let mut last = &weighted[0].0;
    for (value, weight) in weighted.iter().filter(|(_, weight)| *weight > 0.0) {
        left -= weight;
        last = value;
        if left < 0.0 {
            break;
        }
    }
    // Rounding may leave a sliver; it belongs to the last that has any weight.
    last
}

fn weighted_mean(weighted: impl Iterator<Item = (f64, f64)>) -> f64 {
    let (sum, weights) =
        weighted.fold((0.0, 0.0), |(sum, weights), (value, weight)| (sum + value * weight, weights + weight));
    sum / weights
}

/// Rejection-inversion: Hörmann and Derflinger, "Rejection-Inversion to Generate Variates from Monotone Discrete
/// Distributions" (1996). Two or so draws a value, whatever the range.
fn sample_zipf(exponent: f64, min: u64, max: u64, stream: &mut Stream) -> u64 {
    // The integral of x to the power of −exponent, and its inverse; near an exponent of 1 both are logarithms.
    let is_one = (exponent - 1.0).abs() < 1e-9;
    let integral = |x: f64| match is_one {
        true => libm::log(x),
        false => (libm::pow(x, 1.0 - exponent) - 1.0) / (1.0 - exponent),
    };
    let inverse = |y: f64| match is_one {
        true => libm::exp(y),
        false => libm::pow(1.0 + y * (1.0 - exponent), 1.0 / (1.0 - exponent)),
    };
    let density = |x: f64| libm::pow(x, -exponent);
    let first = min as f64;
    // The first bar begins where the area left of its middle is its own height.
    let low = integral(first + 0.5) - density(first);
    let high = integral(max as f64 + 0.5);
    loop {
        let area = low + stream.unit() * (high - low);
        let value = libm::rint(inverse(area)).clamp(first, max as f64);
        if area >= integral(value + 0.5) - density(value) {
            return value as u64;
        }
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

    /// One of each kind.
    fn kinds() -> [(&'static str, Distribution); 8] {
        let bounds = Bounds { min: 100, max: 4_000 };
        let drawn = |law| Distribution::drawn(law, bounds).unwrap();
        let zipf = Distribution::zipf(1.1, 1, 1_000).unwrap();
        [
            ("normal", drawn(Law::Normal { mean: 1_000.0, sd: 300.0 })),
            ("lognormal", drawn(Law::Lognormal { median: 800.0, sigma: 0.8 })),
            ("lognormal by p99", drawn(Law::lognormal_by_p99(800.0, 3_000.0))),
            ("gamma", drawn(Law::Gamma { mean: 1_000.0, cv: 0.5 })),
            ("zipf", zipf.clone()),
            ("zipf of exponent 1", Distribution::zipf(1.0, 3, 50).unwrap()),
            ("values", Distribution::values(&[(128, 3.0), (4_096, 1.0), (9, 0.0)]).unwrap()),
            ("mix", Distribution::mix(vec![(Distribution::Fixed(7), 1.0), (zipf, 2.0)]).unwrap()),
        ]
    }

    #[test]
    fn draws_of_every_kind_are_pinned() {
        let draws = kinds().map(|(name, law)| {
            let mut stream = Seed(7).stream("lengths", "documents");
            format!("{name}: {:?}", [(); 5].map(|()| law.sample(&mut stream)))
        });
        insta::assert_snapshot!(draws.join("\n"), @r"
        normal: [1001, 1077, 1055, 799, 1563]
        lognormal: [802, 982, 927, 468, 3590]
        lognormal by p99: [801, 925, 888, 547, 2324]
        gamma: [918, 1085, 632, 987, 655]
        zipf: [9, 2, 13, 2, 1]
        zipf of exponent 1: [10, 5, 12, 5, 4]
        values: [128, 128, 128, 128, 128]
        mix: [2, 2, 7, 2, 177]
        ");
    }

    #[test]
    fn every_kind_has_the_moments_of_its_law() {
        let draws = |law: &Distribution| {
            let mut stream = Seed(5).stream("lengths", "w");
            let mut draws = (0..100_000).map(|_| law.sample(&mut stream)).collect::<Vec<_>>();
            draws.sort_unstable();
            draws
        };
        let wide = Bounds { min: 0, max: u64::MAX };
        let drawn = |law| draws(&Distribution::drawn(law, wide).unwrap());
        let near = |value: u64, expected: f64| {
            assert!((value as f64 / expected - 1.0).abs() < 0.03, "{value}, not {expected}");
        };
        let mean = |draws: &[u64]| draws.iter().sum::<u64>() as f64 / draws.len() as f64;
        let normal = drawn(Law::Normal { mean: 10_000.0, sd: 1_000.0 });
        near(normal[50_000], 10_000.0);
        near(normal[84_134], 11_000.0);
        let lognormal = drawn(Law::lognormal_by_p99(800.0, 6_000.0));
        near(lognormal[50_000], 800.0);
        near(lognormal[99_000], 6_000.0);
        let gamma = drawn(Law::Gamma { mean: 1_000.0, cv: 0.5 });
        near(mean(&gamma) as u64, 1_000.0);
        let variance = gamma.iter().map(|draw| (*draw as f64 - 1_000.0).powi(2)).sum::<f64>() / 1e5;
        near(variance.sqrt() as u64, 500.0);
        let zipf = draws(&Distribution::zipf(1.0, 1, 10).unwrap());
        let harmonic: f64 = (1..=10).map(|k| 1.0 / f64::from(k)).sum();
        for k in 1..=10_u32 {
            let count = zipf.iter().filter(|draw| **draw == u64::from(k)).count();
            near(count as u64, 1e5 / f64::from(k) / harmonic);
        }
        let values = draws(&Distribution::values(&[(1, 3.0), (5, 1.0)]).unwrap());
        near(values.iter().filter(|draw| **draw == 1).count() as u64, 75_000.0);
        for (name, law) in kinds() {
            assert!((mean(&draws(&law)) / law.mean() - 1.0).abs() < 0.06, "{name}");
        }
    }

    #[test]
    fn c097_lengths_span_what_the_scenario_says_and_nothing_else() {
        let mut stream = Seed(1).stream("lengths", "w");
        let spread = Distribution::uniform(800, 1_200).unwrap();
        let draws = (0..1_000).map(|_| spread.sample(&mut stream)).collect::<Vec<_>>();
        assert!(draws.iter().all(|draw| (800..=1_200).contains(draw)));
        let mean = draws.iter().sum::<u64>() as f64 / 1e3;
        assert!((mean - 1_000.0).abs() < 20.0, "{mean}");
        let none = Distribution::drawn(Law::Normal { mean: 1_000.0, sd: 0.0 }, Bounds { min: 1, max: 9_999 });
        assert!((0..1_000).all(|_| none.as_ref().unwrap().sample(&mut stream) == 1_000));
    }

    #[test]
    fn laws_that_cannot_be_are_refused() {
        let normal = Law::Normal { mean: 100.0, sd: 1.0 };
        assert_eq!(Distribution::drawn(normal, Bounds { min: 200, max: 300 }), None);
        assert_eq!(Distribution::drawn(normal, Bounds { min: 110, max: 90 }), None);
        assert!(Distribution::drawn(normal, Bounds { min: 100, max: 300 }).is_some());
        assert_eq!(Distribution::zipf(1.0, 0, 5), None);
        assert_eq!(Distribution::zipf(0.0, 1, 5), None);
        assert_eq!(Distribution::values(&[(1, 0.0)]), None);
        assert_eq!(Distribution::values(&[(1, 1.0), (2, -1.0)]), None);
        assert_eq!(Distribution::mix(Vec::new()), None);
    }

    proptest::proptest! {
        #[test]
        fn a_zipf_draw_lies_within_its_range(exponent in 0.01..5.0_f64, min in 1..1_000_u64, width in 0..100_000_u64, seed: u64) {
            let zipf = Distribution::zipf(exponent, min, min + width).unwrap();
            let mut stream = Seed(seed).stream("lengths", "w");
            for _ in 0..20 {
                proptest::prop_assert!((zipf.min()..=zipf.max()).contains(&zipf.sample(&mut stream)));
            }
        }

        #[test]
        fn every_draw_of_every_kind_lies_within_its_bounds(seed: u64) {
            let mut stream = Seed(seed).stream("lengths", "w");
            for (_, law) in kinds() {
                let value = law.sample(&mut stream);
                proptest::prop_assert!((law.min()..=law.max()).contains(&value));
            }
        }

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
