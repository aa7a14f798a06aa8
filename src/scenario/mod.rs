//! The scenario: what is asked of which server, and when.
//!
//! A scenario is read in three steps. Files and [`Overrides`] are laid over one another to one tree of values that
//! know where they came from (`source`, `tree`, `overlay`); a walker goes through the tree by the one table of keys ([`keys`]) and collects every
//! problem instead of stopping at the first (`fields`, `values`, `read`); the result is a plain [`Scenario`],
//! which [`resolved()`] writes back as TOML with nothing left open. Secrets are blotted out of everything shown.

mod fields;
pub mod keys;
mod measure;
mod model;
mod objective;
mod origin;
mod overlay;
mod phase;
mod prompt;
mod read;
mod redact;
mod reference;
mod resolved;
mod schema;
mod secret;
mod server;
mod source;
mod suggest;
mod sweep;
mod transport;
mod tree;
mod url;
mod values;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value};

pub use origin::Origins;
pub use phase::{
    Also, History, Load, Margin, Phase, PhaseLoad, Recording, Requests, Rhythm, SessionForm, StopRules,
    WhenFull,
};
pub use prompt::{
    CachePolicy, IdRange, Material, Popularity, SharedPrefix, SystemText, TextFile, TokenPrompts,
    TokenizerSource,
};
pub use read::Template;
pub use reference::reference;
pub use resolved::{explained, resolved};
pub use schema::schema;
pub use secret::Secret;
pub use server::{MetricsPage, ServerWatch};
pub use source::Overrides;
pub use sweep::{Axis, Capacity, Order, Point, Step, Sweep};
pub use transport::{Connections, Http, Retries, Stamps, TlsOptions, Transport};
pub use url::{Scheme, TargetUrl, UrlError};

use crate::dataset;
use crate::diagnostic::Diagnostics;
use crate::distribution::Distribution;
use crate::protocol::{Api, ChatLimit};
use crate::record::Needle;
use crate::score::Rule;
use crate::sim::{FaultPlan, Profile};
use crate::stats::memory::BLOCK_TOKENS;
use crate::stats::{ModelMemory, Objective, Slo, Thresholds};

/// A scenario, complete and consistent.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// What all random choices follow from; `None` to draw one.
    pub seed: Option<u64>,
    /// What makes its prompts unlike those of other runs; `None` to draw one.
    pub salt: Option<u64>,
    /// What its author says of the run, by names of their own.
    pub about: BTreeMap<String, String>,
    /// The server.
    pub target: Target,
    /// What is asked, at least one.
    pub workloads: Vec<Workload>,
    /// When it is asked, at least one, in order.
    pub phases: Vec<Phase>,
    /// What must hold of the figures, in the order of the file.
    pub objectives: Vec<Objective>,
    /// When the run is stopped before its end.
    pub stop: StopRules,
    /// The limits that the verdict goes by.
    pub thresholds: Thresholds,
    /// What of the server's own metrics is looked at; `None` for nothing.
    pub server: Option<ServerWatch>,
    /// Which files of details are written.
    pub results: ResultFiles,
    /// The model in the server's memory, where something is said of it.
    pub model: Option<ModelMemory>,
    /// Points at which it is run; `None` to run it once as it is.
    pub sweep: Option<Sweep>,
    /// A search for the highest value of a key; `None` to run it once as it is.
    pub capacity: Option<Capacity>,
}

impl Scenario {
    /// Tokens of a block of the server's memory, as far as the scenario says.
    pub fn block_tokens(&self) -> u64 {
        self.server.as_ref().and_then(|server| server.block_size).unwrap_or(BLOCK_TOKENS)
    }
}

/// Files of results that are written when asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResultFiles {
    /// `chunks.csv`: a row for each token-bearing event.
    pub chunks: bool,
    /// `responses.jsonl`: what models wrote.
    pub responses: bool,
}

/// The server under load.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// Where it is.
    pub endpoint: Endpoint,
    /// The API spoken.
    pub api: Api,
    /// Name of the model; `None` for the only one the server lists.
    pub model: Option<String>,
    /// What chat completions call the length of an answer.
    pub chat_limit: ChatLimit,
    /// Environment variable that holds the key.
    pub api_key_env: Option<String>,
    /// Headers of every request, names in lower case, in the order of the file.
    pub headers: Vec<(String, Secret)>,
    /// How long a request may take.
    pub timeouts: Timeouts,
    /// How connections to it are made and measured.
    pub transport: Transport,
    /// How its tokens are counted; `None` to measure it by a few requests.
    pub tokenizer: Option<TokenizerSource>,
    /// Whether its prefix cache is emptied before the run.
    pub reset_cache: bool,
}

/// The APIs that the simulated server speaks.
pub const SIMULATED_APIS: [Api; 2] = [Api::Chat, Api::Completions];

/// Where a server is.
#[derive(Clone, Debug, PartialEq)]
pub enum Endpoint {
    /// At an address.
    Url(TargetUrl),
    /// Inside the tool, simulated.
    Sim {
        /// Model and machine.
        profile: ProfileSource,
        /// What goes wrong on purpose.
        faults: FaultPlan,
    },
}

/// Where the profile of a simulated server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProfileSource {
    /// Built in, by name.
    BuiltIn(String),
    /// A file.
    File(PathBuf),
}

impl ProfileSource {
    /// What a user writes: the name of a built-in one, or a path that ends in `.toml`. `None` for neither.
    pub fn of(text: &str) -> Option<ProfileSource> {
        if Profile::NAMES.contains(&text) {
            return Some(ProfileSource::BuiltIn(text.to_owned()));
        }
        text.ends_with(".toml").then(|| ProfileSource::File(PathBuf::from(text)))
    }
}

impl fmt::Display for ProfileSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProfileSource::BuiltIn(name) => f.write_str(name),
            ProfileSource::File(path) => write!(f, "{}", path.display()),
        }
    }
}

/// How long a request may take before it is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// To obtain a connection.
    pub connect: Duration,
    /// From the send to the first generated text.
    pub first_token: Duration,
    /// Silence after the first text.
    pub idle: Duration,
    /// From the send to the end; `None` for no limit.
    pub total: Option<Duration>,
}

/// One kind of request.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Its name.
    pub name: String,
    /// Its share relative to the others', at least 0. The weights of all add up to more than 0.
    pub weight: f64,
    /// Where its prompts come from.
    pub prompt: PromptSource,
    /// The instructions before them.
    pub system: Option<SystemText>,
    /// What of its prompts a server's prefix cache may know.
    pub cache: CachePolicy,
    /// Longest answer asked for, in tokens, at least 1; not looked at where rows say it.
    pub max_tokens: Distribution,
    /// Whether answers shall be exactly that long.
    pub exact_output: bool,
    /// How its answers are checked; `None` where they are not.
    pub score: Option<Rule>,
    /// Whether answers to the very same request are compared. Never without a temperature of 0.
    pub consistency: bool,
    /// How its requests make conversations; `None` where each stands alone.
    pub session: Option<SessionForm>,
    /// Limits: its own, and those of the scenario it does not replace.
    pub slo: Slo,
    /// What its requests carry: its own settings, and those of the scenario it does not replace.
    pub request: RequestOptions,
}

impl Workload {
    /// What a turn carries of those before it; `dataset` is its data set. Conversations carry what was said unless
    /// the scenario says otherwise.
    pub fn history(&self, dataset: Option<&dataset::Dataset>) -> History {
        let is_conversations = dataset.is_some_and(dataset::Dataset::is_conversations);
        let default = if is_conversations { History::Real } else { History::None };
        self.session.as_ref().map_or(default, |session| session.history)
    }

    /// Requests that it holds: rows of its data set, or the turns of them, or cells; `None` where it has no end.
    pub fn rows(&self, dataset: Option<&dataset::Dataset>) -> Option<u64> {
        match &self.prompt {
            PromptSource::Synthetic { .. } | PromptSource::Tokens(_) => None,
            PromptSource::Dataset(_) => dataset.map(dataset::Dataset::all_turns),
            PromptSource::Needle(form) => Some(form.cells().into()),
        }
    }

    /// What follows its last row; `None` where it has no rows.
    pub fn when_exhausted(&self) -> Option<dataset::WhenExhausted> {
        match &self.prompt {
            PromptSource::Synthetic { .. } | PromptSource::Tokens(_) => None,
            PromptSource::Dataset(source) => Some(source.when_exhausted),
            PromptSource::Needle(_) => Some(dataset::WhenExhausted::Stop),
        }
    }

    /// Whether its answers are asked to be as long as the rows of its data set say.
    pub fn uses_output_tokens(&self) -> bool {
        matches!(&self.prompt, PromptSource::Dataset(source) if source.uses_output_tokens)
    }
}

/// Where prompts come from.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "there is one for each workload")]
pub enum PromptSource {
    /// Text of a length in words.
    Synthetic {
        /// Length of each prompt in words, at least 1.
        words: u64,
        /// The text that they are cut from; `None` where they are made up.
        text: Option<TextFile>,
    },
    /// Text, or ids, of a planned length in tokens.
    Tokens(TokenPrompts),
    /// Rows of a file.
    Dataset(dataset::Source),
    /// Needles hidden in text.
    Needle(NeedleForm),
}

/// Retrieval prompts: every length with every depth, so often.
#[derive(Clone, Debug, PartialEq)]
pub struct NeedleForm {
    /// How deep needles lie, as shares of the prompt, each from 0 to 1, at least one.
    pub depths: Vec<f64>,
    /// Lengths of prompts, at least one.
    pub lengths: Vec<u64>,
    /// How often each cell is asked for, at least 1.
    pub repeats: u32,
    /// Needles in each prompt, all asked for, at least 1.
    pub needles: u32,
    /// Other needles in each prompt that are not asked for.
    pub distractors: u32,
}

impl NeedleForm {
    /// Words of a needle: `The secret number for lantern is 4711.`
    pub const NEEDLE_WORDS: u64 = 7;
    /// Words of a question: `What is the secret number for lantern?`
    pub const QUESTION_WORDS: u64 = 7;
    /// Words after the questions: `Answer with the number alone.`
    pub const MANNER_WORDS: u64 = 5;
    /// Least words of text around a needle.
    const LEAST_FILLER: u64 = 20;

    /// Words of the shortest prompt that can hide so many needles and distractors.
    pub fn shortest(needles: u32, distractors: u32) -> u64 {
        let (needles, distractors) = (u64::from(needles), u64::from(distractors));
        NeedleForm::NEEDLE_WORDS * (needles + distractors)
            + NeedleForm::QUESTION_WORDS * needles
            + NeedleForm::MANNER_WORDS
            + NeedleForm::LEAST_FILLER
    }

    /// Prompts in all: depths times lengths times repeats.
    pub fn cells(&self) -> u32 {
        let cells =
            self.depths.len().saturating_mul(self.lengths.len()).saturating_mul(self.repeats as usize);
        u32::try_from(cells).unwrap_or(u32::MAX)
    }

    /// The needle of cell `index`: depths follow one another, then lengths, then repeats.
    pub fn cell(&self, index: u32) -> Option<Needle> {
        let index = index as usize;
        let length = self.lengths.get(index / self.depths.len() % self.lengths.len())?;
        let depth = self.depths[index % self.depths.len()];
        Some(Needle { depth, length_tokens: u32::try_from(*length).unwrap_or(u32::MAX) })
    }
}

/// What a request carries besides prompt and length.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestOptions {
    /// Whether the answer is streamed.
    pub stream: bool,
    /// Sampling temperature, at least 0.
    pub temperature: f64,
    /// Further members of the body.
    pub extra: Map<String, Value>,
}

/// A scenario that can be run, and what its author should know first.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The scenario; with a sweep, that of its first point.
    pub scenario: Scenario,
    /// The scenario of each point of its sweep, as [`Sweep::points`] has them; empty without one.
    pub points: Vec<Scenario>,
    /// What makes the scenario of each value of its search; `None` without one.
    pub template: Option<Template>,
    /// Warnings, none of them an error.
    pub warnings: Diagnostics,
    /// Where each value was said.
    pub origins: Origins,
}

impl Loaded {
    /// Each point of its sweep as a scenario of its own, warnings left out.
    pub fn at_points(&self) -> impl Iterator<Item = Loaded> {
        self.points.iter().map(|scenario| Loaded {
            scenario: scenario.clone(),
            points: Vec::new(),
            template: None,
            warnings: Diagnostics::default(),
            origins: self.origins.clone(),
        })
    }
}

/// Reads the scenario file at `path` and applies `overrides`.
///
/// # Errors
/// All problems of the scenario at once, with their places, in the order of the file.
pub fn load(path: &Path, overrides: &Overrides) -> Result<Loaded, Diagnostics> {
    read::read(&source::load(path, overrides)?)
}

/// Reads a scenario from `bytes`. `name` is what messages call it; files named in it are relative to `folder`.
///
/// # Errors
/// As [`load`].
pub fn parse(name: &str, bytes: &[u8], folder: &Path, overrides: &Overrides) -> Result<Loaded, Diagnostics> {
    read::read(&source::parse(name, bytes, folder.to_owned(), overrides)?)
}

#[cfg(test)]
mod tests;
