//! How many tokens a second one core of the simulated server streams, with latencies at zero.
//!
//! ```text
//! cargo bench --bench sim
//! ```
//!
//! Prints tokens a second of its thread's processor time, for several numbers of streams at once.

#![expect(clippy::print_stdout, reason = "a table for whoever runs it")]

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::thread;

use tonnage::sim::{CostModel, Embedded, FixedCost, Options, Parameters, Profile};

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
