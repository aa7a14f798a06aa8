//! Do intervals hold what is true, and does each planted fault get its finding?

#[path = "statistics/queue.rs"]
mod queue;

use std::time::Duration;

use queue::{coverage, independent};
use tonnage::record::{Outcome, Planned, RequestRecord};
use tonnage::seed::Seed;
use tonnage::stats::verdict::{Thresholds, judge};
use tonnage::stats::{Fold, Percentile, PhaseSetup, RowEvents, Slo, SloMetric, Window, WorkloadSetup};
use tonnage::units::Micros;

#[test]
fn intervals_of_independent_values_hold_in_94_percent_of_runs_at_least() {
    for percentile in [Percentile::P50, Percentile::P90, Percentile::P99] {
        let share = coverage(percentile, 1.0, 400, |stream| independent(1_000, stream));
        assert!(share >= 0.94, "{percentile}: {share}");
    }
}

#[test]
fn intervals_of_times_in_a_busy_queue_hold_in_90_percent_of_runs_at_least() {
    for count in [400, 1_000, 2_000] {
        for percentile in [Percentile::P50, Percentile::P90] {
            let share = coverage(percentile, 5.0, 400, |stream| queue::queue(0.8, count, stream));
            assert!(share >= 0.9, "{percentile} of {count}: {share}");
        }
    }
}

#[test]
fn intervals_that_took_neighbours_for_independent_would_not() {
    let naive = |stream: &mut _| {
        // In another order nothing is left of what makes neighbours alike.
        let series = queue::queue(0.8, 2_000, stream);
        (0..series.len()).map(|at| series[at * 611 % series.len()]).collect::<Vec<_>>()
    };
    let share = coverage(Percentile::P90, 5.0, 200, naive);
    assert!(share < 0.6, "{share}");
}

/// A request of a plan, due at `at` and answered as told; all times in ms.
fn answered(request: u64, at: f64, ttft: f64, rest: f64) -> RequestRecord {
    let us = |ms: f64| Micros((ms * 1e3) as u64);
    let mut row = RequestRecord::unsent(planned(request), Outcome::Ok);
    row.measured = true;
    row.scheduled = Some(us(at));
    row.sent = row.scheduled;
    row.first_token = Some(us(at + ttft));
    row.last_token = Some(us(at + ttft + rest));
    row.last_output = row.last_token;
    row.ended = row.last_token;
    row.output_tokens = Some(20);
    row.output_tokens_in_window = Some(20.0);
    row.finish_reason = Some("stop".to_owned());
    row
}

fn planned(request: u64) -> Planned {
    Planned { request, session: request, ..Planned::default() }
}

/// A thousand requests at 10/s, each answered in about 300 ms: nothing to say against them.
fn sound() -> Vec<RequestRecord> {
    let mut stream = Seed(5).stream("test", "");
    let mut at = 0.0;
    (0..1_000)
        .map(|request| {
            at += 100.0 * stream.exponential();
            answered(request, at, 50.0 + 20.0 * stream.unit(), 200.0 + 100.0 * stream.unit())
        })
        .collect()
}

fn fold(rows: &[RequestRecord], limits: Slo) -> Fold {
    let phase = PhaseSetup { name: "steady".to_owned(), counts: true, open_loop: true };
    let chat = WorkloadSetup {
        name: "chat".to_owned(),
        slo: limits,
        exact_output: false,
        scored: false,
        cold: false,
    };
    let mut fold = Fold::new(None, None, vec![phase], vec![chat]);
    let end = rows.iter().filter_map(|row| row.scheduled).max().unwrap_or_default();
    fold.set_window(0, Window { start: Some(Micros(0)), end: Some(Micros(end.0 + 1)) });
    rows.iter().for_each(|row| fold.add(row, RowEvents::default()));
    fold
}

fn findings(rows: &[RequestRecord]) -> Vec<&'static str> {
    let figures = fold(rows, Slo::default()).figures();
    figures
        .iter()
        .flat_map(|figures| judge(figures, &Thresholds::default(), false))
        .map(|finding| finding.kind.name())
        .collect()
}

#[test]
fn a_clean_run_has_no_finding() {
    assert_eq!(findings(&sound()), Vec::<&str>::new());
}

#[test]
fn each_planted_fault_has_its_finding() {
    type Fault = fn(&mut Vec<RequestRecord>);
    let faults: [(&str, Fault); 10] = [
        ("cache_unused", |rows| {
            for row in rows.iter_mut() {
                row.prompt_tokens = Some(900);
                (row.eligible_tokens, row.cached_tokens) = (Some(512), Some(0));
            }
        }),
        ("send_delay", |rows| {
            for row in rows.iter_mut().step_by(50) {
                row.sent = row.sent.map(|sent| Micros(sent.0 + 40_000));
            }
        }),
        ("client_errors", |rows| rows[..5].iter_mut().for_each(|row| row.outcome = Outcome::ClientError)),
        ("few_answers", |rows| rows.retain(|row| row.planned.request.is_multiple_of(50))),
        ("unfinished", |rows| rows[950..].iter_mut().for_each(|row| row.outcome = Outcome::CutAtEnd)),
        ("failed", |rows| rows.iter_mut().step_by(40).for_each(|row| row.outcome = Outcome::HttpError)),
        ("repeated_rows", |rows| {
            rows.iter_mut().for_each(|row| {
                row.planned.session = row.planned.request;
                row.planned.dataset_row = Some(row.planned.request % 700);
            });
        }),
        ("truncated", |rows| {
            rows.iter_mut().step_by(3).for_each(|row| row.finish_reason = Some("length".to_owned()));
        }),
        ("short_window", |rows| {
            for row in rows.iter_mut() {
                let later = |at: Option<Micros>| at.map(|at| Micros(at.0 + 60_000_000));
                (row.last_token, row.last_output, row.ended) =
                    (later(row.last_token), later(row.last_output), later(row.ended));
            }
        }),
        ("uncounted", |rows| {
            for row in rows.iter_mut() {
                (row.output_tokens, row.output_tokens_in_window) = (None, None);
            }
        }),
    ];
    for (finding, plant) in faults {
        let mut rows = sound();
        plant(&mut rows);
        assert_eq!(findings(&rows), [finding]);
    }
}

#[test]
fn a_server_that_does_not_keep_up_is_found() {
    let mut stream = Seed(6).stream("test", "");
    let (mut at, mut free) = (0.0, 0.0_f64);
    let rows: Vec<_> = (0..1_000)
        .map(|request| {
            at += 100.0 * stream.exponential();
            let start = free.max(at);
            free = start + 130.0 * stream.exponential();
            answered(request, at, free - at, 50.0)
        })
        .collect();
    let found = findings(&rows);
    assert_eq!(found, ["growing"]);
}

#[test]
fn adjusted_latencies_leave_nobody_out() {
    let mut rows = sound();
    for row in rows.iter_mut().step_by(20) {
        row.outcome = Outcome::Dropped;
    }
    let summary = fold(&rows, Slo::default()).summary();
    let row = |metric: &str, statistic: &str| {
        let is_it = |row: &&tonnage::stats::SummaryRow| {
            row.phase == "steady"
                && row.workload == "all"
                && row.metric == metric
                && row.statistic == statistic
        };
        summary.iter().find(is_it).unwrap()
    };
    assert_eq!((row("ttft", "p99").count, row("ttft_adjusted", "p99").count), (950, 1_000));
    assert!(row("ttft", "p99").value.is_some());
    let never = row("ttft_adjusted", "p99");
    assert_eq!((never.value, never.ci_low, never.ci_high), (None, Some(f64::INFINITY), None));
    assert!(row("ttft_adjusted", "p50").value >= row("ttft", "p50").value);
    let success = row("success", "value");
    assert_eq!(success.value, Some(0.95));
    assert!(success.ci_low.unwrap() < 0.95 && success.ci_high.unwrap() > 0.95);
    assert_eq!(row("error_share", "dropped").value, Some(0.05));
}

#[test]
fn attainment_has_an_interval_and_follows_the_limits() {
    let limits = Slo { limits: vec![(SloMetric::Ttft, Duration::from_millis(65))] };
    let mut rows = sound();
    rows.iter_mut().for_each(|row| row.slo_met = limits.judge(row));
    let summary = fold(&rows, limits).summary();
    let row = summary.iter().find(|row| row.metric == "attainment").unwrap();
    let (low, high) = (row.ci_low.unwrap(), row.ci_high.unwrap());
    assert!(low < 0.75 && 0.75 < high && high - low < 0.15, "{row:?}");
}
