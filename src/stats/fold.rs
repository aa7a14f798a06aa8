//! From rows to figures: every closed row is added once, and the summary is taken at any time.
//!
//! Rows are kept apart by phase and workload. `all` joins workloads, and those phases that count; it is
//! computed over their values together, never from their percentiles.

use std::collections::BTreeMap;

use super::histogram::{Bucket, Histogram};
use super::metrics::{FinishReason, METRICS, Metric, Source};
use super::percentile::Percentile;
use super::scope::{PhaseSpan, Scope, ScopePhase, Window};
use super::slo::Slo;
use super::statistic::Statistic;
use super::tally::{Lengths, OutcomeCounts, RowEvents, Tally};
use super::verdict::Figures;
use crate::record::{Outcome, RequestRecord};
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

/// What the fold must know of a workload.
#[derive(Clone, Debug)]
pub struct WorkloadSetup {
    /// Its name.
    pub name: String,
    /// Limits of its requests.
    pub slo: Slo,
    /// Whether answers must have exactly the length asked for.
    pub exact_output: bool,
}

/// Rows of one point and repeat, summed up by phase and workload.
#[derive(Clone, Debug)]
pub struct Fold {
    point: Option<u32>,
    repeat: Option<u32>,
    phases: Vec<Phase>,
    workloads: Vec<WorkloadSetup>,
}

#[derive(Clone, Debug)]
struct Phase {
    setup: PhaseSetup,
    span: PhaseSpan,
    /// By index of the workload.
    tallies: BTreeMap<u32, Tally>,
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
        Fold { point, repeat, phases: phases.into_iter().map(begin).collect(), workloads }
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
        let slo = self.workloads.get(record.planned.workload as usize).map_or(&no_limits, |setup| &setup.slo);
        phase.tallies.entry(record.planned.workload).or_insert_with(Tally::new).add(record, events, slo);
    }

    /// The window of a phase from run start, as far as it is known: begin and end.
    pub fn window(&self, phase: u32) -> Option<(Micros, Micros)> {
        let bounds = self.phases.get(phase as usize)?.span.bounds()?;
        Some((bounds.start, bounds.end))
    }

    /// Planned, sent, `ok` and all outcomes of a phase's rows, measured or not.
    pub fn outcomes(&self, phase: u32) -> Vec<(&'static str, u64)> {
        let phases = self.phases.get(phase as usize);
        let scope = self.scope(phases, None);
        outcome_statistics(&scope.outcomes()).collect()
    }

    /// Every figure, by phase (in order, then [`ALL`]) and workload (in order, then [`ALL`]). Phases that do
    /// not count, and workloads without a row in a phase, have none.
    pub fn summary(&self) -> Vec<SummaryRow> {
        let mut rows = Vec::new();
        let counting = || self.phases.iter().filter(|phase| phase.setup.counts);
        for phase in counting() {
            self.summarize(&phase.setup.name, || [phase].into_iter(), &mut rows);
        }
        self.summarize(ALL, counting, &mut rows);
        rows
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
        let rank_of = |tag, percentile: Percentile| percentile.nearest_rank(&sorted_sample(&scope, tag)?);
        let mut figures = Figures {
            phase: phase.setup.name.clone(),
            open_loop: phase.setup.open_loop,
            send_delay_p99_ms: rank_of("send_delay", Percentile::P99),
            loop_delay_p99_ms: None,
            ttft_p50_ms: rank_of("ttft", Percentile::P50),
            offered_per_s: scope.offered_rate().value,
            achieved_per_s: scope.achieved_rate().value,
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
        };
        for (workload, tally) in &phase.tallies {
            figures.gaps += tally.gaps.count();
            figures.zero_gaps += tally.gaps.zeros();
            figures.prompt_lengths.add(tally.prompt_lengths);
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

    fn summarize<'a, P: Iterator<Item = &'a Phase>>(
        &'a self,
        name: &str,
        phases: impl Fn() -> P,
        rows: &mut Vec<SummaryRow>,
    ) {
        for index in 0..self.workloads.len() as u32 {
            if phases().any(|phase| phase.tallies.contains_key(&index)) {
                let scope = self.scope(phases(), Some(index));
                self.rows_of(&scope, name, self.workload_name(index), rows);
            }
        }
        self.rows_of(&self.scope(phases(), None), name, ALL, rows);
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
        let limited = self.workloads.iter().enumerate();
        Scope {
            phases: phases.into_iter().map(part).collect(),
            limited: limited
                .filter(|(index, _)| keep(*index as u32))
                .any(|(_, setup)| !setup.slo.limits.is_empty()),
        }
    }

    fn rows_of(&self, scope: &Scope<'_>, phase: &str, workload: &str, rows: &mut Vec<SummaryRow>) {
        for (place, metric) in METRICS.iter().enumerate() {
            rows.extend(values_of(scope, place, metric).into_iter().map(|value| SummaryRow {
                point: self.point,
                repeat: self.repeat,
                phase: phase.to_owned(),
                workload: workload.to_owned(),
                metric: metric.tag,
                statistic: value.statistic,
                value: value.value,
                ci_low: None,
                ci_high: None,
                count: value.count,
                needs: value.needs,
                unit: metric.unit.name(),
            }));
        }
    }

    fn workload_name(&self, index: u32) -> &str {
        self.workloads.get(index as usize).map_or("", |setup| &setup.name)
    }
}

/// One statistic of a metric in a group.
struct Value {
    statistic: &'static str,
    value: Option<f64>,
    count: u64,
    needs: Option<u64>,
}

/// All statistics of the metric at `place` in [`METRICS`].
fn values_of(scope: &Scope<'_>, place: usize, metric: &Metric) -> Vec<Value> {
    let plain = |(statistic, count)| Value { statistic, value: Some(count as f64), count, needs: None };
    match metric.source {
        Source::Row(..) => {
            let sample = joined_sample(scope, place);
            statistics(sample.len() as u64, |statistic| statistic.of_sorted(&sample))
        }
        Source::Gaps => gap_statistics(scope, |tally| &tally.gaps),
        Source::TokenGaps => gap_statistics(scope, |tally| &tally.token_gaps),
        Source::Figure(figure) => {
            let figure = figure(scope);
            vec![Value { statistic: "value", value: figure.value, count: figure.count, needs: None }]
        }
        Source::Outcomes => outcome_statistics(&scope.outcomes()).map(plain).collect(),
        Source::MeasuredOutcomes => outcome_statistics(&scope.measured()).map(plain).collect(),
        Source::FinishReasons => {
            let count = |reason| scope.tallies().map(|tally| tally.finished(reason)).sum();
            FinishReason::ALL.into_iter().map(|(name, reason)| plain((name, count(reason)))).collect()
        }
    }
}

fn statistics(count: u64, value: impl Fn(Statistic) -> Option<f64>) -> Vec<Value> {
    let one = |(name, statistic): (&'static str, Statistic)| Value {
        statistic: name,
        value: value(statistic),
        count,
        needs: (count < statistic.needs()).then(|| statistic.needs()),
    };
    Statistic::ALL.into_iter().map(one).collect()
}

fn gap_statistics(scope: &Scope<'_>, of: fn(&Tally) -> &Histogram) -> Vec<Value> {
    let mut joined = Histogram::default();
    scope.tallies().for_each(|tally| joined.merge(of(tally)));
    statistics(joined.count(), |statistic| joined.statistic_ms(statistic))
}

fn outcome_statistics(counts: &OutcomeCounts) -> impl Iterator<Item = (&'static str, u64)> + use<> {
    let counts = *counts;
    let sums = [("planned", counts.all()), ("sent", counts.count(Outcome::was_sent))];
    sums.into_iter().chain(Outcome::ALL.into_iter().map(move |outcome| (outcome.name(), counts.of(outcome))))
}

/// The values of a row metric in a group, ascending.
fn joined_sample(scope: &Scope<'_>, place: usize) -> Vec<f64> {
    let mut values = scope.tallies().flat_map(|tally| tally.sample(place)).copied().collect::<Vec<_>>();
    values.sort_unstable_by(f64::total_cmp);
    values
}

fn sorted_sample(scope: &Scope<'_>, tag: &str) -> Option<Vec<f64>> {
    let place = METRICS.iter().position(|metric| metric.tag == tag)?;
    Some(joined_sample(scope, place))
}

#[cfg(test)]
mod tests;
