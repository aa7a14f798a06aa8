//! Figures of small sets of rows, checked by hand.

use std::time::Duration;

use proptest::prelude::*;

use super::super::slo::SloMetric;
use super::super::test_rows::{failed, ms, ok, row};
use super::*;

fn phase(name: &str) -> PhaseSetup {
    PhaseSetup { name: name.to_owned(), counts: true, open_loop: true }
}

fn workload(name: &str) -> WorkloadSetup {
    WorkloadSetup {
        name: name.to_owned(),
        slo: Slo::default(),
        exact_output: false,
        scored: false,
        cold: false,
    }
}

/// A fold of one phase and one workload with a window of so many ms from run start.
fn timed(window_ms: u64, rows: &[RequestRecord]) -> Fold {
    one_phase(Window { start: Some(ms(0)), end: Some(ms(window_ms)) }, rows)
}

/// The same, its window ending with the last output.
fn counted(rows: &[RequestRecord]) -> Fold {
    one_phase(Window { start: Some(ms(0)), end: None }, rows)
}

fn one_phase(window: Window, rows: &[RequestRecord]) -> Fold {
    let mut fold = Fold::new(None, None, vec![phase("steady")], vec![workload("chat")]);
    fold.set_window(0, window);
    rows.iter().for_each(|row| fold.add(row, RowEvents::default()));
    fold
}

fn find(fold: &Fold, phase: &str, workload: &str, metric: &str, statistic: &str) -> SummaryRow {
    let rows = fold.summary();
    let mut found = rows.into_iter().filter(|row| {
        (row.phase.as_str(), row.workload.as_str(), row.metric, row.statistic)
            == (phase, workload, metric, statistic)
    });
    let row = found.next().unwrap_or_else(|| panic!("no {phase} {workload} {metric} {statistic}"));
    assert!(found.next().is_none(), "{metric} {statistic} twice");
    row
}

fn value(fold: &Fold, metric: &str, statistic: &str) -> Option<f64> {
    find(fold, ALL, ALL, metric, statistic).value
}

#[test]
fn c054_answers_of_one_token_have_no_tpot_and_leave_no_zero_in_its_statistics() {
    let ones = (0..5).map(|i| ok(i * 100, i * 100 + 50, i * 100 + 50, 1));
    let tens = (5..10).map(|i| ok(i * 100, i * 100 + 50, i * 100 + 140, 10));
    let fold = counted(&ones.chain(tens).collect::<Vec<_>>());
    assert_eq!(find(&fold, ALL, ALL, "tpot", "p50").count, 5);
    assert_eq!(value(&fold, "tpot", "min"), Some(10.0));
    assert_eq!(find(&fold, ALL, ALL, "ttft", "min").count, 10);
    assert_eq!(value(&fold, "ttft", "max"), Some(50.0));
}

#[test]
fn c055_text_in_one_event_has_no_tpot_but_counts_as_request_and_tokens() {
    let fold = counted(&[ok(0, 900, 900, 100)]);
    assert_eq!(value(&fold, "tpot", "mean"), None);
    assert_eq!((value(&fold, "ttft", "p50"), value(&fold, "e2e", "p50")), (Some(900.0), Some(900.0)));
    assert_eq!(value(&fold, "requests", "ok"), Some(1.0));
    assert_eq!(value(&fold, "output_tokens", "mean"), Some(100.0));
}

#[test]
fn c056_requests_without_a_token_are_failures_and_not_zeros() {
    let empty = (0..8).map(|i| failed(i * 10, Outcome::Empty, i * 10 + 5));
    let good = (8..20).map(|i| ok(i * 10, i * 10 + 300, i * 10 + 400, 5));
    let fold = timed(1_000, &empty.chain(good).collect::<Vec<_>>());
    let ttft = |statistic| find(&fold, ALL, ALL, "ttft", statistic);
    assert_eq!(
        (ttft("min").value, ttft("p50").value, ttft("max").value),
        (Some(300.0), Some(300.0), Some(300.0))
    );
    assert_eq!(ttft("p50").count, 12);
    assert_eq!(value(&fold, "success", "value"), Some(12.0 / 20.0));
}

#[test]
fn c058_output_throughput_is_tokens_over_the_time_from_window_start_to_the_last_output() {
    let one = ok(0, 1_000, 5_000, 100);
    assert_eq!(value(&counted(std::slice::from_ref(&one)), "output_throughput", "value"), Some(20.0));
    let four = vec![one; 4];
    assert_eq!(value(&counted(&four), "output_throughput", "value"), Some(80.0));
}

#[test]
fn c059_failed_requests_stay_out_of_latencies_and_have_their_own() {
    let good = (0..90).map(|i| ok(i * 10, i * 10 + 100, i * 10 + 500, 5));
    let bad = (90..100).map(|i| failed(i * 10, Outcome::HttpError, i * 10 + 5_000));
    let fold = timed(10_000, &good.chain(bad).collect::<Vec<_>>());
    assert_eq!(find(&fold, ALL, ALL, "ttft", "p50").count, 90);
    assert_eq!((value(&fold, "ttft", "max"), value(&fold, "e2e", "max")), (Some(100.0), Some(500.0)));
    assert_eq!(value(&fold, "success", "value"), Some(0.9));
    assert_eq!(value(&fold, "measured_requests", "http_error"), Some(10.0));
    assert_eq!(find(&fold, ALL, ALL, "failed_after", "p50").count, 10);
    assert_eq!(value(&fold, "failed_after", "max"), Some(5_000.0));
}

#[test]
fn c060_goodput_and_attainment_leave_out_the_request_cut_by_the_end() {
    let limits = Slo {
        limits: vec![
            (SloMetric::Ttft, Duration::from_millis(200)),
            (SloMetric::Tpot, Duration::from_millis(50)),
        ],
    };
    let mut rows: Vec<_> = (0..6).map(|i| ok(i * 1_000, i * 1_000 + 200, i * 1_000 + 650, 10)).collect();
    rows.push(ok(6_000, 6_250, 6_500, 10));
    rows.push(ok(7_000, 7_100, 7_640, 10));
    rows.push(failed(8_000, Outcome::HttpError, 8_010));
    rows.push(failed(9_900, Outcome::CutAtEnd, 10_000));
    rows.iter_mut().for_each(|row| row.slo_met = limits.judge(row));
    let chat = WorkloadSetup { slo: limits, ..workload("chat") };
    let mut fold = Fold::new(None, None, vec![phase("steady")], vec![chat]);
    fold.set_window(0, Window { start: Some(ms(0)), end: Some(ms(10_000)) });
    rows.iter().for_each(|row| fold.add(row, RowEvents::default()));
    assert_eq!(value(&fold, "goodput", "value"), Some(0.6));
    let attainment = find(&fold, ALL, ALL, "attainment", "value");
    assert_eq!((attainment.value, attainment.count), (Some(6.0 / 9.0), 9));
    assert_eq!(value(&fold, "request_throughput", "value"), Some(0.8));
    assert_eq!(value(&fold, "slo_unmeasurable", "value"), Some(0.0));
}

#[test]
fn without_limits_goodput_and_attainment_are_empty() {
    let fold = timed(1_000, &[ok(0, 10, 20, 2)]);
    for metric in ["goodput", "attainment", "slo_unmeasurable"] {
        assert_eq!(value(&fold, metric, "value"), None, "{metric}");
    }
}

#[test]
fn c062_a_percentile_that_few_values_cannot_carry_says_how_many_it_needs() {
    let fold = counted(&[ok(0, 10, 50, 2), ok(0, 20, 50, 2), ok(0, 30, 50, 2)]);
    let ttft = |statistic| find(&fold, ALL, ALL, "ttft", statistic);
    assert_eq!((ttft("p50").value, ttft("p50").needs), (Some(20.0), None));
    assert_eq!((ttft("p99").value, ttft("p99").needs), (None, Some(368)));
    assert_eq!((ttft("p90").value, ttft("p90").needs), (None, Some(36)));
    assert_eq!((ttft("min").value, ttft("max").value), (Some(10.0), Some(30.0)));
}

#[test]
fn c065_c067_tpot_leaves_out_the_first_token_and_whatever_follows_the_last() {
    assert_eq!(value(&counted(&[ok(0, 1_000, 2_000, 11)]), "tpot", "p50"), Some(100.0));
    let mut late_close = ok(0, 2_000, 2_490, 50);
    late_close.ended = Some(ms(4_000));
    let fold = counted(&[late_close]);
    assert_eq!((value(&fold, "e2e", "p50"), value(&fold, "tpot", "p50")), (Some(2_490.0), Some(10.0)));
    assert_eq!(fold.window(0), Some((ms(0), ms(2_490))), "the close does not stretch the window");
    assert_eq!(value(&fold, "request_throughput", "value"), Some(1.0 / 2.49));
}

#[test]
fn c066_prompt_tokens_have_a_throughput_of_their_own() {
    let mut request = ok(0, 1_000, 5_000, 100);
    request.prompt_tokens = Some(10_000);
    let fold = counted(&vec![request; 4]);
    assert_eq!(value(&fold, "output_throughput", "value"), Some(80.0));
    assert_eq!(value(&fold, "prompt_throughput", "value"), Some(8_000.0));
    assert_eq!(value(&fold, "total_throughput", "value"), Some(8_080.0));
}

#[test]
fn c083_throughput_counts_what_arrived_inside_the_window_of_requests_cut_and_of_warm_up() {
    let mut warm = ok(0, 100, 3_000, 30);
    (warm.measured, warm.output_tokens_in_window) = (false, Some(20.0));
    let mut cut = failed(9_000, Outcome::CutAtEnd, 11_000);
    (cut.first_token, cut.output_tokens_in_window) = (Some(ms(9_500)), Some(5.0));
    let mut broken = failed(5_000, Outcome::Truncated, 6_000);
    (broken.first_token, broken.output_tokens_in_window) = (Some(ms(5_500)), Some(7.0));
    let rows = [warm, ok(2_000, 2_500, 4_000, 75), cut, broken];
    let fold = one_phase(Window { start: Some(ms(1_000)), end: Some(ms(11_000)) }, &rows);
    assert_eq!(value(&fold, "output_throughput", "value"), Some(10.0));
    assert_eq!(value(&fold, "wasted_tokens", "value"), Some(7.0));
    assert_eq!(value(&fold, "request_throughput", "value"), Some(0.2), "the warm-up row ended inside too");
    assert_eq!(find(&fold, ALL, ALL, "e2e", "p50").count, 1);
}

#[test]
fn tokens_that_cannot_be_counted_leave_throughput_empty_or_marked_as_short() {
    let mut unknown = ok(0, 100, 200, 9);
    (unknown.output_tokens, unknown.output_tokens_in_window) = (None, None);
    let fold = timed(1_000, std::slice::from_ref(&unknown));
    assert_eq!(value(&fold, "output_throughput", "value"), None);
    assert_eq!(value(&fold, "total_throughput", "value"), None);
    let fold = timed(1_000, &[unknown, ok(0, 100, 200, 4)]);
    assert_eq!(value(&fold, "output_throughput", "value"), Some(4.0));
    assert_eq!(value(&fold, "uncounted_requests", "value"), Some(1.0));
}

#[test]
fn rates_of_a_timed_phase_count_what_was_due_sent_and_ended_inside_the_window() {
    let mut late = ok(900, 1_200, 1_300, 2);
    late.scheduled = Some(ms(400));
    let mut held_over = ok(2_050, 2_100, 2_200, 2);
    held_over.scheduled = Some(ms(1_900));
    let rows =
        [late, ok(500, 700, 800, 2), ok(1_999, 2_000, 2_000, 2), held_over, ok(2_000, 2_100, 2_200, 2)];
    let fold = one_phase(Window { start: Some(ms(500)), end: Some(ms(2_000)) }, &rows);
    assert_eq!(value(&fold, "offered_rate", "value"), Some(2.0), "due at 500, 1,999 and 1,900 ms");
    assert_eq!(value(&fold, "achieved_rate", "value"), Some(2.0), "sent at 900, 500 and 1,999 ms");
    assert_eq!(value(&fold, "request_throughput", "value"), Some(2.0 / 1.5), "ended at 1,300 and 800 ms");
}

#[test]
fn rates_of_a_counted_phase_divide_by_the_span_to_its_last_due_time() {
    let rows: Vec<_> = (1..=10).map(|i| ok(i * 100, i * 100 + 500, i * 100 + 1_000, 2)).collect();
    let fold = counted(&rows);
    assert_eq!(value(&fold, "offered_rate", "value"), Some(10.0));
    assert_eq!(value(&fold, "achieved_rate", "value"), Some(10.0));
    assert_eq!(value(&fold, "request_throughput", "value"), Some(5.0));
    assert_eq!(fold.window(0), Some((ms(0), ms(2_000))));
}

#[test]
fn a_window_without_a_start_begins_with_the_first_measured_due_time() {
    let mut warm = ok(0, 50, 90, 2);
    warm.measured = false;
    let fold =
        one_phase(Window { start: None, end: None }, &[warm, ok(100, 200, 300, 2), ok(110, 150, 1_100, 2)]);
    assert_eq!(fold.window(0), Some((ms(100), ms(1_100))));
}

#[test]
fn c138_when_every_request_fails_figures_are_empty_and_finite() {
    let rows: Vec<_> = (0..10).map(|i| failed(i, Outcome::ConnectError, i + 1)).collect();
    let fold = counted(&rows);
    for (metric, statistic) in
        [("ttft", "mean"), ("tpot", "p50"), ("output_throughput", "value"), ("gap", "max")]
    {
        assert_eq!(value(&fold, metric, statistic), None, "{metric}");
    }
    assert_eq!(value(&fold, "success", "value"), Some(0.0));
    assert!(fold.summary().iter().filter_map(|row| row.value).all(f64::is_finite));
}

#[test]
fn success_leaves_out_undecided_rows_and_after_a_stop_those_never_sent() {
    let rows = [
        ok(0, 1, 2, 2),
        row(0, Outcome::Dropped),
        row(0, Outcome::NotSent),
        failed(0, Outcome::Cancelled, 5),
        failed(0, Outcome::ClientError, 5),
        failed(0, Outcome::CutAtEnd, 5),
    ];
    let mut fold = timed(1_000, &rows);
    let success = find(&fold, ALL, ALL, "success", "value");
    assert_eq!((success.value, success.count), (Some(1.0 / 3.0), 3));
    fold.mark_stopped(0);
    assert_eq!(value(&fold, "success", "value"), Some(0.5));
}

#[test]
fn requests_add_up_to_what_was_planned() {
    let mut skipped = row(0, Outcome::Skipped);
    (skipped.scheduled, skipped.measured) = (None, false);
    let rows = [ok(0, 1, 2, 2), row(0, Outcome::Dropped), row(0, Outcome::NotSent), skipped];
    let fold = timed(1_000, &rows);
    let of = |statistic| value(&fold, "requests", statistic);
    assert_eq!((of("planned"), of("sent"), of("skipped")), (Some(4.0), Some(1.0), Some(1.0)));
    assert_eq!(value(&fold, "measured_requests", "planned"), Some(3.0));
    assert_eq!(fold.outcomes(0)[..3], [("planned", 4), ("sent", 1), ("ok", 1)]);
}

#[test]
fn c143_each_phase_has_rows_of_its_own_and_all_joins_values_not_percentiles() {
    let mut fold = Fold::new(
        Some(2),
        Some(1),
        vec![PhaseSetup { counts: false, ..phase("warm") }, phase("low"), phase("high")],
        vec![workload("chat"), workload("code")],
    );
    fold.set_window(0, Window { start: Some(ms(0)), end: Some(ms(1_000)) });
    fold.set_window(1, Window { start: Some(ms(1_000)), end: Some(ms(2_000)) });
    fold.set_window(2, Window { start: Some(ms(3_000)), end: Some(ms(6_000)) });
    let mut add = |phase: u32, workload: u32, mut row: RequestRecord| {
        (row.planned.phase, row.planned.workload, row.measured) = (phase, workload, phase > 0);
        fold.add(&row, RowEvents::default());
    };
    add(0, 0, ok(0, 900, 950, 4));
    for ttft in [10, 20, 30] {
        add(1, 0, ok(1_000, 1_000 + ttft, 1_500, 4));
    }
    for ttft in [100, 200] {
        add(2, 0, ok(3_000, 3_000 + ttft, 4_000, 4));
    }
    add(2, 1, ok(3_000, 3_300, 4_000, 16));
    let p50 = |phase, workload| find(&fold, phase, workload, "ttft", "p50").value;
    assert_eq!((p50("low", ALL), p50("high", ALL), p50(ALL, ALL)), (Some(20.0), Some(200.0), Some(30.0)));
    assert_eq!((p50("high", "code"), p50(ALL, "chat")), (Some(300.0), Some(30.0)));
    let throughput = |phase| find(&fold, phase, ALL, "output_throughput", "value").value;
    assert_eq!((throughput("low"), throughput("high"), throughput(ALL)), (Some(12.0), Some(8.0), Some(9.0)));
    let rows = fold.summary();
    assert!(rows.iter().all(|row| row.phase != "warm" && (row.point, row.repeat) == (Some(2), Some(1))));
    assert!(!rows.iter().any(|row| (row.phase.as_str(), row.workload.as_str()) == ("low", "code")));
}

#[test]
fn c145_the_summary_has_mean_p99_and_max_lateness() {
    let rows: Vec<_> = (0..400)
        .map(|i| {
            let mut row = ok(i * 10 + i % 4, i * 10 + 20, i * 10 + 30, 2);
            (row.scheduled, row.held) = (Some(ms(i * 10)), (i % 4 == 3).then_some(ms(2)));
            row
        })
        .collect();
    let fold = timed(4_000, &rows);
    let lag = |statistic| value(&fold, "lag", statistic);
    assert_eq!((lag("mean"), lag("p99"), lag("max")), (Some(1.5), Some(3.0), Some(3.0)));
    assert_eq!(value(&fold, "send_delay", "max"), Some(2.0), "what was held is not the client's delay");
}

#[test]
fn gaps_run_over_events_and_itl_over_the_tokens_in_them() {
    let mut fold = timed(1_000, &[]);
    let stamps = [ms(10), ms(30), ms(60)];
    fold.add(&ok(0, 10, 60, 6), RowEvents { stamps: &stamps, tokens: Some(&[1, 2, 3]) });
    let mut unmeasured = ok(0, 10, 60, 3);
    unmeasured.measured = false;
    fold.add(&unmeasured, RowEvents { stamps: &stamps, tokens: None });
    let buckets: Vec<_> =
        fold.gaps().iter().map(|row| (row.metric, row.bucket.low.0, row.bucket.count)).collect();
    assert_eq!(buckets, [("gap", 19_968, 1), ("gap", 29_952, 1), ("itl", 9_984, 5)]);
    assert_eq!(find(&fold, ALL, ALL, "itl", "p50").count, 5);
    assert_eq!(value(&fold, "gap", "max"), Some(30.079));
}

#[test]
fn c152_finish_reasons_are_counted() {
    let mut cut = ok(0, 1, 2, 2);
    cut.finish_reason = Some("length".to_owned());
    let fold = timed(1_000, &[ok(0, 1, 2, 2), cut]);
    let of = |statistic| value(&fold, "finish_reasons", statistic);
    assert_eq!(
        (of("stop"), of("length"), of("other"), of("none")),
        (Some(1.0), Some(1.0), Some(0.0), Some(0.0))
    );
    let figures = &fold.figures()[0];
    assert_eq!((figures.free_answers, figures.truncated_answers), (2, 1));
}

#[test]
fn figures_for_the_verdict_are_those_of_the_phase() {
    let mut row = ok(12, 40, 60, 3);
    (row.scheduled, row.held) = (Some(ms(0)), Some(ms(10)));
    let fold = timed(1_000, &[row, super::super::test_rows::row(5, Outcome::Dropped)]);
    let figures = &fold.figures()[0];
    assert_eq!((figures.client.send_delay_p99_ms, figures.ttft_p50_ms), (Some(2.0), Some(28.0)));
    assert_eq!((figures.measured, figures.ok, figures.dropped, figures.held), (2, 1, 1, 1));
    assert_eq!((figures.offered_per_s, figures.achieved_per_s), (Some(2.0), Some(1.0)));
}

#[test]
fn a_run_without_rows_still_has_the_full_shape() {
    let fold = counted(&[]);
    let empty = fold.summary().len();
    assert_eq!(counted(&[ok(0, 1, 2, 2)]).summary().len(), 2 * empty, "the workload adds its own rows");
    assert_eq!(value(&fold, "requests", "planned"), Some(0.0));
    assert!(fold.figures().is_empty());
}

#[test]
fn c081_requests_cut_at_the_end_are_counted_and_leave_out_no_one_else() {
    let hung = (0..3).map(|i| failed(i * 100, Outcome::CutAtEnd, 10_000));
    let quick = (0..57).map(|i| ok(i * 100, i * 100 + 50, i * 100 + 50, 1));
    let fold = timed(10_000, &hung.chain(quick).collect::<Vec<_>>());
    assert_eq!(value(&fold, "measured_requests", "cut_at_end"), Some(3.0));
    assert_eq!(find(&fold, ALL, ALL, "success", "value").count, 57);
    assert_eq!(fold.figures()[0].cut, 3);
}

proptest! {
    #[test]
    fn all_workloads_together_are_what_one_workload_with_all_rows_is(
        rows in prop::collection::vec((0u64..9_000, 1u64..500, 0u64..2_000, 1u64..50, 0u32..3), 0..60),
    ) {
        let names = ["chat", "code", "docs"];
        let fold = |spread: bool| {
            let workloads = names.iter().map(|name| workload(name)).collect();
            let mut fold = Fold::new(None, None, vec![phase("steady")], workloads);
            fold.set_window(0, Window { start: Some(ms(0)), end: None });
            for (request, (sent, ttft, answer, tokens, workload)) in rows.iter().enumerate() {
                let mut row = ok(*sent, sent + ttft, sent + ttft + answer, *tokens);
                row.planned.request = request as u64;
                row.planned.workload = if spread { *workload } else { 0 };
                let stamps = [ms(sent + ttft), ms(sent + ttft + answer)];
                fold.add(&row, RowEvents { stamps: &stamps, tokens: None });
            }
            fold
        };
        let joined = |fold: &Fold| {
            let rows = fold.summary().into_iter();
            rows.filter(|row| row.phase == ALL && row.workload == ALL).collect::<Vec<_>>()
        };
        prop_assert_eq!(joined(&fold(true)), joined(&fold(false)));
    }
}
