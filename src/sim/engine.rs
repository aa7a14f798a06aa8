//! Continuous batching as a pure step function.
//!
//! A step begins exactly when the last one ended, or at an arrival while nothing runs. Sequences take part in
//! order of arrival: each that decodes gets one token of the step's budget, one that prefills as many of its
//! prompt tokens as are left of it, and those that wait are admitted while budget and places last. The step
//! that completes a prompt yields the answer's first token at its end, each later step one more.
//!
//! The engine carries its own time. It is told of arrivals as they happen and asked for the steps that have
//! ended; asking late changes no time, unless a request is cancelled meanwhile. A step that begins at an
//! instant takes in every arrival of that instant.

use std::collections::VecDeque;
use std::fmt;

use super::cost_model::Batch;
use super::profile::Profile;
use crate::units::Nanos;

/// What is asked of the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Tokens of the prompt, at least 1.
    pub prompt_tokens: u64,
    /// Most tokens of the answer, at least 1; `None`: as many as the context holds.
    pub max_tokens: Option<u64>,
    /// Tokens after which the answer ends by itself, at least 1; `None`: it never does.
    pub stop_after: Option<u64>,
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

/// One token for one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Emission {
    /// Whose it is.
    pub id: Id,
    /// Which token of the answer, from 0.
    pub token: u64,
    /// Set on the last token.
    pub finish: Option<Finish>,
}

/// A step that has ended.
#[derive(Debug, PartialEq, Eq)]
pub struct Step<'a> {
    /// The exact end, at which all its tokens come.
    pub at: Nanos,
    /// The tokens, in order of the requests' arrival.
    pub emissions: &'a [Emission],
}

/// The simulated engine.
#[derive(Debug)]
pub struct Engine {
    profile: Profile,
    taken: u64,
    /// In order of arrival, as `running` is: both ascend in `Id`, and every running one precedes the waiting.
    waiting: VecDeque<Sequence>,
    running: Vec<Sequence>,
    step: Option<Span>,
    emissions: Vec<Emission>,
}

/// The step that runs.
#[derive(Clone, Copy, Debug)]
struct Span {
    began: Nanos,
    ends: Nanos,
}

#[derive(Debug)]
struct Sequence {
    id: Id,
    arrived: Nanos,
    /// Prompt tokens still to process.
    prompt_left: u64,
    generated: u64,
    /// Length of the whole answer, and how it ends.
    answer_tokens: u64,
    finish: Finish,
    /// Tokens it gets in the step that runs.
    scheduled: u64,
}

impl Engine {
    /// An idle engine.
    pub fn new(profile: Profile) -> Engine {
        Engine {
            profile,
            taken: 0,
            waiting: VecDeque::new(),
            running: Vec::new(),
            step: None,
            emissions: Vec::new(),
        }
    }

    /// Takes a request that arrives at `now`, not earlier than the arrival before it.
    ///
    /// # Errors
    /// When prompt and answer cannot fit the model: see [`Refusal`].
    pub fn submit(&mut self, now: Nanos, request: Request) -> Result<Id, Refusal> {
        let (answer_tokens, finish) = answer_length(request, self.profile.parameters().max_model_len)?;
        let id = Id(self.taken);
        self.taken += 1;
        self.waiting.push_back(Sequence {
            id,
            arrived: now,
            prompt_left: request.prompt_tokens,
            generated: 0,
            answer_tokens,
            finish,
            scheduled: 0,
        });
        if self.step.is_none_or(|step| step.began == now) {
            self.begin(now);
        }
        Ok(id)
    }

    /// Gives a request up at `now`; false if it has ended. None of its tokens follow. A step that already
    /// runs keeps its length; the next one has the place.
    pub fn cancel(&mut self, now: Nanos, id: Id) -> bool {
        if let Ok(place) = self.running.binary_search_by_key(&id, |sequence| sequence.id) {
            self.running.remove(place);
        } else if let Ok(place) = self.waiting.binary_search_by_key(&id, |sequence| sequence.id) {
            self.waiting.remove(place);
        } else {
            return false;
        }
        if self.step.is_some_and(|step| step.began == now) {
            self.begin(now);
        }
        true
    }

    /// When the step that runs ends; `None` while nothing runs.
    pub fn next(&self) -> Option<Nanos> {
        self.step.map(|step| step.ends)
    }

    /// The earliest step that has ended by `now` and was not handed out; call until there is none.
    pub fn step(&mut self, now: Nanos) -> Option<Step<'_>> {
        let ended = self.step.take_if(|step| step.ends <= now)?;
        let emissions = &mut self.emissions;
        emissions.clear();
        self.running.retain_mut(|sequence| match sequence.advance() {
            Some(emission) => {
                emissions.push(emission);
                emission.finish.is_none()
            }
            None => true,
        });
        if !self.running.is_empty() {
            self.begin(ended.ends);
        } else if let Some(first) = self.waiting.front() {
            self.begin(ended.ends.max(first.arrived));
        }
        Some(Step { at: ended.ends, emissions: &self.emissions })
    }

    /// Requests in the batch.
    pub fn running(&self) -> usize {
        self.running.len()
    }

    /// Requests that wait for a place.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Composes the step that begins at `at`. Composing it anew for a further arrival or a cancellation at
    /// the same instant gives what composing it once for all of them would: neither makes an admitted one
    /// step back.
    fn begin(&mut self, at: Nanos) {
        let parameters = self.profile.parameters();
        let mut budget = parameters.max_batched_tokens;
        let mut batch = Batch::default();
        for sequence in &mut self.running {
            sequence.schedule(&mut budget, &mut batch);
        }
        while budget > 0 && self.running.len() < parameters.max_num_seqs {
            let Some(mut sequence) = self.waiting.pop_front_if(|first| first.arrived <= at) else { break };
            sequence.schedule(&mut budget, &mut batch);
            self.running.push(sequence);
        }
        self.step =
            (batch.sequences > 0).then(|| Span { began: at, ends: at + parameters.cost.step_time(batch) });
    }
}

impl Sequence {
    /// Takes its share of the budget.
    fn schedule(&mut self, budget: &mut u64, batch: &mut Batch) {
        let wanted = if self.prompt_left > 0 { self.prompt_left } else { 1 };
        self.scheduled = wanted.min(*budget);
        *budget -= self.scheduled;
        batch.sequences += u64::from(self.scheduled > 0);
        if self.prompt_left > 0 {
            batch.prefill_tokens += self.scheduled;
        }
    }

    /// Ends a step: the token it yields, if it does.
    fn advance(&mut self) -> Option<Emission> {
        if self.scheduled == 0 {
            return None;
        }
        // A decode has no prompt left to subtract from.
        self.prompt_left = self.prompt_left.saturating_sub(self.scheduled);
        if self.prompt_left > 0 {
            return None;
        }
        let token = self.generated;
        self.generated += 1;
        let finish = (self.generated == self.answer_tokens).then_some(self.finish);
        Some(Emission { id: self.id, token, finish })
    }
}

/// The length of the answer and how it ends. One that ends by itself exactly at a limit has ended by itself.
fn answer_length(request: Request, max_model_len: u64) -> Result<(u64, Finish), Refusal> {
    let Request { prompt_tokens, max_tokens, stop_after } = request;
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

#[cfg(test)]
mod tests;
