//! How far one figure has moved, and how sure that is.

use super::effective::Z;
use super::interval::Interval;
use super::quantile::student_quantile;

/// Runs a side from which the run is the unit.
pub const FEWEST_RUNS: usize = 3;

/// A figure of one side.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Side {
    /// Its runs, each of which has a value.
    pub runs: Vec<Run>,
}

/// A figure of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run {
    /// Its value.
    pub value: f64,
    /// The 95 % interval of that inside the run.
    pub interval: Interval,
    /// What a rate counted; `None` of what is no rate, and where the time is not known.
    pub counted: Option<Counted>,
}

/// Events of a rate, and in which time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Counted {
    /// How many there were.
    pub events: f64,
    /// In so many s.
    pub seconds: f64,
}

impl Run {
    /// Independent events that the rate is worth: those of a Poisson process whose count would have its interval, at most
    /// those that there were.
    fn worth(&self) -> Option<Counted> {
        let counted = self.counted?;
        let width = self.interval.low.zip(self.interval.high).map(|(low, high)| high - low);
        let arm = width.map_or(0.0, |width| width / 2.0 / self.value);
        let worth = if arm > 0.0 { (Z / arm) * (Z / arm) } else { counted.events };
        Some(Counted { events: worth.min(counted.events), ..counted })
    }
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
    /// The 95 % interval of new − base.
    pub difference: Interval,
}

impl Side {
    /// Mean of the runs; `None` of none.
    pub fn mean(&self) -> Option<f64> {
        let count = self.runs.len();
        (count > 0).then(|| self.runs.iter().map(|run| run.value).sum::<f64>() / count as f64)
    }
}

/// How far `new` is from `base`; `None` where one has no value.
///
/// With [`FEWEST_RUNS`] a side the run is the unit, whatever happened inside it: Welch's t interval (*Biometrika* 34,
/// 1947) of the difference. With fewer, all that is known is how sure each run is of itself, and the intervals of the two
/// are joined by the root of the squares of their arms (Zou and Donner, *Statistics in Medicine* 27, 2008); what differs
/// from run to run is not in it. So too where all runs of both sides are alike to the last digit: they show no spread,
/// and not that there is none. A rate of which one side has counted nothing is bounded by what the other has counted.
pub fn change(base: &Side, new: &Side) -> Option<Change> {
    let (from, to) = (base.mean()?, new.mean()?);
    let has_spread = base.runs.len().min(new.runs.len()) >= FEWEST_RUNS;
    let difference = has_spread.then(|| welch(base, new)).flatten();
    let difference = difference.or_else(|| against_none(base, new));
    let difference = difference.unwrap_or_else(|| joined(base, new, to - from));
    let relative = |difference: f64| difference / from;
    let interval = Interval { low: difference.low.map(relative), high: difference.high.map(relative) };
    let known = from > 0.0;
    Some(Change {
        base: from,
        new: to,
        relative: known.then(|| relative(to - from)),
        interval: if known { interval } else { Interval::NONE },
        difference,
    })
}

/// `None` where no run differs from another.
fn welch(base: &Side, new: &Side) -> Option<Interval> {
    let of_mean = |side: &Side| {
        let (count, mean) = (side.runs.len() as f64, side.mean().unwrap_or(0.0));
        let squares: f64 = side.runs.iter().map(|run| (run.value - mean) * (run.value - mean)).sum();
        (mean, squares / (count - 1.0) / count, count - 1.0)
    };
    let ((from, from_error, from_freedom), (to, to_error, to_freedom)) = (of_mean(base), of_mean(new));
    let error = from_error + to_error;
    if error == 0.0 {
        return None;
    }
    let freedom = error * error / (from_error * from_error / from_freedom + to_error * to_error / to_freedom);
    let half = student_quantile(0.975, freedom) * error.sqrt();
    Some(Interval { low: Some(to - from - half), high: Some(to - from + half) })
}

/// The difference of two rates of which one is 0; `None` where that is not so.
///
/// Given n events on both sides together, those of one side are binomial (Przyborowski and Wilenski, *Biometrika* 31,
/// 1940), and for 0 of n the upper end of the share is 1 − 0.025^(1/n) (Clopper and Pearson, *Biometrika* 26, 1934), that
/// of the ratio of the two counts 0.025^(−1/n) − 1: for many events 3.7 / n.
fn against_none(base: &Side, new: &Side) -> Option<Interval> {
    let (from, to) = (base.mean()?, new.mean()?);
    let sum = |side: &Side| {
        side.runs.iter().map(Run::worth).try_fold(Counted { events: 0.0, seconds: 0.0 }, |sum, run| {
            let run = run?;
            Some(Counted { events: sum.events + run.events, seconds: sum.seconds + run.seconds })
        })
    };
    let (old, young) = (sum(base)?, sum(new)?);
    let most = |some: Counted, none: Counted| {
        ((0.025_f64.ln() / -some.events).exp() - 1.0) * some.seconds / none.seconds
    };
    match (from > 0.0, to > 0.0) {
        (true, false) => Some(Interval { low: Some(-from), high: Some(from * (most(old, young) - 1.0)) }),
        (false, true) => Some(Interval { low: Some(to * (1.0 - most(young, old))), high: None }),
        _ => None,
    }
}

fn joined(base: &Side, new: &Side, difference: f64) -> Interval {
    /// Mean length of an arm over the runs; `None` where one has none.
    fn arm(side: &Side, end: impl Fn(&Interval) -> Option<f64>) -> Option<f64> {
        let arms = side.runs.iter().map(|run| Some((run.value - end(&run.interval)?).abs()));
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
            let interval = Interval { low: Some(value - arm), high: Some(value + arm) };
            Run { value: *value, interval, counted: None }
        };
        Side { runs: runs.iter().map(run).collect() }
    }

    /// One run that counted so many events in as many seconds.
    fn rate(events: f64, seconds: f64, interval: Interval) -> Side {
        let counted = Some(Counted { events, seconds });
        Side { runs: vec![Run { value: events / seconds, interval, counted }] }
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
    }

    #[test]
    fn runs_that_are_all_alike_are_as_sure_as_each_is_of_itself() {
        let found = change(&side(&[(100.0, 3.0); 3]), &side(&[(110.0, 4.0); 3])).unwrap();
        near(found.interval.low, 0.05);
        near(found.interval.high, 0.15);
        let bare = Side { runs: vec![Run { value: 5.0, interval: Interval::NONE, counted: None }; 3] };
        assert_eq!(change(&bare, &bare).unwrap().interval, Interval::NONE);
    }

    #[test]
    fn a_rate_that_falls_to_zero_is_bounded_by_what_was_counted_before() {
        let fall = |events, seconds| {
            change(&rate(events, 60.0, Interval::NONE), &rate(0.0, seconds, Interval::NONE)).unwrap()
        };
        let many = fall(600.0, 60.0);
        assert_eq!((many.relative, many.interval.low), (Some(-1.0), Some(-1.0)));
        // The exact upper limit of a Poisson mean of which none were seen is −ln 0.025 = 3.689.
        near(many.interval.high, 3.689 / 600.0 - 1.0);
        // Of 5 events and none, the share of none may be up to 0.5218 (Clopper and Pearson): more than a half.
        near(fall(5.0, 60.0).interval.high, 0.5218 / 0.4782 - 1.0);
        assert!(fall(6.0, 60.0).interval.high < Some(0.0));
        assert!(fall(600.0, 0.1).interval.high > Some(0.0), "that is no time to see any");
    }

    #[test]
    fn a_rate_that_came_in_bursts_is_worth_fewer_events() {
        let wide = Interval { low: Some(0.5), high: Some(19.5) };
        let found = change(&rate(600.0, 60.0, wide), &rate(0.0, 60.0, Interval::NONE)).unwrap();
        assert!(found.interval.high > Some(0.0), "{found:?}");
    }

    #[test]
    fn a_rate_that_rises_from_zero_differs_by_what_is_counted_now() {
        let rise =
            |events| change(&rate(0.0, 60.0, Interval::NONE), &rate(events, 60.0, Interval::NONE)).unwrap();
        let found = rise(600.0);
        assert_eq!((found.relative, found.interval), (None, Interval::NONE));
        near(found.difference.low, 10.0 * (1.0 - 0.006_167));
        assert!(rise(5.0).difference.low < Some(0.0));
    }

    #[test]
    fn with_fewer_the_arms_of_the_intervals_are_joined() {
        let found = change(&side(&[(100.0, 3.0)]), &side(&[(110.0, 4.0)])).unwrap();
        near(found.interval.low, 0.05);
        near(found.interval.high, 0.15);
        let open = Interval { low: Some(100.0), high: None };
        let open = Side { runs: vec![Run { value: 110.0, interval: open, counted: None }] };
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
