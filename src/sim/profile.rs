//! The parameters of a modelled server, checked once, and the built-in ones.

use std::fmt;
use std::time::Duration;

use super::cost_model::{Batch, CostModel};

/// The longest step a profile may lead to: beyond it, it is a slip of the unit.
const LONGEST_STEP: Duration = Duration::from_secs(3600);

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
    /// Mean length of an answer that ends by itself, in tokens.
    pub mean_answer_tokens: u64,
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters {
            cost: CostModel::default(),
            max_batched_tokens: 8192,
            max_num_seqs: 256,
            max_model_len: 32_768,
            mean_answer_tokens: 256,
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
        if parameters.max_num_seqs == 0 {
            return Err(Impossible::NoSequences);
        }
        if parameters.max_batched_tokens < parameters.max_num_seqs as u64 {
            return Err(Impossible::BatchBelowSequences);
        }
        if parameters.max_model_len < 2 {
            return Err(Impossible::NoContext);
        }
        if !(1..parameters.max_model_len).contains(&parameters.mean_answer_tokens) {
            return Err(Impossible::AnswerLength);
        }
        if parameters.cost.prefill_tokens_per_s.is_some_and(|rate| !rate.is_finite() || rate <= 0.0) {
            return Err(Impossible::PrefillRate);
        }
        let largest = Batch {
            sequences: parameters.max_num_seqs as u64,
            prefill_tokens: parameters.max_batched_tokens,
        };
        if parameters.cost.step_time(largest) > LONGEST_STEP {
            return Err(Impossible::StepTooLong);
        }
        Ok(Profile { name, parameters })
    }

    /// The built-in profile of this name.
    ///
    /// These are models, not measurements. All constants are assumed, from data sheets: step overhead =
    /// weights / memory bandwidth + a few ms for launches and, over several cards, communication; prefill
    /// rate = half the peak dense FLOP/s / (2 × parameters); the cost of a sequence is a guess at its
    /// attention and sampling.
    ///
    /// | name | stands for | bandwidth | peak |
    /// | --- | --- | --- | --- |
    /// | `7b-24gb` | 7 B, 16 bit, one 24 GB card | 1 TB/s | 165 TFLOP/s |
    /// | `8b-h100` | 8 B, 16 bit, one H100 | 3.35 TB/s | 989 TFLOP/s |
    /// | `72b-4x64gb` | 72 B, 16 bit, four 64 GB A100 cards | 4 × 1.64 TB/s | 4 × 312 TFLOP/s |
    /// | `70b-8xh100` | 70 B, 16 bit, eight H100 | 8 × 3.35 TB/s | 8 × 989 TFLOP/s |
    pub fn named(name: &str) -> Option<Profile> {
        let built_in = BUILT_IN.iter().find(|built_in| built_in.name == name)?;
        let parameters = Parameters {
            cost: CostModel {
                step_overhead: Duration::from_micros(built_in.step_overhead_us),
                sequence_cost: Duration::from_micros(built_in.sequence_cost_us),
                prefill_tokens_per_s: Some(built_in.prefill_tokens_per_s),
            },
            max_model_len: built_in.max_model_len,
            ..Parameters::default()
        };
        Some(Profile { name: name.to_owned(), parameters })
    }

    /// The names of the built-in profiles.
    pub const NAMES: &[&str] = &[BUILT_IN[0].name, BUILT_IN[1].name, BUILT_IN[2].name, BUILT_IN[3].name];

    /// The name, which is also the name of the model it serves unless told otherwise.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The parameters, each possible.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }
}

struct BuiltIn {
    name: &'static str,
    step_overhead_us: u64,
    sequence_cost_us: u64,
    prefill_tokens_per_s: f64,
    max_model_len: u64,
}

/// Constants assumed, as [`Profile::named`] says.
const BUILT_IN: [BuiltIn; 4] = [
    BuiltIn {
        name: "7b-24gb",
        step_overhead_us: 17_000,
        sequence_cost_us: 60,
        prefill_tokens_per_s: 5_800.0,
        max_model_len: 32_768,
    },
    BuiltIn {
        name: "8b-h100",
        step_overhead_us: 6_300,
        sequence_cost_us: 30,
        prefill_tokens_per_s: 30_900.0,
        max_model_len: 131_072,
    },
    BuiltIn {
        name: "72b-4x64gb",
        step_overhead_us: 28_000,
        sequence_cost_us: 90,
        prefill_tokens_per_s: 4_300.0,
        max_model_len: 131_072,
    },
    BuiltIn {
        name: "70b-8xh100",
        step_overhead_us: 10_500,
        sequence_cost_us: 40,
        prefill_tokens_per_s: 28_200.0,
        max_model_len: 131_072,
    },
];

/// Why no server can have these parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Impossible {
    /// The name is empty or holds other characters than letters, digits, `_` and `-`.
    Name,
    /// `max_num_seqs` is zero.
    NoSequences,
    /// `max_batched_tokens` is below `max_num_seqs`: a full batch could not decode.
    BatchBelowSequences,
    /// `max_model_len` has no room for one token of prompt and one of answer.
    NoContext,
    /// `mean_answer_tokens` is zero, or more than fits beside a prompt.
    AnswerLength,
    /// `prefill_tokens_per_s` is not a finite number above zero.
    PrefillRate,
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
            Impossible::NoContext => "`max_model_len` must be at least 2: one token of prompt, one of answer",
            Impossible::AnswerLength => "`mean_answer_tokens` must be at least 1 and below `max_model_len`",
            Impossible::PrefillRate => "`prefill_tokens_per_s` must be a finite number above 0",
            Impossible::StepTooLong => "the largest batch would take over an hour a step: check the units",
        })
    }
}

impl std::error::Error for Impossible {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_profile_is_possible_and_found_by_its_name() {
        for &name in Profile::NAMES {
            let profile = Profile::named(name).unwrap();
            assert_eq!(Profile::new(name, profile.parameters().clone()).unwrap(), profile);
        }
        assert_eq!(Profile::NAMES, ["7b-24gb", "8b-h100", "72b-4x64gb", "70b-8xh100"]);
        assert_eq!(Profile::named("9000b-abacus"), None);
    }

    #[test]
    fn impossible_values_are_refused() {
        let refusal = |change: &dyn Fn(&mut Parameters)| {
            let mut parameters = Parameters::default();
            change(&mut parameters);
            Profile::new("p", parameters).unwrap_err()
        };
        assert_eq!(refusal(&|p| p.max_num_seqs = 0), Impossible::NoSequences);
        assert_eq!(refusal(&|p| p.max_batched_tokens = 255), Impossible::BatchBelowSequences);
        assert_eq!(refusal(&|p| p.max_model_len = 1), Impossible::NoContext);
        assert_eq!(refusal(&|p| p.mean_answer_tokens = 0), Impossible::AnswerLength);
        assert_eq!(refusal(&|p| p.mean_answer_tokens = p.max_model_len), Impossible::AnswerLength);
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(refusal(&|p| p.cost.prefill_tokens_per_s = Some(rate)), Impossible::PrefillRate);
        }
        assert_eq!(
            refusal(&|p| p.cost.sequence_cost = Duration::from_secs(15)),
            Impossible::StepTooLong,
            "256 × 15 s"
        );
        assert_eq!(
            refusal(&|p| p.cost.prefill_tokens_per_s = Some(2.0)),
            Impossible::StepTooLong,
            "8192 / 2 s"
        );
        for name in ["", "a b", "a/b", "ä"] {
            assert_eq!(Profile::new(name, Parameters::default()), Err(Impossible::Name), "{name:?}");
        }
    }
}
