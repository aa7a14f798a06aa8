//! A search for a capacity, run by run.

use std::time::Duration;

use super::book::Book;
use super::exit::Failure;
use super::prepare::Prepared;
use super::series::rough;
use crate::collect::Collected;
use crate::results::manifest::{PointEntry, PointState, VerdictEntry};
use crate::results::search::{CapacityEntry, StepEntry};
use crate::scenario::Capacity;
use crate::stats::{Objective, Verdict};
use crate::sweep::Run;
use crate::sweep::capacity::{Look, Reason, Search, Settings, StepResult, Try};

/// A search under way.
pub(super) struct Hunt<'a> {
    search: Search,
    capacity: &'a Capacity,
    objectives: &'a [Objective],
    /// Index of the measured phase.
    phase: u32,
    /// How long it is in a first run.
    duration: Duration,
}

impl<'a> Hunt<'a> {
    /// The search of `prepared`, which goes on from the runs that are `done`; `None` where it has none.
    pub(super) fn new(prepared: &'a Prepared, done: &[PointEntry]) -> Option<Hunt<'a>> {
        let capacity = prepared.scenario.capacity.as_ref()?;
        let mut phases = (0..).zip(&prepared.scenario.phases);
        let (phase, measured) = phases.find(|(_, phase)| phase.measure)?;
        let duration = measured.duration?;
        let mut search = Search::new(Settings {
            from: capacity.from,
            to: capacity.to,
            whole: capacity.whole,
            precision: capacity.precision,
            confidence: capacity.confidence,
            looks: capacity.looks(duration),
            confirm: capacity.confirm.is_some(),
        });
        for step in done.iter().filter_map(|entry| entry.step.as_ref()) {
            search.take(StepResult::named(&step.result)?, Reason::named(&step.reason)?);
        }
        let objectives = prepared.scenario.objectives.as_slice();
        Some(Hunt { search, capacity, objectives, phase, duration })
    }

    /// The next run; `None` where the search is over. `elapsed` is the time that its runs have taken.
    pub(super) fn next(
        &mut self,
        prepared: &Prepared,
        elapsed: Duration,
    ) -> Option<Result<Prepared, Failure>> {
        let tried = self.search.next_try()?;
        let duration = self.duration_of(tried);
        if elapsed + duration > self.capacity.max_time {
            self.search.give_up();
            return None;
        }
        Some(prepared.at_value(Run { point: tried.step, repeat: tried.look }, tried.value, duration))
    }

    /// What the run under way is called, and how much can be to come.
    pub(super) fn title(&self, elapsed: Duration) -> String {
        let Some(tried) = self.search.next_try() else { return String::new() };
        let left = rough(self.capacity.max_time.saturating_sub(elapsed));
        let what = match (tried.confirms, tried.look) {
            (true, _) => " confirms".to_owned(),
            (false, 1) => String::new(),
            (false, look) => format!(" again, {} times as long", 1_u32 << (look - 1).min(31)),
        };
        format!("step {}{what}, at most {left} left", tried.step)
    }

    /// Takes in what a run came to; returns what that says.
    pub(super) fn take(
        &mut self,
        collected: &Collected,
        verdict: &VerdictEntry,
        state: PointState,
    ) -> StepEntry {
        let duration = self.search.next_try().map(|tried| self.duration_of(tried)).unwrap_or_default();
        let tried = self.objectives.iter().map(|objective| collected.fold.trial(self.phase, objective));
        let look = Look {
            // Every objective of a search has one.
            trials: tried.flatten().collect(),
            growing: collected.figures.iter().any(|figures| figures.open_loop && figures.growth.is_some()),
            stopped: state == PointState::Stopped,
            valid: verdict.verdict != Verdict::Invalid.name(),
        };
        let said = self.search.judge(&look);
        let by = said.by.and_then(|by| Some((self.objectives.get(by)?, look.trials.get(by)?)));
        let entry = StepEntry {
            result: said.result.name().to_owned(),
            reason: said.reason.name().to_owned(),
            decided_by: by.map(|(objective, _)| described(objective)),
            misses: by.map_or(0, |(_, trial)| trial.misses),
            n: by.map_or(0, |(_, trial)| trial.n),
            n_eff: by.and_then(|(_, trial)| trial.worth(self.search.chance_to_err())),
            offered_s: duration.as_secs_f64(),
        };
        self.search.take(said.result, said.reason);
        entry
    }

    /// What the search came to.
    pub(super) fn answer(&self, book: &Book<'_>) -> CapacityEntry {
        let answer = self.search.answer();
        let holds = answer.holds.map(|holds| holds.to_string());
        let passed = book.points().iter().filter(|entry| {
            entry.settings.first().map(|setting| &setting.value) == holds.as_ref()
                && entry.step.as_ref().is_some_and(|step| step.result == StepResult::Pass.name())
        });
        CapacityEntry {
            key: self.capacity.key.clone(),
            holds: answer.holds,
            held_s: passed.filter_map(|entry| Some(entry.step.as_ref()?.offered_s)).reduce(f64::max),
            fails: answer.fails,
            unclear: answer.unclear,
            undetermined: answer.undetermined.map(|why| why.describe().to_owned()),
        }
    }

    fn duration_of(&self, tried: Try) -> Duration {
        match self.capacity.confirm {
            Some(confirm) if tried.confirms => confirm,
            _ => self.capacity.duration(self.duration, tried.look),
        }
    }
}

/// `ttft_p99`, `success`, with its workload where it has one.
fn described(objective: &Objective) -> String {
    let statistic = match objective.statistic() {
        "value" => String::new(),
        percentile => format!("_{percentile}"),
    };
    let of = objective.workload().map_or(String::new(), |workload| format!(" of {workload}"));
    format!("{}{statistic}{of}", objective.tag())
}
