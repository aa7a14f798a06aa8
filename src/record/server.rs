//! What a server says of itself: one look at its metrics, as it came and as it was read.

use crate::units::{Micros, Nanos};

/// A page of metrics as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scraped {
    /// Which of the scenario's pages, from 0.
    pub endpoint: u32,
    /// When it was asked for.
    pub sent: Nanos,
    /// When it was there, or given up.
    pub received: Nanos,
    /// Its bytes, or why there are none.
    pub page: Result<Vec<u8>, String>,
    /// Looks that were due while this one took place, and left out.
    pub missed: u64,
}

/// What servers of different names say alike. Counters are counted from the run's first look at the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ServerFigure {
    /// Requests in the batch.
    Running,
    /// Requests that wait for a place in it.
    Waiting,
    /// Share of the memory for keys and values that is taken: the mean over the engines of a page.
    KvUse,
    /// Tokens whose keys and values are held.
    KvUsedTokens,
    /// Tokens for whose keys and values there is memory.
    KvCapacityTokens,
    /// Tokens of a block of that memory.
    BlockTokens,
    /// Prompt tokens looked up in the prefix cache.
    PrefixQueries,
    /// Of those, tokens that were found.
    PrefixHits,
    /// Times that a sequence lost its memory to another.
    Preemptions,
    /// Prompt tokens of all requests.
    PromptTokens,
    /// Tokens generated.
    GenerationTokens,
    /// Seconds that requests waited for a place in the batch, all together.
    QueueSeconds,
    /// Requests that have waited.
    QueueCount,
    /// Seconds from there to their first tokens.
    PrefillSeconds,
    /// Requests that have come so far.
    PrefillCount,
    /// Seconds from first to last tokens.
    DecodeSeconds,
    /// Requests that have come so far.
    DecodeCount,
}

impl ServerFigure {
    /// All, in the order of the columns.
    pub const ALL: [ServerFigure; 17] = [
        ServerFigure::Running,
        ServerFigure::Waiting,
        ServerFigure::KvUse,
        ServerFigure::KvUsedTokens,
        ServerFigure::KvCapacityTokens,
        ServerFigure::BlockTokens,
        ServerFigure::PrefixQueries,
        ServerFigure::PrefixHits,
        ServerFigure::Preemptions,
        ServerFigure::PromptTokens,
        ServerFigure::GenerationTokens,
        ServerFigure::QueueSeconds,
        ServerFigure::QueueCount,
        ServerFigure::PrefillSeconds,
        ServerFigure::PrefillCount,
        ServerFigure::DecodeSeconds,
        ServerFigure::DecodeCount,
    ];

    /// Name of its column.
    pub fn name(self) -> &'static str {
        match self {
            ServerFigure::Running => "running",
            ServerFigure::Waiting => "waiting",
            ServerFigure::KvUse => "kv_use",
            ServerFigure::KvUsedTokens => "kv_used_tokens",
            ServerFigure::KvCapacityTokens => "kv_capacity_tokens",
            ServerFigure::BlockTokens => "block_tokens",
            ServerFigure::PrefixQueries => "prefix_queries",
            ServerFigure::PrefixHits => "prefix_hits",
            ServerFigure::Preemptions => "preemptions",
            ServerFigure::PromptTokens => "prompt_tokens",
            ServerFigure::GenerationTokens => "generation_tokens",
            ServerFigure::QueueSeconds => "queue_s",
            ServerFigure::QueueCount => "queue_count",
            ServerFigure::PrefillSeconds => "prefill_s",
            ServerFigure::PrefillCount => "prefill_count",
            ServerFigure::DecodeSeconds => "decode_s",
            ServerFigure::DecodeCount => "decode_count",
        }
    }

    /// Whether it only grows, until the server starts anew.
    pub fn is_counter(self) -> bool {
        self >= ServerFigure::PrefixQueries
    }
}

/// What a page said of each figure; `None` where it says nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ServerFigures([Option<f64>; ServerFigure::ALL.len()]);

impl ServerFigures {
    /// A figure.
    pub fn figure(&self, figure: ServerFigure) -> Option<f64> {
        self.0[figure as usize]
    }

    /// Sets a figure.
    pub fn set(&mut self, figure: ServerFigure, value: Option<f64>) {
        self.0[figure as usize] = value;
    }
}

/// One look at one page.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerSample {
    /// Point of a sweep, from 1.
    pub point: Option<u32>,
    /// Repeat of a point, from 1.
    pub repeat: Option<u32>,
    /// Which page, from 0.
    pub endpoint: u32,
    /// When it was asked for, from run start.
    pub at: Micros,
    /// How long it took.
    pub took: Micros,
    /// Why there is no page.
    pub error: Option<String>,
    /// What it says.
    pub figures: ServerFigures,
}

/// One sample of a metric that was asked for by name.
#[derive(Clone, Debug, PartialEq)]
pub struct ExtraSample {
    /// Its look: point, repeat, endpoint and time.
    pub of: ServerSample,
    /// Name of the sample.
    pub name: String,
    /// Its labels, in braces.
    pub labels: String,
    /// Its value.
    pub value: f64,
}
