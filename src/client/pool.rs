//! Idle connections, most recently used first.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::task::Poll;

use super::link::Link;

/// Who may use an idle connection: one user of a closed loop, or anybody.
pub(super) type Owner = Option<u32>;

/// Connections that wait for another request.
#[derive(Default)]
pub(super) struct Pool {
    idle: RefCell<BTreeMap<Owner, Vec<Link>>>,
}

impl Pool {
    /// A connection of `owner` that can carry a request now. Each candidate is polled once: servers close idle
    /// connections, and one found closed here costs no failure.
    pub(super) async fn checkout(&self, owner: Owner) -> Option<Link> {
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
    pub(super) fn give_back(&self, link: Link) {
        link.rest();
        self.idle.borrow_mut().entry(link.owner).or_default().push(link);
    }
}
