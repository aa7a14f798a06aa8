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

const NO_QUIET: &str = "answers beside which no prompt is taken in; add a phase with `load.closed = 1`";

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

/// What matters of an answer that succeeded.
#[derive(Clone, Copy)]
struct Answer {
    first: Micros,
    last: Micros,
    usual: Micros,
    longest_gap: Micros,
}

impl Answer {
    fn of(one: &Seen) -> Option<Answer> {
        let answer =
            Answer { first: one.first?, last: one.last?, usual: one.gap_p50?, longest_gap: one.gap_max? };
        one.is_ok.then_some(answer)
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
    let long = longest_prompts(beside_long(seen));
    let mut quiet = gaps_without(seen);
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
    rows.push(match median(&mut quiet) {
        None => AnalysisRow::open("interference", "gap_without", "ms", 0, NO_QUIET),
        gap => row("gap_without", "ms", gap, quiet.len(), "longest gap beside no prefill at all, median"),
    });
    rows
}

/// Answers beside a long prefill.
fn beside_long(seen: &[Seen]) -> Vec<Beside> {
    let prefill = |one: &Seen| Some(Prefill { from: one.sent, until: one.first?, tokens: one.prompt });
    let prefills: Vec<Prefill> = seen.iter().filter_map(prefill).collect();
    let longest = prefills.iter().map(Prefill::took).max().unwrap_or(0);
    let mut long = Vec::new();
    for Answer { first, last, usual, longest_gap } in seen.iter().filter_map(Answer::of) {
        let from = prefills.partition_point(|prefill| prefill.from.0 + longest < first.0);
        let during = prefills[from..].iter().take_while(|prefill| prefill.from < last);
        let inside = during.filter(|prefill| prefill.from >= first && prefill.until <= last);
        let Some(prefill) = inside.max_by_key(|prefill| prefill.took()) else { continue };
        if usual.0 > 0 && prefill.took() as f64 >= LONG * usual.0 as f64 {
            long.push(Beside { tokens: prefill.tokens, prefill: prefill.took() as f64, longest_gap });
        }
    }
    long
}

/// Longest gaps, in ms, of the answers beside which no prompt was waited for or taken in, not even in part.
fn gaps_without(seen: &[Seen]) -> Vec<f64> {
    // Of the requests in order of sending, until when a prompt of those so far is open.
    let open = |until: &mut Micros, one: &Seen| {
        *until = (*until).max(one.first.unwrap_or(one.ended));
        Some(*until)
    };
    let open_until: Vec<Micros> = seen.iter().scan(Micros(0), open).collect();
    let is_alone = |answer: &Answer| {
        let begun = seen.partition_point(|other| other.sent < answer.last);
        open_until[..begun].last().is_none_or(|until| *until <= answer.first)
    };
    seen.iter().filter_map(Answer::of).filter(is_alone).map(|answer| answer.longest_gap.as_ms()).collect()
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
