//! Continuous batching as a pure step function.
//!
//! A step begins exactly when the last one ended, or at an arrival while nothing runs. With chunked prefill,
//! sequences take part in order of arrival: each that decodes gets one token of the step's budget, one that prefills
//! as many of its prompt tokens as are left of it, and those that wait are admitted while budget, places and KV
//! blocks last. Without it, a step that admits waiting prompts takes each whole and nothing else; the others wait
//! for a step of decodes. The step that completes a prompt yields the answer's first token, each later step one more.
//! A step computes first and then hands its sequences' tokens out, one after the other, the last of them at its end.
//!
//! A sequence that needs a block when none is free takes one from the last to arrive, which gives all of them up and
//! waits, first in the queue, to compute everything it had anew (preemption by recompute). A step that preempts
//! admits nobody. Blocks can be found in the prefix cache from the end of the step that fills them.
//!
//! The engine carries its own time. It is told of arrivals as they happen and asked for the steps that have computed;
//! asking late changes no time, unless a request is cancelled meanwhile. A step that begins at an instant takes in
//! every arrival up to that instant.

use std::collections::VecDeque;

use super::cost_model::Batch;
use super::kv_cache::{BlockId, KvCache};
use super::prefix::BlockHash;
use super::profile::{Parameters, Profile};
use super::request::{Finish, Id, Refusal, Request, answer_length};
use crate::units::Nanos;

/// One token for one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Emission {
    /// Whose it is.
    pub id: Id,
    /// Which token of the answer, from 0.
    pub token: u64,
    /// When it leaves.
    pub at: Nanos,
    /// Set on the last token.
    pub finish: Option<Finish>,
    /// What became of the request up to here.
    pub course: Course,
}

/// What became of a request before a token of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Course {
    /// When it was first admitted to the batch.
    pub admitted: Nanos,
    /// Prompt tokens that the prefix cache held then: whole blocks, at most all tokens but one.
    pub cached_tokens: u64,
    /// Times it was preempted.
    pub preemptions: u64,
}

/// A step that has computed.
#[derive(Debug, PartialEq, Eq)]
pub struct Step<'a> {
    /// When it began.
    pub began: Nanos,
    /// When its first sequence's token was there to be handed out.
    pub computed: Nanos,
    /// When its last sequence's was handed out: its end.
    pub ends: Nanos,
    /// Tokens it processed, prompts and decodes together.
    pub processed_tokens: u64,
    /// The tokens it yields, in order of the requests' arrival and so of their times.
    pub emissions: &'a [Emission],
}

/// What an engine has done since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Tokens of the prompts that were answered, cached ones among them.
    pub prompt_tokens: u64,
    /// Tokens of answers.
    pub generated_tokens: u64,
    /// Prompt tokens looked for in the prefix cache, once for each request.
    pub queried_tokens: u64,
    /// Those of them that it held.
    pub hit_tokens: u64,
    /// Sequences that lost their blocks.
    pub preemptions: u64,
}

/// The simulated engine.
#[derive(Debug)]
pub struct Engine {
    profile: Profile,
    kv: KvCache,
    taken: u64,
    /// In order of arrival, as `running` is: both ascend in `Id`, and every running one precedes the waiting.
    waiting: VecDeque<Sequence>,
    running: Vec<Sequence>,
    step: Option<Span>,
    /// Until when the last step's tokens are handed out; none begins before.
    busy_until: Nanos,
    /// The step that runs has preempted.
    preempted: bool,
    totals: Totals,
    emissions: Vec<Emission>,
}

/// The step that runs, or is the next to begin.
#[derive(Clone, Copy, Debug)]
struct Span {
    began: Nanos,
    computed: Nanos,
    ends: Nanos,
    tokens: u64,
}

#[derive(Debug)]
struct Sequence {
    id: Id,
    arrived: Nanos,
    prompt_tokens: u64,
    generated: u64,
    /// Tokens, of the prompt first, whose keys and values are in its blocks.
    computed: u64,
    /// Length of the whole answer, and how it ends.
    answer_tokens: u64,
    finish: Finish,
    /// Tokens it gets in the step that runs.
    scheduled: u64,
    admitted: bool,
    course: Course,
    hashes: Vec<BlockHash>,
    blocks: Vec<BlockId>,
    /// Of `blocks`, those the prefix cache was told of.
    registered: usize,
}

impl Engine {
    /// An idle engine.
    pub fn new(profile: Profile) -> Engine {
        let Parameters { kv_blocks, prefix_caching, .. } = *profile.parameters();
        Engine {
            profile,
            kv: KvCache::new(kv_blocks, prefix_caching),
            taken: 0,
            waiting: VecDeque::new(),
            running: Vec::new(),
            step: None,
            busy_until: Nanos::ZERO,
            preempted: false,
            totals: Totals::default(),
            emissions: Vec::new(),
        }
    }

    /// Takes a request that arrives at `now`, not earlier than the arrival before it.
    ///
    /// # Errors
    /// When prompt and answer cannot fit the model: see [`Refusal`].
    pub fn submit(&mut self, now: Nanos, request: Request) -> Result<Id, Refusal> {
        let (answer_tokens, finish) = answer_length(&request, self.profile.parameters().max_model_len)?;
        let id = Id(self.taken);
        self.taken += 1;
        self.waiting.push_back(Sequence {
            id,
            arrived: now,
            prompt_tokens: request.prompt_tokens,
            generated: 0,
            computed: 0,
            answer_tokens,
            finish,
            scheduled: 0,
            admitted: false,
            course: Course::default(),
            hashes: request.blocks,
            blocks: Vec::new(),
            registered: 0,
        });
        if self.step.is_none_or(|step| step.began >= now) {
            self.begin(now.max(self.busy_until));
        }
        Ok(id)
    }

    /// Gives a request up at `now`; false if it has ended. None of its tokens follow and its blocks are free at
    /// once. A step that already runs keeps its length; the next one has the place.
    pub fn cancel(&mut self, now: Nanos, id: Id) -> bool {
        if let Ok(place) = self.running.binary_search_by_key(&id, |sequence| sequence.id) {
            let mut sequence = self.running.remove(place);
            self.kv.release(&mut sequence.blocks);
        } else if let Ok(place) = self.waiting.binary_search_by_key(&id, |sequence| sequence.id) {
            self.waiting.remove(place);
        } else {
            return false;
        }
        if let Some(step) = self.step.filter(|step| step.began >= now) {
            // What was preempted for want of blocks may have them back.
            self.preempted = false;
            self.begin(step.began);
        }
        true
    }

    /// When the step that runs will have computed; `None` while nothing runs.
    pub fn next(&self) -> Option<Nanos> {
        self.step.map(|step| step.computed)
    }

    /// The earliest step that has computed by `now` and was not taken; call until there is none. Its tokens leave
    /// from then on until it ends.
    pub fn step(&mut self, now: Nanos) -> Option<Step<'_>> {
        let ended = self.step.take_if(|step| step.computed <= now)?;
        let Engine { running, kv, emissions, totals, profile, .. } = self;
        let Parameters { block_tokens, cost, .. } = profile.parameters();
        let (mut at, apart) = (ended.computed, cost.sequence_cost());
        emissions.clear();
        running.retain_mut(|sequence| {
            if sequence.scheduled == 0 {
                return true;
            }
            at = at + apart;
            let Some(emission) = sequence.advance(kv, *block_tokens, at) else { return true };
            totals.prompt_tokens += if emission.token == 0 { sequence.prompt_tokens } else { 0 };
            emissions.push(emission);
            if emission.finish.is_some() {
                kv.release(&mut sequence.blocks);
            }
            emission.finish.is_none()
        });
        totals.generated_tokens += emissions.len() as u64;
        self.preempted = false;
        self.busy_until = ended.ends;
        if !self.running.is_empty() {
            self.begin(ended.ends);
        } else if let Some(first) = self.waiting.front() {
            self.begin(ended.ends.max(first.arrived));
        }
        let Span { began, computed, ends, tokens: processed_tokens } = ended;
        Some(Step { began, computed, ends, processed_tokens, emissions: &self.emissions })
    }

    /// Requests in the batch.
    pub fn running(&self) -> usize {
        self.running.len()
    }

    /// Requests that wait for a place, preempted ones among them.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// KV blocks that sequences hold, and all there are.
    pub fn kv_blocks(&self) -> (u64, u64) {
        (self.kv.used(), self.kv.capacity())
    }

    /// What was done since the start.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// Forgets all cached prefixes; sequences that run keep their blocks.
    pub fn reset_prefix_cache(&mut self) {
        self.kv.forget();
    }

    /// Composes the step that begins at `at`. With chunked prefill, composing it anew for a further arrival at the
    /// same instant gives what composing it once for all of them would.
    fn begin(&mut self, at: Nanos) {
        let Parameters { max_batched_tokens, chunked_prefill, .. } = *self.profile.parameters();
        let mut budget = max_batched_tokens;
        self.running.iter_mut().for_each(|sequence| sequence.scheduled = 0);
        if chunked_prefill {
            self.schedule_running(&mut budget, |_| true);
            self.admit(at, &mut budget);
        } else {
            self.schedule_running(&mut budget, Sequence::is_prefilling);
            self.admit(at, &mut budget);
            if budget == max_batched_tokens {
                self.schedule_running(&mut budget, |_| true);
            }
        }
        let mut batch = Batch::default();
        for sequence in self.running.iter().filter(|sequence| sequence.scheduled > 0) {
            batch.add(sequence.scheduled, sequence.computed, sequence.is_prefilling());
        }
        let cost = &self.profile.parameters().cost;
        self.step = (batch.sequences > 0).then(|| {
            let computed = at + cost.computing_time(batch);
            Span { began: at, computed, ends: computed + cost.handing_time(batch), tokens: batch.tokens }
        });
    }

    /// Gives those of the batch that are `eligible` their share of the budget, and the blocks for it.
    fn schedule_running(&mut self, budget: &mut u64, eligible: impl Fn(&Sequence) -> bool) {
        let block_tokens = self.profile.parameters().block_tokens;
        let mut place = 0;
        while place < self.running.len() && *budget > 0 {
            let sequence = &mut self.running[place];
            if !eligible(sequence) {
                place += 1;
                continue;
            }
            let tokens = sequence.missing().min(*budget);
            let wanted = (sequence.computed + tokens).div_ceil(block_tokens);
            let more = wanted.saturating_sub(sequence.blocks.len() as u64);
            if self.kv.extend(&mut sequence.blocks, more) {
                sequence.scheduled = tokens;
                *budget -= tokens;
                place += 1;
            } else {
                self.preempt_last();
            }
        }
    }

    /// Takes all blocks from the last to arrive. The one that runs alone always has room: a profile holds one
    /// sequence of the greatest length.
    fn preempt_last(&mut self) {
        let Some(mut last) = self.running.pop() else { return };
        self.kv.release(&mut last.blocks);
        (last.computed, last.registered, last.scheduled) = (0, 0, 0);
        last.course.preemptions += 1;
        self.totals.preemptions += 1;
        self.preempted = true;
        self.waiting.push_front(last);
    }

    /// Admits those that wait, in their order, while there is room for them.
    fn admit(&mut self, at: Nanos, budget: &mut u64) {
        let Parameters { max_num_seqs, block_tokens, chunked_prefill, .. } = *self.profile.parameters();
        while !self.preempted && *budget > 0 && self.running.len() < max_num_seqs {
            let Some(first) = self.waiting.front_mut().filter(|first| first.arrived <= at) else { return };
            // The last token is always computed: it is what the next one is drawn from.
            let findable = ((first.known() - 1) / block_tokens) as usize;
            let hits = self.kv.hits(&first.hashes[..first.hashes.len().min(findable)]);
            let cached = hits as u64 * block_tokens;
            let missing = first.known() - cached;
            if !chunked_prefill && missing > *budget {
                return;
            }
            let tokens = missing.min(*budget);
            let more = (cached + tokens).div_ceil(block_tokens) - hits as u64;
            if !self.kv.admit(&first.hashes[..hits], more, &mut first.blocks) {
                return;
            }
            let Some(mut sequence) = self.waiting.pop_front() else { return };
            (sequence.computed, sequence.registered, sequence.scheduled) = (cached, hits, tokens);
            *budget -= tokens;
            if !sequence.admitted {
                sequence.admitted = true;
                sequence.course.admitted = at;
                sequence.course.cached_tokens = cached;
                self.totals.queried_tokens += sequence.prompt_tokens;
                self.totals.hit_tokens += cached;
            }
            self.running.push(sequence);
        }
    }
}

impl Sequence {
    /// Tokens there are, of the prompt and of the answer.
    fn known(&self) -> u64 {
        self.prompt_tokens + self.generated
    }

    /// Tokens to compute before the next one comes, at least 1.
    fn missing(&self) -> u64 {
        self.known() - self.computed
    }

    /// Whether it computes what it was given, for the first time or again, rather than decodes.
    fn is_prefilling(&self) -> bool {
        self.generated == 0 || self.missing() > 1
    }

    /// Ends a step that it took part in: the token it yields at `at`, if it does.
    fn advance(&mut self, kv: &mut KvCache, block_tokens: u64, at: Nanos) -> Option<Emission> {
        self.computed += self.scheduled;
        let full = ((self.computed / block_tokens) as usize).min(self.hashes.len());
        for place in self.registered..full {
            kv.register(self.blocks[place], self.hashes[place]);
        }
        self.registered = full.max(self.registered);
        if self.missing() > 0 {
            return None;
        }
        let token = self.generated;
        self.generated += 1;
        let finish = (self.generated == self.answer_tokens).then_some(self.finish);
        Some(Emission { id: self.id, token, at, finish, course: self.course })
    }
}

#[cfg(test)]
mod tests;
