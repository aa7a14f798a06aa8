//! One request's answer on its way: how many of its tokens there are.

use std::cell::Cell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use super::State;
use crate::sim::engine::Course;
use crate::sim::metrics::Times;
use crate::sim::request::{Finish, Id};
use crate::units::Nanos;

/// What the driver tells of one request.
pub(super) struct Progress {
    tokens: Cell<u64>,
    finish: Cell<Option<Finish>>,
    course: Cell<Course>,
    waiting: Cell<Option<Waker>>,
    pub(super) times: Cell<Times>,
    pub(super) prompt_tokens: u64,
    pub(super) max_tokens: Option<u64>,
}

impl Progress {
    /// Of a request that arrived at `arrived`.
    pub(super) fn new(arrived: Nanos, prompt_tokens: u64, max_tokens: Option<u64>) -> Progress {
        Progress {
            tokens: Cell::default(),
            finish: Cell::default(),
            course: Cell::default(),
            waiting: Cell::default(),
            times: Cell::new(Times { arrived, ..Times::default() }),
            prompt_tokens,
            max_tokens,
        }
    }

    /// There are `tokens` tokens now, the last of them if `finish` says so.
    pub(super) fn advance(&self, tokens: u64, finish: Option<Finish>, course: Course) {
        self.tokens.set(tokens);
        self.finish.set(finish);
        self.course.set(course);
        if let Some(waker) = self.waiting.take() {
            waker.wake();
        }
    }

    /// Tokens there are.
    pub(super) fn tokens(&self) -> u64 {
        self.tokens.get()
    }

    /// Why the last of them is the last one of all, if it is.
    pub(super) fn finish(&self) -> Option<Finish> {
        self.finish.get()
    }

    /// What became of the request up to its latest token.
    pub(super) fn course(&self) -> Course {
        self.course.get()
    }

    /// Wakes `context` at the next change.
    pub(super) fn wait(&self, context: &Context<'_>) {
        // Most often it is the same task that waits again.
        let waker = self.waiting.take().filter(|waker| waker.will_wake(context.waker()));
        self.waiting.set(Some(waker.unwrap_or_else(|| context.waker().clone())));
    }
}

/// A request in the engine's hands; dropping it cancels what is left of it.
pub(super) struct Generation {
    state: Rc<State>,
    id: Id,
    pub(super) progress: Rc<Progress>,
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
        poll_fn(|context| match self.progress.finish() {
            Some(finish) => Poll::Ready((self.progress.tokens(), finish)),
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
