//! Checked answers: how many are right by what was asked, and whether that falls with length or load.
//!
//! Findings compare the two outer thirds of a scale, the third of prompts that were longest with the third that were
//! shortest, say, by the test of two shares at their numbers of independent values. What accuracy owes to answers
//! that ran into their limit is told as that.

use std::collections::BTreeMap;

use super::effective::{bound_count, dependence_where};
use super::finding::{Finding, FindingKind, Severity};
use super::fold::{ALL, Fold, Phase};
use super::interval::{Interval, of_share};
use super::metrics::FinishReason;
use super::tally::{Checked, Kept, Tally};
use crate::record::Verdict;
use crate::units::Micros;

/// The normal quantile that chance exceeds once in a thousand times.
const BEYOND_CHANCE: f64 = 3.09;
/// Differences below this are not worth a word, however certain.
const LEAST_FALL: f64 = 0.02;
/// Share of answers without one from which it is mentioned.
const NO_ANSWER_SHARE: f64 = 0.05;
/// Share of answers not right that were cut from which the limit explains accuracy.
const TRUNCATED_SHARE: f64 = 0.5;
/// The fewest answers not right of which that says anything.
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
    /// Accuracy of each phase that counts by workload, length and depth: the lines of `accuracy.csv`.
    pub fn accuracy(&self) -> Vec<AccuracyRow> {
        let mut rows = Vec::new();
        for phase in self.phases.iter().filter(|phase| phase.setup.counts) {
            for (workload, tally) in &phase.tallies {
                let mut cells: BTreeMap<_, Vec<Answer<'_>>> = BTreeMap::new();
                for answer in in_order([tally]) {
                    let depth = answer.checked.needle.map(|needle| needle.depth);
                    // Depths are not negative, so their bits sort as they do.
                    let key = (length(answer.checked), depth.map(f64::to_bits));
                    cells.entry(key).or_default().push(answer);
                }
                rows.extend(cells.into_iter().map(|((length, depth), answers)| {
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
                        right: count(Verdict::Right),
                        wrong: count(Verdict::Wrong),
                        no_answer: count(Verdict::NoAnswer),
                        truncated: answers.iter().filter(|answer| answer.is_truncated()).count() as u64,
                        accuracy: share(&right),
                        interval: of_share(&right),
                    }
                }));
            }
        }
        rows
    }

    /// What there is to know about the answers of the phases that count.
    pub fn answer_findings(&self) -> Vec<Finding> {
        let counting: Vec<&Phase> = self.phases.iter().filter(|phase| phase.setup.counts).collect();
        let mut findings = Vec::new();
        for phase in &counting {
            let answers = in_order(phase.tallies.values());
            let found = Found { phase: &phase.setup.name, findings: &mut findings };
            judge_phase(found, &answers, phase.tallies.values());
        }
        let answers = in_order(counting.iter().flat_map(|phase| phase.tallies.values()));
        let in_flight = InFlight::new(self.phases.iter().flat_map(|phase| phase.tallies.values()));
        let load = |answer: &Answer<'_>| Some(in_flight.at(answer.checked.sent) as f64);
        let mut found = Found {
            phase: if let [only] = counting.as_slice() { &only.setup.name } else { ALL },
            findings: &mut findings,
        };
        let kinds = (FindingKind::AccuracyFallsWithLoad, FindingKind::NoAnswerRisesWithLoad);
        judge_scale(&mut found, &answers, load, kinds);
        findings
    }
}

/// Findings of a phase under way.
struct Found<'a> {
    phase: &'a str,
    findings: &'a mut Vec<Finding>,
}

impl Found<'_> {
    fn add(&mut self, kind: FindingKind, measured: f64, threshold: f64, count: usize) {
        let (severity, phase, count) = (Severity::Warning, self.phase.to_owned(), count as u64);
        self.findings.push(Finding { kind, severity, phase, measured, threshold, count });
    }

    /// Once a phase.
    fn add_truncated(&mut self, measured: f64, count: usize) {
        let is_same =
            |found: &Finding| found.kind == FindingKind::NotRightTruncated && found.phase == self.phase;
        if !self.findings.iter().any(is_same) {
            self.add(FindingKind::NotRightTruncated, measured, TRUNCATED_SHARE, count);
        }
    }
}

fn judge_phase<'a>(
    mut found: Found<'_>,
    answers: &[Answer<'_>],
    tallies: impl Iterator<Item = &'a Tally> + Clone,
) {
    let no_answer = answers.iter().filter(|answer| answer.verdict() == Some(Verdict::NoAnswer)).count();
    let no_answer_share = no_answer as f64 / answers.len().max(1) as f64;
    if no_answer_share > NO_ANSWER_SHARE {
        found.add(FindingKind::NoAnswer, no_answer_share, NO_ANSWER_SHARE, no_answer);
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
    if share > TRUNCATED_SHARE && cut_are_worse {
        found.add_truncated(share, cut);
    }
    let kinds = (FindingKind::AccuracyFallsWithLength, FindingKind::NoAnswerRisesWithLength);
    let length = |answer: &Answer<'_>| answer.checked.prompt_tokens.map(|tokens| tokens as f64);
    judge_scale(&mut found, answers, length, kinds);
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

/// Whether accuracy falls, or answers without one rise, along a scale.
fn judge_scale(
    found: &mut Found<'_>,
    answers: &[Answer<'_>],
    scale: impl Fn(&Answer<'_>) -> Option<f64>,
    (falls, rises): (FindingKind, FindingKind),
) {
    let right = |answers: &[Answer<'_>]| {
        difference(answers.iter().filter_map(|answer| Some((scale(answer)?, !answer.is_right()))))
    };
    if let Some(ends) = right(answers) {
        let whole: Vec<Answer<'_>> =
            answers.iter().filter(|answer| !answer.is_truncated()).copied().collect();
        let (cut, share) = truncated_share(answers);
        if cut > 0 && right(&whole).is_none() {
            found.add_truncated(share, cut);
        } else {
            found.add(falls, 1.0 - ends.upper, 1.0 - ends.lower, ends.count);
        }
    }
    let no_answer = |answer: &Answer<'_>| answer.verdict() == Some(Verdict::NoAnswer);
    let flags = answers.iter().filter_map(|answer| Some((scale(answer)?, no_answer(answer))));
    if let Some(ends) = difference(flags) {
        found.add(rises, ends.upper, ends.lower, ends.count);
    }
}

/// Answers that are not right and ran into their limit, and their share of those that are not right.
fn truncated_share(answers: &[Answer<'_>]) -> (usize, f64) {
    let not_right: Vec<&Answer<'_>> = answers.iter().filter(|answer| !answer.is_right()).collect();
    let cut = not_right.iter().filter(|answer| answer.is_truncated()).count();
    if not_right.len() < FEWEST_NOT_RIGHT { (cut, 0.0) } else { (cut, cut as f64 / not_right.len() as f64) }
}

/// Shares of hits at both ends of a scale.
#[derive(Debug, PartialEq)]
struct Ends {
    lower: f64,
    upper: f64,
    /// Values at the upper end.
    count: usize,
}

/// The shares of hits in the lower and the upper third of a scale, if that of the upper one is higher by more than
/// chance. `rows` come in order of time.
fn difference(rows: impl Iterator<Item = (f64, bool)>) -> Option<Ends> {
    let rows: Vec<(f64, bool)> = rows.collect();
    let mut scale: Vec<f64> = rows.iter().map(|(at, _)| *at).collect();
    scale.sort_unstable_by(f64::total_cmp);
    let (low, high) = (*scale.get(scale.len() / 3)?, *scale.get(scale.len() * 2 / 3)?);
    if low >= high {
        return None;
    }
    let hits = |keep: &dyn Fn(f64) -> bool| -> Vec<bool> {
        rows.iter().filter(|(at, _)| keep(*at)).map(|(_, hit)| *hit).collect()
    };
    let (lower, upper) = (hits(&|at| at <= low), hits(&|at| at >= high));
    let (lower_worth, upper_worth) = (worth(&lower)?, worth(&upper)?);
    let ends = Ends { lower: share(&lower), upper: share(&upper), count: upper.len() };
    let rise = ends.upper - ends.lower;
    let both = (ends.lower * lower_worth + ends.upper * upper_worth) / (lower_worth + upper_worth);
    let error = (both * (1.0 - both) * (1.0 / lower_worth + 1.0 / upper_worth)).sqrt();
    (rise >= LEAST_FALL && rise > BEYOND_CHANCE * error).then_some(ends)
}

/// How many independent values those of a third are worth; `None` of too few.
fn worth(hits: &[bool]) -> Option<f64> {
    Some(bound_count(hits.len(), dependence_where(hits, |hit| *hit)?))
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

/// Checked answers in order of due time.
fn in_order<'a>(tallies: impl IntoIterator<Item = &'a Tally>) -> Vec<Answer<'a>> {
    let of_tally = |tally: &'a Tally| {
        tally.checked.iter().map(|checked| Answer { kept: &tally.rows[checked.row as usize], checked })
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
