//! How much of each prompt the server's prefix cache could have known.
//!
//! A prompt is known to the server from its first token on, its answer once that has ended. What a request shares
//! with all those is looked up when it is sent, block by block; in a session, it begins with the turn before.

use std::collections::{BTreeMap, VecDeque};

use crate::blocks::{Carried, KnownPrompt};
use crate::record::{Outcome, RequestRecord};

/// Bytes of hashes that are kept.
const LIMIT_BYTES: usize = 64 << 20;
/// Bytes a hash takes: in the prompt it belongs to, and in a map that is about two thirds full.
const HASH_BYTES: usize = 8 + 24;

/// The prompts of a run so far.
pub(super) struct Seen {
    block_tokens: u64,
    /// Tokens of a block, where the server says so.
    stated_tokens: Option<u64>,
    /// Requests whose first token is awaited, or whose end.
    open: BTreeMap<u64, Open>,
    /// The last prompt that each hash occurs in.
    blocks: BTreeMap<u64, u64>,
    /// Prompts in the order they became known.
    prompts: VecDeque<KnownPrompt>,
    /// Number of the first of them.
    first: u64,
    kept: usize,
    most: usize,
    /// Tokens that the next turn of a session begins with.
    sessions: BTreeMap<u64, Past>,
    forgotten: u64,
}

struct Open {
    known: KnownPrompt,
    /// Tokens of the blocks found when it was sent.
    found_tokens: u64,
    is_answered: bool,
}

/// A turn that ended well.
#[derive(Clone, Copy)]
struct Past {
    prompt_tokens: u64,
    answer_tokens: Option<u64>,
}

impl Seen {
    /// Nothing yet; prompts are hashed in blocks of `block_tokens`.
    pub(super) fn new(block_tokens: u64) -> Seen {
        Seen {
            block_tokens,
            stated_tokens: None,
            open: BTreeMap::new(),
            blocks: BTreeMap::new(),
            prompts: VecDeque::new(),
            first: 0,
            kept: 0,
            most: LIMIT_BYTES / HASH_BYTES,
            sessions: BTreeMap::new(),
            forgotten: 0,
        }
    }

    /// The server says how many tokens a block has.
    pub(super) fn state_block(&mut self, tokens: f64) {
        if tokens >= 1.0 {
            self.stated_tokens = Some(tokens as u64);
        }
    }

    /// A request goes out.
    pub(super) fn sent(&mut self, request: u64, known: KnownPrompt) {
        let found = known.blocks.iter().take_while(|hash| self.blocks.contains_key(hash)).count() as u64;
        let open = Open { known, found_tokens: found * self.block_tokens, is_answered: false };
        self.open.insert(request, open);
    }

    /// Something was generated for a request: its prompt is known to the server.
    pub(super) fn answered(&mut self, request: u64) {
        if let Some(open) = self.open.get_mut(&request).filter(|open| !open.is_answered) {
            open.is_answered = true;
            let known = open.known.clone();
            self.keep(known);
        }
    }

    /// A request is over: the tokens of its prompt that could have been cached; `None` where that is not known.
    pub(super) fn ended(&mut self, record: &RequestRecord) -> Option<u64> {
        let planned = &record.planned;
        if record.first_token.is_some() {
            self.answered(planned.request);
        }
        let past = self.sessions.remove(&planned.session);
        let open = self.open.remove(&planned.request)?;
        let asked = planned.prompt_tokens_planned.filter(|_| open.known.carried == Carried::Nothing);
        let prompt_tokens = record.prompt_tokens.or(asked.map(u64::from));
        if open.known.goes_on
            && record.outcome == Outcome::Ok
            && let Some(prompt_tokens) = prompt_tokens
        {
            let past = Past { prompt_tokens, answer_tokens: record.output_tokens };
            self.sessions.insert(planned.session, past);
        }
        let carried_tokens = match open.known.carried {
            Carried::Nothing => 0,
            Carried::Prompt => past?.prompt_tokens,
            // The last token of an answer is drawn, and never passes through the model.
            Carried::PromptAndAnswer => past?.prompt_tokens + past?.answer_tokens?.saturating_sub(1),
        };
        // The last token is always computed: the answer's first is drawn from it.
        let most = prompt_tokens?.saturating_sub(1);
        let tokens = open.found_tokens.max(carried_tokens).min(most);
        let block_tokens = self.stated_tokens.unwrap_or(self.block_tokens);
        Some(tokens / block_tokens * block_tokens)
    }

    /// The server knows a prompt from now on. The oldest give way.
    pub(super) fn keep(&mut self, known: KnownPrompt) {
        let number = self.first + self.prompts.len() as u64;
        self.kept += known.blocks.len();
        for hash in &*known.blocks {
            self.blocks.insert(*hash, number);
        }
        self.prompts.push_back(known);
        while self.kept > self.most
            && let Some(oldest) = self.prompts.pop_front()
        {
            for hash in &*oldest.blocks {
                if self.blocks.get(hash) == Some(&self.first) {
                    self.blocks.remove(hash);
                }
            }
            self.kept -= oldest.blocks.len();
            self.first += 1;
            self.forgotten += 1;
        }
    }

    /// Prompts that were forgotten for want of room.
    pub(super) fn forgotten(&self) -> u64 {
        self.forgotten
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Planned;
    use crate::units::Micros;

    fn known(blocks: &[u64]) -> KnownPrompt {
        KnownPrompt { blocks: blocks.into(), carried: Carried::Nothing, goes_on: false }
    }

    fn row(request: u64, session: u64, prompt_tokens: u64) -> RequestRecord {
        let planned = Planned { request, session, ..Planned::default() };
        let mut record = RequestRecord::unsent(planned, Outcome::Ok);
        (record.prompt_tokens, record.first_token) = (Some(prompt_tokens), Some(Micros(1)));
        record.output_tokens = Some(10);
        record
    }

    #[test]
    fn a_prompt_counts_from_its_first_token_on() {
        let mut seen = Seen::new(16);
        seen.sent(0, known(&[1, 2, 3]));
        seen.sent(1, known(&[1, 2, 4]));
        seen.answered(0);
        seen.sent(2, known(&[1, 2, 5]));
        assert_eq!(seen.ended(&row(1, 1, 50)), Some(0), "sent before the first token");
        assert_eq!(seen.ended(&row(0, 0, 50)), Some(0));
        assert_eq!(seen.ended(&row(2, 2, 50)), Some(32));
        seen.sent(3, known(&[1, 2, 5]));
        assert_eq!(seen.ended(&row(3, 3, 48)), Some(32), "the last token is always computed");
        seen.sent(4, known(&[8, 9]));
        assert_eq!(seen.ended(&row(4, 4, 48)), Some(0));
        assert_eq!(seen.ended(&row(9, 9, 48)), None, "of a prompt that is not known");
        assert!(seen.open.is_empty());
    }

    #[test]
    fn a_request_without_a_token_leaves_nothing_behind() {
        let mut seen = Seen::new(16);
        seen.sent(0, known(&[1, 2]));
        let failed = RequestRecord { first_token: None, outcome: Outcome::HttpError, ..row(0, 0, 40) };
        seen.ended(&failed);
        seen.sent(1, known(&[1, 2]));
        assert_eq!(seen.ended(&row(1, 1, 40)), Some(0));
    }

    #[test]
    fn a_turn_begins_with_the_one_before() {
        let mut seen = Seen::new(16);
        let turn = |carried, goes_on| KnownPrompt { carried, goes_on, ..known(&[1]) };
        seen.sent(0, turn(Carried::Nothing, true));
        seen.ended(&row(0, 7, 40));
        seen.sent(1, turn(Carried::PromptAndAnswer, true));
        assert_eq!(seen.ended(&row(1, 7, 90)), Some(48), "of 40 + 9 tokens");
        seen.sent(2, turn(Carried::Prompt, false));
        assert_eq!(seen.ended(&row(2, 7, 120)), Some(80), "of 90 tokens");
        assert!(seen.sessions.is_empty());
        // Without a count of the turn before there is no telling.
        seen.sent(3, turn(Carried::Nothing, true));
        seen.ended(&RequestRecord { output_tokens: None, ..row(3, 8, 40) });
        seen.sent(4, turn(Carried::PromptAndAnswer, false));
        assert_eq!(seen.ended(&row(4, 8, 90)), None);
    }

    #[test]
    fn blocks_are_as_large_as_the_server_says() {
        let mut seen = Seen::new(16);
        seen.keep(known(&[1, 2, 3]));
        seen.state_block(32.0);
        seen.sent(0, known(&[1, 2, 3]));
        assert_eq!(seen.ended(&row(0, 0, 60)), Some(32));
    }

    #[test]
    fn the_oldest_prompts_are_forgotten_and_counted_but_not_what_later_ones_share() {
        let mut seen = Seen { most: 4, ..Seen::new(16) };
        seen.keep(known(&[1, 2]));
        seen.keep(known(&[1, 3]));
        seen.keep(known(&[1, 4]));
        assert_eq!((seen.forgotten(), seen.kept), (1, 4));
        for (request, blocks, tokens) in [(0, [1, 2], 16), (1, [1, 3], 32)] {
            seen.sent(request, known(&blocks));
            let record = RequestRecord { first_token: None, ..row(request, request, 60) };
            assert_eq!(seen.ended(&record), Some(tokens));
        }
        seen.keep(known(&[5, 6, 7, 8, 9]));
        assert!(seen.blocks.is_empty() && seen.prompts.is_empty());
    }
}
