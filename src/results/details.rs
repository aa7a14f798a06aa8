//! Files that are written when asked for, and that no figure needs: `chunks.csv`, one token-bearing event a row, and
//! `responses.jsonl`, what models wrote, one request a line.

use serde::Serialize;

use super::columns::RequestRow;
use super::text::{Column, count, millis, plain, seconds};
use crate::record::Texts;
use crate::units::Micros;

/// Name of the file of events.
pub const CHUNKS_FILE: &str = "chunks.csv";
/// Name of the file of texts.
pub const RESPONSES_FILE: &str = "responses.jsonl";

/// One token-bearing event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkRow {
    /// Point of a sweep, from 1.
    pub point: Option<u32>,
    /// Repeat of a point, from 1.
    pub repeat: Option<u32>,
    /// Its request.
    pub request: u64,
    /// Its number in the answer, from 1.
    pub event: u64,
    /// When it arrived, from run start.
    pub at: Micros,
    /// Time since the one before; `None` of the first.
    pub gap: Option<Micros>,
    /// Tokens it carried, where the server says so for all of an answer.
    pub tokens: Option<u32>,
}

/// `chunks.csv`.
pub const CHUNKS: &[Column<ChunkRow>] = &[
    Column { name: "point", write: |row, cell| plain(cell, row.point) },
    Column { name: "repeat", write: |row, cell| plain(cell, row.repeat) },
    Column { name: "request", write: |row, cell| count(cell, Some(row.request)) },
    Column { name: "event", write: |row, cell| count(cell, Some(row.event)) },
    Column { name: "t_s", write: |row, cell| seconds(cell, Some(row.at)) },
    Column { name: "gap_ms", write: |row, cell| millis(cell, row.gap) },
    Column { name: "tokens", write: |row, cell| count(cell, row.tokens) },
];

/// A line of `responses.jsonl`.
#[derive(Serialize)]
struct Response<'a> {
    point: Option<u32>,
    repeat: Option<u32>,
    request: u64,
    phase: &'a str,
    workload: &'a str,
    session: u64,
    turn: u32,
    outcome: &'a str,
    answer: &'a str,
    reasoning: &'a str,
    tool_calls: Vec<Call<'a>>,
    /// Whether something was left out for want of room.
    cut: bool,
}

#[derive(Serialize)]
struct Call<'a> {
    name: &'a str,
    arguments: &'a str,
}

/// What a model wrote as a JSON object on one line.
pub fn response_line(row: &RequestRow<'_>, texts: &Texts) -> String {
    let planned = &row.record.planned;
    let response = Response {
        point: row.record.point,
        repeat: row.record.repeat,
        request: planned.request,
        phase: row.phase,
        workload: row.workload,
        session: planned.session,
        turn: planned.turn,
        outcome: row.record.outcome.name(),
        answer: &texts.answer,
        reasoning: &texts.reasoning,
        tool_calls: texts.tool_calls.iter().map(|(name, arguments)| Call { name, arguments }).collect(),
        cut: texts.cut,
    };
    serde_json::to_string(&response).expect("texts and numbers are JSON")
}
