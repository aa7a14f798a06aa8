//! What the figures of a workload rest on: its checks, its limits, its lengths, its data.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::stats::{Slo, SloMetric, WorkloadSetup};

/// How a workload's prompts were made to their lengths.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LengthsEntry {
    /// Point of a sweep, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub point: Option<u32>,
    /// Repeat of a point, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<u32>,
    /// The workload's name.
    pub workload: String,
    /// Where its words come from: `common` (those that are one token in every common vocabulary), `tokenizer` (the
    /// scenario's file), `endpoint` (the server's), or `ids` where prompts are lists of them.
    pub words: String,
    /// Tokens that template and instructions add, as the server counts; none where it does not say.
    pub overhead_tokens: Option<u64>,
    /// Tokens of a word, as the server counts.
    pub tokens_per_word: f64,
    /// By how much of its length a probe differed from what was expected of it; none where the server does not count.
    pub error_share: Option<f64>,
}

/// What the figures of a workload rest on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkloadEntry {
    /// Its name.
    pub name: String,
    /// Whether answers had to have exactly the length asked for.
    pub exact_output: bool,
    /// How its answers are checked, by the name of the kind; none where they are not.
    #[serde(default)]
    pub score: Option<String>,
    /// What of its prompts a server's prefix cache could know: `cold`, `shared`, `natural`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<String>,
    /// Limits of its requests by metric, in ms.
    pub slo_ms: BTreeMap<String, f64>,
}

impl WorkloadEntry {
    /// A workload whose answers may have any length.
    pub fn new(name: &str, slo: &Slo) -> WorkloadEntry {
        let in_ms =
            |(metric, limit): &(SloMetric, Duration)| (metric.name().to_owned(), limit.as_secs_f64() * 1e3);
        WorkloadEntry {
            name: name.to_owned(),
            exact_output: false,
            score: None,
            cache: None,
            slo_ms: slo.limits.iter().map(in_ms).collect(),
        }
    }

    /// What a fold must know of it. Limits of metrics that are not known are left out.
    pub fn setup(&self) -> WorkloadSetup {
        let limit = |metric: SloMetric| {
            let ms = self.slo_ms.get(metric.name())?;
            Some((metric, Duration::from_nanos((ms * 1e6).round() as u64)))
        };
        WorkloadSetup {
            name: self.name.clone(),
            exact_output: self.exact_output,
            scored: self.score.is_some(),
            cold: self.cache.as_deref() == Some("cold"),
            slo: Slo { limits: SloMetric::ALL.into_iter().filter_map(limit).collect() },
        }
    }
}

/// Rows of a data set that were left out for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedRows {
    /// Name of the workload.
    pub workload: String,
    /// Why.
    pub reason: String,
    /// How many.
    pub rows: u64,
}
