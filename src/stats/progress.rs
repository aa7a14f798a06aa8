//! Counts of a run that is still going on.

use std::time::Duration;

/// Counts for a line of progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Index of the phase that runs.
    pub phase: u32,
    /// When it began, from run start.
    pub phase_start: Duration,
    /// Requests sent so far.
    pub sent: u64,
    /// Requests over so far.
    pub ended: u64,
    /// Those that ended `ok`.
    pub ok: u64,
    /// Those that were due and not sent.
    pub unsent: u64,
}
