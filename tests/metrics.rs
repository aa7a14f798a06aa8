//! `docs/metrics.md` is the table of metrics, and nothing else.

use std::fmt::Write as _;
use std::path::Path;

use tonnage::stats::metrics::METRICS;

const HEAD: &str = "\
# Metrics

Every metric is defined once, in `src/stats/metrics/table.rs`; this page is made from that table. `summary.csv` has a
row for each statistic of each metric, by phase and workload; `all` joins them over their values, never over their
percentiles.

- Times are ms between instants of `requests.csv`, which are whole microseconds from run start.
- A row is **measured** when its phase counts and its due time lies in the window. Latencies are those of measured `ok`
  rows unless the table says otherwise.
- `value` is empty where it cannot be had: never 0 instead. `count` is the number of values it was taken of. A percentile
  that so few values cannot carry is empty, and `needs` says how many would.
- Percentiles are nearest rank: the ⌈p·n⌉-th smallest value. `gap` and `itl` are taken from the buckets of `gaps.csv`:
  percentiles and `max` are upper edges, `min` a lower edge, mean and deviation run over the middles.
- Statistics of a sample: `mean`, `sd`, `min`, `p1`, `p5`, `p10`, `p25`, `p50`, `p75`, `p90`, `p95`, `p99`, `p99.9`, `max`.

## Intervals

`ci_low` and `ci_high` are the ends of a 95 % interval for what the same load would show in the long run. Requests that
are near in time are alike, so n of them are worth n/τ independent ones. τ is read off ten successive blocks (batch
means; for a percentile of the indicator of lying above it), never below 1; what ten blocks leave open about τ is paid for
by Student's t. Then: order statistics at n/τ for percentiles, Student's interval for means, Wilson's for shares, and a
block bootstrap over tenths of the window for rates.

An end is empty where the sample does not bound it: a percentile may stand while its upper end does not. Fewer than 20
values have no interval (a share with no exception has one from the first). Neither have `sd`, `min` and `max`; sums and
counts, which are exact; `gap` and `itl`, whose order is not kept; and groups of several phases, which are several loads.

By simulation (`cargo bench --bench coverage`: p50, p90 and p99 of 400, 2,000 and 10,000 values, 1,000 runs each) intervals
hold in 98–100 % of runs for independent values, and in 92–97 % for times in an M/M/1 queue at load 0.8.

## The client itself

Whatever measures adds to what it measures. Of each phase `manifest.json` has under `client`, and the summary and the page
tell, how much that was; `[verdict]` says from where on a finding is made of it.

- `send_delay_p99_ms`: lag − held, how late requests left by the client's own fault; over measured rows.
- `loop_delay_p99_ms`: how late the sender's event loop woke, twenty times a second: what a busy client adds to every time
  that it reads off its clock.
- `read_delay_p99_ms`: over measured rows, the longest time from the kernel's stamp on bytes to their read. It is in no
  latency, since the stamp is the time of the bytes; with `stamp` = `read` it would be. `clamped_stamps` counts stamps that
  were missing or impossible, `shared_reads` of `reads` those that brought several events at once.
- `clock_step_ms`: the most by which the time of day was set between two looks. No latency has it in it: all of them are
  differences of a monotonic clock, to which the kernel's stamps are brought with every change accounted for.
- `sender_cpu_share`: the part of the time that the sender, which is one thread, was at work.
- `backlog_peak_bytes`: the most that waited between the sender and what writes the files. The sender never waits for it.
- `memory_peak_bytes`, `memory_share`: the most memory of the process by then, also of what the machine or its control
  group has; empty where a simulated server shares the process.

Under the virtual clock work takes no time, and all but the first are empty.

## Adjusted latencies

Metrics in `_adjusted` leave nobody out. They run over all measured rows, from the due time. A request that failed, was
dropped or was never sent is infinitely late. One cut at the end of the drain, or cancelled, is at least as late as when it
was cut. A percentile at or beyond the first such value is not known: `value` is empty, and `ci_low` bounds it. Where failed
requests stand, `value` and `ci_high` are empty too, since infinity is no number. Rows `skipped` or failed in the client
itself, and after a stop those not sent, say nothing about the server and are left out.

## The table
";

fn page() -> String {
    let mut page = HEAD.to_owned();
    for metric in METRICS {
        let statistics = metric.source.statistics();
        let statistics = if statistics.contains(&"sd") {
            "those of a sample".to_owned()
        } else {
            statistics.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
        };
        let _ = write!(page, "\n### `{}`\n\n{}.\n\n", metric.tag, metric.formula);
        let _ = writeln!(page, "- Unit: {}", metric.unit.name());
        let _ = writeln!(page, "- Statistics: {statistics}; intervals: {}", metric.source.bounded());
        if !metric.needs.is_empty() {
            let _ = writeln!(page, "- Needs: {}", metric.needs);
        }
        let _ = writeln!(page, "- Empty when: {}", metric.empty_when);
    }
    page
}

#[test]
fn the_page_of_metrics_is_that_of_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/metrics.md");
    let made = Path::new(env!("CARGO_TARGET_TMPDIR")).join("metrics.md");
    let page = page();
    std::fs::write(&made, &page).unwrap();
    assert!(
        std::fs::read_to_string(&path).is_ok_and(|written| written == page),
        "docs/metrics.md is out of date: cp {} {}",
        made.display(),
        path.display()
    );
}
