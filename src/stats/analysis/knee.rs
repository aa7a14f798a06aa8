//! Where more load stops paying: throughput over context and load, and for each context the highest step whose gain
//! in throughput is at least half its gain in load.
//!
//! Load is the number of users, or the offered rate where there are none.

use super::{AnalysisRow, Seen, Step, median};
use crate::stats::interval::Interval;

const FEWEST: usize = 3;
const WORTH: f64 = 0.5;
/// Loads that differ by less than this ratio are one step: repeats, and arrivals that came out a little apart.
const ALIKE: f64 = 1.05;

/// One rung with what came of it.
struct Rung {
    context: f64,
    is_closed: bool,
    load: f64,
    throughput: f64,
    name: String,
}

pub(super) fn rows(seen: &[Seen], steps: &[Step]) -> Vec<AnalysisRow> {
    let mut rungs: Vec<Rung> = steps.iter().filter_map(|step| rung(seen, step)).collect();
    rungs.sort_by(|a, b| {
        let kind = a.is_closed.cmp(&b.is_closed).then(a.context.total_cmp(&b.context));
        kind.then(a.load.total_cmp(&b.load))
    });
    let mut rows: Vec<AnalysisRow> = Vec::new();
    let mut rest = &rungs[..];
    while let Some(first) = rest.first() {
        // Contexts that differ by less than a tenth are one.
        let alike = |rung: &&Rung| rung.is_closed == first.is_closed && rung.context <= first.context * 1.1;
        let (group, others) = rest.split_at(rest.iter().take_while(alike).count());
        let mut group: Vec<&Rung> = group.iter().collect();
        group.sort_by(|a, b| a.load.total_cmp(&b.load));
        rest = others;
        rows.extend(of_context(&group));
    }
    if rows.iter().all(|row| row.term != "load") {
        let what = "at least 3 measured phases or points of equal context and growing load";
        rows.push(AnalysisRow::open("knee", "load", "users", 0, what));
    }
    rows
}

fn rung(seen: &[Seen], step: &Step) -> Option<Rung> {
    let (from, to) = step.window?;
    let window_s = (to - from).as_s();
    if window_s <= 0.0 {
        return None;
    }
    let of_step = || seen.iter().filter(|one| one.step == step.key);
    let measured = of_step().filter(|one| one.measured);
    let mut contexts: Vec<f64> = measured
        .clone()
        .filter(|one| one.is_ok)
        .filter_map(|one| one.prompt)
        .map(|tokens| tokens as f64)
        .collect();
    let users: std::collections::BTreeSet<u32> = of_step().filter_map(|one| one.user).collect();
    Some(Rung {
        context: median(&mut contexts)?,
        is_closed: !users.is_empty(),
        load: if users.is_empty() { measured.count() as f64 / window_s } else { users.len() as f64 },
        throughput: of_step().map(|one| one.output_in_window).sum::<f64>() / window_s,
        name: step.label(),
    })
}

fn of_context(group: &[&Rung]) -> Vec<AnalysisRow> {
    let Some(first) = group.first() else { return Vec::new() };
    let (unit, scope) =
        (if first.is_closed { "users" } else { "requests/s" }, format!("{:.0} tokens", first.context));
    let mut rows: Vec<AnalysisRow> = group
        .iter()
        .map(|rung| AnalysisRow {
            scope: scope.clone(),
            value: Some(rung.throughput),
            count: 1,
            note: format!("{}: {:.3} {unit}", rung.name, rung.load).replace(".000", ""),
            ..AnalysisRow::new("knee", "output_throughput", "tokens/s")
        })
        .collect();
    let group = steps_of(group);
    let count = group.len();
    let open = |what: &str| AnalysisRow {
        scope: scope.clone(),
        ..AnalysisRow::open("knee", "load", unit, count, what)
    };
    if count < FEWEST {
        return rows;
    }
    let pays = |pair: &[(f64, f64)]| {
        let gain = |from: f64, to: f64| to / from - 1.0;
        gain(pair[0].1, pair[1].1) >= WORTH * gain(pair[0].0, pair[1].0)
    };
    let last = group.windows(2).rposition(pays).map_or(0, |place| place + 1);
    if last + 1 == count {
        rows.push(open("throughput still grows at the highest load; add higher ones"));
        return rows;
    }
    let ((knee, throughput), (next, of_next)) = (group[last], group[last + 1]);
    rows.push(AnalysisRow {
        scope,
        value: Some(knee),
        interval: Interval { low: (last > 0).then_some(knee), high: Some(next) },
        count: count as u64,
        note: format!(
            "{}{throughput:.0} tokens/s; {:.0} % more load from there gives {:.0} % more",
            if last > 0 { "" } else { "at or below the lowest load tried; " },
            (next / knee - 1.0) * 100.0,
            (of_next / throughput - 1.0) * 100.0
        ),
        ..AnalysisRow::new("knee", "load", unit)
    });
    rows
}

/// Load and throughput of each step, in order of load: means over the rungs whose loads are alike.
fn steps_of(group: &[&Rung]) -> Vec<(f64, f64)> {
    let alike = group.chunk_by(|a, b| b.load < a.load * ALIKE);
    let mean = |rungs: &[&Rung], of: fn(&Rung) -> f64| {
        rungs.iter().map(|rung| of(rung)).sum::<f64>() / rungs.len() as f64
    };
    alike.map(|rungs| (mean(rungs, |rung| rung.load), mean(rungs, |rung| rung.throughput))).collect()
}
