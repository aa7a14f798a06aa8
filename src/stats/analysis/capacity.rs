//! How many tokens the server's memory for keys and values holds, from four sources.
//!
//! 1. `stated`: by the server's own page.
//! 2. `fitted`: use = held / capacity, over looks at which nothing waits, nothing of ours prefills, all of ours is
//!    in decode, and the server runs as many requests as we have open. A request holds its prompt and what it has
//!    been given so far, in whole blocks.
//! 3. `preempted`: what all open requests would hold at the first look that shows a preemption: an upper bound.
//! 4. `model`: `[model]`.

use super::fit::fit;
use super::{AnalysisRow, Known, Look, Seen};
use crate::stats::interval::Interval;
use crate::units::Micros;

const FEWEST_LOOKS: usize = 5;
/// Where less is taken, what is held beside our requests would show.
const LEAST_USE: f64 = 0.01;
/// Sources that differ by more do not speak of the same thing.
const AGREEMENT: f64 = 0.05;

fn row(term: &'static str) -> AnalysisRow {
    AnalysisRow::new("kv_capacity", term, "tokens")
}

pub(super) fn rows(seen: &[Seen], looks: &[Look], known: &Known) -> Vec<AnalysisRow> {
    let endpoints = looks.iter().map(|look| look.endpoint).max().map_or(0, |last| last + 1);
    let mut rows = Vec::new();
    let stated: Vec<f64> = (0..endpoints)
        .filter_map(|endpoint| {
            let of = looks.iter().filter(|look| look.endpoint == endpoint);
            of.filter_map(|look| look.kv_capacity).next_back()
        })
        .collect();
    if !stated.is_empty() {
        let note = format!("stated by {} of {endpoints} pages of the server", stated.len());
        let count = stated.len() as u64;
        rows.push(AnalysisRow { value: Some(stated.iter().sum()), count, note, ..row("stated") });
    }
    match endpoints {
        0 if known.model_tokens.is_none() => {
            let what = "neither the server's metrics nor its memory are known; add `[server]`, or `[model]` with \
                        `weights` and `memory`";
            return vec![AnalysisRow::open("kv_capacity", "fitted", "tokens", 0, what)];
        }
        0 => {}
        1 => rows.extend(observed(seen, looks, known)),
        _ => {
            let what = "which of several servers holds a request is not known; measure one alone";
            rows.push(AnalysisRow::open("kv_capacity", "fitted", "tokens", 0, what));
        }
    }
    if let Some(tokens) = known.model_tokens {
        let note = "what `[model]` leaves beside the weights, at most".to_owned();
        rows.push(AnalysisRow { value: Some(tokens as f64), note, ..row("model") });
    }
    rows.extend(disagreement(&rows));
    rows
}

/// What is open at a look.
#[derive(Default)]
struct Held {
    requests: usize,
    tokens: f64,
    /// All of it is in decode and of known length, and none of it from the cache.
    is_plain: bool,
}

fn observed(seen: &[Seen], looks: &[Look], known: &Known) -> Vec<AnalysisRow> {
    let mut points = Vec::new();
    let mut bound = None;
    let mut next = 0;
    let mut open: Vec<&Seen> = Vec::new();
    for look in looks {
        while let Some(one) = seen.get(next).filter(|one| one.sent <= look.at) {
            open.push(one);
            next += 1;
        }
        open.retain(|one| one.ended > look.at);
        let block = look.block.unwrap_or(known.block_tokens.max(1) as f64);
        let held = held(&open, look.at, block);
        if bound.is_none() && look.preemptions.is_some_and(|count| count > 0.0) && held.tokens > 0.0 {
            bound = Some(held.tokens);
        }
        let nothing_waits = look.waiting == Some(0.0);
        let all_ours = look.running.is_none_or(|running| running == held.requests as f64);
        if let Some(used) = look.kv_use.filter(|used| *used >= LEAST_USE)
            && nothing_waits
            && all_ours
            && held.is_plain
        {
            points.push(([held.tokens], used));
        }
    }
    let mut rows = vec![fitted(&points, looks)];
    rows.extend(
        bound.map(|tokens| AnalysisRow {
            value: Some(tokens),
            interval: Interval { low: None, high: Some(tokens) },
            count: 1,
            note: "an upper bound: all open requests would hold it at the first preemption that was seen"
                .to_owned(),
            ..row("preempted")
        }),
    );
    rows
}

fn held(open: &[&Seen], at: Micros, block: f64) -> Held {
    let mut held = Held { is_plain: !open.is_empty(), ..Held::default() };
    for one in open {
        held.requests += 1;
        let Some(prompt) = one.prompt else {
            held.is_plain = false;
            continue;
        };
        let decoding = one.first.zip(one.last).filter(|(first, last)| *first <= at && at <= *last);
        let given = decoding.zip(one.output).map(|((first, last), output)| {
            let share = (at - first).0 as f64 / ((last - first).0 as f64).max(1.0);
            1.0 + share * (output.saturating_sub(1)) as f64
        });
        held.is_plain &= given.is_some() && one.cached.unwrap_or(0) == 0;
        held.tokens += ((prompt as f64 + given.unwrap_or(0.0)) / block).ceil() * block;
    }
    held
}

fn fitted(points: &[([f64; 1], f64)], looks: &[Look]) -> AnalysisRow {
    let open = |what: &str| AnalysisRow::open("kv_capacity", "fitted", "tokens", points.len(), what);
    if looks.iter().all(|look| look.kv_use.is_none()) {
        return open("the server's page says nothing of the use of its memory");
    }
    if points.len() < FEWEST_LOOKS {
        return open(
            "at least 5 looks at which nothing waits or prefills and over 1 % of the memory is in use; let cold \
             prompts be followed by long answers",
        );
    }
    let Some(fit) = fit(points).filter(|fit| fit.is_positive(0)) else {
        return open("the use of the memory does not grow with what our requests hold");
    };
    let (low, high) = (fit.terms[0] - fit.widths[0], fit.terms[0] + fit.widths[0]);
    let most = points.iter().map(|(_, used)| *used).fold(0.0, f64::max);
    AnalysisRow {
        value: Some(1.0 / fit.terms[0]),
        interval: Interval { low: Some(1.0 / high), high: Some(1.0 / low) },
        count: points.len() as u64,
        residual: Some(fit.residual),
        note: format!("looks at up to {:.0} % in use", most * 100.0),
        ..row("fitted")
    }
}

/// A word where sources differ by more than they may.
fn disagreement(rows: &[AnalysisRow]) -> Option<AnalysisRow> {
    let values = rows.iter().filter(|row| row.term != "preempted").filter_map(|row| row.value);
    let (low, high) =
        values.clone().fold((f64::MAX, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
    let differs = values.count() > 1 && high > low * (1.0 + AGREEMENT);
    differs.then(|| AnalysisRow {
        value: Some(high / low - 1.0),
        unit: "share",
        note:
            "sources differ by more than 5 %: look at `[model]`, and at what else takes the server's memory"
                .to_owned(),
        ..row("disagreement")
    })
}
