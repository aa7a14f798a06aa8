//! How many requests a load has by the law of its arrivals.

use std::time::Duration;

use super::amounts::{Count, middle_of_poisson};
use crate::arrival::{Arrivals, Process};
use crate::scenario::Load;

/// Where 95 of 100 values of a normal law lie, in standard deviations from its mean.
const MIDDLE: f64 = 1.96;

/// The requests that `load` starts in `time`, each session having `turns` on average; `None` where that depends
/// on the server.
///
/// Counts of a renewal process have the variance cv²·mean in the long run (Cox, Renewal Theory, 1962, §3.3); turns
/// are taken as they are on average.
pub(super) fn requests(load: &Load, time: Duration, turns: f64) -> Option<Count> {
    let Load::Open { process, .. } = load else { return None };
    let sessions = process.expected(time);
    let between = |low: f64, high: f64| Count::Between {
        expected: (sessions * turns).round() as u64,
        low: (low * turns).floor() as u64,
        high: (high * turns).ceil() as u64,
    };
    Some(match process {
        Process::Gamma { cv, .. } => {
            let spread = MIDDLE * cv * sessions.sqrt();
            between((sessions - spread).max(0.0), sessions + spread)
        }
        _ if draws_times(load) => {
            let (low, high) = middle_of_poisson(sessions);
            between(low as f64, high as f64)
        }
        _ if turns == 1.0 => Count::Exactly(whole_gaps(sessions)),
        _ => Count::About((whole_gaps(sessions) as f64 * turns).round() as u64),
    })
}

/// Whether another seed gives other times.
pub(super) fn draws_times(load: &Load) -> bool {
    let Load::Open { process, .. } = load else { return false };
    match process {
        Process::Poisson { .. } | Process::Gamma { .. } => true,
        Process::Varying { arrivals, .. } => *arrivals == Arrivals::Poisson,
        Process::Constant { .. } | Process::Recorded(_) => false,
    }
}

/// Arrivals at equal distances in a time of `expected` of them, one at its start. A product that misses a whole
/// number by its rounding is that number.
fn whole_gaps(expected: f64) -> u64 {
    let nearest = expected.round();
    let is_whole = (expected - nearest).abs() <= expected * 1e-12;
    if is_whole { nearest as u64 } else { expected.ceil() as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::Seed;
    use crate::units::Rate;

    #[test]
    fn rounding_adds_no_arrival() {
        assert_eq!(whole_gaps(0.1 * 30.0), 3);
        assert_eq!([whole_gaps(0.0), whole_gaps(2.5), whole_gaps(1e7)], [0, 3, 10_000_000]);
    }

    #[test]
    fn bursty_arrivals_lie_where_the_law_says_for_nineteen_seeds_of_twenty() {
        let process = Process::gamma(Rate::per_second(10.0).unwrap(), 3.0).unwrap();
        let time = Duration::from_secs(200);
        let load = Load::open(process.clone(), None);
        let Some(Count::Between { expected, low, high }) = requests(&load, time, 1.0) else {
            panic!("no range")
        };
        assert_eq!((expected, low, high), (2_000, 1_737, 2_263));
        let within = (0..200).filter(|seed| {
            let offsets = process.offsets(Seed(*seed).stream("arrivals", "steady"));
            let count = offsets.take_while(|offset| *offset < time).count() as u64;
            (low..=high).contains(&count)
        });
        let within = within.count();
        assert!((180..=198).contains(&within), "{within} of 200");
    }
}
