//! When a run is stopped before its end: the rules of `[stop]`, held against rows as they end.
//!
//! Each phase is looked at afresh. What stops a run is kept as a finding, so that files and terminal say why.

use std::collections::VecDeque;

use crate::record::{Outcome, RequestRecord};
use crate::scenario::StopRules;
use crate::stats::verdict::{Finding, FindingKind, Severity};
use crate::units::Micros;

/// Requests among which the share of failures is taken.
const RECENT: usize = 100;
/// Growth is looked for when a phase has lasted so long, and each time it has doubled.
const FIRST_LOOK_S: usize = 20;
/// Parts of a phase that are compared; the first two, in which it fills, are left out.
const BLOCKS: usize = 12;
const LEFT_OUT: usize = 2;
/// Kendall's S of ten independent blocks is as high as this by chance in 2 looks of 10,000 (of 45 pairs).
const GROWING: i32 = 35;
/// The last third of the blocks must be so many times the first.
const GROWTH: f64 = 1.5;

/// The rules at work on one phase.
pub(super) struct Rules {
    rules: StopRules,
    phase: String,
    start: Micros,
    /// Whether each of the last requests failed.
    recent: VecDeque<bool>,
    in_a_row: u64,
    in_flight: u64,
    /// By second of the phase: samples of requests in flight, and of times to first token.
    seconds: Vec<[Mean; 2]>,
    next_look_s: usize,
    breach: Option<Finding>,
}

#[derive(Clone, Copy, Default)]
struct Mean {
    sum: f64,
    count: u64,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
    }
}

impl Rules {
    pub(super) fn new(rules: StopRules) -> Rules {
        Rules {
            rules,
            phase: String::new(),
            start: Micros::default(),
            recent: VecDeque::new(),
            in_a_row: 0,
            in_flight: 0,
            seconds: Vec::new(),
            next_look_s: FIRST_LOOK_S,
            breach: None,
        }
    }

    /// Turns to a phase.
    pub(super) fn start_phase(&mut self, name: &str, start: Micros) {
        let breach = self.breach.take();
        *self = Rules { phase: name.to_owned(), start, breach, ..Rules::new(self.rules) };
    }

    /// What stopped the run.
    pub(super) fn breach(&self) -> Option<&Finding> {
        self.breach.as_ref()
    }

    /// A request was sent at `at`.
    pub(super) fn sent(&mut self, at: Micros) {
        self.in_flight += 1;
        if self.rules.over_saturated {
            let in_flight = self.in_flight as f64;
            self.sample(at, 0, in_flight);
            self.look(at);
        }
    }

    /// A request has ended.
    pub(super) fn ended(&mut self, record: &RequestRecord) {
        if record.sent.is_some() {
            self.in_flight = self.in_flight.saturating_sub(1);
        }
        if let Some((at, ttft)) = record.first_token.zip(record.ttft())
            && self.rules.over_saturated
        {
            self.sample(at, 1, ttft.as_ms());
        }
        let failed = match record.outcome {
            Outcome::Ok => false,
            // Neither says anything of the server.
            Outcome::Cancelled | Outcome::CutAtEnd => return,
            Outcome::Dropped | Outcome::NotSent | Outcome::Skipped => return,
            _ => true,
        };
        self.in_a_row = if failed { self.in_a_row + 1 } else { 0 };
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(failed);
        let failures = self.recent.iter().filter(|failed| **failed).count() as u64;
        let share = failures as f64 / RECENT as f64;
        if self.recent.len() == RECENT && share > self.rules.error_share {
            self.stop(FindingKind::StoppedByErrors, share, self.rules.error_share, failures);
        }
        if let Some(limit) = self.rules.errors_in_a_row.filter(|limit| self.in_a_row >= *limit) {
            let found = self.in_a_row;
            self.stop(FindingKind::StoppedByErrorsInARow, found as f64, limit as f64, found);
        }
    }

    fn stop(&mut self, kind: FindingKind, measured: f64, threshold: f64, count: u64) {
        let phase = self.phase.clone();
        let severity = Severity::Invalid;
        self.breach.get_or_insert(Finding { kind, severity, phase, measured, threshold, count });
    }

    fn sample(&mut self, at: Micros, series: usize, value: f64) {
        let second = (at.0.saturating_sub(self.start.0) / 1_000_000) as usize;
        if second >= self.seconds.len() {
            self.seconds.resize(second + 1, [Mean::default(); 2]);
        }
        self.seconds[second][series].add(value);
    }

    /// Looks whether both series have kept growing, when it is time to.
    fn look(&mut self, now: Micros) {
        let elapsed_s = (now.0.saturating_sub(self.start.0) / 1_000_000) as usize;
        if elapsed_s < self.next_look_s {
            return;
        }
        while self.next_look_s <= elapsed_s {
            self.next_look_s *= 2;
        }
        let whole = &self.seconds[..elapsed_s.min(self.seconds.len())];
        let (Some(in_flight), Some(ttft)) = (growth(whole, 0), growth(whole, 1)) else { return };
        let count = self.in_flight;
        self.stop(FindingKind::StoppedOverSaturated, in_flight.min(ttft), GROWTH, count);
    }
}

/// By how much a series has grown over a phase, if it grew significantly and by enough.
fn growth(seconds: &[[Mean; 2]], series: usize) -> Option<f64> {
    let edge = |block: usize| block * seconds.len() / BLOCKS;
    let blocks = (LEFT_OUT..BLOCKS).map(|block| {
        let within = &seconds[edge(block)..edge(block + 1)];
        let (sum, count) = within
            .iter()
            .fold((0.0, 0), |(sum, count), second| (sum + second[series].sum, count + second[series].count));
        (count > 0).then(|| sum / count as f64)
    });
    let blocks: Vec<f64> = blocks.collect::<Option<_>>()?;
    let pairs =
        blocks.iter().enumerate().flat_map(|(i, a)| blocks[i + 1..].iter().map(move |b| b.total_cmp(a)));
    let s: i32 = pairs.map(|order| order as i32).sum();
    let third = blocks.len() / 3;
    let (first, last) = (&blocks[..third], &blocks[blocks.len() - third..]);
    let growth = last.iter().sum::<f64>() / first.iter().sum::<f64>();
    (s >= GROWING && growth >= GROWTH).then_some(growth)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::Seed;

    fn seconds(value: impl Fn(usize) -> f64) -> Vec<[Mean; 2]> {
        (0..240).map(|second| [Mean { sum: value(second), count: 1 }; 2]).collect()
    }

    #[test]
    fn growth_is_told_from_noise_and_from_a_level() {
        assert!(growth(&seconds(|second| 10.0 + second as f64), 0).is_some_and(|growth| growth > 1.5));
        assert_eq!(growth(&seconds(|_| 10.0), 0), None);
        assert_eq!(growth(&seconds(|second| 100.0 + second as f64 / 100.0), 1), None, "it hardly grows");
        assert_eq!(growth(&seconds(|second| (second as f64 / 20.0).min(3.0)), 0), None, "it has settled");
    }

    /// A queue that holds its load wanders: at a load of 0.8 none of 300 runs is stopped.
    #[test]
    fn a_stable_queue_is_not_taken_for_a_growing_one() {
        let mut stopped = 0;
        for seed in 0..300 {
            let mut stream = Seed(seed).stream("queue", "");
            let (mut clock, mut backlog) = (0.0_f64, 0.0_f64);
            let mut seconds = vec![[Mean::default(); 2]; 240];
            while clock < 240.0 {
                let gap = stream.exponential() / 8.0;
                clock += gap;
                backlog = (backlog - gap).max(0.0) + stream.exponential() / 10.0;
                if let Some(second) = seconds.get_mut(clock as usize) {
                    second[0].add(1.0 + backlog * 10.0);
                    second[1].add(backlog);
                }
            }
            let grows = |series| growth(&seconds, series).is_some();
            stopped += u32::from(grows(0) && grows(1));
        }
        assert_eq!(stopped, 0);
    }
}
