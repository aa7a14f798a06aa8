//! How many tokens a second one core of the simulated server streams, with latencies at zero, and how well it keeps
//! its times with a thousand streams.
//!
//! ```text
//! cargo bench --bench sim
//! ```
//!
//! Prints tokens a second of its thread's processor time, for several numbers of streams at once; then how much later
//! than its pace each token of a thousand streams was written, by the kernel's stamp, and was read by a client. The two
//! threads have a core each there: left to itself, the scheduler of two cores at times runs the client on the server's.

#![expect(clippy::print_stdout, reason = "a table for whoever runs it")]

use std::fs;
use std::io::{self, IoSliceMut, Read as _};
use std::os::fd::AsRawFd as _;
use std::thread;
use std::time::Duration;

use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, cmsg_space, recvmsg, setsockopt, sockopt};
use nix::sys::time::TimeSpec;
use nix::unistd::Pid;
use tokio::io::Interest;
use tokio::net::TcpStream;
use tonnage::clock::Clock;
use tonnage::sim::{Embedded, FixedCost};

#[path = "../tests/support/sim_load.rs"]
mod sim_load;
use sim_load::{ask, start};

/// Tokens of all streams together: enough for the kernel's ticks of a hundredth of a second.
const TOKENS: u64 = 1_000_000;

fn main() {
    let embedded = start(FixedCost::default());
    println!("streams  tokens/s");
    for concurrent in [1, 8, 64, 256] {
        println!("{concurrent:>7}  {:>8.0}", rate(&embedded, concurrent));
    }
    drop(embedded);
    let (written, read) = lateness_ms();
    println!("{} tokens later than their pace, ms: p50  p99  p99.9  max", written.len());
    for (name, late) in [("written", written), ("read", read)] {
        let share = |share: f64| late[(share * (late.len() - 1) as f64) as usize];
        let (p50, p99, p999) = (share(0.5), share(0.99), share(0.999));
        println!("{name:>7}  {p50:.3}  {p99:.3}  {p999:.3}  {:.3}", share(1.0));
    }
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

/// How much later than its stream's pace each token was written, and read, in ms, in ascending order. A stream's pace is
/// the one that no token of it was ahead of.
fn lateness_ms() -> (Vec<f64>, Vec<f64>) {
    keep_to(0);
    let embedded = start(PACE);
    keep_to(1);
    let streams = (0..STREAMS).map(|_| ask(embedded.addr(), TIMED_TOKENS)).collect::<Vec<_>>();
    let late = Clock::run_real(|clock| async move {
        let mut seen = tokio::task::JoinSet::new();
        for stream in streams {
            stream.set_nonblocking(true).expect("a socket can be");
            setsockopt(&stream, sockopt::ReceiveTimestampns, &true).expect("Linux has it");
            let stream = TcpStream::from_std(stream).expect("a runtime runs");
            seen.spawn_local(times(stream, clock.clone()));
        }
        let (mut written, mut read) = (Vec::new(), Vec::new());
        while let Some(times) = seen.join_next().await {
            let times = times.expect("no panic");
            later_than_pace(times.iter().map(|times| times.0), &mut written);
            later_than_pace(times.iter().map(|times| times.1), &mut read);
        }
        written.sort_by(f64::total_cmp);
        read.sort_by(f64::total_cmp);
        (written, read)
    });
    late.expect("descriptors")
}

/// Keeps this thread, and those it starts, to one core.
fn keep_to(core: usize) {
    let mut cores = CpuSet::new();
    cores.set(core).expect("a small number");
    if let Err(error) = sched_setaffinity(Pid::from_raw(0), &cores) {
        println!("not kept to core {core}: {error}");
    }
}

fn later_than_pace(times_ns: impl Iterator<Item = u64>, late_ms: &mut Vec<f64>) {
    let step = PACE.step_overhead + PACE.sequence_cost * STREAMS;
    let times_ns = times_ns.enumerate().skip(TIMED.start).take(TIMED.len());
    let ahead_ns = times_ns.map(|(token, at_ns)| at_ns as i128 - step.as_nanos() as i128 * token as i128);
    let ahead_ns = ahead_ns.collect::<Vec<_>>();
    let pace_ns = ahead_ns.iter().copied().min().unwrap_or_default();
    late_ms.extend(ahead_ns.into_iter().map(|ahead_ns| (ahead_ns - pace_ns) as f64 / 1e6));
}

/// When each token of a stream arrived by the kernel's stamp, which on one machine is when it was written, and when it
/// was read, each in nanoseconds by a clock of its own.
async fn times(stream: TcpStream, clock: Clock) -> Vec<(u64, u64)> {
    let mut times = Vec::with_capacity(TIMED_TOKENS as usize);
    let mut piece = vec![0; 1 << 14];
    loop {
        stream.readable().await.expect("it streams");
        let received = stream.try_io(Interest::READABLE, || receive(&stream, &mut piece));
        let (count, written) = match received {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
            received => received.expect("it streams"),
        };
        let read = clock.now().0;
        let tokens = memchr::memmem::find_iter(&piece[..count], br#""delta":{"content":"#).count();
        times.extend(std::iter::repeat_n((written, read), tokens));
        if count == 0 {
            return times;
        }
    }
}

/// Reads into `piece`: how many bytes, and the kernel's stamp of them, 0 where there is none.
fn receive(stream: &TcpStream, piece: &mut [u8]) -> io::Result<(usize, u64)> {
    let mut control = [0; cmsg_space::<TimeSpec>()];
    let mut pieces = [IoSliceMut::new(piece)];
    let message = recvmsg::<()>(stream.as_raw_fd(), &mut pieces, Some(&mut control), MsgFlags::empty())?;
    let stamp = message.cmsgs()?.find_map(|control| match control {
        ControlMessageOwned::ScmTimestampns(at) => {
            Some(at.tv_sec() as u64 * 1_000_000_000 + at.tv_nsec() as u64)
        }
        _ => None,
    });
    Ok((message.bytes, stamp.unwrap_or_default()))
}

/// Tokens a second of the server's thread while so many streams run at once.
fn rate(embedded: &Embedded, concurrent: u64) -> f64 {
    let (began, before) = (cpu_seconds("simulator"), embedded.status().tokens);
    let tokens = TOKENS / concurrent;
    let threads = (0..concurrent).map(|_| {
        let mut stream = ask(embedded.addr(), tokens);
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
    assert!(bytes > concurrent * tokens * 150, "an event for each token: {bytes} bytes");
    let (spent, made) = (cpu_seconds("simulator") - began, embedded.status().tokens - before);
    assert_eq!(made, concurrent * tokens);
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
