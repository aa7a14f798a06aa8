//! A waker that can be told to keep quiet.
//!
//! A connection and the body it carries are polled one after the other in one task. Each wakes the other by habit,
//! which would run the whole task once more for every event of a stream, for nothing.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};

/// Passes wake-ups on to one task, unless it is shut.
pub(super) struct Gate {
    task: Mutex<Waker>,
    is_shut: AtomicBool,
}

impl Default for Gate {
    /// A gate that leads nowhere yet.
    fn default() -> Gate {
        Gate { task: Mutex::new(Waker::noop().clone()), is_shut: AtomicBool::new(false) }
    }
}

impl Gate {
    /// Leads to `task` from now on.
    pub(super) fn lead_to(&self, task: &Waker) {
        self.task.lock().unwrap_or_else(PoisonError::into_inner).clone_from(task);
    }

    /// Runs `work`; wake-ups during it are lost.
    pub(super) fn shut_for<T>(&self, work: impl FnOnce() -> T) -> T {
        self.is_shut.store(true, Ordering::Relaxed);
        let done = work();
        self.is_shut.store(false, Ordering::Relaxed);
        done
    }
}

impl Wake for Gate {
    fn wake(self: Arc<Gate>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Gate>) {
        if !self.is_shut.load(Ordering::Relaxed) {
            self.task.lock().unwrap_or_else(PoisonError::into_inner).wake_by_ref();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Told(AtomicBool);

    impl Wake for Told {
        fn wake(self: Arc<Told>) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    #[test]
    fn wake_ups_pass_to_the_latest_task_except_while_it_is_shut() {
        let gate = Arc::new(Gate::default());
        let waker = Waker::from(Arc::clone(&gate));
        waker.wake_by_ref();
        let (first, second) = (Arc::new(Told::default()), Arc::new(Told::default()));
        gate.lead_to(&Waker::from(Arc::clone(&first)));
        gate.lead_to(&Waker::from(Arc::clone(&second)));
        gate.shut_for(|| waker.wake_by_ref());
        assert!(!second.0.load(Ordering::Relaxed));
        waker.wake();
        assert!(second.0.load(Ordering::Relaxed) && !first.0.load(Ordering::Relaxed));
    }
}
