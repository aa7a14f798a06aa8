//! From rows to figures: every closed row is added once, and the summary is taken at any time.
//!
//! Rows are kept apart by phase and workload. `all` joins workloads, and those phases that count; it is
//! computed over their values together, never from their percentiles.

use std::collections::BTreeMap;

use super::censored::{Bounded, Reached};
use super::client::ClientFigures;
use super::effective::{BLOCKS, block_dispersion, dependence_where, effective_count};
use super::histogram::{Bucket, Histogram};
use super::interval::{Interval, of_rate, of_share};
use super::metrics::{FinishReason, METRICS, Metric, Source, failing_outcomes};
use super::objective::{Bound, Objective};
use super::percentile::Percentile;
use super::sample::Sample;
use super::scope::{Figure, PhaseSpan, Rate, Scope, ScopePhase, Window, is_decided};
use super::slo::Slo;
use super::statistic::Statistic;
use super::tally::{Hits, Kept, Lengths, OutcomeCounts, RowEvents, Tally};
use super::trend::rise;
use super::trial::{Missed, Trial};
use super::verdict::Figures;
use crate::record::{Outcome, RequestRecord, Verdict};
use crate::units::Micros;

/// The name of the group that joins all phases that count, or all workloads.
pub const ALL: &str = "all";

/// What the fold must know of a phase.
#[derive(Clone, Debug)]
pub struct PhaseSetup {
    /// Its name.
    pub name: String,
    /// Whether it is measured.
    pub counts: bool,
    /// Whether requests come at their own times, whatever the server does.
    pub open_loop: bool,
}

/// A phase as a fold knows it.
#[derive(Clone, Copy, Debug)]
pub struct PhaseFacts<'a> {
    /// What it was told.
    pub setup: &'a PhaseSetup,
    /// Whether its window ends with the last output of a measured row.
    pub counted: bool,
    /// Whether the run was stopped before the phase had drained.
    pub stopped: bool,
}

/// What the fold must know of a workload.
#[derive(Clone, Debug)]
pub struct WorkloadSetup {
    /// Its name.
    pub name: String,
    /// Limits of its requests.
    pub slo: Slo,
    /// Whether answers must have exactly the length asked for.
    pub exact_output: bool,
    /// Whether answers are checked.
    pub scored: bool,
    /// Whether nothing of its prompts may be in a server's cache.
    pub cold: bool,
}

/// Rows of one point and repeat, summed up by phase and workload.
#[derive(Clone, Debug)]
pub struct Fold {
    pub(super) point: Option<u32>,
    pub(super) repeat: Option<u32>,
    pub(super) phases: Vec<Phase>,
    workloads: Vec<WorkloadSetup>,
    /// Rows of data sets that were asked, each with the session that asked it first, by workload.
    asked: BTreeMap<u32, BTreeMap<u64, u64>>,
}

#[derive(Clone, Debug)]
pub(super) struct Phase {
    pub(super) setup: PhaseSetup,
    span: PhaseSpan,
    /// By index of the workload.
    pub(super) tallies: BTreeMap<u32, Tally>,
}

/// One line of `summary.csv`.
#[derive(Clone, Debug, PartialEq)]
pub struct SummaryRow {
    /// Point of a sweep, from 1.
    pub point: Option<u32>,
    /// Repeat of a point, from 1.
    pub repeat: Option<u32>,
    /// Name of the phase, or [`ALL`].
    pub phase: String,
    /// Name of the workload, or [`ALL`].
    pub workload: String,
    /// Tag of the metric.
    pub metric: &'static str,
    /// Name of the statistic.
    pub statistic: &'static str,
    /// Its value in `unit`; `None` where it cannot be had.
    pub value: Option<f64>,
    /// Lower end of its interval.
    pub ci_low: Option<f64>,
    /// Upper end of its interval.
    pub ci_high: Option<f64>,
    /// Values it was taken of.
    pub count: u64,
    /// The fewest values that would carry it, where they were too few.
    pub needs: Option<u64>,
    /// Unit of the value.
    pub unit: &'static str,
}

/// One line of `gaps.csv`.
#[derive(Clone, Debug, PartialEq)]
pub struct GapRow {
    /// Point of a sweep, from 1.
    pub point: Option<u32>,
    /// Repeat of a point, from 1.
    pub repeat: Option<u32>,
    /// Name of the phase.
    pub phase: String,
    /// Name of the workload.
    pub workload: String,
    /// `gap` or `itl`.
    pub metric: &'static str,
    /// Times and their count.
    pub bucket: Bucket,
}

impl Fold {
    /// A fold of no rows yet. Rows refer to `phases` and `workloads` by index.
    pub fn new(
        point: Option<u32>,
        repeat: Option<u32>,
        phases: Vec<PhaseSetup>,
        workloads: Vec<WorkloadSetup>,
    ) -> Fold {
        let begin = |setup| Phase { setup, span: PhaseSpan::default(), tallies: BTreeMap::new() };
        Fold {
            point,
            repeat,
            phases: phases.into_iter().map(begin).collect(),
            workloads,
            asked: BTreeMap::new(),
        }
    }

    /// The same for one run of a sweep.
    #[must_use]
    pub fn of_run(self, point: u32, repeat: u32) -> Fold {
        Fold { point: Some(point), repeat: Some(repeat), ..self }
    }

    /// Says which part of a phase counts. May be said again as more is known; the last word holds.
    pub fn set_window(&mut self, phase: u32, window: Window) {
        if let Some(phase) = self.phases.get_mut(phase as usize) {
            phase.span.window = Some(window);
        }
    }

    /// Says that the run was stopped or interrupted before the phase had drained: its `not_sent` rows are then
    /// undecided.
    pub fn mark_stopped(&mut self, phase: u32) {
        if let Some(phase) = self.phases.get_mut(phase as usize) {
            phase.span.stopped = true;
        }
    }

    /// Takes in a closed row with its token-bearing events. A row of an unknown phase is left out.
    pub fn add(&mut self, record: &RequestRecord, events: RowEvents<'_>) {
        let Some(phase) = self.phases.get_mut(record.planned.phase as usize) else { return };
        if record.measured {
            let span = &mut phase.span;
            span.last_measured_output = span.last_measured_output.max(record.last_output);
            span.last_measured_due = span.last_measured_due.max(record.scheduled);
            span.first_measured_due = [span.first_measured_due, record.scheduled].into_iter().flatten().min();
        }
        let no_limits = Slo::default();
        let workload = record.planned.workload;
        let slo = self.workloads.get(workload as usize).map_or(&no_limits, |setup| &setup.slo);
        let scored = self.workloads.get(workload as usize).is_some_and(|setup| setup.scored);
        let tally = phase.tallies.entry(workload).or_insert_with(Tally::new);
        tally.add(record, events, slo);
        let is_checked = record.grade.is_some() || record.outcome != Outcome::Ok;
        tally.unchecked += u64::from(scored && record.measured && !is_checked);
        if let Some(row) = record.planned.dataset_row.filter(|_| record.sent.is_some()) {
            // The turns of one conversation are of one row, and none asks what another did.
            let session = record.planned.session;
            let first = *self.asked.entry(workload).or_default().entry(row).or_insert(session);
            tally.repeated += u64::from(record.measured && first != session);
        }
    }

    /// Takes in times between events that were counted before: a line of `gaps.csv`. `of_tokens` for `itl`.
    pub fn add_gaps(&mut self, phase: u32, workload: u32, of_tokens: bool, time: Micros, count: u64) {
        let Some(phase) = self.phases.get_mut(phase as usize) else { return };
        phase.tallies.entry(workload).or_insert_with(Tally::new).add_counted_gaps(of_tokens, time, count);
    }

    /// Says where the window of a phase without duration ended, where rows read back do not tell all outputs.
    pub fn set_last_output(&mut self, phase: u32, at: Micros) {
        if let Some(phase) = self.phases.get_mut(phase as usize) {
            phase.span.last_measured_output = Some(at);
        }
    }

    /// The window of a phase from run start, as far as it is known: begin and end.
    pub fn window(&self, phase: u32) -> Option<(Micros, Micros)> {
        let bounds = self.phases.get(phase as usize)?.span.bounds()?;
        Some((bounds.start, bounds.end))
    }

    /// What it was told of a phase, and whether the end of its window follows its rows and it was stopped.
    pub fn facts(&self, phase: u32) -> Option<PhaseFacts<'_>> {
        let phase = self.phases.get(phase as usize)?;
        let counted = phase.span.window.is_some_and(|window| window.end.is_none());
        Some(PhaseFacts { setup: &phase.setup, counted, stopped: phase.span.stopped })
    }

    /// What it was told of the workloads.
    pub fn workloads(&self) -> &[WorkloadSetup] {
        &self.workloads
    }

    /// Planned, sent, `ok` and all outcomes of a phase's rows, measured or not.
    pub fn outcomes(&self, phase: u32) -> Vec<(&'static str, u64)> {
        let phases = self.phases.get(phase as usize);
        let scope = self.scope(phases, None);
        outcome_statistics(&scope.outcomes()).collect()
    }

    /// Every figure, by phase (in order, then [`ALL`]) and workload (in order, then [`ALL`]). Phases that do
    /// not count, and workloads without a row in a phase, have none. Intervals stand for groups of one phase.
    pub fn summary(&self) -> Vec<SummaryRow> {
        let groups = self.groups();
        let mut rows: Vec<SummaryRow> = Vec::new();
        let mut ranges: Vec<std::ops::Range<usize>> = Vec::new();
        for (place, group) in groups.iter().enumerate() {
            let start = rows.len();
            // One phase or one workload is also all of them: the figures are the same and are not taken twice.
            match groups[..place].iter().position(|other| other.scope.is_same(&group.scope)) {
                Some(other) => {
                    for at in ranges[other].clone() {
                        let (phase, workload) = (group.phase.to_owned(), group.workload.to_owned());
                        rows.push(SummaryRow { phase, workload, ..rows[at].clone() });
                    }
                }
                None => self.rows_of(group, &mut rows),
            }
            ranges.push(start..rows.len());
        }
        rows
    }

    fn groups(&self) -> Vec<Group<'_>> {
        let counting: Vec<&Phase> = self.phases.iter().filter(|phase| phase.setup.counts).collect();
        let each = counting.iter().map(|phase| (phase.setup.name.as_str(), std::slice::from_ref(phase)));
        let mut groups = Vec::new();
        for (name, phases) in each.chain([(ALL, counting.as_slice())]) {
            let group = |workload: Option<u32>| Group {
                phase: name,
                workload: workload.map_or(ALL, |index| self.workload_name(index)),
                scope: self.scope(phases.iter().copied(), workload),
            };
            let has_rows = |index: &u32| phases.iter().any(|phase| phase.tallies.contains_key(index));
            groups.extend((0..self.workloads.len() as u32).filter(has_rows).map(|index| group(Some(index))));
            groups.push(group(None));
        }
        groups
    }

    /// How the rows of a phase, by index, kept the bound of `objective`; `None` of one that is no bound of requests: see
    /// [`Objective::allowed_misses`].
    pub fn trial(&self, phase: u32, objective: &Objective) -> Option<Trial> {
        let allowed = objective.allowed_misses()?;
        let place = METRICS.iter().position(|metric| metric.tag == objective.metric())?;
        let named = |name: &str| (0..).zip(&self.workloads).find(|(_, setup)| setup.name == name);
        let workload = match objective.workload() {
            Some(name) => Some(named(name)?.0),
            None => None,
        };
        let scope = self.scope(self.phases.get(phase as usize), workload);
        let bound = objective.bound();
        let rows: Vec<Reached> = match METRICS[place].source {
            Source::Row(..) => scope.series(place).into_iter().map(Reached::After).collect(),
            Source::Adjusted(_) => scope.reached(place),
            Source::Share(flag) => return Some(Trial::new(&missed(&scope, flag, bound), &[], allowed)),
            Source::ErrorShares => {
                let is_error = |row: &Kept, stopped: bool| {
                    is_decided(row.outcome, stopped).then_some(row.outcome != Outcome::Ok)
                };
                return Some(Trial::new(&missed(&scope, is_error, bound), &[], allowed));
            }
            _ => return None,
        };
        let missed = |row: &Reached| match bound {
            Bound::AtMost(limit) if row.at_least() > limit => Some(true),
            Bound::AtMost(limit) => (row.at_most() <= limit).then_some(false),
            Bound::AtLeast(limit) if row.at_least() >= limit => Some(false),
            Bound::AtLeast(limit) => (row.at_most() < limit).then_some(true),
        };
        let slow = Percentile::P90
            .nearest_rank(&Sample::new(rows.iter().map(|row| row.at_least()).collect()).sorted);
        let proxy: Vec<bool> =
            rows.iter().map(|row| slow.is_some_and(|slow| row.at_least() > slow)).collect();
        Some(Trial::new(&rows.iter().map(missed).collect::<Vec<_>>(), &proxy, allowed))
    }

    /// The buckets of gaps between events and between tokens.
    pub fn gaps(&self) -> Vec<GapRow> {
        let mut rows = Vec::new();
        for phase in &self.phases {
            for (workload, tally) in &phase.tallies {
                for (metric, histogram) in [("gap", &tally.gaps), ("itl", &tally.token_gaps)] {
                    rows.extend(histogram.buckets().map(|bucket| GapRow {
                        point: self.point,
                        repeat: self.repeat,
                        phase: phase.setup.name.clone(),
                        workload: self.workload_name(*workload).to_owned(),
                        metric,
                        bucket,
                    }));
                }
            }
        }
        rows
    }

    /// What the verdict asks of each phase that counts and has rows, the client's own figures left empty.
    pub fn figures(&self) -> Vec<Figures> {
        let with_rows = self.phases.iter().filter(|phase| phase.setup.counts && !phase.tallies.is_empty());
        with_rows.map(|phase| self.figures_of(phase)).collect()
    }

    fn figures_of(&self, phase: &Phase) -> Figures {
        let scope = self.scope([phase], None);
        let measured = scope.measured();
        let rank_of = |tag, percentile: Percentile| percentile.nearest_rank(&sample_of(&scope, tag).sorted);
        let ttft = sample_of(&scope, "ttft");
        let mut figures = Figures {
            phase: phase.setup.name.clone(),
            open_loop: phase.setup.open_loop,
            client: ClientFigures {
                send_delay_p99_ms: rank_of("send_delay", Percentile::P99),
                read_delay_p99_ms: read_delay(&scope).map(Micros::as_ms),
                reads: scope.tallies().map(|tally| tally.reads.bearing).sum(),
                shared_reads: scope.tallies().map(|tally| tally.reads.shared).sum(),
                clamped_stamps: scope.tallies().map(|tally| tally.reads.clamped).sum(),
                ..ClientFigures::default()
            },
            ttft_p50_ms: Percentile::P50.nearest_rank(&ttft.sorted),
            offered_per_s: scope.rate(Rate::Offered).value,
            achieved_per_s: scope.rate(Rate::Achieved).value,
            measured: measured.all(),
            decided: scope.decided(),
            ok: measured.of(Outcome::Ok),
            dropped: measured.of(Outcome::Dropped),
            held: scope.tallies().map(|tally| tally.held).sum(),
            cut: measured.of(Outcome::CutAtEnd),
            client_errors: measured.of(Outcome::ClientError),
            prompt_lengths: Lengths::default(),
            output_lengths: Lengths::default(),
            free_answers: 0,
            truncated_answers: 0,
            gaps: 0,
            zero_gaps: 0,
            uncounted: scope.uncounted_requests().count,
            slo_unmeasurable: scope.tallies().map(|tally| tally.slo_unmeasurable).sum(),
            repeated: scope.tallies().map(|tally| tally.repeated).sum(),
            beyond_context: scope.tallies().map(|tally| tally.beyond_context).sum(),
            effective_answers: effective_answers(&ttft),
            window_ms: scope.window_length().map(Micros::as_ms),
            e2e_p50_ms: rank_of("e2e", Percentile::P50),
            growth: growth(&scope),
            hits: Hits::default(),
        };
        for (workload, tally) in &phase.tallies {
            figures.gaps += tally.gaps.count();
            figures.zero_gaps += tally.gaps.zeros();
            figures.prompt_lengths.add(tally.prompt_lengths);
            // Under other policies requests may share what is on its way to the cache as one of them is sent.
            let is_cold = self.workloads.get(*workload as usize).is_some_and(|setup| setup.cold);
            figures.hits.add(if is_cold { tally.hits } else { tally.hits.without_strange() });
            let exact = self.workloads.get(*workload as usize).is_some_and(|setup| setup.exact_output);
            if exact {
                figures.output_lengths.add(tally.output_lengths);
            } else {
                figures.free_answers += tally.measured.of(Outcome::Ok);
                figures.truncated_answers += tally.finished(FinishReason::Length);
            }
        }
        figures
    }

    /// A group: these phases, with one of their workloads or all.
    fn scope<'a>(&'a self, phases: impl IntoIterator<Item = &'a Phase>, workload: Option<u32>) -> Scope<'a> {
        let keep = |index: u32| workload.is_none_or(|workload| workload == index);
        let part = |phase: &'a Phase| ScopePhase {
            span: &phase.span,
            tallies: phase
                .tallies
                .iter()
                .filter(|(index, _)| keep(**index))
                .map(|(_, tally)| tally)
                .collect(),
        };
        let workloads = self.workloads.iter().zip(0..).filter(|(_, index)| keep(*index));
        let mut workloads = workloads.map(|(setup, _)| setup);
        let limited = workloads.clone().any(|setup| !setup.slo.limits.is_empty());
        let scored = workloads.any(|setup| setup.scored);
        Scope::new(phases.into_iter().map(part).collect(), limited, scored)
    }

    fn rows_of(&self, group: &Group<'_>, rows: &mut Vec<SummaryRow>) {
        for (place, metric) in METRICS.iter().enumerate() {
            rows.extend(values_of(&group.scope, place, metric).into_iter().map(|value| SummaryRow {
                point: self.point,
                repeat: self.repeat,
                phase: group.phase.to_owned(),
                workload: group.workload.to_owned(),
                metric: metric.tag,
                statistic: value.statistic,
                value: value.value,
                ci_low: value.interval.low,
                ci_high: value.interval.high,
                count: value.count,
                needs: value.needs,
                unit: metric.unit.name(),
            }));
        }
    }

    pub(super) fn workload_name(&self, index: u32) -> &str {
        self.workloads.get(index as usize).map_or("", |setup| &setup.name)
    }
}

/// Rows that are summed up together, and what they are called.
struct Group<'a> {
    phase: &'a str,
    workload: &'a str,
    scope: Scope<'a>,
}

/// One statistic of a metric in a group.
struct Value {
    statistic: &'static str,
    value: Option<f64>,
    interval: Interval,
    count: u64,
    needs: Option<u64>,
}

/// All statistics of the metric at `place` in [`METRICS`].
fn values_of(scope: &Scope<'_>, place: usize, metric: &Metric) -> Vec<Value> {
    let bounded = scope.is_one_phase();
    let plain = |(statistic, count)| Value {
        statistic,
        value: Some(count as f64),
        interval: Interval::NONE,
        count,
        needs: None,
    };
    let of_figure = |figure: Figure, interval: Interval| Value {
        statistic: "value",
        value: figure.value,
        interval,
        count: figure.count,
        needs: None,
    };
    match metric.source {
        Source::Row(..) => {
            let sample = Sample::new(scope.series(place));
            statistics(sample.count(), |statistic| sample.statistic(statistic, bounded))
        }
        Source::Adjusted(_) => {
            let rows = Bounded::new(&scope.reached(place));
            let one = |(name, percentile): (&'static str, Percentile)| {
                let (value, interval) = rows.percentile(percentile, bounded);
                let (count, needs) = (rows.low.count(), percentile.needs());
                Value { statistic: name, value, interval, count, needs: (count < needs).then_some(needs) }
            };
            Statistic::percentiles().map(one).collect()
        }
        Source::Gaps => gap_statistics(scope, |tally| &tally.gaps),
        Source::TokenGaps => gap_statistics(scope, |tally| &tally.token_gaps),
        Source::Figure(figure) => vec![of_figure(figure(scope), Interval::NONE)],
        Source::Rate(rate) => {
            let figure = scope.rate(rate);
            let interval = figure.value.zip(scope.slices(rate)).filter(|_| bounded);
            let interval = interval.map(|(value, slices)| of_rate(value, &slices, metric.tag));
            vec![of_figure(figure, interval.unwrap_or(Interval::NONE))]
        }
        Source::Share(flag) => vec![share("value", &scope.flags(flag), bounded)],
        Source::ErrorShares => {
            let failed = |row: &Kept| row.outcome != Outcome::Ok;
            let all = scope.flags(|row, stopped| is_decided(row.outcome, stopped).then_some(failed(row)));
            let counts = scope.measured();
            let one = |outcome: Outcome| {
                if counts.of(outcome) == 0 {
                    return none_of(outcome.name(), all.len(), bounded);
                }
                let is_it = |row: &Kept| row.outcome == outcome;
                let flags =
                    scope.flags(|row, stopped| is_decided(row.outcome, stopped).then_some(is_it(row)));
                share(outcome.name(), &flags, bounded)
            };
            [share("value", &all, bounded)].into_iter().chain(failing_outcomes().map(one)).collect()
        }
        Source::FinishShares => {
            let ok = scope.measured().of(Outcome::Ok) as usize;
            let one = |(name, reason): (&'static str, FinishReason)| {
                if scope.tallies().all(|tally| tally.finished(reason) == 0) {
                    return none_of(name, ok, bounded);
                }
                let is_it = |row: &Kept| row.finish_reason == reason;
                let flags = scope.flags(|row, _| (row.outcome == Outcome::Ok).then_some(is_it(row)));
                share(name, &flags, bounded)
            };
            FinishReason::ALL.into_iter().map(one).collect()
        }
        Source::Accuracy => {
            if scope.tallies().all(|tally| tally.checked.is_empty()) {
                let names = std::iter::once("value").chain(FinishReason::ALL.map(|(name, _)| name));
                return names.map(|name| none_of(name, 0, bounded)).collect();
            }
            let is_right = |row: &Kept| row.verdict.map(|verdict| verdict == Verdict::Right);
            let one = |(name, reason): (&'static str, FinishReason)| {
                let flags = scope.flags(|row, _| is_right(row).filter(|_| row.finish_reason == reason));
                share(name, &flags, bounded)
            };
            let all = share("value", &scope.flags(|row, _| is_right(row)), bounded);
            [all].into_iter().chain(FinishReason::ALL.into_iter().map(one)).collect()
        }
        Source::Verdicts => {
            let count = |verdict| {
                let rows = scope.tallies().flat_map(|tally| &tally.rows);
                rows.filter(|row| row.verdict == Some(verdict)).count() as u64
            };
            Verdict::ALL.into_iter().map(|verdict| plain((verdict.name(), count(verdict)))).collect()
        }
        Source::Outcomes => outcome_statistics(&scope.outcomes()).map(plain).collect(),
        Source::MeasuredOutcomes => outcome_statistics(&scope.measured()).map(plain).collect(),
        Source::FinishReasons => {
            let count = |reason| scope.tallies().map(|tally| tally.finished(reason)).sum();
            FinishReason::ALL.into_iter().map(|(name, reason)| plain((name, count(reason)))).collect()
        }
    }
}

/// The share of something that none of so many is: most of what could happen does not, and rows are many.
fn none_of(statistic: &'static str, count: usize, bounded: bool) -> Value {
    share(statistic, &vec![false; count], bounded)
}

fn share(statistic: &'static str, flags: &[bool], bounded: bool) -> Value {
    let (hits, count) = (flags.iter().filter(|flag| **flag).count(), flags.len() as u64);
    Value {
        statistic,
        value: (count > 0).then(|| hits as f64 / count as f64),
        interval: if bounded { of_share(flags) } else { Interval::NONE },
        count,
        needs: None,
    }
}

fn statistics(count: u64, value: impl Fn(Statistic) -> (Option<f64>, Interval)) -> Vec<Value> {
    let one = |(name, statistic): (&'static str, Statistic)| {
        let (value, interval) = value(statistic);
        let needs = (count < statistic.needs()).then(|| statistic.needs());
        Value { statistic: name, value, interval, count, needs }
    };
    Statistic::ALL.into_iter().map(one).collect()
}

/// Times between events are kept as counts, without their order, which leaves nothing to bound them by.
fn gap_statistics(scope: &Scope<'_>, of: fn(&Tally) -> &Histogram) -> Vec<Value> {
    let mut joined = Histogram::default();
    scope.tallies().for_each(|tally| joined.merge(of(tally)));
    statistics(joined.count(), |statistic| (joined.statistic_ms(statistic), Interval::NONE))
}

/// How many independent answers those of a phase are worth where its slowest tenth is concerned; `None` of so few that
/// a block has less than one of the slow.
fn effective_answers(ttft: &Sample) -> Option<f64> {
    const SLOW_SHARE: usize = 10;
    /// Ten blocks of independent values show this much dependence once in a hundred runs: χ² with nine degrees, over
    /// nine. Less is taken for none.
    const NOTICEABLE: f64 = 2.407;
    if ttft.series.len() < SLOW_SHARE * BLOCKS {
        return None;
    }
    let p90 = Percentile::P90.nearest_rank(&ttft.sorted)?;
    let is_slow = |value: &f64| *value > p90;
    let (seen, tau) = (block_dispersion(&ttft.series, is_slow)?, dependence_where(&ttft.series, is_slow)?);
    let count = ttft.series.len();
    Some(if seen > NOTICEABLE { effective_count(count, tau) } else { count as f64 })
}

/// p99 over rows of the longest time that bytes lay before they were read.
fn read_delay(scope: &Scope<'_>) -> Option<Micros> {
    let mut delays: Vec<Micros> = scope.tallies().flat_map(|tally| &tally.reads.delays).copied().collect();
    delays.sort_unstable();
    Percentile::P99.nearest_rank(&delays)
}

/// How far requests in flight have risen over the window, if TTFT has risen with them.
fn growth(scope: &Scope<'_>) -> Option<f64> {
    let ttft = METRICS.iter().position(|metric| metric.tag == "ttft")?;
    let in_flight = rise(&scope.in_flight_means(BLOCKS)?)?;
    let ttft = rise(&scope.means_over_time(ttft, BLOCKS)?)?;
    Some(in_flight.growth().min(ttft.growth()))
}

/// Which rows of a share miss its bound: of one of at least so much those that are not among them, of one of at most so
/// much those that are. Rows cut off while nothing was known are open.
fn missed(scope: &Scope<'_>, flag: impl Fn(&Kept, bool) -> Option<bool>, bound: Bound) -> Vec<Missed> {
    let rows = scope.rows_where(|row, stopped| match flag(row, stopped) {
        Some(hit) => Some(Some(hit != matches!(bound, Bound::AtLeast(_)))),
        None => (row.outcome == Outcome::CutAtEnd).then_some(None),
    });
    rows.collect()
}

fn outcome_statistics(counts: &OutcomeCounts) -> impl Iterator<Item = (&'static str, u64)> + use<> {
    let counts = *counts;
    let sums = [("planned", counts.all()), ("sent", counts.count(Outcome::was_sent))];
    sums.into_iter().chain(Outcome::ALL.into_iter().map(move |outcome| (outcome.name(), counts.of(outcome))))
}

/// The values of a row metric in a group.
fn sample_of(scope: &Scope<'_>, tag: &str) -> Sample {
    let place = METRICS.iter().position(|metric| metric.tag == tag);
    Sample::new(place.map_or(Vec::new(), |place| scope.series(place)))
}

#[cfg(test)]
mod tests;
