//! Token events counted where their bytes arrive, while the exchange they belong to sleeps.
//!
//! An exchange is a deep nest of futures around a wide account of all that can happen. To wake it for each token is to
//! fetch that from cold memory each time, which cost more than reading the token. Nearly all events of a stream say
//! nothing but text, so a small task of the connection counts those by itself ([`super::tap`]), and wakes the exchange
//! for what is anything else. The exchange takes in what was counted before it looks at what came after.

use crate::protocol::Plain;
use crate::record::{Reads, Stamp};
use crate::units::Nanos;

/// Stamps are handed over in lots of this many, and what the last read brought, so that an endless stream holds no memory.
pub(super) const STAMPS_A_LOT: usize = 8_192;

/// Token events counted since an exchange went to sleep. What every event needs stands together in memory.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Tally {
    pub(super) bearing: Bearing,
    /// The exchange's, and theirs after so many.
    pub(super) stamps: Vec<Stamp>,
    /// Recognises them.
    pub(super) plain: Plain,
    /// What came after them and is not plain.
    pub(super) rest: Vec<u8>,
    pub(super) stamps_before: usize,
}

impl Tally {
    /// Takes a piece of the body that the `read`-th read brought `at` this time.
    pub(super) fn take(&mut self, data: &[u8], at: Nanos, read: u64) {
        let (events, bytes) = if self.rest.is_empty() { self.plain.read(data) } else { (0, 0) };
        self.bearing.count(events as u64, read);
        self.stamps.extend(std::iter::repeat_n(Stamp { at, tokens: None }, events));
        self.rest.extend_from_slice(&data[bytes..]);
    }

    /// Whether the exchange has something to see to.
    pub(super) fn is_over(&self) -> bool {
        !self.rest.is_empty() || self.stamps.len() >= STAMPS_A_LOT
    }
}

/// Reads that completed token-bearing events, and what the latest of them completed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bearing {
    read: u64,
    events: u64,
    bearing: u64,
    shared: u64,
}

impl Bearing {
    /// Counts events that `read` completed.
    pub(super) fn count(&mut self, events: u64, read: u64) {
        if events == 0 {
            return;
        }
        if self.read != read {
            (self.read, self.events) = (read, 0);
            self.bearing += 1;
        }
        if self.events < 2 && self.events + events >= 2 {
            self.shared += 1;
        }
        self.events += events;
    }

    pub(super) fn note(&self, reads: &mut Reads) {
        (reads.bearing, reads.shared) = (self.bearing, self.shared);
    }
}
