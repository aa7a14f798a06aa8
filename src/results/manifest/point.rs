//! The runs of a sweep or a search.

use serde::{Deserialize, Serialize};

use super::verdict::VerdictEntry;
use crate::results::search::StepEntry;
use crate::stats::objective::Answer;

/// A run of a sweep that has ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PointEntry {
    /// Its point, from 1.
    pub point: u32,
    /// Its repeat, from 1.
    pub repeat: u32,
    /// What its axes were set to, in their order.
    pub settings: Vec<Setting>,
    /// How far it came.
    pub state: PointState,
    /// What its plan was drawn from.
    pub seed: u64,
    /// What made its prompts unlike those of other runs.
    pub salt: String,
    /// Whether its figures can be trusted.
    pub verdict: Option<VerdictEntry>,
    /// The worst that became of an objective; none without one.
    #[serde(default)]
    pub objectives: Option<Answer>,
    /// What it says in a search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StepEntry>,
}

/// An axis of a sweep at one of its steps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// Name of the axis.
    pub axis: String,
    /// What it is called there: a plain number, or text.
    pub value: String,
}

/// How far a run of a sweep came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PointState {
    /// To its end.
    Complete,
    /// To a stop rule: it has failed.
    Stopped,
    /// To a signal, or a failure of the client: it is run again when the sweep is resumed.
    Interrupted,
}

impl PointState {
    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            PointState::Complete => "complete",
            PointState::Stopped => "stopped",
            PointState::Interrupted => "interrupted",
        }
    }
}

/// A sweep taken up again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResumeEntry {
    /// When, RFC 3339.
    pub started: String,
    /// The same from run start.
    pub at_s: f64,
    /// CLOCK_MONOTONIC at the run's zero from then on; none under the virtual clock.
    pub origin_monotonic_ns: Option<u64>,
    /// Rows of the run that was under way, which is run again: they were removed.
    pub rows_removed: u64,
}
