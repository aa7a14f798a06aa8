//! What one load of a phase has in flight: one task a session, each turn leaving one `Ended` event.

use std::cell::Cell;
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Poll, Waker};
use std::time::Duration;

use tokio::sync::Notify;

use super::frame::{Ended, Frame};
use super::places::Places;
use super::users::{Free, Users};
use crate::client::Client;
use crate::plan::Turn;
use crate::plan::composer::{Composed, Unsendable};
use crate::prompt::Outgoing;
use crate::record::{self, EndedBy, Event, Fate, Outcome, Planned, Slot, Timeline, Usage};
use crate::scenario::WhenFull;
use crate::units::Nanos;

/// A user whose request failed comes back no sooner than this after having sent it: a server that refuses at
/// once must not turn a closed loop into a flood, nor, in virtual time, into a moment without end.
const FAILURE_PAUSE: Duration = Duration::from_millis(10);

/// The requests of one load that are on the wire.
pub(super) struct Lane {
    pub(super) frame: Rc<Frame>,
    client: Rc<Client>,
    /// Whether its requests are those that the phase counts.
    is_main: bool,
    pub(super) places: Places,
    pub(super) users: Option<Users>,
    /// Sessions that have begun and not ended, and whoever else holds the drain up.
    open: Cell<usize>,
    all_ended: Notify,
    /// Turns of open sessions that are not due yet.
    to_come: Cell<usize>,
    none_to_come: Notify,
    cut: Cut,
}

/// An end imposed on everything in flight.
#[derive(Default)]
struct Cut {
    outcome: Cell<Option<Outcome>>,
    imposed: Notify,
}

impl Cut {
    async fn wait(&self) -> Outcome {
        loop {
            if let Some(outcome) = self.outcome.get() {
                return outcome;
            }
            self.imposed.notified().await;
        }
    }

    /// Does `work` to its end, unless the cut comes first.
    async fn spare<W: Future>(&self, work: W) -> Result<W::Output, Outcome> {
        let (mut work, mut imposed) = (pin!(work), pin!(self.wait()));
        let mut told: Option<Waker> = None;
        poll_fn(|context| {
            if let Poll::Ready(done) = work.as_mut().poll(context) {
                return Poll::Ready(Ok(done));
            }
            // Asked at every event of a stream: once the cut knows whom to wake, there is nothing to ask.
            let is_told = told.as_ref().is_some_and(|waker| waker.will_wake(context.waker()));
            if is_told && self.outcome.get().is_none() {
                return Poll::Pending;
            }
            told = Some(context.waker().clone());
            imposed.as_mut().poll(context).map(Err)
        })
        .await
    }
}

/// A turn that is due.
#[derive(Clone, Copy)]
pub(super) struct Due {
    pub(super) at: Nanos,
    /// How long it was held back by more than the client.
    pub(super) held: Duration,
    pub(super) user: Option<u32>,
}

impl Due {
    /// At its time.
    pub(super) fn at(at: Nanos) -> Due {
        Due { at, held: Duration::ZERO, user: None }
    }

    /// At the time of a user.
    pub(super) fn of(free: Free) -> Due {
        Due { at: free.due, held: free.ready.since(free.due), user: Some(free.user) }
    }
}

/// How a turn ended.
struct TurnEnd {
    outcome: Outcome,
    answer: Option<String>,
    usage: Usage,
    /// When its user is free again.
    free_at: Nanos,
}

impl Lane {
    pub(super) fn new(
        frame: Rc<Frame>,
        client: Rc<Client>,
        is_main: bool,
        places: Places,
        users: Option<Users>,
    ) -> Rc<Lane> {
        Rc::new(Lane {
            frame,
            client,
            is_main,
            places,
            users,
            open: Cell::new(0),
            all_ended: Notify::new(),
            to_come: Cell::new(0),
            none_to_come: Notify::new(),
            cut: Cut::default(),
        })
    }

    /// Begins a session whose first turn is due or overdue now, in a task of its own. A place must have been taken
    /// for it.
    pub(super) fn launch(self: &Rc<Lane>, session: Composed, due: Due) {
        self.hold_open();
        self.expect(session.turns.len() - 1);
        if let (Some(user), Some(users)) = (due.user, &self.users) {
            users.begin(user, session.turns.len());
        }
        let lane = Rc::clone(self);
        // Boxed, as the runtime moves a task several times, and this one is of some kilobytes.
        tokio::task::spawn_local(Box::pin(async move {
            let free_at = lane.carry(session, due).await;
            if let (Some(user), Some(users)) = (due.user, &lane.users) {
                users.free(user, free_at);
            }
            lane.let_go();
        }));
    }

    /// Leaves the rows of a session whose first turn was due and could not be sent.
    pub(super) fn leave_unsent(&self, session: Composed, due: Nanos, outcome: Outcome) {
        let mut turns = session.turns.into_iter();
        if let Some(first) = turns.next() {
            self.row(first.planned, self.slot(Due::at(due)), Fate::Unsent { outcome, error: None });
        }
        turns.for_each(|turn| self.skip(turn, None, None));
    }

    /// Lets the drain wait until [`Lane::let_go`].
    pub(super) fn hold_open(&self) {
        self.open.set(self.open.get() + 1);
    }

    pub(super) fn let_go(&self) {
        self.open.set(self.open.get() - 1);
        if self.open.get() == 0 {
            self.all_ended.notify_one();
        }
    }

    /// Completes when every session has ended.
    pub(super) async fn idle(&self) {
        while self.open.get() > 0 {
            self.all_ended.notified().await;
        }
    }

    /// Ends everything in flight as `outcome`, with what it had.
    pub(super) fn cut(&self, outcome: Outcome) {
        self.cut.outcome.set(Some(outcome));
        self.cut.imposed.notify_waiters();
    }

    /// Completes when everything in flight has been cut.
    pub(super) async fn was_cut(&self) {
        self.cut.wait().await;
    }

    /// The plan has nothing more. The load then ends when its last turn is due; one that the phase's length ends
    /// goes on to there.
    pub(super) async fn exhausted(&self, by: EndedBy) -> Ended {
        let frame = &self.frame;
        // A second load that has nothing more says nothing of the phase.
        if !self.is_main {
            return Ended { by, at: frame.clock.now() };
        }
        let last_due = async {
            while by == EndedBy::Duration || self.to_come.get() > 0 {
                self.none_to_come.notified().await;
            }
        };
        tokio::select! {
            biased;
            () = frame.stop.wait() => frame.stopped(),
            () = frame.over() => frame.ended_by_duration(),
            () = last_due => Ended { by, at: frame.clock.now() },
        }
    }

    fn expect(&self, turns: usize) {
        self.to_come.set(self.to_come.get() + turns);
    }

    fn expected(&self) {
        self.to_come.set(self.to_come.get() - 1);
        if self.to_come.get() == 0 {
            self.none_to_come.notify_one();
        }
    }

    /// One session from its first send to its end; returns when its user is free again.
    async fn carry(&self, session: Composed, first: Due) -> Nanos {
        let Composed { turns, mut outgoing, mut conversation, .. } = session;
        let mut due = first;
        let mut free_at = self.frame.clock.now();
        let count = turns.len();
        let mut turns = turns.into_iter().enumerate().peekable();
        // Why it cannot go on, where its context is full.
        let mut full = beyond_context(&outgoing);
        while let Some((number, turn)) = turns.next() {
            if number > 0 {
                if !self.comes(due.at).await {
                    self.expected();
                    self.skip(turn, Some(due.at), None);
                    break;
                }
                self.expected();
                match self.enter(due.at).await {
                    Ok(held) => due.held = due.held.max(held),
                    Err(outcome) => {
                        let fate = Fate::Unsent { outcome, error: None };
                        self.row(turn.planned, self.slot(due), fate);
                        break;
                    }
                }
            }
            let ended = self.send(turn.planned, self.slot(due), outgoing).await;
            self.places.leave();
            free_at = ended.free_at;
            let next = turns.peek().filter(|_| ended.outcome == Outcome::Ok);
            let Some((_, next)) = next else { break };
            due.at = match (due.user, &self.users) {
                (Some(user), Some(users)) => users.next_turn(user, ended.free_at, next.think),
                _ => ended.free_at + next.think,
            };
            due.held = ended.free_at.since(due.at.min(ended.free_at));
            outgoing = conversation.next(next, ended.answer, &ended.usage, number + 2 == count);
            full = beyond_context(&outgoing);
            if full.is_some() {
                break;
            }
        }
        for (_, turn) in turns {
            self.expected();
            self.skip(turn, None, full.clone());
        }
        free_at
    }

    /// Waits until `due`; false where the phase offers nothing by then.
    async fn comes(&self, due: Nanos) -> bool {
        tokio::select! {
            biased;
            _ = self.frame.closed() => {}
            () = self.frame.clock.sleep_until(due) => {}
        }
        !self.frame.is_beyond(due)
    }

    /// Takes a place for a later turn: how long it was held for it, or what becomes of the turn.
    async fn enter(&self, due: Nanos) -> Result<Duration, Outcome> {
        if self.places.take() {
            return Ok(Duration::ZERO);
        }
        if self.places.when_full == WhenFull::Drop {
            return Err(Outcome::Dropped);
        }
        tokio::select! {
            biased;
            _ = self.cut.wait() => Err(Outcome::NotSent),
            () = self.places.wait(due) => Ok(self.frame.clock.now().since(due)),
        }
    }

    /// How a turn stands in the schedule. One that goes out is noted with its user.
    fn slot(&self, due: Due) -> Slot {
        let place = due.user.and_then(|user| self.users.as_ref()?.send(user));
        Slot {
            scheduled: Some(due.at),
            measured: self.frame.measures(due.at, place.filter(|_| self.is_main)),
            user: due.user,
            held: Some(due.held).filter(|held| !held.is_zero()),
        }
    }

    /// Leaves the row of a turn that is not sent because its session is over. `due` is when it would have been, where
    /// that is known, and `why` what else there is to say.
    fn skip(&self, turn: Turn, due: Option<Nanos>, why: Option<String>) {
        let slot = Slot { scheduled: due, measured: false, user: None, held: None };
        self.row(turn.planned, slot, Fate::Unsent { outcome: Outcome::Skipped, error: why });
    }

    fn row(&self, planned: Planned, slot: Slot, fate: Fate) {
        (self.frame.sink)(Event::Ended(Box::new(record::Ended { planned, slot, fate })));
    }

    /// One request from send to end.
    async fn send(&self, planned: Planned, slot: Slot, outgoing: Result<Outgoing, Unsendable>) -> TurnEnd {
        let (clock, sink) = (&self.frame.clock, &self.frame.sink);
        let sent = clock.now();
        let outgoing = match outgoing {
            Ok(outgoing) => outgoing,
            Err(unsendable) => {
                let (outcome, error) = unsendable.into_fate();
                let slot = Slot { measured: slot.measured && outcome != Outcome::Skipped, ..slot };
                self.row(planned, slot, Fate::Unsent { outcome, error: Some(error) });
                let (usage, free_at) = (Usage::default(), sent + FAILURE_PAUSE);
                return TurnEnd { outcome, answer: None, usage, free_at };
            }
        };
        sink(Event::Sent {
            phase: planned.phase,
            request: planned.request,
            known: outgoing.known.clone(),
            scheduled: slot.scheduled.unwrap_or(sent),
            at: sent,
        });
        let mut timeline = Timeline::begin(sent, self.client.stamp_source());
        let mut hand_over = |stamps| sink(Event::Stamps { request: planned.request, stamps });
        let exchange = self.client.exchange_for(slot.user, &outgoing, &mut timeline, &mut hand_over);
        if let Err(outcome) = self.cut.spare(exchange).await {
            timeline.outcome = outcome;
            timeline.ended = clock.now();
        }
        let outcome = timeline.outcome;
        let free_at = match outcome {
            Outcome::Ok => timeline.ended,
            _ => timeline.ended.max(sent + FAILURE_PAUSE),
        };
        let answer = outgoing.keep_answer.then(|| timeline.answer.clone()).flatten();
        if !outgoing.check_answer {
            timeline.answer = None;
        }
        timeline.body_hash = outgoing.body_hash;
        let usage = timeline.usage;
        self.row(planned, slot, Fate::Sent(Box::new(timeline)));
        TurnEnd { outcome, answer, usage, free_at }
    }
}

/// Why a turn is not sent whose conversation would pass its context.
fn beyond_context(outgoing: &Result<Outgoing, Unsendable>) -> Option<String> {
    match outgoing {
        Err(Unsendable::BeyondContext(why)) => Some(why.clone()),
        Ok(_) | Err(Unsendable::Failed(_)) => None,
    }
}
