//! How many requests are open at once, if each takes a stated time.
//!
//! Little's law gives the mean. Arrivals that are independent of one another leave a Poisson number of requests
//! open whatever the law of their service times (M/G/∞), so its upper 97.5 % is what a peak comes to.

use std::time::Duration;

use super::amounts::middle_of_poisson;
use super::law::draws_times;
use crate::arrival::Process;
use crate::scenario::Load;

/// Requests of one load that are open at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct InFlight {
    /// On average, while load comes at its highest rate.
    pub(super) mean: f64,
    /// At the peak, about.
    pub(super) peak: u64,
    /// Whether the peak is what `max_in_flight` allows: what is due beyond it is dropped or held.
    pub(super) is_capped: bool,
    /// What they hold of the server's memory for keys and values; `None` where lengths are not known in tokens.
    pub(super) held: Option<HeldTokens>,
}

/// Tokens of prompts and answers in a server's memory at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HeldTokens {
    /// On average.
    pub(super) mean: u64,
    /// At the peak, about, every answer at its end.
    pub(super) peak: u64,
}

/// Of `load`, whose sessions have `turns` on average, each request taking `service`.
pub(super) fn in_flight(load: &Load, turns: f64, service: Duration) -> InFlight {
    let (process, most) = match load {
        Load::Closed { users, .. } => {
            return InFlight {
                mean: f64::from(*users),
                peak: u64::from(*users),
                is_capped: false,
                held: None,
            };
        }
        Load::Open { process, max_in_flight, .. } => (process, max_in_flight.map(u64::from)),
    };
    let (mean, peak) = match process {
        Process::Recorded(times) => {
            let peak = most_within(times, service);
            let span = times.last().map_or(0.0, Duration::as_secs_f64);
            let mean =
                if span > 0.0 { times.len() as f64 * service.as_secs_f64() / span } else { peak as f64 };
            ((mean * turns).min(peak as f64 * turns), (peak as f64 * turns).ceil() as u64)
        }
        _ => {
            let rate = process.peak_per_second().unwrap_or_default();
            let mean = rate * turns * service.as_secs_f64();
            let peak = if draws_times(load) { middle_of_poisson(mean).1 } else { mean.ceil() as u64 };
            (mean, peak)
        }
    };
    match most {
        Some(most) if most < peak => {
            InFlight { mean: mean.min(most as f64), peak: most, is_capped: true, held: None }
        }
        _ => InFlight { mean, peak, is_capped: false, held: None },
    }
}

/// Most of the ascending `times` that lie within `span` of one another.
fn most_within(times: &[Duration], span: Duration) -> u64 {
    let mut first = 0;
    let mut most = 0;
    for (last, time) in times.iter().enumerate() {
        while time.saturating_sub(times[first]) >= span && first < last {
            first += 1;
        }
        most = most.max(last + 1 - first);
    }
    most as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Rate;

    fn open(process: Process, max_in_flight: Option<u32>) -> InFlight {
        in_flight(&Load::open(process, max_in_flight), 1.0, Duration::from_secs(4))
    }

    #[test]
    fn open_requests_follow_littles_law_and_peak_above_it() {
        let rate = Rate::per_second(6.0).unwrap();
        let even = open(Process::Constant { rate }, None);
        assert_eq!(even, InFlight { mean: 24.0, peak: 24, is_capped: false, held: None });
        let drawn = open(Process::Poisson { rate }, None);
        assert_eq!(drawn, InFlight { mean: 24.0, peak: 34, is_capped: false, held: None });
        let capped = open(Process::Poisson { rate }, Some(20));
        assert_eq!(capped, InFlight { mean: 20.0, peak: 20, is_capped: true, held: None });
        let users = in_flight(&Load::closed(32), 1.0, Duration::from_secs(4));
        assert_eq!(users, InFlight { mean: 32.0, peak: 32, is_capped: false, held: None });
    }

    #[test]
    fn recorded_times_peak_where_they_crowd() {
        let times = [0, 1, 2, 3, 20, 40].map(Duration::from_secs);
        let seen = open(Process::Recorded(times.into()), None);
        assert_eq!((seen.peak, seen.mean), (4, 0.6));
        assert_eq!(most_within(&[], Duration::from_secs(1)), 0);
    }
}
