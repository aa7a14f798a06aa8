//! What the simulated server costs: memory of many streams, and tokens a second of one core.
//!
//! ```text
//! cargo test --release --test sim_load -- --ignored --nocapture
//! ```

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::thread;

use tonnage::sim::{CostModel, Embedded, FixedCost, Options, Parameters, Profile};

fn start(cost: FixedCost) -> Embedded {
    let parameters = Parameters {
        cost: CostModel::Fixed(cost),
        max_num_seqs: 1_024,
        max_model_len: 1 << 20,
        ..Parameters::default()
    };
    let profile = Profile::new("load", parameters).expect("a possible profile");
    Embedded::start(profile, Options::default()).expect("a free port")
}

fn ask(addr: SocketAddr, tokens: u64) -> TcpStream {
    let body = format!(
        r#"{{"messages":[{{"role":"user","content":"{}"}}],"max_tokens":{tokens},"ignore_eos":true,"stream":true}}"#,
        "word ".repeat(300)
    );
    let mut stream = TcpStream::connect(addr).expect("it listens");
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: sim\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).expect("it reads");
    stream
}

/// Resident memory of this process, in bytes.
fn resident_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("Linux has it");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("Linux has it");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") * 1024
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

#[test]
#[ignore = "a measurement: says nothing in a debug build or on a busy machine"]
fn one_core_streams_two_hundred_thousand_tokens_a_second() {
    const TOKENS: u64 = 20_000;
    let embedded = start(FixedCost::default());
    for concurrent in [1, 8, 64, 256] {
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
        let rate = made as f64 / spent;
        println!("{concurrent} streams: {rate:.0} tokens a second of its core");
        assert_eq!(made, concurrent * TOKENS);
        assert!(concurrent == 1 || rate > 200_000.0, "{concurrent} streams: {rate:.0} tokens/s");
    }
}
