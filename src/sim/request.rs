//! What the engine is asked, and why it may refuse.

use std::fmt;

use super::prefix::BlockHash;

/// What is asked of the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Tokens of the prompt, at least 1.
    pub prompt_tokens: u64,
    /// Most tokens of the answer, at least 1; `None`: as many as the context holds.
    pub max_tokens: Option<u64>,
    /// Tokens after which the answer ends by itself, at least 1; `None`: it never does.
    pub stop_after: Option<u64>,
    /// The hashes of the whole blocks of prompt and answer, as far as their tokens are known; without them nothing is
    /// found in the prefix cache, nor left there.
    pub blocks: Vec<BlockHash>,
}

/// A request that was taken. Later ones are greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(pub u64);

/// Why an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// By itself.
    Stop,
    /// At `max_tokens` or at the end of the context.
    Length,
}

/// The length of the answer and how it ends. One that ends by itself exactly at a limit has ended by itself.
pub(super) fn answer_length(request: &Request, max_model_len: u64) -> Result<(u64, Finish), Refusal> {
    let Request { prompt_tokens, max_tokens, stop_after, .. } = *request;
    if prompt_tokens == 0 {
        return Err(Refusal::EmptyPrompt);
    }
    if max_tokens == Some(0) || stop_after == Some(0) {
        return Err(Refusal::NoAnswer);
    }
    if prompt_tokens >= max_model_len {
        return Err(Refusal::PromptTooLong { prompt_tokens, max_model_len });
    }
    let room = max_model_len - prompt_tokens;
    let limit = max_tokens.unwrap_or(room);
    if limit > room {
        return Err(Refusal::AnswerTooLong { prompt_tokens, max_tokens: limit, max_model_len });
    }
    Ok(match stop_after {
        Some(stop) if stop <= limit => (stop, Finish::Stop),
        _ => (limit, Finish::Length),
    })
}

/// Why a request was not taken. The texts follow vLLM's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The prompt has no token.
    EmptyPrompt,
    /// The answer may have no token.
    NoAnswer,
    /// The prompt leaves no room for a token of answer.
    PromptTooLong {
        /// Tokens of the prompt.
        prompt_tokens: u64,
        /// Tokens of the context.
        max_model_len: u64,
    },
    /// Prompt and `max_tokens` exceed the context.
    AnswerTooLong {
        /// Tokens of the prompt.
        prompt_tokens: u64,
        /// Tokens asked for.
        max_tokens: u64,
        /// Tokens of the context.
        max_model_len: u64,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::EmptyPrompt => f.write_str("The prompt must have at least one token."),
            Refusal::NoAnswer => f.write_str("max_tokens must be at least 1, got 0."),
            Refusal::PromptTooLong { prompt_tokens, max_model_len } => write!(
                f,
                "This model's maximum context length is {max_model_len} tokens. However, your prompt contains \
                 {prompt_tokens} input tokens, which leaves no room for any output token. Please reduce the \
                 length of the input prompt."
            ),
            Refusal::AnswerTooLong { prompt_tokens, max_tokens, max_model_len } => write!(
                f,
                "This model's maximum context length is {max_model_len} tokens. However, you requested \
                 {max_tokens} output tokens and your prompt contains {prompt_tokens} input tokens. Please reduce \
                 the length of the input prompt or the number of requested output tokens."
            ),
        }
    }
}

impl std::error::Error for Refusal {}
