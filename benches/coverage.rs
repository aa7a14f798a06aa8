//! How often 95 % intervals hold what is true, by simulation: independent values and M/M/1 queues.
//!
//! ```text
//! cargo bench --bench coverage [RUNS]
//! ```

#[path = "../tests/statistics/queue.rs"]
mod queue;

use tonnage::stats::Percentile;

#[expect(clippy::print_stdout, reason = "a table for whoever runs it")]
fn main() {
    let runs = std::env::args().filter_map(|argument| argument.parse().ok()).next().unwrap_or(1_000);
    println!("coverage of 95 % intervals over {runs} runs\n\nseries          values     p50     p90     p99");
    for count in [400, 2_000, 10_000] {
        for load in [None, Some(0.5), Some(0.8), Some(0.9)] {
            let name = load.map_or("independent".to_owned(), |load| format!("M/M/1 at {load}"));
            print!("{name:<14} {count:>7}");
            for percentile in [Percentile::P50, Percentile::P90, Percentile::P99] {
                let share = match load {
                    None => {
                        queue::coverage(percentile, 1.0, runs, |stream| queue::independent(count, stream))
                    }
                    Some(load) => queue::coverage(percentile, 1.0 / (1.0 - load), runs, |stream| {
                        queue::queue(load, count, stream)
                    }),
                };
                print!("  {:>4.1} %", share * 100.0);
            }
            println!();
        }
    }
}
