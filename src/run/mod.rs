//! The run: phases one after another, each offering its load on time and then draining.
//!
//! It emits events and never waits for whoever takes them. Nothing here touches a disk or a lock.

pub mod ahead;
mod closed_loop;
mod lane;
mod open_loop;
pub mod stop;

use std::cell::Cell;
use std::future::pending;
use std::rc::Rc;
use std::time::Duration;

use ahead::Source;
use lane::Lane;
use stop::{Stop, StopSwitch};

use crate::client::Client;
use crate::clock::Clock;
use crate::record::{EndedBy, Event, Outcome};
use crate::scenario::{Load, Phase};
use crate::units::Nanos;

/// Takes what happens, at once: a queue to another thread, or under the virtual clock the work itself.
pub type Sink = Rc<dyn Fn(Event)>;

/// How long requests may go on after a first request to stop.
const STOP_DRAIN: Duration = Duration::from_secs(2);
/// How often the event loop's own delay is sampled.
const LOOP_SAMPLE: Duration = Duration::from_millis(50);

/// What a run needs.
pub struct Run {
    /// Its time.
    pub clock: Clock,
    /// Its way to the server.
    pub client: Rc<Client>,
    /// Where its events go.
    pub sink: Sink,
    /// Its phases.
    pub phases: Vec<Phase>,
    /// In-flight limit of open loops that state none.
    pub max_in_flight: usize,
    /// Asks it to stop.
    pub stop: Rc<StopSwitch>,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Every phase was offered and drained.
    Complete,
    /// It was asked to stop.
    Stopped(Stop),
    /// Virtual time found nothing to run and nothing to wait for: a fault of ours, with what was waiting.
    Stalled(String),
}

impl Run {
    /// Runs every phase; returns how it ended and the instant that all its columns subtract.
    pub async fn run(&self, source: &mut Source) -> (Ending, Nanos) {
        let sampler = (!self.clock.is_virtual())
            .then(|| tokio::task::spawn_local(sample_loop_delay(self.clock.clone(), Rc::clone(&self.sink))));
        let origin = Cell::new(self.clock.now());
        let ending = self.run_phases(source, &origin).await;
        if let Some(sampler) = sampler {
            sampler.abort();
        }
        (self.sink)(Event::RunEnded { at: self.clock.now() });
        (ending, origin.get())
    }

    async fn run_phases(&self, source: &mut Source, origin: &Cell<Nanos>) -> Ending {
        for index in 0..self.phases.len() {
            if let Some(ending) = self.run_phase(index, source, origin).await {
                return ending;
            }
        }
        Ending::Complete
    }

    async fn run_phase(&self, index: usize, source: &mut Source, origin: &Cell<Nanos>) -> Option<Ending> {
        let phase = &self.phases[index];
        source.begin_phase(index);
        // The first session is composed before the phase's clock starts.
        let first = source.next().await;
        let lane = Lane::new(self.clock.clone(), Rc::clone(&self.client), Rc::clone(&self.sink));
        let start = self.clock.now();
        if index == 0 {
            origin.set(start);
            (self.sink)(Event::RunStarted { origin: start });
        }
        (self.sink)(Event::PhaseStarted { phase: index as u32, at: start });
        let at = PhaseClock { clock: &self.clock, stop: &self.stop, phase, start, origin: origin.get() };
        let offered = async {
            let offer = match &phase.load {
                Load::Open { max_in_flight, .. } => {
                    let limit = max_in_flight.map_or(self.max_in_flight, |limit| limit as usize);
                    open_loop::offer(&at, &lane, source, first, limit).await
                }
                Load::Closed { users } => closed_loop::offer(&at, &lane, source, first, *users).await,
            };
            source.end_phase(offer.taken);
            (self.sink)(Event::PhaseEnded { phase: index as u32, at: offer.at, by: offer.by });
            self.drain(&lane, phase, offer.at).await;
        };
        tokio::select! {
            biased;
            () = offered => {}
            () = self.clock.stalled() => {
                return Some(Ending::Stalled(format!("phase `{}`: {} requests in flight", phase.name, lane.in_flight())));
            }
        }
        (self.sink)(Event::PhaseDrained { phase: index as u32, at: self.clock.now() });
        self.stop.asked().map(Ending::Stopped)
    }

    /// Waits until every request of the phase is over: its own end, its own time-out, the phase's `drain`, or
    /// the end of patience after a stop.
    async fn drain(&self, lane: &Lane, phase: &Phase, ended: Nanos) {
        let patience = async {
            self.stop.wait().await;
            tokio::select! {
                biased;
                () = self.stop.wait_now() => {}
                () = self.clock.sleep(STOP_DRAIN) => {}
            }
        };
        let limit = async {
            match phase.drain {
                Some(drain) => self.clock.sleep_until(ended + drain).await,
                None => pending().await,
            }
        };
        let outcome = tokio::select! {
            biased;
            () = lane.idle() => return,
            () = patience => Outcome::Cancelled,
            () = limit => Outcome::CutAtEnd,
        };
        lane.cut(outcome);
        lane.idle().await;
    }
}

/// What a phase took from the plan, and how its offering ended.
struct Offer {
    taken: u64,
    by: EndedBy,
    at: Nanos,
}

/// The time frame of one phase.
struct PhaseClock<'a> {
    clock: &'a Clock,
    stop: &'a StopSwitch,
    phase: &'a Phase,
    start: Nanos,
    /// From which columns count.
    origin: Nanos,
}

impl PhaseClock<'_> {
    /// Whether a request due at `due` counts. Decided on the rounded times of its row and of the window, so that
    /// whoever reads the files decides the same.
    fn measures(&self, due: Nanos) -> bool {
        let column = |at: Nanos| at.micros_from(self.origin);
        let due = column(due);
        self.phase.measure
            && due >= column(self.start + self.phase.warm_up)
            && self.end().is_none_or(|end| due < column(end))
    }

    fn end(&self) -> Option<Nanos> {
        self.phase.duration.map(|duration| self.start + duration)
    }

    /// Completes at the phase's end; never for one without `duration`.
    async fn over(&self) {
        match self.end() {
            Some(end) => self.clock.sleep_until(end).await,
            None => pending().await,
        }
    }

    /// The plan has nothing more: at once for a count or an exhausted data set, at the phase's end for a duration.
    async fn exhausted(&self, by: EndedBy, taken: u64) -> Offer {
        if by != EndedBy::Duration {
            return Offer { taken, by, at: self.clock.now() };
        }
        tokio::select! {
            biased;
            () = self.stop.wait() => self.stopped(taken),
            () = self.over() => self.ended_by_duration(taken),
        }
    }

    fn ended_by_duration(&self, taken: u64) -> Offer {
        Offer { taken, by: EndedBy::Duration, at: self.end().unwrap_or_else(|| self.clock.now()) }
    }

    /// The plan cannot go on, nor can the run.
    fn failed(&self, reason: String, taken: u64) -> Offer {
        self.stop.ask(Stop::Failed(reason));
        self.stopped(taken)
    }

    fn stopped(&self, taken: u64) -> Offer {
        let by = match self.stop.asked() {
            Some(Stop::Failed(_)) => EndedBy::Stop,
            _ => EndedBy::Signal,
        };
        Offer { taken, by, at: self.clock.now() }
    }
}

/// Measures how late the event loop serves a due wake-up: what a busy client would add to every time it takes.
async fn sample_loop_delay(clock: Clock, sink: Sink) {
    let mut due = clock.now();
    loop {
        due = (due + LOOP_SAMPLE).max(clock.now());
        clock.sleep_until(due).await;
        sink(Event::LoopDelay { at: due, delay: clock.now().since(due) });
    }
}
