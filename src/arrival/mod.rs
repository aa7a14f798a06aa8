//! Arrival processes: when load is due, as pure iterators over offsets from a phase's start.
//!
//! The true process and nothing else: no rescaling to hit a count, no ticks, no re-anchoring. Each offset is
//! computed from the sum of all gaps so far (or from its index), so that rounding to nanoseconds never adds up.

mod curve;

use std::sync::Arc;
use std::time::Duration;

pub use curve::Curve;

use crate::distribution::sample_gamma;
use crate::seed::Stream;
use crate::units::Rate;

/// How sessions arrive in an open loop.
#[derive(Clone, Debug, PartialEq)]
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
    /// Independent gamma gaps of mean 1 / rate: burstier than Poisson above a `cv` of 1, more even below it.
    Gamma {
        /// Mean arrivals per second.
        rate: Rate,
        /// Coefficient of variation of the gaps; [`Process::gamma`] refuses what cannot be.
        cv: f64,
    },
    /// A rate that changes with time; ends with its curve.
    Varying {
        /// The rate over time.
        curve: Arc<Curve>,
        /// The law of arrivals under it.
        arrivals: Arrivals,
    },
    /// Times that were recorded: offsets from the start, ascending.
    Recorded(Arc<[Duration]>),
}

/// The law of arrivals under a rate that changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrivals {
    /// Independent of one another.
    Poisson,
    /// As even as the rate allows, the first at the start.
    Constant,
}

impl Process {
    /// Gamma arrivals; `None` unless `cv` is from 0.01 to 100.
    pub fn gamma(rate: Rate, cv: f64) -> Option<Process> {
        (0.01..=100.0).contains(&cv).then_some(Process::Gamma { rate, cv })
    }

    /// The offsets of all arrivals, ascending. Without end but for curves and recorded times. `stream` is drawn
    /// from by random processes only.
    pub fn offsets(&self, stream: Stream) -> Offsets {
        Offsets { process: self.clone(), stream, index: 0, elapsed: 0.0 }
    }

    /// Expected arrivals in the first `duration`.
    pub fn expected(&self, duration: Duration) -> f64 {
        match self {
            Process::Poisson { rate } | Process::Constant { rate } | Process::Gamma { rate, .. } => {
                rate.as_per_second() * duration.as_secs_f64()
            }
            Process::Varying { curve, .. } => curve.expected(duration),
            Process::Recorded(offsets) => offsets.partition_point(|offset| *offset < duration) as f64,
        }
    }

    /// The largest number of arrivals per second it is meant to reach; `None` for recorded times.
    pub fn peak_per_second(&self) -> Option<f64> {
        match self {
            Process::Poisson { rate } | Process::Constant { rate } | Process::Gamma { rate, .. } => {
                Some(rate.as_per_second())
            }
            Process::Varying { curve, .. } => Some(curve.peak()),
            Process::Recorded(_) => None,
        }
    }
}

/// Iterator of [`Process::offsets`].
#[derive(Clone)]
pub struct Offsets {
    process: Process,
    stream: Stream,
    index: u64,
    /// Sum of all gaps so far: in seconds, or under a changing rate in arrivals of a process of rate 1.
    elapsed: f64,
}

impl Iterator for Offsets {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let index = self.index;
        self.index += 1;
        let at_s = match &self.process {
            Process::Constant { rate } => index as f64 / rate.as_per_second(),
            Process::Poisson { rate } => {
                self.elapsed += self.stream.exponential() / rate.as_per_second();
                self.elapsed
            }
            Process::Gamma { rate, cv } => {
                let shape = 1.0 / (cv * cv);
                self.elapsed += sample_gamma(shape, &mut self.stream) / shape / rate.as_per_second();
                self.elapsed
            }
            Process::Varying { curve, arrivals: Arrivals::Constant } => curve.time_of(index as f64)?,
            Process::Varying { curve, arrivals: Arrivals::Poisson } => {
                self.elapsed += self.stream.exponential();
                curve.time_of(self.elapsed)?
            }
            Process::Recorded(offsets) => return offsets.get(index as usize).copied(),
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

    /// Mean, coefficient of variation, correlation of neighbours, and Kolmogorov–Smirnov distance from the exponential
    /// at the 1 % level.
    #[test]
    fn poisson_gaps_are_exponential() {
        let (n, rate) = (20_000, 50.0);
        let offsets = poisson(rate, 3).take(n).map(|offset| offset.as_secs_f64()).collect::<Vec<_>>();
        let mut gaps = offsets.windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<_>>();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean * rate - 1.0).abs() < 0.02, "mean gap {mean}");
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.03, "cv {}", variance.sqrt() / mean);
        for lag in [1, 2, 3, 10] {
            let pairs = gaps.iter().zip(&gaps[lag..]);
            let covariance = pairs.map(|(one, other)| (one - mean) * (other - mean)).sum::<f64>();
            let correlation = covariance / gaps.len() as f64 / variance;
            // Three standard errors of independent gaps.
            assert!(correlation.abs() < 3.0 / (n as f64).sqrt(), "lag {lag}: correlation {correlation}");
        }
        gaps.sort_unstable_by(f64::total_cmp);
        let distance = gaps.iter().enumerate().map(|(i, gap)| {
            let law = 1.0 - (-gap * rate).exp();
            let (below, above) = (i as f64 / gaps.len() as f64, (i + 1) as f64 / gaps.len() as f64);
            (law - below).abs().max((above - law).abs())
        });
        let distance = distance.fold(0.0, f64::max);
        assert!(distance < 1.628 / (gaps.len() as f64).sqrt(), "distance {distance}");
    }

    fn gaps_of(process: &Process, seed: u64, count: usize) -> Vec<f64> {
        let offsets = process.offsets(Seed(seed).stream("arrivals", "steady"));
        let offsets: Vec<f64> = offsets.take(count + 1).map(|offset| offset.as_secs_f64()).collect();
        offsets.windows(2).map(|pair| pair[1] - pair[0]).collect()
    }

    #[test]
    fn gamma_gaps_have_the_mean_and_the_cv_asked_for() {
        for cv in [0.1, 0.5, 1.0, 2.0, 4.0] {
            let process = Process::gamma(Rate::per_second(50.0).unwrap(), cv).unwrap();
            let gaps = gaps_of(&process, 11, 40_000);
            let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
            let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
            assert!((mean * 50.0 - 1.0).abs() < 0.02 * cv.max(1.0), "cv {cv}: mean {mean}");
            assert!((variance.sqrt() / mean / cv - 1.0).abs() < 0.05, "cv {cv}: {}", variance.sqrt() / mean);
        }
        assert_eq!(Process::gamma(Rate::per_second(1.0).unwrap(), 0.0), None);
        assert_eq!(Process::gamma(Rate::per_second(1.0).unwrap(), f64::NAN), None);
    }

    #[test]
    fn gamma_offsets_of_a_seed_are_pinned() {
        let process = Process::gamma(Rate::per_second(20.0).unwrap(), 2.0).unwrap();
        let offsets = process.offsets(Seed(7).stream("arrivals", "steady"));
        let offsets: Vec<u128> = offsets.take(4).map(|offset| offset.as_nanos()).collect();
        insta::assert_compact_debug_snapshot!(offsets, @"[4806750, 4880043, 5351356, 20984104]");
    }

    #[test]
    fn a_poisson_ramp_has_the_count_of_its_integral_in_every_part() {
        let curve = Arc::new(Curve::new(&[(Duration::from_secs(1_000), 10.0, 50.0)]).unwrap());
        let ramp = Process::Varying { curve: Arc::clone(&curve), arrivals: Arrivals::Poisson };
        let offsets: Vec<Duration> = ramp.offsets(Seed(2).stream("arrivals", "ramp")).collect();
        for part in 0..10 {
            let (begin, end) = (Duration::from_secs(part * 100), Duration::from_secs((part + 1) * 100));
            let expected = curve.expected(end) - curve.expected(begin);
            let count = offsets.iter().filter(|at| (begin..end).contains(*at)).count() as f64;
            assert!((count - expected).abs() < 4.0 * expected.sqrt(), "part {part}: {count} of {expected}");
        }
        assert_eq!(ramp.expected(Duration::from_secs(1_000)), 30_000.0);
    }

    #[test]
    fn a_constant_ramp_is_exact_and_ends_with_its_curve() {
        let curve = Curve::new(&[(Duration::from_secs(2), 0.0, 4.0)]).unwrap();
        let ramp = Process::Varying { curve: Arc::new(curve), arrivals: Arrivals::Constant };
        // Λ(t) = t², so the n-th arrival is due at √n.
        let offsets: Vec<u128> =
            ramp.offsets(Seed(1).stream("arrivals", "ramp")).map(|at| at.as_nanos()).collect();
        assert_eq!(offsets, [0, 1_000_000_000, 1_414_213_562, 1_732_050_808, 2_000_000_000]);
    }

    #[test]
    fn recorded_times_are_given_back_as_they_are() {
        let times: Vec<Duration> = [0, 5, 5, 9].map(Duration::from_millis).into();
        let process = Process::Recorded(times.clone().into());
        assert_eq!(process.offsets(Seed(1).stream("arrivals", "t")).collect::<Vec<_>>(), times);
        assert_eq!(process.expected(Duration::from_millis(9)), 3.0);
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
