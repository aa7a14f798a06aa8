//! Checked answers: how many are right by what was asked, and whether that falls with length or load.
//!
//! Findings compare two groups of answers to one workload by the test of two shares at their numbers of independent
//! values: the outer thirds of a scale, prompts that were longest and those that were shortest, say; or the worst depth
//! of a needle and all others. What accuracy owes to answers that ran into their limit is told as that.

mod groups;

use std::collections::{BTreeMap, BTreeSet};

use self::groups::{Split, thirds, worst_depth};
use super::finding::{Finding, FindingKind, Severity};
use super::fold::{ALL, Fold, Phase};
use super::interval::{Interval, of_share};
use super::metrics::FinishReason;
use super::tally::{Checked, Kept, Tally};
use super::thresholds::Thresholds;
use crate::record::Verdict;
use crate::units::Micros;

/// The fewest answers not right of which a share that was cut says anything.
const FEWEST_NOT_RIGHT: usize = 5;

/// One line of `accuracy.csv`.
#[derive(Clone, Debug, PartialEq)]
pub struct AccuracyRow {
    /// Point of a sweep, from 1.
    pub point: Option<u32>,
    /// Repeat of a point, from 1.
    pub repeat: Option<u32>,
    /// Name of the phase.
    pub phase: String,
    /// Name of the workload.
    pub workload: String,
    /// Length of prompts in tokens: that asked for where they hide a needle, else the least power of two not below
    /// the length counted; `None` where it is unknown.
    pub length: Option<u64>,
    /// How deep the needle lay, as a share of the prompt; `None` without one.
    pub depth: Option<f64>,
    /// Why the answers ended, by its name in files; `all` for all of them.
    pub finish_reason: &'static str,
    /// Right answers.
    pub right: u64,
    /// Wrong answers.
    pub wrong: u64,
    /// Answers without one.
    pub no_answer: u64,
    /// Checked answers that ran into their token limit, whatever their verdict.
    pub truncated: u64,
    /// Right answers among all of them.
    pub accuracy: f64,
    /// Its 95 % interval: Wilson's, at the number of independent values.
    pub interval: Interval,
}

/// A checked answer.
#[derive(Clone, Copy)]
struct Answer<'a> {
    kept: &'a Kept,
    checked: &'a Checked,
    /// Place of its phase.
    phase: usize,
}

impl Answer<'_> {
    fn verdict(&self) -> Option<Verdict> {
        self.kept.verdict
    }

    fn is_right(&self) -> bool {
        self.verdict() == Some(Verdict::Right)
    }

    fn is_truncated(&self) -> bool {
        self.kept.finish_reason == FinishReason::Length
    }
}

impl Fold {
    /// Accuracy of each phase that counts by workload, length and depth, of all answers and by why they ended: the
    /// lines of `accuracy.csv`.
    pub fn accuracy(&self) -> Vec<AccuracyRow> {
        let mut rows = Vec::new();
        for (place, phase) in self.counting() {
            for (workload, tally) in &phase.tallies {
                for ((length, depth), answers) in cells(place, tally) {
                    let row = |finish_reason, answers: &[Answer<'_>]| {
                        let count = |verdict| {
                            answers.iter().filter(|answer| answer.verdict() == Some(verdict)).count() as u64
                        };
                        let right: Vec<bool> = answers.iter().map(Answer::is_right).collect();
                        AccuracyRow {
                            point: self.point,
                            repeat: self.repeat,
                            phase: phase.setup.name.clone(),
                            workload: self.workload_name(*workload).to_owned(),
                            length,
                            depth: depth.map(f64::from_bits),
                            finish_reason,
                            right: count(Verdict::Right),
                            wrong: count(Verdict::Wrong),
                            no_answer: count(Verdict::NoAnswer),
                            truncated: answers.iter().filter(|answer| answer.is_truncated()).count() as u64,
                            accuracy: share(&right),
                            interval: of_share(&right),
                        }
                    };
                    rows.push(row(ALL, &answers));
                    rows.extend(by_finish_reason(&answers).map(|(reason, answers)| row(reason, &answers)));
                }
            }
        }
        rows
    }

    /// What there is to know about the answers of the phases that count.
    pub fn answer_findings(&self, limits: &Thresholds) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (place, phase) in self.counting() {
            let mut found = Found { phase: &phase.setup.name, limits, findings: &mut findings };
            judge_phase(&mut found, &in_order(phase.tallies.values().map(|tally| (place, tally))));
            for tally in phase.tallies.values() {
                judge_workload(&mut found, &in_order([(place, tally)]));
            }
            judge_unchecked(&mut found, phase.tallies.values());
        }
        let phase = match self.counting().map(|(_, phase)| phase).collect::<Vec<_>>().as_slice() {
            [only] => &only.setup.name,
            _ => ALL,
        };
        let mut found = Found { phase, limits, findings: &mut findings };
        let in_flight = InFlight::new(self.phases.iter().flat_map(|phase| phase.tallies.values()));
        let load = |answer: &Answer<'_>| Some(in_flight.at(answer.checked.sent) as f64);
        let workloads: BTreeSet<u32> =
            self.counting().flat_map(|(_, phase)| phase.tallies.keys().copied()).collect();
        for workload in workloads {
            let tallies =
                self.counting().filter_map(|(place, phase)| Some((place, phase.tallies.get(&workload)?)));
            let (falls, rises) = (FindingKind::AccuracyFallsWithLoad, FindingKind::NoAnswerRisesWithLoad);
            judge_split(&mut found, &in_order(tallies), falls, Some(rises), |answers| thirds(answers, load));
        }
        findings
    }

    fn counting(&self) -> impl Iterator<Item = (usize, &Phase)> {
        self.phases.iter().enumerate().filter(|(_, phase)| phase.setup.counts)
    }
}

/// Findings of a phase under way.
struct Found<'a> {
    phase: &'a str,
    limits: &'a Thresholds,
    findings: &'a mut Vec<Finding>,
}

impl Found<'_> {
    /// Adds a finding. Of one kind that several workloads have, the one that is further over what it is measured by
    /// stays.
    fn add(&mut self, kind: FindingKind, measured: f64, threshold: f64, count: usize) {
        let (severity, phase, count) = (Severity::Warning, self.phase.to_owned(), count as u64);
        let finding = Finding { kind, severity, phase, measured, threshold, count };
        let excess = |finding: &Finding| (finding.measured - finding.threshold).abs();
        let is_same = |other: &&mut Finding| other.kind == kind && other.phase == finding.phase;
        match self.findings.iter_mut().find(is_same) {
            Some(other) if excess(other) >= excess(&finding) => {}
            Some(other) => *other = finding,
            None => self.findings.push(finding),
        }
    }
}

/// What is to know of all answers of a phase, whatever was asked.
fn judge_phase(found: &mut Found<'_>, answers: &[Answer<'_>]) {
    let no_answer = answers.iter().filter(|answer| is_no_answer(answer)).count();
    let no_answer_share = no_answer as f64 / answers.len().max(1) as f64;
    if no_answer_share > found.limits.no_answer {
        found.add(FindingKind::NoAnswer, no_answer_share, found.limits.no_answer, no_answer);
    }
    let (cut, share) = truncated_share(answers);
    // Where every answer is cut, none can be told to be right for want of that.
    let cut_are_worse = {
        let right = |cut: bool| {
            let flags: Vec<bool> =
                answers.iter().filter(|answer| answer.is_truncated() == cut).map(Answer::is_right).collect();
            if flags.is_empty() { None } else { Some(self::share(&flags)) }
        };
        right(true).is_some_and(|cut| right(false).is_none_or(|whole| cut < whole))
    };
    if share > found.limits.not_right_truncated && cut_are_worse {
        found.add(FindingKind::NotRightTruncated, share, found.limits.not_right_truncated, cut);
    }
}

/// What the prompts of a workload do to its answers.
fn judge_workload(found: &mut Found<'_>, answers: &[Answer<'_>]) {
    let length = |answer: &Answer<'_>| answer.checked.prompt_tokens.map(|tokens| tokens as f64);
    let (falls, rises) = (FindingKind::AccuracyFallsWithLength, FindingKind::NoAnswerRisesWithLength);
    judge_split(found, answers, falls, Some(rises), |answers| thirds(answers, length));
    judge_split(found, answers, FindingKind::AccuracyFallsWithDepth, None, worst_depth);
}

fn judge_unchecked<'a>(found: &mut Found<'_>, tallies: impl Iterator<Item = &'a Tally> + Clone) {
    let unchecked = tallies.clone().map(|tally| tally.unchecked).sum::<u64>();
    if unchecked > 0 {
        found.add(FindingKind::Unchecked, unchecked as f64, 0.0, unchecked as usize);
    }
    let compared = tallies.flat_map(|tally| &tally.rows).filter_map(|row| row.consistent);
    let (count, differ) =
        compared.fold((0, 0), |(count, differ), same| (count + 1, differ + usize::from(!same)));
    if differ > 0 {
        found.add(FindingKind::Inconsistent, differ as f64 / f64::from(count), 0.0, differ);
    }
}

/// Whether accuracy falls, or answers without one rise, from one group of answers to the other. What is gone without the
/// answers that were cut is told as that.
fn judge_split<'a>(
    found: &mut Found<'_>,
    answers: &[Answer<'a>],
    falls: FindingKind,
    rises: Option<FindingKind>,
    split: impl Fn(&[Answer<'a>]) -> Option<Split<'a>>,
) {
    let least = found.limits.accuracy_falls;
    let Some(groups) = split(answers) else { return };
    let whole: Vec<Answer<'_>> = answers.iter().filter(|answer| !answer.is_truncated()).copied().collect();
    let (cut, share) = truncated_share(answers);
    let mut is_explained = |misses: fn(&Answer<'_>) -> bool| {
        let explained = cut > 0 && split(&whole).is_none_or(|groups| groups.rise(least, misses).is_none());
        if explained {
            found.add(FindingKind::NotRightTruncated, share, found.limits.not_right_truncated, cut);
        }
        explained
    };
    let rise = |misses: fn(&Answer<'_>) -> bool| groups.rise(least, misses);
    let fall = rise(is_not_right).filter(|_| !is_explained(is_not_right));
    let silence = rises.zip(rise(is_no_answer)).filter(|_| !is_explained(is_no_answer));
    if let Some(rise) = fall {
        found.add(falls, 1.0 - rise.worse, 1.0 - rise.better, rise.count);
    }
    if let Some((rises, rise)) = silence {
        found.add(rises, rise.worse, rise.better, rise.count);
    }
}

fn is_not_right(answer: &Answer<'_>) -> bool {
    !answer.is_right()
}

fn is_no_answer(answer: &Answer<'_>) -> bool {
    answer.verdict() == Some(Verdict::NoAnswer)
}

/// Answers that are not right and ran into their limit, and their share of those that are not right.
fn truncated_share(answers: &[Answer<'_>]) -> (usize, f64) {
    let not_right: Vec<&Answer<'_>> = answers.iter().filter(|answer| !answer.is_right()).collect();
    let cut = not_right.iter().filter(|answer| answer.is_truncated()).count();
    if not_right.len() < FEWEST_NOT_RIGHT { (cut, 0.0) } else { (cut, cut as f64 / not_right.len() as f64) }
}

/// The answers to one workload in a phase by length and by the bits of their depth. Depths are not negative, so their bits
/// sort as they do.
fn cells(phase: usize, tally: &Tally) -> BTreeMap<(Option<u64>, Option<u64>), Vec<Answer<'_>>> {
    let mut cells: BTreeMap<_, Vec<Answer<'_>>> = BTreeMap::new();
    for answer in in_order([(phase, tally)]) {
        let depth = answer.checked.needle.map(|needle| needle.depth.to_bits());
        cells.entry((length(answer.checked), depth)).or_default().push(answer);
    }
    cells
}

/// The answers that ended for each reason there is among them.
fn by_finish_reason<'a>(answers: &[Answer<'a>]) -> impl Iterator<Item = (&'static str, Vec<Answer<'a>>)> {
    FinishReason::ALL.into_iter().filter_map(|(name, reason)| {
        let ended = answers.iter().filter(|answer| answer.kept.finish_reason == reason);
        let ended: Vec<Answer<'a>> = ended.copied().collect();
        (!ended.is_empty()).then_some((name, ended))
    })
}

fn share(hits: &[bool]) -> f64 {
    hits.iter().filter(|hit| **hit).count() as f64 / hits.len().max(1) as f64
}

fn length(checked: &Checked) -> Option<u64> {
    match checked.needle {
        Some(needle) => Some(needle.length_tokens.into()),
        None => checked.prompt_tokens.and_then(u64::checked_next_power_of_two),
    }
}

/// Checked answers in order of due time, from tallies and the places of their phases.
fn in_order<'a>(tallies: impl IntoIterator<Item = (usize, &'a Tally)>) -> Vec<Answer<'a>> {
    let of_tally = |(phase, tally): (usize, &'a Tally)| {
        let answer =
            move |checked: &'a Checked| Answer { kept: &tally.rows[checked.row as usize], checked, phase };
        tally.checked.iter().map(answer)
    };
    let mut answers: Vec<Answer<'a>> = tallies.into_iter().flat_map(of_tally).collect();
    answers.sort_by_key(|answer| (answer.kept.at, answer.kept.request));
    answers
}

/// How many requests were in flight when.
struct InFlight {
    sent: Vec<Micros>,
    ended: Vec<Micros>,
}

impl InFlight {
    fn new<'a>(tallies: impl Iterator<Item = &'a Tally>) -> InFlight {
        let dispatches = tallies.flat_map(|tally| &tally.dispatches);
        let flights = dispatches.filter_map(|dispatch| dispatch.sent.zip(dispatch.ended));
        let (mut sent, mut ended): (Vec<Micros>, Vec<Micros>) = flights.unzip();
        sent.sort_unstable();
        ended.sort_unstable();
        InFlight { sent, ended }
    }

    fn at(&self, at: Micros) -> usize {
        let until = |times: &[Micros]| times.partition_point(|time| *time <= at);
        until(&self.sent).saturating_sub(until(&self.ended))
    }
}

#[cfg(test)]
mod tests;
