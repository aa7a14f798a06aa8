//! One load of a phase in the course of being planned.

use std::time::Duration;

use super::{End, Numbers, Session, Start};
use crate::arrival::{Offsets, Process};
use crate::dataset::WhenExhausted;
use crate::record::EndedBy;
use crate::scenario::{Load, PromptSource, Workload};
use crate::seed::{Seed, Stream};

#[derive(Clone)]
pub(super) struct Offering {
    pub(super) phase: u32,
    /// Indices of its workloads.
    workloads: Vec<usize>,
    /// `None` in a closed loop, where users make the times.
    offsets: Option<Offsets>,
    /// How it ends when no offset is left; `None` where there always is one.
    last_offset: Option<EndedBy>,
    duration: Option<Duration>,
    pub(super) left: Left,
    choice: Stream,
    pub(super) numbers: Numbers,
    pub(super) end: Option<End>,
}

/// Requests that a load may still plan.
#[derive(Clone)]
pub(super) enum Left {
    Unbounded,
    Requests(u64),
    /// Every row once: how many are left, by workload.
    Rows(Vec<u64>),
}

impl Left {
    /// Whether a request of `workload` may still come.
    pub(super) fn allows(&self, workload: usize) -> bool {
        match self {
            Left::Unbounded => true,
            Left::Requests(left) => *left > 0,
            Left::Rows(left) => left[workload] > 0,
        }
    }

    /// Whether a session of `workload` that has begun may go on; a turn of the same row needs no other.
    pub(super) fn allows_turn(&self, workload: usize, is_new_row: bool) -> bool {
        matches!(self, Left::Rows(_)) && !is_new_row || self.allows(workload)
    }

    pub(super) fn take(&mut self, workload: usize, is_new_row: bool) {
        match self {
            Left::Unbounded => {}
            Left::Requests(left) => *left -= 1,
            Left::Rows(left) => left[workload] -= u64::from(is_new_row),
        }
    }
}

impl Offering {
    /// `owner` names its random streams.
    pub(super) fn new(
        seed: Seed,
        owner: &str,
        duration: Option<Duration>,
        load: &Load,
        workloads: Vec<usize>,
        left: Left,
        numbers: Numbers,
    ) -> Offering {
        let (offsets, last_offset) = match load {
            Load::Open { process, .. } => {
                let last = match process {
                    Process::Recorded(_) => Some(EndedBy::Data),
                    Process::Varying { .. } => Some(EndedBy::Duration),
                    _ => None,
                };
                (Some(process.offsets(seed.stream("arrivals", owner))), last)
            }
            Load::Closed { .. } => (None, None),
        };
        let choice = seed.stream("workload", owner);
        Offering { phase: 0, workloads, offsets, last_offset, duration, left, choice, numbers, end: None }
    }

    /// Whether it has a last session that does not depend on the server.
    pub(super) fn is_finite(&self) -> bool {
        let ends = self.duration.is_some() || self.last_offset.is_some();
        !matches!(self.left, Left::Unbounded) || self.offsets.is_some() && ends
    }

    /// A workload by weight, of those that may still have a request: the first whose share of the unit interval,
    /// in order, reaches past the draw. `None` if there is none.
    pub(super) fn choose(&mut self, all: &[Workload]) -> Option<usize> {
        let draw = self.choice.unit();
        let weight = |index: &usize| if self.left.allows(*index) { all[*index].weight } else { 0.0 };
        let mut left = draw * self.workloads.iter().map(weight).sum::<f64>();
        for index in &self.workloads {
            left -= weight(index);
            if left < 0.0 {
                return Some(*index);
            }
        }
        // Rounding may leave a sliver; it belongs to the last workload that has any weight.
        self.workloads.iter().rev().find(|index| weight(index) > 0.0).copied()
    }

    /// When the next session starts; `None`, and the end noted, when there is none.
    pub(super) fn start(&mut self) -> Option<Start> {
        let Some(offsets) = &mut self.offsets else { return Some(Start::WhenUserFree) };
        let Some(offset) = offsets.next() else {
            self.end = Some(End::By(self.last_offset.unwrap_or(EndedBy::Duration)));
            return None;
        };
        if self.duration.is_some_and(|duration| offset >= duration) {
            self.end = Some(End::By(EndedBy::Duration));
            return None;
        }
        Some(Start::At(offset))
    }

    pub(super) fn end(&mut self, end: End) -> Option<Session> {
        self.end = Some(end);
        None
    }
}

/// What follows when a workload has no row left.
pub(super) fn without_row(workload: &Workload, index: usize) -> End {
    match &workload.prompt {
        PromptSource::Dataset(source) if source.when_exhausted == WhenExhausted::Error => {
            End::NoRow { workload: index as u32 }
        }
        _ => End::By(EndedBy::Data),
    }
}
