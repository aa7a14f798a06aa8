//! How far one figure has moved, and how sure that is.

use super::interval::Interval;
use super::quantile::student_quantile;

/// Runs a side from which the run is the unit.
pub const FEWEST_RUNS: usize = 3;

/// A figure of one side: its value in each run, with the interval inside that run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Side {
    /// By run.
    pub runs: Vec<(f64, Interval)>,
}

/// new / base − 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// The figure of the base.
    pub base: f64,
    /// The figure of the new side.
    pub new: f64,
    /// new / base − 1; `None` from nothing on.
    pub relative: Option<f64>,
    /// The 95 % interval of that.
    pub interval: Interval,
}

impl Side {
    /// Mean of the runs; `None` of none.
    pub fn mean(&self) -> Option<f64> {
        let count = self.runs.len();
        (count > 0).then(|| self.runs.iter().map(|(value, _)| value).sum::<f64>() / count as f64)
    }
}

/// How far `new` is from `base`; `None` where one has no value.
///
/// With [`FEWEST_RUNS`] a side the run is the unit, whatever happened inside it: Welch's t interval (*Biometrika* 34,
/// 1947) of the difference. With fewer, all that is known is how sure each run is of itself, and the intervals of the two
/// are joined by the root of the squares of their arms (Zou and Donner, *Statistics in Medicine* 27, 2008); what differs
/// from run to run is not in it.
pub fn change(base: &Side, new: &Side) -> Option<Change> {
    let (from, to) = (base.mean()?, new.mean()?);
    let difference = if base.runs.len().min(new.runs.len()) >= FEWEST_RUNS {
        welch(base, new)
    } else {
        joined(base, new, to - from)
    };
    let relative = |difference: f64| difference / from;
    let interval = Interval { low: difference.low.map(relative), high: difference.high.map(relative) };
    let known = from > 0.0;
    Some(Change {
        base: from,
        new: to,
        relative: known.then(|| relative(to - from)),
        interval: if known { interval } else { Interval::NONE },
    })
}

fn welch(base: &Side, new: &Side) -> Interval {
    let of_mean = |side: &Side| {
        let (count, mean) = (side.runs.len() as f64, side.mean().unwrap_or(0.0));
        let squares: f64 = side.runs.iter().map(|(value, _)| (value - mean) * (value - mean)).sum();
        (mean, squares / (count - 1.0) / count, count - 1.0)
    };
    let ((from, from_error, from_freedom), (to, to_error, to_freedom)) = (of_mean(base), of_mean(new));
    let error = from_error + to_error;
    if error == 0.0 {
        return Interval { low: Some(to - from), high: Some(to - from) };
    }
    let freedom = error * error / (from_error * from_error / from_freedom + to_error * to_error / to_freedom);
    let half = student_quantile(0.975, freedom) * error.sqrt();
    Interval { low: Some(to - from - half), high: Some(to - from + half) }
}

fn joined(base: &Side, new: &Side, difference: f64) -> Interval {
    /// Mean length of an arm over the runs; `None` where one has none.
    fn arm(side: &Side, end: impl Fn(&Interval) -> Option<f64>) -> Option<f64> {
        let arms = side.runs.iter().map(|(value, interval)| Some((value - end(interval)?).abs()));
        Some(arms.sum::<Option<f64>>()? / side.runs.len() as f64).filter(|arm| arm.is_finite())
    }
    let both = |one: Option<f64>, other: Option<f64>| Some(libm::hypot(one?, other?));
    let below = both(arm(new, |interval| interval.low), arm(base, |interval| interval.high));
    let above = both(arm(new, |interval| interval.high), arm(base, |interval| interval.low));
    Interval { low: below.map(|arm| difference - arm), high: above.map(|arm| difference + arm) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(runs: &[(f64, f64)]) -> Side {
        let run = |(value, arm): &(f64, f64)| {
            (*value, Interval { low: Some(value - arm), high: Some(value + arm) })
        };
        Side { runs: runs.iter().map(run).collect() }
    }

    fn near(value: Option<f64>, expected: f64) {
        assert!((value.unwrap() - expected).abs() < 5e-4, "{value:?} is not {expected}");
    }

    #[test]
    fn with_three_runs_a_side_the_run_is_the_unit() {
        let tight = |values: [f64; 3]| side(&values.map(|value| (value, 0.001)));
        let found = change(&tight([100.0, 104.0, 96.0]), &tight([110.0, 116.0, 104.0])).unwrap();
        near(found.relative, 0.1);
        // By hand: standard error √(16/3 + 36/3) = 4.163, 3.48 degrees, t = 2.948.
        near(found.interval.low, (10.0 - 12.275) / 100.0);
        near(found.interval.high, (10.0 + 12.275) / 100.0);
        let same = change(&tight([5.0; 3]), &tight([5.0; 3])).unwrap();
        assert_eq!((same.interval.low, same.interval.high), (Some(0.0), Some(0.0)));
    }

    #[test]
    fn with_fewer_the_arms_of_the_intervals_are_joined() {
        let found = change(&side(&[(100.0, 3.0)]), &side(&[(110.0, 4.0)])).unwrap();
        near(found.interval.low, 0.05);
        near(found.interval.high, 0.15);
        let open = Side { runs: vec![(110.0, Interval { low: Some(100.0), high: None })] };
        let found = change(&side(&[(100.0, 3.0)]), &open).unwrap();
        assert!(found.interval.low.is_some() && found.interval.high.is_none());
    }

    #[test]
    fn from_nothing_on_no_share_is_told() {
        let found = change(&side(&[(0.0, 0.0)]), &side(&[(1.0, 0.1)])).unwrap();
        assert_eq!((found.relative, found.interval), (None, Interval::NONE));
        assert_eq!(change(&Side::default(), &side(&[(1.0, 0.1)])), None);
    }
}
