//! Open loop: every session goes out at its due time, whatever else is in flight.

use std::rc::Rc;

use super::ahead::Feed;
use super::frame::Ended;
use super::lane::{Due, Lane};
use super::{Backlog, Offer, until_over};
use crate::plan::Start;
use crate::plan::composer::{Composed, Next};
use crate::record::Outcome;
use crate::scenario::WhenFull;

/// Offers the load's sessions until it ends. A late send goes out at once; nothing is ever re-anchored.
pub(super) async fn offer(lane: &Rc<Lane>, feed: &mut Feed, first: Next) -> Offer {
    let frame = &lane.frame;
    let mut taken = 0;
    let mut next = first;
    loop {
        let session = match next {
            Next::Session(session) => session,
            Next::End(by) => return Offer::new(taken, lane.exhausted(by).await),
            Next::Failed(reason) => return Offer::new(taken, frame.failed(reason)),
        };
        let due = frame.start + offset_of(&session);
        tokio::select! {
            biased;
            () = frame.stop.wait() => return Offer::new(taken, frame.stopped()),
            _ = frame.closed() => return Offer::new(taken, frame.ended_by_duration()),
            () = frame.clock.sleep_until(due) => {}
        }
        taken += 1;
        match (lane.places.take(), lane.places.when_full) {
            (true, _) => lane.launch(*session, Due::at(due)),
            (false, WhenFull::Drop) => lane.leave_unsent(*session, due, Outcome::Dropped),
            // The others wait behind it, in the plan, where they take no room.
            (false, WhenFull::Wait) => {
                let stopped = tokio::select! {
                    biased;
                    () = frame.stop.wait() => true,
                    () = until_over(frame) => false,
                    () = lane.places.wait(due) => {
                        let held = frame.clock.now().since(due);
                        lane.launch(*session, Due { held, ..Due::at(due) });
                        next = feed.next().await;
                        continue;
                    }
                };
                if !stopped {
                    let backlog = Some(Backlog { session, due });
                    return Offer { taken, ended: frame.ended_by_duration(), backlog };
                }
                let ended = frame.stopped();
                lane.leave_unsent(*session, due, Outcome::NotSent);
                taken += leave_overdue(lane, feed, ended).await;
                return Offer::new(taken, ended);
            }
        }
        next = tokio::select! {
            biased;
            () = frame.stop.wait() => return Offer::new(taken, frame.stopped()),
            next = feed.next() => next,
        };
    }
}

fn offset_of(session: &Composed) -> std::time::Duration {
    let Start::At(offset) = session.start else {
        unreachable!("the plan gives every session of an open loop its time")
    };
    offset
}

/// Leaves the rows of sessions that were due by the stop and held; returns how many.
async fn leave_overdue(lane: &Lane, feed: &mut Feed, stopped: Ended) -> u64 {
    let mut taken = 0;
    while let Next::Session(session) = feed.next().await {
        let due = lane.frame.start + offset_of(&session);
        if due > stopped.at {
            break;
        }
        taken += 1;
        lane.leave_unsent(*session, due, Outcome::NotSent);
    }
    taken
}

/// Sends what was held at the end of the phase, or leaves its rows when the drain ends; returns how many sessions
/// beyond the first were taken for it.
pub(super) async fn send_backlog(lane: &Rc<Lane>, feed: &mut Feed, backlog: Backlog) -> u64 {
    let frame = &lane.frame;
    let Backlog { mut session, mut due } = backlog;
    let mut taken = 0;
    loop {
        tokio::select! {
            biased;
            () = lane.was_cut() => lane.leave_unsent(*session, due, Outcome::NotSent),
            () = lane.places.wait(due) => {
                let held = frame.clock.now().since(due);
                lane.launch(*session, Due { held, ..Due::at(due) });
            }
        }
        let Next::Session(following) = feed.next().await else { return taken };
        (due, session) = (frame.start + offset_of(&following), following);
        if frame.is_beyond(due) {
            return taken;
        }
        taken += 1;
    }
}
