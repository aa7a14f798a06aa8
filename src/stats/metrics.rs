//! Every metric, defined once.
//!
//! [`METRICS`] is the one table: tag, unit, formula, what it needs, when it is empty, and how it is taken.
//! Columns of summaries, reports and documentation follow from it. Times are in ms, of whole microseconds;
//! statistics of rows run over **measured** rows, as [`Rows`] says; a rate or a share is one figure of a
//! [`Scope`].

mod table;

pub use table::METRICS;

use super::censored::Reached;
use super::scope::{Figure, Rate, Scope};
use super::statistic::Statistic;
use super::tally::Kept;
use crate::record::{Outcome, RequestRecord, Verdict};

/// Definition of a metric.
#[derive(Debug)]
pub struct Metric {
    /// Its name in files, scenarios and reports.
    pub tag: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// What it is.
    pub formula: &'static str,
    /// What must be had for it, beyond an answer.
    pub needs: &'static str,
    /// When a row or a group has none.
    pub empty_when: &'static str,
    /// How it is taken.
    pub source: Source,
}

/// Unit of a metric's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Milliseconds.
    Ms,
    /// Tokens.
    Tokens,
    /// Tokens per second.
    TokensPerSecond,
    /// Requests.
    Requests,
    /// Requests per second.
    RequestsPerSecond,
    /// A share, from 0 to 1.
    Share,
}

impl Unit {
    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Ms => "ms",
            Unit::Tokens => "tokens",
            Unit::TokensPerSecond => "tokens/s",
            Unit::Requests => "requests",
            Unit::RequestsPerSecond => "requests/s",
            Unit::Share => "share",
        }
    }
}

/// How a metric is taken, which says what statistics it has.
#[derive(Clone, Copy, Debug)]
pub enum Source {
    /// A value of each of these rows: all statistics of a sample.
    Row(Rows, fn(&RequestRecord) -> Option<f64>),
    /// Gaps between the events of measured `ok` rows: the statistics of a sample, from log buckets.
    Gaps,
    /// The same divided over the tokens of each event.
    TokenGaps,
    /// What is known of each measured row that failed ones count in: percentiles.
    Adjusted(fn(&RequestRecord) -> Option<Reached>),
    /// One figure of a group, known exactly: `value`.
    Figure(fn(&Scope<'_>) -> Figure),
    /// Amounts inside the window over its length: `value`, with an interval.
    Rate(Rate),
    /// Share of measured rows for which this is true, of those for which it is anything; whether the phase was
    /// stopped is told beside the row: `value`, with an interval.
    Share(fn(&Kept, bool) -> Option<bool>),
    /// Decided rows by failing outcome: `value` for all, and each.
    ErrorShares,
    /// Measured `ok` rows by [`FinishReason`], as shares.
    FinishShares,
    /// Right answers among those checked: `value` for all, and by [`FinishReason`].
    Accuracy,
    /// Checked answers by verdict.
    Verdicts,
    /// Rows of the phase, measured or not, by what became of them: `planned`, `sent` and each outcome.
    Outcomes,
    /// Measured rows, the same way.
    MeasuredOutcomes,
    /// Measured `ok` rows by [`FinishReason`].
    FinishReasons,
}

impl Source {
    /// The names of its statistics.
    pub fn statistics(self) -> Vec<&'static str> {
        let outcomes = || Outcome::ALL.into_iter().map(Outcome::name);
        match self {
            Source::Row(..) | Source::Gaps | Source::TokenGaps => {
                Statistic::ALL.into_iter().map(|(name, _)| name).collect()
            }
            Source::Adjusted(_) => Statistic::percentiles().map(|(name, _)| name).collect(),
            Source::Figure(_) | Source::Rate(_) | Source::Share(_) => vec!["value"],
            Source::ErrorShares => {
                ["value"].into_iter().chain(failing_outcomes().map(Outcome::name)).collect()
            }
            Source::Accuracy => {
                ["value"].into_iter().chain(FinishReason::ALL.into_iter().map(|(name, _)| name)).collect()
            }
            Source::Verdicts => Verdict::ALL.into_iter().map(Verdict::name).collect(),
            Source::FinishShares | Source::FinishReasons => {
                FinishReason::ALL.into_iter().map(|(name, _)| name).collect()
            }
            Source::Outcomes | Source::MeasuredOutcomes => {
                ["planned", "sent"].into_iter().chain(outcomes()).collect()
            }
        }
    }

    /// Which of them have intervals.
    pub fn bounded(self) -> &'static str {
        match self {
            Source::Row(..) => "mean and percentiles",
            Source::Adjusted(_) => "percentiles",
            Source::Rate(_)
            | Source::Share(_)
            | Source::ErrorShares
            | Source::FinishShares
            | Source::Accuracy => "all",
            _ => "none",
        }
    }
}

/// Outcomes that are neither `ok` nor undecided.
pub(super) fn failing_outcomes() -> impl Iterator<Item = Outcome> {
    Outcome::ALL.into_iter().filter(|outcome| *outcome != Outcome::Ok && !outcome.is_undecided())
}

/// Which measured rows a metric is taken of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// Those that ended `ok`.
    Ok,
    /// Those whose exchange began, whatever became of it.
    Sent,
    /// Those whose exchange failed: begun, not `ok`, and not undecided.
    Failed,
}

impl Rows {
    /// Whether `record` is one of them.
    pub fn contain(self, record: &RequestRecord) -> bool {
        record.measured
            && match self {
                Rows::Ok => record.outcome == Outcome::Ok,
                Rows::Sent => record.outcome.was_sent(),
                Rows::Failed => is_failed_exchange(record.outcome),
            }
    }
}

/// Whether an exchange began and failed: neither `ok` nor undecided.
pub(super) fn is_failed_exchange(outcome: Outcome) -> bool {
    outcome.was_sent() && outcome != Outcome::Ok && !outcome.is_undecided()
}

/// Why answers ended, in the few kinds that all APIs share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinishReason {
    /// The model was done.
    Stop,
    /// It reached the limit of tokens.
    Length,
    /// It called a tool.
    ToolCalls,
    /// A filter stepped in.
    ContentFilter,
    /// Something else was stated.
    Other,
    /// Nothing was stated.
    None,
}

impl FinishReason {
    /// Every kind with its name in files.
    pub const ALL: [(&'static str, FinishReason); 6] = [
        ("stop", FinishReason::Stop),
        ("length", FinishReason::Length),
        ("tool_calls", FinishReason::ToolCalls),
        ("content_filter", FinishReason::ContentFilter),
        ("other", FinishReason::Other),
        ("none", FinishReason::None),
    ];

    /// The kind of a reason as a server states it.
    pub fn of(stated: Option<&str>) -> FinishReason {
        match stated {
            None => FinishReason::None,
            Some("stop" | "end_turn" | "stop_sequence" | "eos" | "word" | "completed") => FinishReason::Stop,
            Some("length" | "max_tokens" | "max_output_tokens" | "limit") => FinishReason::Length,
            Some("tool_calls" | "tool_use" | "function_call") => FinishReason::ToolCalls,
            Some("content_filter" | "refusal") => FinishReason::ContentFilter,
            Some(_) => FinishReason::Other,
        }
    }
}

/// The metric of a tag.
pub fn metric(tag: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|metric| metric.tag == tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_of_the_same_kind_in_whatever_api() {
        let kinds =
            ["stop", "end_turn", "word", "max_output_tokens", "limit", "tool_use", "refusal", "abort"];
        let kinds = kinds.map(|stated| FinishReason::of(Some(stated)) as usize);
        let names = kinds.map(|kind| FinishReason::ALL[kind].0);
        let expected = ["stop", "stop", "stop", "length", "length", "tool_calls", "content_filter", "other"];
        assert_eq!(names, expected);
        assert_eq!(FinishReason::of(None), FinishReason::None);
    }

    #[test]
    fn every_tag_is_defined_once_with_a_formula() {
        for (i, metric) in METRICS.iter().enumerate() {
            assert!(!METRICS[..i].iter().any(|earlier| earlier.tag == metric.tag), "{} twice", metric.tag);
            assert!(!metric.formula.is_empty() && !metric.empty_when.is_empty(), "{}", metric.tag);
        }
    }

    #[test]
    fn every_metric_that_can_be_limited_is_in_the_table() {
        for limit in crate::stats::SloMetric::ALL {
            assert!(metric(limit.name()).is_some_and(|metric| metric.unit == Unit::Ms), "{}", limit.name());
        }
    }

    #[test]
    fn reasons_of_all_apis_fall_into_the_same_kinds() {
        assert_eq!(FinishReason::of(Some("length")), FinishReason::Length);
        assert_eq!(FinishReason::of(Some("max_tokens")), FinishReason::Length);
        assert_eq!(FinishReason::of(Some("end_turn")), FinishReason::Stop);
        assert_eq!(FinishReason::of(Some("tool_use")), FinishReason::ToolCalls);
        assert_eq!(FinishReason::of(Some("load")), FinishReason::Other);
        assert_eq!(FinishReason::of(None), FinishReason::None);
    }
}
