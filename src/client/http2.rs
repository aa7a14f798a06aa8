//! HTTP/2: connections that carry many exchanges at once, each driven by tasks of its own.
//!
//! The bytes of a connection belong to all its streams, and the kernel's times to none of them: an event has the
//! time of the read that was the latest when its piece was taken, never before it arrived.

use std::cell::{Cell, RefCell};
use std::error::Error as _;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body as _, Frame, Incoming};
use hyper::client::conn::http2::{self, SendRequest};
use hyper::header;
use hyper::http::uri::{Authority, Parts, Scheme};
use hyper::{Request, Response, Uri};
use hyper_util::rt::TokioIo;
use tokio::sync::Notify;

use super::connect::ByteStream;
use super::stamp::{Meter, Stamped};
use crate::clock::Clock;

/// So many streams are taken to fit on a connection whose server has not said how many it allows: the number that
/// RFC 9113 asks of servers at least.
pub(super) const USUAL_STREAMS: usize = 100;

type Connection = http2::Connection<TokioIo<Stamped<ByteStream>>, Full<Bytes>, OnThisThread>;

/// Where requests go, as each says in full under HTTP/2.
#[derive(Clone, Debug)]
pub(super) struct Origin {
    pub(super) scheme: Scheme,
    pub(super) authority: Authority,
}

/// An open connection.
pub(super) struct Session {
    sender: SendRequest<Full<Bytes>>,
    connection: Rc<Driven>,
    origin: Origin,
    /// What the whole connection has read.
    meter: Rc<Meter>,
    /// Places that are taken.
    open: Cell<usize>,
}

/// A place on a connection.
pub(super) struct Http2 {
    session: Rc<Session>,
    sender: SendRequest<Full<Bytes>>,
}

/// A connection until its end.
struct Driven {
    connection: RefCell<Option<Connection>>,
    ended: Notify,
}

impl Driven {
    async fn drive(self: Rc<Driven>) {
        // Its errors reach the streams they break.
        let _ = poll_fn(|context| match &mut *self.connection.borrow_mut() {
            Some(connection) => Pin::new(connection).poll(context),
            None => Poll::Ready(Ok(())),
        })
        .await;
        // Requests that had not been taken from it are let go with it.
        self.connection.take();
        self.ended.notify_one();
    }

    /// How many streams the server allows.
    fn streams(&self) -> usize {
        self.connection.borrow().as_ref().map_or(0, Connection::current_max_send_streams)
    }
}

impl Session {
    /// Speaks HTTP/2 over `stream` and waits for the server's first word, which says how many streams it allows.
    ///
    /// # Errors
    /// What the row says of a server that does not.
    pub(super) async fn open(
        stream: ByteStream,
        clock: Clock,
        origin: Origin,
    ) -> Result<Rc<Session>, String> {
        let meter: Rc<Meter> = Rc::default();
        let stamped = TokioIo::new(Stamped::new(stream, clock, Rc::clone(&meter)));
        let shaken = http2::Builder::new(OnThisThread)
            .initial_max_send_streams(USUAL_STREAMS)
            .handshake(stamped)
            .await;
        let (sender, connection) = shaken.map_err(|error| error.to_string())?;
        let connection = Rc::new(Driven { connection: RefCell::new(Some(connection)), ended: Notify::new() });
        tokio::task::spawn_local(Rc::clone(&connection).drive());
        tokio::select! {
            biased;
            () = meter.heard.notified() => {}
            () = connection.ended.notified() => {}
        }
        // Whoever reads it has told before looking at what it was.
        tokio::task::yield_now().await;
        if sender.is_closed() {
            return Err("the server does not speak HTTP/2".to_owned());
        }
        Ok(Rc::new(Session { sender, connection, origin, meter, open: Cell::new(0) }))
    }

    /// Whether it takes no more requests.
    pub(super) fn is_over(&self) -> bool {
        self.sender.is_closed()
    }

    /// Whether the server allows another stream now.
    pub(super) fn has_room(&self) -> bool {
        !self.is_over() && self.open.get() < self.connection.streams()
    }

    pub(super) fn take_place(self: &Rc<Session>) -> Http2 {
        self.open.set(self.open.get() + 1);
        Http2 { session: Rc::clone(self), sender: self.sender.clone() }
    }
}

impl Http2 {
    pub(super) fn session(&self) -> &Rc<Session> {
        &self.session
    }

    pub(super) fn is_usable(&self) -> bool {
        !self.session.is_over()
    }

    /// Sends `request` and waits for the head of the response, noting in `meter` what is this stream's own.
    pub(super) async fn send(
        &mut self,
        mut request: Request<Full<Bytes>>,
        meter: &Meter,
    ) -> hyper::Result<Response<Incoming>> {
        self.session.origin.address(&mut request);
        meter.sent.set(request.body().size_hint().lower());
        let response = self.sender.send_request(request).await?;
        meter.follow(&self.session.meter, 0);
        Ok(response)
    }

    /// The next frame of `body`, as far as it has arrived.
    pub(super) fn poll_frame(
        &mut self,
        body: &mut Incoming,
        meter: &Meter,
        context: &mut Context<'_>,
    ) -> Poll<Option<hyper::Result<Frame<Bytes>>>> {
        let frame = pin!(body).poll_frame(context);
        if let Poll::Ready(Some(Ok(frame))) = &frame
            && let Some(bytes) = frame.data_ref()
        {
            meter.follow(&self.session.meter, bytes.len());
        }
        frame
    }
}

impl Drop for Http2 {
    fn drop(&mut self) {
        self.session.open.set(self.session.open.get() - 1);
    }
}

impl Origin {
    /// Makes a request for HTTP/1.1 one for HTTP/2: its address whole, and nothing said of the connection.
    fn address(&self, request: &mut Request<Full<Bytes>>) {
        let mut parts = Parts::default();
        parts.scheme = Some(self.scheme.clone());
        parts.authority = Some(self.authority.clone());
        parts.path_and_query = request.uri().path_and_query().cloned();
        if let Ok(uri) = Uri::from_parts(parts) {
            *request.uri_mut() = uri;
        }
        request.headers_mut().remove(header::HOST);
        request.headers_mut().remove(header::CONNECTION);
    }
}

/// What went wrong by the rules of HTTP/2, if anything did.
pub(super) fn cause(error: &hyper::Error) -> Option<&h2::Error> {
    error.source().and_then(|cause| cause.downcast_ref())
}

/// Whether the server ended this stream by itself, other than to say that it has not looked at the request.
pub(super) fn was_reset(error: &hyper::Error) -> bool {
    let is_answer = |cause: &h2::Error| {
        cause.is_reset() && cause.is_remote() && cause.reason() != Some(h2::Reason::REFUSED_STREAM)
    };
    cause(error).is_some_and(is_answer)
}

/// Whether the server broke the rules of HTTP/2.
pub(super) fn broke_rules(error: &hyper::Error) -> bool {
    cause(error).is_some_and(|cause| cause.is_library() && cause.reason() != Some(h2::Reason::NO_ERROR))
}

/// Spawns what a connection is made of where its requests live.
#[derive(Clone, Copy, Debug)]
struct OnThisThread;

impl<F: Future + 'static> hyper::rt::Executor<F> for OnThisThread {
    fn execute(&self, future: F) {
        tokio::task::spawn_local(async move {
            future.await;
        });
    }
}
