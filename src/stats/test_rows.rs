//! Rows for tests, by the story they tell: times in ms from run start.

use crate::record::{Outcome, Planned, RequestRecord, StampSource, TokenSource};
use crate::units::Micros;

pub(crate) fn ms(ms: u64) -> Micros {
    Micros(ms * 1_000)
}

/// A measured row of phase 0 and workload 0 that was due and sent at `sent_ms`, and ended as told.
pub(crate) fn row(sent_ms: u64, outcome: Outcome) -> RequestRecord {
    RequestRecord {
        measured: true,
        scheduled: Some(ms(sent_ms)),
        sent: outcome.was_sent().then_some(ms(sent_ms)),
        ..RequestRecord::unsent(Planned::default(), outcome)
    }
}

/// An `ok` row: sent, first token and last output at these times, `tokens` of output, all inside the window.
pub(crate) fn ok(sent_ms: u64, first_ms: u64, last_ms: u64, tokens: u64) -> RequestRecord {
    RequestRecord {
        http_status: Some(200),
        finish_reason: Some("stop".to_owned()),
        first_byte: Some(ms(first_ms)),
        first_token: Some(ms(first_ms)),
        first_answer: Some(ms(first_ms)),
        last_token: Some(ms(last_ms)),
        last_output: Some(ms(last_ms)),
        ended: Some(ms(last_ms)),
        stamp: Some(StampSource::Virtual),
        output_tokens: Some(tokens),
        output_tokens_in_window: Some(tokens as f64),
        token_source: Some(TokenSource::Server),
        attempts: Some(1),
        reconnects: Some(0),
        ..row(sent_ms, Outcome::Ok)
    }
}

/// A row that failed after some time.
pub(crate) fn failed(sent_ms: u64, outcome: Outcome, ended_ms: u64) -> RequestRecord {
    RequestRecord { ended: Some(ms(ended_ms)), ..row(sent_ms, outcome) }
}
