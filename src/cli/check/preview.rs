//! What a scenario will do, as far as that can be known without doing it.
//!
//! The plan is walked as a run walks it, up to a bound; beyond that, counts follow from the law of arrivals, and
//! lengths from the sessions that were walked. What depends on the server is left open, never guessed.

use std::sync::Arc;
use std::time::Duration;

use super::lengths::Lengths;
use crate::arrival::{Arrivals, Process};
use crate::dataset::{Dataset, RowOrder, WhenExhausted};
use crate::plan::{End, Plan, Start, Turn};
use crate::record::EndedBy;
use crate::scenario::{Load, Margin, Phase, PromptSource, Requests, Scenario};
use crate::seed::Seed;

/// Most sessions that are walked, all phases together.
const MOST_WALKED: u64 = 100_000;

/// What a scenario will do.
pub(super) struct Preview {
    /// Its phases, in order.
    pub(super) phases: Vec<PhasePreview>,
    /// Its workloads, in order.
    pub(super) workloads: Vec<WorkloadPreview>,
    /// The most tokens that all answers together may have; `None` where the number of requests is not known.
    pub(super) output_tokens: Option<u64>,
    /// Whether the plan was walked in part only.
    pub(super) is_sampled: bool,
}

/// What a phase will do.
pub(super) struct PhasePreview {
    /// When it starts, from the start of the run, draining left out; `None` where that depends on the server.
    pub(super) start: Option<Span>,
    /// How long it offers load; `None` where that depends on the server.
    pub(super) length: Option<Span>,
    /// The requests it will plan; `None` where that depends on the server.
    pub(super) requests: Option<Count>,
    /// Those of them that will be measured, about; `None` where that depends on the server.
    pub(super) measured: Option<u64>,
    /// Whether it ends because a data set does, however fast the server is.
    pub(super) ends_with_data: bool,
}

/// What a workload will ask.
pub(super) struct WorkloadPreview {
    /// Its share of requests.
    pub(super) share: f64,
    /// Requests it will have, about; `None` where that depends on the server.
    pub(super) requests: Option<f64>,
    /// Lengths of its prompts in words; `None` where they cannot be read.
    pub(super) prompt_words: Option<Lengths>,
    /// Lengths of its prompts in characters, where they come from a file.
    pub(super) prompt_characters: Option<Lengths>,
    /// Tokens asked for at most, over the requests that were walked; `None` where it has none of them.
    pub(super) output_tokens: Option<Lengths>,
}

/// A time, and how far to trust it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) time: Duration,
    pub(super) certainty: Certainty,
}

/// How far to trust a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Certainty {
    /// It is this.
    Exact,
    /// It depends on the seed.
    About,
    /// It depends on the server, and this is the longest.
    AtMost,
}

impl Span {
    fn new(time: Duration, certainty: Certainty) -> Span {
        Span { time, certainty }
    }

    /// One after the other.
    pub(super) fn then(self, other: Span) -> Span {
        Span::new(self.time.saturating_add(other.time), self.certainty.max(other.certainty))
    }
}

/// A number of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Count {
    /// This many.
    Exactly(u64),
    /// It depends on the seed: between `low` and `high` for 19 seeds of 20.
    Between { expected: u64, low: u64, high: u64 },
    /// It depends on the seed.
    About(u64),
    /// It depends on the server, and this is the most.
    AtMost(u64),
}

impl Count {
    /// The number to reckon with.
    pub(super) fn number(self) -> u64 {
        match self {
            Count::Exactly(count)
            | Count::About(count)
            | Count::AtMost(count)
            | Count::Between { expected: count, .. } => count,
        }
    }
}

/// The plan of a scenario; that of the first seed where it states none.
pub(super) fn plan(scenario: &Arc<Scenario>, datasets: &[Option<Arc<Dataset>>]) -> Plan {
    let seed = Seed(scenario.seed.unwrap_or_default());
    let rows = scenario.workloads.iter().zip(datasets).map(|(workload, dataset)| {
        let (PromptSource::Dataset(source), Some(dataset)) = (&workload.prompt, dataset) else { return None };
        Some(RowOrder::new(dataset.rows(), source.shuffle, source.when_exhausted, seed, &workload.name))
    });
    Plan::new(Arc::clone(scenario), seed, rows.collect())
}

impl Preview {
    /// Looks ahead. `datasets` are those of the workloads, in order.
    pub(super) fn of(scenario: &Arc<Scenario>, datasets: &[Option<Arc<Dataset>>]) -> Preview {
        let weights = scenario.workloads.iter().map(|workload| workload.weight);
        let total: f64 = weights.clone().sum();
        let mut look = Look {
            scenario,
            shares: weights.map(|weight| weight / total).collect(),
            rows: datasets.iter().map(|dataset| dataset.as_ref().map(|dataset| dataset.rows())).collect(),
            plan: plan(scenario, datasets),
            most: (MOST_WALKED / scenario.phases.len().max(1) as u64).max(1),
            walked: vec![Vec::new(); scenario.workloads.len()],
            requests: vec![Some(0.0); scenario.workloads.len()],
            is_sampled: false,
        };
        let mut start = Some(Span::new(Duration::ZERO, Certainty::Exact));
        let mut phases = Vec::new();
        for index in 0..scenario.phases.len() {
            let phase = look.phase(index, start);
            start = start.zip(phase.length).map(|(start, length)| start.then(length));
            phases.push(phase);
        }
        let output_tokens = look.output_tokens();
        let workloads = scenario.workloads.iter().zip(datasets).enumerate();
        let workloads = workloads.map(|(index, (workload, dataset))| {
            let (prompt_words, prompt_characters) = match (&workload.prompt, dataset) {
                (PromptSource::Synthetic { words }, _) => (Some(Lengths::all(*words)), None),
                (PromptSource::Dataset(_), Some(dataset)) => Lengths::of_prompts(dataset).unzip(),
                (PromptSource::Dataset(_), None) => (None, None),
            };
            WorkloadPreview {
                share: look.shares[index],
                requests: look.requests[index],
                prompt_words,
                prompt_characters,
                output_tokens: Lengths::of(std::mem::take(&mut look.walked[index])),
            }
        });
        Preview { phases, workloads: workloads.collect(), output_tokens, is_sampled: look.is_sampled }
    }
}

/// A look at phase after phase.
struct Look<'a> {
    scenario: &'a Scenario,
    /// Share of each workload.
    shares: Vec<f64>,
    /// Rows of each workload's data set.
    rows: Vec<Option<u32>>,
    plan: Plan,
    /// Most sessions walked of each phase.
    most: u64,
    /// Output tokens of the sessions walked, by workload.
    walked: Vec<Vec<u64>>,
    /// Requests of each workload so far, about; `None` once they depend on the server.
    requests: Vec<Option<f64>>,
    is_sampled: bool,
}

/// What was seen of a phase.
#[derive(Default)]
struct Walk {
    planned: u64,
    measured: u64,
    last: Duration,
    by_workload: Vec<u64>,
    ended_by: Option<EndedBy>,
}

impl Look<'_> {
    fn phase(&mut self, index: usize, start: Option<Span>) -> PhasePreview {
        let phase = &self.scenario.phases[index];
        let walk = self.walk(index, phase);
        let requests = match walk.ended_by {
            Some(ended_by) => self.count_of_whole(phase, &walk, ended_by),
            None => self.count_by_law(phase),
        };
        let runs_out = match walk.ended_by {
            Some(ended_by) => ended_by == EndedBy::Data,
            None => matches!(requests, Some(Count::About(_))),
        };
        let depends_on_server = matches!(phase.load, Load::Closed { .. }) && phase.duration.is_some();
        let requests = match depends_on_server {
            true => requests.map(|count| Count::AtMost(count.number())),
            false => requests,
        };
        let length = self.length(phase, &walk, requests);
        for (workload, seen) in walk.by_workload.iter().enumerate() {
            let here = match walk.ended_by {
                Some(_) => requests.map(|_| *seen as f64),
                None => requests.map(|count| count.number() as f64 * self.shares[workload]),
            };
            let sum = self.requests[workload].zip(here).map(|(sum, here)| sum + here);
            // A workload that is never drawn has no requests, however many there are.
            self.requests[workload] = sum.or((self.shares[workload] == 0.0).then_some(0.0));
        }
        // A phase without end is walked in part by nature.
        self.is_sampled |= walk.ended_by.is_none() && requests.is_some();
        let measured = match (phase.measure, requests) {
            (false, _) => Some(0),
            (true, Some(Count::AtMost(_))) => None,
            (true, Some(count)) if (phase.warm_up, phase.cool_down) == (Margin::NONE, Margin::NONE) => {
                Some(count.number())
            }
            (true, Some(count)) => match (&phase.load, walk.ended_by, length) {
                (Load::Closed { .. }, _, _) => None,
                (Load::Open { .. }, Some(_), _) => Some(walk.measured),
                (Load::Open { .. }, None, length) => length.map(|length| {
                    let left = length.time.saturating_sub(unmeasured(phase)).as_secs_f64();
                    (count.number() as f64 * left / length.time.as_secs_f64().max(f64::MIN_POSITIVE)) as u64
                }),
            },
            (true, None) => None,
        };
        PhasePreview { start, length, requests, measured, ends_with_data: runs_out && !depends_on_server }
    }

    fn walk(&mut self, index: usize, phase: &Phase) -> Walk {
        let mut walk = Walk { by_workload: vec![0; self.walked.len()], ..Walk::default() };
        self.plan.begin_phase(index);
        while walk.planned < self.most {
            let Some(session) = self.plan.next_session(0) else {
                walk.ended_by = ended_by(&self.plan);
                break;
            };
            if let Start::At(due) = session.start {
                let end = phase.duration.map(|end| end.saturating_sub(phase.cool_down.time()));
                let is_measured = due >= phase.warm_up.time() && end.is_none_or(|end| due < end);
                walk.last = due;
                walk.measured += if is_measured { session.turns.len() as u64 } else { 0 };
            }
            for Turn { planned, .. } in session.turns {
                walk.planned += 1;
                let workload = planned.workload as usize;
                walk.by_workload[workload] += 1;
                self.walked[workload].extend(planned.output_tokens_planned.map(u64::from));
            }
        }
        // One more step tells a plan that ends here from one that goes on.
        let mut further = self.plan.clone();
        if walk.ended_by.is_none() && further.next_session(0).is_none() {
            walk.ended_by = ended_by(&further);
        }
        walk
    }

    /// The requests of a phase that was walked to its end: those, unless another seed gives others.
    fn count_of_whole(&self, phase: &Phase, walk: &Walk, ended_by: EndedBy) -> Option<Count> {
        let planned = walk.planned;
        let draws_times = random_times(phase) && phase.duration.is_some();
        let draws_workloads = self.shares.iter().filter(|share| **share > 0.0).count() > 1;
        Some(match ended_by {
            _ if self.scenario.seed.is_some() => Count::Exactly(planned),
            EndedBy::Data if draws_times || draws_workloads => Count::About(planned),
            EndedBy::Duration | EndedBy::Requests if draws_times => self.count_by_law(phase)?,
            _ => Count::Exactly(planned),
        })
    }

    /// The requests of a phase by the law of its arrivals.
    fn count_by_law(&self, phase: &Phase) -> Option<Count> {
        let asked = phase.requests.map(|requests| match requests {
            Requests::Count(count) => count,
            Requests::PerUser(each) => match phase.load {
                Load::Closed { users, .. } => each.saturating_mul(users.into()),
                Load::Open { .. } => each,
            },
            Requests::All => self.rows.iter().flatten().map(|rows| u64::from(*rows)).sum(),
        });
        let arrivals = match (&phase.load, phase.duration) {
            (Load::Open { process: Process::Gamma { rate, .. }, .. }, Some(duration)) => {
                Some(Count::About((rate.as_per_second() * duration.as_secs_f64()).round() as u64))
            }
            (Load::Open { process, .. }, Some(duration)) if random_times(phase) => {
                let expected = process.expected(duration);
                let (low, high) = middle_of_poisson(expected);
                Some(Count::Between { expected: expected.round() as u64, low, high })
            }
            (Load::Open { process, .. }, Some(duration)) => {
                Some(Count::Exactly(process.expected(duration).ceil() as u64))
            }
            _ => None,
        };
        let offered = match (asked, arrivals) {
            (None, arrivals) => arrivals,
            (Some(asked), None) => Some(Count::Exactly(asked)),
            (Some(asked), Some(Count::Between { expected, low, high })) if low < asked => {
                Some(Count::Between { expected: expected.min(asked), low, high: high.min(asked) })
            }
            (Some(asked), Some(arrivals)) => Some(Count::Exactly(asked.min(arrivals.number()))),
        };
        let most = self.rows_left().map(|rows| rows as u64);
        match (offered, most) {
            (Some(offered), Some(most)) if offered.number() > most => Some(Count::About(most)),
            (None, Some(most)) => Some(Count::About(most)),
            (offered, _) => offered,
        }
    }

    /// Requests until the first data set that ends has ended, about; `None` where none ends, or where earlier
    /// phases depend on the server.
    fn rows_left(&self) -> Option<f64> {
        let left = self.scenario.workloads.iter().enumerate().filter_map(|(index, workload)| {
            let PromptSource::Dataset(source) = &workload.prompt else { return None };
            let ends = source.when_exhausted != WhenExhausted::Repeat && self.shares[index] > 0.0;
            let left = f64::from(self.rows[index]?) - self.requests[index]?;
            ends.then(|| left.max(0.0) / self.shares[index])
        });
        left.min_by(f64::total_cmp)
    }

    fn length(&self, phase: &Phase, walk: &Walk, requests: Option<Count>) -> Option<Span> {
        let rate = match &phase.load {
            Load::Open { process, .. } => process.peak_per_second().unwrap_or(f64::INFINITY),
            Load::Closed { .. } => {
                // Users may be through with their requests, or the rows, before.
                let may_end = phase.requests.is_some() || self.rows_left().is_some();
                let certainty = if may_end { Certainty::AtMost } else { Certainty::Exact };
                return phase.duration.map(|duration| Span::new(duration, certainty));
            }
        };
        let drawn = self.scenario.seed.is_none() && matches!(requests, Some(Count::About(_)));
        let drawn = drawn || self.scenario.seed.is_none() && random_times(phase);
        let certainty = if drawn { Certainty::About } else { Certainty::Exact };
        let whole = phase.duration.map(|duration| Span::new(duration, Certainty::Exact));
        match (walk.ended_by, requests) {
            (Some(EndedBy::Duration), _) => whole,
            (Some(_), _) => Some(Span::new(walk.last, certainty)),
            (None, Some(count)) => {
                let time = Duration::try_from_secs_f64(count.number() as f64 / rate).ok()?;
                match phase.duration {
                    // The last of many arrivals is as good as the end.
                    Some(duration) if time.as_secs_f64() > 0.98 * duration.as_secs_f64() => whole,
                    _ => Some(Span::new(time, Certainty::About)),
                }
            }
            (None, None) => whole,
        }
    }

    /// The most tokens of all answers: those walked where all were, else as many for each request as those.
    fn output_tokens(&self) -> Option<u64> {
        let mut sum = 0.0;
        for (index, workload) in self.scenario.workloads.iter().enumerate() {
            let requests = self.requests[index]?;
            let walked = &self.walked[index];
            let mean = match walked.len() {
                0 => workload.max_tokens.mean(),
                count => walked.iter().sum::<u64>() as f64 / count as f64,
            };
            sum += requests * mean;
        }
        Some(sum.round() as u64)
    }
}

/// What of a phase's length is not measured.
fn unmeasured(phase: &Phase) -> Duration {
    phase.warm_up.time().saturating_add(phase.cool_down.time())
}

/// How the plan of a phase ended. A data set that must not run out ends it as one that may.
fn ended_by(plan: &Plan) -> Option<EndedBy> {
    match plan.end(0) {
        End::By(by) => Some(by),
        End::NoRow { .. } => Some(EndedBy::Data),
    }
}

fn random_times(phase: &Phase) -> bool {
    let Load::Open { process, .. } = &phase.load else { return false };
    match process {
        Process::Poisson { .. } | Process::Gamma { .. } => true,
        Process::Varying { arrivals, .. } => *arrivals == Arrivals::Poisson,
        Process::Constant { .. } | Process::Recorded(_) => false,
    }
}

/// Where 95 of 100 counts of a Poisson law of this mean lie. Exact below 400, by its normal limit above.
fn middle_of_poisson(mean: f64) -> (u64, u64) {
    if mean > 400.0 {
        let reach = 1.96 * mean.sqrt();
        return ((mean - reach).floor() as u64, (mean + reach).ceil() as u64);
    }
    let (mut probability, mut below) = (libm::exp(-mean), 0.0);
    let (mut low, mut count) = (None, 0_u64);
    loop {
        below += probability;
        if below > 0.025 {
            low.get_or_insert(count);
        }
        // The sum may end a rounding short of one.
        if below >= 0.975 || count > 1_000 {
            return (low.unwrap_or(count), count);
        }
        count += 1;
        probability *= mean / count as f64;
    }
}
