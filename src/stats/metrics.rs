//! Every metric, defined once.
//!
//! [`METRICS`] is the one table: tag, unit, formula, what it needs, when it is empty, and how it is taken.
//! Columns of summaries, reports and documentation follow from it. Times are in ms, of whole microseconds;
//! statistics of rows run over **measured** rows, as [`Rows`] says; a rate or a share is one figure of a
//! [`Scope`].

use super::scope::{Figure, Scope};
use crate::record::{Outcome, RequestRecord};

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
    /// One figure of a group: `value`.
    Figure(fn(&Scope<'_>) -> Figure),
    /// Rows of the phase, measured or not, by what became of them: `planned`, `sent` and each outcome.
    Outcomes,
    /// Measured rows, the same way.
    MeasuredOutcomes,
    /// Measured `ok` rows by [`FinishReason`].
    FinishReasons,
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
            Some("stop" | "end_turn" | "stop_sequence" | "eos" | "completed") => FinishReason::Stop,
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

/// Every metric, in the order of files.
pub const METRICS: &[Metric] = &[
    Metric {
        tag: "requests",
        unit: Unit::Requests,
        formula: "rows of the phase, measured or not: planned = sent + dropped + not_sent + skipped",
        needs: "",
        empty_when: "never",
        source: Source::Outcomes,
    },
    Metric {
        tag: "measured_requests",
        unit: Unit::Requests,
        formula: "measured rows, the same way",
        needs: "",
        empty_when: "never",
        source: Source::MeasuredOutcomes,
    },
    Metric {
        tag: "lag",
        unit: Unit::Ms,
        formula: "sent − scheduled",
        needs: "",
        empty_when: "not sent",
        source: Source::Row(Rows::Ok, |row| Some(row.lag()?.as_ms())),
    },
    Metric {
        tag: "send_delay",
        unit: Unit::Ms,
        formula: "lag − held: the client's own part of lag, over all measured rows that were sent",
        needs: "",
        empty_when: "not sent",
        source: Source::Row(Rows::Sent, |row| Some((row.lag()? - row.held.unwrap_or_default()).as_ms())),
    },
    Metric {
        tag: "connect",
        unit: Unit::Ms,
        formula: "time to obtain a connection, part of ttft",
        needs: "",
        empty_when: "a pooled connection served",
        source: Source::Row(Rows::Ok, |row| Some(row.connect?.as_ms())),
    },
    Metric {
        tag: "upload",
        unit: Unit::Ms,
        formula: "first write of the request to the last, part of ttft",
        needs: "",
        empty_when: "not sent",
        source: Source::Row(Rows::Ok, |row| Some(row.upload?.as_ms())),
    },
    Metric {
        tag: "ttft",
        unit: Unit::Ms,
        formula: "first event with generated text (answer, reasoning, tool call) − sent",
        needs: "a stream",
        empty_when: "no such event",
        source: Source::Row(Rows::Ok, |row| Some(row.ttft()?.as_ms())),
    },
    Metric {
        tag: "ttft_scheduled",
        unit: Unit::Ms,
        formula: "first event with generated text − scheduled",
        needs: "a stream",
        empty_when: "no such event",
        source: Source::Row(Rows::Ok, |row| Some(row.ttft_scheduled()?.as_ms())),
    },
    Metric {
        tag: "first_answer",
        unit: Unit::Ms,
        formula: "first non-empty answer text − sent",
        needs: "a stream",
        empty_when: "reasoning only",
        source: Source::Row(Rows::Ok, |row| Some(row.first_answer_after()?.as_ms())),
    },
    Metric {
        tag: "e2e",
        unit: Unit::Ms,
        formula: "last event with text or finish reason − sent",
        needs: "",
        empty_when: "not ok",
        source: Source::Row(Rows::Ok, |row| Some(row.e2e()?.as_ms())),
    },
    Metric {
        tag: "e2e_scheduled",
        unit: Unit::Ms,
        formula: "last event with text or finish reason − scheduled",
        needs: "",
        empty_when: "not ok",
        source: Source::Row(Rows::Ok, |row| Some(row.e2e_scheduled()?.as_ms())),
    },
    Metric {
        tag: "failed_after",
        unit: Unit::Ms,
        formula: "ended − sent of measured requests that failed",
        needs: "",
        empty_when: "ok, undecided or not sent",
        source: Source::Row(Rows::Failed, |row| Some((row.ended? - row.sent?).as_ms())),
    },
    Metric {
        tag: "tpot",
        unit: Unit::Ms,
        formula: "(last token − first token) / (N − 1), N = output_tokens",
        needs: "a stream; a count of output tokens",
        empty_when: "N < 2, or last token = first",
        source: Source::Row(Rows::Ok, RequestRecord::tpot_ms),
    },
    Metric {
        tag: "gap",
        unit: Unit::Ms,
        formula: "time between successive token-bearing events, in log buckets at most 1 % wide",
        needs: "a stream",
        empty_when: "fewer than 2 events",
        source: Source::Gaps,
    },
    Metric {
        tag: "itl",
        unit: Unit::Ms,
        formula: "gap / tokens of its event, once for each of them",
        needs: "token counts in the events",
        empty_when: "counts unknown",
        source: Source::TokenGaps,
    },
    Metric {
        tag: "prompt_tokens_planned",
        unit: Unit::Tokens,
        formula: "prompt length asked for",
        needs: "lengths known beforehand",
        empty_when: "unknown",
        source: Source::Row(Rows::Ok, |row| row.planned.prompt_tokens_planned.map(f64::from)),
    },
    Metric {
        tag: "prompt_tokens",
        unit: Unit::Tokens,
        formula: "prompt tokens, as the server counts",
        needs: "usage from the server",
        empty_when: "no usage",
        source: Source::Row(Rows::Ok, |row| tokens(row.prompt_tokens)),
    },
    Metric {
        tag: "cached_tokens",
        unit: Unit::Tokens,
        formula: "prompt tokens from the server's cache, as it says",
        needs: "cached tokens in the server's usage",
        empty_when: "not stated",
        source: Source::Row(Rows::Ok, |row| tokens(row.cached_tokens)),
    },
    Metric {
        tag: "output_tokens_planned",
        unit: Unit::Tokens,
        formula: "output length asked for",
        needs: "",
        empty_when: "none asked for",
        source: Source::Row(Rows::Ok, |row| row.planned.output_tokens_planned.map(f64::from)),
    },
    Metric {
        tag: "output_tokens",
        unit: Unit::Tokens,
        formula: "N: the server's usage; else counted ids or log probabilities; else a tokenizer's count",
        needs: "usage, token ids, or a tokenizer",
        empty_when: "none of them",
        source: Source::Row(Rows::Ok, |row| tokens(row.output_tokens)),
    },
    Metric {
        tag: "reasoning_tokens",
        unit: Unit::Tokens,
        formula: "output tokens that were reasoning, as the server says",
        needs: "reasoning tokens in the server's usage",
        empty_when: "not stated",
        source: Source::Row(Rows::Ok, |row| tokens(row.reasoning_tokens)),
    },
    Metric {
        tag: "output_throughput",
        unit: Unit::TokensPerSecond,
        formula: "output tokens of ok and cut_at_end requests that arrived inside the window / window",
        needs: "a count of output tokens",
        empty_when: "no such request's tokens could be counted",
        source: Source::Figure(|scope| scope.output_throughput()),
    },
    Metric {
        tag: "prompt_throughput",
        unit: Unit::TokensPerSecond,
        formula: "prompt tokens of ok and cut_at_end requests whose first token fell inside the window / window",
        needs: "usage from the server",
        empty_when: "no such request's prompt was counted",
        source: Source::Figure(|scope| scope.prompt_throughput()),
    },
    Metric {
        tag: "total_throughput",
        unit: Unit::TokensPerSecond,
        formula: "prompt_throughput + output_throughput",
        needs: "both",
        empty_when: "either is",
        source: Source::Figure(|scope| scope.total_throughput()),
    },
    Metric {
        tag: "wasted_tokens",
        unit: Unit::Tokens,
        formula: "output tokens of failed requests that arrived inside the window",
        needs: "a count of output tokens",
        empty_when: "no such request's tokens could be counted",
        source: Source::Figure(|scope| scope.wasted_tokens()),
    },
    Metric {
        tag: "uncounted_requests",
        unit: Unit::Requests,
        formula: "ok and cut_at_end requests with output whose tokens could not be counted: missing in throughputs",
        needs: "",
        empty_when: "never",
        source: Source::Figure(|scope| scope.uncounted_requests()),
    },
    Metric {
        tag: "offered_rate",
        unit: Unit::RequestsPerSecond,
        formula: "requests due inside the window / window; without duration, window start to last measured due time",
        needs: "",
        empty_when: "no window",
        source: Source::Figure(|scope| scope.offered_rate()),
    },
    Metric {
        tag: "achieved_rate",
        unit: Unit::RequestsPerSecond,
        formula: "requests sent inside the window / the span of offered_rate",
        needs: "",
        empty_when: "no window",
        source: Source::Figure(|scope| scope.achieved_rate()),
    },
    Metric {
        tag: "request_throughput",
        unit: Unit::RequestsPerSecond,
        formula: "requests whose answer ended ok inside the window / window",
        needs: "",
        empty_when: "no window",
        source: Source::Figure(|scope| scope.request_throughput()),
    },
    Metric {
        tag: "success",
        unit: Unit::Share,
        formula: "ok / (measured − undecided); undecided: skipped, cancelled, client_error, cut_at_end, and not_sent \
                  after a stop",
        needs: "",
        empty_when: "none decided",
        source: Source::Figure(|scope| scope.success()),
    },
    Metric {
        tag: "attainment",
        unit: Unit::Share,
        formula: "good / (measured − undecided), good: ok and every limit of [slo] kept; cut_at_end past a limit is \
                  decided",
        needs: "[slo]",
        empty_when: "no slo",
        source: Source::Figure(|scope| scope.attainment()),
    },
    Metric {
        tag: "goodput",
        unit: Unit::RequestsPerSecond,
        formula: "good requests whose answer ended inside the window / window",
        needs: "[slo]",
        empty_when: "no slo",
        source: Source::Figure(|scope| scope.goodput()),
    },
    Metric {
        tag: "slo_unmeasurable",
        unit: Unit::Requests,
        formula: "measured ok requests not good because a limited metric could not be measured",
        needs: "[slo]",
        empty_when: "no slo",
        source: Source::Figure(|scope| scope.slo_unmeasurable()),
    },
    Metric {
        tag: "finish_reasons",
        unit: Unit::Requests,
        formula: "measured ok requests by why their answer ended",
        needs: "",
        empty_when: "never",
        source: Source::FinishReasons,
    },
];

fn tokens(count: Option<u64>) -> Option<f64> {
    count.map(|count| count as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

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
