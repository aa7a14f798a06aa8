//! Places in flight: who may send while `max_in_flight` are open.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use tokio::sync::Notify;

use crate::scenario::WhenFull;
use crate::units::Nanos;

/// The places of one load.
pub(super) struct Places {
    limit: usize,
    pub(super) when_full: WhenFull,
    taken: Cell<usize>,
    /// Those who wait, in order of due time, then of coming.
    queue: RefCell<BTreeMap<(Nanos, u64), Rc<Notify>>>,
    came: Cell<u64>,
}

impl Places {
    pub(super) fn new(limit: usize, when_full: WhenFull) -> Places {
        Places { limit, when_full, taken: Cell::new(0), queue: RefCell::default(), came: Cell::new(0) }
    }

    pub(super) fn taken(&self) -> usize {
        self.taken.get()
    }

    /// Takes a place if there is one that nobody waits for.
    pub(super) fn take(&self) -> bool {
        let is_free = self.taken.get() < self.limit && self.queue.borrow().is_empty();
        if is_free {
            self.taken.set(self.taken.get() + 1);
        }
        is_free
    }

    /// Waits for a place, in turn. Dropping the future gives the turn up.
    pub(super) async fn wait(&self, due: Nanos) {
        let key = (due, self.came.get());
        self.came.set(key.1 + 1);
        let bell = Rc::new(Notify::new());
        self.queue.borrow_mut().insert(key, Rc::clone(&bell));
        let ticket = Ticket { places: self, key };
        loop {
            let is_first = self.queue.borrow().first_key_value().is_some_and(|(first, _)| *first == key);
            if is_first && self.taken.get() < self.limit {
                break;
            }
            bell.notified().await;
        }
        self.taken.set(self.taken.get() + 1);
        drop(ticket);
    }

    pub(super) fn leave(&self) {
        self.taken.set(self.taken.get() - 1);
        self.call_next();
    }

    fn call_next(&self) {
        if let Some((_, bell)) = self.queue.borrow().first_key_value() {
            bell.notify_one();
        }
    }
}

/// A turn in the queue.
struct Ticket<'a> {
    places: &'a Places,
    key: (Nanos, u64),
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        self.places.queue.borrow_mut().remove(&self.key);
        // There may be room for the next too.
        self.places.call_next();
    }
}
