//! The time limits of one exchange, as one lazily re-armed sleep.

use std::future::Future as _;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker, ready};

use crate::clock::{Clock, Sleep};
use crate::record::Outcome;
use crate::scenario::Timeouts;
use crate::units::Nanos;

/// Watches over an exchange.
pub(super) struct Watch {
    clock: Clock,
    timeouts: Rc<Timeouts>,
    sent: Nanos,
    armed: Nanos,
    /// Whom the sleep will wake.
    waker: Option<Waker>,
    sleep: Sleep,
}

/// How far an exchange has come, as its limits see it.
#[derive(Clone, Copy)]
pub(super) enum Progress {
    /// No connection yet: `connect` holds, counted from the attempt to get one, and `first_token` already.
    Connecting { began: Nanos },
    /// Nothing generated yet: `first_token` holds, counted from the send.
    Waiting,
    /// Something was: `idle` holds, counted from the latest byte, pings included.
    Reading { last_read: Nanos },
}

impl Watch {
    pub(super) fn new(clock: &Clock, timeouts: &Rc<Timeouts>, sent: Nanos) -> Watch {
        let armed = limit_of(timeouts, sent, Progress::Waiting).0;
        let sleep = clock.sleep_until(armed);
        Watch { clock: clock.clone(), timeouts: Rc::clone(timeouts), sent, armed, waker: None, sleep }
    }

    /// Ready with the outcome when a limit has passed.
    pub(super) fn poll(&mut self, context: &mut Context<'_>, progress: Progress) -> Poll<Outcome> {
        let (limit, outcome) = limit_of(&self.timeouts, self.sent, progress);
        // Asked at every wake of a stream, of which a timer causes hardly any: a sleep that will wake this task
        // needs no poll before its time.
        let is_set = self.waker.as_ref().is_some_and(|waker| waker.will_wake(context.waker()));
        if is_set && limit >= self.armed && self.clock.now() < self.armed {
            return Poll::Pending;
        }
        if limit < self.armed {
            self.arm(limit);
        }
        self.waker = Some(context.waker().clone());
        loop {
            ready!(Pin::new(&mut self.sleep).poll(context));
            if self.clock.now() >= limit {
                return Poll::Ready(outcome);
            }
            // Each byte moves the idle limit; the sleep follows only when it has run out.
            self.arm(limit);
        }
    }

    /// What the row says of a passed limit.
    pub(super) fn describe(&self, outcome: Outcome) -> String {
        match outcome {
            Outcome::TimeoutConnect => format!("no connection within {:?}", self.timeouts.connect),
            Outcome::TimeoutFirstToken => {
                format!("no token within {:?} of the send", self.timeouts.first_token)
            }
            Outcome::TimeoutIdle => format!("nothing came for {:?}", self.timeouts.idle),
            _ => match self.timeouts.total {
                Some(total) => format!("not done within {total:?} of the send"),
                None => "a time limit passed".into(),
            },
        }
    }

    fn arm(&mut self, at: Nanos) {
        self.armed = at;
        self.sleep.reset(at);
    }
}

fn limit_of(timeouts: &Timeouts, sent: Nanos, progress: Progress) -> (Nanos, Outcome) {
    let first_token = (sent + timeouts.first_token, Outcome::TimeoutFirstToken);
    let own = match progress {
        Progress::Connecting { began } if began + timeouts.connect <= first_token.0 => {
            (began + timeouts.connect, Outcome::TimeoutConnect)
        }
        Progress::Connecting { .. } | Progress::Waiting => first_token,
        Progress::Reading { last_read } => (last_read + timeouts.idle, Outcome::TimeoutIdle),
    };
    match timeouts.total {
        Some(total) if sent + total <= own.0 => (sent + total, Outcome::TimeoutTotal),
        _ => own,
    }
}
