//! Idle connections, most recently used first.

use std::cell::RefCell;
use std::future::poll_fn;
use std::task::Poll;

use super::link::Link;

/// Connections that wait for another request.
#[derive(Default)]
pub(super) struct Pool {
    idle: RefCell<Vec<Link>>,
}

impl Pool {
    /// A connection that can carry a request now. Each candidate is polled once: servers close idle
    /// connections, and one found closed here costs no failure.
    pub(super) async fn checkout(&self) -> Option<Link> {
        poll_fn(|context| {
            loop {
                let Some(mut link) = self.idle.borrow_mut().pop() else { return Poll::Ready(None) };
                if link.poll_usable(context) {
                    return Poll::Ready(Some(link));
                }
            }
        })
        .await
    }

    /// Takes back a connection whose response has been read to its end.
    pub(super) fn give_back(&self, link: Link) {
        self.idle.borrow_mut().push(link);
    }
}
