//! What is in flight: one task a request, each leaving one `Ended` event.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use tokio::sync::Notify;

use super::Sink;
use crate::client::Client;
use crate::clock::Clock;
use crate::plan::composer::Composed;
use crate::record::{Ended, Event, Fate, Outcome, Slot, Timeline};
use crate::units::Nanos;

/// A user whose request failed comes back no sooner than this after having sent it: a server that refuses at
/// once must not turn a closed loop into a flood, nor, in virtual time, into a moment without end.
const FAILURE_PAUSE: Duration = Duration::from_millis(10);

/// The requests of one phase that are on the wire.
pub(super) struct Lane {
    clock: Clock,
    client: Rc<Client>,
    sink: Sink,
    in_flight: Cell<usize>,
    all_ended: Notify,
    cut: Cut,
    /// From when each user without a request is free.
    free_users: RefCell<BTreeSet<(Nanos, u32)>>,
    user_freed: Notify,
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
}

impl Lane {
    pub(super) fn new(clock: Clock, client: Rc<Client>, sink: Sink) -> Rc<Lane> {
        Rc::new(Lane {
            clock,
            client,
            sink,
            in_flight: Cell::new(0),
            all_ended: Notify::new(),
            cut: Cut::default(),
            free_users: RefCell::default(),
            user_freed: Notify::new(),
        })
    }

    /// How many requests are in flight.
    pub(super) fn in_flight(&self) -> usize {
        self.in_flight.get()
    }

    /// Sends `composed` in a task of its own, due or overdue now.
    pub(super) fn launch(self: &Rc<Lane>, composed: Composed, slot: Slot) {
        self.in_flight.set(self.in_flight.get() + 1);
        let lane = Rc::clone(self);
        tokio::task::spawn_local(async move {
            let free_at = lane.carry(composed, slot).await;
            lane.in_flight.set(lane.in_flight.get() - 1);
            if let Some(user) = slot.user {
                lane.free_users.borrow_mut().insert((free_at, user));
                lane.user_freed.notify_one();
            }
            if lane.in_flight.get() == 0 {
                lane.all_ended.notify_one();
            }
        });
    }

    /// Leaves the row of a request that was due and could not be sent.
    pub(super) fn leave_unsent(&self, composed: Composed, slot: Slot, outcome: Outcome) {
        let fate = Fate::Unsent { outcome, error: None };
        (self.sink)(Event::Ended(Box::new(Ended { planned: composed.planned, slot, fate })));
    }

    /// The next user of a closed loop to be free, and since when.
    pub(super) async fn free_user(&self) -> (u32, Nanos) {
        loop {
            let first = self.free_users.borrow().first().copied();
            match first {
                Some((free_at, user)) if free_at <= self.clock.now() => {
                    self.free_users.borrow_mut().pop_first();
                    return (user, free_at);
                }
                Some((free_at, _)) => tokio::select! {
                    biased;
                    () = self.user_freed.notified() => {}
                    () = self.clock.sleep_until(free_at) => {}
                },
                None => self.user_freed.notified().await,
            }
        }
    }

    /// Makes `users` users, all free at `at`.
    pub(super) fn admit_users(&self, users: u32, at: Nanos) {
        self.free_users.borrow_mut().extend((0..users).map(|user| (at, user)));
    }

    /// Completes when nothing is in flight.
    pub(super) async fn idle(&self) {
        while self.in_flight.get() > 0 {
            self.all_ended.notified().await;
        }
    }

    /// Ends everything in flight as `outcome`, with what it had.
    pub(super) fn cut(&self, outcome: Outcome) {
        self.cut.outcome.set(Some(outcome));
        self.cut.imposed.notify_waiters();
    }

    /// One request from send to end; returns when its user is free again.
    async fn carry(&self, composed: Composed, slot: Slot) -> Nanos {
        let sent = self.clock.now();
        let Composed { planned, outgoing, .. } = composed;
        let outgoing = match outgoing {
            Ok(outgoing) => outgoing,
            Err(error) => {
                let fate = Fate::Unsent { outcome: Outcome::ClientError, error: Some(error) };
                (self.sink)(Event::Ended(Box::new(Ended { planned, slot, fate })));
                return sent + FAILURE_PAUSE;
            }
        };
        (self.sink)(Event::Sent {
            phase: planned.phase,
            scheduled: slot.scheduled.unwrap_or(sent),
            at: sent,
        });
        let mut timeline = Timeline::begin(sent, self.client.stamp_source());
        let cut = {
            let mut hand_over = |stamps| (self.sink)(Event::Stamps { request: planned.request, stamps });
            let exchange =
                pin!(self.client.exchange_for(slot.user, &outgoing, &mut timeline, &mut hand_over));
            tokio::select! {
                biased;
                () = exchange => None,
                outcome = self.cut.wait() => Some(outcome),
            }
        };
        if let Some(outcome) = cut {
            timeline.outcome = outcome;
            timeline.ended = self.clock.now();
        }
        let free_at = match timeline.outcome {
            Outcome::Ok => timeline.ended,
            _ => timeline.ended.max(sent + FAILURE_PAUSE),
        };
        let fate = Fate::Sent(Box::new(timeline));
        (self.sink)(Event::Ended(Box::new(Ended { planned, slot, fate })));
        free_at
    }
}
