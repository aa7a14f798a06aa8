//! One request's answer on its way: how many tokens there are, and the body that writes them.

use std::cell::Cell;
use std::convert::Infallible;
use std::future::poll_fn;
use std::mem;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use hyper::body::{Frame, SizeHint};

use super::State;
use crate::sim::answer::Answer;
use crate::sim::frames::{Frames, Usage};
use crate::sim::request::{Finish, Id};

/// What the driver tells of one request.
#[derive(Default)]
pub(super) struct Progress {
    tokens: Cell<u64>,
    finish: Cell<Option<Finish>>,
    waiting: Cell<Option<Waker>>,
}

impl Progress {
    /// There are `tokens` tokens now, the last of them if `finish` says so.
    pub(super) fn advance(&self, tokens: u64, finish: Option<Finish>) {
        self.tokens.set(tokens);
        self.finish.set(finish);
        if let Some(waker) = self.waiting.take() {
            waker.wake();
        }
    }

    fn wait(&self, context: &Context<'_>) {
        self.waiting.set(Some(context.waker().clone()));
    }
}

/// A request in the engine's hands; dropping it cancels what is left of it.
pub(super) struct Generation {
    state: Rc<State>,
    id: Id,
    progress: Rc<Progress>,
}

impl Generation {
    pub(super) fn new(state: Rc<State>, id: Id, progress: Rc<Progress>) -> Generation {
        Generation { state, id, progress }
    }

    pub(super) fn id(&self) -> Id {
        self.id
    }

    /// Waits for the last token: how many there are, and why it is the last.
    pub(super) async fn finished(&mut self) -> (u64, Finish) {
        poll_fn(|context| match self.progress.finish.get() {
            Some(finish) => Poll::Ready((self.progress.tokens.get(), finish)),
            None => {
                self.progress.wait(context);
                Poll::Pending
            }
        })
        .await
    }
}

impl Drop for Generation {
    fn drop(&mut self) {
        self.state.cancel(self.id);
    }
}

/// The body of a response.
pub(super) enum Body {
    /// In one piece.
    Whole(Bytes),
    /// As a stream of events, one a frame.
    Streamed(Box<Stream>),
}

/// A streamed answer.
pub(super) struct Stream {
    generation: Generation,
    frames: Frames,
    answer: Answer,
    /// The prompt's tokens, if the usage is to be told.
    usage_of: Option<u64>,
    next: Event,
}

/// The event to write next.
enum Event {
    Role,
    Token(u64),
    Usage(u64),
    Done,
    None,
}

impl Body {
    pub(super) fn streamed(
        generation: Generation,
        frames: Frames,
        answer: Answer,
        usage_of: Option<u64>,
    ) -> Body {
        Body::Streamed(Box::new(Stream { generation, frames, answer, usage_of, next: Event::Role }))
    }
}

impl Stream {
    fn poll_event(&mut self, context: &Context<'_>) -> Poll<Option<Bytes>> {
        let progress = &self.generation.progress;
        let tokens = progress.tokens.get();
        let (event, next) = match self.next {
            Event::Role if tokens > 0 => (self.frames.role(), Event::Token(0)),
            Event::Token(index) if index < tokens => {
                (self.frames.token(self.answer, index), Event::Token(index + 1))
            }
            Event::Token(index) if let Some(finish) = progress.finish.get() => {
                (self.frames.finish(finish), self.usage_of.map_or(Event::Done, |_| Event::Usage(index)))
            }
            Event::Role | Event::Token(_) => {
                progress.wait(context);
                return Poll::Pending;
            }
            Event::Usage(completion_tokens) => {
                let prompt_tokens = self.usage_of.unwrap_or_default();
                (self.frames.usage(Usage { prompt_tokens, completion_tokens }), Event::Done)
            }
            Event::Done => (Frames::done(), Event::None),
            Event::None => return Poll::Ready(None),
        };
        self.next = next;
        Poll::Ready(Some(event))
    }
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let data = match self.get_mut() {
            Body::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Body::Whole(bytes) => Poll::Ready(Some(mem::take(bytes))),
            Body::Streamed(stream) => stream.poll_event(context),
        };
        data.map(|data| data.map(|data| Ok(Frame::data(data))))
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Body::Whole(bytes) => bytes.is_empty(),
            Body::Streamed(stream) => matches!(stream.next, Event::None),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Body::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Body::Streamed(_) => SizeHint::default(),
        }
    }
}
