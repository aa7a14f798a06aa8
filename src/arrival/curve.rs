//! Rates that change with time, and the exact process under them.
//!
//! A curve is made of pieces over which the rate runs linearly: a ramp is one piece, steps are flat ones. Its
//! integral Λ(t) is the number of arrivals expected by t. Arrivals of a process of varying rate are those of the
//! process of rate 1, looked up in the inverse of Λ (Çinlar, *Introduction to Stochastic Processes*, 1975, §4.7):
//! no staircase, no thinning, no drift.

use std::time::Duration;

/// A rate over time, from 0 to the end of its last piece.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    pieces: Vec<Piece>,
}

/// A stretch over which the rate runs linearly.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Piece {
    /// Seconds from the curve's begin.
    start_s: f64,
    length_s: f64,
    /// Arrivals per second at its begin and at its end.
    from: f64,
    to: f64,
    /// Arrivals expected before it.
    before: f64,
}

impl Piece {
    /// Arrivals expected within its first `t` seconds.
    fn expected(&self, t: f64) -> f64 {
        self.from * t + (self.to - self.from) / self.length_s * t * t / 2.0
    }

    /// The inverse of [`Piece::expected`].
    fn time_of(&self, expected: f64) -> f64 {
        let slope = (self.to - self.from) / self.length_s;
        // The root of slope/2·t² + from·t = expected, in the form that does not cancel for small slopes. Rounding
        // may put the last arrivals of a falling ramp a hair beyond its end, where the root is not real.
        let root = libm::sqrt((self.from * self.from + 2.0 * slope * expected).max(0.0));
        2.0 * expected / (self.from + root)
    }
}

impl Curve {
    /// A curve of `(length, rate at begin, rate at end)` in arrivals per second; `None` unless there is at least
    /// one, every length is above zero, every rate is finite and not below zero, and any arrival is expected.
    pub fn new(stretches: &[(Duration, f64, f64)]) -> Option<Curve> {
        let mut pieces = Vec::with_capacity(stretches.len());
        let (mut start_s, mut before) = (0.0, 0.0);
        for (length, from, to) in stretches {
            let possible = |rate: f64| rate.is_finite() && rate >= 0.0;
            if length.is_zero() || !possible(*from) || !possible(*to) {
                return None;
            }
            let piece = Piece { start_s, length_s: length.as_secs_f64(), from: *from, to: *to, before };
            start_s += piece.length_s;
            before += piece.expected(piece.length_s);
            pieces.push(piece);
        }
        (before > 0.0).then_some(Curve { pieces })
    }

    /// Arrivals expected in the first `duration`.
    pub fn expected(&self, duration: Duration) -> f64 {
        let t = duration.as_secs_f64();
        let piece = self.pieces.iter().rev().find(|piece| piece.start_s <= t);
        piece.map_or(0.0, |piece| piece.before + piece.expected((t - piece.start_s).min(piece.length_s)))
    }

    /// The largest rate it reaches, per second.
    pub fn peak(&self) -> f64 {
        self.pieces.iter().map(|piece| piece.from.max(piece.to)).fold(0.0, f64::max)
    }

    /// Whether it is one piece.
    pub fn is_ramp(&self) -> bool {
        self.pieces.len() == 1
    }

    /// Its pieces: seconds, rate at begin and at end in arrivals per second.
    pub fn stretches(&self) -> impl Iterator<Item = (Duration, f64, f64)> {
        self.pieces.iter().map(|piece| (Duration::from_secs_f64(piece.length_s), piece.from, piece.to))
    }

    /// How long it lasts.
    pub fn length(&self) -> Duration {
        self.pieces
            .last()
            .map_or(Duration::ZERO, |last| Duration::from_secs_f64(last.start_s + last.length_s))
    }

    /// The second at which `arrivals` are expected to have come; `None` beyond the curve's end.
    pub(super) fn time_of(&self, arrivals: f64) -> Option<f64> {
        let after = self.pieces.partition_point(|piece| piece.before <= arrivals);
        let piece = self.pieces.get(after.checked_sub(1)?)?;
        let within = arrivals - piece.before;
        if within > piece.expected(piece.length_s) {
            return None;
        }
        let t = if within == 0.0 { 0.0 } else { piece.time_of(within) };
        Some(piece.start_s + t.min(piece.length_s))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ramp(from: f64, to: f64, seconds: u64) -> Curve {
        Curve::new(&[(Duration::from_secs(seconds), from, to)]).unwrap()
    }

    #[test]
    fn a_ramp_expects_the_area_under_it() {
        let ramp = ramp(2.0, 10.0, 60);
        assert_eq!(ramp.expected(Duration::from_secs(60)), 360.0);
        assert_eq!(ramp.expected(Duration::from_secs(30)), 30.0 * (2.0 + 6.0) / 2.0);
        assert_eq!(ramp.expected(Duration::from_secs(90)), 360.0);
        assert_eq!(ramp.peak(), 10.0);
    }

    #[test]
    fn the_inverse_undoes_the_integral_up_down_flat_and_from_zero() {
        for curve in [ramp(0.0, 8.0, 10), ramp(8.0, 0.0, 10), ramp(5.0, 5.0, 10), ramp(5.0, 5.000_001, 10)] {
            let all = curve.expected(curve.length());
            for share in [0.0, 1e-9, 0.1, 0.5, 0.9, 1.0] {
                let t = curve.time_of(all * share).unwrap();
                let back = curve.expected(Duration::from_secs_f64(t));
                assert!((back - all * share).abs() < 1e-6, "{curve:?} at {share}: {back}");
            }
            assert_eq!(curve.time_of(all * 1.001), None);
        }
    }

    #[test]
    fn steps_are_joined_without_a_seam() {
        let second = Duration::from_secs(1);
        let steps = Curve::new(&[(second, 2.0, 2.0), (second, 0.0, 0.0), (second, 4.0, 4.0)]).unwrap();
        let times = [0.0, 1.0, 2.0, 3.0, 4.0, 6.0].map(|arrivals| steps.time_of(arrivals).unwrap());
        assert_eq!(times, [0.0, 0.5, 2.0, 2.25, 2.5, 3.0]);
    }

    #[test]
    fn impossible_curves_are_refused() {
        let second = Duration::from_secs(1);
        assert_eq!(Curve::new(&[]), None);
        assert_eq!(Curve::new(&[(Duration::ZERO, 1.0, 1.0)]), None);
        assert_eq!(Curve::new(&[(second, -1.0, 1.0)]), None);
        assert_eq!(Curve::new(&[(second, f64::NAN, 1.0)]), None);
        assert_eq!(Curve::new(&[(second, 0.0, 0.0)]), None);
    }
}
