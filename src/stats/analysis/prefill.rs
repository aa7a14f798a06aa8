//! How fast prompts are taken in: TTFT = a + b·u + c·u·(2k + u) over u uncached and k cached tokens.
//!
//! b is the linear layers' time for a token; c that of attention, since u tokens after k others attend to
//! u·(2k + u)/2 pairs. Only requests that had the server to themselves until their first token tell it: those of
//! others would be waiting in it.

use std::collections::BTreeSet;

use super::fit::fit;
use super::{AnalysisRow, Seen};
use crate::stats::interval::Interval;
use crate::units::Micros;

const FEWEST: usize = 6;

pub(super) fn rows(seen: &[Seen]) -> Vec<AnalysisRow> {
    let alone = alone(seen);
    let open = |count: usize, what: &str| vec![AnalysisRow::open("prefill", "rate", "tokens/s", count, what)];
    let known =
        alone.iter().filter_map(|seen| Some((seen.uncached()? as f64, seen.cached? as f64, seen.ttft_ms()?)));
    let known: Vec<(f64, f64, f64)> = known.collect();
    if alone.len() >= FEWEST && known.len() < FEWEST {
        return open(
            known.len(),
            "the server tells no cached tokens with its usage; switch that on (vLLM: --enable-prompt-tokens-details)",
        );
    }
    if known.len() < FEWEST {
        let what = "at least 6 requests that have the server to themselves; add a phase with `load.closed = 1` for \
                    each of 3 prompt lengths or more";
        return open(known.len(), what);
    }
    let lengths: BTreeSet<u64> = known.iter().map(|(u, ..)| *u as u64).collect();
    let (shortest, longest) = (lengths.first().copied().unwrap_or(0), lengths.last().copied().unwrap_or(0));
    if lengths.len() < 3 || longest < 4 * shortest.max(1) {
        let what = "at least 3 prompt lengths, the longest 4 times the shortest, each sent alone";
        return open(known.len(), what);
    }
    // In thousands of tokens, so that terms are of like size.
    let rows: Vec<_> =
        known.iter().map(|&(u, k, ttft)| ([1.0, u / 1e3, u / 1e3 * (2.0 * k + u) / 1e3], ttft)).collect();
    let Some(fit) = fit(&rows).filter(|fit| fit.is_positive(1)) else {
        return open(known.len(), "TTFT does not grow with the prompt's length; send longer prompts alone");
    };
    let count = known.len() as u64;
    let note = format!("{} lengths from {shortest} to {longest} uncached tokens", lengths.len());
    let row = |term, unit, value, interval| AnalysisRow {
        value: Some(value),
        interval,
        count,
        residual: Some(fit.residual),
        note: note.clone(),
        ..AnalysisRow::new("prefill", term, unit)
    };
    let (low, high) = (fit.terms[1] - fit.widths[1], fit.terms[1] + fit.widths[1]);
    let rate = Interval { low: Some(1e6 / high), high: Some(1e6 / low) };
    let quadratic = AnalysisRow {
        note: match fit.is_positive(2) {
            true => format!(
                "attention doubles the time of a token at {:.0} tokens before it",
                fit.terms[1] / (2.0 * fit.terms[2]) * 1e3
            ),
            false => "not told from zero at these lengths".to_owned(),
        },
        ..row("quadratic", "ms/(1000 tokens)²", fit.terms[2], fit.interval(2))
    };
    vec![
        row("rate", "tokens/s", 1e6 / fit.terms[1], rate),
        row("fixed", "ms", fit.terms[0], fit.interval(0)),
        quadratic,
    ]
}

/// Requests that ended well and were alone from send to first token. `seen` is in order of sending.
fn alone(seen: &[Seen]) -> Vec<&Seen> {
    let mut free_from = Micros(0);
    let mut alone = Vec::new();
    for (at, one) in seen.iter().enumerate() {
        let next = seen.get(at + 1).map(|next| next.sent);
        let undisturbed = one.first.is_some_and(|first| next.is_none_or(|next| next >= first));
        if one.is_ok && undisturbed && free_from <= one.sent {
            alone.push(one);
        }
        free_from = free_from.max(one.ended);
    }
    alone
}
