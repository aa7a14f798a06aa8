//! The columns of all tables but `requests.csv`.

use super::text::{Column, millis, number, plain, seconds, text};
use crate::record::{ExtraSample, ServerFigure, ServerSample};
use crate::stats::{AccuracyRow, GapRow, SummaryRow, TimelineRow};

/// Decimals of a figure that is no time of a row: far below what can be measured.
const DECIMALS: usize = 6;

/// `summary.csv`: one statistic a row.
pub const SUMMARY: &[Column<SummaryRow>] = &[
    Column { name: "point", write: |row, cell| plain(cell, row.point) },
    Column { name: "repeat", write: |row, cell| plain(cell, row.repeat) },
    Column { name: "phase", write: |row, cell| text(cell, Some(&row.phase)) },
    Column { name: "workload", write: |row, cell| text(cell, Some(&row.workload)) },
    Column { name: "metric", write: |row, cell| plain(cell, Some(row.metric)) },
    Column { name: "statistic", write: |row, cell| plain(cell, Some(row.statistic)) },
    Column { name: "value", write: |row, cell| number(cell, row.value, DECIMALS) },
    Column { name: "ci_low", write: |row, cell| number(cell, row.ci_low, DECIMALS) },
    Column { name: "ci_high", write: |row, cell| number(cell, row.ci_high, DECIMALS) },
    Column { name: "count", write: |row, cell| plain(cell, Some(row.count)) },
    Column { name: "needs", write: |row, cell| plain(cell, row.needs) },
    Column { name: "unit", write: |row, cell| plain(cell, Some(row.unit)) },
];

/// `gaps.csv`: one bucket a row, `low_us ≤ gap ≤ high_us`.
pub const GAPS: &[Column<GapRow>] = &[
    Column { name: "point", write: |row, cell| plain(cell, row.point) },
    Column { name: "repeat", write: |row, cell| plain(cell, row.repeat) },
    Column { name: "phase", write: |row, cell| text(cell, Some(&row.phase)) },
    Column { name: "workload", write: |row, cell| text(cell, Some(&row.workload)) },
    Column { name: "metric", write: |row, cell| plain(cell, Some(row.metric)) },
    Column { name: "low_us", write: |row, cell| plain(cell, Some(row.bucket.low.0)) },
    Column { name: "high_us", write: |row, cell| plain(cell, Some(row.bucket.high.0)) },
    Column { name: "count", write: |row, cell| plain(cell, Some(row.bucket.count)) },
];

/// `accuracy.csv`: checked answers of one phase, workload, length, depth and finish reason a row.
pub const ACCURACY: &[Column<AccuracyRow>] = &[
    Column { name: "point", write: |row, cell| plain(cell, row.point) },
    Column { name: "repeat", write: |row, cell| plain(cell, row.repeat) },
    Column { name: "phase", write: |row, cell| text(cell, Some(&row.phase)) },
    Column { name: "workload", write: |row, cell| text(cell, Some(&row.workload)) },
    Column { name: "length", write: |row, cell| plain(cell, row.length) },
    Column { name: "depth", write: |row, cell| plain(cell, row.depth) },
    Column { name: "finish_reason", write: |row, cell| plain(cell, Some(row.finish_reason)) },
    Column { name: "right", write: |row, cell| plain(cell, Some(row.right)) },
    Column { name: "wrong", write: |row, cell| plain(cell, Some(row.wrong)) },
    Column { name: "no_answer", write: |row, cell| plain(cell, Some(row.no_answer)) },
    Column { name: "truncated", write: |row, cell| plain(cell, Some(row.truncated)) },
    Column { name: "accuracy", write: |row, cell| number(cell, Some(row.accuracy), DECIMALS) },
    Column { name: "ci_low", write: |row, cell| number(cell, row.interval.low, DECIMALS) },
    Column { name: "ci_high", write: |row, cell| number(cell, row.interval.high, DECIMALS) },
];

/// `timeline.csv`: one second a row.
pub const TIMELINE: &[Column<TimelineRow>] = &[
    Column { name: "point", write: |row, cell| plain(cell, row.point) },
    Column { name: "repeat", write: |row, cell| plain(cell, row.repeat) },
    Column { name: "t_s", write: |row, cell| plain(cell, Some(row.t_s)) },
    Column { name: "phase", write: |row, cell| text(cell, row.phase.as_deref()) },
    Column { name: "offered", write: |row, cell| plain(cell, Some(row.offered)) },
    Column { name: "sent", write: |row, cell| plain(cell, Some(row.sent)) },
    Column { name: "completed", write: |row, cell| plain(cell, Some(row.completed)) },
    Column { name: "failed", write: |row, cell| plain(cell, Some(row.failed)) },
    Column { name: "dropped", write: |row, cell| plain(cell, Some(row.dropped)) },
    Column { name: "in_flight", write: |row, cell| plain(cell, Some(row.in_flight)) },
    Column { name: "prompt_tokens", write: |row, cell| plain(cell, row.prompt_tokens) },
    Column { name: "output_tokens", write: |row, cell| number(cell, row.output_tokens, DECIMALS) },
    Column { name: "ttft_p50_ms", write: |row, cell| millis(cell, row.ttft_p50) },
    Column { name: "ttft_p99_ms", write: |row, cell| millis(cell, row.ttft_p99) },
    Column { name: "gap_p99_ms", write: |row, cell| millis(cell, row.gap_p99) },
    Column { name: "lag_p99_ms", write: |row, cell| millis(cell, row.lag_p99) },
    Column { name: "client_cpu", write: |row, cell| number(cell, row.client_cpu, DECIMALS) },
];

/// `server.csv`: one look at one page of metrics a row.
pub const SERVER: &[Column<ServerSample>] = &[
    Column { name: "point", write: |row, cell| plain(cell, row.point) },
    Column { name: "repeat", write: |row, cell| plain(cell, row.repeat) },
    Column { name: "t_s", write: |row, cell| seconds(cell, Some(row.at)) },
    Column { name: "endpoint", write: |row, cell| plain(cell, Some(row.endpoint)) },
    Column { name: "took_ms", write: |row, cell| millis(cell, Some(row.took)) },
    Column { name: "error", write: |row, cell| text(cell, row.error.as_deref()) },
    Column { name: "running", write: |row, cell| figure(cell, row, ServerFigure::Running) },
    Column { name: "waiting", write: |row, cell| figure(cell, row, ServerFigure::Waiting) },
    Column { name: "kv_use", write: |row, cell| figure(cell, row, ServerFigure::KvUse) },
    Column { name: "kv_used_tokens", write: |row, cell| figure(cell, row, ServerFigure::KvUsedTokens) },
    Column {
        name: "kv_capacity_tokens",
        write: |row, cell| figure(cell, row, ServerFigure::KvCapacityTokens),
    },
    Column { name: "block_tokens", write: |row, cell| figure(cell, row, ServerFigure::BlockTokens) },
    Column { name: "prefix_queries", write: |row, cell| figure(cell, row, ServerFigure::PrefixQueries) },
    Column { name: "prefix_hits", write: |row, cell| figure(cell, row, ServerFigure::PrefixHits) },
    Column { name: "preemptions", write: |row, cell| figure(cell, row, ServerFigure::Preemptions) },
    Column { name: "prompt_tokens", write: |row, cell| figure(cell, row, ServerFigure::PromptTokens) },
    Column {
        name: "generation_tokens",
        write: |row, cell| figure(cell, row, ServerFigure::GenerationTokens),
    },
    Column { name: "queue_s", write: |row, cell| figure(cell, row, ServerFigure::QueueSeconds) },
    Column { name: "queue_count", write: |row, cell| figure(cell, row, ServerFigure::QueueCount) },
    Column { name: "prefill_s", write: |row, cell| figure(cell, row, ServerFigure::PrefillSeconds) },
    Column { name: "prefill_count", write: |row, cell| figure(cell, row, ServerFigure::PrefillCount) },
    Column { name: "decode_s", write: |row, cell| figure(cell, row, ServerFigure::DecodeSeconds) },
    Column { name: "decode_count", write: |row, cell| figure(cell, row, ServerFigure::DecodeCount) },
];

/// `server_extra.csv`: one sample of a metric that was asked for by name a row.
pub const SERVER_EXTRA: &[Column<ExtraSample>] = &[
    Column { name: "point", write: |row, cell| plain(cell, row.of.point) },
    Column { name: "repeat", write: |row, cell| plain(cell, row.of.repeat) },
    Column { name: "t_s", write: |row, cell| seconds(cell, Some(row.of.at)) },
    Column { name: "endpoint", write: |row, cell| plain(cell, Some(row.of.endpoint)) },
    Column { name: "name", write: |row, cell| text(cell, Some(&row.name)) },
    Column { name: "labels", write: |row, cell| text(cell, Some(&row.labels)) },
    Column { name: "value", write: |row, cell| number(cell, Some(row.value), DECIMALS) },
];

fn figure(cell: &mut String, row: &ServerSample, figure: ServerFigure) {
    number(cell, row.figures.figure(figure), DECIMALS);
}

#[cfg(test)]
mod tests {
    use super::super::text::{write_header, write_row};
    use super::*;
    use crate::stats::histogram::Bucket;
    use crate::units::Micros;

    fn file<R>(columns: &[Column<R>], rows: &[R]) -> String {
        let mut file = String::new();
        write_header(columns, &mut file);
        rows.iter().for_each(|row| write_row(columns, row, &mut file));
        file
    }

    #[test]
    fn summary_rows_leave_empty_what_cannot_be_had() {
        let row = |statistic, value, needs| SummaryRow {
            point: Some(2),
            repeat: Some(1),
            phase: "steady".to_owned(),
            workload: "all".to_owned(),
            metric: "ttft",
            statistic,
            value,
            ci_low: None,
            ci_high: None,
            count: 120,
            needs,
            unit: "ms",
        };
        let rows = [row("mean", Some(1_000.0 / 3.0), None), row("p99", None, Some(368))];
        insta::assert_snapshot!(file(SUMMARY, &rows), @r#"
        point,repeat,phase,workload,metric,statistic,value,ci_low,ci_high,count,needs,unit
        2,1,steady,all,ttft,mean,333.333333,,,120,,ms
        2,1,steady,all,ttft,p99,,,,120,368,ms
        "#);
    }

    #[test]
    fn gaps_are_written_with_both_edges_of_their_bucket() {
        let row = GapRow {
            point: None,
            repeat: None,
            phase: "steady".to_owned(),
            workload: "chat".to_owned(),
            metric: "gap",
            bucket: Bucket { low: Micros(19_968), high: Micros(20_095), count: 7 },
        };
        insta::assert_snapshot!(file(GAPS, &[row]), @r#"
        point,repeat,phase,workload,metric,low_us,high_us,count
        ,,steady,chat,gap,19968,20095,7
        "#);
    }

    #[test]
    fn a_quiet_second_has_zeros_where_nothing_happened_and_empty_cells_where_nothing_is_known() {
        let row = TimelineRow {
            point: None,
            repeat: None,
            t_s: 12,
            phase: Some("steady".to_owned()),
            offered: 0,
            sent: 0,
            completed: 0,
            failed: 0,
            dropped: 0,
            in_flight: 3,
            prompt_tokens: Some(0),
            output_tokens: Some(12.5),
            ttft_p50: None,
            ttft_p99: None,
            gap_p99: Some(Micros(20_095)),
            lag_p99: None,
            client_cpu: Some(0.25),
        };
        insta::assert_snapshot!(file(TIMELINE, &[row]), @r#"
        point,repeat,t_s,phase,offered,sent,completed,failed,dropped,in_flight,prompt_tokens,output_tokens,ttft_p50_ms,ttft_p99_ms,gap_p99_ms,lag_p99_ms,client_cpu
        ,,12,steady,0,0,0,0,0,3,0,12.5,,,20.095,,0.25
        "#);
    }
}
