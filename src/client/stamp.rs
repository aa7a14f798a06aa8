//! A byte stream that notes when bytes arrive.
//!
//! The time of an event is that of the read that completed it: when its bytes arrived by the kernel's account
//! where there is one, else when they were read. It is taken here, below HTTP and every parser, so that neither
//! parsing nor the order of tasks can bend it. One clock reading a read.

use std::cell::{Cell, RefCell};
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Notify;

use super::connect::ByteStream;
use super::tally::Tally;
use crate::clock::Clock;
use crate::record::StampSource;
use crate::units::Nanos;

/// When the latest bytes arrived, as the transport below knows it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Arrival {
    /// It keeps no such times.
    #[default]
    Untold,
    /// It does.
    Told {
        /// When these arrived; `None` where that is not known.
        at: Option<Nanos>,
        /// When they were read.
        read: Nanos,
    },
}

/// What one connection has carried, and when. Counters run over the connection's whole life. What every read
/// changes stands together in memory.
#[derive(Debug, Default)]
#[repr(C)]
pub(super) struct Meter {
    /// What the transport says of the latest bytes.
    pub(super) arrival: Cell<Arrival>,
    /// Time of the latest of them.
    pub(super) last_read: Cell<Nanos>,
    /// Reads that brought bytes.
    pub(super) reads: Cell<u64>,
    /// Bytes read.
    pub(super) received: Cell<u64>,
    /// Time of the first since [`Meter::begin`].
    pub(super) first_read: Cell<Option<Nanos>>,
    /// Arrivals since then that were unknown or impossible.
    pub(super) clamped: Cell<u64>,
    /// Longest time since then from an arrival to its read.
    pub(super) delay_max: Cell<Option<Duration>>,
    /// Token events of the present exchange that are counted as they come; `None` unless it sleeps.
    pub(super) tally: RefCell<Option<Tally>>,
    /// What came after those and nobody has taken.
    pub(super) uncounted: RefCell<Vec<u8>>,
    /// Time of the first write since [`Meter::begin`].
    pub(super) first_write: Cell<Option<Nanos>>,
    /// Time of the latest write.
    pub(super) last_write: Cell<Nanos>,
    /// Bytes written.
    pub(super) sent: Cell<u64>,
    /// Told at the first read of all.
    pub(super) heard: Notify,
}

impl Meter {
    /// Starts the account of another exchange on the same connection: nothing arrives for it before `now`.
    pub(super) fn begin(&self, now: Nanos) {
        self.last_read.set(now);
        self.first_read.set(None);
        self.clamped.set(0);
        self.delay_max.set(None);
        self.first_write.set(None);
        self.received.set(0);
        self.sent.set(0);
    }

    /// Where the times of the latest read come from, under a real clock.
    pub(super) fn source(&self) -> StampSource {
        match self.arrival.get() {
            Arrival::Untold => StampSource::Read,
            Arrival::Told { .. } => StampSource::Kernel,
        }
    }

    /// Notes a read. The bytes arrived after those of the read before, and before this one.
    fn read(&self, bytes: usize, clock: &Clock) {
        let at = match self.arrival.get() {
            Arrival::Untold => clock.now(),
            Arrival::Told { at: None, read } => {
                self.clamped.set(self.clamped.get() + 1);
                read
            }
            Arrival::Told { at: Some(told), read } => {
                let at = told.max(self.last_read.get()).min(read);
                if at != told {
                    self.clamped.set(self.clamped.get() + 1);
                }
                self.delay_max.set(self.delay_max.get().max(Some(read.since(at))));
                at
            }
        };
        self.last_read.set(at);
        if self.first_read.get().is_none() {
            self.first_read.set(Some(at));
        }
        if self.reads.replace(self.reads.get() + 1) == 0 {
            self.heard.notify_one();
        }
        self.received.set(self.received.get() + bytes as u64);
    }

    /// Notes `bytes` of one stream of the connection that `whole` is the meter of, with its latest read.
    pub(super) fn follow(&self, whole: &Meter, bytes: usize) {
        let at = whole.last_read.get();
        self.last_read.set(at);
        if self.first_read.get().is_none() {
            self.first_read.set(Some(at));
        }
        self.reads.set(whole.reads.get());
        self.received.set(self.received.get() + bytes as u64);
    }
}

/// A stream with a [`Meter`].
pub(super) struct Stamped<S> {
    stream: S,
    clock: Clock,
    meter: Rc<Meter>,
}

impl<S> Stamped<S> {
    /// The account of what it carries.
    pub(super) fn meter(&self) -> &Rc<Meter> {
        &self.meter
    }

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

/// Reads from `stream` into `room`; how many bytes, 0 at the end of the stream.
pub(super) fn fill(
    stream: &mut (impl AsyncRead + Unpin),
    context: &mut Context<'_>,
    room: &mut [u8],
) -> Poll<io::Result<usize>> {
    let mut buffer = ReadBuf::new(room);
    ready!(Pin::new(stream).poll_read(context, &mut buffer))?;
    Poll::Ready(Ok(buffer.filled().len()))
}

impl Stamped<ByteStream> {
    /// Reads into `room`, which no other memory stands before; how many bytes, 0 at the end of the stream.
    pub(super) fn poll_fill(
        &mut self,
        context: &mut Context<'_>,
        room: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let read = ready!(self.stream.poll_fill(context, room))?;
        if read > 0 {
            self.meter.read(read, &self.clock);
        }
        Poll::Ready(Ok(read))
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
            self.meter.read(read, &self.clock);
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
