//! Asking a run to stop before its end.

use std::cell::RefCell;

use tokio::sync::Notify;

/// How a run is asked to stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Offer nothing more, let what runs go on for a moment, then cut it.
    Drain,
    /// Cut everything now.
    Now,
    /// As `Drain`, for a rule of the scenario: the text says which, and what was found.
    Rule(String),
    /// As `Drain`, for a failure of ours: the text says which.
    Failed(String),
}

/// Tells a run to stop; shared between those who may ask and the run.
#[derive(Default)]
pub struct StopSwitch {
    asked: RefCell<Option<Stop>>,
    changed: Notify,
}

impl StopSwitch {
    /// Asks for a stop. `Now` overrides what was asked before; otherwise the first asking stands.
    pub fn ask(&self, stop: Stop) {
        let mut asked = self.asked.borrow_mut();
        if asked.is_none() || stop == Stop::Now {
            *asked = Some(stop);
            self.changed.notify_waiters();
        }
    }

    /// What has been asked for.
    pub fn asked(&self) -> Option<Stop> {
        self.asked.borrow().clone()
    }

    /// Completes when a stop has been asked for.
    pub async fn wait(&self) {
        while self.asked().is_none() {
            self.changed.notified().await;
        }
    }

    /// Completes when an immediate stop has been asked for.
    pub async fn wait_now(&self) {
        while self.asked() != Some(Stop::Now) {
            self.changed.notified().await;
        }
    }
}
