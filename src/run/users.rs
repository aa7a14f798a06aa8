//! The users of a closed loop: who is free, and when each sends next.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::sync::Notify;

use crate::clock::Clock;
use crate::plan::shard::Shard;
use crate::scenario::Rhythm;
use crate::seed::{Seed, Stream};
use crate::units::Nanos;

/// A user who may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Free {
    /// From when on.
    pub(super) ready: Nanos,
    pub(super) user: u32,
    /// When it was to send.
    pub(super) due: Nanos,
}

/// The users of one load.
pub(super) struct Users {
    rhythm: Rhythm,
    /// Most requests of each.
    quota: Option<u64>,
    all: RefCell<BTreeMap<u32, User>>,
    idle: RefCell<BTreeSet<Free>>,
    freed: Notify,
}

struct User {
    begin: Nanos,
    /// Requests it has sent.
    sent: u64,
    /// Requests of the sessions it has begun.
    begun: u64,
    think: Stream,
}

impl Users {
    /// The users of `shard` out of `count`, who begin one after another over `ramp_up` from `start` on. `owner`
    /// names their random streams.
    pub(super) fn new(
        (count, rhythm, ramp_up): (u32, Rhythm, Duration),
        quota: Option<u64>,
        (seed, owner): (Seed, &str),
        shard: Shard,
        start: Nanos,
    ) -> Users {
        let users =
            Users { rhythm, quota, all: RefCell::default(), idle: RefCell::default(), freed: Notify::new() };
        for user in (0..count).filter(|user| shard.owns(u64::from(*user))) {
            let share = u128::from(user) * ramp_up.as_nanos() / u128::from(count);
            let begin = start + Duration::from_nanos(share as u64);
            let think = seed.indexed_stream("user_think", owner, u64::from(user));
            users.all.borrow_mut().insert(user, User { begin, sent: 0, begun: 0, think });
            users.idle.borrow_mut().insert(Free { ready: begin, user, due: begin });
        }
        users
    }

    /// The next user who is to send, once it is.
    pub(super) async fn next(&self, clock: &Clock) -> Free {
        loop {
            let first = self.idle.borrow().first().copied();
            match first {
                Some(free) if free.ready <= clock.now() => {
                    self.idle.borrow_mut().remove(&free);
                    return free;
                }
                Some(free) => tokio::select! {
                    biased;
                    () = self.freed.notified() => {}
                    () = clock.sleep_until(free.ready) => {}
                },
                None => self.freed.notified().await,
            }
        }
    }

    /// Notes that `user` begins a session of so many turns.
    pub(super) fn begin(&self, user: u32, turns: usize) {
        if let Some(user) = self.all.borrow_mut().get_mut(&user) {
            user.begun += turns as u64;
        }
    }

    /// Notes that `user` sends; returns the number of that request among its own, from 0.
    pub(super) fn send(&self, user: u32) -> Option<u64> {
        let mut all = self.all.borrow_mut();
        let user = all.get_mut(&user)?;
        user.sent += 1;
        Some(user.sent - 1)
    }

    /// When `user`, whose request ended at `end`, sends the next turn of its session; `think` is that turn's.
    pub(super) fn next_turn(&self, user: u32, end: Nanos, think: Duration) -> Nanos {
        match (self.rhythm, self.all.borrow().get(&user)) {
            (Rhythm::Pace(pace), Some(user)) => slot(user, pace),
            _ => end + think,
        }
    }

    /// Lets `user` go on from `free_at`, unless it has sent all it is to send.
    pub(super) fn free(&self, user: u32, free_at: Nanos) {
        let mut all = self.all.borrow_mut();
        let Some(state) = all.get_mut(&user) else { return };
        if self.is_spent(state) {
            return;
        }
        let free = match self.rhythm {
            Rhythm::Think(law) => {
                let due = free_at + law.sample(&mut state.think);
                Free { ready: due, user, due }
            }
            Rhythm::Pace(pace) => {
                let due = slot(state, pace);
                Free { ready: due.max(free_at), user, due }
            }
        };
        self.idle.borrow_mut().insert(free);
        self.freed.notify_one();
    }

    fn is_spent(&self, user: &User) -> bool {
        self.quota.is_some_and(|quota| user.begun >= quota)
    }

    /// Whether no user has anything left to begin.
    pub(super) fn are_spent(&self) -> bool {
        self.all.borrow().values().all(|user| self.is_spent(user))
    }

    /// Slots before `end` that no request took, because their users were busy.
    pub(super) fn slots_missed(&self, end: Nanos) -> u64 {
        let Rhythm::Pace(pace) = self.rhythm else { return 0 };
        let missed = |user: &User| {
            let span = end.0.saturating_sub(user.begin.0);
            let slots = span.div_ceil((pace.as_nanos() as u64).max(1));
            slots.min(self.quota.unwrap_or(u64::MAX)).saturating_sub(user.sent)
        };
        self.all.borrow().values().map(missed).sum()
    }
}

/// When the next request of a user is due who keeps times of its own.
fn slot(user: &User, pace: Duration) -> Nanos {
    let since = u128::from(user.sent) * pace.as_nanos();
    user.begin + Duration::from_nanos(u64::try_from(since).unwrap_or(u64::MAX - user.begin.0))
}
