//! Reads one answer, event by event.

use super::Api;
use super::answer::{Answer, Failure, Generated, Texts};
use super::parts::{Channel, Meaning, Parts, Place};
use super::plain::Plain;
use super::reading::{read_document, read_event};
use super::template::{Layouts, Template};
use crate::record::Usage;
use crate::wire::sse::Event;

/// What one event was, for the caller to stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Part of the answer.
    Output {
        /// The text it carries.
        generated: Generated,
        /// How many tokens it carries, where the server says so: by listing them, or by token counts that it
        /// states at each event. Zero where it states that this text brought none.
        tokens: Option<u32>,
        /// Whether it says why the model stopped.
        finished: bool,
    },
    /// Token counts and no output.
    Usage,
    /// The API's end marker and nothing else. An end may stand beside other things too: see
    /// [`Decoder::is_over`].
    Done,
    /// The server reported an error.
    Error,
    /// Not what the API calls for.
    Malformed,
    /// Nothing that counts: a role, a heartbeat, progress of the prompt.
    Ignored,
}

impl Step {
    /// Whether generated text came, in any channel.
    pub fn has_text(self) -> bool {
        matches!(self, Step::Output { generated, .. } if generated != Generated::Nothing)
    }

    /// Whether text of the answer came.
    pub fn has_answer(self) -> bool {
        matches!(self, Step::Output { generated: Generated::Answer, .. })
    }

    /// Whether the event bears tokens: text in any channel, or a stated count above zero.
    pub fn is_token_bearing(self) -> bool {
        self.has_text() || self.tokens().is_some_and(|tokens| tokens > 0)
    }

    /// How many tokens came, where the server says so.
    pub fn tokens(self) -> Option<u32> {
        match self {
            Step::Output { tokens, .. } => tokens,
            _ => None,
        }
    }

    /// Whether text or a finish reason came: the answer proper lasts at least to here.
    pub fn has_text_or_finish(self) -> bool {
        self.has_text() || matches!(self, Step::Output { finished: true, .. })
    }
}

/// Reads one answer of one API.
#[derive(Debug)]
pub struct Decoder {
    api: Api,
    answer: Answer,
    template: Template,
    /// Whether the latest event said nothing but text, as others before it did.
    is_plain: bool,
    meter: Meter,
}

impl Decoder {
    /// A decoder before the first event. Texts are kept if `keep_bytes` says how many bytes of them at most.
    pub fn new(api: Api, keep_bytes: Option<usize>) -> Decoder {
        Decoder {
            api,
            answer: Answer::keeping(keep_bytes.map(Texts::with_room)),
            template: Template::default(),
            is_plain: false,
            meter: Meter::default(),
        }
    }

    /// The same beside other streams of one server, with which it shares what their events look like.
    pub fn sharing(mut self, layouts: &Layouts) -> Decoder {
        self.template = Template::sharing(layouts.clone());
        self
    }

    /// Takes the next event of a stream. Nothing that counts follows once the answer [is over](Self::is_over).
    pub fn event(&mut self, event: Event<'_>) -> Step {
        let is_ordinary = !event.is_failure();
        let recognised = if is_ordinary { self.template.recognise(event.data) } else { None };
        self.is_plain = recognised.is_some();
        if let Some((channel, text)) = recognised {
            return self.take_text(channel, text, self.template.usage);
        }
        let form = self.api.form();
        let meaning = read_event(form, event);
        if is_ordinary
            && let Meaning::Parts(parts) = &meaning
            && let Some((channel, text)) = parts.sole_text()
        {
            self.template.learn(form, event.data, (channel, text), parts.usage);
            return self.take_text(channel, text, parts.usage);
        }
        self.take(meaning)
    }

    /// Lends out the reading of events that say nothing but text, if the latest was one and the text need not be kept.
    /// No other event may come until [`Decoder::take_back`].
    pub fn lend(&mut self) -> Option<Plain> {
        if !self.is_plain || self.answer.texts.is_some() {
            return None;
        }
        let shape = self.template.lend()?;
        Some(Plain { shape, generated: Generated::Nothing })
    }

    /// Takes in what was read since [`Decoder::lend`]: the same as if each event had come [here](Decoder::event).
    pub fn take_back(&mut self, plain: Plain) {
        if plain.generated != Generated::Nothing {
            self.meter.pass();
            self.answer.note(plain.generated, None);
        }
        self.template.take_back(plain.shape);
    }

    /// Takes a whole answer that came as one document. A `data: [DONE]` after it is allowed.
    ///
    /// Its step tells what it holds, not when any of it was generated: no first token can be timed by it.
    pub fn document(&mut self, body: &[u8]) -> Step {
        let meaning = read_document(self.api.form(), body);
        self.answer.done |= matches!(meaning, Meaning::Parts(_));
        self.take(meaning)
    }

    /// Whether the API's end marker came, or a failure: reading may stop.
    pub fn is_over(&self) -> bool {
        self.answer.done || self.answer.failure.is_some()
    }

    /// What is known so far.
    pub fn answer(&self) -> &Answer {
        &self.answer
    }

    /// What is known, for good.
    pub fn into_answer(self) -> Answer {
        self.answer
    }

    /// An event of nothing but text and counts: the same as [`Decoder::take_parts`] on it, and most of a run's
    /// work.
    fn take_text(&mut self, channel: Channel, text: &str, usage: Option<Usage>) -> Step {
        let generated = channel.generated();
        if let Some(texts) = &mut self.answer.texts {
            match channel {
                Channel::Answer => texts.push_answer(text),
                Channel::Reasoning => texts.push_reasoning(text),
            }
        }
        let tokens = if usage.is_some() {
            self.note(generated, None, usage, true)
        } else {
            // The same in fewer steps: nearly all events come this way.
            self.meter.pass();
            self.answer.note(generated, None);
            None
        };
        Step::Output { generated, tokens, finished: false }
    }

    fn take(&mut self, meaning: Meaning<'_>) -> Step {
        match meaning {
            Meaning::Parts(parts) => self.take_parts(&parts),
            Meaning::Done => {
                self.answer.done = true;
                Step::Done
            }
            Meaning::Nothing => Step::Ignored,
            Meaning::Error(text) => {
                self.answer.fail(Failure::Error(text));
                Step::Error
            }
            Meaning::Malformed(text) => {
                self.answer.fail(Failure::Malformed(text));
                Step::Malformed
            }
        }
    }

    fn take_parts(&mut self, parts: &Parts<'_>) -> Step {
        let generated = if !parts.answer.is_empty() {
            Generated::Answer
        } else if !parts.reasoning.is_empty() || parts.has_tool_text() {
            Generated::Aside
        } else {
            Generated::Nothing
        };
        if let Some(texts) = &mut self.answer.texts {
            texts.push_answer(&parts.answer);
            texts.push_reasoning(&parts.reasoning);
            for piece in &parts.tool_calls {
                texts.push_tool_call(piece.index, &piece.name, &piece.arguments);
            }
        }
        let finished = !parts.finish_reason.is_empty();
        if finished {
            self.answer.finish(&parts.finish_reason);
        }
        let tokens = self.note(generated, parts.tokens, parts.usage, parts.choices > 0);
        let is_last = parts.place == Place::Last;
        self.answer.done |= is_last;
        if generated != Generated::Nothing || finished || tokens.is_some_and(|tokens| tokens > 0) {
            Step::Output { generated, tokens, finished }
        } else if is_last {
            Step::Done
        } else if parts.usage.is_some_and(|usage| usage != Usage::default()) {
            Step::Usage
        } else {
            Step::Ignored
        }
    }

    /// Notes what an event carries: text, tokens listed and usage stated. Returns how many tokens it carries, as
    /// far as that can be told. `is_output` says whether it is part of the answer proper.
    fn note(
        &mut self,
        generated: Generated,
        listed: Option<u64>,
        usage: Option<Usage>,
        is_output: bool,
    ) -> Option<u32> {
        let had_text = self.answer.generated != Generated::Nothing;
        let has_text = generated != Generated::Nothing;
        self.answer.note(generated, listed);
        if let Some(usage) = usage {
            self.answer.state(usage);
        }
        // A count of nothing beside text is not believed.
        let count =
            usage.and_then(|usage| usage.completion).filter(|count| *count > 0 || !(has_text || had_text));
        let metered = self.meter.read(count, has_text, is_output);
        listed.or(metered).map(|tokens| u32::try_from(tokens).unwrap_or(u32::MAX))
    }
}

/// Tokens of single events from token counts that a server states again and again.
///
/// The growth since the last count belongs to this event if nothing else came between and the event is part of
/// the answer. The first count of a stream must stand beside the first text: else it may be the only one, at
/// the end, of an answer whose tokens did not show.
#[derive(Debug, Default)]
struct Meter {
    completion: Option<u64>,
    /// Text came after the last count.
    has_passed_text: bool,
}

impl Meter {
    /// Notes an event with text and without a count.
    fn pass(&mut self) {
        self.has_passed_text = true;
    }

    /// Takes the `count` that an event states, if it does, and returns its growth if that is the event's own.
    fn read(&mut self, count: Option<u64>, has_text: bool, is_output: bool) -> Option<u64> {
        let Some(count) = count else {
            if has_text {
                self.pass();
            }
            return None;
        };
        let is_growth = !self.has_passed_text && (self.completion.is_some() || has_text);
        let grown = count.checked_sub(self.completion.unwrap_or(0));
        self.completion = self.completion.max(Some(count));
        self.has_passed_text = false;
        grown.filter(|_| is_growth && is_output)
    }
}

#[cfg(test)]
mod tests;
