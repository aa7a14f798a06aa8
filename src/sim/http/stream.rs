//! The body of a response: whole, or a stream that writes the events it owes as its connection takes them.

use std::convert::Infallible;
use std::future::Future as _;
use std::mem;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use hyper::body::{Frame, SizeHint};

use super::generation::Generation;
use super::wire::{Busy, Control};
use crate::clock::{Clock, Sleep};
use crate::sim::answer::Answer;
use crate::sim::ask::StreamUsage;
use crate::sim::fault::{Ending, ErrorShape, Manner, Missing, Role, Stage, UsageManner};
use crate::sim::frames::{Frames, Usage};

/// The body of a response.
pub(super) struct Body {
    content: Content,
    /// Says that the connection is not idle.
    _busy: Busy,
}

enum Content {
    /// In one piece.
    Whole(Bytes),
    /// As a stream of events.
    Streamed(Box<Stream>),
}

/// A streamed answer.
pub(super) struct Stream {
    pub(super) generation: Generation,
    pub(super) frames: Frames,
    pub(super) answer: Answer,
    pub(super) usage: StreamUsage,
    /// Whether usage tells cached tokens.
    pub(super) caching: bool,
    pub(super) manner: Manner,
    pub(super) control: Rc<Control>,
    pub(super) clock: Clock,
    pub(super) flow: Flow,
}

/// Where a stream is.
#[derive(Default)]
pub(super) struct Flow {
    next: Event,
    /// Empty events before the next token, so far.
    empty_events: u64,
    pause: Option<Pin<Box<Sleep>>>,
    ping: Option<Pin<Box<Sleep>>>,
    /// What is held back, and how many events it is.
    held: BytesMut,
    held_events: u64,
}

/// The event to write next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Event {
    #[default]
    Role,
    Token(u64),
    Finish,
    Usage,
    Done,
    End,
}

/// What a look at the stream gives.
enum Look {
    /// An event to write.
    Event(Bytes),
    /// Nothing to write here: look again.
    Again,
    /// Nothing yet.
    Wait,
    /// Nothing for ever, but the connection stays.
    Never,
    End,
}

impl Body {
    pub(super) fn whole(bytes: impl Into<Bytes>, busy: Busy) -> Body {
        Body { content: Content::Whole(bytes.into()), _busy: busy }
    }

    pub(super) fn streamed(stream: Box<Stream>, busy: Busy) -> Body {
        Body { content: Content::Streamed(stream), _busy: busy }
    }
}

impl Stream {
    /// What goes out next: an event, or several where they are held back.
    fn poll_data(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if self.manner.buffer_bytes.is_none() && self.manner.events_a_write == 1 {
            return self.poll_event(context);
        }
        loop {
            let Poll::Ready(event) = self.poll_event(context) else { return Poll::Pending };
            let flow = &mut self.flow;
            match event {
                Some(event) => {
                    flow.held.extend_from_slice(&event);
                    flow.held_events += 1;
                }
                None if flow.held.is_empty() => return Poll::Ready(None),
                None => return Poll::Ready(Some(flow.held.split().freeze())),
            }
            let full = match self.manner.buffer_bytes {
                Some(bytes) => flow.held.len() >= bytes,
                None => flow.held_events >= self.manner.events_a_write,
            };
            if full {
                flow.held_events = 0;
                return Poll::Ready(Some(flow.held.split().freeze()));
            }
        }
    }

    fn poll_event(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        loop {
            if let Some(pause) = &mut self.flow.pause {
                if pause.as_mut().poll(context).is_pending() {
                    return self.poll_ping(context).map(Some);
                }
                self.flow.pause = None;
            }
            match self.look() {
                Look::Event(event) => {
                    self.flow.ping = None;
                    return Poll::Ready(Some(event));
                }
                Look::Again => {}
                Look::Wait => {
                    self.generation.progress.wait(context);
                    return self.poll_ping(context).map(Some);
                }
                Look::Never => return Poll::Pending,
                Look::End => return Poll::Ready(None),
            }
        }
    }

    /// A comment, if nothing came for long enough.
    fn poll_ping(&mut self, context: &mut Context<'_>) -> Poll<Bytes> {
        let Some(every) = self.manner.ping else { return Poll::Pending };
        let ping = self.flow.ping.get_or_insert_with(|| Box::pin(self.clock.sleep(every)));
        if ping.as_mut().poll(context).is_pending() {
            return Poll::Pending;
        }
        self.flow.ping = None;
        Poll::Ready(self.frames.comment())
    }

    fn look(&mut self) -> Look {
        match self.flow.next {
            Event::Role => {
                if self.generation.progress.tokens() == 0 && self.manner.role != Role::Early {
                    return Look::Wait;
                }
                self.flow.next = Event::Token(0);
                self.frames.role(self.manner.role).map_or(Look::Again, Look::Event)
            }
            Event::Token(index) => match self.deviate(index) {
                Some(look) => look,
                None => self.token(index),
            },
            Event::Finish => {
                self.flow.next = Event::Usage;
                if matches!(self.manner.missing, Some(Missing::Finish | Missing::Both)) {
                    return Look::Again;
                }
                let Some(finish) = self.generation.progress.finish() else { return Look::Wait };
                let in_finish = self.manner.usage == UsageManner::InFinish;
                let tells = in_finish || self.usage == StreamUsage::Continuous;
                let usage = tells.then(|| self.usage(self.generation.progress.tokens()));
                Look::Event(self.frames.finish(finish, usage))
            }
            Event::Usage => {
                if let UsageManner::Late(after) = self.manner.usage {
                    self.manner.usage = UsageManner::Proper;
                    self.flow.pause = Some(Box::pin(self.clock.sleep(after)));
                    return Look::Again;
                }
                self.closing_usage()
            }
            Event::Done => {
                self.flow.next = Event::End;
                if matches!(self.manner.missing, Some(Missing::Done | Missing::Both)) {
                    return Look::Again;
                }
                Look::Event(self.frames.done())
            }
            Event::End => Look::End,
        }
    }

    /// The next token, or several, as far as there are any.
    fn token(&mut self, index: u64) -> Look {
        let progress = &self.generation.progress;
        let (tokens, is_last) = (progress.tokens(), progress.finish().is_some());
        if index >= tokens {
            if !is_last {
                return Look::Wait;
            }
            self.flow.next = Event::Finish;
            return Look::Again;
        }
        if self.flow.empty_events < self.manner.empty_events {
            self.flow.empty_events += 1;
            return Look::Event(self.frames.empty());
        }
        let first = self.answer.token(index);
        let mut end = index + 1;
        if self.manner.tokens_an_event > 1 {
            let marks = [self.answer.thoughts(), self.next_mark(index)];
            end = marks
                .into_iter()
                .filter(|mark| *mark > index)
                .fold(index.saturating_add(self.manner.tokens_an_event), u64::min);
            if end > tokens && !is_last {
                return Look::Wait;
            }
            end = end.min(tokens);
        }
        self.flow.next = Event::Token(end);
        self.flow.empty_events = 0;
        let usage = (self.usage == StreamUsage::Continuous).then(|| self.usage(end));
        if end > index + 1 {
            let tokens = (index..end).map(|index| self.answer.token(index));
            return Look::Event(self.frames.tokens(tokens, usage));
        }
        // A token that a stop string swallowed has nothing to show.
        if first.text.is_empty() {
            return Look::Again;
        }
        Look::Event(self.frames.token(first, usage))
    }

    /// What happens instead of token `index`, if something does.
    fn deviate(&mut self, index: u64) -> Option<Look> {
        let manner = &mut self.manner;
        if let Some((_, pause)) = manner.stall.take_if(|(after, _)| index >= *after) {
            self.flow.pause = Some(Box::pin(self.clock.sleep(pause)));
            return Some(Look::Again);
        }
        if let Some((shape, _)) = manner.error.filter(|(_, after)| index >= *after) {
            self.flow.next = match shape {
                ErrorShape::Object | ErrorShape::Choices | ErrorShape::Field => Event::Done,
                ErrorShape::Text | ErrorShape::Event | ErrorShape::Detail => Event::End,
            };
            return Some(Look::Event(self.frames.error(shape)));
        }
        if manner.malformed_after.is_some_and(|after| index >= after)
            && index < self.generation.progress.tokens()
        {
            manner.malformed_after = None;
            self.flow.next = Event::Token(index + 1);
            return Some(Look::Event(self.frames.malformed(self.answer.token(index))));
        }
        let (stage, ending) = manner.end?;
        if !matches!(stage, Stage::Tokens(after) if index >= after) {
            return None;
        }
        Some(match ending {
            Ending::Hang => Look::Never,
            Ending::Truncate => {
                self.flow.next = Event::End;
                Look::Again
            }
            Ending::Reset | Ending::Cut => {
                self.control.end(ending);
                Look::Never
            }
        })
    }

    /// The next token after `index` at which something happens.
    fn next_mark(&self, index: u64) -> u64 {
        let Manner { stall, error, malformed_after, end, .. } = &self.manner;
        let end = match end {
            Some((Stage::Tokens(after), _)) => Some(*after),
            _ => None,
        };
        let marks = [stall.map(|(after, _)| after), error.map(|(_, after)| after), *malformed_after, end];
        marks.into_iter().flatten().filter(|mark| *mark > index).min().unwrap_or(u64::MAX)
    }

    fn closing_usage(&mut self) -> Look {
        self.flow.next = Event::Done;
        let zero = Usage::default();
        match self.manner.usage {
            _ if self.usage == StreamUsage::None => Look::Again,
            UsageManner::Absent | UsageManner::InFinish => Look::Again,
            UsageManner::Zero => Look::Event(self.frames.usage(zero)),
            UsageManner::Proper | UsageManner::Late(_) => {
                let usage = self.usage(self.generation.progress.tokens());
                Look::Event(self.frames.usage(usage))
            }
        }
    }

    /// The usage after so many tokens.
    fn usage(&self, completion_tokens: u64) -> Usage {
        let thoughts = self.answer.thoughts();
        Usage {
            prompt_tokens: self.generation.progress.prompt_tokens,
            completion_tokens,
            cached_tokens: self.caching.then(|| self.generation.progress.course().cached_tokens),
            reasoning_tokens: (thoughts > 0).then(|| thoughts.min(completion_tokens)),
        }
    }

    fn is_over(&self) -> bool {
        self.flow.next == Event::End && self.flow.held.is_empty()
    }
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let data = match &mut self.get_mut().content {
            Content::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Content::Whole(bytes) => Poll::Ready(Some(mem::take(bytes))),
            Content::Streamed(stream) => stream.poll_data(context),
        };
        data.map(|data| data.map(|data| Ok(Frame::data(data))))
    }

    fn is_end_stream(&self) -> bool {
        match &self.content {
            Content::Whole(bytes) => bytes.is_empty(),
            Content::Streamed(stream) => stream.is_over(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            Content::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Content::Streamed(_) => SizeHint::default(),
        }
    }
}
