//! What must hold of a run, and whether it does.

use super::fold::{ALL, SummaryRow};
use super::metrics::{Metric, Source, metric};
use super::percentile::Percentile;

/// A bound of one figure: `[[objective]]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Objective {
    tag: &'static str,
    metric: &'static str,
    statistic: String,
    bound: Bound,
    over: Over,
    phase: Option<String>,
    workload: Option<String>,
    points: Points,
}

/// The side on which a figure must lie. The bound itself holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// No more than this, in the metric's unit.
    AtMost(f64),
    /// No less than this, in the metric's unit.
    AtLeast(f64),
}

/// Which requests a latency is taken of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Over {
    /// All measured ones from their due times, failed ones as infinitely late: the adjusted metric where there is one.
    #[default]
    All,
    /// Those that ended `ok`.
    Ok,
}

impl Over {
    /// Both, in the order of names in scenarios.
    pub const ALL: [Over; 2] = [Over::All, Over::Ok];

    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Over::All => "all",
            Over::Ok => "ok",
        }
    }
}

/// At which points of a sweep an objective must hold for the sweep to have met it. Each point is judged either way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Points {
    /// At none: some are there to miss it.
    #[default]
    None,
    /// At every one.
    All,
}

impl Points {
    /// Both, in the order of names in scenarios.
    pub const ALL: [Points; 2] = [Points::None, Points::All];

    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Points::None => "none",
            Points::All => "all",
        }
    }
}

/// Why an objective cannot be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ObjectiveError {
    /// No metric has this tag.
    UnknownMetric {
        /// Metrics that can be asked of.
        known: Vec<&'static str>,
    },
    /// The metric has no such statistic.
    UnknownStatistic {
        /// Those it has.
        known: Vec<&'static str>,
    },
    /// The metric has no intervals to judge by.
    Unbounded,
    /// The bound is not a finite number from 0 on.
    BadBound,
}

impl std::fmt::Display for ObjectiveError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ObjectiveError::UnknownMetric { known } => {
                write!(f, "no such metric: one of {}", known.join(", "))
            }
            ObjectiveError::UnknownStatistic { known } => {
                write!(f, "the metric has no such statistic: one of {}", known.join(", "))
            }
            ObjectiveError::Unbounded => {
                write!(f, "the metric has no interval: it is kept as counts, without the order of its values")
            }
            ObjectiveError::BadBound => write!(f, "a bound is a number from 0 on"),
        }
    }
}

impl std::error::Error for ObjectiveError {}

/// Whether an objective is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The interval lies wholly on the right side.
    Pass,
    /// It contains the bound, or there is none: the sample does not tell.
    Undetermined,
    /// It lies wholly on the wrong side.
    Fail,
}

impl Answer {
    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Answer::Pass => "pass",
            Answer::Undetermined => "undetermined",
            Answer::Fail => "fail",
        }
    }
}

/// What became of an objective in one phase of one point and repeat.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// Point of a sweep, from 1.
    pub point: Option<u32>,
    /// Repeat of a point, from 1.
    pub repeat: Option<u32>,
    /// Name of the phase.
    pub phase: String,
    /// Whether it is met.
    pub answer: Answer,
    /// The figure; `None` where it cannot be had.
    pub value: Option<f64>,
    /// Lower end of its 95 % interval; infinite where it is never reached.
    pub low: Option<f64>,
    /// Upper end of its interval.
    pub high: Option<f64>,
}

impl Objective {
    /// Metrics that can be asked of: those with an interval, or known exactly.
    pub const METRICS: &[&str] = &[
        "lag",
        "send_delay",
        "connect",
        "upload",
        "ttft",
        "ttft_scheduled",
        "first_answer",
        "first_answer_scheduled",
        "e2e",
        "e2e_scheduled",
        "failed_after",
        "tpot",
        "decode_speed",
        "prefill_speed",
        "prompt_tokens_planned",
        "prompt_tokens",
        "cached_tokens",
        "output_tokens_planned",
        "output_tokens",
        "reasoning_tokens",
        "output_throughput",
        "prompt_throughput",
        "total_throughput",
        "wasted_tokens",
        "uncounted_requests",
        "offered_rate",
        "achieved_rate",
        "request_throughput",
        "success",
        "error_share",
        "attainment",
        "goodput",
        "slo_unmeasurable",
        "accuracy",
        "no_answer_share",
        "unchecked_requests",
        "correct_goodput",
        "consistency",
        "new_connections",
        "new_connection_share",
        "reconnects",
    ];

    /// A bound on a statistic (`p99`, `mean`, `value`) of the metric with this tag, in its unit.
    ///
    /// # Errors
    /// When there is no such metric or statistic, or the bound is no number from 0 on.
    pub fn new(tag: &str, statistic: &str, bound: Bound, over: Over) -> Result<Objective, ObjectiveError> {
        let Some(plain) = metric(tag) else {
            return Err(ObjectiveError::UnknownMetric { known: Objective::METRICS.to_vec() });
        };
        if !is_bounded(plain.source) {
            return Err(ObjectiveError::Unbounded);
        }
        let metric = if over == Over::All { adjusted(plain).unwrap_or(plain) } else { plain };
        let known = metric.source.statistics();
        if !known.contains(&statistic) {
            return Err(ObjectiveError::UnknownStatistic { known });
        }
        let (Bound::AtMost(limit) | Bound::AtLeast(limit)) = bound;
        if !(limit.is_finite() && limit >= 0.0) {
            return Err(ObjectiveError::BadBound);
        }
        let statistic = statistic.to_owned();
        let (tag, metric) = (plain.tag, metric.tag);
        Ok(Objective {
            tag,
            metric,
            statistic,
            bound,
            over,
            phase: None,
            workload: None,
            points: Points::None,
        })
    }

    /// The same for a percentile.
    ///
    /// # Errors
    /// As [`Objective::new`]; the percentile must be one of those in summaries.
    pub fn percentile(
        tag: &str,
        percentile: Percentile,
        bound: Bound,
        over: Over,
    ) -> Result<Objective, ObjectiveError> {
        Objective::new(tag, &percentile.to_string(), bound, over)
    }

    /// Only in this phase.
    #[must_use]
    pub fn in_phase(self, name: &str) -> Objective {
        Objective { phase: Some(name.to_owned()), ..self }
    }

    /// Only for this workload.
    #[must_use]
    pub fn for_workload(self, name: &str) -> Objective {
        Objective { workload: Some(name.to_owned()), ..self }
    }

    /// Holds of a sweep where it does at these points.
    #[must_use]
    pub fn at_points(self, points: Points) -> Objective {
        Objective { points, ..self }
    }

    /// At which points of a sweep it must hold.
    pub fn points(&self) -> Points {
        self.points
    }

    /// Tag of the metric asked of.
    pub fn tag(&self) -> &'static str {
        self.tag
    }

    /// Which requests count.
    pub fn over(&self) -> Over {
        self.over
    }

    /// Name of its phase; none for every measured one.
    pub fn phase(&self) -> Option<&str> {
        self.phase.as_deref()
    }

    /// Name of its workload; none for all together.
    pub fn workload(&self) -> Option<&str> {
        self.workload.as_deref()
    }

    /// Tag of the metric it is judged by: the adjusted one where there is one and all requests count.
    pub fn metric(&self) -> &'static str {
        self.metric
    }

    /// Name of the statistic.
    pub fn statistic(&self) -> &str {
        &self.statistic
    }

    /// The bound.
    pub fn bound(&self) -> Bound {
        self.bound
    }

    /// The share of requests that may lie on the wrong side of its bound, where it says how many may: bounds of
    /// percentiles and of shares do. `None` of other figures, and where none or all may.
    pub fn allowed_misses(&self) -> Option<f64> {
        let source = metric(self.metric)?.source;
        let share = match (source, self.bound) {
            (Source::Row(..) | Source::Adjusted(_), bound) => {
                let percent: f64 = self.statistic.strip_prefix('p')?.parse().ok()?;
                match bound {
                    Bound::AtMost(_) => 1.0 - percent / 100.0,
                    Bound::AtLeast(_) => percent / 100.0,
                }
            }
            (Source::Share(_) | Source::ErrorShares, Bound::AtMost(share)) if self.statistic == "value" => {
                share
            }
            (Source::Share(_) | Source::ErrorShares, Bound::AtLeast(share)) if self.statistic == "value" => {
                1.0 - share
            }
            _ => return None,
        };
        (share > 0.0 && share < 1.0).then_some(share)
    }

    /// Judges it in its phase, or in every phase of `summary`; empty where it has no such row.
    pub fn judge(&self, summary: &[SummaryRow]) -> Vec<Judgement> {
        let workload = self.workload.as_deref().unwrap_or(ALL);
        let is_asked = |row: &&SummaryRow| {
            (row.metric, row.statistic, row.workload.as_str())
                == (self.metric, self.statistic.as_str(), workload)
                && self.phase.as_deref().map_or(row.phase != ALL, |phase| row.phase == phase)
        };
        let is_exact = metric(self.metric).is_some_and(|metric| matches!(metric.source, Source::Figure(_)));
        let judged = summary.iter().filter(is_asked).map(|row| {
            let (low, high) = if is_exact { (row.value, row.value) } else { (row.ci_low, row.ci_high) };
            Judgement {
                point: row.point,
                repeat: row.repeat,
                phase: row.phase.clone(),
                answer: self.bound.judge(low, high),
                value: row.value,
                low,
                high,
            }
        });
        judged.collect()
    }
}

impl Bound {
    /// By the ends of an interval.
    fn judge(self, low: Option<f64>, high: Option<f64>) -> Answer {
        let (right, wrong) = match self {
            Bound::AtMost(limit) => {
                (high.is_some_and(|high| high <= limit), low.is_some_and(|low| low > limit))
            }
            Bound::AtLeast(limit) => {
                (low.is_some_and(|low| low >= limit), high.is_some_and(|high| high < limit))
            }
        };
        match (right, wrong) {
            (true, _) => Answer::Pass,
            (_, true) => Answer::Fail,
            _ => Answer::Undetermined,
        }
    }
}

/// Whether figures of this source have intervals, or are known exactly.
fn is_bounded(source: Source) -> bool {
    match source {
        Source::Row(..)
        | Source::Adjusted(_)
        | Source::Rate(_)
        | Source::Share(_)
        | Source::ErrorShares
        | Source::Accuracy => true,
        // Counts of rows: nothing to estimate.
        Source::Figure(_) => true,
        Source::Gaps
        | Source::TokenGaps
        | Source::FinishShares
        | Source::Outcomes
        | Source::MeasuredOutcomes
        | Source::FinishReasons
        | Source::Verdicts => false,
    }
}

/// The metric in which failed requests count, for one in which they do not.
fn adjusted(plain: &Metric) -> Option<&'static Metric> {
    let tag = plain.tag.strip_suffix("_scheduled").unwrap_or(plain.tag);
    metric(&format!("{tag}_adjusted")).filter(|metric| matches!(metric.source, Source::Adjusted(_)))
}

#[cfg(test)]
mod tests {
    use super::super::metrics::METRICS;
    use super::super::test_rows::{failed, ms, ok};
    use super::super::{Fold, PhaseSetup, RowEvents, Slo, Window, WorkloadSetup};
    use super::*;
    use crate::record::{Outcome, RequestRecord};

    fn summary(rows: &[RequestRecord]) -> Vec<SummaryRow> {
        let phase = PhaseSetup { name: "steady".to_owned(), counts: true, open_loop: true };
        let chat = WorkloadSetup {
            name: "chat".to_owned(),
            slo: Slo::default(),
            exact_output: false,
            scored: false,
            cold: false,
        };
        let mut fold = Fold::new(None, None, vec![phase], vec![chat]);
        fold.set_window(0, Window { start: Some(ms(0)), end: Some(ms(100_000)) });
        rows.iter().for_each(|row| fold.add(row, RowEvents::default()));
        fold.summary()
    }

    fn answered(count: u64) -> impl Iterator<Item = RequestRecord> {
        (0..count).map(|i| ok(i * 100, i * 100 + 200 + i * 37 % 100, i * 100 + 500, 5))
    }

    fn answer(tag: &str, statistic: &str, bound: Bound, over: Over, rows: &[RequestRecord]) -> Answer {
        let judged =
            Objective::new(tag, statistic, bound, over).unwrap().in_phase("steady").judge(&summary(rows));
        assert_eq!(judged.len(), 1);
        judged[0].answer
    }

    #[test]
    fn it_passes_or_fails_where_the_interval_lies_on_one_side_and_is_undetermined_between() {
        let rows: Vec<_> = answered(1_000).collect();
        let p90 = |limit| answer("ttft", "p90", Bound::AtMost(limit), Over::All, &rows);
        assert_eq!((p90(300.0), p90(250.0)), (Answer::Pass, Answer::Fail));
        assert_eq!(p90(289.0), Answer::Undetermined);
        let few: Vec<_> = answered(100).collect();
        assert_eq!(answer("ttft", "p99", Bound::AtMost(1e6), Over::All, &few), Answer::Undetermined);
    }

    #[test]
    fn failed_requests_fail_it_unless_only_ok_ones_are_asked_for() {
        let mut rows: Vec<_> = answered(800).collect();
        rows.extend((0..200).map(|i| failed(i * 400, Outcome::HttpError, i * 400 + 1)));
        let p90 = |over| answer("ttft", "p90", Bound::AtMost(1_000.0), over, &rows);
        assert_eq!((p90(Over::All), p90(Over::Ok)), (Answer::Fail, Answer::Pass));
        let success = |least| answer("success", "value", Bound::AtLeast(least), Over::All, &rows);
        assert_eq!(
            (success(0.9), success(0.7), success(0.8)),
            (Answer::Fail, Answer::Pass, Answer::Undetermined)
        );
    }

    #[test]
    fn without_a_phase_every_phase_is_judged_and_the_join_of_all_is_not() {
        let objective = Objective::new("e2e", "p50", Bound::AtMost(1e6), Over::Ok).unwrap();
        let judged = objective.judge(&summary(&answered(50).collect::<Vec<_>>()));
        assert_eq!(judged.iter().map(|judged| judged.phase.as_str()).collect::<Vec<_>>(), ["steady"]);
        assert_eq!(objective.for_workload("code").judge(&summary(&[])), []);
    }

    #[test]
    fn all_metrics_that_can_be_judged_can_be_asked_of() {
        let judged = METRICS.iter().filter(|metric| is_bounded(metric.source));
        // Which requests count is said by `over`.
        let judged = judged.filter(|metric| !matches!(metric.source, Source::Adjusted(_)));
        assert_eq!(judged.map(|metric| metric.tag).collect::<Vec<_>>(), Objective::METRICS);
        let gap = Objective::new("gap", "p99", Bound::AtMost(1.0), Over::Ok);
        assert_eq!(gap, Err(ObjectiveError::Unbounded));
    }

    #[test]
    fn a_count_is_known_exactly() {
        let rows: Vec<_> = answered(50).collect();
        let wasted = |bound| answer("wasted_tokens", "value", bound, Over::All, &rows);
        assert_eq!((wasted(Bound::AtMost(0.0)), wasted(Bound::AtLeast(1.0))), (Answer::Pass, Answer::Fail));
    }

    #[test]
    fn impossible_ones_are_refused_with_what_is_possible() {
        let new = |tag, statistic, limit| Objective::new(tag, statistic, Bound::AtMost(limit), Over::All);
        assert!(
            matches!(new("tftt", "p99", 1.0), Err(ObjectiveError::UnknownMetric { known }) if known.contains(&"ttft"))
        );
        assert!(
            matches!(new("success", "p99", 1.0), Err(ObjectiveError::UnknownStatistic { known }) if known == ["value"])
        );
        assert_eq!(new("ttft", "p99", f64::NAN), Err(ObjectiveError::BadBound));
        assert_eq!(new("ttft_scheduled", "p99", 1.0).unwrap().metric(), "ttft_adjusted");
        assert_eq!(
            Objective::percentile("tpot", Percentile::P99_9, Bound::AtMost(80.0), Over::Ok)
                .unwrap()
                .statistic(),
            "p99.9"
        );
    }
}
