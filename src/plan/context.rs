//! Whether one more turn of a conversation fits a stated context.
//!
//! By plan, where lengths are planned in tokens: what has no room whatever is answered is not planned. In fact, where
//! the conversation is: what was sent and answered counts as the server counted it.

use crate::prompt::Message;
use crate::record::Usage;
use crate::scenario::{History, PromptSource, Workload};

/// Room that a conversation has by its planned lengths.
pub(super) struct Room {
    limit_tokens: u64,
    carries: bool,
    /// Whether answers take the room planned for them, or as little as an answer can.
    counts_answers: bool,
    /// Tokens of the turns so far, at least.
    held_tokens: u64,
}

impl Room {
    /// The room of a conversation that carries what was said if `carries`; `None` where no context is stated, or lengths
    /// are not planned in tokens.
    pub(super) fn new(workload: &Workload, carries: bool) -> Option<Room> {
        let session =
            workload.session.as_ref().filter(|_| matches!(workload.prompt, PromptSource::Tokens(_)))?;
        let counts_answers = workload.exact_output || session.turns.is_none();
        Some(Room { limit_tokens: session.max_context?, carries, counts_answers, held_tokens: 0 })
    }

    /// Takes a turn that adds so many tokens and may be answered with so many; whether it fits.
    pub(super) fn takes(&mut self, prompt_tokens: u64, answer_tokens: u64) -> bool {
        let fits = self.held_tokens + prompt_tokens + answer_tokens <= self.limit_tokens;
        if self.carries {
            self.held_tokens += prompt_tokens + if self.counts_answers { answer_tokens } else { 1 };
        }
        fits
    }
}

/// Length of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Length {
    /// In tokens, where they are known.
    pub(super) tokens: Option<u64>,
    pub(super) bytes: u64,
}

impl Length {
    pub(super) fn of(messages: &[Message], tokens: Option<u64>) -> Length {
        Length { tokens, bytes: messages.iter().map(|message| message.content.len() as u64).sum() }
    }
}

/// The text that a turn adds, and the answer to the turn before that it carries.
#[derive(Clone, Copy, Debug)]
pub(super) struct Added {
    pub(super) text: Length,
    /// A recorded answer; `None` where it is the server's.
    pub(super) recorded: Option<Length>,
    /// Bytes of the answer carried.
    pub(super) answer_bytes: u64,
    /// Tokens asked for of its own answer.
    pub(super) max_tokens: u64,
}

/// Why a turn is not sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Misfit {
    /// It would pass the context: in words.
    Full(String),
    /// Its length cannot be known.
    Unknown,
}

/// What a conversation takes of its context, as its turns are sent and answered.
#[derive(Clone, Debug)]
pub(super) struct Context {
    limit_tokens: u64,
    history: History,
    /// Tokens of the prompt sent last, as far as known before it was answered.
    prompt_tokens: Option<u64>,
    prompt_bytes: u64,
    /// Tokens asked for of the answer to it.
    answer_tokens: u64,
    /// Whether it is the first.
    is_first: bool,
    /// Tokens that a template adds with each turn.
    template_tokens: u64,
}

impl Context {
    /// Begins a conversation with a prompt of this length. `template_tokens` are those that a message may bring with
    /// it, as far as known.
    pub(super) fn begin(
        limit_tokens: u64,
        history: History,
        prompt: Length,
        max_tokens: u64,
        template_tokens: u64,
    ) -> Result<Context, Misfit> {
        let context = Context {
            limit_tokens,
            history,
            prompt_tokens: prompt.tokens,
            prompt_bytes: prompt.bytes,
            answer_tokens: max_tokens,
            is_first: true,
            template_tokens: if history == History::None { 0 } else { 2 * template_tokens },
        };
        match prompt.tokens {
            Some(tokens) if tokens + max_tokens > limit_tokens => Err(context.full(tokens, max_tokens)),
            _ => Ok(context),
        }
    }

    /// Adds a turn that follows one answered with `usage`; an error leaves the context as it was.
    pub(super) fn add(&mut self, usage: &Usage, added: Added) -> Result<(), Misfit> {
        self.learn(usage);
        let sent_tokens = usage.prompt.or(self.prompt_tokens).ok_or(Misfit::Unknown)?;
        let in_tokens = |length: Length| match length.tokens {
            Some(tokens) => Some(tokens),
            // As many as the bytes of this conversation have been so far.
            None if self.prompt_bytes == 0 => None,
            None => {
                let tokens = u128::from(sent_tokens) * u128::from(length.bytes);
                u64::try_from(tokens.div_ceil(self.prompt_bytes.into())).ok()
            }
        };
        let text_tokens = in_tokens(added.text).ok_or(Misfit::Unknown)?;
        let (carried_tokens, carried_bytes) = match self.history {
            History::None => (0, 0),
            History::Real | History::Recorded => {
                let answer = match added.recorded {
                    Some(recorded) => in_tokens(recorded).ok_or(Misfit::Unknown)?,
                    None => self.answered(usage),
                };
                (sent_tokens + answer, self.prompt_bytes + added.answer_bytes)
            }
        };
        let prompt_tokens = carried_tokens + text_tokens + self.template_tokens;
        if prompt_tokens + added.max_tokens > self.limit_tokens {
            return Err(self.full(prompt_tokens, added.max_tokens));
        }
        self.prompt_tokens = Some(prompt_tokens);
        self.prompt_bytes = carried_bytes + added.text.bytes;
        self.answer_tokens = added.max_tokens;
        self.is_first = false;
        Ok(())
    }

    /// Tokens of the answer that the next turn carries: those of its reasoning are left behind. At most as many as
    /// were asked for, where nobody counted them.
    fn answered(&self, usage: &Usage) -> u64 {
        let counted =
            usage.completion.map(|tokens| tokens.saturating_sub(usage.reasoning.unwrap_or_default()));
        counted.unwrap_or(self.answer_tokens)
    }

    /// What the server counted beyond what was known is put down to its template. After the first prompt that is of
    /// one message or two, and the next turn brings two.
    fn learn(&mut self, usage: &Usage) {
        let Some((counted, known)) = usage.prompt.zip(self.prompt_tokens) else { return };
        match (self.is_first, self.history) {
            (true, History::None) => self.template_tokens = counted.saturating_sub(known),
            (true, _) => self.template_tokens += 2 * counted.saturating_sub(known),
            (false, _) => self.template_tokens = (self.template_tokens + counted).saturating_sub(known),
        }
    }

    fn full(&self, prompt_tokens: u64, answer_tokens: u64) -> Misfit {
        Misfit::Full(format!(
            "max_context: a prompt of {prompt_tokens} tokens and an answer of {answer_tokens} would pass {}",
            self.limit_tokens
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn length(tokens: Option<u64>, bytes: u64) -> Length {
        Length { tokens, bytes }
    }

    fn usage(prompt: u64, completion: u64) -> Usage {
        Usage { prompt: Some(prompt), completion: Some(completion), ..Usage::default() }
    }

    fn text(tokens: Option<u64>, bytes: u64) -> Added {
        Added { text: length(tokens, bytes), recorded: None, answer_bytes: 10, max_tokens: 20 }
    }

    fn begin(limit: u64, history: History, prompt: Length) -> Context {
        Context::begin(limit, history, prompt, 20, 0).unwrap()
    }

    #[test]
    fn a_turn_fits_to_the_very_token() {
        assert!(Context::begin(100, History::Real, length(Some(80), 400), 20, 0).is_ok());
        let refused = Context::begin(100, History::Real, length(Some(81), 400), 20, 0).unwrap_err();
        let why = "max_context: a prompt of 81 tokens and an answer of 20 would pass 100";
        assert_eq!(refused, Misfit::Full(why.to_owned()));
        // 40 sent, 15 answered, 25 more: 80 and 20.
        let mut context = begin(100, History::Real, length(Some(40), 200));
        assert_eq!(context.clone().add(&usage(40, 15), text(Some(25), 100)), Ok(()));
        assert!(matches!(context.add(&usage(40, 15), text(Some(26), 100)), Err(Misfit::Full(_))));
    }

    #[test]
    fn what_a_template_adds_is_learnt_from_what_the_server_counts() {
        let mut context = begin(1_000, History::Real, length(Some(40), 200));
        // Four more than known: at most eight with an answer and a question.
        context.add(&usage(44, 20), text(Some(40), 200)).unwrap();
        assert_eq!(context.prompt_tokens, Some(44 + 20 + 40 + 8));
        context.add(&usage(110, 20), text(Some(40), 200)).unwrap();
        assert_eq!(context.prompt_tokens, Some(110 + 20 + 40 + 6));
        context.add(&usage(180, 20), text(Some(40), 200)).unwrap();
        assert_eq!(context.prompt_tokens, Some(180 + 20 + 40 + 10));
    }

    #[test]
    fn texts_that_nobody_counted_are_as_dense_as_the_conversation_so_far() {
        let mut context = begin(100, History::Real, length(None, 200));
        context.add(&usage(50, 10), text(None, 41)).unwrap();
        assert_eq!(context.prompt_tokens, Some(50 + 10 + 11));
        let recorded = Added { recorded: Some(length(None, 40)), ..text(None, 40) };
        let mut context = begin(100, History::Recorded, length(None, 200));
        context.add(&usage(50, 999), recorded).unwrap();
        assert_eq!((context.prompt_tokens, context.prompt_bytes), (Some(50 + 10 + 10), 200 + 10 + 40));
    }

    #[test]
    fn without_history_every_turn_has_the_whole_context() {
        let mut context = begin(100, History::None, length(Some(70), 200));
        for _ in 0..9 {
            assert_eq!(context.add(&usage(75, 20), text(Some(75), 200)), Ok(()));
        }
        assert!(matches!(context.add(&usage(80, 20), text(Some(76), 200)), Err(Misfit::Full(_))));
    }

    #[test]
    fn an_answer_that_nobody_counted_is_as_long_as_it_may_be_and_reasoning_is_left_behind() {
        let mut context = begin(1_000, History::Real, length(Some(40), 200));
        context.add(&Usage::default(), text(Some(40), 200)).unwrap();
        assert_eq!(context.prompt_tokens, Some(40 + 20 + 40));
        let thought = Usage { reasoning: Some(300), ..usage(100, 320) };
        context.add(&thought, text(Some(40), 200)).unwrap();
        assert_eq!(context.prompt_tokens, Some(100 + 20 + 40));
    }

    #[test]
    fn a_length_that_nothing_tells_is_not_guessed() {
        let mut context = begin(1_000, History::Real, length(None, 200));
        assert_eq!(context.add(&Usage::default(), text(Some(40), 200)), Err(Misfit::Unknown));
        let mut context = begin(1_000, History::Real, length(None, 0));
        assert_eq!(context.add(&usage(4, 2), text(None, 40)), Err(Misfit::Unknown));
    }
}
