//! Connections that can carry another request: idle ones, most recently used first, and those that carry many.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use tokio::sync::Notify;

use super::http2::{Session, USUAL_STREAMS};
use super::link::Link;

/// Who may use a connection: one user of a closed loop, or anybody.
pub(super) type Owner = Option<u32>;

/// Connections that wait for another request.
#[derive(Default)]
pub(super) struct Pool {
    idle: RefCell<BTreeMap<Owner, Vec<Link>>>,
    shared: RefCell<BTreeMap<Owner, Vec<Rc<Session>>>>,
    opening: RefCell<BTreeMap<Owner, Rc<Opening>>>,
}

/// A connection that is being opened, and will carry many.
#[derive(Default)]
pub(super) struct Opening {
    waiting: Cell<usize>,
    is_over: Cell<bool>,
    over: Notify,
}

/// Says that an opening is over, however it ended.
pub(super) struct Opener<'a> {
    pool: &'a Pool,
    owner: Owner,
}

impl Pool {
    /// A connection of `owner` that can carry a request now. Each candidate is polled once: servers close idle
    /// connections, and one found closed here costs no failure.
    pub(super) async fn checkout(&self, owner: Owner) -> Option<Link> {
        if let Some(link) = self.place(owner) {
            return Some(link);
        }
        poll_fn(|context| {
            loop {
                let Some(mut link) = self.idle.borrow_mut().get_mut(&owner).and_then(Vec::pop) else {
                    return Poll::Ready(None);
                };
                if link.poll_usable(context) {
                    return Poll::Ready(Some(link));
                }
            }
        })
        .await
    }

    /// Takes back a connection whose response has been read to its end.
    pub(super) fn give_back(&self, mut link: Link) {
        if link.is_shared() {
            return;
        }
        link.rest();
        self.idle.borrow_mut().entry(link.owner).or_default().push(link);
    }

    /// Lets others use the connection of `link`, if it can carry many.
    pub(super) fn share(&self, link: &Link) {
        if let Some(session) = link.session() {
            self.shared.borrow_mut().entry(link.owner).or_default().push(Rc::clone(session));
        }
    }

    /// A place on a connection that carries many.
    fn place(&self, owner: Owner) -> Option<Link> {
        let mut shared = self.shared.borrow_mut();
        let sessions = shared.get_mut(&owner)?;
        sessions.retain(|session| !session.is_over());
        let session = sessions.iter().find(|session| session.has_room())?;
        Some(Link::over_http2(session, owner))
    }

    /// The connection that is being opened for `owner`, if it may have room for one more.
    pub(super) fn join(&self, owner: Owner) -> Option<Rc<Opening>> {
        let opening = self.opening.borrow().get(&owner).cloned()?;
        // One place is the opener's own.
        let waiting = opening.waiting.replace(opening.waiting.get() + 1);
        (waiting + 1 < USUAL_STREAMS).then_some(opening)
    }

    /// Says that a connection of `owner` is being opened, for others to wait for.
    pub(super) fn begin(&self, owner: Owner) -> Opener<'_> {
        self.opening.borrow_mut().insert(owner, Rc::default());
        Opener { pool: self, owner }
    }
}

impl Opening {
    /// Completes when it has been opened, or has not.
    pub(super) async fn over(&self) {
        while !self.is_over.get() {
            self.over.notified().await;
        }
    }
}

impl Drop for Opener<'_> {
    fn drop(&mut self) {
        if let Some(opening) = self.pool.opening.borrow_mut().remove(&self.owner) {
            opening.is_over.set(true);
            opening.over.notify_waiters();
        }
    }
}
