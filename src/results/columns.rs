//! The columns of `requests.csv`, each defined once.
//!
//! One column set whatever happened; a cell is empty where the row has nothing to say.

use super::text::{Column, count, millis, plain, seconds, text};
use crate::record::{RequestRecord, StampSource, TokenSource};
use crate::units::Micros;

/// A row with the names its indices stand for.
pub struct RequestRow<'a> {
    /// The row.
    pub record: &'a RequestRecord,
    /// Name of its phase.
    pub phase: &'a str,
    /// Name of its workload.
    pub workload: &'a str,
}

impl<'a> RequestRow<'a> {
    /// All columns, in the order of the file.
    pub const COLUMNS: &'a [Column<RequestRow<'a>>] = &[
        // which
        Column { name: "point", write: |row, cell| count(cell, row.record.point) },
        Column { name: "repeat", write: |row, cell| count(cell, row.record.repeat) },
        Column { name: "request", write: |row, cell| count(cell, Some(row.record.planned.request)) },
        Column { name: "phase", write: |row, cell| text(cell, Some(row.phase)) },
        Column { name: "workload", write: |row, cell| text(cell, Some(row.workload)) },
        Column { name: "session", write: |row, cell| count(cell, Some(row.record.planned.session)) },
        Column { name: "turn", write: |row, cell| count(cell, Some(row.record.planned.turn)) },
        Column { name: "user", write: |row, cell| count(cell, row.record.user) },
        Column { name: "shard", write: |row, cell| count(cell, row.record.shard) },
        // what became of it
        Column { name: "outcome", write: |row, cell| plain(cell, Some(row.record.outcome.name())) },
        Column { name: "http_status", write: |row, cell| count(cell, row.record.http_status) },
        Column { name: "finish_reason", write: |row, cell| text(cell, row.record.finish_reason.as_deref()) },
        Column { name: "error", write: |row, cell| text(cell, row.record.error.as_deref()) },
        Column { name: "measured", write: |row, cell| plain(cell, Some(row.record.measured)) },
        Column { name: "slo_met", write: |row, cell| plain(cell, row.record.slo_met) },
        // times
        Column { name: "scheduled_s", write: |row, cell| seconds(cell, row.record.scheduled) },
        Column { name: "sent_s", write: |row, cell| seconds(cell, row.record.sent) },
        Column { name: "first_byte_s", write: |row, cell| seconds(cell, row.record.first_byte) },
        Column { name: "first_token_s", write: |row, cell| seconds(cell, row.record.first_token) },
        Column { name: "first_answer_s", write: |row, cell| seconds(cell, row.record.first_answer) },
        Column { name: "last_token_s", write: |row, cell| seconds(cell, row.record.last_token) },
        Column { name: "ended_s", write: |row, cell| seconds(cell, row.record.ended) },
        Column { name: "stamp", write: |row, cell| plain(cell, row.record.stamp.map(StampSource::name)) },
        // durations
        Column { name: "lag_ms", write: |row, cell| millis(cell, row.record.lag()) },
        Column { name: "held_ms", write: |row, cell| millis(cell, row.record.held) },
        Column { name: "connect_ms", write: |row, cell| millis(cell, row.record.connect) },
        Column { name: "upload_ms", write: |row, cell| millis(cell, row.record.upload) },
        Column { name: "ttft_ms", write: |row, cell| millis(cell, row.record.ttft()) },
        Column { name: "ttft_scheduled_ms", write: |row, cell| millis(cell, row.record.ttft_scheduled()) },
        Column { name: "first_answer_ms", write: |row, cell| millis(cell, row.record.first_answer_after()) },
        Column { name: "tpot_ms", write: |row, cell| three_decimals(cell, row.record.tpot_ms()) },
        Column { name: "e2e_ms", write: |row, cell| millis(cell, row.record.e2e()) },
        Column { name: "e2e_scheduled_ms", write: |row, cell| millis(cell, row.record.e2e_scheduled()) },
        Column { name: "gap_p50_ms", write: |row, cell| millis(cell, row.record.gaps.p50) },
        Column { name: "gap_p99_ms", write: |row, cell| millis(cell, row.record.gaps.p99) },
        Column { name: "gap_max_ms", write: |row, cell| millis(cell, row.record.gaps.max) },
        // tokens
        Column {
            name: "prompt_tokens_planned",
            write: |row, cell| count(cell, row.record.planned.prompt_tokens_planned),
        },
        Column { name: "prompt_tokens", write: |row, cell| count(cell, row.record.prompt_tokens) },
        Column { name: "cached_tokens", write: |row, cell| count(cell, row.record.cached_tokens) },
        Column { name: "eligible_tokens", write: |row, cell| count(cell, row.record.eligible_tokens) },
        Column {
            name: "output_tokens_planned",
            write: |row, cell| count(cell, row.record.planned.output_tokens_planned),
        },
        Column { name: "output_tokens", write: |row, cell| count(cell, row.record.output_tokens) },
        Column {
            name: "output_tokens_in_window",
            write: |row, cell| exact(cell, row.record.output_tokens_in_window),
        },
        Column { name: "reasoning_tokens", write: |row, cell| count(cell, row.record.reasoning_tokens) },
        Column {
            name: "token_source",
            write: |row, cell| plain(cell, row.record.token_source.map(TokenSource::name)),
        },
        Column { name: "events", write: |row, cell| count(cell, row.record.events) },
        // wire
        Column { name: "attempts", write: |row, cell| count(cell, row.record.attempts) },
        Column { name: "reconnects", write: |row, cell| count(cell, row.record.reconnects) },
        Column { name: "new_connection", write: |row, cell| plain(cell, row.record.new_connection) },
        Column { name: "bytes_sent", write: |row, cell| count(cell, row.record.bytes_sent) },
        Column { name: "bytes_received", write: |row, cell| count(cell, row.record.bytes_received) },
        Column { name: "ignored_events", write: |row, cell| count(cell, row.record.ignored_events) },
        Column {
            name: "server_request_id",
            write: |row, cell| text(cell, row.record.server_request_id.as_deref()),
        },
        // prompt
        Column { name: "dataset_row", write: |row, cell| count(cell, row.record.planned.dataset_row) },
        Column { name: "prefix_group", write: |row, cell| count(cell, row.record.planned.prefix_group) },
        Column { name: "prefix_tokens", write: |row, cell| count(cell, row.record.planned.prefix_tokens) },
        Column {
            name: "needle_depth",
            write: |row, cell| plain(cell, row.record.planned.needle.map(|needle| needle.depth)),
        },
        Column {
            name: "needle_length",
            write: |row, cell| count(cell, row.record.planned.needle.map(|needle| needle.length_tokens)),
        },
        // answer
        Column {
            name: "verdict",
            write: |row, cell| plain(cell, row.record.grade.as_ref().map(|grade| grade.verdict.name())),
        },
        Column {
            name: "rule",
            write: |row, cell| text(cell, row.record.grade.as_ref().map(|grade| grade.rule.as_str())),
        },
        Column {
            name: "answer",
            write: |row, cell| text(cell, row.record.grade.as_ref().map(|grade| grade.answer.as_str())),
        },
        Column {
            name: "truth",
            write: |row, cell| text(cell, row.record.grade.as_ref().map(|grade| grade.truth.as_str())),
        },
        Column { name: "consistent", write: |row, cell| plain(cell, row.record.consistent) },
    ];
}

/// As many digits as tell it apart, so that a sum over rows read back is the sum over rows.
fn exact(cell: &mut String, tokens: Option<f64>) {
    match tokens.filter(|tokens| tokens.is_finite()) {
        Some(tokens) if tokens.fract() == 0.0 => count(cell, Some(tokens as u64)),
        tokens => plain(cell, tokens),
    }
}

fn three_decimals(cell: &mut String, ms: Option<f64>) {
    millis(cell, ms.map(|ms| Micros((ms * 1e3).round_ties_even() as u64)));
}

#[cfg(test)]
mod tests {
    use super::super::text::{write_header, write_row};
    use super::*;
    use crate::record::{Grade, Needle, Outcome, Verdict};
    use crate::stats::test_rows::{ms, ok, row};
    use crate::units::Micros;

    fn line(record: &RequestRecord) -> String {
        let mut line = String::new();
        write_row(RequestRow::COLUMNS, &RequestRow { record, phase: "steady", workload: "chat" }, &mut line);
        line
    }

    #[test]
    fn the_header_names_every_column_in_order() {
        let mut header = String::new();
        write_header(RequestRow::COLUMNS, &mut header);
        insta::assert_snapshot!(header.replace(',', " "), @"point repeat request phase workload session turn user shard outcome http_status finish_reason error measured slo_met scheduled_s sent_s first_byte_s first_token_s first_answer_s last_token_s ended_s stamp lag_ms held_ms connect_ms upload_ms ttft_ms ttft_scheduled_ms first_answer_ms tpot_ms e2e_ms e2e_scheduled_ms gap_p50_ms gap_p99_ms gap_max_ms prompt_tokens_planned prompt_tokens cached_tokens eligible_tokens output_tokens_planned output_tokens output_tokens_in_window reasoning_tokens token_source events attempts reconnects new_connection bytes_sent bytes_received ignored_events server_request_id dataset_row prefix_group prefix_tokens needle_depth needle_length verdict rule answer truth consistent");
    }

    #[test]
    fn an_ok_row_has_its_times_and_durations() {
        let mut record = ok(1_000, 1_250, 3_250, 41);
        record.scheduled = Some(Micros(999_500));
        record.planned.request = 7;
        record.planned.prompt_tokens_planned = Some(8_000);
        record.output_tokens_in_window = Some(41.0 / 3.0);
        record.slo_met = Some(true);
        record.gaps.p50 = Some(ms(50));
        record.new_connection = Some(false);
        record.server_request_id = Some("=id,1".to_owned());
        insta::assert_snapshot!(line(&record), @r#",,7,steady,chat,0,0,,,ok,200,stop,,true,true,0.999500,1.000000,1.250000,1.250000,1.250000,3.250000,3.250000,virtual,0.500,,,,250.000,250.500,250.000,50.000,2250.000,2250.500,50.000,,,8000,,,,,41,13.666666666666666,,server,,1,0,false,,,,"'=id,1",,,,,,,,,,"#);
    }

    #[test]
    fn a_graded_needle_row_says_where_it_lay_and_what_was_found() {
        let mut record = row(10, Outcome::Ok);
        record.planned.prefix_group = Some(3);
        record.planned.prefix_tokens = Some(2_048);
        record.planned.needle = Some(Needle { depth: 0.25, length_tokens: 8_192 });
        record.grade = Some(Grade {
            verdict: Verdict::Wrong,
            rule: "contains".to_owned(),
            answer: "=4711".to_owned(),
            truth: "4,712".to_owned(),
        });
        record.consistent = Some(true);
        let line = line(&record);
        assert!(
            line.trim_end().ends_with(r#",3,2048,0.25,8192,wrong,contains,'=4711,"4,712",true"#),
            "{line}"
        );
    }

    #[test]
    fn a_row_that_was_never_sent_is_empty_where_nothing_happened() {
        let mut record = row(10, Outcome::Skipped);
        (record.scheduled, record.measured) = (None, false);
        insta::assert_snapshot!(line(&record), @",,0,steady,chat,0,0,,,skipped,,,,false,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,");
    }

    #[test]
    fn c054_a_row_of_one_token_has_an_empty_tpot() {
        let file = {
            let mut file = String::new();
            write_header(RequestRow::COLUMNS, &mut file);
            file + &line(&ok(0, 50, 50, 1))
        };
        let mut reader = csv::Reader::from_reader(file.as_bytes());
        let place = reader.headers().unwrap().iter().position(|name| name == "tpot_ms").unwrap();
        let rows: Vec<_> = reader.records().map(Result::unwrap).collect();
        assert_eq!((rows.len(), &rows[0][place]), (1, ""));
    }
}
