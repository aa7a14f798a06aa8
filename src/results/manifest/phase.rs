//! A phase as it ran.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::stats::ClientFigures;

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
    pub client: Option<ClientFigures>,
}
