//! What looking through a trace costs: one of a gigabyte, of which ten minutes are used.
//!
//! ```text
//! cargo bench --bench scan [MEGABYTES]
//! ```
//!
//! Prints megabytes a second and the most memory that the process ever held, once for JSON lines of Mooncake's form
//! and once for a CSV of Azure's.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a table for whoever runs it")]

use std::io::BufWriter;
use std::time::Duration;

use tonnage::clock::Clock;
use tonnage::dataset::{Dataset, Format, Source, Span};

fn main() {
    let megabytes = std::env::args().filter_map(|argument| argument.parse().ok()).next().unwrap_or(1_000_u64);
    Clock::run_real(|clock| async move { measure(&clock, megabytes) }).unwrap();
}

fn measure(clock: &Clock, megabytes: u64) {
    println!("format       MB  rows kept      MB/s  peak MB");
    for format in [Format::Mooncake, Format::Azure] {
        let file = tempfile::NamedTempFile::new().unwrap();
        write(&mut BufWriter::new(&file), format, megabytes << 20);
        let window = Some(Duration::from_secs(600));
        let span = Some(Span::new(Duration::from_secs(3_600), window));
        let source = Source { format: Some(format), span, ..Source::of(file.path().to_owned()) };
        let start = clock.now();
        let set = Dataset::scan(&source).unwrap();
        let seconds = clock.now().since(start).as_secs_f64();
        let (name, rows) = (format.name(), set.rows());
        println!("{name:<8} {megabytes:>6} {rows:>10} {:>9.0} {:>8}", megabytes as f64 / seconds, peak_mb());
    }
}

/// Ten requests a second, until so many bytes are written.
fn write(out: &mut impl std::io::Write, format: Format, bytes: u64) {
    let mut written = 0;
    if format == Format::Azure {
        out.write_all(b"TIMESTAMP,ContextTokens,GeneratedTokens\r\n").unwrap();
    }
    for row in 0_u64.. {
        if written >= bytes {
            break;
        }
        let line = match format {
            Format::Azure => {
                let (second, tenth) = (row / 10, row % 10);
                let (day, second) = (1 + second / 86_400, second % 86_400);
                let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
                format!("2024-05-{day:02} {hour:02}:{minute:02}:{second:02}.{tenth}000000,4808,10\r\n")
            }
            _ => {
                let ids = (0..14).map(|id| (row * 14 + id).to_string()).collect::<Vec<_>>().join(", ");
                let at = row * 100;
                format!(
                    "{{\"timestamp\": {at}, \"input_length\": 7000, \"output_length\": 52, \"hash_ids\": [{ids}]}}\n"
                )
            }
        };
        written += line.len() as u64;
        out.write_all(line.as_bytes()).unwrap();
    }
    out.flush().unwrap();
}

/// The most memory held so far.
fn peak_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
}
