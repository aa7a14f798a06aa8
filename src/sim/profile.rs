//! The parameters of a modelled server, checked once, and the built-in ones.

mod file;

use std::fmt;
use std::time::Duration;

use super::cost_model::{Batch, CostModel};
use crate::diagnostic::Diagnostics;

/// The longest step a profile may lead to: beyond it, it is a slip of the unit.
const LONGEST_STEP: Duration = Duration::from_secs(3600);

/// Most blocks of KV memory: ids of blocks are 32 bits wide.
const MOST_BLOCKS: u64 = u32::MAX as u64 - 1;

/// What is asked of a modelled server. [`Profile::new`] says whether such a server can exist.
///
/// The defaults are a server without any latency and with generous limits; start from them with `..`.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    /// How long a step takes.
    pub cost: CostModel,
    /// Tokens one step may process, decodes (one each) and prompt chunks together.
    pub max_batched_tokens: u64,
    /// Sequences in the batch at once; the others wait.
    pub max_num_seqs: usize,
    /// Longest prompt and answer together, in tokens.
    pub max_model_len: u64,
    /// Whether a step mixes parts of prompts with decodes; else whole prompts and decodes take turns.
    pub chunked_prefill: bool,
    /// Whether blocks of earlier prompts and answers are found again.
    pub prefix_caching: bool,
    /// Tokens of a KV block.
    pub block_tokens: u64,
    /// KV blocks there are.
    pub kv_blocks: u64,
    /// Share of the memory that the server was given; told in its metrics.
    pub utilisation: f64,
    /// Mean length of an answer that ends by itself, in tokens.
    pub mean_answer_tokens: u64,
    /// How well it answers what has a right answer.
    pub skill: Skill,
}

/// How well a model answers what has a right answer. Shares are from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Skill {
    /// Share of known questions answered right, in a short prompt.
    pub right_share: f64,
    /// Share of `right_share` lost when the prompt fills the context; less in proportion for shorter ones.
    pub right_length_loss: f64,
    /// Share of needles found in a short prompt.
    pub needle_share: f64,
    /// Share of `needle_share` lost when the prompt fills the context; less in proportion for shorter ones.
    pub needle_length_loss: f64,
    /// Share of `needle_share` lost in the middle of the prompt; none at its ends, between them as a parabola.
    pub needle_depth_loss: f64,
}

impl Default for Skill {
    fn default() -> Skill {
        Skill {
            right_share: 1.0,
            right_length_loss: 0.0,
            needle_share: 1.0,
            needle_length_loss: 0.0,
            needle_depth_loss: 0.0,
        }
    }
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters {
            cost: CostModel::default(),
            max_batched_tokens: 8192,
            max_num_seqs: 256,
            max_model_len: 32_768,
            chunked_prefill: true,
            prefix_caching: true,
            block_tokens: 16,
            kv_blocks: 1 << 18,
            utilisation: 0.9,
            mean_answer_tokens: 256,
            skill: Skill::default(),
        }
    }
}

/// A named server that can exist.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    name: String,
    parameters: Parameters,
}

impl Profile {
    /// The profile `name` (letters, digits, `_`, `-`) with `parameters`.
    ///
    /// # Errors
    /// When no server can have such parameters: see [`Impossible`].
    pub fn new(name: impl Into<String>, parameters: Parameters) -> Result<Profile, Impossible> {
        let name = name.into();
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
        {
            return Err(Impossible::Name);
        }
        check(&parameters)?;
        Ok(Profile { name, parameters })
    }

    /// Reads the profile `name` from the text of a profile file: see `docs/simulator.md`.
    ///
    /// # Errors
    /// All that is wrong with it, each with key and line.
    pub fn parse(name: &str, text: &str) -> Result<Profile, Diagnostics> {
        file::parse(name, text)
    }

    /// The built-in profile of this name. They are models, not measurements; `scenarios/profiles/` says where each
    /// constant is from.
    pub fn named(name: &str) -> Option<Profile> {
        let (_, text) = BUILT_IN.iter().find(|(built_in, _)| *built_in == name)?;
        Some(Profile::parse(name, text).expect("a test reads every built-in profile"))
    }

    /// The names of the built-in profiles.
    pub const NAMES: &[&str] = &[BUILT_IN[0].0, BUILT_IN[1].0, BUILT_IN[2].0, BUILT_IN[3].0];

    /// The name, which is also the name of the model it serves unless told otherwise.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The parameters, each possible.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }
}

/// The built-in profiles: name and file.
const BUILT_IN: [(&str, &str); 4] = [
    ("7b-24gb", include_str!("../../scenarios/profiles/7b-24gb.toml")),
    ("8b-h100", include_str!("../../scenarios/profiles/8b-h100.toml")),
    ("72b-4x64gb", include_str!("../../scenarios/profiles/72b-4x64gb.toml")),
    ("70b-8xh100", include_str!("../../scenarios/profiles/70b-8xh100.toml")),
];

fn check(parameters: &Parameters) -> Result<(), Impossible> {
    let Parameters { max_batched_tokens, max_model_len, block_tokens, kv_blocks, skill, .. } = *parameters;
    if parameters.max_num_seqs == 0 {
        return Err(Impossible::NoSequences);
    }
    if max_batched_tokens < parameters.max_num_seqs as u64 {
        return Err(Impossible::BatchBelowSequences);
    }
    if max_model_len < 2 {
        return Err(Impossible::NoContext);
    }
    if !parameters.chunked_prefill && max_batched_tokens < max_model_len {
        return Err(Impossible::BatchBelowContext);
    }
    if !(1..max_model_len).contains(&parameters.mean_answer_tokens) {
        return Err(Impossible::AnswerLength);
    }
    if block_tokens == 0 || kv_blocks > MOST_BLOCKS {
        return Err(Impossible::Blocks);
    }
    if kv_blocks.saturating_mul(block_tokens) < max_model_len {
        return Err(Impossible::NoMemory {
            kv_tokens: kv_blocks.saturating_mul(block_tokens),
            max_model_len,
        });
    }
    let shares = [
        ("utilisation", parameters.utilisation),
        ("right_share", skill.right_share),
        ("right_length_loss", skill.right_length_loss),
        ("needle_share", skill.needle_share),
        ("needle_length_loss", skill.needle_length_loss),
        ("needle_depth_loss", skill.needle_depth_loss),
    ];
    for (name, share) in shares {
        if !(0.0..=1.0).contains(&share) {
            return Err(Impossible::Share(name));
        }
    }
    check_cost(&parameters.cost)?;
    let mut largest = Batch::default();
    largest.add(max_batched_tokens, max_model_len, true);
    largest.sequences = parameters.max_num_seqs as u64;
    largest.context_tokens = kv_blocks.saturating_mul(block_tokens);
    if parameters.cost.step_time(largest) > LONGEST_STEP {
        return Err(Impossible::StepTooLong);
    }
    Ok(())
}

fn check_cost(cost: &CostModel) -> Result<(), Impossible> {
    let positive = |name: &'static str, value: f64| {
        if value.is_finite() && value > 0.0 { Ok(()) } else { Err(Impossible::NotPositive(name)) }
    };
    match cost {
        CostModel::Fixed(fixed) => {
            fixed.prefill_tokens_per_s.map_or(Ok(()), |rate| positive("prefill_tokens_per_s", rate))
        }
        CostModel::Roofline(roofline) => {
            let (model, machine) = (&roofline.model, &roofline.machine);
            positive("parameters", model.parameters)?;
            positive("bytes_per_parameter", model.bytes_per_parameter)?;
            positive("layers", model.layers as f64)?;
            positive("hidden_size", model.hidden_size as f64)?;
            positive("attention_heads", model.attention_heads as f64)?;
            positive("kv_heads", model.kv_heads as f64)?;
            positive("head_size", model.head_size as f64)?;
            positive("kv_bytes", model.kv_bytes)?;
            positive("devices", machine.devices as f64)?;
            positive("memory_gib", machine.memory_bytes)?;
            positive("bandwidth_gb_per_s", machine.bandwidth)?;
            positive("bandwidth_share", machine.bandwidth_share)?;
            positive("tflops", machine.flops)?;
            positive("flops_share", machine.flops_share)?;
            positive("link_gb_per_s", machine.link)
        }
    }
}

/// Why no server can have these parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Impossible {
    /// The name is empty or holds other characters than letters, digits, `_` and `-`.
    Name,
    /// `max_num_seqs` is zero.
    NoSequences,
    /// `max_batched_tokens` is below `max_num_seqs`: a full batch could not decode.
    BatchBelowSequences,
    /// `max_batched_tokens` is below `max_model_len` without chunked prefill: a long prompt could never run.
    BatchBelowContext,
    /// `max_model_len` has no room for one token of prompt and one of answer.
    NoContext,
    /// `mean_answer_tokens` is zero, or more than fits beside a prompt.
    AnswerLength,
    /// `block_tokens` is zero, or there are more blocks than can be counted.
    Blocks,
    /// The KV memory is too small for one sequence of the greatest length.
    NoMemory {
        /// Tokens for which there is memory.
        kv_tokens: u64,
        /// Tokens of the context.
        max_model_len: u64,
    },
    /// A share is not from 0 to 1.
    Share(&'static str),
    /// A quantity is not a finite number above zero.
    NotPositive(&'static str),
    /// The largest batch would take over an hour a step.
    StepTooLong,
}

impl fmt::Display for Impossible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Impossible::Name => "a profile's name consists of letters, digits, `_` and `-`",
            Impossible::NoSequences => "`max_num_seqs` must be at least 1",
            Impossible::BatchBelowSequences => {
                "`max_batched_tokens` must be at least `max_num_seqs`, or a full batch could not decode"
            }
            Impossible::BatchBelowContext => {
                "without chunked prefill, `max_batched_tokens` must be at least `max_model_len`, or a long prompt \
                 could never run"
            }
            Impossible::NoContext => "`max_model_len` must be at least 2: one token of prompt, one of answer",
            Impossible::AnswerLength => "the mean answer must have at least 1 token and fewer than `max_model_len`",
            Impossible::Blocks => "`block_tokens` must be at least 1, and the blocks fewer than 2^32 - 1",
            Impossible::NoMemory { kv_tokens, max_model_len } => {
                return write!(
                    f,
                    "the memory beside the weights holds {kv_tokens} tokens, fewer than one sequence may have \
                     (`max_model_len` = {max_model_len})"
                );
            }
            Impossible::Share(name) => return write!(f, "`{name}` must be from 0 to 1"),
            Impossible::NotPositive(name) => return write!(f, "`{name}` must be a finite number above 0"),
            Impossible::StepTooLong => "the largest batch would take over an hour a step: check the units",
        })
    }
}

impl std::error::Error for Impossible {}

#[cfg(test)]
mod tests;
