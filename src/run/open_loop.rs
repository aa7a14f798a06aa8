//! Open loop: every session goes out at its due time, whatever else is in flight.

use std::rc::Rc;

use super::ahead::Source;
use super::lane::Lane;
use super::{Offer, PhaseClock};
use crate::plan::Start;
use crate::plan::composer::{Composed, Next};
use crate::record::{EndedBy, Outcome, Slot};

/// Offers the phase's sessions until it ends. A late send goes out at once; nothing is ever re-anchored.
pub(super) async fn offer(
    phase: &PhaseClock<'_>,
    lane: &Rc<Lane>,
    source: &mut Source,
    mut first: Option<Next>,
    max_in_flight: usize,
) -> Offer {
    let mut taken = 0;
    loop {
        let next = match first.take() {
            Some(next) => next,
            None => tokio::select! {
                biased;
                () = phase.stop.wait() => return phase.stopped(taken),
                next = source.next() => next,
            },
        };
        let composed = match next {
            Next::Session(composed) => composed,
            Next::End(by) => return phase.exhausted(by, taken).await,
        };
        let Start::At(offset) = composed.start else {
            return Offer { taken, by: EndedBy::Stop, at: phase.clock.now() };
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
    }
}

fn send_or_drop(lane: &Rc<Lane>, composed: Composed, slot: Slot, max_in_flight: usize) {
    if lane.in_flight() < max_in_flight {
        lane.launch(composed, slot);
    } else {
        lane.leave_unsent(composed, slot, Outcome::Dropped);
    }
}
