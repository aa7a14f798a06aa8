//! Takes the body of a response from under hyper.
//!
//! hyper hands a body over a frame a chunk, each through its buffer, a channel and a turn of its state: half of what an
//! event cost, and a third of the memory that a waking stream has to fetch. So a plain chunked body is decoded where its
//! bytes were read. hyper sends the request, reads the head, and then sees nothing until something comes that is not
//! plain: the last chunk, an extension, an error, the end of the connection. That it reads and judges itself, and with
//! it the life of the connection.
//!
//! While the exchange sleeps, token events of its body are counted by a task of the connection ([`super::tally`]).

use std::cell::{RefCell, RefMut};
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::task::{Context, Poll, Waker, ready};

use bytes::{Buf as _, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::task::AbortHandle;

use super::connect::ByteStream;
use super::stamp::Stamped;
use crate::wire::chunks::{Chunks, Fed};

/// Room for the bytes of one read.
const READ_BYTES: usize = 64 << 10;
/// Room for those of a read that may hold a head.
const HEAD_READ_BYTES: usize = 8 << 10;
/// A longer head is hyper's alone.
const HEAD_LIMIT_BYTES: usize = 64 << 10;
/// And so is one of more fields.
const HEAD_FIELDS: usize = 64;

/// Memory for reads, shared by all connections of a client: what is read is decoded at once.
pub(super) type Scratch = Rc<RefCell<Box<[u8]>>>;

/// New memory for reads.
pub(super) fn scratch() -> Scratch {
    Rc::new(RefCell::new(vec![0; READ_BYTES].into()))
}

/// The end of a connection that hyper holds.
pub(super) struct Tap(Rc<RefCell<Wire>>);

/// The other end, which takes bodies.
pub(super) struct Valve(Rc<RefCell<Wire>>);

/// What has become of a body.
pub(super) enum Flow {
    /// Some of it was taken.
    Data,
    /// hyper has it, or what is left of it.
    Left,
}

/// What every event of a counted stream changes stands together in memory.
#[repr(C)]
struct Wire {
    stage: Stage,
    /// Whether a sleeping exchange has its tokens counted.
    is_counting: bool,
    chunks: Chunks,
    scratch: Scratch,
    stream: Stamped<ByteStream>,
    /// Whom what is not counted wakes.
    sleeper: Waker,
    counter: Option<Counter>,
    /// What was written has left.
    is_flushed: bool,
    /// Data that hyper will tell of and that never came.
    invented_bytes: usize,
    /// What was read and nobody has seen.
    held: Bytes,
    /// How the stream ended, if hyper is yet to hear of it.
    ended: Option<io::Result<()>>,
    /// As much of a head as has come.
    head: Vec<u8>,
}

/// The task that counts tokens.
struct Counter {
    task: AbortHandle,
    /// Wakes it; a new one is awake.
    waker: Waker,
}

/// Whose the next bytes are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// hyper's, and a head is among them.
    Head,
    /// Ours.
    Body,
    /// hyper's until the next request.
    Rest,
}

/// What stands at the beginning of some bytes.
enum Look {
    /// A head, in part.
    Partial,
    /// An interim one, of so many bytes.
    Interim(usize),
    /// One of so many bytes before a chunked body.
    Chunked(usize),
    /// Anything else.
    Other,
}

/// Both ends of a connection over `stream`.
pub(super) fn tap(stream: Stamped<ByteStream>, scratch: &Scratch) -> (Tap, Valve) {
    let wire = Wire {
        stage: Stage::Rest,
        is_counting: false,
        chunks: Chunks::default(),
        scratch: Rc::clone(scratch),
        stream,
        sleeper: Waker::noop().clone(),
        counter: None,
        is_flushed: true,
        invented_bytes: 0,
        held: Bytes::new(),
        ended: None,
        head: Vec::new(),
    };
    let wire = Rc::new(RefCell::new(wire));
    (Tap(Rc::clone(&wire)), Valve(wire))
}

impl Valve {
    /// Says that a request is about to go out.
    pub(super) fn expect_head(&self) {
        let mut wire = self.0.borrow_mut();
        wire.stage = Stage::Head;
        wire.head.clear();
    }

    /// Hands what has come of a body to `take`, as long as it is ours.
    pub(super) fn poll_body(&self, context: &mut Context<'_>, take: impl FnMut(&[u8])) -> Poll<Flow> {
        self.0.borrow_mut().poll_body(context, take)
    }

    /// Lets tokens be counted until the body is next asked for, if it is ours and `lend` allows it. Whoever `context` is
    /// of is woken once there is more to see to.
    pub(super) fn count(&self, context: &Context<'_>, lend: impl FnOnce() -> bool) {
        let mut wire = self.0.borrow_mut();
        if wire.stage != Stage::Body || !lend() {
            return;
        }
        wire.is_counting = true;
        wire.sleeper.clone_from(context.waker());
        match &wire.counter {
            Some(counter) => counter.waker.wake_by_ref(),
            None => {
                let task = tokio::task::spawn_local(count(Rc::downgrade(&self.0))).abort_handle();
                wire.counter = Some(Counter { task, waker: Waker::noop().clone() });
            }
        }
    }

    /// Lets go of the task that slept last.
    pub(super) fn rest(&self) {
        self.0.borrow_mut().sleeper = Waker::noop().clone();
    }

    /// `bytes` of a body as hyper tells it, without what never came.
    pub(super) fn without_invented(&self, bytes: &mut Bytes) {
        let mut wire = self.0.borrow_mut();
        let invented_bytes = wire.invented_bytes.min(bytes.len());
        bytes.advance(invented_bytes);
        wire.invented_bytes -= invented_bytes;
    }
}

/// Counts the tokens of a connection's bodies whenever that is asked for, as long as it lasts.
async fn count(wire: Weak<RefCell<Wire>>) {
    // A task has one waker, which to compare with at every event would cost one more cold line of memory.
    poll_fn(|context| {
        if let Some(wire) = wire.upgrade()
            && let Some(counter) = &mut wire.borrow_mut().counter
        {
            counter.waker.clone_from(context.waker());
        }
        Poll::Ready(())
    })
    .await;
    poll_fn(|context| match wire.upgrade() {
        Some(wire) => wire.borrow_mut().poll_count(context),
        None => Poll::Ready(()),
    })
    .await;
}

impl Wire {
    /// Never ready: reads as long as there are tokens to count, and is woken when there is something to read, or to
    /// count anew.
    fn poll_count(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let meter = Rc::clone(self.stream.meter());
        let mut tally = meter.tally.borrow_mut();
        while self.is_counting
            && let Some(tally) = &mut *tally
        {
            ready!(self.poll_data(context, |data| {
                tally.take(data, meter.last_read.get(), meter.reads.get());
            }));
            self.is_counting &= !tally.is_over();
            if !self.is_counting {
                self.sleeper.wake_by_ref();
            }
        }
        Poll::Pending
    }

    fn poll_body(&mut self, context: &mut Context<'_>, mut take: impl FnMut(&[u8])) -> Poll<Flow> {
        self.is_counting = false;
        let rest = self.stream.meter().uncounted.take();
        if !rest.is_empty() {
            take(&rest);
            return Poll::Ready(Flow::Data);
        }
        while self.stage == Stage::Body {
            if !self.held.is_empty() {
                let held = std::mem::take(&mut self.held);
                if self.decode(&held, &mut take) {
                    return Poll::Ready(Flow::Data);
                }
                continue;
            }
            if ready!(self.poll_data(context, &mut take)) {
                return Poll::Ready(Flow::Data);
            }
        }
        Poll::Ready(Flow::Left)
    }

    /// Reads once, and hands the data in what came to `take`; whether there was any.
    fn poll_data(&mut self, context: &mut Context<'_>, take: impl FnMut(&[u8])) -> Poll<bool> {
        let scratch = Rc::clone(&self.scratch);
        let mut scratch = scratch.borrow_mut();
        let is_data = match ready!(self.stream.poll_fill(context, &mut scratch)) {
            Ok(read) if read > 0 => self.decode(&scratch[..read], take),
            ended => {
                self.leave(&[], Some(ended.map(drop)));
                false
            }
        };
        Poll::Ready(is_data)
    }

    /// Hands the data in `bytes` to `take`; whether there was any.
    fn decode(&mut self, bytes: &[u8], mut take: impl FnMut(&[u8])) -> bool {
        let mut is_data = false;
        let fed = self.chunks.feed(bytes, |data| {
            is_data = true;
            take(data);
        });
        if let Fed::UpTo(read) = fed {
            self.leave(&bytes[read..], None);
        }
        is_data
    }

    /// Leaves what is left of a body to hyper, which stands at the start of a chunk.
    fn leave(&mut self, rest: &[u8], ended: Option<io::Result<()>>) {
        let standing = self.chunks.standing();
        self.invented_bytes = standing.invented_bytes;
        self.held = [standing.lead, rest].concat().into();
        self.ended = ended;
        self.stage = Stage::Rest;
        self.is_counting = false;
    }

    /// Hands hyper bytes among which a head is expected, and none of a body that is ours.
    fn poll_head(&mut self, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.held.is_empty() {
            let mut scratch = self.scratch.borrow_mut();
            let room = buffer.remaining().min(HEAD_READ_BYTES);
            let read = ready!(self.stream.poll_fill(context, &mut scratch[..room]))?;
            self.held = Bytes::copy_from_slice(&scratch[..read]);
        }
        let room = buffer.remaining().min(self.held.len());
        let seen = self.head.len();
        self.head.extend_from_slice(&self.held[..room]);
        let told = match look(&self.head, seen) {
            Look::Partial => room,
            Look::Interim(end) => {
                self.head.clear();
                end - seen
            }
            // An answer that comes before all is sent needs somebody who both reads and writes.
            Look::Chunked(end) if self.is_flushed => {
                self.chunks = Chunks::default();
                self.stage = Stage::Body;
                end - seen
            }
            Look::Chunked(_) | Look::Other => {
                self.stage = Stage::Rest;
                room
            }
        };
        buffer.put_slice(&self.held.split_to(told));
        Poll::Ready(Ok(()))
    }

    fn poll_rest(&mut self, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if !self.held.is_empty() {
            let room = buffer.remaining().min(self.held.len());
            buffer.put_slice(&self.held.split_to(room));
            return Poll::Ready(Ok(()));
        }
        match self.ended.take() {
            Some(ended) => Poll::Ready(ended),
            None => Pin::new(&mut self.stream).poll_read(context, buffer),
        }
    }
}

/// Looks at what has come since a request, of which `seen` bytes have been looked at before.
fn look(bytes: &[u8], seen: usize) -> Look {
    if !bytes[seen..].contains(&b'\n') {
        return if bytes.len() > HEAD_LIMIT_BYTES { Look::Other } else { Look::Partial };
    }
    let mut fields = [httparse::EMPTY_HEADER; HEAD_FIELDS];
    let mut head = httparse::Response::new(&mut fields);
    match head.parse(bytes) {
        Ok(httparse::Status::Partial) if bytes.len() <= HEAD_LIMIT_BYTES => Look::Partial,
        Ok(httparse::Status::Complete(end)) => match head.code {
            Some(100 | 102..=199) => Look::Interim(end),
            Some(200..) if is_chunked(&head) => Look::Chunked(end),
            _ => Look::Other,
        },
        Ok(httparse::Status::Partial) | Err(_) => Look::Other,
    }
}

/// Whether the body after `head` is chunked beyond doubt.
fn is_chunked(head: &httparse::Response<'_, '_>) -> bool {
    let has_body = !matches!(head.code, Some(204 | 304));
    let named = |name: &str| {
        let fields = head.headers.iter();
        fields
            .filter(|field| field.name.eq_ignore_ascii_case(name))
            .map(|field| field.value)
            .collect::<Vec<_>>()
    };
    let is_plain = matches!(named("transfer-encoding")[..], [value] if value.trim_ascii().eq_ignore_ascii_case(b"chunked"));
    has_body && head.version == Some(1) && is_plain && named("content-length").is_empty()
}

impl Drop for Wire {
    fn drop(&mut self) {
        if let Some(counter) = &self.counter {
            counter.task.abort();
        }
    }
}

impl AsyncRead for Tap {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut wire = self.0.borrow_mut();
        match wire.stage {
            Stage::Head => wire.poll_head(context, buffer),
            // Nobody need wake hyper for a body that is not its own: whoever takes it drives hyper when it is.
            Stage::Body => Poll::Pending,
            Stage::Rest => wire.poll_rest(context, buffer),
        }
    }
}

impl Tap {
    fn writing(&self) -> RefMut<'_, Wire> {
        let mut wire = self.0.borrow_mut();
        wire.is_flushed = false;
        wire
    }
}

impl AsyncWrite for Tap {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.writing().stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.writing().stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.borrow().stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // hyper flushes when nothing is left to write.
        let mut wire = self.writing();
        ready!(Pin::new(&mut wire.stream).poll_flush(context))?;
        wire.is_flushed = true;
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0.borrow_mut().stream).poll_shutdown(context)
    }
}
