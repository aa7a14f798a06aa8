//! What a sender observes of itself: how late it is served, how much it works, and whether the time of day was set.

use std::time::Duration;

use super::Sink;
use crate::clock::{Clock, DayAhead};
use crate::record::Event;

/// How often it looks.
const EVERY: Duration = Duration::from_millis(50);

/// Measures how late the event loop serves a due wake-up, which a busy client would add to every time it takes, and how
/// much of the time it is at work.
pub(super) async fn watch_sender(clock: Clock, sink: Sink) {
    let (mut due, mut worked) = (clock.now(), clock.thread_work());
    let mut day = None;
    loop {
        due = (due + EVERY).max(clock.now());
        clock.sleep_until(due).await;
        let (at, before) = (clock.now(), worked);
        worked = clock.thread_work();
        let busy = worked.zip(before).map(|(now, before)| now.saturating_sub(before));
        let step = clock.time_of_day_ns().and_then(|look| step(&mut day, DayAhead::of(look)));
        sink(Event::SenderWoke { at, delay: at.since(due), busy, step });
    }
}

/// By how much at least the time of day was set, or slewed, since the last look; `None` at the first.
fn step(last: &mut Option<DayAhead>, look: DayAhead) -> Option<Duration> {
    let step_ns = last.replace(look)?.step_ns(look);
    Some(Duration::from_nanos(u64::try_from(step_ns).unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Nanos;

    const DAY: u64 = 1_700_000_000_000_000_000;

    fn look(day: &mut Option<DayAhead>, at_ms: u64, ahead_ms: i64, took_ms: u64) -> Option<u128> {
        let (before, after) = (Nanos(at_ms * 1_000_000), Nanos((at_ms + took_ms) * 1_000_000));
        let of_day = DAY + before.0 + took_ms * 500_000;
        let of_day = of_day.checked_add_signed(ahead_ms * 1_000_000).unwrap();
        step(day, DayAhead::of((before, of_day, after))).map(|step| step.as_millis())
    }

    #[test]
    fn c068_a_time_of_day_that_is_set_is_noticed_by_how_much_either_way() {
        let mut day = None;
        assert_eq!(look(&mut day, 0, 0, 0), None);
        assert_eq!(look(&mut day, 50, 0, 0), Some(0));
        assert_eq!(look(&mut day, 100, -5_000, 0), Some(5_000));
        assert_eq!(look(&mut day, 150, -5_000, 0), Some(0));
        assert_eq!(look(&mut day, 200, 3_600_000, 0), Some(3_605_000));
    }

    #[test]
    fn a_look_that_took_long_is_no_step() {
        let mut day = None;
        look(&mut day, 0, 0, 0);
        assert_eq!(look(&mut day, 50, 3, 8), Some(0), "it may have been anywhere in the 8 ms");
        assert_eq!(look(&mut day, 100, 0, 0), Some(0));
    }
}
