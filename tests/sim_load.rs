//! What many streams of the simulated server cost of memory. `benches/sim.rs` has their cost in time.

use std::fs;
use std::io::Read as _;

use tonnage::sim::FixedCost;

#[path = "support/sim_load.rs"]
mod sim_load;
use sim_load::{ask, start};

/// Resident memory of this process, in bytes.
fn resident_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("Linux has it");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("Linux has it");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") * 1024
}

#[test]
fn a_thousand_concurrent_streams_take_less_than_a_hundred_megabytes() {
    let cost = FixedCost { step_overhead: std::time::Duration::from_millis(20), ..FixedCost::default() };
    let embedded = start(cost);
    let before = resident_bytes();
    let mut streams = (0..1_000).map(|_| ask(embedded.addr(), 1_000)).collect::<Vec<_>>();
    for stream in &mut streams {
        let mut seen = Vec::new();
        let mut piece = [0; 4096];
        while !seen.windows(11).any(|window| window == br#"{"content":"# as &[u8]) {
            let count = stream.read(&mut piece).expect("it streams");
            assert_ne!(count, 0);
            seen.extend_from_slice(&piece[..count]);
        }
    }
    assert_eq!(embedded.status().running, 1_000, "all at once");
    let grown = resident_bytes().saturating_sub(before);
    assert!(grown < 100_000_000, "{grown} bytes");
    println!("1,000 streams: {:.1} MB", grown as f64 / 1e6);
}
