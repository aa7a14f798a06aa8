//! How a response is given: properly, or in one of the ways that servers and what stands before them have shown.

use std::time::Duration;

/// One deviation of one response.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum RequestFault {
    Status { status: u16, retry_after: Option<Duration> },
    Delay(Duration),
    SlowRead { bytes_per_s: u64 },
    End { stage: Stage, ending: Ending },
    Missing(Missing),
    Malformed { after: u64 },
    Error { shape: ErrorShape, after: u64 },
    Stall { after: u64, pause: Duration },
    Role(Role),
    Empty(u64),
    Join(u64),
    Batch(u64),
    Split { bytes: usize, pause: Duration },
    Lines(LineEnd),
    NoBlank,
    Comments,
    Ping(Duration),
    Usage(UsageManner),
    Buffer { bytes: usize },
    Document,
    Corrupt,
}

/// One deviation of one connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ConnectionFault {
    AcceptDelay(Duration),
    Refuse,
    IdleClose(Duration),
}

/// How far a response gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sim) enum Stage {
    /// Not even its head.
    Head,
    /// So many tokens.
    Tokens(u64),
    /// So many bytes, head and chunk framing among them.
    Bytes(u64),
}

/// How a response ends that does not end well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sim) enum Ending {
    /// Nothing more comes, and the connection stays.
    Hang,
    /// The connection is reset.
    Reset,
    /// The connection is closed, the response unfinished.
    Cut,
    /// The response ends as if that were all.
    Truncate,
}

/// What is missing at the end of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sim) enum Missing {
    /// `[DONE]`.
    Done,
    /// The finish reason.
    Finish,
    /// Both.
    Both,
}

/// The shape of an error within a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sim) enum ErrorShape {
    /// `data: {"error":{…}}`, then `[DONE]`, as vLLM.
    Object,
    /// `data: {"error":"…"}`, then the end.
    Text,
    /// `data: {"choices":[],"error":{…}}`, then `[DONE]`, as aggregators.
    Choices,
    /// `event: error` with `{"message":…}`, then the end.
    Event,
    /// A field named `error`, then `[DONE]`, as older llama.cpp.
    Field,
    /// `data: {"detail":"…"}`, then the end.
    Detail,
}

/// The opening event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::sim) enum Role {
    /// With the first token, its content empty.
    #[default]
    Proper,
    /// At once, long before the first token.
    Early,
    /// Its content null.
    Null,
    /// Without content.
    Bare,
    /// There is none.
    Absent,
}

/// What ends a line of the stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::sim) enum LineEnd {
    #[default]
    Lf,
    CrLf,
    Cr,
}

/// What a response says of its tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::sim) enum UsageManner {
    /// What was asked for.
    #[default]
    Proper,
    /// Nothing.
    Absent,
    /// Zeros.
    Zero,
    /// In the event of the finish reason, asked or not.
    InFinish,
    /// So long after the finish reason.
    Late(Duration),
}

/// All deviations of one response together.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::sim) struct Manner {
    pub(in crate::sim) status: Option<(u16, Option<Duration>)>,
    pub(in crate::sim) delay: Duration,
    /// The request is read no faster.
    pub(in crate::sim) read_bytes_per_s: Option<u64>,
    pub(in crate::sim) end: Option<(Stage, Ending)>,
    pub(in crate::sim) missing: Option<Missing>,
    /// The token after so many is an event of broken JSON.
    pub(in crate::sim) malformed_after: Option<u64>,
    pub(in crate::sim) error: Option<(ErrorShape, u64)>,
    /// Nothing comes for a while after so many tokens.
    pub(in crate::sim) stall: Option<(u64, Duration)>,
    pub(in crate::sim) role: Role,
    /// Events without text before each token.
    pub(in crate::sim) empty_events: u64,
    pub(in crate::sim) tokens_an_event: u64,
    pub(in crate::sim) events_a_write: u64,
    /// No write is longer, and this passes after each.
    pub(in crate::sim) split: Option<(usize, Duration)>,
    pub(in crate::sim) line_end: LineEnd,
    /// `data:` stands without a blank behind it.
    pub(in crate::sim) no_blank: bool,
    /// A comment precedes each event.
    pub(in crate::sim) comments: bool,
    /// A comment comes whenever nothing else did for so long.
    pub(in crate::sim) ping: Option<Duration>,
    pub(in crate::sim) usage: UsageManner,
    /// The stream is held back until there are so many bytes, or it ends.
    pub(in crate::sim) buffer_bytes: Option<usize>,
    /// One document comes though a stream was asked for.
    pub(in crate::sim) document: bool,
    /// The answer is another one than it should be.
    pub(in crate::sim) corrupt: bool,
}

impl Default for Manner {
    fn default() -> Manner {
        Manner {
            status: None,
            delay: Duration::ZERO,
            read_bytes_per_s: None,
            end: None,
            missing: None,
            malformed_after: None,
            error: None,
            stall: None,
            role: Role::default(),
            empty_events: 0,
            tokens_an_event: 1,
            events_a_write: 1,
            split: None,
            line_end: LineEnd::default(),
            no_blank: false,
            comments: false,
            ping: None,
            usage: UsageManner::default(),
            buffer_bytes: None,
            document: false,
            corrupt: false,
        }
    }
}

impl Manner {
    /// Adds a deviation; of two alike the later holds.
    pub(super) fn apply(&mut self, fault: RequestFault) {
        match fault {
            RequestFault::Status { status, retry_after } => self.status = Some((status, retry_after)),
            RequestFault::Delay(delay) => self.delay = delay,
            RequestFault::SlowRead { bytes_per_s } => self.read_bytes_per_s = Some(bytes_per_s),
            RequestFault::End { stage, ending } => self.end = Some((stage, ending)),
            RequestFault::Missing(missing) => self.missing = Some(missing),
            RequestFault::Malformed { after } => self.malformed_after = Some(after),
            RequestFault::Error { shape, after } => self.error = Some((shape, after)),
            RequestFault::Stall { after, pause } => self.stall = Some((after, pause)),
            RequestFault::Role(role) => self.role = role,
            RequestFault::Empty(events) => self.empty_events = events,
            RequestFault::Join(tokens) => self.tokens_an_event = tokens,
            RequestFault::Batch(events) => self.events_a_write = events,
            RequestFault::Split { bytes, pause } => self.split = Some((bytes, pause)),
            RequestFault::Lines(line_end) => self.line_end = line_end,
            RequestFault::NoBlank => self.no_blank = true,
            RequestFault::Comments => self.comments = true,
            RequestFault::Ping(every) => self.ping = Some(every),
            RequestFault::Usage(usage) => self.usage = usage,
            RequestFault::Buffer { bytes } => self.buffer_bytes = Some(bytes),
            RequestFault::Document => self.document = true,
            RequestFault::Corrupt => self.corrupt = true,
        }
    }

    /// Adds the deviations of `other`, which hold where both have one.
    pub(in crate::sim) fn overlay(&mut self, other: &Manner) {
        let plain = Manner::default();
        macro_rules! take {
            ($($field:ident),*) => {
                $(if other.$field != plain.$field { self.$field = other.$field; })*
            };
        }
        take!(
            status,
            delay,
            read_bytes_per_s,
            end,
            missing,
            malformed_after,
            error,
            stall,
            role,
            empty_events,
            tokens_an_event,
            events_a_write,
            split,
            line_end,
            no_blank,
            comments,
            ping,
            usage,
            buffer_bytes,
            document,
            corrupt
        );
    }
}

/// All deviations of one connection together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::sim) struct ConnectionManner {
    /// It is left waiting for so long.
    pub(in crate::sim) accept_delay: Duration,
    /// It is reset as soon as it is accepted.
    pub(in crate::sim) refuse: bool,
    /// It is closed when nothing has been asked for so long.
    pub(in crate::sim) idle_close: Option<Duration>,
}

impl ConnectionManner {
    /// Adds a deviation; of two alike the later holds.
    pub(super) fn apply(&mut self, fault: ConnectionFault) {
        match fault {
            ConnectionFault::AcceptDelay(delay) => self.accept_delay = delay,
            ConnectionFault::Refuse => self.refuse = true,
            ConnectionFault::IdleClose(after) => self.idle_close = Some(after),
        }
    }
}
