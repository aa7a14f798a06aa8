//! What a sender observes of itself: how late it is served, how much it works, and whether the time of day was set.

use std::time::Duration;

use super::Sink;
use crate::clock::Clock;
use crate::record::Event;
use crate::units::Nanos;

/// How often it looks.
const EVERY: Duration = Duration::from_millis(50);

/// Measures how late the event loop serves a due wake-up, which a busy client would add to every time it takes, and how
/// much of the time it is at work.
pub(super) async fn watch_sender(clock: Clock, sink: Sink) {
    let (mut due, mut worked) = (clock.now(), clock.thread_work());
    let mut day = DayClock::default();
    loop {
        due = (due + EVERY).max(clock.now());
        clock.sleep_until(due).await;
        let (at, before) = (clock.now(), worked);
        worked = clock.thread_work();
        let busy = worked.zip(before).map(|(now, before)| now.saturating_sub(before));
        let step = clock.time_of_day_ns().and_then(|look| day.look(look));
        sink(Event::SenderWoke { at, delay: at.since(due), busy, step });
    }
}

/// The time of day beside ours.
#[derive(Default)]
struct DayClock {
    /// How far it was ahead at the last look, and how far that may be off.
    ahead_ns: Option<(i128, u64)>,
}

impl DayClock {
    /// A look at it between two looks at our clock: by how much at least it was set, or slewed, since the last one; `None`
    /// at the first.
    fn look(&mut self, (before, day_ns, after): (Nanos, u64, Nanos)) -> Option<Duration> {
        let error_ns = after.0 - before.0;
        let ahead_ns = i128::from(day_ns) - i128::from(before.0) - i128::from(error_ns / 2);
        let (known_ns, known_error_ns) = self.ahead_ns.replace((ahead_ns, error_ns))?;
        let step_ns = known_ns.abs_diff(ahead_ns).saturating_sub(u128::from(error_ns + known_error_ns));
        Some(Duration::from_nanos(u64::try_from(step_ns).unwrap_or(u64::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u64 = 1_700_000_000_000_000_000;

    fn look(day: &mut DayClock, at_ms: u64, ahead_ms: i64, took_ms: u64) -> Option<u128> {
        let (before, after) = (Nanos(at_ms * 1_000_000), Nanos((at_ms + took_ms) * 1_000_000));
        let of_day = DAY + before.0 + took_ms * 500_000;
        day.look((before, of_day.checked_add_signed(ahead_ms * 1_000_000).unwrap(), after))
            .map(|step| step.as_millis())
    }

    #[test]
    fn c068_a_time_of_day_that_is_set_is_noticed_by_how_much_either_way() {
        let mut day = DayClock::default();
        assert_eq!(look(&mut day, 0, 0, 0), None);
        assert_eq!(look(&mut day, 50, 0, 0), Some(0));
        assert_eq!(look(&mut day, 100, -5_000, 0), Some(5_000));
        assert_eq!(look(&mut day, 150, -5_000, 0), Some(0));
        assert_eq!(look(&mut day, 200, 3_600_000, 0), Some(3_605_000));
    }

    #[test]
    fn a_look_that_took_long_is_no_step() {
        let mut day = DayClock::default();
        look(&mut day, 0, 0, 0);
        assert_eq!(look(&mut day, 50, 3, 8), Some(0), "it may have been anywhere in the 8 ms");
        assert_eq!(look(&mut day, 100, 0, 0), Some(0));
    }
}
