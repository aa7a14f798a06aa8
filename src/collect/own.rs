//! What the client measures of itself while it measures a server, by phase.

use std::time::Duration;

use crate::stats::client::ClientFigures;
use crate::stats::percentile::Percentile;
use crate::units::{Micros, Nanos};

/// Memory of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// The most it has had.
    pub peak_bytes: u64,
    /// What the machine, or its control group, has; `None` where that is not known.
    pub limit_bytes: Option<u64>,
}

/// A look at the sender.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    /// When it woke.
    pub(super) at: Nanos,
    /// How late that was.
    pub(super) delay: Duration,
    /// How long it has worked since the look before.
    pub(super) busy: Option<Duration>,
    /// By how much the time of day was set since then.
    pub(super) step: Option<Duration>,
}

/// The account of every phase.
pub(super) struct Own {
    phases: Vec<Account>,
    /// When the sender was last looked at.
    looked: Option<Nanos>,
}

#[derive(Clone, Debug, Default)]
struct Account {
    /// How late the event loop woke.
    loop_delays: Vec<Micros>,
    /// Time that the sender was at work, of the time that it was looked at.
    busy: Duration,
    watched: Duration,
    backlog_peak_bytes: Option<u64>,
    memory: Option<Memory>,
    /// The most by which the time of day was set.
    step: Option<Duration>,
}

impl Own {
    pub(super) fn new(phases: usize) -> Own {
        Own { phases: vec![Account::default(); phases], looked: None }
    }

    /// A look at the sender in `phase`.
    pub(super) fn look(&mut self, phase: u32, Look { at, delay, busy, step }: Look) {
        let before = self.looked.replace(at);
        let Some(account) = self.phases.get_mut(phase as usize) else { return };
        account.loop_delays.push(Micros::from_duration(delay));
        account.step = account.step.max(step);
        if let (Some(before), Some(busy)) = (before, busy) {
            account.busy += busy;
            account.watched += at.since(before);
        }
    }

    /// So many bytes of events wait to be taken in.
    pub(super) fn backlog(&mut self, phase: u32, bytes: u64) {
        if let Some(account) = self.phases.get_mut(phase as usize) {
            account.backlog_peak_bytes = account.backlog_peak_bytes.max(Some(bytes));
        }
    }

    /// So much memory has been had.
    pub(super) fn memory(&mut self, phase: u32, memory: Memory) {
        if let Some(account) = self.phases.get_mut(phase as usize) {
            account.memory = Some(memory);
        }
    }

    /// Puts what is known of `phase` beside what rows tell of it.
    pub(super) fn complete(&mut self, phase: usize, rows: ClientFigures) -> ClientFigures {
        let Some(account) = self.phases.get_mut(phase) else { return rows };
        account.loop_delays.sort_unstable();
        let watched_s = account.watched.as_secs_f64();
        let share = |memory: Memory| Some(memory.peak_bytes as f64 / memory.limit_bytes? as f64);
        ClientFigures {
            loop_delay_p99_ms: Percentile::P99.nearest_rank(&account.loop_delays).map(Micros::as_ms),
            sender_cpu_share: (watched_s > 0.0).then(|| rounded(account.busy.as_secs_f64() / watched_s)),
            backlog_peak_bytes: account.backlog_peak_bytes,
            memory_peak_bytes: account.memory.map(|memory| memory.peak_bytes),
            memory_share: account.memory.and_then(share).map(rounded),
            clock_step_ms: account.step.map(|step| Micros::from_duration(step).as_ms()),
            ..rows
        }
    }
}

/// More digits would not be known.
fn rounded(share: f64) -> f64 {
    (share * 1e4).round() / 1e4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_phase_has_the_delays_and_the_work_of_its_own_looks() {
        let mut own = Own::new(2);
        let ms = Duration::from_millis;
        let look =
            |at, delay, busy| Look { at: Nanos(at), delay: ms(delay), busy: Some(ms(busy)), step: None };
        own.look(0, look(0, 0, 400));
        for place in 1..=100 {
            own.look(0, look(place * 50_000_000, place / 50, 10));
        }
        own.look(1, look(5_100_000_000, 7, 80));
        let [first, second] = [0, 1].map(|phase| own.complete(phase, ClientFigures::default()));
        assert_eq!(
            (first.loop_delay_p99_ms, first.sender_cpu_share),
            (Some(1.0), Some(0.2)),
            "since the first look"
        );
        assert_eq!((second.loop_delay_p99_ms, second.sender_cpu_share), (Some(7.0), Some(0.8)));
    }

    #[test]
    fn the_longest_queue_and_the_last_memory_count() {
        let mut own = Own::new(1);
        [10, 700, 30].into_iter().for_each(|bytes| own.backlog(0, bytes));
        let memory = |peak_bytes, limit_bytes| Memory { peak_bytes, limit_bytes };
        own.memory(0, memory(1 << 20, Some(1 << 30)));
        own.memory(0, memory(1 << 28, Some(1 << 30)));
        let figures = own.complete(0, ClientFigures { reads: 3, ..ClientFigures::default() });
        let expected = ClientFigures {
            reads: 3,
            backlog_peak_bytes: Some(700),
            memory_peak_bytes: Some(1 << 28),
            memory_share: Some(0.25),
            ..ClientFigures::default()
        };
        assert_eq!(figures, expected);
        own.memory(0, memory(1 << 28, None));
        assert_eq!(own.complete(0, figures).memory_share, None);
    }

    #[test]
    fn c068_the_furthest_that_the_time_of_day_was_set_counts() {
        let mut own = Own::new(1);
        for (at, step) in [(0, None), (50, Some(0)), (100, Some(5_000)), (150, Some(3))] {
            let step = step.map(Duration::from_millis);
            own.look(0, Look { at: Nanos(at * 1_000_000), delay: Duration::ZERO, busy: None, step });
        }
        assert_eq!(own.complete(0, ClientFigures::default()).clock_step_ms, Some(5_000.0));
    }

    #[test]
    fn what_was_not_looked_at_is_not_known() {
        let mut own = Own::new(1);
        assert_eq!(own.complete(0, ClientFigures::default()), ClientFigures::default());
        // A phase that no scenario has.
        own.look(9, Look { at: Nanos(5), delay: Duration::ZERO, busy: None, step: None });
        own.backlog(9, 1);
    }
}
