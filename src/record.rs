//! The waist of the program: what a run says about itself.
//!
//! The sender emits [`Event`]s and never waits; everything after it (files, statistics, progress, verdict) is a
//! fold over them. An exchange leaves a [`Timeline`] in exact clock time; closing it together with what was
//! [`Planned`] gives a [`RequestRecord`], whose instants are whole microseconds from run start. Every figure,
//! live or later, is computed from records.

mod server;

use std::time::Duration;

pub use server::{ExtraSample, Scraped, ServerFigure, ServerFigures, ServerSample};

use crate::blocks::KnownPrompt;
use crate::units::{Micros, Nanos};

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

/// What the plan says of one request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Planned {
    /// Index of the request in the run.
    pub request: u64,
    /// Index of its session in the run.
    pub session: u64,
    /// Turn within the session, from 0.
    pub turn: u32,
    /// Index of the phase.
    pub phase: u32,
    /// Index of the workload.
    pub workload: u32,
    /// Row of the data set, from 0.
    pub dataset_row: Option<u64>,
    /// Prompt length in tokens as the server should count it, where it is known beforehand.
    pub prompt_tokens_planned: Option<u32>,
    /// Output length asked for.
    pub output_tokens_planned: Option<u32>,
    /// Group of requests that share a beginning, from 0.
    pub prefix_group: Option<u32>,
    /// Tokens that all prompts of the group begin with.
    pub prefix_tokens: Option<u32>,
    /// What is hidden in the prompt.
    pub needle: Option<Needle>,
}

/// Where a needle is hidden in a prompt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Needle {
    /// How deep, as a share of the prompt: 0 at its beginning, 1 at its end.
    pub depth: f64,
    /// Length asked of the prompt, in tokens.
    pub length_tokens: u32,
}

/// What became of an answer that was checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// It is the truth.
    Right,
    /// It is something else, or more than one thing.
    Wrong,
    /// There is none: nothing marked, an empty mark, a response cut off.
    NoAnswer,
}

impl Verdict {
    /// Every verdict.
    pub const ALL: [Verdict; 3] = [Verdict::Right, Verdict::Wrong, Verdict::NoAnswer];

    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Right => "right",
            Verdict::Wrong => "wrong",
            Verdict::NoAnswer => "no_answer",
        }
    }
}

/// How an answer was graded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grade {
    /// Whether it is the truth.
    pub verdict: Verdict,
    /// The rule that found the answer, or why there is none.
    pub rule: String,
    /// The answer as it stands in the response, bounded.
    pub answer: String,
    /// The truth it was compared with, bounded.
    pub truth: String,
}

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
    fn size_bytes(&self) -> usize {
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
    /// Token-bearing events not yet handed over by [`Event::Stamps`].
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

/// How the request stood in the schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// When it was due; `None` for a request that never became due.
    pub scheduled: Option<Nanos>,
    /// Whether it counts.
    pub measured: bool,
    /// User of a closed loop.
    pub user: Option<u32>,
    /// Time it waited for a place in flight or for its user.
    pub held: Option<Duration>,
}

/// What became of a planned request that was or was not sent.
#[derive(Clone, Debug)]
pub struct Ended {
    /// The plan's part.
    pub planned: Planned,
    /// The schedule's part.
    pub slot: Slot,
    /// The wire's part.
    pub fate: Fate,
}

/// Whether a planned request reached the wire.
#[derive(Clone, Debug)]
pub enum Fate {
    /// An exchange began.
    Sent(Box<Timeline>),
    /// None did: `dropped`, `not_sent`, `skipped`, or `client_error` with its reason.
    Unsent {
        /// Why.
        outcome: Outcome,
        /// Text for the row's `error`.
        error: Option<String>,
    },
}

/// Why a phase stopped offering load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndedBy {
    /// Its `duration`.
    Duration,
    /// Its `requests`.
    Requests,
    /// A data set under `when_exhausted = "stop"`.
    Data,
    /// A stop rule or a failure of ours.
    Stop,
    /// A signal.
    Signal,
}

impl EndedBy {
    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            EndedBy::Duration => "duration",
            EndedBy::Requests => "requests",
            EndedBy::Data => "data",
            EndedBy::Stop => "stop",
            EndedBy::Signal => "signal",
        }
    }
}

/// One thing that happened in a run, in order of happening.
#[derive(Clone, Debug)]
pub enum Event {
    /// The clock of the run starts: every column subtracts this instant.
    RunStarted {
        /// When.
        origin: Nanos,
    },
    /// A phase began to offer load.
    PhaseStarted {
        /// Index of the phase.
        phase: u32,
        /// When.
        at: Nanos,
    },
    /// An exchange began.
    Sent {
        /// Index of the phase.
        phase: u32,
        /// Index of the request.
        request: u64,
        /// What its prompt begins with, where that is known.
        known: Option<KnownPrompt>,
        /// When it was due.
        scheduled: Nanos,
        /// When it began.
        at: Nanos,
    },
    /// Token-bearing events of a long stream, handed over before its end so that none is held in bulk.
    Stamps {
        /// Index of the request.
        request: u64,
        /// The events.
        stamps: Vec<Stamp>,
    },
    /// A planned request is over.
    Ended(Box<Ended>),
    /// A phase stopped offering load. Its requests may still be running.
    PhaseEnded {
        /// Index of the phase.
        phase: u32,
        /// When.
        at: Nanos,
        /// Why.
        by: EndedBy,
    },
    /// The first request that counts of a phase whose warm-up is counted in requests is due.
    WindowStarted {
        /// Index of the phase.
        phase: u32,
        /// When.
        at: Nanos,
    },
    /// A phase's last request is over.
    PhaseDrained {
        /// Index of the phase.
        phase: u32,
        /// When.
        at: Nanos,
        /// Arrivals after a stop or signal, and slots that users never reached.
        not_planned: u64,
    },
    /// The sender's event loop was found late by this much.
    LoopDelay {
        /// When it was due to wake.
        at: Nanos,
        /// How late it woke.
        delay: Duration,
    },
    /// A page of the server's metrics was looked at.
    Scraped(Box<Scraped>),
    /// Nothing more will happen.
    RunEnded {
        /// When.
        at: Nanos,
    },
}

impl Event {
    /// Bytes held by the event, about.
    pub fn size_bytes(&self) -> usize {
        let held = match self {
            Event::Sent { known: Some(known), .. } => size_of_val(&*known.blocks),
            Event::Stamps { stamps, .. } => stamps.capacity() * size_of::<Stamp>(),
            Event::Scraped(scraped) => {
                size_of::<Scraped>() + scraped.page.as_ref().map_or_else(String::capacity, Vec::capacity)
            }
            Event::Ended(ended) => {
                let text = |text: &Option<String>| text.as_ref().map_or(0, String::capacity);
                size_of::<Ended>()
                    + match &ended.fate {
                        Fate::Sent(timeline) => {
                            size_of::<Timeline>()
                                + timeline.stamps.capacity() * size_of::<Stamp>()
                                + text(&timeline.error)
                                + text(&timeline.finish_reason)
                                + text(&timeline.answer)
                                + timeline.texts.as_ref().map_or(0, |texts| texts.size_bytes())
                                + text(&timeline.server_request_id)
                        }
                        Fate::Unsent { error, .. } => text(error),
                    }
            }
            _ => 0,
        };
        size_of::<Event>() + held
    }

    /// Lets go of what a model wrote: an answer stays unchecked, a response unkept. Whether there was one to keep.
    pub fn drop_texts(&mut self) -> bool {
        let Event::Ended(ended) = self else { return false };
        let Fate::Sent(timeline) = &mut ended.fate else { return false };
        timeline.answer = None;
        timeline.texts.take().is_some()
    }
}

/// Gaps between the token-bearing events of one request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GapFigures {
    /// Median.
    pub p50: Option<Micros>,
    /// 99th percentile, nearest rank.
    pub p99: Option<Micros>,
    /// Largest.
    pub max: Option<Micros>,
}

/// One row of `requests.csv`: a planned request with all that became of it. Instants are from run start.
/// Durations are methods: differences of rounded instants.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestRecord {
    /// Point of a sweep, from 1.
    pub point: Option<u32>,
    /// Repeat of a point, from 1.
    pub repeat: Option<u32>,
    /// Shard that sent it.
    pub shard: Option<u32>,
    /// The plan's part.
    pub planned: Planned,
    /// User of a closed loop.
    pub user: Option<u32>,
    /// How it ended.
    pub outcome: Outcome,
    /// Whether it counts.
    pub measured: bool,
    /// Whether it was `ok` and every limit held; `None` without limits, or where undecided.
    pub slo_met: Option<bool>,
    /// Status of the response.
    pub http_status: Option<u16>,
    /// Reason the model stopped.
    pub finish_reason: Option<String>,
    /// The server's message, or ours.
    pub error: Option<String>,
    /// Due time.
    pub scheduled: Option<Micros>,
    /// Send.
    pub sent: Option<Micros>,
    /// First byte of the response.
    pub first_byte: Option<Micros>,
    /// First generated text.
    pub first_token: Option<Micros>,
    /// First answer text.
    pub first_answer: Option<Micros>,
    /// Last generated text.
    pub last_token: Option<Micros>,
    /// Last text or finish reason.
    pub last_output: Option<Micros>,
    /// Over for the client.
    pub ended: Option<Micros>,
    /// Where the times come from.
    pub stamp: Option<StampSource>,
    /// How its bytes were read; `None` for a request that was never sent.
    pub reads: Option<Reads>,
    /// Time it waited for a place in flight or for its user.
    pub held: Option<Micros>,
    /// Time to obtain a connection.
    pub connect: Option<Micros>,
    /// Time to write the request.
    pub upload: Option<Micros>,
    /// Gaps between its token-bearing events.
    pub gaps: GapFigures,
    /// Prompt tokens, as the server counted.
    pub prompt_tokens: Option<u64>,
    /// Prompt tokens answered from the server's cache, as it said.
    pub cached_tokens: Option<u64>,
    /// Prompt tokens that could have been.
    pub eligible_tokens: Option<u64>,
    /// Output tokens.
    pub output_tokens: Option<u64>,
    /// Output tokens that arrived inside the phase's window.
    pub output_tokens_in_window: Option<f64>,
    /// Output tokens that were reasoning.
    pub reasoning_tokens: Option<u64>,
    /// Where `output_tokens` comes from.
    pub token_source: Option<TokenSource>,
    /// Token-bearing events.
    pub events: Option<u64>,
    /// Exchanges begun.
    pub attempts: Option<u32>,
    /// Exchanges redone on a fresh connection.
    pub reconnects: Option<u32>,
    /// Whether the connection was opened for it.
    pub new_connection: Option<bool>,
    /// Bytes written.
    pub bytes_sent: Option<u64>,
    /// Bytes read.
    pub bytes_received: Option<u64>,
    /// Events that carried nothing countable.
    pub ignored_events: Option<u64>,
    /// The server's id of the request.
    pub server_request_id: Option<String>,
    /// How its answer was graded; `None` where it was not.
    pub grade: Option<Grade>,
    /// Whether its answer is the one that the same request got first; `None` for a first one, or where that is not
    /// looked at.
    pub consistent: Option<bool>,
}

impl RequestRecord {
    /// A row of which nothing is known but the plan and what became of it.
    pub fn unsent(planned: Planned, outcome: Outcome) -> RequestRecord {
        RequestRecord {
            point: None,
            repeat: None,
            shard: None,
            planned,
            user: None,
            outcome,
            measured: false,
            slo_met: None,
            http_status: None,
            finish_reason: None,
            error: None,
            scheduled: None,
            sent: None,
            first_byte: None,
            first_token: None,
            first_answer: None,
            last_token: None,
            last_output: None,
            ended: None,
            stamp: None,
            reads: None,
            held: None,
            connect: None,
            upload: None,
            gaps: GapFigures::default(),
            prompt_tokens: None,
            cached_tokens: None,
            eligible_tokens: None,
            output_tokens: None,
            output_tokens_in_window: None,
            reasoning_tokens: None,
            token_source: None,
            events: None,
            attempts: None,
            reconnects: None,
            new_connection: None,
            bytes_sent: None,
            bytes_received: None,
            ignored_events: None,
            server_request_id: None,
            grade: None,
            consistent: None,
        }
    }

    /// sent − scheduled: what the schedule lost, for whatever reason.
    pub fn lag(&self) -> Option<Micros> {
        Some(self.sent? - self.scheduled?)
    }

    /// First generated text − sent.
    pub fn ttft(&self) -> Option<Micros> {
        Some(self.first_token? - self.sent?)
    }

    /// First generated text − scheduled.
    pub fn ttft_scheduled(&self) -> Option<Micros> {
        Some(self.first_token? - self.scheduled?)
    }

    /// First answer text − sent.
    pub fn first_answer_after(&self) -> Option<Micros> {
        Some(self.first_answer? - self.sent?)
    }

    /// Last text or finish reason − sent; empty unless `ok`.
    pub fn e2e(&self) -> Option<Micros> {
        Some(self.output_end()? - self.sent?)
    }

    /// Last text or finish reason − scheduled; empty unless `ok`.
    pub fn e2e_scheduled(&self) -> Option<Micros> {
        Some(self.output_end()? - self.scheduled?)
    }

    /// (last token − first token) / (N − 1), in ms; empty when N < 2 or both fell together.
    pub fn tpot_ms(&self) -> Option<f64> {
        let tokens = self.output_tokens.filter(|tokens| *tokens >= 2)?;
        let span = self.last_token? - self.first_token?;
        (span.0 > 0).then(|| span.as_ms() / (tokens - 1) as f64)
    }

    fn output_end(&self) -> Option<Micros> {
        self.last_output.filter(|_| self.outcome == Outcome::Ok)
    }
}
