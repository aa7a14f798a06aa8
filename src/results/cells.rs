//! How cells are read back: the reverse of `columns`.
//!
//! Columns are found by name, so that files of other versions can be read as far as they go. Durations that follow
//! from two instants are not read, but for E2E, which holds the end of the answer.

use crate::record::{
    GapFigures, Grade, Needle, Outcome, Planned, RequestRecord, StampSource, TokenSource, Verdict,
};
use crate::units::Micros;

/// A request as its row tells; phase and workload by name.
pub(super) struct ReadRow {
    pub(super) record: RequestRecord,
    pub(super) phase: String,
    pub(super) workload: String,
    e2e: Option<Micros>,
    needle_depth: Option<f64>,
}

/// Puts a cell into a row; `None` where it cannot be read.
type Read = fn(&mut ReadRow, &[u8]) -> Option<()>;

/// How the cells of a file are read, in its order; `None` for those that are passed over.
pub(super) struct Cells(Vec<Option<Read>>);

/// Columns without which a row says nothing.
const REQUIRED: [&str; 6] = ["request", "phase", "workload", "outcome", "measured", "scheduled_s"];

impl Cells {
    /// By the names of a header row.
    ///
    /// # Errors
    /// The name of a required column that is missing.
    pub(super) fn of_header<'a>(names: impl Iterator<Item = &'a [u8]>) -> Result<Cells, &'static str> {
        let names: Vec<&[u8]> = names.collect();
        let missing = REQUIRED.into_iter().find(|required| !names.contains(&required.as_bytes()));
        match missing {
            Some(missing) => Err(missing),
            None => {
                Ok(Cells(names.into_iter().map(|name| reader_of(std::str::from_utf8(name).ok()?)).collect()))
            }
        }
    }

    /// Reads a line's cells into `row`.
    ///
    /// # Errors
    /// The place of the first cell that cannot be read.
    pub(super) fn read<'a>(
        &self,
        cells: impl Iterator<Item = &'a [u8]>,
        row: &mut ReadRow,
    ) -> Result<(), usize> {
        for (place, (cell, read)) in cells.zip(&self.0).enumerate() {
            if let Some(read) = read {
                read(row, cell).ok_or(place)?;
            }
        }
        let record = &mut row.record;
        let end = row.e2e.zip(record.sent).map(|(e2e, sent)| Micros(sent.0.saturating_add(e2e.0)));
        record.last_output = end.or(record.last_token);
        Ok(())
    }
}

impl ReadRow {
    /// To be read into.
    pub(super) fn new() -> ReadRow {
        ReadRow {
            record: RequestRecord {
                gaps: GapFigures::default(),
                ..RequestRecord::unsent(Planned::default(), Outcome::NotSent)
            },
            phase: String::new(),
            workload: String::new(),
            e2e: None,
            needle_depth: None,
        }
    }
}

fn reader_of(column: &str) -> Option<Read> {
    Some(match column {
        "point" => |row, cell| set(&mut row.record.point, count(cell)),
        "repeat" => |row, cell| set(&mut row.record.repeat, count(cell)),
        "request" => |row, cell| set(&mut row.record.planned.request, whole(cell)),
        "phase" => |row, cell| set_name(&mut row.phase, cell),
        "workload" => |row, cell| set_name(&mut row.workload, cell),
        "session" => |row, cell| set(&mut row.record.planned.session, whole(cell)),
        "turn" => |row, cell| set(&mut row.record.planned.turn, whole(cell).map(|turn| turn as u32)),
        "user" => |row, cell| set(&mut row.record.user, count(cell)),
        "shard" => |row, cell| set(&mut row.record.shard, count(cell)),
        "outcome" => {
            |row, cell| set(&mut row.record.outcome, Outcome::named(std::str::from_utf8(cell).ok()?))
        }
        "http_status" => |row, cell| set(&mut row.record.http_status, count(cell)),
        "finish_reason" => |row, cell| set_text(&mut row.record.finish_reason, cell),
        "error" => |row, cell| set_text(&mut row.record.error, cell),
        "measured" => |row, cell| set(&mut row.record.measured, truth(cell)?),
        "slo_met" => |row, cell| set(&mut row.record.slo_met, truth(cell)),
        "scheduled_s" => |row, cell| set(&mut row.record.scheduled, seconds(cell)),
        "sent_s" => |row, cell| set(&mut row.record.sent, seconds(cell)),
        "first_byte_s" => |row, cell| set(&mut row.record.first_byte, seconds(cell)),
        "first_token_s" => |row, cell| set(&mut row.record.first_token, seconds(cell)),
        "first_answer_s" => |row, cell| set(&mut row.record.first_answer, seconds(cell)),
        "last_token_s" => |row, cell| set(&mut row.record.last_token, seconds(cell)),
        "ended_s" => |row, cell| set(&mut row.record.ended, seconds(cell)),
        "stamp" => |row, cell| {
            let known = [StampSource::Kernel, StampSource::Read, StampSource::Virtual];
            set(&mut row.record.stamp, Some(known.into_iter().find(|stamp| stamp.name().as_bytes() == cell)))
        },
        "held_ms" => |row, cell| set(&mut row.record.held, millis(cell)),
        "connect_ms" => |row, cell| set(&mut row.record.connect, millis(cell)),
        "upload_ms" => |row, cell| set(&mut row.record.upload, millis(cell)),
        "e2e_ms" => |row, cell| set(&mut row.e2e, millis(cell)),
        "gap_p50_ms" => |row, cell| set(&mut row.record.gaps.p50, millis(cell)),
        "gap_p99_ms" => |row, cell| set(&mut row.record.gaps.p99, millis(cell)),
        "gap_max_ms" => |row, cell| set(&mut row.record.gaps.max, millis(cell)),
        "prompt_tokens_planned" => {
            |row, cell| set(&mut row.record.planned.prompt_tokens_planned, count(cell))
        }
        "prompt_tokens" => |row, cell| set(&mut row.record.prompt_tokens, count(cell)),
        "cached_tokens" => |row, cell| set(&mut row.record.cached_tokens, count(cell)),
        "eligible_tokens" => |row, cell| set(&mut row.record.eligible_tokens, count(cell)),
        "output_tokens_planned" => {
            |row, cell| set(&mut row.record.planned.output_tokens_planned, count(cell))
        }
        "output_tokens" => |row, cell| set(&mut row.record.output_tokens, count(cell)),
        "output_tokens_in_window" => |row, cell| set(&mut row.record.output_tokens_in_window, real(cell)),
        "reasoning_tokens" => |row, cell| set(&mut row.record.reasoning_tokens, count(cell)),
        "token_source" => |row, cell| {
            let known = [TokenSource::Server, TokenSource::Ids, TokenSource::Tokenizer];
            set(
                &mut row.record.token_source,
                Some(known.into_iter().find(|source| source.name().as_bytes() == cell)),
            )
        },
        "events" => |row, cell| set(&mut row.record.events, count(cell)),
        "attempts" => |row, cell| set(&mut row.record.attempts, count(cell)),
        "reconnects" => |row, cell| set(&mut row.record.reconnects, count(cell)),
        "new_connection" => |row, cell| set(&mut row.record.new_connection, truth(cell)),
        "bytes_sent" => |row, cell| set(&mut row.record.bytes_sent, count(cell)),
        "bytes_received" => |row, cell| set(&mut row.record.bytes_received, count(cell)),
        "ignored_events" => |row, cell| set(&mut row.record.ignored_events, count(cell)),
        "server_request_id" => |row, cell| set_text(&mut row.record.server_request_id, cell),
        "dataset_row" => |row, cell| set(&mut row.record.planned.dataset_row, count(cell)),
        "prefix_group" => |row, cell| set(&mut row.record.planned.prefix_group, count(cell)),
        "prefix_tokens" => |row, cell| set(&mut row.record.planned.prefix_tokens, count(cell)),
        "needle_depth" => |row, cell| set(&mut row.needle_depth, real(cell)),
        "needle_length" => |row, cell| {
            let length = count(cell)?;
            let needle = |(depth, length_tokens)| Needle { depth, length_tokens };
            row.record.planned.needle = row.needle_depth.zip(length).map(needle);
            Some(())
        },
        "verdict" => |row, cell| {
            let known = Verdict::ALL.into_iter().find(|verdict| verdict.name().as_bytes() == cell);
            if known.is_none() && !cell.is_empty() {
                return None;
            }
            row.record.grade = known.map(|verdict| Grade {
                verdict,
                rule: String::new(),
                answer: String::new(),
                truth: String::new(),
            });
            Some(())
        },
        "rule" => |row, cell| set_grade(&mut row.record.grade, |grade| &mut grade.rule, cell),
        "answer" => |row, cell| set_grade(&mut row.record.grade, |grade| &mut grade.answer, cell),
        "truth" => |row, cell| set_grade(&mut row.record.grade, |grade| &mut grade.truth, cell),
        "consistent" => |row, cell| set(&mut row.record.consistent, truth(cell)),
        _ => return None,
    })
}

fn set<T>(place: &mut T, value: Option<T>) -> Option<()> {
    *place = value?;
    Some(())
}

fn set_name(place: &mut String, cell: &[u8]) -> Option<()> {
    if place.as_bytes() != cell {
        *place = std::str::from_utf8(cell).ok()?.to_owned();
    }
    Some(())
}

/// Text as it stands in the file, the mark of what a spreadsheet would run included.
fn set_text(place: &mut Option<String>, cell: &[u8]) -> Option<()> {
    match place {
        Some(text) if text.as_bytes() == cell => {}
        _ if cell.is_empty() => *place = None,
        _ => *place = Some(std::str::from_utf8(cell).ok()?.to_owned()),
    }
    Some(())
}

/// Text of a grade; a row that was not graded has none.
fn set_grade(grade: &mut Option<Grade>, place: fn(&mut Grade) -> &mut String, cell: &[u8]) -> Option<()> {
    let Some(grade) = grade else { return Some(()) };
    *place(grade) = std::str::from_utf8(cell).ok()?.to_owned();
    Some(())
}

/// `Some(None)` of an empty cell, `None` of one that is no such number, or so great that sums of rows would not be whole.
fn count<T: TryFrom<u64>>(cell: &[u8]) -> Option<Option<T>> {
    const GREATEST: u64 = 1_000_000_000_000_000;
    if cell.is_empty() {
        return Some(None);
    }
    let count = whole(cell).filter(|count| *count <= GREATEST)?;
    Some(Some(T::try_from(count).ok()?))
}

/// A whole number without sign, below 10¹⁹.
pub(super) fn whole(cell: &[u8]) -> Option<u64> {
    if cell.is_empty() || cell.len() > 19 {
        return None;
    }
    cell.iter()
        .try_fold(0, |value: u64, byte| byte.is_ascii_digit().then(|| value * 10 + u64::from(byte - b'0')))
}

fn truth(cell: &[u8]) -> Option<Option<bool>> {
    match cell {
        b"true" | b"TRUE" | b"True" => Some(Some(true)),
        b"false" | b"FALSE" | b"False" => Some(Some(false)),
        b"" => Some(None),
        _ => None,
    }
}

fn seconds(cell: &[u8]) -> Option<Option<Micros>> {
    fixed(cell, 6)
}

pub(super) fn millis(cell: &[u8]) -> Option<Option<Micros>> {
    fixed(cell, 3)
}

/// A number of so many decimals at most, in units of the last one. A spreadsheet may have dropped trailing zeros.
fn fixed(cell: &[u8], decimals: usize) -> Option<Option<Micros>> {
    if cell.is_empty() {
        return Some(None);
    }
    let point = memchr::memchr(b'.', cell).unwrap_or(cell.len());
    let fraction = cell.get(point + 1..).unwrap_or(b"");
    if fraction.len() > decimals {
        return None;
    }
    let mut value = whole(&cell[..point])?;
    for place in 0..decimals {
        let digit = fraction.get(place).copied().unwrap_or(b'0');
        if !digit.is_ascii_digit() {
            return None;
        }
        value = value.checked_mul(10)?.checked_add(u64::from(digit - b'0'))?;
    }
    Some(Some(Micros(value)))
}

pub(super) fn real(cell: &[u8]) -> Option<Option<f64>> {
    if cell.is_empty() {
        return Some(None);
    }
    if let Some(value) = whole(cell) {
        return Some(Some(value as f64));
    }
    let value: f64 = std::str::from_utf8(cell).ok()?.parse().ok()?;
    value.is_finite().then_some(Some(value))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::RequestRow;
    use super::super::text::{write_header, write_row};
    use super::*;
    use crate::stats::test_rows::{failed, ms, ok, row};

    fn read_back(record: &RequestRecord) -> RequestRecord {
        let (mut header, mut line) = (String::new(), String::new());
        write_header(RequestRow::COLUMNS, &mut header);
        write_row(RequestRow::COLUMNS, &RequestRow { record, phase: "steady", workload: "chat" }, &mut line);
        let mut reader = csv::Reader::from_reader((header + &line).into_bytes().leak() as &[u8]);
        let cells = Cells::of_header(reader.byte_headers().unwrap().iter()).unwrap();
        let line = reader.byte_records().next().unwrap().unwrap();
        let mut read = ReadRow::new();
        cells.read(line.iter(), &mut read).unwrap();
        assert_eq!((read.phase.as_str(), read.workload.as_str()), ("steady", "chat"));
        read.record
    }

    #[test]
    fn rows_are_read_back_as_they_were_written() {
        let mut full = ok(1_000, 1_250, 3_250, 41);
        full.scheduled = Some(Micros(999_500));
        full.planned.request = 7;
        full.planned.dataset_row = Some(3);
        full.planned.prompt_tokens_planned = Some(8_000);
        full.output_tokens_in_window = Some(41.0 / 3.0);
        full.slo_met = Some(true);
        (full.held, full.connect, full.upload) = (Some(Micros(1)), Some(ms(2)), Some(Micros(999)));
        full.gaps.p50 = Some(ms(50));
        full.new_connection = Some(false);
        full.server_request_id = Some("a,\"b\"\nc".to_owned());
        let mut skipped = row(10, Outcome::Skipped);
        (skipped.scheduled, skipped.measured) = (None, false);
        for record in [full, failed(5, Outcome::HttpError, 9), skipped] {
            assert_eq!(read_back(&record), record);
        }
    }

    #[test]
    fn cells_that_are_none_are_refused() {
        for cell in ["-1", "1e3", "1.0000001", "x", " 1", ".5", "99999999999999999999"] {
            assert_eq!(seconds(cell.as_bytes()), None, "{cell}");
        }
        assert_eq!(seconds(b"12"), Some(Some(Micros(12_000_000))));
        assert_eq!(seconds(b"12.5"), Some(Some(Micros(12_500_000))), "a spreadsheet drops zeros");
        assert_eq!((real(b"NaN"), real(b"inf"), truth(b"yes")), (None, None, None));
        assert_eq!(Cells::of_header([&b"request"[..], b"phase"].into_iter()).err(), Some("workload"));
    }

    proptest! {
        #[test]
        fn instants_and_shares_of_tokens_come_back_exactly(us in 0..1u64 << 53, tokens in 0.0..1e6f64) {
            let record = RequestRecord { ended: Some(Micros(us)), output_tokens_in_window: Some(tokens), ..row(0, Outcome::Ok) };
            let read = read_back(&record);
            prop_assert_eq!((read.ended, read.output_tokens_in_window), (Some(Micros(us)), Some(tokens)));
        }
    }
}
