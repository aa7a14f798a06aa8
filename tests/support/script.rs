//! What a server does with one request, and when.

use std::fmt::Write as _;
use std::time::Duration;

/// How a server takes one request in and what it does then.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    pub(crate) intake: Intake,
    /// What it does, each at so long after the intake, in order of time.
    pub(crate) acts: Vec<(Duration, Act)>,
    /// How often the last act is done.
    pub(crate) repeats: usize,
}

/// How much of a request is read before the acts begin.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Intake {
    /// All of it, as fast as it comes.
    Whole,
    /// All of it, so many bytes at a time, with a pause before each.
    Slow { bytes: usize, pause: Duration },
    /// As much as comes first, nothing after.
    Beginning,
    /// None: the acts begin as soon as the connection is there.
    Nothing,
}

/// Something a server does to a connection.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// Writes these bytes in one go.
    Write(Vec<u8>),
    /// Closes it.
    Close,
    /// Closes it by a reset. In memory there is none: the same as `Close`.
    Reset,
}

impl Script {
    /// A script without acts: the request is taken in and never answered.
    pub(crate) fn silent(intake: Intake) -> Script {
        Script { intake, acts: Vec::new(), repeats: 1 }
    }

    /// Writes `bytes` after `at`.
    pub(crate) fn write(self, at: Duration, bytes: impl Into<Vec<u8>>) -> Script {
        self.then(at, Act::Write(bytes.into()))
    }

    /// Does `act` after `at`.
    pub(crate) fn then(mut self, at: Duration, act: Act) -> Script {
        self.acts.push((at, act));
        self
    }

    /// Closes the connection after `at`.
    pub(crate) fn close(self, at: Duration) -> Script {
        self.then(at, Act::Close)
    }

    /// Resets the connection after `at`.
    pub(crate) fn reset(self, at: Duration) -> Script {
        self.then(at, Act::Reset)
    }

    /// The same with another intake.
    pub(crate) fn taking(self, intake: Intake) -> Script {
        Script { intake, ..self }
    }

    /// All bytes it writes.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let writes = self.acts.iter().filter_map(|(_, act)| match act {
            Act::Write(bytes) => Some(bytes.as_slice()),
            Act::Close | Act::Reset => None,
        });
        writes.collect::<Vec<_>>().concat()
    }

    /// The same bytes `size` at a time, the k-th piece after k times `pause`; nothing but writes is kept.
    pub(crate) fn in_pieces(&self, size: usize, pause: Duration) -> Script {
        let bytes = self.bytes();
        let pieces = (1..).zip(bytes.chunks(size));
        pieces.fold(Script::silent(self.intake), |script, (k, piece)| script.write(pause * k, piece))
    }
}

/// How a response says where it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Chunked; each write is one chunk.
    Chunked,
    /// Chunked; each write is several chunks of this many bytes.
    Chunks(usize),
    /// By its length.
    Length,
    /// By the end of the connection.
    Close,
}

impl Framing {
    /// One of each kind.
    pub(crate) const EACH: [Framing; 4] =
        [Framing::Chunked, Framing::Chunks(7), Framing::Length, Framing::Close];

    fn frame(self, bytes: &[u8]) -> Vec<u8> {
        let size = match self {
            Framing::Chunked => bytes.len(),
            Framing::Chunks(size) => size,
            Framing::Length | Framing::Close => return bytes.to_vec(),
        };
        bytes.chunks(size).flat_map(chunk).collect()
    }
}

/// One chunk of a chunked body.
pub(crate) fn chunk(bytes: &[u8]) -> Vec<u8> {
    [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()
}

/// What ends a chunked body.
pub(crate) const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

/// A response in the making.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    status: &'static str,
    headers: String,
    framing: Framing,
    writes: Vec<(Duration, Vec<u8>)>,
    end: End,
}

/// When a response ends.
#[derive(Clone, Copy, Debug)]
enum End {
    /// With its last write.
    AtOnce,
    /// Later.
    After(Duration),
    /// Not at all.
    Never,
}

/// A chunked event stream.
pub(crate) fn stream() -> Reply {
    reply("200 OK", "text/event-stream")
}

/// A chunked response.
pub(crate) fn reply(status: &'static str, content_type: &str) -> Reply {
    Reply {
        status,
        headers: format!("content-type: {content_type}\r\n"),
        framing: Framing::Chunked,
        writes: Vec::new(),
        end: End::AtOnce,
    }
}

impl Reply {
    /// Writes `bytes` so many milliseconds after the request was read.
    pub(crate) fn at(self, ms: u64, bytes: impl AsRef<[u8]>) -> Reply {
        self.after(Duration::from_millis(ms), bytes)
    }

    /// Writes `bytes` so long after the request was read.
    pub(crate) fn after(mut self, at: Duration, bytes: impl AsRef<[u8]>) -> Reply {
        self.writes.push((at, bytes.as_ref().to_vec()));
        self
    }

    /// Writes each of `events` on its own, all after so many milliseconds.
    pub(crate) fn each<T: AsRef<[u8]>>(self, ms: u64, events: impl IntoIterator<Item = T>) -> Reply {
        events.into_iter().fold(self, |reply, event| reply.at(ms, event))
    }

    /// Adds a header.
    pub(crate) fn header(mut self, name: &str, value: &str) -> Reply {
        write!(self.headers, "{name}: {value}\r\n").unwrap();
        self
    }

    /// Frames the body otherwise.
    pub(crate) fn framed(self, framing: Framing) -> Reply {
        Reply { framing, ..self }
    }

    /// Ends the response so many milliseconds after the request was read.
    pub(crate) fn ending(self, ms: u64) -> Reply {
        Reply { end: End::After(Duration::from_millis(ms)), ..self }
    }

    /// Leaves the response without its end.
    pub(crate) fn open(self) -> Reply {
        Reply { end: End::Never, ..self }
    }

    /// The same with every LF of its body made `end`.
    pub(crate) fn with_line_ends(mut self, end: &str) -> Reply {
        for (_, bytes) in &mut self.writes {
            *bytes = String::from_utf8(std::mem::take(bytes)).unwrap().replace('\n', end).into_bytes();
        }
        self
    }

    /// The head of the response.
    fn head(&self) -> Vec<u8> {
        let Reply { status, headers, writes, .. } = self;
        let length: usize = writes.iter().map(|(_, bytes)| bytes.len()).sum();
        let framing = match self.framing {
            Framing::Chunked | Framing::Chunks(_) => "transfer-encoding: chunked\r\n".to_owned(),
            Framing::Length => format!("content-length: {length}\r\n"),
            Framing::Close => "connection: close\r\n".to_owned(),
        };
        format!("HTTP/1.1 {status}\r\n{headers}{framing}\r\n").into_bytes()
    }

    /// The script that gives this response. The head goes out with the first of the body.
    pub(crate) fn script(&self) -> Script {
        let mut script = Script::silent(Intake::Whole);
        let mut head = self.head();
        let mut last = Duration::ZERO;
        for (at, bytes) in &self.writes {
            head.extend(self.framing.frame(bytes));
            script = script.write(*at, std::mem::take(&mut head));
            last = *at;
        }
        let end = match self.end {
            End::AtOnce => last,
            End::After(at) => at,
            End::Never => return script.write(last, head),
        };
        if matches!(self.framing, Framing::Chunked | Framing::Chunks(_)) {
            head.extend_from_slice(LAST_CHUNK);
        }
        script = script.write(end, head);
        if self.framing == Framing::Close { script.close(end) } else { script }
    }
}

impl From<Reply> for Script {
    fn from(reply: Reply) -> Script {
        reply.script()
    }
}
