//! Groups of rows that are summed up together, and the rates and shares of one group.
//!
//! A group is a set of phases, each with its window and the tallies of some of its workloads. Over several
//! phases, counts are added and window lengths are added; nothing is ever averaged.

use std::cell::OnceCell;

use super::censored::Reached;
use super::interval::SLICES;
use super::tally::{Amount, Kept, OutcomeCounts, Tally};
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
    /// Whether any of its workloads has its answers checked.
    pub(super) scored: bool,
    /// Its measured rows in order of due time.
    order: OnceCell<Vec<Place>>,
}

/// Where a measured row stands: phase of the group, tally of the phase, row of the tally.
#[derive(Clone, Copy)]
struct Place {
    phase: u32,
    tally: u32,
    row: u32,
}

/// A rate of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// Requests due.
    Offered,
    /// Requests sent.
    Achieved,
    /// Answers that ended `ok`.
    Completed,
    /// Those that kept their limits.
    Good,
    /// Those that kept their limits, if they had any, and are right.
    Correct,
    /// Output tokens.
    Output,
    /// Prompt tokens.
    Prompt,
    /// Both together.
    Total,
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

impl<'a> Scope<'a> {
    pub(super) fn new(phases: Vec<ScopePhase<'a>>, limited: bool, scored: bool) -> Scope<'a> {
        Scope { phases, limited, scored, order: OnceCell::new() }
    }

    /// Whether its rows are of one phase: only then do intervals say something, since several phases are several
    /// loads.
    pub(super) fn is_one_phase(&self) -> bool {
        self.phases.len() == 1
    }

    /// Whether both are of the same rows.
    pub(super) fn is_same(&self, other: &Scope<'_>) -> bool {
        let tallies = |scope: &Scope<'_>| scope.tallies().map(std::ptr::from_ref).collect::<Vec<_>>();
        (self.limited, self.scored) == (other.limited, other.scored)
            && self.phases.len() == other.phases.len()
            && self
                .phases
                .iter()
                .zip(&other.phases)
                .all(|(mine, theirs)| std::ptr::eq(mine.span, theirs.span))
            && tallies(self) == tallies(other)
    }

    pub(super) fn tallies(&self) -> impl Iterator<Item = &Tally> {
        self.phases.iter().flat_map(|phase| phase.tallies.iter().copied())
    }

    /// Values of the metric at `place` in the table, in order of due time.
    pub(super) fn series(&self, place: usize) -> Vec<f64> {
        if !self.tallies().any(|tally| tally.has_values(place)) {
            return Vec::new();
        }
        self.in_order().filter_map(|(_, tally, row)| tally.value(place, row)).collect()
    }

    /// The same for an adjusted metric. Rows never sent because the run was stopped are left out.
    pub(super) fn reached(&self, place: usize) -> Vec<Reached> {
        let decided = self.in_order().filter(|(phase, tally, row)| {
            !(phase.span.stopped && tally.rows[*row as usize].outcome == Outcome::NotSent)
        });
        decided.filter_map(|(_, tally, row)| tally.reached(place, row)).collect()
    }

    /// What `flag` says of each measured row, in order of due time; it is told whether the row's phase was stopped.
    pub(super) fn flags(&self, flag: impl Fn(&Kept, bool) -> Option<bool>) -> Vec<bool> {
        self.rows_where(flag).collect()
    }

    /// What is said of each measured row, in order of due time, where something is; `say` is told whether the row's
    /// phase was stopped.
    pub(super) fn rows_where<T>(&self, say: impl Fn(&Kept, bool) -> Option<T>) -> impl Iterator<Item = T> {
        self.in_order()
            .filter_map(move |(phase, tally, row)| say(&tally.rows[row as usize], phase.span.stopped))
    }

    fn in_order(&self) -> impl Iterator<Item = (&ScopePhase<'a>, &'a Tally, u32)> {
        self.order.get_or_init(|| self.sort_rows()).iter().map(|place| {
            let phase = &self.phases[place.phase as usize];
            (phase, phase.tallies[place.tally as usize], place.row)
        })
    }

    fn sort_rows(&self) -> Vec<Place> {
        let mut keyed = Vec::new();
        for (phase, of_phase) in self.phases.iter().enumerate() {
            for (tally, of_tally) in of_phase.tallies.iter().enumerate() {
                let place = |row| Place { phase: phase as u32, tally: tally as u32, row };
                let rows = of_tally.rows.iter().zip(0..);
                keyed.extend(rows.map(|(kept, row)| ((kept.at, kept.request), place(row))));
            }
        }
        keyed.sort_by_key(|(key, _)| *key);
        keyed.into_iter().map(|(_, place)| place).collect()
    }

    pub(super) fn outcomes(&self) -> OutcomeCounts {
        self.tallies().fold(OutcomeCounts::default(), |sum, tally| sum.join(&tally.outcomes))
    }

    pub(super) fn measured(&self) -> OutcomeCounts {
        self.tallies().fold(OutcomeCounts::default(), |sum, tally| sum.join(&tally.measured))
    }

    /// A rate over the window.
    pub(super) fn rate(&self, rate: Rate) -> Figure {
        match rate {
            Rate::Output => self.token_rate(self.output()),
            Rate::Prompt => self.token_rate(self.prompts()),
            Rate::Total => {
                let (output, prompts) = (self.output(), self.prompts());
                let known = output.known().is_some() && prompts.known().is_some();
                let rate = self.token_rate(output.join(prompts));
                Figure { value: rate.value.filter(|_| known), count: output.rows }
            }
            Rate::Good if !self.limited => Figure { value: None, count: 0 },
            Rate::Correct if !self.scored => Figure { value: None, count: 0 },
            Rate::Offered | Rate::Achieved | Rate::Completed | Rate::Good | Rate::Correct => {
                let mut count = 0;
                for (bounds, tally) in self.windowed() {
                    visit(rate, bounds, tally, &mut |_| count += 1);
                }
                Figure { value: self.length(rate.length()).map(|length| count as f64 / length.as_s()), count }
            }
        }
    }

    /// What a rate counts in each of [`SLICES`] equal parts of the window; `None` without one window. Output tokens are
    /// spread evenly from first to last.
    pub(super) fn slices(&self, rate: Rate) -> Option<Vec<f64>> {
        let [phase] = self.phases.as_slice() else { return None };
        let bounds = phase.span.bounds()?;
        let mut slices = Slices::new(bounds.start, rate.length()(bounds))?;
        for tally in &phase.tallies {
            match rate {
                Rate::Output => slices.add_output(bounds, tally),
                Rate::Prompt => slices.add_prompts(bounds, tally),
                Rate::Total => {
                    slices.add_output(bounds, tally);
                    slices.add_prompts(bounds, tally);
                }
                _ => visit(rate, bounds, tally, &mut |at| slices.add(at, 1.0)),
            }
        }
        Some(slices.amounts.into_iter().map(|amount| amount as f64 / MILLIONTHS).collect())
    }

    pub(super) fn wasted_tokens(&self) -> Figure {
        let wasted = self.tallies().fold(Amount::default(), |sum, tally| sum.join(tally.wasted));
        Figure { value: wasted.known(), count: wasted.rows }
    }

    pub(super) fn uncounted_requests(&self) -> Figure {
        counted(self.output().uncounted)
    }

    pub(super) fn new_connections(&self) -> Figure {
        let opened = |tally: &Tally| tally.rows.iter().filter(|row| row.new_connection == Some(true)).count();
        counted(self.tallies().map(opened).sum::<usize>() as u64)
    }

    pub(super) fn reconnects(&self) -> Figure {
        counted(self.tallies().map(|tally| tally.reconnects).sum())
    }

    pub(super) fn unchecked_requests(&self) -> Figure {
        let rows = self.tallies().map(|tally| tally.unchecked).sum();
        if self.scored { counted(rows) } else { Figure { value: None, count: 0 } }
    }

    pub(super) fn slo_unmeasurable(&self) -> Figure {
        let rows = self.tallies().map(|tally| tally.slo_unmeasurable).sum();
        if self.limited { counted(rows) } else { Figure { value: None, count: 0 } }
    }

    /// Measured rows that speak for or against the server.
    pub(super) fn decided(&self) -> u64 {
        let of_phase = |phase: &ScopePhase<'_>| {
            let decided = |outcome| is_decided(outcome, phase.span.stopped);
            phase.tallies.iter().map(|tally| tally.measured.count(decided)).sum::<u64>()
        };
        self.phases.iter().map(of_phase).sum()
    }

    /// Mean number of requests in flight in each of `parts` equal parts of the window; `None` without one window.
    pub(super) fn in_flight_means(&self, parts: usize) -> Option<Vec<f64>> {
        let [phase] = self.phases.as_slice() else { return None };
        let bounds = phase.span.bounds()?;
        let part = bounds.length().0 as f64 / parts as f64;
        let mut means = vec![0.0; parts];
        for dispatch in phase.tallies.iter().flat_map(|tally| &tally.dispatches) {
            let Some((sent, ended)) = dispatch.sent.zip(dispatch.ended) else { continue };
            let from = sent.max(bounds.start) - bounds.start;
            let to = ended.min(bounds.end) - bounds.start;
            if to <= from {
                continue;
            }
            let (from, to) = (from.0 as f64 / part, to.0 as f64 / part);
            let last = (to as usize).min(parts - 1);
            for (at, mean) in means.iter_mut().enumerate().take(last + 1).skip(from as usize) {
                *mean += to.min(at as f64 + 1.0) - from.max(at as f64);
            }
        }
        Some(means)
    }

    /// Mean of the metric at `place` over the rows due in each of `parts` equal parts of the window; `None` without one
    /// window, or where a part has no value.
    pub(super) fn means_over_time(&self, place: usize, parts: usize) -> Option<Vec<f64>> {
        let [phase] = self.phases.as_slice() else { return None };
        let bounds = phase.span.bounds()?;
        let part = bounds.length().0 as f64 / parts as f64;
        let mut sums = vec![(0.0, 0_u64); parts];
        for (_, tally, row) in self.in_order() {
            let at = ((tally.rows[row as usize].at - bounds.start).0 as f64 / part) as usize;
            if let (Some(value), Some((sum, count))) = (tally.value(place, row), sums.get_mut(at)) {
                *sum += value;
                *count += 1;
            }
        }
        sums.into_iter().map(|(sum, count)| (count > 0).then(|| sum / count as f64)).collect()
    }

    /// Length of the only window.
    pub(super) fn window_length(&self) -> Option<Micros> {
        let [phase] = self.phases.as_slice() else { return None };
        Some(phase.span.bounds()?.length())
    }

    fn output(&self) -> Amount {
        self.tallies().fold(Amount::default(), |sum, tally| sum.join(tally.output))
    }

    fn prompts(&self) -> Amount {
        let mut sum = Amount::default();
        for (bounds, tally) in self.windowed() {
            let inside = tally.outputs.iter().filter(|output| bounds.contain(output.first));
            inside
                .filter_map(|output| output.prompt)
                .for_each(|prompt| sum.add(prompt.map(|tokens| tokens as f64)));
        }
        sum
    }

    fn token_rate(&self, amount: Amount) -> Figure {
        let value = self.length(Bounds::length).zip(amount.known()).map(|(length, sum)| sum / length.as_s());
        Figure { value, count: amount.rows }
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

impl Rate {
    /// What it divides by.
    fn length(self) -> fn(Bounds) -> Micros {
        match self {
            Rate::Offered | Rate::Achieved => Bounds::offer_length,
            _ => Bounds::length,
        }
    }
}

/// Whether a row of this outcome speaks for or against the server; after a stop one that was never sent does not.
pub(super) fn is_decided(outcome: Outcome, stopped: bool) -> bool {
    !(outcome.is_undecided() || (stopped && outcome == Outcome::NotSent))
}

/// Calls `each` with the instants that a rate of requests counts.
fn visit(rate: Rate, bounds: Bounds, tally: &Tally, each: &mut dyn FnMut(Micros)) {
    match rate {
        Rate::Offered => {
            tally.dispatches.iter().map(|row| row.due).filter(|due| bounds.offers(*due)).for_each(each);
        }
        Rate::Achieved => {
            let offered = |due: Micros| bounds.last_due.is_none_or(|last| due <= last);
            let sent = tally.dispatches.iter().filter(|row| offered(row.due)).filter_map(|row| row.sent);
            sent.filter(|sent| bounds.contain(*sent)).for_each(each);
        }
        Rate::Completed => {
            tally.answers.iter().map(|answer| answer.end).filter(|end| bounds.contain(*end)).for_each(each);
        }
        Rate::Good => {
            let good = tally.answers.iter().filter(|answer| answer.good).map(|answer| answer.end);
            good.filter(|end| bounds.contain(*end)).for_each(each);
        }
        Rate::Correct => {
            let correct = tally.answers.iter().filter(|answer| answer.correct).map(|answer| answer.end);
            correct.filter(|end| bounds.contain(*end)).for_each(each);
        }
        Rate::Output | Rate::Prompt | Rate::Total => {}
    }
}

/// Amounts are summed in whole millionths, so that no order of adding shows in the last digit.
const MILLIONTHS: f64 = 1e6;

/// Amounts in equal parts of a window.
struct Slices {
    start: Micros,
    /// µs of one.
    length: f64,
    amounts: Vec<u64>,
}

impl Slices {
    fn new(start: Micros, length: Micros) -> Option<Slices> {
        let one = length.0 as f64 / SLICES as f64;
        (one > 0.0).then(|| Slices { start, length: one, amounts: vec![0; SLICES] })
    }

    /// Place in slices from the start.
    fn place(&self, at: Micros) -> f64 {
        (at - self.start).0 as f64 / self.length
    }

    fn add(&mut self, at: Micros, amount: f64) {
        self.add_to((self.place(at) as usize).min(SLICES - 1), amount);
    }

    fn add_to(&mut self, slice: usize, amount: f64) {
        let amount = (amount * MILLIONTHS).round() as u64;
        self.amounts[slice] = self.amounts[slice].saturating_add(amount);
    }

    fn add_output(&mut self, bounds: Bounds, tally: &Tally) {
        for output in &tally.outputs {
            let Some(tokens) = output.tokens.filter(|tokens| *tokens > 0.0) else { continue };
            let (first, last) = (output.first.max(bounds.start), output.last.min(bounds.end));
            if last <= first {
                self.add(first, tokens);
                continue;
            }
            let (from, to) = (self.place(first), self.place(last));
            for slice in from as usize..=(to as usize).min(SLICES - 1) {
                let inside = to.min(slice as f64 + 1.0) - from.max(slice as f64);
                self.add_to(slice, tokens * inside / (to - from));
            }
        }
    }

    fn add_prompts(&mut self, bounds: Bounds, tally: &Tally) {
        for output in tally.outputs.iter().filter(|output| bounds.contain(output.first)) {
            self.add(output.first, output.prompt.flatten().unwrap_or(0) as f64);
        }
    }
}

fn counted(rows: u64) -> Figure {
    Figure { value: Some(rows as f64), count: rows }
}
