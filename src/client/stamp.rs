//! A byte stream that notes when bytes arrive.
//!
//! The time of an event is the time of the read that completed it. It is taken here, below HTTP and every
//! parser, so that neither parsing nor the order of tasks can bend it. One clock reading a read.

use std::cell::Cell;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::clock::Clock;
use crate::units::Nanos;

/// What one connection has carried, and when. Counters run over the connection's whole life.
#[derive(Debug, Default)]
pub(super) struct Meter {
    /// Time of the latest read that brought bytes.
    pub(super) last_read: Cell<Nanos>,
    /// Time of the first such read since [`Meter::begin`].
    pub(super) first_read: Cell<Option<Nanos>>,
    /// Time of the first write since [`Meter::begin`].
    pub(super) first_write: Cell<Option<Nanos>>,
    /// Time of the latest write.
    pub(super) last_write: Cell<Nanos>,
    /// Bytes read.
    pub(super) received: Cell<u64>,
    /// Bytes written.
    pub(super) sent: Cell<u64>,
}

impl Meter {
    /// Starts the account of another exchange on the same connection.
    pub(super) fn begin(&self) {
        self.first_read.set(None);
        self.first_write.set(None);
        self.received.set(0);
        self.sent.set(0);
    }
}

/// A stream with a [`Meter`].
pub(super) struct Stamped<S> {
    stream: S,
    clock: Clock,
    meter: Rc<Meter>,
}

impl<S> Stamped<S> {
    pub(super) fn new(stream: S, clock: Clock, meter: Rc<Meter>) -> Stamped<S> {
        Stamped { stream, clock, meter }
    }

    fn wrote(&self, written: usize) {
        let now = self.clock.now();
        if self.meter.first_write.get().is_none() {
            self.meter.first_write.set(Some(now));
        }
        self.meter.last_write.set(now);
        self.meter.sent.set(self.meter.sent.get() + written as u64);
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Stamped<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        let read = buffer.filled().len() - before;
        if read > 0 {
            let now = self.clock.now();
            self.meter.last_read.set(now);
            if self.meter.first_read.get().is_none() {
                self.meter.first_read.set(Some(now));
            }
            self.meter.received.set(self.meter.received.get() + read as u64);
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Stamped<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write(context, bytes))?;
        self.wrote(written);
        Poll::Ready(Ok(written))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write_vectored(context, slices))?;
        self.wrote(written);
        Poll::Ready(Ok(written))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
