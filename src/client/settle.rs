//! What becomes of a connection whose answer is over.

use std::future::{Future as _, poll_fn};
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::Incoming;

use super::Client;
use super::link::{Link, Read};
use crate::scenario::Connections;

/// How long the connection of a finished answer may take to end the response before it is given up.
const LINGER: Duration = Duration::from_secs(1);
/// How much it may say until then.
const TRAILING_LIMIT_BYTES: usize = 64 << 10;

/// Gives `link` back to the pool once `body` is at its end. A server may hold the end back for a while after the
/// last event; that is waited for beside the schedule, not in it.
pub(super) async fn settle(client: &Client, mut link: Link, mut body: Incoming) {
    if client.connections == Connections::PerRequest {
        return;
    }
    let pool = Rc::clone(&client.pool);
    let mut room_bytes = TRAILING_LIMIT_BYTES;
    let now = poll_fn(|context| Poll::Ready(at_end(&mut link, &mut body, &mut room_bytes, context))).await;
    match now {
        Poll::Ready(true) => pool.give_back(link),
        Poll::Ready(false) => {}
        Poll::Pending => {
            let mut expiry = Box::pin(client.clock.sleep(LINGER));
            tokio::task::spawn_local(async move {
                let ended = poll_fn(|context| match at_end(&mut link, &mut body, &mut room_bytes, context) {
                    Poll::Ready(ended) => Poll::Ready(ended),
                    Poll::Pending => expiry.as_mut().poll(context).map(|()| false),
                });
                if ended.await {
                    pool.give_back(link);
                }
            });
        }
    }
}

/// Reads on to the end of a response: ready with whether there was a clean one within `room_bytes`.
fn at_end(
    link: &mut Link,
    body: &mut Incoming,
    room_bytes: &mut usize,
    context: &mut Context<'_>,
) -> Poll<bool> {
    loop {
        let mut room = Some(*room_bytes);
        let read = link.poll_body(body, context, |_, bytes| {
            room = room.and_then(|room| room.checked_sub(bytes.len()));
        });
        let Some(room) = room else { return Poll::Ready(false) };
        *room_bytes = room;
        match read {
            Poll::Ready(Read::Data) => {}
            Poll::Ready(Read::End) => return Poll::Ready(true),
            Poll::Ready(Read::Failed(_)) => return Poll::Ready(false),
            Poll::Pending => return Poll::Pending,
        }
    }
}
