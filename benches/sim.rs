//! How many tokens a second one core of the simulated server streams, with latencies at zero.
//!
//! ```text
//! cargo bench --bench sim
//! ```
//!
//! Prints tokens a second of its thread's processor time, for several numbers of streams at once.

#![expect(clippy::print_stdout, reason = "a table for whoever runs it")]

use std::fs;
use std::io::Read as _;
use std::thread;

use tonnage::sim::{Embedded, FixedCost};

#[path = "../tests/support/sim_load.rs"]
mod sim_load;
use sim_load::{ask, start};

/// Tokens of each stream.
const TOKENS: u64 = 20_000;

fn main() {
    let embedded = start(FixedCost::default());
    println!("streams  tokens/s");
    for concurrent in [1, 8, 64, 256] {
        println!("{concurrent:>7}  {:>8.0}", rate(&embedded, concurrent));
    }
}

/// Tokens a second of the server's thread while so many streams run at once.
fn rate(embedded: &Embedded, concurrent: u64) -> f64 {
    let (began, before) = (cpu_seconds("simulator"), embedded.status().tokens);
    let threads = (0..concurrent).map(|_| {
        let mut stream = ask(embedded.addr(), TOKENS);
        thread::spawn(move || {
            let mut piece = vec![0; 1 << 18];
            let mut bytes = 0;
            loop {
                match stream.read(&mut piece).expect("it streams") {
                    0 => return bytes,
                    count => bytes += count as u64,
                }
            }
        })
    });
    let threads = threads.collect::<Vec<_>>().into_iter();
    let bytes = threads.map(|thread| thread.join().expect("no panic")).sum::<u64>();
    assert!(bytes > concurrent * TOKENS * 150, "an event for each token: {bytes} bytes");
    let (spent, made) = (cpu_seconds("simulator") - began, embedded.status().tokens - before);
    assert_eq!(made, concurrent * TOKENS);
    made as f64 / spent
}

/// Processor time of the thread of this name, in seconds.
fn cpu_seconds(name: &str) -> f64 {
    for task in fs::read_dir("/proc/self/task").expect("Linux has it") {
        let stat = fs::read_to_string(task.expect("readable").path().join("stat")).unwrap_or_default();
        let Some((before, after)) = stat.split_once(')') else { continue };
        if before.ends_with(&format!("({name}")) {
            let fields = after.split_whitespace().collect::<Vec<_>>();
            let ticks = |at: usize| fields[at].parse::<f64>().expect("a number");
            return (ticks(11) + ticks(12)) / 100.0;
        }
    }
    0.0
}
