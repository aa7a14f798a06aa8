//! Objectives in the manifest, and what became of them.
//!
//! They are judged from the rows of the summary alone, so that a folder read back, or joined from shards, is judged by
//! the same words.

use serde::{Deserialize, Serialize};

use crate::stats::fold::ALL;
use crate::stats::metrics::metric;
use crate::stats::objective::{Answer, Bound, Over, Points};
use crate::stats::verdict::{Finding, FindingKind, Severity};
use crate::stats::{Judgement, Objective, SummaryRow};

/// An objective, and its answer in each phase that it asks of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ObjectiveEntry {
    /// Tag of the metric.
    pub metric: String,
    /// Name of the statistic: `p99`, `value`.
    pub statistic: String,
    /// Largest value that holds, in `unit`; none for a lower bound.
    pub at_most: Option<f64>,
    /// Smallest value that holds, in `unit`; none for an upper bound.
    pub at_least: Option<f64>,
    /// Unit of the bound and the values.
    pub unit: String,
    /// Which requests count.
    pub over: Over,
    /// At which points of a sweep it must hold.
    #[serde(default)]
    pub points: Points,
    /// Name of its phase; none for every measured one.
    pub phase: Option<String>,
    /// Name of its workload; none for all together.
    pub workload: Option<String>,
    /// What became of it; empty while the run is on.
    pub judged: Vec<JudgementEntry>,
}

/// What became of an objective in a phase of a point and repeat.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JudgementEntry {
    /// Point of a sweep, from 1.
    pub point: Option<u32>,
    /// Repeat of a point, from 1.
    pub repeat: Option<u32>,
    /// Name of the phase.
    pub phase: String,
    /// Whether it is met.
    pub answer: Answer,
    /// The figure; none where it cannot be had.
    pub value: Option<f64>,
    /// Lower end of its 95 % interval.
    pub ci_low: Option<f64>,
    /// Upper end of its interval; none also where it is never reached.
    pub ci_high: Option<f64>,
}

impl From<Judgement> for JudgementEntry {
    fn from(judged: Judgement) -> JudgementEntry {
        let finite = |value: Option<f64>| value.filter(|value| value.is_finite());
        JudgementEntry {
            point: judged.point,
            repeat: judged.repeat,
            phase: judged.phase,
            answer: judged.answer,
            value: finite(judged.value),
            ci_low: finite(judged.low),
            ci_high: finite(judged.high),
        }
    }
}

impl From<&Objective> for ObjectiveEntry {
    fn from(objective: &Objective) -> ObjectiveEntry {
        let (at_most, at_least) = match objective.bound() {
            Bound::AtMost(limit) => (Some(limit), None),
            Bound::AtLeast(limit) => (None, Some(limit)),
        };
        ObjectiveEntry {
            metric: objective.tag().to_owned(),
            statistic: objective.statistic().to_owned(),
            at_most,
            at_least,
            unit: metric(objective.tag()).map_or("", |metric| metric.unit.name()).to_owned(),
            over: objective.over(),
            points: objective.points(),
            phase: objective.phase().map(str::to_owned),
            workload: objective.workload().map(str::to_owned),
            judged: Vec::new(),
        }
    }
}

impl ObjectiveEntry {
    /// The objective; `None` of a metric that this version does not know.
    fn objective(&self) -> Option<Objective> {
        let bound = self.at_most.map(Bound::AtMost).or(self.at_least.map(Bound::AtLeast))?;
        let objective = Objective::new(&self.metric, &self.statistic, bound, self.over).ok()?;
        let objective = self.phase.iter().fold(objective, |objective, name| objective.in_phase(name));
        let objective = objective.at_points(self.points);
        Some(self.workload.iter().fold(objective, |objective, name| objective.for_workload(name)))
    }

    /// Judges it by the rows of a summary. Where a run did not come to its phase, it is undetermined.
    pub fn judge(&mut self, summary: &[SummaryRow]) {
        let judged = self.objective().map(|objective| objective.judge(summary)).unwrap_or_default();
        self.judged = judged.into_iter().map(JudgementEntry::from).collect();
        if self.judged.is_empty() {
            self.judged.push(JudgementEntry {
                point: None,
                repeat: None,
                phase: self.phase.clone().unwrap_or_else(|| ALL.to_owned()),
                answer: Answer::Undetermined,
                value: None,
                ci_low: None,
                ci_high: None,
            });
        }
    }
}

/// Whether one of them was missed.
pub fn any_fails(objectives: &[ObjectiveEntry]) -> bool {
    objectives.iter().any(is_missed)
}

/// Whether one that must hold at all points was missed at any.
pub fn any_fails_at_a_point(objectives: &[ObjectiveEntry]) -> bool {
    objectives.iter().any(|objective| objective.points == Points::All && is_missed(objective))
}

fn is_missed(objective: &ObjectiveEntry) -> bool {
    objective.judged.iter().any(|judged| judged.answer == Answer::Fail)
}

/// A finding for each phase in which some are undetermined.
pub fn undetermined(objectives: &[ObjectiveEntry]) -> Vec<Finding> {
    let mut counts: Vec<(&str, u64)> = Vec::new();
    let judged = objectives.iter().flat_map(|objective| &objective.judged);
    for judged in judged.filter(|judged| judged.answer == Answer::Undetermined) {
        match counts.iter_mut().find(|(phase, _)| *phase == judged.phase) {
            Some((_, count)) => *count += 1,
            None => counts.push((&judged.phase, 1)),
        }
    }
    let finding = |(phase, count): (&str, u64)| Finding {
        kind: FindingKind::Undetermined,
        severity: Severity::Insufficient,
        phase: phase.to_owned(),
        measured: count as f64,
        threshold: 0.0,
        count,
    };
    counts.into_iter().map(finding).collect()
}
