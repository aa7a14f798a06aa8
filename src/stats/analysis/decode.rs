//! What a token of an answer costs: TPOT = a + b·batch + c·context, over the sequences that decode beside it and
//! the tokens that all of them attend to, both averaged over the answer.
//!
//! Only answers count beside which no prompt of ours was prefilled: those would wait for it.

use super::fit::fit;
use super::{AnalysisRow, Seen};
use crate::units::Micros;

const FEWEST: usize = 10;

/// A prompt may be under way beside so small a part of an answer, at its beginning or end.
const ENDS: u64 = 100;

/// A quantity that changes in steps, with its integral.
struct Course {
    /// When it changed, its value from there, and its integral up to there.
    steps: Vec<(u64, f64, f64)>,
}

impl Course {
    /// From changes at instants.
    fn new(mut changes: Vec<(u64, f64)>) -> Course {
        changes.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let mut steps: Vec<(u64, f64, f64)> = Vec::with_capacity(changes.len());
        for (at, change) in changes {
            let (since, value, integral) = steps.last().copied().unwrap_or((at, 0.0, 0.0));
            steps.push((at, value + change, integral + value * (at - since) as f64));
        }
        Course { steps }
    }

    fn integral(&self, at: u64) -> f64 {
        let after = self.steps.partition_point(|(since, ..)| *since <= at);
        let Some(&(since, value, integral)) = after.checked_sub(1).and_then(|place| self.steps.get(place))
        else {
            return 0.0;
        };
        integral + value * (at - since) as f64
    }

    /// Its mean from `from` to `to`, which is later.
    fn mean(&self, (from, to): (Micros, Micros)) -> f64 {
        (self.integral(to.0) - self.integral(from.0)) / (to.0 - from.0) as f64
    }
}

pub(super) fn rows(seen: &[Seen]) -> Vec<AnalysisRow> {
    let open = |count: usize, what: &str| vec![AnalysisRow::open("decode", "fixed", "ms", count, what)];
    let span = |one: &Seen| one.first.zip(one.last).filter(|(first, last)| last > first);
    let (mut batch, mut context, mut prefill) = (Vec::new(), Vec::new(), Vec::new());
    for one in seen {
        // What never came to a first token was in its prefill to the end.
        prefill.push((one.sent.0, 1.0));
        prefill.push((one.first.unwrap_or(one.ended).0, -1.0));
        let Some((first, last)) = span(one) else { continue };
        // A sequence grows evenly: its middle stands for it.
        let tokens = one.prompt.unwrap_or(0) as f64 + one.output.unwrap_or(0) as f64 / 2.0;
        batch.extend([(first.0, 1.0), (last.0, -1.0)]);
        context.extend([(first.0, tokens), (last.0, -tokens)]);
    }
    let (batch, context, prefill) = (Course::new(batch), Course::new(context), Course::new(prefill));
    let undisturbed = seen.iter().filter(|one| one.is_ok && one.prompt.is_some()).filter_map(|one| {
        let (span, tokens) = (span(one)?, one.output.filter(|tokens| *tokens > 1)?);
        let took = span.1 - span.0;
        let tpot = took.as_ms() / (tokens - 1) as f64;
        // The tokens of one step leave one after the other, so those who begin together overlap a little at both ends.
        // A prompt delays an answer by no more than both were under way: there by a gap, and a hundredth, at most.
        let end = took.0 / (tokens - 1).max(ENDS);
        let clear = prefill.mean((Micros(span.0.0 + end), Micros(span.1.0 - end))) < 1e-9;
        clear.then(|| ([1.0, batch.mean(span), context.mean(span) / 1e3], tpot))
    });
    let rows: Vec<([f64; 3], f64)> = undisturbed.collect();
    if rows.len() < FEWEST {
        let what = "at least 10 answers beside which no prompt is prefilled; let users begin together, with long \
                    answers of one length";
        return open(rows.len(), what);
    }
    let Some(fit) = fit(&rows) else {
        let what = "batch and context were never varied apart; add phases of other numbers of users, and of other \
                    prompt lengths";
        return open(rows.len(), what);
    };
    let range = |term: usize| {
        let values = rows.iter().map(|(x, _)| x[term]);
        values.fold((f64::MAX, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)))
    };
    let ((few, many), (short, long)) = (range(1), range(2));
    let note =
        format!("batches of {few:.1} to {many:.1} with {short:.1} to {long:.1} thousand tokens of context");
    let row = |term, place, unit| AnalysisRow {
        value: Some(fit.terms[place]),
        interval: fit.interval(place),
        count: rows.len() as u64,
        residual: Some(fit.residual),
        note: note.clone(),
        ..AnalysisRow::new("decode", term, unit)
    };
    vec![row("fixed", 0, "ms"), row("sequence", 1, "ms"), row("context", 2, "ms/1000 tokens")]
}
