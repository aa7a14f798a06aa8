//! The machine of a run, and the parts that were joined to one.

use serde::{Deserialize, Serialize};

use super::State;

/// The machine of a run, and what is known of its time of day.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// Its time of day at the run's zero, in ns since 1970.
    pub origin_unix_ns: Option<u64>,
    /// Whether its time of day is kept to that of other machines; none where nothing tells.
    pub synchronised: Option<bool>,
    /// What says so.
    pub synchronised_by: Option<String>,
}

/// A part of a run that was joined with the others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardEntry {
    /// Which: `k/n`, k from 0.
    pub shard: String,
    /// How far it came.
    pub state: State,
    /// Its rows.
    pub rows: u64,
    /// The machine it ran on.
    pub host: Option<Host>,
}
