//! What a scenario says of made-up prompts, of what they share, and of how they are counted.

use std::path::PathBuf;
use std::sync::Arc;

use crate::distribution::Distribution;

/// Made-up prompts of a planned length.
#[derive(Clone, Debug, PartialEq)]
pub struct TokenPrompts {
    /// Length in tokens, as the server counts them: of the whole prompt, or in a conversation of what a turn adds.
    pub tokens: Distribution,
    /// Lengths of answers that are drawn together with those of their prompts: as many weighted values as `tokens` has,
    /// each beside its own. `None` where answers have a law of their own.
    pub joint_output: Option<Distribution>,
    /// What prompts begin with alike.
    pub shared_prefix: Option<SharedPrefix>,
    /// What they are made of.
    pub material: Material,
}

/// What prompts of a planned length are made of.
#[derive(Clone, Debug, PartialEq)]
pub enum Material {
    /// Words of ours.
    Words,
    /// Token ids, drawn from a range: they are lists, not texts.
    Ids(IdRange),
    /// A text of the user's, cut or repeated.
    Text(TextFile),
}

impl TokenPrompts {
    /// The ids that are drawn where prompts are lists of token ids.
    pub fn ids(&self) -> Option<IdRange> {
        match self.material {
            Material::Ids(ids) => Some(ids),
            Material::Words | Material::Text(_) => None,
        }
    }

    /// The text that they are cut from.
    pub fn text(&self) -> Option<&TextFile> {
        match &self.material {
            Material::Text(file) => Some(file),
            Material::Words | Material::Ids(_) => None,
        }
    }
}

/// A text from a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextFile {
    /// The file.
    pub path: PathBuf,
    /// What it holds, at least one word.
    pub text: Arc<str>,
}

/// Ids of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdRange {
    /// The least.
    pub min: u32,
    /// The largest, included.
    pub max: u32,
}

impl IdRange {
    /// Fewest ids that prompts are made of: with fewer, blocks of tokens would repeat.
    pub const FEWEST: u64 = 64;
}

/// Beginnings that prompts share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SharedPrefix {
    /// Length in tokens, at least 1.
    pub tokens: u64,
    /// How many different ones there are, at least 1.
    pub groups: u32,
    /// How often each is taken.
    pub popularity: Popularity,
    /// Whether each is sent once before the run.
    pub fill: bool,
}

/// How often each of several beginnings is taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Popularity {
    /// All equally often.
    Uniform,
    /// One after the other.
    RoundRobin,
    /// The k-th in proportion to k to the power of minus this, above 0.
    Zipf(f64),
}

/// The instructions before a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SystemText {
    /// This text.
    Text(String),
    /// The text of a file.
    File {
        /// The file.
        path: PathBuf,
        /// Its text.
        text: String,
    },
    /// Made-up text of so many tokens.
    Tokens(u64),
}

/// What of its prompts a server's prefix cache may know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CachePolicy {
    /// Nothing: every request begins with words of its own.
    Cold,
    /// What is declared to be shared, and nothing else.
    Shared,
    /// Whatever the prompts have in common; they are the same in every run.
    Natural,
}

impl CachePolicy {
    /// Every choice.
    pub const ALL: [CachePolicy; 3] = [CachePolicy::Cold, CachePolicy::Shared, CachePolicy::Natural];

    /// The name in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            CachePolicy::Cold => "cold",
            CachePolicy::Shared => "shared",
            CachePolicy::Natural => "natural",
        }
    }
}

/// How tokens are counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenizerSource {
    /// By the server's own endpoint.
    Server,
    /// By a file.
    File(PathBuf),
}
