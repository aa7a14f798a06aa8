//! The plan: every session a run will offer, with its exact due time, before the clock starts.
//!
//! All of it follows from scenario and seed, bit for bit on any machine. One random stream a purpose: what
//! changes the lengths leaves the arrivals alone. [`composer::Composer`] turns sessions into requests ahead of need.

pub mod compose;
pub mod composer;

use std::sync::Arc;
use std::time::Duration;

use crate::arrival::Offsets;
use crate::dataset::{RowOrder, WhenExhausted};
use crate::record::{EndedBy, Planned};
use crate::scenario::{Load, PromptSource, Requests, Scenario, Workload};
use crate::seed::{Seed, Stream};

/// When a session starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// At this offset from the phase's start.
    At(Duration),
    /// When a user of the closed loop is free.
    WhenUserFree,
}

/// A unit of load: a conversation, or a single request as a conversation of one turn.
#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    /// When it starts.
    pub start: Start,
    /// Its request.
    pub turn: Planned,
}

/// Why a phase has no further session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// As it should be.
    By(EndedBy),
    /// A data set under `when_exhausted = "error"` has none left.
    NoRow {
        /// Index of its workload.
        workload: u32,
    },
}

/// An iterator over the sessions of one phase after another. Its clone is a second iterator at the same place.
#[derive(Clone)]
pub struct Plan {
    seed: Seed,
    scenario: Arc<Scenario>,
    /// Rows still to come, by workload; the cursor runs on across phases.
    rows: Vec<Option<RowOrder>>,
    next_request: u64,
    phase: Option<Offering>,
}

/// A phase in the course of being planned.
#[derive(Clone)]
struct Offering {
    index: u32,
    /// `None` in a closed loop, where users make the times.
    offsets: Option<Offsets>,
    duration: Option<Duration>,
    left: Left,
    choice: Stream,
    end: Option<End>,
}

/// Requests that a phase may still plan.
#[derive(Clone)]
enum Left {
    Unbounded,
    Requests(u64),
    /// Every row once: how many are left, by workload.
    Rows(Vec<u64>),
}

impl Left {
    /// Whether a request of `workload` may still come.
    fn allows(&self, workload: usize) -> bool {
        match self {
            Left::Unbounded => true,
            Left::Requests(left) => *left > 0,
            Left::Rows(left) => left[workload] > 0,
        }
    }

    fn take(&mut self, workload: usize) {
        match self {
            Left::Unbounded => {}
            Left::Requests(left) => *left -= 1,
            Left::Rows(left) => left[workload] -= 1,
        }
    }
}

impl Plan {
    /// The plan of `scenario` under `seed`. `rows` has the row order of each workload that draws on a data set.
    pub fn new(scenario: Arc<Scenario>, seed: Seed, rows: Vec<Option<RowOrder>>) -> Plan {
        Plan { seed, scenario, rows, next_request: 0, phase: None }
    }

    /// Turns to phase `index`.
    pub fn begin_phase(&mut self, index: usize) {
        let phase = &self.scenario.phases[index];
        let offsets = match &phase.load {
            Load::Open { process, .. } => Some(process.offsets(self.seed.stream("arrivals", &phase.name))),
            Load::Closed { .. } => None,
        };
        let left = match phase.requests {
            None => Left::Unbounded,
            Some(Requests::Count(count)) => Left::Requests(count),
            // A set that stops may have been used up in part by the phases before.
            Some(Requests::All) => {
                let rest = |rows: &RowOrder| rows.clone().take(rows.rows() as usize).count() as u64;
                Left::Rows(self.rows.iter().map(|rows| rows.as_ref().map_or(0, rest)).collect())
            }
        };
        self.phase = Some(Offering {
            index: index as u32,
            offsets,
            duration: phase.duration,
            left,
            choice: self.seed.stream("workload", &phase.name),
            end: None,
        });
    }

    /// Why the phase has no further session; to be asked when it has none.
    pub fn end(&self) -> End {
        self.phase.as_ref().and_then(|phase| phase.end).unwrap_or(End::By(EndedBy::Requests))
    }
}

impl Offering {
    /// A workload by weight, of those that may still have a request: the first whose share of the unit interval,
    /// in order, reaches past the draw. `None` if there is none.
    fn choose(&mut self, workloads: &[Workload]) -> Option<usize> {
        let draw = self.choice.unit();
        let weight = |index: usize| if self.left.allows(index) { workloads[index].weight } else { 0.0 };
        let mut left = draw * (0..workloads.len()).map(weight).sum::<f64>();
        for index in 0..workloads.len() {
            left -= weight(index);
            if left < 0.0 {
                return Some(index);
            }
        }
        // Rounding may leave a sliver; it belongs to the last workload that has any weight.
        (0..workloads.len()).rev().find(|index| weight(*index) > 0.0)
    }

    fn end(&mut self, end: End) -> Option<Session> {
        self.end = Some(end);
        None
    }
}

/// What follows when a workload has no row left.
fn without_row(workload: &Workload, index: usize) -> End {
    match &workload.prompt {
        PromptSource::Dataset(source) if source.when_exhausted == WhenExhausted::Error => {
            End::NoRow { workload: index as u32 }
        }
        _ => End::By(EndedBy::Data),
    }
}

impl Iterator for Plan {
    type Item = Session;

    fn next(&mut self) -> Option<Session> {
        let phase = self.phase.as_mut()?;
        if phase.end.is_some() {
            return None;
        }
        let Some(index) = phase.choose(&self.scenario.workloads) else {
            return phase.end(End::By(EndedBy::Requests));
        };
        let start = match &mut phase.offsets {
            None => Start::WhenUserFree,
            Some(offsets) => {
                let offset = offsets.next()?;
                if phase.duration.is_some_and(|duration| offset >= duration) {
                    return phase.end(End::By(EndedBy::Duration));
                }
                Start::At(offset)
            }
        };
        let workload = &self.scenario.workloads[index];
        let dataset_row = match self.rows[index].as_mut().map(RowOrder::next) {
            None => None,
            Some(Some(row)) => Some(u64::from(row)),
            Some(None) => return phase.end(without_row(workload, index)),
        };
        phase.left.take(index);
        let request = self.next_request;
        self.next_request += 1;
        let mut lengths = self.seed.indexed_stream("output", &workload.name, request);
        let turn = Planned {
            request,
            session: request,
            turn: 0,
            phase: phase.index,
            workload: index as u32,
            dataset_row,
            prompt_tokens_planned: None,
            output_tokens_planned: Some(workload.max_tokens.sample(&mut lengths) as u32),
        };
        Some(Session { start, turn })
    }
}
