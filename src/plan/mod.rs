//! The plan: every session a run will offer, with its exact due time, before the clock starts.
//!
//! All of it follows from scenario and seed, bit for bit on any machine. One random stream a purpose: what
//! changes the lengths leaves the arrivals alone. [`composer::Composer`] turns sessions into requests ahead of need.

pub mod compose;
pub mod composer;

use std::sync::Arc;
use std::time::Duration;

use crate::arrival::Offsets;
use crate::dataset::RowOrder;
use crate::record::{EndedBy, Planned};
use crate::scenario::{Load, Requests, Scenario};
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
    requests_left: Option<u64>,
    choice: Stream,
    ended_by: Option<EndedBy>,
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
        self.phase = Some(Offering {
            index: index as u32,
            offsets,
            duration: phase.duration,
            requests_left: phase.requests.map(|requests| match requests {
                Requests::Count(count) => count,
                Requests::All => self.rows.iter().flatten().map(|rows| u64::from(rows.rows())).sum(),
            }),
            choice: self.seed.stream("workload", &phase.name),
            ended_by: None,
        });
    }

    /// Why the phase has no further session; `None` while it may have.
    pub fn ended_by(&self) -> Option<EndedBy> {
        self.phase.as_ref().and_then(|phase| phase.ended_by)
    }

    /// A workload by weight: the first whose share of the unit interval, in order, reaches past the draw.
    fn choose_workload(scenario: &Scenario, draw: f64) -> usize {
        let total: f64 = scenario.workloads.iter().map(|workload| workload.weight).sum();
        let mut left = draw * total;
        for (index, workload) in scenario.workloads.iter().enumerate() {
            left -= workload.weight;
            if left < 0.0 {
                return index;
            }
        }
        // Rounding may leave a sliver; it belongs to the last workload that has any weight.
        scenario.workloads.iter().rposition(|workload| workload.weight > 0.0).unwrap_or(0)
    }
}

impl Iterator for Plan {
    type Item = Session;

    fn next(&mut self) -> Option<Session> {
        let phase = self.phase.as_mut()?;
        if phase.ended_by.is_some() {
            return None;
        }
        if phase.requests_left == Some(0) {
            phase.ended_by = Some(EndedBy::Requests);
            return None;
        }
        let start = match &mut phase.offsets {
            None => Start::WhenUserFree,
            Some(offsets) => {
                let offset = offsets.next()?;
                if phase.duration.is_some_and(|duration| offset >= duration) {
                    phase.ended_by = Some(EndedBy::Duration);
                    return None;
                }
                Start::At(offset)
            }
        };
        let workload_index = Plan::choose_workload(&self.scenario, phase.choice.unit());
        let workload = &self.scenario.workloads[workload_index];
        let dataset_row = match &mut self.rows[workload_index] {
            None => None,
            Some(rows) => match rows.next() {
                Some(row) => Some(u64::from(row)),
                None => {
                    phase.ended_by = Some(EndedBy::Data);
                    return None;
                }
            },
        };
        let request = self.next_request;
        self.next_request += 1;
        if let Some(left) = &mut phase.requests_left {
            *left -= 1;
        }
        let mut lengths = self.seed.indexed_stream("output", &workload.name, request);
        let turn = Planned {
            request,
            session: request,
            turn: 0,
            phase: phase.index,
            workload: workload_index as u32,
            dataset_row,
            prompt_tokens_planned: None,
            output_tokens_planned: Some(workload.max_tokens.sample(&mut lengths) as u32),
        };
        Some(Session { start, turn })
    }
}
