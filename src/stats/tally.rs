//! What is kept of the rows of one phase and workload until they are summed up.
//!
//! Values are kept exactly, 8 bytes each, since percentiles run over all of them. Instants that count only
//! inside the window are kept too: the window of a phase that ends by count is known only at its end.

use std::collections::BTreeSet;

use super::censored::Reached;
use super::histogram::Histogram;
use super::metrics::{FinishReason, METRICS, Source, is_failed_exchange};
use super::slo::Slo;
use crate::record::{Needle, Outcome, RequestRecord, Verdict};
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
    /// Measured rows, in order of arrival.
    pub(super) rows: Vec<Kept>,
    /// Values of each row metric, at its place in [`METRICS`]; empty for others.
    columns: Vec<Column>,
    pub(super) gaps: Histogram,
    pub(super) token_gaps: Histogram,
    pub(super) outcomes: OutcomeCounts,
    pub(super) measured: OutcomeCounts,
    finish_reasons: [u64; FinishReason::ALL.len()],
    /// When each request was due, sent and over.
    pub(super) dispatches: Vec<Dispatch>,
    /// Each `ok` answer.
    pub(super) answers: Vec<Answered>,
    /// Measured rows that were checked.
    pub(super) checked: Vec<Checked>,
    /// Measured `ok` rows that should have been and were not.
    pub(super) unchecked: u64,
    /// Each row whose tokens count.
    pub(super) outputs: Vec<Output>,
    /// Output inside the window of rows whose tokens count.
    pub(super) output: Amount,
    /// Output inside the window of failed rows.
    pub(super) wasted: Amount,
    pub(super) slo_unmeasurable: u64,
    /// Lengths of measured `ok` rows.
    pub(super) prompt_lengths: Lengths,
    pub(super) output_lengths: Lengths,
    /// Measured rows that waited for a place in flight or for their user.
    pub(super) held: u64,
    /// Exchanges of measured rows redone on a fresh connection.
    pub(super) reconnects: u64,
    /// Reads that completed events of measured rows, those that completed several, and how long bytes lay before the
    /// worst read of each row.
    pub(super) reads: Reads,
    /// Measured rows that asked a row of the data set again.
    pub(super) repeated: u64,
    /// Rows skipped because their conversation would have passed its context.
    pub(super) beyond_context: u64,
    /// What measured `ok` rows found in the server's prefix cache, and what they could.
    pub(super) hits: Hits,
}

/// Tokens that a prefix cache knew and could have known, over rows of which both are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hits {
    /// Tokens of their prompts.
    pub prompt_tokens: u64,
    /// Those that could have been cached.
    pub eligible_tokens: u64,
    /// Those that were.
    pub cached_tokens: u64,
    /// Those that were though nothing of this run had brought them, a template's left out.
    pub strange_tokens: u64,
    /// Rows that have such.
    pub strange_rows: u64,
}

/// A template begins all prompts of a model, whatever their workload: so many tokens of each row are put down to it.
const TEMPLATE_TOKENS: u64 = 64;

impl Hits {
    fn add_row(&mut self, record: &RequestRecord) {
        let known = (record.prompt_tokens, record.eligible_tokens, record.cached_tokens);
        let (Some(prompt), Some(eligible), Some(cached)) = known else { return };
        let strange = cached.saturating_sub(eligible + TEMPLATE_TOKENS);
        self.add(Hits {
            prompt_tokens: prompt,
            eligible_tokens: eligible,
            cached_tokens: cached,
            strange_tokens: strange,
            strange_rows: u64::from(strange > 0),
        });
    }

    /// The same, where what nothing had brought is not looked at.
    #[must_use]
    pub fn without_strange(self) -> Hits {
        Hits { strange_tokens: 0, strange_rows: 0, ..self }
    }

    /// Adds those of other rows.
    pub fn add(&mut self, other: Hits) {
        self.prompt_tokens += other.prompt_tokens;
        self.eligible_tokens += other.eligible_tokens;
        self.cached_tokens += other.cached_tokens;
        self.strange_tokens += other.strange_tokens;
        self.strange_rows += other.strange_rows;
    }
}

/// How bytes were read, over rows.
#[derive(Clone, Debug, Default)]
pub(super) struct Reads {
    pub(super) bearing: u64,
    pub(super) shared: u64,
    pub(super) clamped: u64,
    pub(super) delays: Vec<Micros>,
}

/// What is kept of a measured row beside its values.
#[derive(Clone, Copy, Debug)]
pub struct Kept {
    /// Due time, else send; with the index of the request it orders rows.
    pub(super) at: Micros,
    pub(super) request: u64,
    pub(super) outcome: Outcome,
    pub(super) slo_met: Option<bool>,
    pub(super) finish_reason: FinishReason,
    pub(super) new_connection: Option<bool>,
    pub(super) verdict: Option<Verdict>,
    pub(super) consistent: Option<bool>,
}

/// An `ok` answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answered {
    pub(super) end: Micros,
    /// It kept every limit, and there are some.
    pub(super) good: bool,
    /// It is right, and missed no limit.
    pub(super) correct: bool,
}

/// What was asked of a measured row whose answer was checked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Checked {
    /// Its place among measured rows.
    pub(super) row: u32,
    pub(super) sent: Micros,
    /// Length of its prompt, as asked for where it hides a needle, else as counted.
    pub(super) prompt_tokens: Option<u64>,
    pub(super) needle: Option<Needle>,
}

/// When a request was due, sent and over.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dispatch {
    pub(super) due: Micros,
    pub(super) sent: Option<Micros>,
    pub(super) ended: Option<Micros>,
}

/// An answer whose tokens count.
#[derive(Clone, Copy, Debug)]
pub(super) struct Output {
    /// First and last token; both the last output where nothing was streamed.
    pub(super) first: Micros,
    pub(super) last: Micros,
    /// Tokens that arrived inside the window.
    pub(super) tokens: Option<f64>,
    /// Whether a prompt was answered, and how long it was.
    pub(super) prompt: Option<Option<u64>>,
}

/// Values of a metric by measured row.
#[derive(Clone, Debug, Default)]
struct Column {
    /// NaN where the row has none; rows after the last that has one are missing.
    values: Vec<f64>,
    /// Rows whose value is only a lower bound.
    censored: BTreeSet<u32>,
}

impl Column {
    fn set(&mut self, row: usize, value: f64) {
        self.values.resize(row, f64::NAN);
        self.values.push(value);
    }

    fn value(&self, row: u32) -> Option<f64> {
        self.values.get(row as usize).copied().filter(|value| !value.is_nan())
    }
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
        self.planned = self.planned.saturating_add(other.planned);
        self.real = self.real.saturating_add(other.real);
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
            rows: Vec::new(),
            columns: vec![Column::default(); METRICS.len()],
            gaps: Histogram::default(),
            token_gaps: Histogram::default(),
            outcomes: OutcomeCounts::default(),
            measured: OutcomeCounts::default(),
            finish_reasons: [0; _],
            dispatches: Vec::new(),
            answers: Vec::new(),
            checked: Vec::new(),
            unchecked: 0,
            outputs: Vec::new(),
            output: Amount::default(),
            wasted: Amount::default(),
            slo_unmeasurable: 0,
            prompt_lengths: Lengths::default(),
            output_lengths: Lengths::default(),
            held: 0,
            reconnects: 0,
            reads: Reads::default(),
            repeated: 0,
            beyond_context: 0,
            hits: Hits::default(),
        }
    }

    /// Takes in a row.
    pub(super) fn add(&mut self, record: &RequestRecord, events: RowEvents<'_>, slo: &Slo) {
        self.outcomes.add(record.outcome);
        // A row is skipped with an error only there.
        self.beyond_context += u64::from(record.outcome == Outcome::Skipped && record.error.is_some());
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
        if let Some(due) = record.scheduled {
            self.dispatches.push(Dispatch { due, sent: record.sent, ended: record.ended });
        }
        if record.outcome == Outcome::Ok
            && let Some(end) = answer_end(record)
        {
            let is_right = record.grade.as_ref().is_some_and(|grade| grade.verdict == Verdict::Right);
            self.answers.push(Answered {
                end,
                good: record.slo_met == Some(true),
                correct: is_right && record.slo_met != Some(false),
            });
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
        if let Some(first) = record.first_token.or(record.last_output) {
            let last = record.last_token.unwrap_or(first).max(first);
            let prompt = record.first_token.map(|_| record.prompt_tokens);
            self.outputs.push(Output { first, last, tokens, prompt });
        }
    }

    fn add_measured(&mut self, record: &RequestRecord, slo: &Slo) {
        self.measured.add(record.outcome);
        let row = self.rows.len();
        self.rows.push(Kept {
            at: record.scheduled.or(record.sent).unwrap_or_default(),
            request: record.planned.request,
            outcome: record.outcome,
            slo_met: record.slo_met,
            finish_reason: FinishReason::of(record.finish_reason.as_deref()),
            new_connection: record.new_connection,
            verdict: record.grade.as_ref().map(|grade| grade.verdict),
            consistent: record.consistent,
        });
        if record.grade.is_some() {
            let planned = &record.planned;
            let asked = planned.needle.map(|needle| needle.length_tokens);
            let counted = record.prompt_tokens.or(planned.prompt_tokens_planned.map(u64::from));
            self.checked.push(Checked {
                row: row as u32,
                sent: record.sent.unwrap_or_default(),
                prompt_tokens: asked.map(u64::from).or(counted),
                needle: planned.needle,
            });
        }
        for (metric, column) in METRICS.iter().zip(&mut self.columns) {
            match metric.source {
                Source::Row(rows, value) if rows.contain(record) => {
                    if let Some(value) = value(record) {
                        column.set(row, value);
                    }
                }
                Source::Adjusted(reached) => {
                    if let Some(reached) = reached(record) {
                        column.set(row, reached.at_least());
                        if matches!(reached, Reached::Beyond(_)) {
                            column.censored.insert(row as u32);
                        }
                    }
                }
                _ => {}
            }
        }
        if record.outcome == Outcome::Ok {
            self.finish_reasons[FinishReason::of(record.finish_reason.as_deref()) as usize] += 1;
            self.slo_unmeasurable += u64::from(slo.is_unmeasurable(record));
            let planned = &record.planned;
            self.prompt_lengths.add_row(planned.prompt_tokens_planned, record.prompt_tokens);
            self.output_lengths.add_row(planned.output_tokens_planned, record.output_tokens);
            self.hits.add_row(record);
        }
        self.held += u64::from(record.held.is_some_and(|held| held > Micros(0)));
        if let Some(reads) = &record.reads {
            self.reads.bearing += reads.bearing;
            self.reads.shared += reads.shared;
            self.reads.clamped += reads.clamped;
            self.reads.delays.extend(reads.delay_max.map(Micros::from_duration));
        }
        self.reconnects += u64::from(record.reconnects.unwrap_or(0));
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

    /// The value of a measured row for the metric at `place` in [`METRICS`].
    pub(super) fn value(&self, place: usize, row: u32) -> Option<f64> {
        self.columns[place].value(row)
    }

    /// The same for an adjusted metric.
    pub(super) fn reached(&self, place: usize, row: u32) -> Option<Reached> {
        let column = &self.columns[place];
        let value = column.value(row)?;
        Some(match value {
            cut if column.censored.contains(&row) => Reached::Beyond(cut),
            never if never.is_infinite() => Reached::Never,
            ms => Reached::After(ms),
        })
    }

    /// Whether any row has a value for the metric at `place`.
    pub(super) fn has_values(&self, place: usize) -> bool {
        !self.columns[place].values.is_empty()
    }

    /// Adds times between events that were counted before.
    pub(super) fn add_counted_gaps(&mut self, of_tokens: bool, time: Micros, count: u64) {
        let histogram = if of_tokens { &mut self.token_gaps } else { &mut self.gaps };
        histogram.add_times(time, count);
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
