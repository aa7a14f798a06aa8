//! What the manifest and `check` say of a model's memory.

use serde::{Deserialize, Serialize};

use crate::stats::ModelMemory;

/// Lengths of sequences, in tokens, for which it is said how many fit.
const LENGTHS: [u64; 8] = [1 << 10, 2 << 10, 4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10];

/// A model in memory, as `[model]` states it; `None` is what does not follow from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemoryEntry {
    /// Bytes of the keys and values of one token, over all layers and devices.
    pub kv_bytes_per_token: f64,
    /// Bytes of all weights.
    pub weights_bytes: Option<u64>,
    /// Bytes of all devices together.
    pub memory_bytes: Option<u64>,
    /// Share of the memory that the server takes.
    pub utilisation: f64,
    /// Tokens that fit beside the weights, at most.
    pub kv_tokens: Option<u64>,
    /// How many sequences of a length fit at once, at most.
    pub fit: Vec<Fit>,
}

/// How many sequences of a length fit at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fit {
    /// Tokens of each.
    pub length_tokens: u64,
    /// How many.
    pub sequences: u64,
}

impl MemoryEntry {
    /// Of a server that hands out memory in blocks of `block_tokens`.
    pub fn new(model: &ModelMemory, block_tokens: u64) -> MemoryEntry {
        let fit = LENGTHS.into_iter().filter_map(|length_tokens| {
            Some(Fit { length_tokens, sequences: model.sequences(length_tokens, block_tokens)? })
        });
        MemoryEntry {
            kv_bytes_per_token: model.kv_bytes_per_token(),
            weights_bytes: model.weights,
            memory_bytes: model.memory,
            utilisation: model.utilisation,
            kv_tokens: model.kv_tokens(),
            fit: fit.collect(),
        }
    }
}
