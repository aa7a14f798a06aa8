//! A row of `requests.csv`.

use super::grade::Grade;
use super::outcome::Outcome;
use super::planned::Planned;
use super::timeline::{Reads, StampSource, TokenSource};
use crate::units::Micros;

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
