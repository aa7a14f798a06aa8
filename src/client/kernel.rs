//! When bytes arrived, by the kernel's account.
//!
//! A read tells when the client came round to it. The kernel knows when the packet came: with `SO_TIMESTAMPNS`
//! each `recvmsg` brings that time along, by the clock of the day. [`KernelTime`] brings it to our clock,
//! [`TimedTcp`] is a TCP stream that asks for it.

use std::cell::{Cell, RefCell};
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsRawFd as _, OwnedFd, RawFd};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use nix::sys::socket::{AddressFamily, ControlMessageOwned, MsgFlags, SockFlag, SockType};
use nix::sys::socket::{cmsg_space, recvmsg, setsockopt, socket, sockopt};
use nix::sys::time::TimeSpec;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;

use super::stamp::{Arrival, Meter, fill};
use crate::clock::{Clock, DayAhead};
use crate::units::Nanos;

/// The distance of the two clocks is taken anew after so long.
const SAMPLE_EVERY: Duration = Duration::from_millis(10);
/// How often the clocks are read in search of a close pair.
const TRIES: usize = 4;
/// A pair read within so long is close enough to stop the search.
const CLOSE: Duration = Duration::from_nanos(200);
/// Room for the bytes of one read.
const READ_BYTES: usize = 64 << 10;

/// Brings the kernel's times to our clock; shared by all connections of a client.
///
/// CLOCK_REALTIME and CLOCK_MONOTONIC are disciplined alike, so their distance stays the same until somebody
/// sets the time of day. Then what was stamped before cannot be told from what was stamped after, and nothing
/// is believed that seems older than the moment the step was noticed.
pub(super) struct KernelTime {
    clock: Clock,
    distance: Cell<Distance>,
    /// The kernel times packets only while some socket asks for it, and takes a moment to begin. This one asks as
    /// long as the client lives, so that the first bytes of a connection have their times too.
    _keeper: OwnedFd,
    /// Reads into memory that has never been written share this: bytes are copied out, and only as many as came.
    bytes: RefCell<Box<[u8]>>,
    control: RefCell<[u8; cmsg_space::<TimeSpec>()]>,
}

/// How far the time of day is ahead of our clock.
#[derive(Clone, Copy, Debug)]
struct Distance {
    day: DayAhead,
    /// When it was last looked at.
    sampled: Nanos,
    /// Since when it has been the same, as far as we know.
    since: Nanos,
}

impl KernelTime {
    /// `None` under the virtual clock, and where the kernel does not tell.
    pub(super) fn new(clock: &Clock) -> Option<KernelTime> {
        let mut distance = sample(clock)?;
        let keeper = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None).ok()?;
        setsockopt(&keeper, sockopt::ReceiveTimestampns, &true).ok()?;
        distance.since = Nanos::ZERO;
        Some(KernelTime {
            clock: clock.clone(),
            distance: Cell::new(distance),
            _keeper: keeper,
            bytes: RefCell::new(vec![0; READ_BYTES].into()),
            control: RefCell::default(),
        })
    }

    /// What our clock showed when the time of day was `day_ns`, some time before `now`; `None` where a step of
    /// the time of day leaves that open.
    fn at(&self, day_ns: i128, now: Nanos) -> Option<Nanos> {
        let mut distance = self.distance.get();
        let is_ahead = |distance: Distance| day_ns - distance.day.ahead_ns > i128::from(now.0);
        if now.since(distance.sampled) >= SAMPLE_EVERY || is_ahead(distance) {
            distance = distance.renewed(sample(&self.clock)?);
            self.distance.set(distance);
        }
        let at = u64::try_from(day_ns - distance.day.ahead_ns).map(Nanos).ok()?;
        (at >= distance.since).then_some(at)
    }

    /// Reads what has come into `room`: how many bytes, and their time.
    fn receive(&self, descriptor: RawFd, room: &mut [u8]) -> io::Result<(usize, Option<i128>)> {
        let mut control = self.control.borrow_mut();
        let mut pieces = [IoSliceMut::new(room)];
        let message = recvmsg::<()>(descriptor, &mut pieces, Some(&mut *control), MsgFlags::empty())?;
        let stamp = message.cmsgs()?.find_map(|control| match control {
            ControlMessageOwned::ScmTimestampns(at) => Some(day_ns(at)),
            _ => None,
        });
        Ok((message.bytes, stamp))
    }
}

impl Distance {
    /// The distance after another look.
    fn renewed(self, fresh: Distance) -> Distance {
        if self.day.step_ns(fresh.day) > 0 {
            return fresh;
        }
        let closer = if fresh.day.error_ns < self.day.error_ns { fresh.day } else { self.day };
        Distance { day: closer, sampled: fresh.sampled, since: self.since }
    }
}

/// Looks at both clocks; the distance holds from now on.
fn sample(clock: &Clock) -> Option<Distance> {
    let mut best: Option<Distance> = None;
    for _ in 0..TRIES {
        let look = clock.time_of_day_ns()?;
        let (before, _, after) = look;
        let day = DayAhead::of(look);
        if best.is_none_or(|best| day.error_ns < best.day.error_ns) {
            best = Some(Distance { day, sampled: after, since: after });
        }
        if after.since(before) <= CLOSE {
            break;
        }
    }
    best
}

fn day_ns(at: TimeSpec) -> i128 {
    i128::from(at.tv_sec()) * 1_000_000_000 + i128::from(at.tv_nsec())
}

/// A TCP stream whose reads tell a [`Meter`] when their bytes arrived, where the kernel says so.
pub(super) struct TimedTcp {
    stream: TcpStream,
    timing: Option<(Rc<KernelTime>, Rc<Meter>)>,
}

impl TimedTcp {
    /// Without `kernel`, or where the kernel keeps no times for this socket, the time of a read is its own.
    pub(super) fn new(stream: TcpStream, kernel: Option<&Rc<KernelTime>>, meter: &Rc<Meter>) -> TimedTcp {
        let kernel = kernel.filter(|_| setsockopt(&stream, sockopt::ReceiveTimestampns, &true).is_ok());
        let timing = kernel.map(|kernel| (Rc::clone(kernel), Rc::clone(meter)));
        if let Some((kernel, meter)) = &timing {
            meter.arrival.set(Arrival::Told { at: None, read: kernel.clock.now() });
        }
        TimedTcp { stream, timing }
    }
}

impl TimedTcp {
    /// Reads into `room`; how many bytes, 0 at the end of the stream.
    pub(super) fn poll_fill(
        &mut self,
        context: &mut Context<'_>,
        room: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let TimedTcp { stream, timing } = self;
        let Some((kernel, meter)) = timing else {
            return fill(stream, context, room);
        };
        loop {
            ready!(stream.poll_read_ready(context))?;
            let mut short = None;
            let received = stream.try_io(Interest::READABLE, || {
                let received = kernel.receive(stream.as_raw_fd(), room)?;
                if received.0 == 0 || received.0 == room.len() {
                    return Ok(received);
                }
                // Less than there was room for: nothing is left. To say so here spares the next poll a
                // system call that would only find that out.
                short = Some(received);
                Err(io::ErrorKind::WouldBlock.into())
            });
            let (read, stamp) = match (received, short) {
                (_, Some(received)) | (Ok(received), None) => received,
                (Err(error), None) if error.kind() == io::ErrorKind::WouldBlock => continue,
                (Err(error), None) => return Poll::Ready(Err(error)),
            };
            let now = kernel.clock.now();
            let at = stamp.and_then(|stamp| kernel.at(stamp, now));
            meter.arrival.set(Arrival::Told { at, read: now });
            return Poll::Ready(Ok(read));
        }
    }
}

impl AsyncRead for TimedTcp {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let Some(kernel) = this.timing.as_ref().map(|(kernel, _)| Rc::clone(kernel)) else {
            return Pin::new(&mut this.stream).poll_read(context, buffer);
        };
        let mut bytes = kernel.bytes.borrow_mut();
        let room = buffer.remaining().min(READ_BYTES);
        let read = ready!(this.poll_fill(context, &mut bytes[..room]))?;
        buffer.put_slice(&bytes[..read]);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for TimedTcp {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
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

#[cfg(test)]
mod tests {
    use super::*;

    const APART: i128 = 1_700_000_000_000_000_000;

    fn distance(ahead_ns: i128, error_ns: u64, sampled: u64) -> Distance {
        Distance { day: DayAhead { ahead_ns, error_ns }, sampled: Nanos(sampled), since: Nanos(sampled) }
    }

    /// Time stamps before `since` are not believed.
    fn told(first: Distance, then: Distance) -> (i128, u64) {
        let renewed = Distance { since: Nanos::ZERO, ..first }.renewed(then);
        (renewed.day.ahead_ns, renewed.since.0)
    }

    #[test]
    fn a_distance_within_the_error_of_looking_is_the_same_and_the_closer_look_counts() {
        assert_eq!(told(distance(APART, 50, 10), distance(APART + 60, 20, 20)), (APART + 60, 0));
        assert_eq!(told(distance(APART, 20, 10), distance(APART + 60, 50, 20)), (APART, 0));
    }

    #[test]
    fn c068_a_step_of_the_time_of_day_starts_a_new_account() {
        for step in [-3_600_000_000_000, -1_000, 1_000, 3_600_000_000_000] {
            assert_eq!(told(distance(APART, 20, 10), distance(APART + step, 20, 20)), (APART + step, 20));
        }
    }

    #[test]
    fn c068_a_time_of_day_that_is_set_moves_no_stamp() {
        Clock::run_real(|clock| async move {
            let kernel = KernelTime::new(&clock).unwrap();
            let (before, day, after) = clock.time_of_day_ns().unwrap();
            let at = kernel.at(i128::from(day), after).unwrap();
            let error = kernel.distance.get().day.error_ns;
            assert!((before.0..=after.0).contains(&at.0) || at.0.abs_diff(before.0) <= error, "{at:?}");
            // As if the time of day had been set forward by a second since the last look.
            let mut behind = kernel.distance.get();
            behind.day.ahead_ns -= 1_000_000_000;
            kernel.distance.set(behind);
            let (_, day, now) = clock.time_of_day_ns().unwrap();
            assert_eq!(kernel.at(i128::from(day), now), None, "stamped before the step was noticed");
            let (_, day, now) = clock.time_of_day_ns().unwrap();
            assert!(kernel.at(i128::from(day), now).is_some());
        })
        .unwrap();
    }
}
