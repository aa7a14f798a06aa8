//! One HTTP/1.1 connection, polled in the task of the request that uses it: no driver task, no channel between.

use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body as _, Frame, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;

use super::connect::ByteStream;
use super::stamp::{Meter, Stamped};
use crate::clock::Clock;

type Connection = http1::Connection<TokioIo<Stamped<ByteStream>>, Full<Bytes>>;

/// An open connection and the account of what it carries.
pub(super) struct Link {
    sender: SendRequest<Full<Bytes>>,
    connection: Pin<Box<Connection>>,
    pub(super) meter: Rc<Meter>,
    /// The connection has ended, well or not, and must not be polled again.
    over: bool,
}

/// What a response body had to say.
pub(super) enum Read {
    Data(Bytes),
    End,
    Failed(hyper::Error),
}

impl Link {
    /// Speaks HTTP/1.1 over `stream`.
    ///
    /// # Errors
    /// None that a new stream can raise in practice; hyper reserves the right.
    pub(super) async fn open(stream: ByteStream, clock: Clock) -> hyper::Result<Link> {
        let meter = Rc::new(Meter::default());
        let stamped = Stamped::new(stream, clock, Rc::clone(&meter));
        let (sender, connection) =
            http1::Builder::new().writev(true).handshake(TokioIo::new(stamped)).await?;
        Ok(Link { sender, connection: Box::pin(connection), meter, over: false })
    }

    /// Looks at an idle connection: whether it can carry another request. One that the server has closed, or
    /// on which it has said something nobody asked for, cannot.
    pub(super) fn poll_usable(&mut self, context: &mut Context<'_>) -> bool {
        self.drive(context);
        !self.over && self.sender.is_ready()
    }

    /// Sends `request` and waits for the head of the response.
    pub(super) fn send(
        &mut self,
        request: hyper::Request<Full<Bytes>>,
    ) -> impl Future<Output = hyper::Result<hyper::Response<Incoming>>> {
        let mut response = Box::pin(self.sender.send_request(request));
        std::future::poll_fn(move |context| {
            self.drive(context);
            response.as_mut().poll(context)
        })
    }

    /// The next piece of `body`, as far as it has arrived.
    pub(super) fn poll_body(&mut self, body: &mut Incoming, context: &mut Context<'_>) -> Poll<Read> {
        // The connection first: it hands over one frame a poll, so the meter's latest read is the one that
        // completed the frame.
        self.drive(context);
        match pin!(body).poll_frame(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(None) => Poll::Ready(Read::End),
            Poll::Ready(Some(Err(error))) => Poll::Ready(Read::Failed(error)),
            Poll::Ready(Some(Ok(frame))) => Poll::Ready(Read::Data(data_of(frame))),
        }
    }

    fn drive(&mut self, context: &mut Context<'_>) {
        // An error of the connection reaches whoever waits for the response or its body.
        if !self.over && self.connection.as_mut().poll(context).is_ready() {
            self.over = true;
        }
    }
}

/// Trailers are no data: an empty piece.
fn data_of(frame: Frame<Bytes>) -> Bytes {
    frame.into_data().unwrap_or_default()
}
