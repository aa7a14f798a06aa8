//! Open loop: every session goes out at its due time, whatever else is in flight.

use std::rc::Rc;

use super::ahead::Source;
use super::lane::Lane;
use super::{Offer, PhaseClock};
use crate::plan::Start;
use crate::plan::composer::{Composed, Next};
use crate::record::{Outcome, Slot};

/// Offers the phase's sessions until it ends. A late send goes out at once; nothing is ever re-anchored.
pub(super) async fn offer(
    phase: &PhaseClock<'_>,
    lane: &Rc<Lane>,
    source: &mut Source,
    first: Next,
    max_in_flight: usize,
) -> Offer {
    let mut taken = 0;
    let mut next = first;
    loop {
        let composed = match next {
            Next::Session(composed) => composed,
            Next::End(by) => return phase.exhausted(by, taken).await,
            Next::Failed(reason) => return phase.failed(reason, taken),
        };
        let Start::At(offset) = composed.start else {
            unreachable!("the plan gives every session of an open loop its time")
        };
        let due = phase.start + offset;
        tokio::select! {
            biased;
            () = phase.stop.wait() => return phase.stopped(taken),
            () = phase.clock.sleep_until(due) => {}
        }
        taken += 1;
        let slot = Slot { scheduled: Some(due), measured: phase.measures(due), user: None, held: None };
        send_or_drop(lane, *composed, slot, max_in_flight);
        next = tokio::select! {
            biased;
            () = phase.stop.wait() => return phase.stopped(taken),
            next = source.next() => next,
        };
    }
}

fn send_or_drop(lane: &Rc<Lane>, composed: Composed, slot: Slot, max_in_flight: usize) {
    if lane.in_flight() < max_in_flight {
        lane.launch(composed, slot);
    } else {
        lane.leave_unsent(composed, slot, Outcome::Dropped);
    }
}
