//! How many tokens a second one core of the simulated server streams, with latencies at zero, and how well it keeps
//! its times with a thousand streams.
//!
//! ```text
//! cargo bench --bench sim
//! ```
//!
//! Prints tokens a second of its thread's processor time, for several numbers of streams at once; then how much later
//! than its pace each token of a thousand streams was seen by a client, which has the second core.

#![expect(clippy::print_stdout, reason = "a table for whoever runs it")]

use std::fs;
use std::io::Read as _;
use std::thread;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;
use tonnage::clock::Clock;
use tonnage::sim::{Embedded, FixedCost};
use tonnage::units::Nanos;

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
    let late = lateness_ms();
    let share = |share: f64| late[(share * (late.len() - 1) as f64) as usize];
    println!("tokens  later than their pace, ms: p50  p99  p99.9  max");
    let (p50, p99, p999) = (share(0.5), share(0.99), share(0.999));
    println!("{:>6}  {p50:.3}  {p99:.3}  {p999:.3}  {:.3}", late.len(), share(1.0));
}

/// The streams whose times are looked at, the tokens of each, and which of them: all streams run by then, and none has
/// ended.
const STREAMS: u32 = 1_000;
const TIMED_TOKENS: u64 = 400;
const TIMED: std::ops::Range<usize> = 100..300;

/// Steps of 50 ms, in the last 15 of which a thousand tokens are handed out.
const PACE: FixedCost = FixedCost {
    step_overhead: Duration::from_millis(35),
    sequence_cost: Duration::from_micros(15),
    prefill_tokens_per_s: None,
};

/// How much later than its stream's pace each token was seen, in ms, in ascending order. A stream's pace is the one
/// that no token of it was ahead of.
fn lateness_ms() -> Vec<f64> {
    let embedded = start(PACE);
    let step = PACE.step_overhead + PACE.sequence_cost * STREAMS;
    let streams = (0..STREAMS).map(|_| ask(embedded.addr(), TIMED_TOKENS)).collect::<Vec<_>>();
    let late = Clock::run_real(|clock| async move {
        let mut seen = tokio::task::JoinSet::new();
        for stream in streams {
            stream.set_nonblocking(true).expect("a socket can be");
            let stream = TcpStream::from_std(stream).expect("a runtime runs");
            seen.spawn_local(times(stream, clock.clone()));
        }
        let mut late = Vec::new();
        while let Some(times) = seen.join_next().await {
            let times = times.expect("no panic").into_iter().enumerate().skip(TIMED.start).take(TIMED.len());
            let ahead = times.map(|(token, at)| at.0 as f64 / 1e9 - step.as_secs_f64() * token as f64);
            let ahead = ahead.collect::<Vec<_>>();
            let pace = ahead.iter().copied().fold(f64::INFINITY, f64::min);
            late.extend(ahead.into_iter().map(|ahead| (ahead - pace) * 1e3));
        }
        late.sort_by(f64::total_cmp);
        late
    });
    late.expect("descriptors")
}

/// When each token of a stream was seen.
async fn times(mut stream: TcpStream, clock: Clock) -> Vec<Nanos> {
    let mut times = Vec::with_capacity(TIMED_TOKENS as usize);
    let mut piece = vec![0; 1 << 14];
    loop {
        let count = stream.read(&mut piece).await.expect("it streams");
        let at = clock.now();
        let tokens = memchr::memmem::find_iter(&piece[..count], br#""delta":{"content":"#).count();
        times.extend(std::iter::repeat_n(at, tokens));
        if count == 0 {
            return times;
        }
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
