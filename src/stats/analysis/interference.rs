//! Whether long prompts stop running answers: the longest gap of an answer against the prefill that ran beside it.
//!
//! Without chunked prefill a prompt is taken in whole and every answer waits for all of it, so that its longest gap
//! is about the time of that prefill; with it answers wait for one chunk at a time. Under load the time to first token
//! is mostly that of waiting: what a prefill takes is known from prompts that found none before them.

use std::collections::BTreeMap;

use super::{AnalysisRow, Seen, median};
use crate::units::Micros;

const FEWEST: usize = 5;
/// A prefill is long where it takes so many usual gaps of the answer beside it.
const LONG: f64 = 20.0;
/// Of a prefill, so much in one gap is a stop.
const STOP: f64 = 0.5;
/// Of the answers, up to so many stop by chance, and from so many on by the prompts.
const BY_CHANCE: f64 = 0.2;
const BY_PROMPTS: f64 = 0.8;
/// Lengths of one class differ by less than this ratio.
const ALIKE: f64 = 1.1;

const NO_LONG: &str = "at least 5 answers beside which a prompt is prefilled that takes over 20 usual gaps; \
                       send long prompts by `[[phase.also]]` into a phase of long answers";
const NO_TIME: &str = "every long prompt waited for others before it, and what it takes alone is not known; add a \
                       phase with `load.closed = 1` and prompts of this length";
const NO_QUIET: &str = "answers beside which no prompt is taken in; add a phase with `load.closed = 1`";
const BETWEEN: &str = "some answers stand still beside a long prompt and some do not; send prompts several times as \
                       long";
const FEW_QUIET: &str = "answers stand still beside long prompts, but fewer than 5 have no prompt beside them to \
                         compare with; add a phase with `load.closed = 1`";
const QUIET_ALIKE: &str = "answers stand still as long where no prompt is taken in beside them; look for what else \
                           stops the server";
const DETECTED: &str = "detected: answers stand still while a long prompt is taken in; chunked prefill is off, or one \
                        chunk holds half of such a prompt or more";
const ABSENT: &str = "absent: answers go on while a long prompt is taken in";

/// A prefill that ran beside an answer, from send to first token.
#[derive(Clone, Copy)]
struct Prefill {
    from: Micros,
    until: Micros,
    tokens: Option<u64>,
    /// Its time without waiting for other prompts, in µs, where that is known.
    alone: Option<f64>,
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
    /// The time of that prefill alone, in µs.
    prefill: f64,
    longest_gap: Micros,
}

pub(super) fn rows(seen: &[Seen]) -> Vec<AnalysisRow> {
    let open_until = open_until(seen);
    let quiet = quiet(seen, &open_until);
    let mut quiet_gaps: Vec<f64> = quiet.iter().map(|one| one.usual.0 as f64).collect();
    let (long, untimed) = beside_long(seen, &prefills(seen, &open_until), median(&mut quiet_gaps));
    let long = longest_prompts(long);
    let beside = long.len();
    let open = |what| AnalysisRow::open("interference", "stopped", "share", beside, what);
    if beside < FEWEST {
        return vec![open(if beside + untimed < FEWEST { NO_LONG } else { NO_TIME })];
    }
    let stops = long.iter().filter(|one| one.longest_gap.0 as f64 >= STOP * one.prefill).count();
    let stopped = stops as f64 / beside as f64;
    let mut spikes: Vec<f64> = long.iter().map(|one| one.longest_gap.as_ms()).collect();
    let mut shares: Vec<f64> = long.iter().map(|one| one.longest_gap.0 as f64 / one.prefill).collect();
    let mut without: Vec<f64> = quiet.iter().map(|one| one.longest_gap.as_ms()).collect();
    let (gap_beside, gap_without) = (median(&mut spikes), median(&mut without));
    let row = |term, unit, value, count: usize, note: &str| AnalysisRow {
        value,
        count: count as u64,
        note: note.to_owned(),
        ..AnalysisRow::new("interference", term, unit)
    };
    let is_quiet_alike =
        gap_without.zip(gap_beside).is_some_and(|(without, beside)| without >= STOP * beside);
    let verdict = match stopped {
        _ if stopped <= BY_CHANCE => row("stopped", "share", Some(stopped), beside, ABSENT),
        _ if stopped < BY_PROMPTS => open(BETWEEN),
        _ if quiet.len() < FEWEST => open(FEW_QUIET),
        _ if is_quiet_alike => open(QUIET_ALIKE),
        _ => row("stopped", "share", Some(stopped), beside, DETECTED),
    };
    let of_prefill = "longest gap over the time that the prefill beside it takes alone, median";
    let without = match gap_without {
        None => AnalysisRow::open("interference", "gap_without", "ms", 0, NO_QUIET),
        gap => row("gap_without", "ms", gap, quiet.len(), "longest gap beside no prefill at all, median"),
    };
    vec![
        verdict,
        row("gap_of_prefill", "share", median(&mut shares), beside, of_prefill),
        row("gap_beside", "ms", gap_beside, beside, "longest gap beside a long prefill, median"),
        without,
    ]
}

/// Answers beside a long prefill, and how many more there may be, beside one whose own time is not known. Where most
/// gaps of an answer are those of chunks, its usual gap is that of quiet answers, `quiet_gap` in µs.
fn beside_long(seen: &[Seen], prefills: &[Prefill], quiet_gap: Option<f64>) -> (Vec<Beside>, usize) {
    let longest = prefills.iter().map(Prefill::took).max().unwrap_or(0);
    let (mut long, mut untimed) = (Vec::new(), 0);
    for Answer { first, last, usual, longest_gap } in seen.iter().filter_map(Answer::of) {
        let from = prefills.partition_point(|prefill| prefill.from.0 + longest < first.0);
        let during = prefills[from..].iter().take_while(|prefill| prefill.from < last);
        let inside = || during.clone().filter(|prefill| prefill.from >= first && prefill.until <= last);
        let usual = quiet_gap.unwrap_or(f64::MAX).min(usual.0 as f64);
        let is_long = |time: f64| usual > 0.0 && time >= LONG * usual;
        let timed = inside().filter_map(|prefill| Some((prefill.tokens, prefill.alone?)));
        match timed.max_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, alone)| is_long(*alone)) {
            Some((tokens, prefill)) => long.push(Beside { tokens, prefill, longest_gap }),
            None => {
                let may_be_long =
                    |prefill: &Prefill| prefill.alone.is_none() && is_long(prefill.took() as f64);
                untimed += usize::from(inside().any(may_be_long));
            }
        }
    }
    (long, untimed)
}

/// Every prefill, in order of sending, with the time that it takes alone: the median of like prompts that were sent
/// while no other prompt was open, and no more than it took itself.
fn prefills(seen: &[Seen], open_until: &[Micros]) -> Vec<Prefill> {
    let is_ahead = |at: usize| {
        let is_free = at == 0 || open_until[at - 1] <= seen[at].sent;
        is_free && seen.get(at + 1).is_none_or(|next| next.sent > seen[at].sent)
    };
    let took = |one: &Seen| Some((one.first? - one.sent).0 as f64);
    let mut ahead: BTreeMap<_, Vec<f64>> = BTreeMap::new();
    for (_, one) in seen.iter().enumerate().filter(|(at, _)| is_ahead(*at)) {
        ahead.entry(length(one)).or_default().extend(took(one));
    }
    let alone: BTreeMap<_, f64> =
        ahead.into_iter().filter_map(|(length, mut times)| Some((length, median(&mut times)?))).collect();
    let prefill = |one: &Seen| {
        let took = took(one)?;
        let alone = alone.get(&length(one)).map(|alone| alone.min(took));
        Some(Prefill { from: one.sent, until: one.first?, tokens: one.prompt, alone })
    };
    seen.iter().filter_map(prefill).collect()
}

/// Classes of a prompt's tokens and of those that are computed, where they are known.
fn length(one: &Seen) -> (Option<i64>, Option<i64>) {
    let class = |tokens: u64| ((tokens + 1) as f64).log(ALIKE).round() as i64;
    (one.prompt.map(class), one.uncached().map(class))
}

/// Of the requests in order of sending, until when a prompt of those so far is open.
fn open_until(seen: &[Seen]) -> Vec<Micros> {
    let open = |until: &mut Micros, one: &Seen| {
        *until = (*until).max(one.first.unwrap_or(one.ended));
        Some(*until)
    };
    seen.iter().scan(Micros(0), open).collect()
}

/// The answers beside which no prompt was waited for or taken in, not even in part.
fn quiet(seen: &[Seen], open_until: &[Micros]) -> Vec<Answer> {
    let is_alone = |answer: &Answer| {
        let begun = seen.partition_point(|other| other.sent < answer.last);
        open_until[..begun].last().is_none_or(|until| *until <= answer.first)
    };
    seen.iter().filter_map(Answer::of).filter(is_alone).collect()
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
