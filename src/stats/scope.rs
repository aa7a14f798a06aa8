//! Groups of rows that are summed up together, and the rates and shares of one group.
//!
//! A group is a set of phases, each with its window and the tallies of some of its workloads. Over several
//! phases, counts are added and window lengths are added; nothing is ever averaged.

use super::tally::{Amount, OutcomeCounts, Tally};
use crate::record::Outcome;
use crate::units::Micros;

/// Which part of a phase counts, from run start. `None` is read off the rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Where it begins; `None`: at the first measured due time (a warm-up counted per user).
    pub start: Option<Micros>,
    /// Where it ends, itself outside; `None`: with the last output of a measured row (a phase without
    /// duration), itself inside.
    pub end: Option<Micros>,
}

/// A phase as far as its rows tell.
#[derive(Clone, Debug, Default)]
pub(super) struct PhaseSpan {
    pub(super) window: Option<Window>,
    /// Whether the run was stopped or interrupted before the phase had drained.
    pub(super) stopped: bool,
    pub(super) first_measured_due: Option<Micros>,
    pub(super) last_measured_due: Option<Micros>,
    pub(super) last_measured_output: Option<Micros>,
}

/// A window whose ends are known, longer than nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bounds {
    pub(super) start: Micros,
    pub(super) end: Micros,
    /// Last due time that counts as offered, where the end follows from the rows.
    last_due: Option<Micros>,
}

impl PhaseSpan {
    /// The window; `None` while an end is unknown, or where it has no length.
    pub(super) fn bounds(&self) -> Option<Bounds> {
        let window = self.window?;
        let start = window.start.or(self.first_measured_due)?;
        let (end, last_due) = match window.end {
            Some(end) => (end, None),
            None => (self.last_measured_output?, Some(self.last_measured_due?)),
        };
        (end > start).then_some(Bounds { start, end, last_due })
    }
}

impl Bounds {
    fn contain(self, at: Micros) -> bool {
        at >= self.start && (at < self.end || (self.last_due.is_some() && at == self.end))
    }

    fn length(self) -> Micros {
        self.end - self.start
    }

    /// What rates of requests due and sent divide by.
    fn offer_length(self) -> Micros {
        self.last_due.unwrap_or(self.end) - self.start
    }

    fn offers(self, due: Micros) -> bool {
        self.contain(due) && self.last_due.is_none_or(|last| due <= last)
    }
}

/// A group of rows.
pub struct Scope<'a> {
    pub(super) phases: Vec<ScopePhase<'a>>,
    /// Whether any of its workloads has limits.
    pub(super) limited: bool,
}

/// A phase of a group with the tallies that belong to it.
pub(super) struct ScopePhase<'a> {
    pub(super) span: &'a PhaseSpan,
    pub(super) tallies: Vec<&'a Tally>,
}

/// A rate, share or sum of a group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// Its value; `None` where it cannot be had.
    pub value: Option<f64>,
    /// Rows it was taken of: those counted in a rate or sum, those below the line of a share.
    pub count: u64,
}

impl Scope<'_> {
    pub(super) fn tallies(&self) -> impl Iterator<Item = &Tally> {
        self.phases.iter().flat_map(|phase| phase.tallies.iter().copied())
    }

    pub(super) fn outcomes(&self) -> OutcomeCounts {
        self.tallies().fold(OutcomeCounts::default(), |sum, tally| sum.join(&tally.outcomes))
    }

    pub(super) fn measured(&self) -> OutcomeCounts {
        self.tallies().fold(OutcomeCounts::default(), |sum, tally| sum.join(&tally.measured))
    }

    pub(super) fn output_throughput(&self) -> Figure {
        self.token_rate(self.output())
    }

    pub(super) fn prompt_throughput(&self) -> Figure {
        self.token_rate(self.prompts())
    }

    pub(super) fn total_throughput(&self) -> Figure {
        let (output, prompts) = (self.output(), self.prompts());
        let known = output.known().is_some() && prompts.known().is_some();
        let rate = self.token_rate(output.join(prompts));
        Figure { value: rate.value.filter(|_| known), count: output.rows }
    }

    pub(super) fn wasted_tokens(&self) -> Figure {
        let wasted = self.tallies().fold(Amount::default(), |sum, tally| sum.join(tally.wasted));
        Figure { value: wasted.known(), count: wasted.rows }
    }

    pub(super) fn uncounted_requests(&self) -> Figure {
        counted(self.output().uncounted)
    }

    pub(super) fn offered_rate(&self) -> Figure {
        let due = |bounds: Bounds, tally: &Tally| {
            tally.dispatches.iter().filter(|(due, _)| bounds.offers(*due)).count() as u64
        };
        self.rate(Bounds::offer_length, due)
    }

    pub(super) fn achieved_rate(&self) -> Figure {
        let sent = |bounds: Bounds, tally: &Tally| {
            let counts = |(due, sent): &&(Micros, Option<Micros>)| {
                sent.is_some_and(|sent| bounds.contain(sent))
                    && bounds.last_due.is_none_or(|last| *due <= last)
            };
            tally.dispatches.iter().filter(counts).count() as u64
        };
        self.rate(Bounds::offer_length, sent)
    }

    pub(super) fn request_throughput(&self) -> Figure {
        let ended = |bounds: Bounds, tally: &Tally| {
            tally.answers.iter().filter(|(end, _)| bounds.contain(*end)).count() as u64
        };
        self.rate(Bounds::length, ended)
    }

    pub(super) fn goodput(&self) -> Figure {
        if !self.limited {
            return Figure { value: None, count: 0 };
        }
        let good = |bounds: Bounds, tally: &Tally| {
            tally.answers.iter().filter(|(end, good)| *good && bounds.contain(*end)).count() as u64
        };
        self.rate(Bounds::length, good)
    }

    pub(super) fn success(&self) -> Figure {
        share(self.measured().of(Outcome::Ok), self.decided())
    }

    pub(super) fn attainment(&self) -> Figure {
        let (mut good, mut judged) = (0, 0);
        for phase in &self.phases {
            for tally in &phase.tallies {
                good += tally.good;
                judged += tally.judged - if phase.span.stopped { tally.judged_not_sent } else { 0 };
            }
        }
        share(good, judged)
    }

    pub(super) fn slo_unmeasurable(&self) -> Figure {
        let rows = self.tallies().map(|tally| tally.slo_unmeasurable).sum();
        if self.limited { counted(rows) } else { Figure { value: None, count: 0 } }
    }

    /// Measured rows that speak for or against the server.
    pub(super) fn decided(&self) -> u64 {
        let of_phase = |phase: &ScopePhase<'_>| {
            let is_undecided = |outcome: Outcome| {
                outcome.is_undecided() || (phase.span.stopped && outcome == Outcome::NotSent)
            };
            let is_decided = |outcome| !is_undecided(outcome);
            phase.tallies.iter().map(|tally| tally.measured.count(is_decided)).sum::<u64>()
        };
        self.phases.iter().map(of_phase).sum()
    }

    fn output(&self) -> Amount {
        self.tallies().fold(Amount::default(), |sum, tally| sum.join(tally.output))
    }

    fn prompts(&self) -> Amount {
        let mut sum = Amount::default();
        for (bounds, tally) in self.windowed() {
            let inside = tally.prompts.iter().filter(|(first_token, _)| bounds.contain(*first_token));
            inside.for_each(|(_, tokens)| sum.add(tokens.map(|tokens| tokens as f64)));
        }
        sum
    }

    fn token_rate(&self, amount: Amount) -> Figure {
        let value = self.length(Bounds::length).zip(amount.known()).map(|(length, sum)| sum / length.as_s());
        Figure { value, count: amount.rows }
    }

    fn rate(&self, length: fn(Bounds) -> Micros, count: impl Fn(Bounds, &Tally) -> u64) -> Figure {
        let count = self.windowed().map(|(bounds, tally)| count(bounds, tally)).sum();
        Figure { value: self.length(length).map(|length| count as f64 / length.as_s()), count }
    }

    fn windowed(&self) -> impl Iterator<Item = (Bounds, &Tally)> {
        let with_bounds = self.phases.iter().filter_map(|phase| Some((phase.span.bounds()?, phase)));
        with_bounds.flat_map(|(bounds, phase)| phase.tallies.iter().map(move |tally| (bounds, *tally)))
    }

    /// Lengths of all windows together; `None` where one is unknown or nothing is left. A phase that was never
    /// reached has no window and no rows, and takes no part.
    fn length(&self, of: fn(Bounds) -> Micros) -> Option<Micros> {
        let reached =
            self.phases.iter().filter(|phase| phase.span.window.is_some() || !phase.tallies.is_empty());
        let us = reached.map(|phase| Some(of(phase.span.bounds()?).0)).sum::<Option<u64>>()?;
        (us > 0).then_some(Micros(us))
    }
}

fn share(part: u64, whole: u64) -> Figure {
    Figure { value: (whole > 0).then(|| part as f64 / whole as f64), count: whole }
}

fn counted(rows: u64) -> Figure {
    Figure { value: Some(rows as f64), count: rows }
}
