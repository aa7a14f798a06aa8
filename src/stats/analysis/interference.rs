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

pub(super) fn rows(seen: &[Seen]) -> Vec<AnalysisRow> {
    let prefills: Vec<(Micros, Micros)> =
        seen.iter().filter_map(|one| Some((one.sent, one.first?))).collect();
    let longest = prefills.iter().map(|(sent, first)| first.0 - sent.0).max().unwrap_or(0);
    let (mut beside, mut spikes, mut shares) = (0_usize, Vec::new(), Vec::new());
    let (mut stops, mut quiet) = (0_usize, Vec::new());
    for one in seen.iter().filter(|one| one.is_ok) {
        let (Some(first), Some(last), Some(usual), Some(most)) =
            (one.first, one.last, one.gap_p50, one.gap_max)
        else {
            continue;
        };
        let from = prefills.partition_point(|(sent, _)| sent.0 + longest < first.0);
        let during = prefills[from..].iter().take_while(|(sent, _)| *sent < last);
        // Those that lie wholly inside.
        let inside = during.filter(|(sent, until)| *sent >= first && *until <= last);
        let prefill = inside.map(|(sent, until)| until.0 - sent.0).max().unwrap_or(0) as f64;
        if usual.0 == 0 || prefill < LONG * usual.0 as f64 {
            if prefill == 0.0 {
                quiet.push(most.as_ms());
            }
            continue;
        }
        beside += 1;
        spikes.push(most.as_ms());
        shares.push(most.0 as f64 / prefill);
        stops += usize::from(most.0 as f64 >= STOP * prefill);
    }
    if beside < FEWEST {
        let what = "at least 5 answers beside which a prompt is prefilled that takes over 20 of their usual gaps; \
                    send long prompts by `[[phase.also]]` into a phase of long answers";
        return vec![AnalysisRow::open("interference", "stopped", "share", beside, what)];
    }
    let stopped = stops as f64 / beside as f64;
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
