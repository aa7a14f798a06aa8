//! Closed loop: a fixed number of users, each of whom sends again when its last request is over.

use std::rc::Rc;

use super::ahead::Source;
use super::lane::Lane;
use super::{Offer, PhaseClock};
use crate::plan::composer::Next;
use crate::record::Slot;

/// Keeps `users` requests in flight until the phase ends.
pub(super) async fn offer(
    phase: &PhaseClock<'_>,
    lane: &Rc<Lane>,
    source: &mut Source,
    mut first: Option<Next>,
    users: u32,
) -> Offer {
    let mut taken = 0;
    lane.admit_users(users, phase.start);
    loop {
        let (user, free_at) = tokio::select! {
            biased;
            () = phase.stop.wait() => return phase.stopped(taken),
            () = phase.over() => return phase.ended_by_duration(taken),
            free = lane.free_user() => free,
        };
        if phase.is_over_at(free_at) {
            return phase.exhausted(crate::record::EndedBy::Duration, taken).await;
        }
        let next = match first.take() {
            Some(next) => next,
            None => source.next().await,
        };
        match next {
            Next::Session(composed) => {
                taken += 1;
                let measured = phase.measures(free_at);
                let slot = Slot { scheduled: Some(free_at), measured, user: Some(user), held: None };
                lane.launch(*composed, slot);
            }
            Next::End(by) => return phase.exhausted(by, taken).await,
        }
    }
}
