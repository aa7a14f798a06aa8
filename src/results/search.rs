//! What a search for a capacity leaves in the manifest: what each of its runs says, and its answer.

use serde::{Deserialize, Serialize};

/// What a run says of its value in a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepEntry {
    /// `pass`, `fail` or `unclear`.
    pub result: String,
    /// Why: `few_misses`, `many_misses`, `too_few`, `growing`, `stopped`, `invalid`.
    pub reason: String,
    /// The objective that decided, or is nearest to it: `ttft_p99`.
    pub decided_by: Option<String>,
    /// Requests that missed its bound.
    pub misses: u64,
    /// Requests of which it was asked.
    pub n: u64,
    /// Independent ones that those are worth in the test; none of too few.
    pub n_eff: Option<f64>,
    /// How long its measured phase offered load, warm-up included.
    pub offered_s: f64,
}

/// What a search came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CapacityEntry {
    /// The key.
    pub key: String,
    /// The highest value at which every objective holds; none where none was found.
    pub holds: Option<f64>,
    /// The longest that it was offered for and held, warm-up included, in seconds.
    pub held_s: Option<f64>,
    /// The lowest value above it at which one does not.
    pub fails: Option<f64>,
    /// The lowest and the highest value between the two whose longest runs did not tell.
    #[serde(default)]
    pub unclear: Option<(f64, f64)>,
    /// Why the two are further apart than wanted, and what to do.
    pub undetermined: Option<String>,
}
