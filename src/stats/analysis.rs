//! Long contexts: what the rows of a run and the looks at its server say about prefill, memory, decode, prefix
//! cache and load.
//!
//! Each question is answered with a fit, its interval and what is left over, or with what is missing to answer it:
//! nothing is claimed that the data do not carry. `docs/analysis.md` has every formula. The phases of a run are the
//! rungs of a ladder, and so are the points of a sweep.

mod capacity;
mod decode;
mod fit;
mod interference;
mod knee;
mod prefill;
mod prefix;
mod quality;

use super::fold::{Fold, PhaseFacts};
use super::interval::Interval;
use crate::record::{Outcome, RequestRecord, ServerFigure, ServerSample, Verdict};
use crate::units::Micros;

/// Most requests that are kept; later ones are counted and left out.
const MOST_REQUESTS: usize = 200_000;
/// Most looks at the server that are kept.
const MOST_LOOKS: usize = 200_000;

/// Takes in the rows of a run, and the looks at its server.
#[derive(Clone, Debug, Default)]
pub struct Analysis {
    seen: Vec<Seen>,
    looks: Vec<Look>,
    left_out: u64,
}

/// What matters here of one request that was sent.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Seen {
    step: StepKey,
    measured: bool,
    is_ok: bool,
    sent: Micros,
    first: Option<Micros>,
    last: Option<Micros>,
    /// When it was over; far in the future where that is not known.
    ended: Micros,
    prompt: Option<u64>,
    cached: Option<u64>,
    output: Option<u64>,
    output_in_window: f64,
    gap_p50: Option<Micros>,
    gap_max: Option<Micros>,
    user: Option<u32>,
    right: Option<bool>,
    needle: Option<(f64, u32)>,
}

impl Seen {
    fn ttft_ms(&self) -> Option<f64> {
        Some((self.first? - self.sent).as_ms())
    }

    /// Prompt tokens that were computed.
    fn uncached(&self) -> Option<u64> {
        Some(self.prompt?.saturating_sub(self.cached?))
    }
}

/// A point, repeat and phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct StepKey {
    /// Point of a sweep, from 1.
    pub point: Option<u32>,
    /// Repeat of a point, from 1.
    pub repeat: Option<u32>,
    /// Index of the phase.
    pub phase: u32,
}

/// One rung: a phase of a point and repeat.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Which one.
    pub key: StepKey,
    /// Name of the phase.
    pub name: String,
    /// Where its window begins and ends, if it counts and that is known.
    pub window: Option<(Micros, Micros)>,
}

impl Step {
    /// The rungs of a point and repeat: its phases, with the windows that `fold` knows.
    pub fn of(fold: &Fold, point: Option<u32>, repeat: Option<u32>) -> Vec<Step> {
        let phases = (0..).map_while(|phase| fold.facts(phase).map(|facts| (phase, facts)));
        let step = |(phase, facts): (u32, PhaseFacts<'_>)| Step {
            key: StepKey { point, repeat, phase },
            name: facts.setup.name.clone(),
            window: fold.window(phase).filter(|_| facts.setup.counts),
        };
        phases.map(step).collect()
    }

    /// What the rung is called: its phase, with point and repeat where there are such.
    fn label(&self) -> String {
        let mut label = self.name.clone();
        if let Some(point) = self.key.point {
            label += &format!(", point {point}");
        }
        if let Some(repeat) = self.key.repeat.filter(|repeat| *repeat > 1) {
            label += &format!(", repeat {repeat}");
        }
        label
    }
}

/// One look at the server.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Look {
    at: Micros,
    endpoint: u32,
    running: Option<f64>,
    waiting: Option<f64>,
    kv_use: Option<f64>,
    kv_capacity: Option<f64>,
    block: Option<f64>,
    preemptions: Option<f64>,
}

/// What is known beside rows and looks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Known {
    /// The rungs, in order of running.
    pub steps: Vec<Step>,
    /// Tokens that fit by `[model]`.
    pub model_tokens: Option<u64>,
    /// Tokens of a block by the scenario.
    pub block_tokens: u64,
}

/// One answer, or what is missing for one: a row of `analysis.csv`.
#[derive(Clone, Debug, PartialEq)]
pub struct AnalysisRow {
    /// The question: `prefill`, `kv_capacity`, `decode`, `prefix`, `interference`, `knee`, `accuracy`.
    pub analysis: &'static str,
    /// What it is about: a context, a phase, a length; empty for the run.
    pub scope: String,
    /// The term.
    pub term: &'static str,
    /// Its value; `None` where it is not identifiable.
    pub value: Option<f64>,
    /// Its 95 % interval, where it has one.
    pub interval: Interval,
    /// Unit of value and interval.
    pub unit: &'static str,
    /// Requests, looks or steps that it rests on.
    pub count: u64,
    /// Standard deviation of what the fit leaves over, in ms or as a share: see `docs/analysis.md`.
    pub residual: Option<f64>,
    /// The evidence, or `not identifiable: ` and what to do.
    pub note: String,
}

impl AnalysisRow {
    fn new(analysis: &'static str, term: &'static str, unit: &'static str) -> AnalysisRow {
        AnalysisRow {
            analysis,
            scope: String::new(),
            term,
            value: None,
            interval: Interval::NONE,
            unit,
            count: 0,
            residual: None,
            note: String::new(),
        }
    }

    /// A question without an answer, and what to do about it.
    fn open(
        analysis: &'static str,
        term: &'static str,
        unit: &'static str,
        count: usize,
        what_to_do: &str,
    ) -> AnalysisRow {
        AnalysisRow {
            count: count as u64,
            note: format!("not identifiable: {what_to_do}"),
            ..AnalysisRow::new(analysis, term, unit)
        }
    }
}

impl Analysis {
    /// Takes in a request.
    pub fn add(&mut self, record: &RequestRecord) {
        let Some(sent) = record.sent else { return };
        if self.seen.len() == MOST_REQUESTS {
            self.left_out += 1;
            return;
        }
        self.seen.push(Seen {
            step: StepKey { point: record.point, repeat: record.repeat, phase: record.planned.phase },
            measured: record.measured,
            is_ok: record.outcome == Outcome::Ok,
            sent,
            first: record.first_token,
            last: record.last_token,
            ended: record.ended.unwrap_or(Micros(u64::MAX)),
            prompt: record.prompt_tokens,
            cached: record.cached_tokens,
            output: record.output_tokens,
            output_in_window: record.output_tokens_in_window.unwrap_or_default(),
            gap_p50: record.gaps.p50,
            gap_max: record.gaps.max,
            user: record.user,
            right: record.grade.as_ref().map(|grade| grade.verdict == Verdict::Right),
            needle: record.planned.needle.map(|needle| (needle.depth, needle.length_tokens)),
        });
    }

    /// Takes in a look at the server.
    pub fn add_look(&mut self, sample: &ServerSample) {
        if self.looks.len() == MOST_LOOKS {
            self.left_out += 1;
            return;
        }
        let figure = |figure| sample.figures.figure(figure);
        self.looks.push(Look {
            // The page says how things stood somewhere between question and answer.
            at: Micros(sample.at.0 + sample.took.0 / 2),
            endpoint: sample.endpoint,
            running: figure(ServerFigure::Running),
            waiting: figure(ServerFigure::Waiting),
            kv_use: figure(ServerFigure::KvUse),
            kv_capacity: figure(ServerFigure::KvCapacityTokens),
            block: figure(ServerFigure::BlockTokens),
            preemptions: figure(ServerFigure::Preemptions),
        });
    }

    /// Every answer, in the order of `docs/analysis.md`.
    pub fn rows(mut self, known: &Known) -> Vec<AnalysisRow> {
        // Requests come in order of their ends.
        self.seen.sort_by_key(|seen| (seen.sent, seen.ended));
        self.looks.sort_by_key(|look| (look.at, look.endpoint));
        let mut rows = prefill::rows(&self.seen);
        rows.extend(capacity::rows(&self.seen, &self.looks, known));
        rows.extend(decode::rows(&self.seen));
        rows.extend(prefix::rows(&self.seen, &known.steps));
        rows.extend(interference::rows(&self.seen));
        rows.extend(knee::rows(&self.seen, &known.steps));
        rows.extend(quality::rows(&self.seen, &known.steps));
        if self.left_out > 0 {
            rows.push(AnalysisRow {
                value: Some(self.left_out as f64),
                note: "requests and looks beyond those that are kept".to_owned(),
                ..AnalysisRow::new("all", "left_out", "rows")
            });
        }
        rows
    }
}

/// The value in the middle; `None` of none.
fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len().checked_sub(1)? / 2).copied()
}

#[cfg(test)]
mod tests;
