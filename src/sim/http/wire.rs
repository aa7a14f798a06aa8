//! The byte stream under a connection, which can be slowed, cut and reset.

use std::cell::Cell;
use std::future::Future as _;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::clock::{Clock, Sleep};
use crate::sim::fault::Ending;
use crate::units::Nanos;

/// What a response does to the connection it goes over.
#[derive(Default)]
pub(super) struct Control {
    /// Bytes until the response ends, and how.
    limit: Cell<Option<(u64, Ending)>>,
    /// It ends when what was written before has been sent.
    ending: Cell<Option<Ending>>,
    /// Most bytes a write, and what passes after one.
    pace: Cell<Option<(usize, Duration)>>,
    /// Responses that have not ended, and when the last one did.
    open: Cell<u32>,
    idle_since: Cell<Nanos>,
}

impl Control {
    /// A new response begins.
    pub(super) fn begin(&self, limit: Option<(u64, Ending)>, pace: Option<(usize, Duration)>) {
        self.limit.set(limit);
        self.pace.set(pace);
    }

    /// Ends the connection once all that was said has been sent.
    pub(super) fn end(&self, ending: Ending) {
        self.ending.set(Some(ending));
    }

    /// Since when nothing was asked; `None` while something is.
    pub(super) fn idle_since(&self) -> Option<Nanos> {
        (self.open.get() == 0).then(|| self.idle_since.get())
    }
}

/// A response that has not ended.
pub(super) struct Busy {
    control: Rc<Control>,
    clock: Clock,
}

impl Busy {
    pub(super) fn new(control: &Rc<Control>, clock: &Clock) -> Busy {
        control.open.set(control.open.get() + 1);
        Busy { control: Rc::clone(control), clock: clock.clone() }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.control.open.set(self.control.open.get() - 1);
        self.control.idle_since.set(self.clock.now());
    }
}

/// A byte stream under [`Control`].
pub(super) struct Wire<S> {
    stream: S,
    /// Makes the stream end in a reset rather than in good order, where it can.
    reset: fn(&S),
    control: Rc<Control>,
    clock: Clock,
    pause: Option<Pin<Box<Sleep>>>,
}

impl<S> Wire<S> {
    pub(super) fn new(stream: S, reset: fn(&S), control: Rc<Control>, clock: Clock) -> Wire<S> {
        control.idle_since.set(clock.now());
        Wire { stream, reset, control, clock, pause: None }
    }

    /// Whether bytes pass as they come.
    fn is_plain(&self) -> bool {
        self.control.limit.get().is_none() && self.control.pace.get().is_none() && self.pause.is_none()
    }

    fn end(&self, ending: Ending) -> Poll<io::Error> {
        match ending {
            // Nobody wakes this up again but a client that leaves.
            Ending::Hang | Ending::Truncate => Poll::Pending,
            Ending::Cut => Poll::Ready(io::ErrorKind::BrokenPipe.into()),
            Ending::Reset => {
                (self.reset)(&self.stream);
                Poll::Ready(io::ErrorKind::ConnectionReset.into())
            }
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Wire<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Wire<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.is_plain() {
            return Pin::new(&mut self.stream).poll_write(context, bytes);
        }
        if let Some(pause) = &mut self.pause {
            ready!(pause.as_mut().poll(context));
            self.pause = None;
        }
        let mut most = bytes.len();
        if let Some((left, ending)) = self.control.limit.get() {
            if left == 0 {
                return self.end(ending).map(Err);
            }
            most = most.min(usize::try_from(left).unwrap_or(usize::MAX));
        }
        if let Some((bytes, _)) = self.control.pace.get() {
            most = most.min(bytes);
        }
        let written = ready!(Pin::new(&mut self.stream).poll_write(context, &bytes[..most]))?;
        if let Some((left, ending)) = self.control.limit.get() {
            self.control.limit.set(Some((left - written as u64, ending)));
        }
        if let Some((_, pause)) = self.control.pace.get().filter(|(_, pause)| !pause.is_zero()) {
            self.pause = Some(Box::pin(self.clock.sleep(pause)));
        }
        Poll::Ready(Ok(written))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.is_plain() {
            return Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        }
        let first = slices.iter().find(|slice| !slice.is_empty());
        self.poll_write(context, first.map_or(&[], |slice| slice))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_flush(context))?;
        match self.control.ending.get() {
            None => Poll::Ready(Ok(())),
            Some(ending) => self.end(ending).map(Err),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
