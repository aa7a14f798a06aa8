//! The table of metrics.

use super::{Metric, Rows, Source, Unit};
use crate::record::{Outcome, RequestRecord, Verdict};
use crate::stats::censored::Reached;
use crate::stats::scope::{Rate, is_decided};
use crate::units::Micros;

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
        tag: "first_answer_scheduled",
        unit: Unit::Ms,
        formula: "first non-empty answer text − scheduled",
        needs: "a stream",
        empty_when: "reasoning only",
        source: Source::Row(Rows::Ok, |row| Some((row.first_answer? - row.scheduled?).as_ms())),
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
        tag: "decode_speed",
        unit: Unit::TokensPerSecond,
        formula: "(N − 1) / (last token − first token): what one reader sees, 1 / tpot",
        needs: "a stream; a count of output tokens",
        empty_when: "N < 2, or last token = first",
        source: Source::Row(Rows::Ok, |row| Some(1e3 / row.tpot_ms()?)),
    },
    Metric {
        tag: "prefill_speed",
        unit: Unit::TokensPerSecond,
        formula: "(prompt_tokens − cached_tokens, where stated) / ttft: with all waiting before the first token, a lower bound of the server's own rate",
        needs: "a stream; usage from the server",
        empty_when: "no usage, or no such event",
        source: Source::Row(Rows::Ok, prefill_speed),
    },
    Metric {
        tag: "ttft_adjusted",
        unit: Unit::Ms,
        formula: "ttft_scheduled of all measured rows; failed, dropped and not sent count as infinitely late, cut_at_end and cancelled as at least as late as when they were cut; the others undecided are left out",
        needs: "a stream",
        empty_when: "ok without such an event",
        source: Source::Adjusted(|row| adjusted(row, row.ttft_scheduled())),
    },
    Metric {
        tag: "first_answer_adjusted",
        unit: Unit::Ms,
        formula: "first_answer_scheduled of all measured rows; failed, dropped and not sent count as infinitely late, cut_at_end and cancelled as at least as late as when they were cut; the others undecided are left out",
        needs: "a stream",
        empty_when: "ok with reasoning only",
        source: Source::Adjusted(|row| {
            adjusted(row, row.first_answer.zip(row.scheduled).map(|(first, due)| first - due))
        }),
    },
    Metric {
        tag: "e2e_adjusted",
        unit: Unit::Ms,
        formula: "e2e_scheduled of all measured rows; failed, dropped and not sent count as infinitely late, cut_at_end and cancelled as at least as late as when they were cut; the others undecided are left out",
        needs: "",
        empty_when: "never",
        source: Source::Adjusted(|row| adjusted(row, row.e2e_scheduled())),
    },
    Metric {
        tag: "tpot_adjusted",
        unit: Unit::Ms,
        formula: "tpot of all measured rows; failed, dropped and not sent count as infinitely late, cut_at_end and cancelled as unknown; the others undecided are left out",
        needs: "a stream; a count of output tokens",
        empty_when: "ok with N < 2, or last token = first",
        source: Source::Adjusted(adjusted_tpot),
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
        source: Source::Rate(Rate::Output),
    },
    Metric {
        tag: "prompt_throughput",
        unit: Unit::TokensPerSecond,
        formula: "prompt tokens of ok and cut_at_end requests whose first token fell inside the window / window",
        needs: "usage from the server",
        empty_when: "no such request's prompt was counted",
        source: Source::Rate(Rate::Prompt),
    },
    Metric {
        tag: "total_throughput",
        unit: Unit::TokensPerSecond,
        formula: "prompt_throughput + output_throughput",
        needs: "both",
        empty_when: "either is",
        source: Source::Rate(Rate::Total),
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
        source: Source::Rate(Rate::Offered),
    },
    Metric {
        tag: "achieved_rate",
        unit: Unit::RequestsPerSecond,
        formula: "requests sent inside the window / the span of offered_rate",
        needs: "",
        empty_when: "no window",
        source: Source::Rate(Rate::Achieved),
    },
    Metric {
        tag: "request_throughput",
        unit: Unit::RequestsPerSecond,
        formula: "requests whose answer ended ok inside the window / window",
        needs: "",
        empty_when: "no window",
        source: Source::Rate(Rate::Completed),
    },
    Metric {
        tag: "success",
        unit: Unit::Share,
        formula: "ok / (measured − undecided); undecided: skipped, cancelled, client_error, cut_at_end, and not_sent \
                  after a stop",
        needs: "",
        empty_when: "none decided",
        source: Source::Share(|row, stopped| {
            is_decided(row.outcome, stopped).then_some(row.outcome == Outcome::Ok)
        }),
    },
    Metric {
        tag: "error_share",
        unit: Unit::Share,
        formula: "measured rows of each outcome that is a failure / (measured − undecided); value: of all of them",
        needs: "",
        empty_when: "none decided",
        source: Source::ErrorShares,
    },
    Metric {
        tag: "attainment",
        unit: Unit::Share,
        formula: "good / (measured − undecided), good: ok and every limit of [slo] kept; cut_at_end past a limit is \
                  decided",
        needs: "[slo]",
        empty_when: "no slo",
        source: Source::Share(|row, stopped| {
            row.slo_met.filter(|_| !(stopped && row.outcome == Outcome::NotSent))
        }),
    },
    Metric {
        tag: "goodput",
        unit: Unit::RequestsPerSecond,
        formula: "good requests whose answer ended inside the window / window",
        needs: "[slo]",
        empty_when: "no slo",
        source: Source::Rate(Rate::Good),
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
    Metric {
        tag: "finish_reason_share",
        unit: Unit::Share,
        formula: "measured ok requests by why their answer ended / measured ok requests",
        needs: "",
        empty_when: "none ended ok",
        source: Source::FinishShares,
    },
    Metric {
        tag: "accuracy",
        unit: Unit::Share,
        formula: "right / checked, over measured ok requests of workloads with score; value: of all, and by why the \
                  answer ended (length: it ran into max_tokens)",
        needs: "score",
        empty_when: "none checked",
        source: Source::Accuracy,
    },
    Metric {
        tag: "verdicts",
        unit: Unit::Requests,
        formula: "checked answers of measured ok requests by verdict; accuracy = right / (right + wrong + no_answer)",
        needs: "score",
        empty_when: "never",
        source: Source::Verdicts,
    },
    Metric {
        tag: "no_answer_share",
        unit: Unit::Share,
        formula: "answers in which nothing could be found that answers / checked",
        needs: "score",
        empty_when: "none checked",
        source: Source::Share(|row, _| row.verdict.map(|verdict| verdict == Verdict::NoAnswer)),
    },
    Metric {
        tag: "unchecked_requests",
        unit: Unit::Requests,
        formula: "measured ok requests of workloads with score that were not checked: no usable truth, or no room for \
                  their text",
        needs: "score",
        empty_when: "no score",
        source: Source::Figure(|scope| scope.unchecked_requests()),
    },
    Metric {
        tag: "correct_goodput",
        unit: Unit::RequestsPerSecond,
        formula: "right answers of ok requests that kept every limit of [slo], where it has any, and ended inside the \
                  window / window",
        needs: "score",
        empty_when: "no score",
        source: Source::Rate(Rate::Correct),
    },
    Metric {
        tag: "consistency",
        unit: Unit::Share,
        formula: "answers equal to the first one that the same request got in the run / answers to requests sent before, \
                  over measured ok requests at temperature 0",
        needs: "consistency",
        empty_when: "no request was sent twice",
        source: Source::Share(|row, _| row.consistent),
    },
    Metric {
        tag: "new_connections",
        unit: Unit::Requests,
        formula: "measured requests for which a connection was opened",
        needs: "",
        empty_when: "never",
        source: Source::Figure(|scope| scope.new_connections()),
    },
    Metric {
        tag: "new_connection_share",
        unit: Unit::Share,
        formula: "new_connections / measured requests that obtained a connection",
        needs: "",
        empty_when: "none obtained one",
        source: Source::Share(|row, _| row.new_connection),
    },
    Metric {
        tag: "reconnects",
        unit: Unit::Requests,
        formula: "exchanges of measured requests redone because a pooled connection was found dead before a response byte",
        needs: "",
        empty_when: "never",
        source: Source::Figure(|scope| scope.reconnects()),
    },
];

fn tokens(count: Option<u64>) -> Option<f64> {
    count.map(|count| count as f64)
}

fn prefill_speed(row: &RequestRecord) -> Option<f64> {
    let fresh = row.prompt_tokens?.checked_sub(row.cached_tokens.unwrap_or(0))?;
    let ttft = row.ttft().filter(|ttft| ttft.0 > 0)?;
    Some(fresh as f64 / ttft.as_s())
}

/// When something came that came so long after the due time.
fn adjusted(row: &RequestRecord, came: Option<Micros>) -> Option<Reached> {
    match row.outcome {
        Outcome::Ok => Some(Reached::After(came?.as_ms())),
        Outcome::CutAtEnd | Outcome::Cancelled => Some(match came {
            Some(came) => Reached::After(came.as_ms()),
            None => Reached::Beyond((row.ended? - row.scheduled.or(row.sent)?).as_ms()),
        }),
        Outcome::Skipped | Outcome::ClientError => None,
        _ => Some(Reached::Never),
    }
}

fn adjusted_tpot(row: &RequestRecord) -> Option<Reached> {
    match row.outcome {
        Outcome::Ok => row.tpot_ms().map(Reached::After),
        Outcome::CutAtEnd | Outcome::Cancelled => Some(Reached::Beyond(0.0)),
        Outcome::Skipped | Outcome::ClientError => None,
        _ => Some(Reached::Never),
    }
}
