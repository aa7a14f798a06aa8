//! Limits for one request (`[slo]`) and whether it kept them.

use std::time::Duration;

use crate::record::{Outcome, RequestRecord};
use crate::units::Micros;

/// A latency of one request that can be limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SloMetric {
    /// From the send to the first generated text.
    Ttft,
    /// From the due time to the first generated text.
    TtftScheduled,
    /// From the send to the first answer text.
    FirstAnswer,
    /// Time per output token after the first.
    Tpot,
    /// From the send to the last output.
    E2e,
    /// From the due time to the last output.
    E2eScheduled,
}

impl SloMetric {
    /// Every metric that can be limited.
    pub const ALL: [SloMetric; 6] = [
        SloMetric::Ttft,
        SloMetric::TtftScheduled,
        SloMetric::FirstAnswer,
        SloMetric::Tpot,
        SloMetric::E2e,
        SloMetric::E2eScheduled,
    ];

    /// The key in `[slo]`, which is the metric's tag.
    pub fn name(self) -> &'static str {
        match self {
            SloMetric::Ttft => "ttft",
            SloMetric::TtftScheduled => "ttft_scheduled",
            SloMetric::FirstAnswer => "first_answer",
            SloMetric::Tpot => "tpot",
            SloMetric::E2e => "e2e",
            SloMetric::E2eScheduled => "e2e_scheduled",
        }
    }
}

/// The limits one request must keep, all of them together. A value equal to its limit keeps it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slo {
    /// Metric and limit, in the order of [`SloMetric::ALL`].
    pub limits: Vec<(SloMetric, Duration)>,
}

impl Slo {
    /// The limits of a workload: its own, and `defaults` for metrics it does not name.
    pub fn over(&self, defaults: &Slo) -> Slo {
        let own = |metric| self.limits.iter().chain(&defaults.limits).find(|(known, _)| *known == metric);
        Slo { limits: SloMetric::ALL.into_iter().filter_map(|metric| own(metric).copied()).collect() }
    }

    /// Whether `record` was good: `ok` and every limit kept. `None` without limits, and where the row is
    /// undecided; a row cut at the end that has already missed a limit is decided.
    pub fn judge(&self, record: &RequestRecord) -> Option<bool> {
        if self.limits.is_empty() {
            return None;
        }
        if record.outcome == Outcome::CutAtEnd {
            let missed = self.limits.iter().any(|limit| was_missed_when_cut(record, *limit));
            return missed.then_some(false);
        }
        if record.outcome.is_undecided() {
            return None;
        }
        Some(record.outcome == Outcome::Ok && self.limits.iter().all(|limit| keeps(record, *limit)))
    }

    /// Whether a limit of an `ok` row stands on a metric that could not be measured: not kept, and no fault of
    /// the server. A row of one token has no time between tokens to measure.
    pub fn is_unmeasurable(&self, record: &RequestRecord) -> bool {
        record.outcome == Outcome::Ok && self.limits.iter().any(|(metric, _)| is_empty(record, *metric))
    }
}

fn is_empty(record: &RequestRecord, metric: SloMetric) -> bool {
    match metric {
        SloMetric::Ttft => record.ttft().is_none(),
        SloMetric::TtftScheduled => record.ttft_scheduled().is_none(),
        SloMetric::FirstAnswer => record.first_answer_after().is_none(),
        SloMetric::E2e => record.e2e().is_none(),
        SloMetric::E2eScheduled => record.e2e_scheduled().is_none(),
        SloMetric::Tpot => {
            record.tpot_ms().is_none() && record.output_tokens.is_none_or(|tokens| tokens >= 2)
        }
    }
}

fn was_missed_when_cut(record: &RequestRecord, (metric, at_most): (SloMetric, Duration)) -> bool {
    let at_most = Micros::from_duration(at_most);
    let waited = |from: Option<Micros>, reached: Option<Micros>| {
        let until = reached.or(record.ended);
        until.zip(from).is_some_and(|(until, from)| until - from > at_most)
    };
    match metric {
        SloMetric::Ttft => waited(record.sent, record.first_token),
        SloMetric::TtftScheduled => waited(record.scheduled, record.first_token),
        SloMetric::FirstAnswer => waited(record.sent, record.first_answer),
        SloMetric::E2e => waited(record.sent, None),
        SloMetric::E2eScheduled => waited(record.scheduled, None),
        SloMetric::Tpot => false,
    }
}

fn keeps(record: &RequestRecord, (metric, at_most): (SloMetric, Duration)) -> bool {
    let at_most = Micros::from_duration(at_most);
    let within = |value: Option<Micros>| value.is_some_and(|value| value <= at_most);
    match metric {
        SloMetric::Ttft => within(record.ttft()),
        SloMetric::TtftScheduled => within(record.ttft_scheduled()),
        SloMetric::FirstAnswer => within(record.first_answer_after()),
        SloMetric::E2e => within(record.e2e()),
        SloMetric::E2eScheduled => within(record.e2e_scheduled()),
        // One token has no time between tokens: nothing to miss. An unknown count is unmeasurable: not kept.
        SloMetric::Tpot => match record.tpot_ms() {
            Some(ms) => ms <= at_most.as_ms(),
            None => record.output_tokens.is_some_and(|tokens| tokens < 2),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_rows::{failed, ms, ok};
    use super::*;

    fn limits(limits: &[(SloMetric, u64)]) -> Slo {
        Slo { limits: limits.iter().map(|(metric, ms)| (*metric, Duration::from_millis(*ms))).collect() }
    }

    #[test]
    fn all_limits_must_hold_and_the_limit_itself_holds() {
        let slo = limits(&[(SloMetric::Ttft, 200), (SloMetric::Tpot, 50)]);
        assert_eq!(slo.judge(&ok(0, 200, 650, 10)), Some(true));
        assert_eq!(slo.judge(&ok(0, 201, 650, 10)), Some(false));
        assert_eq!(slo.judge(&ok(0, 200, 659, 10)), Some(false));
        assert_eq!(slo.judge(&failed(0, Outcome::HttpError, 5)), Some(false));
        assert_eq!(Slo::default().judge(&ok(0, 200, 650, 10)), None);
    }

    #[test]
    fn a_row_cut_at_the_end_is_decided_only_once_it_has_missed_a_limit() {
        let slo = limits(&[(SloMetric::Ttft, 200)]);
        assert_eq!(slo.judge(&failed(0, Outcome::CutAtEnd, 200)), None);
        assert_eq!(slo.judge(&failed(0, Outcome::CutAtEnd, 201)), Some(false));
        let answering = RequestRecord { first_token: Some(ms(150)), ..failed(0, Outcome::CutAtEnd, 900) };
        assert_eq!(slo.judge(&answering), None);
    }

    #[test]
    fn one_token_keeps_a_tpot_limit_but_an_unknown_count_or_a_single_burst_cannot_be_measured() {
        let slo = limits(&[(SloMetric::Tpot, 50)]);
        let unknown = RequestRecord { output_tokens: None, ..ok(0, 100, 200, 5) };
        for (row, good, unmeasurable) in
            [(ok(0, 100, 100, 1), true, false), (unknown, false, true), (ok(0, 100, 100, 9), false, true)]
        {
            assert_eq!((slo.judge(&row), slo.is_unmeasurable(&row)), (Some(good), unmeasurable));
        }
    }
}
