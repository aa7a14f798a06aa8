//! Whether long prompts stop running answers: the longest gap of an answer against the prefill that ran beside it.
//!
//! Without chunked prefill a prompt is taken in whole and every answer waits for all of it, so that its longest gap
//! is about the time of that prefill; with it answers wait for one chunk at a time.

use super::{AnalysisRow, Seen, median};
use crate::units::Micros;

const FEWEST: usize = 5;
/// A prefill is long where it takes so many usual gaps of the answer beside it.
const LONG: f64 = 20.0;
/// Of a prefill, so much in one gap is a stop.
const STOP: f64 = 0.5;

/// A prefill that ran beside an answer, from first to last.
#[derive(Clone, Copy)]
struct Prefill {
    from: Micros,
    until: Micros,
    tokens: Option<u64>,
}

impl Prefill {
    fn took(&self) -> u64 {
        self.until.0 - self.from.0
    }
}

/// An answer beside a long prefill.
struct Beside {
    /// Of the prompt that was prefilled, where that is known.
    tokens: Option<u64>,
    prefill: f64,
    longest_gap: Micros,
}

pub(super) fn rows(seen: &[Seen]) -> Vec<AnalysisRow> {
    let (long, mut quiet) = pairs(seen);
    let long = longest_prompts(long);
    let beside = long.len();
    if beside < FEWEST {
        let what = "at least 5 answers beside which a prompt is prefilled that takes over 20 of their usual gaps; \
                    send long prompts by `[[phase.also]]` into a phase of long answers";
        return vec![AnalysisRow::open("interference", "stopped", "share", beside, what)];
    }
    let stops = long.iter().filter(|one| one.longest_gap.0 as f64 >= STOP * one.prefill).count();
    let stopped = stops as f64 / beside as f64;
    let mut spikes: Vec<f64> = long.iter().map(|one| one.longest_gap.as_ms()).collect();
    let mut shares: Vec<f64> = long.iter().map(|one| one.longest_gap.0 as f64 / one.prefill).collect();
    let note = match stopped >= STOP {
        true => {
            "detected: answers stand still while a long prompt is taken in; chunked prefill is off, or its \
                 chunks are as long as these prompts"
        }
        false => "absent: answers go on while a long prompt is taken in",
    };
    let row = |term, unit, value, count: usize, note: &str| AnalysisRow {
        value,
        count: count as u64,
        note: note.to_owned(),
        ..AnalysisRow::new("interference", term, unit)
    };
    let mut rows = vec![
        row("stopped", "share", Some(stopped), beside, note),
        row(
            "gap_of_prefill",
            "share",
            median(&mut shares),
            beside,
            "longest gap over the prefill beside it, median",
        ),
        row("gap_beside", "ms", median(&mut spikes), beside, "longest gap beside a long prefill, median"),
    ];
    if !quiet.is_empty() {
        let count = quiet.len();
        rows.push(row(
            "gap_without",
            "ms",
            median(&mut quiet),
            count,
            "longest gap beside no prefill, median",
        ));
    }
    rows
}

/// Answers beside a long prefill, and the longest gaps of those beside none, in ms.
fn pairs(seen: &[Seen]) -> (Vec<Beside>, Vec<f64>) {
    let prefill = |one: &Seen| Some(Prefill { from: one.sent, until: one.first?, tokens: one.prompt });
    let prefills: Vec<Prefill> = seen.iter().filter_map(prefill).collect();
    let longest = prefills.iter().map(Prefill::took).max().unwrap_or(0);
    let (mut long, mut quiet) = (Vec::new(), Vec::new());
    for one in seen.iter().filter(|one| one.is_ok) {
        let (Some(first), Some(last), Some(usual), Some(longest_gap)) =
            (one.first, one.last, one.gap_p50, one.gap_max)
        else {
            continue;
        };
        let from = prefills.partition_point(|prefill| prefill.from.0 + longest < first.0);
        let during = prefills[from..].iter().take_while(|prefill| prefill.from < last);
        let inside = during.filter(|prefill| prefill.from >= first && prefill.until <= last);
        match inside.max_by_key(|prefill| prefill.took()) {
            None => quiet.push(longest_gap.as_ms()),
            Some(prefill) if usual.0 > 0 && prefill.took() as f64 >= LONG * usual.0 as f64 => {
                long.push(Beside { tokens: prefill.tokens, prefill: prefill.took() as f64, longest_gap });
            }
            Some(_) => {}
        }
    }
    (long, quiet)
}

/// Those beside the longest prompts, down to half of the longest, and never fewer than are needed: a prompt that fits
/// into one chunk says nothing of chunks.
fn longest_prompts(mut long: Vec<Beside>) -> Vec<Beside> {
    long.sort_by_key(|one| std::cmp::Reverse(one.tokens));
    let half = long.first().and_then(|one| one.tokens).map(|tokens| tokens / 2);
    let count = long.partition_point(|one| one.tokens >= half);
    long.truncate(count.max(FEWEST));
    long
}
