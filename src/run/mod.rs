//! The run: phases one after another, each offering its load on time and then draining.
//!
//! It emits events and never waits for whoever takes them. Nothing here touches a disk or a lock.

pub mod ahead;
pub mod calibrate;
mod closed_loop;
mod frame;
mod lane;
mod open_loop;
mod places;
pub mod stop;
mod users;
mod watch;

use std::cell::Cell;
use std::future::pending;
use std::rc::Rc;
use std::time::Duration;

use ahead::{Feed, Source};
use frame::{Ended, Frame};
use lane::Lane;
use places::Places;
use stop::{Stop, StopSwitch};
use users::Users;
use watch::watch_sender;

use crate::client::Client;
use crate::clock::Clock;
use crate::plan::composer::{Composed, Next};
use crate::plan::shard::Shard;
use crate::record::{EndedBy, Event, Outcome};
use crate::scenario::{Load, Phase, PhaseLoad, WhenFull};
use crate::seed::Seed;
use crate::units::Nanos;

/// Takes what happens, at once: a queue to another thread, or under the virtual clock the work itself.
pub type Sink = Rc<dyn Fn(Event)>;

/// How long requests may go on after a first request to stop.
const STOP_DRAIN: Duration = Duration::from_secs(2);

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
    /// In-flight limit of open loops that state none, for all shards together.
    pub max_in_flight: usize,
    /// What the pauses of users follow from.
    pub seed: Seed,
    /// Its part of the run.
    pub shard: Shard,
    /// When it starts; `None` for as soon as it can.
    pub start_at: Option<Nanos>,
    /// The instant that columns subtract; `None` for its start.
    pub origin: Option<Nanos>,
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
            .then(|| tokio::task::spawn_local(watch_sender(self.clock.clone(), Rc::clone(&self.sink))));
        let origin = Cell::new(self.origin.unwrap_or(self.clock.now()));
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
        let mut feeds = source.begin_phase(index, 1 + phase.also.len());
        // The first sessions are composed before the phase's clock starts.
        let mut firsts = Vec::new();
        for feed in &mut feeds {
            firsts.push(feed.next().await);
        }
        let start = self.start_of(index).await;
        if index == 0 {
            let zero = self.origin.unwrap_or(start);
            origin.set(zero);
            (self.sink)(Event::RunStarted { origin: zero });
        }
        (self.sink)(Event::PhaseStarted { phase: index as u32, at: start });
        let frame = Rc::new(Frame::new(
            self.clock.clone(),
            Rc::clone(&self.stop),
            Rc::clone(&self.sink),
            (index as u32, phase.clone()),
            start,
            origin.get(),
        ));
        let lanes: Vec<Rc<Lane>> =
            phase.loads().enumerate().map(|(place, load)| self.lane(&frame, phase, place, load)).collect();
        let offered = self.offer(&frame, &lanes, feeds, firsts);
        let (taken, drained, stopped) = tokio::select! {
            biased;
            offered = offered => offered,
            () = self.clock.stalled() => {
                let open: usize = lanes.iter().map(|lane| lane.places.taken()).sum();
                return Some(Ending::Stalled(format!("phase `{}`: {open} requests in flight", phase.name)));
            }
        };
        let missed = |lane: &Rc<Lane>| {
            let end = frame.close_time();
            lane.users.as_ref().map_or(0, |users| users.slots_missed(end))
        };
        let missed: u64 = lanes.iter().map(missed).sum();
        let not_planned = missed + source.end_phase(taken, stopped).await;
        (self.sink)(Event::PhaseDrained { phase: index as u32, at: drained, not_planned });
        self.stop.asked().map(Ending::Stopped)
    }

    /// When phase `index` starts: now, or for the first at the instant that was set for all shards.
    async fn start_of(&self, index: usize) -> Nanos {
        let Some(at) = self.start_at.filter(|_| index == 0) else { return self.clock.now() };
        tokio::select! {
            biased;
            () = self.stop.wait() => self.clock.now(),
            // Never later: a schedule that all shards share is not moved by one that is late.
            () = self.clock.sleep_until(at) => at,
        }
    }

    fn lane(&self, frame: &Rc<Frame>, phase: &Phase, place: usize, load: PhaseLoad<'_>) -> Rc<Lane> {
        let (places, users) = match load.load {
            Load::Open { max_in_flight, when_full, .. } => {
                let limit = max_in_flight.unwrap_or(u32::try_from(self.max_in_flight).unwrap_or(u32::MAX));
                (Places::new(self.shard.share_of(limit) as usize, *when_full), None)
            }
            Load::Closed { users, rhythm, ramp_up } => {
                let quota = frame.per_user().filter(|_| place == 0);
                let owner = match place {
                    0 => phase.name.clone(),
                    _ => format!("{}/{}", phase.name, load.name),
                };
                let users = (*users, *rhythm, *ramp_up);
                let users = Users::new(users, quota, (self.seed, &owner), self.shard, frame.start);
                (Places::new(usize::MAX, WhenFull::Drop), Some(users))
            }
        };
        Lane::new(Rc::clone(frame), Rc::clone(&self.client), place == 0, places, users)
    }

    /// Offers all loads and drains; returns how many sessions were taken of each, when the last request was over,
    /// and whether the phase was stopped.
    async fn offer(
        &self,
        frame: &Rc<Frame>,
        lanes: &[Rc<Lane>],
        feeds: Vec<Feed>,
        firsts: Vec<Next>,
    ) -> (Vec<u64>, Nanos, bool) {
        let mut loads = lanes.iter().cloned().zip(feeds).zip(firsts);
        let main = loads.next();
        let also =
            loads.map(|((lane, feed), first)| tokio::task::spawn_local(offer_load(lane, feed, first, false)));
        let also: Vec<_> = also.collect();
        let mut offers = Vec::new();
        let mut ended = frame.stopped();
        if let Some(((lane, feed), first)) = main {
            let (offer, feed) = offer_load(lane, feed, first, true).await;
            ended = offer.ended;
            offers.push((offer, feed));
        }
        frame.close(ended.at);
        (self.sink)(Event::PhaseEnded { phase: frame.index, at: ended.at, by: ended.by });
        for task in also {
            // A task ends early only with the runtime.
            if let Ok(offer) = task.await {
                offers.push(offer);
            }
        }
        let mut taken = Vec::new();
        let mut backlogs = Vec::new();
        for ((offer, mut feed), lane) in offers.into_iter().zip(lanes) {
            taken.push(offer.taken);
            let Some(backlog) = offer.backlog else { continue };
            lane.hold_open();
            let (place, lane) = (taken.len() - 1, Rc::clone(lane));
            let sending = tokio::task::spawn_local(async move {
                let more = open_loop::send_backlog(&lane, &mut feed, backlog).await;
                lane.let_go();
                more
            });
            backlogs.push((place, sending));
        }
        self.drain(lanes, frame, ended.at).await;
        for (place, sending) in backlogs {
            taken[place] += sending.await.unwrap_or(0);
        }
        let stopped = matches!(ended.by, EndedBy::Stop | EndedBy::Signal);
        (taken, self.clock.now(), stopped)
    }

    /// Waits until every request of the phase is over: its own end, its own time-out, the phase's `drain`, or
    /// the end of patience after a stop.
    async fn drain(&self, lanes: &[Rc<Lane>], frame: &Frame, ended: Nanos) {
        let patience = async {
            self.stop.wait().await;
            tokio::select! {
                biased;
                () = self.stop.wait_now() => {}
                () = self.clock.sleep(STOP_DRAIN) => {}
            }
        };
        let limit = async {
            match frame.drain() {
                Some(drain) => self.clock.sleep_until(ended + drain).await,
                None => pending().await,
            }
        };
        let idle = async {
            for lane in lanes {
                lane.idle().await;
            }
        };
        let outcome = tokio::select! {
            biased;
            () = idle => return,
            () = patience => Outcome::Cancelled,
            () = limit => Outcome::CutAtEnd,
        };
        for lane in lanes {
            lane.cut(outcome);
        }
        for lane in lanes {
            lane.idle().await;
        }
    }
}

/// What a load took from the plan, and how its offering ended.
struct Offer {
    taken: u64,
    ended: Ended,
    backlog: Option<Backlog>,
}

impl Offer {
    fn new(taken: u64, ended: Ended) -> Offer {
        Offer { taken, ended, backlog: None }
    }
}

/// The first of the sessions that were due and held when the phase ended.
struct Backlog {
    session: Box<Composed>,
    due: Nanos,
}

async fn offer_load(lane: Rc<Lane>, mut feed: Feed, first: Next, is_main: bool) -> (Offer, Feed) {
    let offer = match &lane.users {
        Some(users) => closed_loop::offer(&lane, users, &mut feed, first).await,
        None => open_loop::offer(&lane, &mut feed, first).await,
    };
    if !is_main {
        // It may have had nothing more to send.
        lane.frame.closed().await;
    }
    (offer, feed)
}

/// Completes when a load must offer no more: at the end of the phase's duration, or when the main load has ended.
async fn until_over(frame: &Frame) {
    tokio::select! {
        biased;
        () = frame.over() => {}
        _ = frame.closed() => {}
    }
}
