//! What is kept of the rows of one phase and workload until they are summed up.
//!
//! Values are kept exactly, 8 bytes each, since percentiles run over all of them. Instants that count only
//! inside the window are kept too: the window of a phase that ends by count is known only at its end.

use super::histogram::Histogram;
use super::metrics::{FinishReason, METRICS, Source, is_failed_exchange};
use super::slo::Slo;
use crate::record::{Outcome, RequestRecord};
use crate::units::Micros;

/// Token-bearing events of one row, in order of arrival, from run start.
#[derive(Clone, Copy, Debug, Default)]
pub struct RowEvents<'a> {
    /// When each arrived.
    pub stamps: &'a [Micros],
    /// How many tokens each carried, where the server says so for all of them; as many as `stamps`.
    pub tokens: Option<&'a [u32]>,
}

/// Rows of one phase and workload.
#[derive(Clone, Debug)]
pub(super) struct Tally {
    /// Values of each row metric, at its place in [`METRICS`]; empty for others.
    samples: Vec<Vec<f64>>,
    pub(super) gaps: Histogram,
    pub(super) token_gaps: Histogram,
    pub(super) outcomes: OutcomeCounts,
    pub(super) measured: OutcomeCounts,
    finish_reasons: [u64; FinishReason::ALL.len()],
    /// Due time of each request that had one, and when it was sent.
    pub(super) dispatches: Vec<(Micros, Option<Micros>)>,
    /// End of each `ok` answer, and whether it was good.
    pub(super) answers: Vec<(Micros, bool)>,
    /// First token of each row whose tokens count, and its prompt's length.
    pub(super) prompts: Vec<(Micros, Option<u64>)>,
    /// Output inside the window of rows whose tokens count.
    pub(super) output: Amount,
    /// Output inside the window of failed rows.
    pub(super) wasted: Amount,
    /// Measured rows judged by their limits, and the good among them.
    pub(super) judged: u64,
    pub(super) good: u64,
    /// Judged rows that were never sent: undecided after a stop.
    pub(super) judged_not_sent: u64,
    pub(super) slo_unmeasurable: u64,
    /// Lengths of measured `ok` rows.
    pub(super) prompt_lengths: Lengths,
    pub(super) output_lengths: Lengths,
    /// Measured rows that waited for a place in flight or for their user.
    pub(super) held: u64,
}

/// A sum of tokens over rows, some of which may have none to give.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Amount {
    pub(super) sum: f64,
    /// Rows that are in the sum.
    pub(super) rows: u64,
    /// Rows whose tokens could not be counted.
    pub(super) uncounted: u64,
}

impl Amount {
    pub(super) fn add(&mut self, tokens: Option<f64>) {
        match tokens {
            Some(tokens) => {
                self.sum += tokens;
                self.rows += 1;
            }
            None => self.uncounted += 1,
        }
    }

    pub(super) fn join(self, other: Amount) -> Amount {
        Amount {
            sum: self.sum + other.sum,
            rows: self.rows + other.rows,
            uncounted: self.uncounted + other.uncounted,
        }
    }

    /// The sum; `None` where rows gave output and none of it could be counted.
    pub(super) fn known(self) -> Option<f64> {
        (self.rows > 0 || self.uncounted == 0).then_some(self.sum)
    }
}

/// Tokens asked for against tokens counted, over rows where both are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lengths {
    /// Tokens asked for.
    pub planned: u64,
    /// Tokens counted.
    pub real: u64,
}

impl Lengths {
    fn add_row(&mut self, planned: Option<u32>, real: Option<u64>) {
        if let (Some(planned), Some(real)) = (planned, real) {
            self.add(Lengths { planned: u64::from(planned), real });
        }
    }

    pub(super) fn add(&mut self, other: Lengths) {
        self.planned += other.planned;
        self.real += other.real;
    }

    /// |real − planned| / planned; `None` where nothing was asked for.
    pub fn deviation(self) -> Option<f64> {
        (self.planned > 0).then(|| self.real.abs_diff(self.planned) as f64 / self.planned as f64)
    }
}

/// Rows by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct OutcomeCounts([u64; Outcome::ALL.len()]);

impl OutcomeCounts {
    fn add(&mut self, outcome: Outcome) {
        self.0[outcome as usize] += 1;
    }

    pub(super) fn join(mut self, other: &OutcomeCounts) -> OutcomeCounts {
        self.0.iter_mut().zip(other.0).for_each(|(mine, theirs)| *mine += theirs);
        self
    }

    pub(super) fn of(&self, outcome: Outcome) -> u64 {
        self.0[outcome as usize]
    }

    /// Rows whose outcome is as asked.
    pub(super) fn count(&self, keep: impl Fn(Outcome) -> bool) -> u64 {
        Outcome::ALL.into_iter().filter(|outcome| keep(*outcome)).map(|outcome| self.of(outcome)).sum()
    }

    pub(super) fn all(&self) -> u64 {
        self.0.iter().sum()
    }
}

impl Tally {
    pub(super) fn new() -> Tally {
        Tally {
            samples: vec![Vec::new(); METRICS.len()],
            gaps: Histogram::default(),
            token_gaps: Histogram::default(),
            outcomes: OutcomeCounts::default(),
            measured: OutcomeCounts::default(),
            finish_reasons: [0; _],
            dispatches: Vec::new(),
            answers: Vec::new(),
            prompts: Vec::new(),
            output: Amount::default(),
            wasted: Amount::default(),
            judged: 0,
            good: 0,
            judged_not_sent: 0,
            slo_unmeasurable: 0,
            prompt_lengths: Lengths::default(),
            output_lengths: Lengths::default(),
            held: 0,
        }
    }

    /// Takes in a row.
    pub(super) fn add(&mut self, record: &RequestRecord, events: RowEvents<'_>, slo: &Slo) {
        self.outcomes.add(record.outcome);
        self.add_instants(record);
        self.add_output(record);
        if record.measured {
            self.add_measured(record, slo);
            if record.outcome == Outcome::Ok {
                self.add_gaps(events);
            }
        }
    }

    fn add_instants(&mut self, record: &RequestRecord) {
        if let Some(scheduled) = record.scheduled {
            self.dispatches.push((scheduled, record.sent));
        }
        if record.outcome == Outcome::Ok
            && let Some(end) = answer_end(record)
        {
            self.answers.push((end, record.slo_met == Some(true)));
        }
    }

    fn add_output(&mut self, record: &RequestRecord) {
        let tokens = record.output_tokens_in_window;
        if is_failed_exchange(record.outcome) && record.first_token.is_some() {
            self.wasted.add(tokens);
        }
        if !counts_as_output(record.outcome) {
            return;
        }
        if tokens.is_some() || record.first_token.is_some() {
            self.output.add(tokens);
        }
        if let Some(first_token) = record.first_token {
            self.prompts.push((first_token, record.prompt_tokens));
        }
    }

    fn add_measured(&mut self, record: &RequestRecord, slo: &Slo) {
        self.measured.add(record.outcome);
        for (metric, sample) in METRICS.iter().zip(&mut self.samples) {
            if let Source::Row(rows, value) = metric.source
                && rows.contain(record)
            {
                sample.extend(value(record));
            }
        }
        if record.outcome == Outcome::Ok {
            self.finish_reasons[FinishReason::of(record.finish_reason.as_deref()) as usize] += 1;
            self.slo_unmeasurable += u64::from(slo.is_unmeasurable(record));
            let planned = &record.planned;
            self.prompt_lengths.add_row(planned.prompt_tokens_planned, record.prompt_tokens);
            self.output_lengths.add_row(planned.output_tokens_planned, record.output_tokens);
        }
        self.judged += u64::from(record.slo_met.is_some());
        self.good += u64::from(record.slo_met == Some(true));
        self.judged_not_sent += u64::from(record.slo_met.is_some() && record.outcome == Outcome::NotSent);
        self.held += u64::from(record.held.is_some_and(|held| held > Micros(0)));
    }

    fn add_gaps(&mut self, events: RowEvents<'_>) {
        for pair in events.stamps.windows(2) {
            self.gaps.add(pair[1] - pair[0]);
        }
        let Some(tokens) = events.tokens else { return };
        for (pair, tokens) in events.stamps.windows(2).zip(tokens.iter().skip(1)) {
            if *tokens > 0 {
                let share = (pair[1] - pair[0]).0 as f64 / f64::from(*tokens);
                self.token_gaps.add_times(Micros(share.round_ties_even() as u64), u64::from(*tokens));
            }
        }
    }

    /// Values of the metric at `place` in [`METRICS`], in order of arrival.
    pub(super) fn sample(&self, place: usize) -> &[f64] {
        &self.samples[place]
    }

    pub(super) fn finished(&self, reason: FinishReason) -> u64 {
        self.finish_reasons[reason as usize]
    }
}

/// Whether tokens of such a row count in throughputs.
pub(super) fn counts_as_output(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Ok | Outcome::CutAtEnd)
}

/// When the answer proper was over: a late usage or close does not stretch it.
pub(super) fn answer_end(record: &RequestRecord) -> Option<Micros> {
    record.last_output.or(record.ended)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_are_counted_under_their_own_name() {
        let mut counts = OutcomeCounts::default();
        for (place, outcome) in Outcome::ALL.into_iter().enumerate() {
            assert_eq!(outcome as usize, place);
            counts.add(outcome);
        }
        assert!(Outcome::ALL.into_iter().all(|outcome| counts.of(outcome) == 1));
        assert_eq!(counts.join(&counts).all(), 2 * Outcome::ALL.len() as u64);
    }

    #[test]
    fn an_amount_is_unknown_only_if_nothing_of_it_could_be_counted() {
        let mut amount = Amount::default();
        assert_eq!(amount.known(), Some(0.0));
        amount.add(None);
        assert_eq!(amount.known(), None);
        amount.add(Some(3.0));
        assert_eq!(amount.known(), Some(3.0));
    }
}
