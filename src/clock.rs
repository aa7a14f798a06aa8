//! The one source of time.
//!
//! A [`Clock`] answers two questions: what time is it, and wake me at this instant. The real one reads
//! CLOCK_MONOTONIC and sleeps on a timerfd, because tokio's own timer is a whole millisecond wide. The
//! virtual one keeps exact nanosecond deadlines and advances only when nothing else can run: tokio's paused
//! clock tells when that is, and is never asked what time it is, since it rounds to whole milliseconds.
//!
//! Everything above this layer takes a `Clock`, so the whole stack runs in tests and rehearsals exactly as it
//! does against a server.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId as TimerClock, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use nix::time::{ClockId, clock_gettime};
use tokio::io::unix::AsyncFd;
use tokio::runtime::{Builder, LocalOptions, LocalRuntime};

use crate::units::Nanos;

/// Handle to the time of one runtime. Cheap to clone, bound to its thread.
#[derive(Clone)]
pub struct Clock(Rc<Timers>);

struct Timers {
    source: Source,
    /// Live deadlines in order of time, then of registration.
    deadlines: RefCell<BTreeMap<(Nanos, u64), Deadline>>,
    registrations: Cell<u64>,
}

/// What is known of a sleeper.
struct Deadline {
    waker: Option<Waker>,
    /// Whether virtual time passes for its sake.
    moves_time: bool,
}

enum Source {
    Real { origin_ns: u64, timer: TimerFd, armed: Cell<Option<Nanos>> },
    Virtual { now: Cell<Nanos>, stalled: tokio::sync::Notify },
}

/// How far the time of day was ahead of a [`Clock`] when both were looked at.
#[derive(Clone, Copy, Debug)]
pub struct DayAhead {
    /// So many nanoseconds.
    pub ahead_ns: i128,
    /// Greatest error of that.
    pub error_ns: u64,
}

impl DayAhead {
    /// By a look at the time of day between two readings of the clock ([`Clock::time_of_day_ns`]).
    pub fn of((before, day_ns, after): (Nanos, u64, Nanos)) -> DayAhead {
        let error_ns = after.0 - before.0;
        let middle_ns = i128::from(before.0) + i128::from(error_ns / 2);
        DayAhead { ahead_ns: i128::from(day_ns) - middle_ns, error_ns }
    }

    /// By how many nanoseconds at least the time of day was set between two looks.
    pub fn step_ns(self, other: DayAhead) -> u128 {
        self.ahead_ns.abs_diff(other.ahead_ns).saturating_sub(u128::from(self.error_ns + other.error_ns))
    }
}

impl Clock {
    /// Runs `main` on a runtime of its own under the real clock.
    ///
    /// # Errors
    /// When the runtime or its timer cannot be had (descriptors, memory).
    pub fn run_real<F: Future>(main: impl FnOnce(Clock) -> F) -> io::Result<F::Output> {
        Clock::run_real_from(Duration::ZERO, main)
    }

    /// The same with a clock that starts at `start`: it goes on where another one was left.
    ///
    /// # Errors
    /// When the runtime or its timer cannot be had.
    pub fn run_real_from<F: Future>(start: Duration, main: impl FnOnce(Clock) -> F) -> io::Result<F::Output> {
        let runtime = build_runtime(false)?;
        // The kernel may delay a sleeping thread by its slack, 50 µs by default. A refusal costs only precision.
        let _ = nix::sys::prctl::set_timerslack(1);
        let timer =
            TimerFd::new(TimerClock::CLOCK_MONOTONIC, TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC)?;
        // The machine may be up for a shorter time than that: the clock's zero may lie before the kernel's.
        let origin_ns = monotonic_ns().wrapping_sub(start.as_nanos() as u64);
        let source = Source::Real { origin_ns, timer, armed: Cell::new(None) };
        let clock = Clock::new(source);
        Ok(runtime.block_on(async {
            let driver = tokio::task::spawn_local(drive_real(clock.clone()));
            let output = main(clock).await;
            driver.abort();
            output
        }))
    }

    /// Runs `main` on a runtime of its own under a virtual clock that starts at zero.
    ///
    /// Nothing may run on another thread meanwhile: while one works, hours of virtual time pass.
    ///
    /// # Errors
    /// When the runtime cannot be had.
    pub fn run_virtual<F: Future>(main: impl FnOnce(Clock) -> F) -> io::Result<F::Output> {
        let runtime = build_runtime(true)?;
        let source = Source::Virtual { now: Cell::new(Nanos::ZERO), stalled: tokio::sync::Notify::new() };
        let clock = Clock::new(source);
        Ok(runtime.block_on(async {
            let driver = tokio::task::spawn_local(drive_virtual(clock.clone()));
            let output = main(clock).await;
            driver.abort();
            output
        }))
    }

    fn new(source: Source) -> Clock {
        let deadlines = RefCell::new(BTreeMap::new());
        Clock(Rc::new(Timers { source, deadlines, registrations: Cell::new(0) }))
    }

    /// Time since the clock was made.
    pub fn now(&self) -> Nanos {
        match &self.0.source {
            Source::Real { origin_ns, .. } => Nanos(monotonic_ns().wrapping_sub(*origin_ns)),
            Source::Virtual { now, .. } => now.get(),
        }
    }

    /// CPU time that this thread has taken; `None` under the virtual clock.
    pub fn thread_work(&self) -> Option<Duration> {
        if self.is_virtual() {
            return None;
        }
        clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map(Duration::from).ok()
    }

    /// CLOCK_MONOTONIC in nanoseconds at the clock's zero; `None` under the virtual clock.
    pub fn origin_monotonic_ns(&self) -> Option<u64> {
        match &self.0.source {
            Source::Real { origin_ns, .. } => Some(*origin_ns),
            Source::Virtual { .. } => None,
        }
    }

    /// Nanoseconds since 1970 by the clock of the day, which may be set at any time, between two readings of this
    /// one; `None` under the virtual clock, whose days are not ours.
    pub fn time_of_day_ns(&self) -> Option<(Nanos, u64, Nanos)> {
        if self.is_virtual() {
            return None;
        }
        let before = self.now();
        let day = clock_gettime(ClockId::CLOCK_REALTIME).expect("Linux always has CLOCK_REALTIME");
        Some((before, day.tv_sec() as u64 * 1_000_000_000 + day.tv_nsec() as u64, self.now()))
    }

    /// The same time for other threads; `None` under the virtual clock, which has no other threads.
    pub fn monotonic(&self) -> Option<Monotonic> {
        self.origin_monotonic_ns().map(|origin_ns| Monotonic { origin_ns })
    }

    /// Whether time is computed rather than measured.
    pub fn is_virtual(&self) -> bool {
        matches!(self.0.source, Source::Virtual { .. })
    }

    /// Completes at `at`, or at once if that has passed. Sleeps of equal deadline end in order of their making.
    pub fn sleep_until(&self, at: Nanos) -> Sleep {
        self.asleep(at, true)
    }

    /// As [`Clock::sleep_until`], for what goes on beside a run without end: where only such sleeps are left,
    /// virtual time stands still, and the run has stalled.
    pub fn watch_until(&self, at: Nanos) -> Sleep {
        self.asleep(at, false)
    }

    fn asleep(&self, at: Nanos, moves_time: bool) -> Sleep {
        let mut sleep = Sleep { clock: self.clone(), key: None, moves_time };
        sleep.reset(at);
        sleep
    }

    /// Completes when `duration` has passed.
    pub fn sleep(&self, duration: Duration) -> Sleep {
        self.sleep_until(self.now() + duration)
    }

    /// Completes when the virtual clock finds nothing to run and no deadline to wait for: a deadlock. Never
    /// completes under the real clock, where the outside world may always have something to say.
    pub async fn stalled(&self) {
        match &self.0.source {
            Source::Real { .. } => std::future::pending().await,
            Source::Virtual { stalled, .. } => stalled.notified().await,
        }
    }

    fn register(&self, at: Nanos, moves_time: bool) -> (Nanos, u64) {
        let timers = &*self.0;
        let sequence = timers.registrations.get();
        timers.registrations.set(sequence + 1);
        timers.deadlines.borrow_mut().insert((at, sequence), Deadline { waker: None, moves_time });
        if let Source::Real { armed, .. } = &timers.source
            && armed.get().is_none_or(|earliest| at < earliest)
        {
            self.arm(at);
        }
        (at, sequence)
    }

    /// Sets the timerfd to `at`. A failure would leave sleepers asleep for ever, so it is not survivable; the
    /// kernel has none to give for a descriptor and an instant that are both valid.
    fn arm(&self, at: Nanos) {
        let Source::Real { origin_ns, timer, armed } = &self.0.source else { return };
        // An instant of zero would disarm the timer.
        let instant = TimeSpec::from_duration(Duration::from_nanos(origin_ns.wrapping_add(at.0).max(1)));
        timer
            .set(Expiration::OneShot(instant), TimerSetTimeFlags::TFD_TIMER_ABSTIME)
            .expect("arming an open timerfd with a valid instant");
        armed.set(Some(at));
    }

    /// Wakes every sleeper whose deadline is not after `now`.
    fn fire(&self, now: Nanos) {
        loop {
            let fired = {
                let mut deadlines = self.0.deadlines.borrow_mut();
                match deadlines.first_entry() {
                    Some(entry) if entry.key().0 <= now => entry.remove(),
                    _ => return,
                }
            };
            if let Some(waker) = fired.waker {
                waker.wake();
            }
        }
    }

    fn earliest(&self) -> Option<Nanos> {
        self.0.deadlines.borrow().first_key_value().map(|(key, _)| key.0)
    }

    /// Whether virtual time has something to pass for.
    fn has_work(&self) -> bool {
        // The first one mostly says it.
        self.0.deadlines.borrow().values().any(|deadline| deadline.moves_time)
    }
}

/// Reads a real clock's time on any thread.
#[derive(Clone, Copy, Debug)]
pub struct Monotonic {
    origin_ns: u64,
}

impl Monotonic {
    /// Time since the clock was made.
    pub fn now(self) -> Nanos {
        Nanos(monotonic_ns().wrapping_sub(self.origin_ns))
    }
}

/// A wait for one instant; see [`Clock::sleep_until`]. Dropping it removes its deadline.
pub struct Sleep {
    clock: Clock,
    /// The registered deadline; `None` once its instant has passed.
    key: Option<(Nanos, u64)>,
    moves_time: bool,
}

impl Sleep {
    /// Waits for another instant instead.
    pub fn reset(&mut self, at: Nanos) {
        self.forget();
        self.key = (at > self.clock.now()).then(|| self.clock.register(at, self.moves_time));
    }

    fn forget(&mut self) {
        if let Some(key) = self.key.take() {
            self.clock.0.deadlines.borrow_mut().remove(&key);
        }
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Some(key) = self.key else { return Poll::Ready(()) };
        let mut deadlines = self.clock.0.deadlines.borrow_mut();
        match deadlines.get_mut(&key) {
            Some(Deadline { waker, .. }) => {
                if !waker.as_ref().is_some_and(|known| known.will_wake(context.waker())) {
                    *waker = Some(context.waker().clone());
                }
                Poll::Pending
            }
            None => {
                drop(deadlines);
                self.key = None;
                Poll::Ready(())
            }
        }
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.forget();
    }
}

fn build_runtime(paused: bool) -> io::Result<LocalRuntime> {
    let mut builder = Builder::new_current_thread();
    builder.enable_io();
    // Its timers serve the virtual clock alone; looking at them would cost each wake-up under the real one.
    if paused {
        builder.enable_time().start_paused(true);
    }
    builder.build_local(LocalOptions::default())
}

/// CLOCK_MONOTONIC, which neither steps nor needs a lock.
fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("Linux always has CLOCK_MONOTONIC");
    now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64
}

#[expect(
    deprecated,
    reason = "its successor is `unsafe`; an owned descriptor that lives as long is all it asks"
)]
async fn drive_real(clock: Clock) {
    let Source::Real { timer, armed, .. } = &clock.0.source else { return };
    let descriptor = timer.as_fd().try_clone_to_owned().and_then(AsyncFd::<OwnedFd>::new);
    let descriptor = descriptor.expect("registering the timer with the reactor that was just made for it");
    loop {
        let Ok(mut ready) = descriptor.readable().await else { return };
        ready.clear_ready();
        drop(ready);
        // Disarming before firing: a sleeper registered by a woken task must find the timer free to arm.
        armed.set(None);
        clock.fire(clock.now());
        if let Some(next) = clock.earliest() {
            clock.arm(next);
        }
    }
}

async fn drive_virtual(clock: Clock) {
    let Source::Virtual { now, stalled } = &clock.0.source else { return };
    loop {
        idle().await;
        match clock.earliest().filter(|_| clock.has_work()) {
            Some(next) => {
                now.set(next);
                clock.fire(next);
            }
            None => stalled.notify_waiters(),
        }
    }
}

/// Completes when no other task can run: a paused tokio clock advances only then.
#[expect(
    clippy::disallowed_methods,
    reason = "tokio's paused clock as idle detector; its time is never read"
)]
async fn idle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn woken(deadlines: &'static [u64]) -> Vec<(usize, u64)> {
        let log = Rc::new(RefCell::new(Vec::new()));
        let seen = Rc::clone(&log);
        Clock::run_virtual(|clock| async move {
            let tasks = deadlines.iter().enumerate().map(|(i, at)| {
                let (clock, log) = (clock.clone(), Rc::clone(&log));
                let sleep = clock.sleep_until(Nanos(*at));
                tokio::task::spawn_local(async move {
                    sleep.await;
                    log.borrow_mut().push((i, clock.now().0));
                })
            });
            for task in tasks.collect::<Vec<_>>() {
                task.await.unwrap();
            }
        })
        .unwrap();
        seen.take()
    }

    #[test]
    fn virtual_sleeps_end_at_their_exact_nanosecond() {
        let log = woken(&[123_456_789, 1, 999_999, 1_000_001, 3_600_000_000_000]);
        assert_eq!(log, [(1, 1), (2, 999_999), (3, 1_000_001), (0, 123_456_789), (4, 3_600_000_000_000)]);
    }

    #[test]
    fn equal_deadlines_end_in_order_of_registration() {
        assert_eq!(woken(&[7, 5, 7, 5, 7]), [(1, 5), (3, 5), (0, 7), (2, 7), (4, 7)]);
    }

    #[test]
    fn a_wake_up_that_schedules_the_same_instant_is_served_before_time_moves() {
        let log = Clock::run_virtual(|clock| async move {
            let log = Rc::new(RefCell::new(Vec::new()));
            let late = {
                let (clock, log) = (clock.clone(), Rc::clone(&log));
                tokio::task::spawn_local(async move {
                    clock.sleep_until(Nanos(11)).await;
                    log.borrow_mut().push(("late", clock.now().0));
                })
            };
            clock.sleep_until(Nanos(10)).await;
            for _ in 0..3 {
                clock.sleep_until(Nanos(10)).await;
                let (clock, log) = (clock.clone(), Rc::clone(&log));
                tokio::task::spawn_local(async move { log.borrow_mut().push(("same", clock.now().0)) })
                    .await
                    .unwrap();
            }
            late.await.unwrap();
            log.take()
        });
        assert_eq!(log.unwrap(), [("same", 10), ("same", 10), ("same", 10), ("late", 11)]);
    }

    #[test]
    fn a_dropped_sleep_does_not_hold_time_up_and_a_reset_one_ends_at_its_new_instant() {
        let end = Clock::run_virtual(|clock| async move {
            drop(clock.sleep_until(Nanos(5)));
            let mut sleep = clock.sleep_until(Nanos(1_000_000_000_000));
            sleep.reset(Nanos(42));
            sleep.await;
            clock.now()
        });
        assert_eq!(end.unwrap(), Nanos(42));
    }

    #[test]
    fn idle_without_a_deadline_is_reported_as_a_stall() {
        let now = Clock::run_virtual(|clock| async move {
            clock.sleep_until(Nanos(9)).await;
            clock.stalled().await;
            clock.now()
        });
        assert_eq!(now.unwrap(), Nanos(9));
    }

    #[test]
    fn what_only_watches_goes_along_with_time_and_does_not_move_it() {
        let (seen, now) = Clock::run_virtual(|clock| async move {
            let seen = Rc::new(Cell::new(0));
            let watching = {
                let (clock, seen) = (clock.clone(), Rc::clone(&seen));
                tokio::task::spawn_local(async move {
                    for at in (10..).step_by(10) {
                        clock.watch_until(Nanos(at)).await;
                        seen.set(seen.get() + 1);
                    }
                })
            };
            clock.sleep_until(Nanos(35)).await;
            clock.stalled().await;
            watching.abort();
            (seen.get(), clock.now())
        })
        .unwrap();
        assert_eq!((seen, now), (3, Nanos(35)));
    }

    #[test]
    fn real_sleeps_end_in_order_and_never_early() {
        Clock::run_real(|clock| async move {
            let start = clock.now();
            let (short, long) = (start + Duration::from_micros(300), start + Duration::from_micros(700));
            let late = clock.sleep_until(long);
            clock.sleep_until(short).await;
            assert!(clock.now() >= short);
            late.await;
            assert!(clock.now() >= long);
            clock.sleep_until(start).await;
        })
        .unwrap();
    }
}
