//! What an exchange leaves: its instants by the exact clock, and what was said in it.

use std::time::Duration;

use super::outcome::Outcome;
use crate::units::Nanos;

/// One token-bearing event of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// When its bytes arrived.
    pub at: Nanos,
    /// How many tokens it carries, where the server says so.
    pub tokens: Option<u32>,
}

/// Token counts stated by the server, each as stated: absent is not zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// `prompt_tokens`
    pub prompt: Option<u64>,
    /// `completion_tokens`, reasoning included
    pub completion: Option<u64>,
    /// `prompt_tokens_details.cached_tokens`
    pub cached: Option<u64>,
    /// `completion_tokens_details.reasoning_tokens`
    pub reasoning: Option<u64>,
}

/// Where the times of a row come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StampSource {
    /// The kernel's receive time.
    Kernel,
    /// The clock at the read.
    Read,
    /// The virtual clock.
    Virtual,
}

impl StampSource {
    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            StampSource::Kernel => "kernel",
            StampSource::Read => "read",
            StampSource::Virtual => "virtual",
        }
    }
}

/// How the bytes of a response were read: how far the times of its events can be trusted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reads {
    /// Reads that completed a token-bearing event.
    pub bearing: u64,
    /// Those of them that completed more than one: all its events have the time of the last one's arrival.
    pub shared: u64,
    /// Kernel stamps that were missing or impossible, and were replaced by the nearest possible time.
    pub clamped: u64,
    /// Longest time from the arrival of bytes to their read: the client's own delay. `None` without kernel
    /// stamps.
    pub delay_max: Option<Duration>,
}

/// What a model wrote, in full.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Texts {
    /// The answer.
    pub answer: String,
    /// The reasoning before it.
    pub reasoning: String,
    /// Name and arguments of each call of a tool, in order.
    pub tool_calls: Vec<(String, String)>,
    /// Whether something was left out for want of room.
    pub cut: bool,
}

impl Texts {
    /// Bytes it holds.
    pub(super) fn size_bytes(&self) -> usize {
        let calls = self.tool_calls.iter().map(|(name, arguments)| name.len() + arguments.len());
        size_of::<Texts>() + self.answer.len() + self.reasoning.len() + calls.sum::<usize>()
    }
}

/// Where a count of output tokens comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenSource {
    /// The server's usage.
    Server,
    /// Token ids or log probabilities in the events.
    Ids,
    /// A tokenizer over the text.
    Tokenizer,
}

impl TokenSource {
    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            TokenSource::Server => "server",
            TokenSource::Ids => "ids",
            TokenSource::Tokenizer => "tokenizer",
        }
    }
}

/// What happened on the wire for one request, in exact clock time.
///
/// In the order of memory: what every event of a stream changes stands together, so that it costs few cache lines
/// of a thousand streams.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Timeline {
    /// First event with generated text in any channel.
    pub first_token: Option<Nanos>,
    /// First event with answer text.
    pub first_answer: Option<Nanos>,
    /// Last event with generated text in any channel.
    pub last_token: Option<Nanos>,
    /// Last event with text or a finish reason: the end of the answer proper.
    pub last_output: Option<Nanos>,
    /// Token-bearing events not yet handed over by [`super::Event::Stamps`].
    pub stamps: Vec<Stamp>,
    /// Number of token-bearing events in all.
    pub events: u64,
    /// How its bytes were read.
    pub reads: Reads,
    /// Events that carried nothing countable: role only, pings as data, progress.
    pub ignored_events: u64,
    /// How it ended, as far as the exchange itself can tell.
    pub outcome: Outcome,
    /// When the exchange began, before a connection was obtained.
    pub sent: Nanos,
    /// When it was over for the client.
    pub ended: Nanos,
    /// First byte of the response.
    pub first_byte: Option<Nanos>,
    /// Tokens counted from ids or log probabilities in the events.
    pub counted_tokens: Option<u64>,
    /// What the server stated.
    pub usage: Usage,
    /// Status of the response.
    pub http_status: Option<u16>,
    /// Reason the model stopped.
    pub finish_reason: Option<String>,
    /// Text of the whole answer, where it was wanted.
    pub answer: Option<String>,
    /// A hash of the request's body, where its answer is to be compared with others to the same.
    pub body_hash: Option<u64>,
    /// What the model wrote, where it is to be kept with the results.
    pub texts: Option<Box<Texts>>,
    /// The server's message, or ours, bounded and without secrets.
    pub error: Option<String>,
    /// The server's id of the request.
    pub server_request_id: Option<String>,
    /// Time to obtain a connection; `None` where a pooled one served.
    pub connect: Option<Duration>,
    /// From the first write of the request to the last.
    pub upload: Option<Duration>,
    /// Exchanges begun, the first included.
    pub attempts: u32,
    /// Exchanges redone because a pooled connection was found dead before a response byte.
    pub reconnects: u32,
    /// Whether the connection was opened for this request.
    pub new_connection: Option<bool>,
    /// Bytes written to the connection; under HTTP/2, which mixes requests, those of the body alone.
    pub bytes_sent: u64,
    /// Bytes read from the connection; under HTTP/2 those of the body alone.
    pub bytes_received: u64,
    /// Where its times come from.
    pub stamp: StampSource,
}

impl Timeline {
    /// A timeline of an exchange that begins now; `outcome` stands as [`Outcome::Truncated`] until it ends.
    pub fn begin(sent: Nanos, stamp: StampSource) -> Timeline {
        Timeline {
            outcome: Outcome::Truncated,
            sent,
            ended: sent,
            first_byte: None,
            first_token: None,
            first_answer: None,
            last_token: None,
            last_output: None,
            stamps: Vec::new(),
            events: 0,
            ignored_events: 0,
            counted_tokens: None,
            usage: Usage::default(),
            http_status: None,
            finish_reason: None,
            answer: None,
            body_hash: None,
            texts: None,
            error: None,
            server_request_id: None,
            connect: None,
            upload: None,
            attempts: 1,
            reconnects: 0,
            new_connection: None,
            bytes_sent: 0,
            bytes_received: 0,
            stamp,
            reads: Reads::default(),
        }
    }
}
