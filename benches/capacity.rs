//! How often a search finds the capacity of a textbook queue, and how long searches take.
//!
//! ```text
//! cargo bench --bench capacity            400 searches
//! cargo bench --bench capacity -- 40      so many
//! ```
//!
//! Each search is rehearsed by the program itself with a seed of its own, two at a time. Prints how they ended, with the
//! lower 95 % bound of the share within the precision, and how many requests they took.

#![expect(clippy::print_stdout, reason = "a table for whoever runs it")]

use std::path::Path;
use std::process::{Command, Stdio};
use std::{fs, thread};

use serde_json::Value;
use tonnage::stats::quantile::binomial_at_most;

#[path = "../tests/support/capacity.rs"]
mod queue;
use queue::Ended;

/// How long a run of a search may be.
const LONGEST: &str = "capacity.max_step=4m";

fn main() {
    let searches: u64 = std::env::args().find_map(|argument| argument.parse().ok()).unwrap_or(400);
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("x.toml"), queue::SEARCH).expect("room for a file");
    fs::write(folder.path().join("queue.toml"), queue::PROFILE).expect("room for a file");
    let of = |first: u64| -> Vec<(Ended, u64)> {
        (first..=searches).step_by(2).map(|seed| search(folder.path(), seed)).collect()
    };
    let all = thread::scope(|scope| {
        let odd = scope.spawn(|| of(1));
        let even = of(2);
        [odd.join().expect("no panic"), even].concat()
    });
    println!("searches                {searches:>6}");
    for end in [Ended::Within, Ended::Wide, Ended::Open, Ended::FalsePass, Ended::FalseFail] {
        let count = all.iter().filter(|(other, _)| *other == end).count() as u64;
        println!("{:<22}  {count:>6}", format!("{end:?}"));
        if end == Ended::Within {
            println!("  lower 95 % bound      {:>6.1} %", 100.0 * at_least(count, searches));
        }
    }
    println!("stated chance to err    {:>6.0} %", 100.0 * queue::MAY_ERR);
    let requests: u64 = all.iter().map(|(_, requests)| requests).sum();
    println!("requests each           {:>6}", requests / searches);
}

/// The end of one search, and the requests that it planned.
fn search(folder: &Path, seed: u64) -> (Ended, u64) {
    let out = folder.join(format!("r{seed}"));
    let status = Command::new(env!("CARGO_BIN_EXE_tonnage"))
        .args(["rehearse", "x.toml", "--quiet", "--set", LONGEST, "--set", &format!("seed={seed}"), "--out"])
        .arg(&out)
        .current_dir(folder)
        .stdout(Stdio::null())
        .status()
        .expect("the program runs");
    assert!([Some(0), Some(4)].contains(&status.code()), "{status}");
    let text = fs::read_to_string(out.join("manifest.json")).expect("a manifest");
    let manifest: Value = serde_json::from_str(&text).expect("JSON");
    let capacity = &manifest["capacity"];
    let is_open = !capacity["undetermined"].is_null();
    let ended = queue::judge(capacity["holds"].as_f64(), capacity["fails"].as_f64(), is_open);
    let rows = fs::read_to_string(out.join("requests.csv")).expect("rows");
    fs::remove_dir_all(&out).expect("its own folder");
    (ended, rows.lines().count() as u64 - 1)
}

/// The one-sided lower 95 % bound of a share of which `hits` of `count` were seen (Clopper and Pearson, 1934).
fn at_least(hits: u64, count: u64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        let so_many = 1.0 - hits.checked_sub(1).map_or(0.0, |below| binomial_at_most(below, count, middle));
        if so_many > 0.05 { high = middle } else { low = middle }
    }
    low
}
