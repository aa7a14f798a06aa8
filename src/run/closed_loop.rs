//! Closed loop: a fixed number of users, each of whom sends again when its last request is over.

use std::rc::Rc;

use super::ahead::Feed;
use super::lane::{Due, Lane};
use super::users::Users;
use super::{Offer, until_over};
use crate::plan::composer::Next;
use crate::record::EndedBy;

/// Keeps `users` busy until the load ends. The next session is at hand before a user asks for it, so that a phase
/// ends with its last send, and not when a user finds nothing left.
pub(super) async fn offer(lane: &Rc<Lane>, users: &Users, feed: &mut Feed, first: Next) -> Offer {
    let frame = &lane.frame;
    let mut taken = 0;
    let mut next = first;
    loop {
        let session = match next {
            Next::Session(session) => session,
            Next::End(by) => return Offer::new(taken, lane.exhausted(by).await),
            Next::Failed(reason) => return Offer::new(taken, frame.failed(reason)),
        };
        if users.are_spent() {
            return Offer::new(taken, lane.exhausted(EndedBy::Requests).await);
        }
        let free = tokio::select! {
            biased;
            () = frame.stop.wait() => return Offer::new(taken, frame.stopped()),
            () = until_over(frame) => return Offer::new(taken, frame.ended_by_duration()),
            free = users.next(&frame.clock) => free,
        };
        taken += 1;
        // There are as many places as users.
        lane.places.take();
        lane.launch(*session, Due::of(free));
        next = tokio::select! {
            biased;
            () = frame.stop.wait() => return Offer::new(taken, frame.stopped()),
            () = until_over(frame) => return Offer::new(taken, frame.ended_by_duration()),
            next = feed.next() => next,
        };
    }
}
