//! How planned requests end.

/// How a planned request ended. A closed list: every row has exactly one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// 2xx, a terminal event, no error object, at least one token.
    Ok,
    /// The server answered with a status other than 2xx.
    HttpError,
    /// No connection: refused, unreachable, reset before a response.
    ConnectError,
    /// The TLS handshake failed.
    TlsError,
    /// No connection within `timeouts.connect`.
    TimeoutConnect,
    /// No generated text within `timeouts.first_token` of the send.
    TimeoutFirstToken,
    /// Silence for `timeouts.idle` after the first token.
    TimeoutIdle,
    /// Not done within `timeouts.total`.
    TimeoutTotal,
    /// The server reported an error inside its answer.
    StreamError,
    /// The answer ended without a terminal event, or the connection broke.
    Truncated,
    /// Bytes that are not what they claim to be: broken HTTP, JSON or event stream.
    Malformed,
    /// A complete answer with no token in it.
    Empty,
    /// A stream was asked for and a whole document came.
    NotStreamed,
    /// Still running when the phase's drain ended.
    CutAtEnd,
    /// Still running when the run was stopped.
    Cancelled,
    /// Due while `max_in_flight` was full.
    Dropped,
    /// Due and held, never sent before the end.
    NotSent,
    /// Never due: its session ended before.
    Skipped,
    /// The client's own failure: ports, descriptors, a data set that could not be read.
    ClientError,
}

impl Outcome {
    /// Every outcome, in the order of reports.
    pub const ALL: [Outcome; 19] = [
        Outcome::Ok,
        Outcome::HttpError,
        Outcome::ConnectError,
        Outcome::TlsError,
        Outcome::TimeoutConnect,
        Outcome::TimeoutFirstToken,
        Outcome::TimeoutIdle,
        Outcome::TimeoutTotal,
        Outcome::StreamError,
        Outcome::Truncated,
        Outcome::Malformed,
        Outcome::Empty,
        Outcome::NotStreamed,
        Outcome::CutAtEnd,
        Outcome::Cancelled,
        Outcome::Dropped,
        Outcome::NotSent,
        Outcome::Skipped,
        Outcome::ClientError,
    ];

    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Ok => "ok",
            Outcome::HttpError => "http_error",
            Outcome::ConnectError => "connect_error",
            Outcome::TlsError => "tls_error",
            Outcome::TimeoutConnect => "timeout_connect",
            Outcome::TimeoutFirstToken => "timeout_first_token",
            Outcome::TimeoutIdle => "timeout_idle",
            Outcome::TimeoutTotal => "timeout_total",
            Outcome::StreamError => "stream_error",
            Outcome::Truncated => "truncated",
            Outcome::Malformed => "malformed",
            Outcome::Empty => "empty",
            Outcome::NotStreamed => "not_streamed",
            Outcome::CutAtEnd => "cut_at_end",
            Outcome::Cancelled => "cancelled",
            Outcome::Dropped => "dropped",
            Outcome::NotSent => "not_sent",
            Outcome::Skipped => "skipped",
            Outcome::ClientError => "client_error",
        }
    }

    /// The outcome of this name in files.
    pub fn named(name: &str) -> Option<Outcome> {
        Outcome::ALL.into_iter().find(|outcome| outcome.name() == name)
    }

    /// Whether an exchange began.
    pub fn was_sent(self) -> bool {
        !matches!(self, Outcome::Dropped | Outcome::NotSent | Outcome::Skipped)
    }

    /// Whether the row says nothing about the server: neither a success nor a failure of it.
    pub fn is_undecided(self) -> bool {
        matches!(self, Outcome::Skipped | Outcome::Cancelled | Outcome::ClientError | Outcome::CutAtEnd)
    }
}
