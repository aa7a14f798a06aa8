//! Closed loop: a fixed number of users, each of whom sends again when its last request is over.

use std::rc::Rc;

use super::ahead::Source;
use super::lane::Lane;
use super::{Offer, PhaseClock};
use crate::plan::composer::Next;
use crate::record::Slot;

/// Keeps `users` requests in flight until the phase ends. The next session is at hand before a user asks for it,
/// so that a phase ends with its last send, and not when a user finds nothing left.
pub(super) async fn offer(
    phase: &PhaseClock<'_>,
    lane: &Rc<Lane>,
    source: &mut Source,
    first: Next,
    users: u32,
) -> Offer {
    let mut taken = 0;
    let mut next = first;
    lane.admit_users(users, phase.start);
    loop {
        let composed = match next {
            Next::Session(composed) => composed,
            Next::End(by) => return phase.exhausted(by, taken).await,
            Next::Failed(reason) => return phase.failed(reason, taken),
        };
        let (user, free_at) = tokio::select! {
            biased;
            () = phase.stop.wait() => return phase.stopped(taken),
            () = phase.over() => return phase.ended_by_duration(taken),
            free = lane.free_user() => free,
        };
        taken += 1;
        let measured = phase.measures(free_at);
        let slot = Slot { scheduled: Some(free_at), measured, user: Some(user), held: None };
        lane.launch(*composed, slot);
        next = tokio::select! {
            biased;
            () = phase.stop.wait() => return phase.stopped(taken),
            () = phase.over() => return phase.ended_by_duration(taken),
            next = source.next() => next,
        };
    }
}
