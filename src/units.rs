//! Times and amounts with their unit in the type.

use std::fmt;
use std::ops::{Add, Sub};
use std::time::Duration;

/// An instant: nanoseconds since the clock was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

impl Nanos {
    /// The instant the clock was made.
    pub const ZERO: Nanos = Nanos(0);
    /// Later than any instant a run can reach.
    pub const MAX: Nanos = Nanos(u64::MAX);

    /// Time from `earlier` to here; zero if `earlier` is later.
    pub fn since(self, earlier: Nanos) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// As whole microseconds from `origin`, rounded half to even; instants before `origin` give zero.
    ///
    /// Every instant of a result row is rounded once, by this, and every figure is computed from rounded
    /// instants, so that figures can be rebuilt from the files to the last digit.
    pub fn micros_from(self, origin: Nanos) -> Micros {
        Micros(round_half_even(self.0.saturating_sub(origin.0), 1_000))
    }
}

impl Add<Duration> for Nanos {
    type Output = Nanos;

    fn add(self, duration: Duration) -> Nanos {
        Nanos(self.0.saturating_add(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)))
    }
}

/// Whole microseconds: an instant from run start, or a difference of two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Micros(pub u64);

impl Micros {
    /// A measured span, rounded half to even.
    pub fn from_duration(duration: Duration) -> Micros {
        Micros(round_half_even(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX), 1_000))
    }

    /// As milliseconds.
    pub fn as_ms(self) -> f64 {
        self.0 as f64 / 1e3
    }

    /// As seconds.
    pub fn as_s(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// Writes seconds with six decimals: `12.000345`.
    pub fn display_s(self) -> impl fmt::Display {
        let Micros(us) = self;
        fmt::from_fn(move |f| write!(f, "{}.{:06}", us / 1_000_000, us % 1_000_000))
    }

    /// Writes milliseconds with three decimals: `12000.345`.
    pub fn display_ms(self) -> impl fmt::Display {
        let Micros(us) = self;
        fmt::from_fn(move |f| write!(f, "{}.{:03}", us / 1_000, us % 1_000))
    }
}

impl Sub for Micros {
    type Output = Micros;

    /// The difference; zero where the right side is larger.
    fn sub(self, earlier: Micros) -> Micros {
        Micros(self.0.saturating_sub(earlier.0))
    }
}

/// Events per second: finite and above zero.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Rate(f64);

impl Rate {
    /// A rate of `per_second` events; `None` unless it is finite and above zero.
    pub fn per_second(per_second: f64) -> Option<Rate> {
        (per_second.is_finite() && per_second > 0.0).then_some(Rate(per_second))
    }

    /// Events per second.
    pub fn as_per_second(self) -> f64 {
        self.0
    }
}

/// `value / unit`, ties to the even neighbour.
fn round_half_even(value: u64, unit: u64) -> u64 {
    let (whole, rest) = (value / unit, value % unit);
    match (rest * 2).cmp(&unit) {
        std::cmp::Ordering::Less => whole,
        std::cmp::Ordering::Greater => whole + 1,
        std::cmp::Ordering::Equal => whole + whole % 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_round_half_to_even_microseconds() {
        for (nanos, micros) in [(0, 0), (499, 0), (500, 0), (501, 1), (1_500, 2), (2_500, 2), (2_501, 3)] {
            assert_eq!(Nanos(nanos).micros_from(Nanos::ZERO), Micros(micros), "{nanos} ns");
        }
    }

    #[test]
    fn microseconds_are_written_as_seconds_and_milliseconds() {
        assert_eq!(Micros(12_000_345).display_s().to_string(), "12.000345");
        assert_eq!(Micros(45).display_s().to_string(), "0.000045");
        assert_eq!(Micros(12_345).display_ms().to_string(), "12.345");
    }
}
