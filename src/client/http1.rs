//! One HTTP/1.1 connection, polled in the task of the request that uses it: no driver task, no channel between.

use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body as _, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;

use super::connect::ByteStream;
use super::gate::Gate;
use super::link::{Read, read_of};
use super::stamp::{Meter, Stamped};
use super::tap::{Flow, Scratch, Tap, Valve, tap};
use crate::clock::Clock;

type Connection = http1::Connection<TokioIo<Tap>, Full<Bytes>>;

/// An open connection.
pub(super) struct Http1 {
    sender: SendRequest<Full<Bytes>>,
    /// `None` once it has ended, well or not. Its end of each channel goes with it, so that nobody waits for
    /// what will not come.
    connection: Option<Pin<Box<Connection>>>,
    /// Through which the connection wakes the task that drives it.
    gate: Arc<Gate>,
    gate_waker: Waker,
    /// To whom the gate leads: asked at every event, where the gate itself would have to be locked.
    driver: Waker,
    /// Where bodies are taken.
    valve: Valve,
}

impl Http1 {
    /// Speaks HTTP/1.1 over `stream`, reading into `scratch`.
    ///
    /// # Errors
    /// None that a new stream can raise in practice; hyper reserves the right.
    pub(super) async fn open(
        stream: ByteStream,
        clock: Clock,
        meter: &Rc<Meter>,
        scratch: &Scratch,
    ) -> hyper::Result<Http1> {
        let (tap, valve) = tap(Stamped::new(stream, clock, Rc::clone(meter)), scratch);
        let (sender, connection) = http1::Builder::new().writev(true).handshake(TokioIo::new(tap)).await?;
        let gate = Arc::new(Gate::default());
        let gate_waker = Waker::from(Arc::clone(&gate));
        let driver = Waker::noop().clone();
        Ok(Http1 { sender, connection: Some(Box::pin(connection)), gate, gate_waker, driver, valve })
    }

    /// Looks at an idle connection: whether it can carry another request. One that the server has closed, or
    /// on which it has said something nobody asked for, cannot.
    pub(super) fn poll_usable(&mut self, context: &mut Context<'_>) -> bool {
        self.drive(context);
        self.connection.is_some() && self.sender.is_ready()
    }

    /// Lets go of the task that drove it last.
    pub(super) fn rest(&mut self) {
        self.lead_to(Waker::noop());
        self.valve.rest();
    }

    fn lead_to(&mut self, task: &Waker) {
        if !self.driver.will_wake(task) {
            self.gate.lead_to(task);
            self.driver.clone_from(task);
        }
    }

    /// Sends `request` and waits for the head of the response.
    pub(super) fn send(
        &mut self,
        request: hyper::Request<Full<Bytes>>,
    ) -> impl Future<Output = hyper::Result<hyper::Response<Incoming>>> {
        self.valve.expect_head();
        let mut response = Box::pin(self.sender.send_request(request));
        std::future::poll_fn(move |context| {
            self.drive(context);
            response.as_mut().poll(context)
        })
    }

    /// Hands what has come of `body` to `take`.
    pub(super) fn poll_body(
        &mut self,
        body: &mut Incoming,
        context: &mut Context<'_>,
        mut take: impl FnMut(&[u8]),
    ) -> Poll<Read> {
        if let Flow::Data = ready!(self.valve.poll_body(context, &mut take)) {
            return Poll::Ready(Read::Data);
        }
        // The connection first: it hands over one frame a poll, so the meter's latest read is the one that
        // completed the frame.
        self.drive(context);
        // Only the connection brings the body on, and whoever waits for more drives it before: the body need wake
        // nobody, nor the connection when a piece is taken from it.
        let frame = self.gate.shut_for(|| pin!(body).poll_frame(&mut Context::from_waker(Waker::noop())));
        frame.map(|frame| {
            read_of(frame, |mut bytes| {
                self.valve.without_invented(&mut bytes);
                take(&bytes);
            })
        })
    }

    /// Lets tokens be counted until the body is next asked for, if that can be and `lend` allows it.
    pub(super) fn count(&self, context: &Context<'_>, lend: impl FnOnce() -> bool) {
        self.valve.count(context, lend);
    }

    fn drive(&mut self, context: &mut Context<'_>) {
        self.lead_to(context.waker());
        let Some(connection) = &mut self.connection else { return };
        // An error of the connection reaches whoever waits for the response or its body.
        if connection.as_mut().poll(&mut Context::from_waker(&self.gate_waker)).is_ready() {
            self.connection = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;
    use crate::client::tap::scratch;
    use crate::units::Nanos;

    #[test]
    fn a_request_on_a_connection_that_ended_after_it_was_looked_at_fails_at_once() {
        Clock::run_virtual(|clock| async move {
            let (mut server, client) = tokio::io::duplex(1 << 10);
            let stream = ByteStream::Memory(client);
            let mut link = Http1::open(stream, clock.clone(), &Rc::default(), &scratch()).await.unwrap();
            let request = || hyper::Request::new(Full::new(Bytes::new()));
            let answer = async {
                assert!(server.read(&mut [0; 1 << 10]).await.unwrap() > 0);
                server.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.unwrap();
            };
            let (response, ()) = tokio::join!(link.send(request()), answer);
            assert!(response.unwrap().status().is_success());
            assert!(poll_fn(|context| Poll::Ready(link.poll_usable(context))).await);
            drop(server);
            let answered = tokio::select! {
                biased;
                answered = link.send(request()) => answered,
                () = clock.sleep_until(Nanos(1)) => panic!("it waits for an answer"),
            };
            assert!(answered.unwrap_err().is_canceled());
        })
        .unwrap();
    }
}
