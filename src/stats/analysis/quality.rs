//! Accuracy over length, depth and load, where answers are graded.

use std::collections::BTreeMap;

use super::{AnalysisRow, Seen, Step};
use crate::stats::interval;

pub(super) fn rows(seen: &[Seen], steps: &[Step]) -> Vec<AnalysisRow> {
    let graded: Vec<(&Seen, bool)> =
        seen.iter().filter(|one| one.measured).filter_map(|one| Some((one, one.right?))).collect();
    let length = |one: &Seen| match one.needle {
        Some((_, length)) => Some(u64::from(length)),
        // A power of two: prompts of data are of every length.
        None => one.prompt.map(|tokens| tokens.max(1).next_power_of_two()),
    };
    let depth = |one: &Seen| one.needle.map(|(depth, _)| (depth * 100.0).round() as u64);
    let place = |one: &Seen| steps.iter().position(|step| step.key == one.step).map(|place| place as u64);
    let mut rows = by(&graded, "by_length", &length, &|length| format!("{length} tokens"));
    rows.extend(by(&graded, "by_depth", &depth, &|percent| format!("depth {percent} %")));
    if steps.len() > 1 {
        rows.extend(by(&graded, "by_load", &place, &|place| steps[place as usize].label()));
    }
    rows
}

fn by(
    graded: &[(&Seen, bool)],
    term: &'static str,
    key: &dyn Fn(&Seen) -> Option<u64>,
    name: &dyn Fn(u64) -> String,
) -> Vec<AnalysisRow> {
    let mut groups: BTreeMap<u64, Vec<bool>> = BTreeMap::new();
    for (one, right) in graded {
        if let Some(key) = key(one) {
            groups.entry(key).or_default().push(*right);
        }
    }
    let row = |(key, answers): (u64, Vec<bool>)| AnalysisRow {
        scope: name(key),
        value: Some(answers.iter().filter(|right| **right).count() as f64 / answers.len() as f64),
        interval: interval::of_share(&answers),
        count: answers.len() as u64,
        note: "right of graded".to_owned(),
        ..AnalysisRow::new("accuracy", term, "share")
    };
    groups.into_iter().map(row).collect()
}
