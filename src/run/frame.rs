//! The time frame of one phase, shared by all that happens in it.

use std::cell::Cell;
use std::future::pending;
use std::rc::Rc;
use std::time::Duration;

use tokio::sync::Notify;

use super::Sink;
use super::stop::{Stop, StopSwitch};
use crate::clock::Clock;
use crate::record::{EndedBy, Event};
use crate::scenario::{Phase, Requests};
use crate::units::Nanos;

/// When a phase runs, and what of it counts.
pub(super) struct Frame {
    pub(super) clock: Clock,
    pub(super) stop: Rc<StopSwitch>,
    pub(super) sink: Sink,
    pub(super) index: u32,
    phase: Phase,
    pub(super) start: Nanos,
    /// From which columns count.
    origin: Nanos,
    /// When the phase stopped offering load.
    ended: Cell<Option<Nanos>>,
    end: Notify,
    /// Due time of the first request that counts, where the warm-up is counted in requests.
    window_start: Cell<Option<Nanos>>,
}

/// How the offering of a load ended.
#[derive(Clone, Copy)]
pub(super) struct Ended {
    pub(super) by: EndedBy,
    pub(super) at: Nanos,
}

impl Frame {
    pub(super) fn new(
        clock: Clock,
        stop: Rc<StopSwitch>,
        sink: Sink,
        (index, phase): (u32, Phase),
        start: Nanos,
        origin: Nanos,
    ) -> Frame {
        let (ended, window_start) = (Cell::new(None), Cell::new(None));
        Frame { clock, stop, sink, index, phase, start, origin, ended, end: Notify::new(), window_start }
    }

    /// How many requests each user sends.
    pub(super) fn per_user(&self) -> Option<u64> {
        match self.phase.requests {
            Some(Requests::PerUser(each)) => Some(each),
            _ => None,
        }
    }

    /// Whether a request due at `due` counts. `place` is its number among its user's requests, in the main load of
    /// a closed loop. Decided on the rounded times of its row and of the window, so that whoever reads the files
    /// decides the same.
    pub(super) fn measures(&self, due: Nanos, place: Option<u64>) -> bool {
        let column = |at: Nanos| at.micros_from(self.origin);
        let (warm_up, cool_down) = (self.phase.warm_up, self.phase.cool_down);
        let is_after = |start: Nanos| column(due) >= column(start);
        let begun = match (warm_up.per_user(), place) {
            (0, _) => is_after(self.start + warm_up.time()),
            (warm, Some(place)) => place >= warm,
            (_, None) => self.window_start.get().is_some_and(is_after),
        };
        let end = self.end().map(|end| Nanos(end.0.saturating_sub(cool_down.time().as_nanos() as u64)));
        let is_last = match (self.per_user(), place) {
            (Some(each), Some(place)) => place + cool_down.per_user() >= each,
            _ => false,
        };
        let measured = self.phase.measure && begun && !is_last && !end.is_some_and(is_after);
        if measured && warm_up.per_user() > 0 && self.window_start.get().is_none() {
            self.window_start.set(Some(due));
            (self.sink)(Event::WindowStarted { phase: self.index, at: due });
        }
        measured
    }

    /// Where `duration` ends it.
    fn end(&self) -> Option<Nanos> {
        self.phase.duration.map(|duration| self.start + duration)
    }

    /// Completes at the end of its `duration`; never for one without.
    pub(super) async fn over(&self) {
        match self.end() {
            Some(end) => self.clock.sleep_until(end).await,
            None => pending().await,
        }
    }

    /// Says that the phase offers nothing from `at` on.
    pub(super) fn close(&self, at: Nanos) {
        self.ended.set(Some(at));
        self.end.notify_waiters();
    }

    /// When the phase stopped offering load; now while it has not.
    pub(super) fn close_time(&self) -> Nanos {
        self.ended.get().unwrap_or_else(|| self.clock.now())
    }

    /// How long its requests may run on.
    pub(super) fn drain(&self) -> Option<Duration> {
        self.phase.drain
    }

    /// Completes when the phase offers nothing more, with the instant.
    pub(super) async fn closed(&self) -> Nanos {
        loop {
            if let Some(at) = self.ended.get() {
                return at;
            }
            self.end.notified().await;
        }
    }

    /// Whether the phase offers nothing at `due`, as far as that is known.
    pub(super) fn is_beyond(&self, due: Nanos) -> bool {
        self.end().into_iter().chain(self.ended.get()).any(|end| due >= end)
    }

    pub(super) fn ended_by_duration(&self) -> Ended {
        Ended { by: EndedBy::Duration, at: self.end().unwrap_or_else(|| self.clock.now()) }
    }

    /// The plan cannot go on, nor can the run.
    pub(super) fn failed(&self, reason: String) -> Ended {
        self.stop.ask(Stop::Failed(reason));
        self.stopped()
    }

    pub(super) fn stopped(&self) -> Ended {
        let by = match self.stop.asked() {
            Some(Stop::Failed(_) | Stop::Rule(_)) => EndedBy::Stop,
            _ => EndedBy::Signal,
        };
        Ended { by, at: self.clock.now() }
    }
}
