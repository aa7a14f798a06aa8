//! Arrival processes: when load is due, as pure iterators over offsets from a phase's start.
//!
//! The true process and nothing else: no rescaling to hit a count, no ticks, no re-anchoring. Each offset is
//! computed from the sum of all gaps so far (or from its index), so that rounding to nanoseconds never adds up.

use std::time::Duration;

use crate::seed::Stream;
use crate::units::Rate;

/// How sessions arrive in an open loop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Process {
    /// Independent exponential gaps of mean 1 / rate. The first arrival is one gap after the start.
    Poisson {
        /// Mean arrivals per second.
        rate: Rate,
    },
    /// Equal gaps of 1 / rate, the first arrival at the start.
    Constant {
        /// Arrivals per second.
        rate: Rate,
    },
}

impl Process {
    /// The offsets of all arrivals, ascending and without end. `stream` is drawn from by random processes only.
    pub fn offsets(self, stream: Stream) -> Offsets {
        Offsets { process: self, stream, index: 0, elapsed_s: 0.0 }
    }

    /// Expected arrivals in `duration`.
    pub fn expected(self, duration: Duration) -> f64 {
        match self {
            Process::Poisson { rate } | Process::Constant { rate } => {
                rate.as_per_second() * duration.as_secs_f64()
            }
        }
    }

    /// Arrivals per second.
    pub fn rate(self) -> Rate {
        match self {
            Process::Poisson { rate } | Process::Constant { rate } => rate,
        }
    }
}

/// Iterator of [`Process::offsets`].
#[derive(Clone)]
pub struct Offsets {
    process: Process,
    stream: Stream,
    index: u64,
    elapsed_s: f64,
}

impl Iterator for Offsets {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let index = self.index;
        self.index += 1;
        let at_s = match self.process {
            Process::Constant { rate } => index as f64 / rate.as_per_second(),
            Process::Poisson { rate } => {
                self.elapsed_s += self.stream.exponential() / rate.as_per_second();
                self.elapsed_s
            }
        };
        // f64 to integer casts saturate, so an offset past the end of time stays there.
        Some(Duration::from_nanos(libm::rint(at_s * 1e9) as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::Seed;

    fn poisson(per_second: f64, seed: u64) -> Offsets {
        let rate = Rate::per_second(per_second).unwrap();
        Process::Poisson { rate }.offsets(Seed(seed).stream("arrivals", "steady"))
    }

    #[test]
    fn constant_offsets_are_multiples_of_the_gap_and_never_drift() {
        let rate = Rate::per_second(3.0).unwrap();
        let mut offsets = Process::Constant { rate }.offsets(Seed(1).stream("arrivals", "steady"));
        assert_eq!(offsets.next(), Some(Duration::ZERO));
        assert_eq!(offsets.next(), Some(Duration::from_nanos(333_333_333)));
        assert_eq!(offsets.nth(2_999_997), Some(Duration::from_nanos(999_999_666_666_667)));
        assert_eq!(offsets.next(), Some(Duration::from_secs(1_000_000)));
    }

    #[test]
    fn poisson_offsets_of_a_seed_are_pinned() {
        let offsets = poisson(20.0, 7).take(4).map(|offset| offset.as_nanos()).collect::<Vec<_>>();
        insta::assert_compact_debug_snapshot!(offsets, @"[57728601, 319019454, 347447248, 380306343]");
    }

    #[test]
    fn equal_seeds_give_equal_offsets_and_other_seeds_others() {
        let offsets = |seed| poisson(20.0, seed).take(200).collect::<Vec<_>>();
        assert_eq!(offsets(7), offsets(7));
        assert_ne!(offsets(7), offsets(8));
    }

    /// Mean, coefficient of variation, and Kolmogorov–Smirnov distance from the exponential at the 1 % level.
    #[test]
    fn poisson_gaps_are_exponential() {
        let (n, rate) = (20_000, 50.0);
        let offsets = poisson(rate, 3).take(n).map(|offset| offset.as_secs_f64()).collect::<Vec<_>>();
        let mut gaps = offsets.windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<_>>();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean * rate - 1.0).abs() < 0.02, "mean gap {mean}");
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.03, "cv {}", variance.sqrt() / mean);
        gaps.sort_unstable_by(f64::total_cmp);
        let distance = gaps.iter().enumerate().map(|(i, gap)| {
            let law = 1.0 - (-gap * rate).exp();
            let (below, above) = (i as f64 / gaps.len() as f64, (i + 1) as f64 / gaps.len() as f64);
            (law - below).abs().max((above - law).abs())
        });
        let distance = distance.fold(0.0, f64::max);
        assert!(distance < 1.628 / (gaps.len() as f64).sqrt(), "distance {distance}");
    }

    #[test]
    fn counts_per_second_have_dispersion_one() {
        let mut counts = vec![0.0; 1_000];
        for offset in poisson(20.0, 5).take_while(|offset| offset.as_secs() < 1_000) {
            counts[offset.as_secs() as usize] += 1.0;
        }
        let mean = counts.iter().sum::<f64>() / 1e3;
        let variance = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / 1e3;
        assert!((variance / mean - 1.0).abs() < 0.15, "dispersion {}", variance / mean);
    }
}
