//! What carries one exchange: a connection of its own under HTTP/1.1, a stream of a shared one under HTTP/2.

use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Frame, Incoming};
use hyper::{Request, Response};

use super::http1::Http1;
use super::http2::{Http2, Session};
use super::pool::Owner;
use super::stamp::Meter;

/// A way to the server that is open, and the account of what it carries.
pub(super) struct Link {
    way: Way,
    pub(super) meter: Rc<Meter>,
    pub(super) owner: Owner,
}

enum Way {
    Http1(Http1),
    Http2(Http2),
}

/// What a response body had to say.
pub(super) enum Read {
    /// Some of it, which has been handed over.
    Data,
    End,
    Failed(hyper::Error),
}

impl Link {
    /// A connection that carries one exchange at a time.
    pub(super) fn over_http1(connection: Http1, meter: Rc<Meter>, owner: Owner) -> Link {
        Link { way: Way::Http1(connection), meter, owner }
    }

    /// A place on a connection that carries many.
    pub(super) fn over_http2(session: &Rc<Session>, owner: Owner) -> Link {
        Link { way: Way::Http2(session.take_place()), meter: Rc::default(), owner }
    }

    /// The connection that others may use at the same time.
    pub(super) fn session(&self) -> Option<&Rc<Session>> {
        match &self.way {
            Way::Http1(_) => None,
            Way::Http2(stream) => Some(stream.session()),
        }
    }

    /// Whether others may use the same connection.
    pub(super) fn is_shared(&self) -> bool {
        self.session().is_some()
    }

    /// Looks at a connection: whether it can carry another request now.
    pub(super) fn poll_usable(&mut self, context: &mut Context<'_>) -> bool {
        match &mut self.way {
            Way::Http1(connection) => connection.poll_usable(context),
            Way::Http2(stream) => stream.is_usable(),
        }
    }

    /// Lets go of the task that used it last.
    pub(super) fn rest(&mut self) {
        if let Way::Http1(connection) = &mut self.way {
            connection.rest();
        }
    }

    /// Sends `request` and waits for the head of the response.
    pub(super) async fn send(&mut self, request: Request<Full<Bytes>>) -> hyper::Result<Response<Incoming>> {
        match &mut self.way {
            Way::Http1(connection) => connection.send(request).await,
            Way::Http2(stream) => stream.send(request, &self.meter).await,
        }
    }

    /// Hands what has come of `body` to `take`, with the account of the read that brought it.
    pub(super) fn poll_body(
        &mut self,
        body: &mut Incoming,
        context: &mut Context<'_>,
        mut take: impl FnMut(&Meter, &[u8]),
    ) -> Poll<Read> {
        let Link { way, meter, .. } = self;
        let mut take = |bytes: &[u8]| take(meter, bytes);
        match way {
            Way::Http1(connection) => connection.poll_body(body, context, take),
            Way::Http2(stream) => {
                stream.poll_frame(body, meter, context).map(|frame| read_of(frame, |bytes| take(&bytes)))
            }
        }
    }

    /// Lets tokens be counted until the body is next asked for, if that can be and `lend` allows it.
    pub(super) fn count(&self, context: &Context<'_>, lend: impl FnOnce() -> bool) {
        if let Way::Http1(connection) = &self.way {
            connection.count(context, lend);
        }
    }
}

/// What a frame of a body says, its data handed to `take`. Trailers are no data: an empty piece.
pub(super) fn read_of(frame: Option<hyper::Result<Frame<Bytes>>>, take: impl FnOnce(Bytes)) -> Read {
    match frame {
        None => Read::End,
        Some(Err(error)) => Read::Failed(error),
        Some(Ok(frame)) => {
            take(frame.into_data().unwrap_or_default());
            Read::Data
        }
    }
}
