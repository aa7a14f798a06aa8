//! Objectives in words: what was asked, what was found.

use super::figure::{NONE, grouped, percent, short, time};
use crate::results::Manifest;
use crate::results::objectives::{JudgementEntry, ObjectiveEntry};
use crate::results::text::printable;
use crate::stats::objective::{Answer, Over};

/// An objective in one phase.
pub(super) struct Line {
    pub(super) answer: Answer,
    /// `steady`, with point and repeat where there are some.
    pub(super) place: String,
    /// `ttft p99 at most 3.00 s`
    pub(super) asked: String,
    /// `2.10 s, 95 % interval 2.00 s to 2.30 s`
    pub(super) found: String,
}

impl Line {
    pub(super) fn text(&self) -> String {
        format!("{}: {}; found {}", self.place, self.asked, self.found)
    }
}

/// Every objective in every phase that it was judged in.
pub(super) fn lines(manifest: &Manifest) -> Vec<Line> {
    let of = |objective: &ObjectiveEntry| {
        let asked = asked(objective);
        let line = |judged: &JudgementEntry| Line {
            answer: judged.answer,
            place: place(judged),
            asked: asked.clone(),
            found: found(objective, judged),
        };
        objective.judged.iter().map(line).collect::<Vec<_>>()
    };
    manifest.objectives.iter().flat_map(of).collect()
}

fn asked(objective: &ObjectiveEntry) -> String {
    let statistic = match objective.statistic.as_str() {
        "value" => String::new(),
        statistic => format!(" {}", printable(statistic)),
    };
    let workload = objective.workload.as_ref();
    let workload = workload.map_or(String::new(), |name| format!(" of {}", printable(name)));
    let ok = if objective.over == Over::Ok { ", ok requests alone" } else { "" };
    let (side, limit) = match objective.at_most {
        Some(limit) => ("at most", Some(limit)),
        None => ("at least", objective.at_least),
    };
    let limit = value(limit, &objective.unit);
    format!("{}{statistic}{workload} {side} {limit}{ok}", printable(&objective.metric))
}

fn place(judged: &JudgementEntry) -> String {
    let phase = printable(&judged.phase);
    match (judged.point, judged.repeat) {
        (Some(point), Some(repeat)) => format!("point {point}, repeat {repeat}, {phase}"),
        (Some(point), None) => format!("point {point}, {phase}"),
        (None, _) => phase,
    }
}

fn found(objective: &ObjectiveEntry, judged: &JudgementEntry) -> String {
    let of = |figure| value(figure, &objective.unit);
    match (judged.value, judged.ci_low, judged.ci_high) {
        (None, None, None) => "nothing to judge by".to_owned(),
        (figure, low, high) if low == figure && high == figure => of(figure),
        (figure, None, None) => format!("{}, without an interval", of(figure)),
        (figure, low, high) => format!("{}, 95 % interval {} to {}", of(figure), of(low), of(high)),
    }
}

fn value(value: Option<f64>, unit: &str) -> String {
    let Some(value) = value else { return NONE.to_owned() };
    match unit {
        "ms" => time(value),
        "share" => percent(value),
        "requests" => grouped(value.round() as u64),
        unit => format!("{} {}", short(value), printable(unit)),
    }
}
