//! A phase as it ran, and how the client itself fared in it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::stats::verdict::Figures;

/// A phase as it ran. Instants are from run start; none where it did not come to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhaseEntry {
    /// Point of a sweep, from 1.
    pub point: Option<u32>,
    /// Repeat of a point, from 1.
    pub repeat: Option<u32>,
    /// Its name.
    pub name: String,
    /// Whether it counts.
    pub measured: bool,
    /// Whether requests came at their own times, whatever the server did.
    pub open_loop: bool,
    /// Whether its window ends with the last output of a measured row, because no duration ended it.
    pub counted: bool,
    /// Whether the run was stopped before it had drained.
    pub stopped: bool,
    /// When it began to offer load.
    pub start_s: Option<f64>,
    /// Where its window begins.
    pub window_start_s: Option<f64>,
    /// Where its window ends.
    pub window_end_s: Option<f64>,
    /// When it stopped offering load.
    pub end_s: Option<f64>,
    /// When its last request was over.
    pub drained_s: Option<f64>,
    /// Why it stopped offering load: `duration`, `requests`, `data`, `stop`, `signal`.
    pub ended_by: Option<String>,
    /// Requests `planned`, `sent`, and by outcome those that occurred, measured or not.
    pub requests: BTreeMap<String, u64>,
    /// Arrivals after a stop or signal, and slots that users never reached: due, and no longer planned.
    pub not_planned: u64,
    /// How the client itself fared; none where it did not come to the phase.
    #[serde(default)]
    pub client: Option<ClientEntry>,
}

/// How the client fared in a phase: figures over measured rows that no table holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClientEntry {
    /// p99 of how late the sender's event loop woke.
    pub loop_delay_p99_ms: Option<f64>,
    /// p99 over rows of the longest time that bytes lay before they were read; none without kernel stamps.
    pub read_delay_p99_ms: Option<f64>,
    /// Reads that completed an event with tokens.
    pub reads: u64,
    /// Those of them that completed more than one.
    pub shared_reads: u64,
    /// Kernel stamps that were missing or impossible, and were replaced by the nearest possible time.
    pub clamped_stamps: u64,
}

impl From<&Figures> for ClientEntry {
    fn from(figures: &Figures) -> ClientEntry {
        ClientEntry {
            loop_delay_p99_ms: figures.loop_delay_p99_ms,
            read_delay_p99_ms: figures.read_delay_p99_ms,
            reads: figures.reads,
            shared_reads: figures.shared_reads,
            clamped_stamps: figures.clamped_stamps,
        }
    }
}

impl ClientEntry {
    /// Puts them beside the figures that follow from rows.
    pub fn complete(&self, figures: Figures) -> Figures {
        Figures {
            loop_delay_p99_ms: self.loop_delay_p99_ms,
            read_delay_p99_ms: self.read_delay_p99_ms,
            reads: self.reads,
            shared_reads: self.shared_reads,
            clamped_stamps: self.clamped_stamps,
            ..figures
        }
    }

    /// Those of two clients together: counts add up, and of delays the longer one stands.
    #[must_use]
    pub fn join(self, other: ClientEntry) -> ClientEntry {
        let longer = |a: Option<f64>, b: Option<f64>| a.into_iter().chain(b).reduce(f64::max);
        ClientEntry {
            loop_delay_p99_ms: longer(self.loop_delay_p99_ms, other.loop_delay_p99_ms),
            read_delay_p99_ms: longer(self.read_delay_p99_ms, other.read_delay_p99_ms),
            reads: self.reads + other.reads,
            shared_reads: self.shared_reads + other.shared_reads,
            clamped_stamps: self.clamped_stamps + other.clamped_stamps,
        }
    }
}
