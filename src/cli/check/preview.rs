//! What a scenario will do, as far as that can be known without doing it.
//!
//! The plan is walked as a run walks it, up to a bound; beyond that, counts follow from the law of arrivals, and
//! lengths from the sessions that were walked. What depends on the server is left open, never guessed.

use std::sync::Arc;
use std::time::Duration;

use super::amounts::{Certainty, Count, Span, middle_of_poisson};
use super::lengths::Lengths;
use crate::arrival::{Arrivals, Process};
use crate::dataset::{Dataset, WhenExhausted};
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
    /// Whether its counts are those of every run, as far as the server lets it come.
    pub(super) is_exact: bool,
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

/// The plan of a scenario; that of the first seed where it states none.
pub(super) fn plan(scenario: &Arc<Scenario>, datasets: &[Option<Arc<Dataset>>]) -> Plan {
    let seed = Seed(scenario.seed.unwrap_or_default());
    let rows = scenario.workloads.iter().zip(datasets).map(|(workload, dataset)| {
        let (PromptSource::Dataset(source), Some(dataset)) = (&workload.prompt, dataset) else { return None };
        Some(dataset.order(source, seed, &workload.name))
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
            rows: datasets
                .iter()
                .map(|dataset| dataset.as_ref().map(|dataset| dataset.all_turns()))
                .collect(),
            plan: plan(scenario, datasets),
            most: (MOST_WALKED / scenario.phases.len().max(1) as u64).max(1),
            walked: vec![Vec::new(); scenario.workloads.len()],
            requests: vec![Some(0.0); scenario.workloads.len()],
            is_open: false,
            is_sampled: false,
        };
        let mut start = Some(Span::new(Duration::ZERO, Certainty::Exact));
        let mut phases = Vec::new();
        for index in 0..scenario.phases.len() {
            let phase = look.phase(index, start);
            start = start.zip(phase.length).map(|(start, length)| start.then(length));
            phases.push(phase);
        }
        let is_drawn =
            |phase: &PhasePreview| matches!(phase.requests, Some(Count::Between { .. } | Count::About(_)));
        let is_exact = !look.is_sampled && !look.is_open && !phases.iter().any(is_drawn);
        let output_tokens = look.output_tokens(is_exact);
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
        let (workloads, is_sampled) = (workloads.collect(), look.is_sampled);
        Preview { phases, workloads, output_tokens, is_exact, is_sampled }
    }
}

/// A look at phase after phase.
struct Look<'a> {
    scenario: &'a Scenario,
    /// Share of each workload.
    shares: Vec<f64>,
    /// Requests that each workload's data set holds: its rows, or the turns of them.
    rows: Vec<Option<u64>>,
    plan: Plan,
    /// Most sessions walked of each phase.
    most: u64,
    /// Output tokens of the sessions walked, by workload.
    walked: Vec<Vec<u64>>,
    /// Requests of each workload so far, about; `None` once they depend on the server.
    requests: Vec<Option<f64>>,
    /// Whether what earlier phases have sent depends on the server.
    is_open: bool,
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
        let before = ends_with_the_server(phase).then(|| self.plan.clone());
        let walk = self.walk(index, phase);
        let requests = match walk.ended_by {
            Some(ended_by) => self.count_of_whole(phase, &walk, ended_by),
            None => self.count_by_law(phase),
        };
        let runs_out = match walk.ended_by {
            Some(ended_by) => ended_by == EndedBy::Data,
            None => matches!(requests, Some(Count::About(_))),
        };
        // How many rows are left to a phase depends on how many those before it have taken.
        let may_be_less = before.is_some() || self.is_open && self.has_ending_data();
        let requests = match may_be_less {
            true => requests.map(|count| Count::AtMost(count.number())),
            false => requests,
        };
        let length = self.length(phase, &walk, requests);
        if let Some(before) = before {
            self.plan = before;
            self.is_open = true;
        }
        for (workload, seen) in walk.by_workload.iter().enumerate() {
            let here = requests.map(|count| match (walk.ended_by, count) {
                (None, count) | (_, count @ Count::Between { .. }) => {
                    count.number() as f64 * self.shares[workload]
                }
                (Some(_), _) => *seen as f64,
            });
            let sum = self.requests[workload].zip(here).map(|(sum, here)| sum + here);
            // A workload that is never drawn has no requests, however many there are.
            self.requests[workload] = sum.or((self.shares[workload] == 0.0).then_some(0.0));
        }
        // A phase without end is walked in part by nature.
        self.is_sampled |= walk.ended_by.is_none() && requests.is_some();
        let measured = measured(phase, &walk, requests, length);
        PhasePreview { start, length, requests, measured, ends_with_data: runs_out && !may_be_less }
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
            Requests::All => self.rows.iter().flatten().sum(),
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
                Some(Count::Exactly(whole_gaps(process.expected(duration))))
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
            let left = self.rows[index]? as f64 - self.requests[index]?;
            ends.then(|| left.max(0.0) / self.shares[index])
        });
        left.min_by(f64::total_cmp)
    }

    /// Whether a data set that ends is drawn on.
    fn has_ending_data(&self) -> bool {
        let mut drawn = self.scenario.workloads.iter().filter(|workload| workload.weight > 0.0);
        drawn.any(|workload| {
            matches!(&workload.prompt, PromptSource::Dataset(set) if set.when_exhausted != WhenExhausted::Repeat)
        })
    }

    fn length(&self, phase: &Phase, walk: &Walk, requests: Option<Count>) -> Option<Span> {
        let rate = match &phase.load {
            Load::Open { process, .. } => process.peak_per_second().unwrap_or(f64::INFINITY),
            Load::Closed { .. } => {
                // Users may be through with their requests, or the rows, before.
                let may_end = phase.requests.is_some() || self.has_ending_data();
                let certainty = if may_end { Certainty::AtMost } else { Certainty::Exact };
                return phase.duration.map(|duration| Span::new(duration, certainty));
            }
        };
        let is_less = matches!(requests, Some(Count::AtMost(_)));
        let drawn = self.scenario.seed.is_none() && matches!(requests, Some(Count::About(_)));
        let drawn = drawn || self.scenario.seed.is_none() && random_times(phase);
        let certainty = match (is_less, drawn) {
            (true, _) => Certainty::AtMost,
            (false, true) => Certainty::About,
            (false, false) => Certainty::Exact,
        };
        let least = if is_less { Certainty::AtMost } else { Certainty::Exact };
        let whole = phase.duration.map(|duration| Span::new(duration, least));
        match (walk.ended_by, requests) {
            (Some(EndedBy::Duration), _) => whole,
            (Some(_), _) => Some(Span::new(walk.last, certainty)),
            (None, Some(count)) => {
                let time = Duration::try_from_secs_f64(count.number() as f64 / rate).ok()?;
                match phase.duration {
                    // The last of many arrivals is as good as the end.
                    Some(duration) if time.as_secs_f64() > 0.98 * duration.as_secs_f64() => whole,
                    _ => Some(Span::new(time, certainty.max(Certainty::About))),
                }
            }
            (None, None) => whole,
        }
    }

    /// The most tokens of all answers: those walked where they are those of every run, else by their law.
    fn output_tokens(&self, is_exact: bool) -> Option<u64> {
        let mut sum = 0.0;
        for (index, workload) in self.scenario.workloads.iter().enumerate() {
            let requests = self.requests[index]?;
            sum += match is_exact {
                true => self.walked[index].iter().sum::<u64>() as f64,
                false => requests * workload.max_tokens.mean(),
            };
        }
        Some(sum.round() as u64)
    }
}

/// Whether a phase takes as many requests as the server lets it: users that send until a time is over.
pub(super) fn ends_with_the_server(phase: &Phase) -> bool {
    matches!(phase.load, Load::Closed { .. }) && phase.duration.is_some()
}

/// Requests of a phase that will be measured, about.
fn measured(phase: &Phase, walk: &Walk, requests: Option<Count>, length: Option<Span>) -> Option<u64> {
    if !phase.measure {
        return Some(0);
    }
    match (requests?, &phase.load) {
        (Count::AtMost(_), _) => None,
        (count, _) if (phase.warm_up, phase.cool_down) == (Margin::NONE, Margin::NONE) => {
            Some(count.number())
        }
        (_, Load::Closed { .. }) => None,
        (Count::Exactly(_), Load::Open { .. }) if walk.ended_by.is_some() => Some(walk.measured),
        (count, Load::Open { .. }) => {
            let whole = length?.time;
            let share = whole.saturating_sub(unmeasured(phase)).as_secs_f64() / whole.as_secs_f64();
            // A phase of no length has no share to speak of.
            share.is_finite().then(|| (count.number() as f64 * share).round() as u64)
        }
    }
}

/// Arrivals at equal distances in a time of `expected` of them, one at its start. A product that misses a whole
/// number by its rounding is that number.
fn whole_gaps(expected: f64) -> u64 {
    let nearest = expected.round();
    let is_whole = (expected - nearest).abs() <= expected * 1e-12;
    if is_whole { nearest as u64 } else { expected.ceil() as u64 }
}

fn random_times(phase: &Phase) -> bool {
    let Load::Open { process, .. } = &phase.load else { return false };
    match process {
        Process::Poisson { .. } | Process::Gamma { .. } => true,
        Process::Varying { arrivals, .. } => *arrivals == Arrivals::Poisson,
        Process::Constant { .. } | Process::Recorded(_) => false,
    }
}

/// What of a phase's length is not measured.
fn unmeasured(phase: &Phase) -> Duration {
    phase.warm_up.time().saturating_add(phase.cool_down.time())
}

/// Why a plan has no further session; a data set that must not end is one that has.
fn ended_by(plan: &Plan) -> Option<EndedBy> {
    Some(match plan.end(0) {
        End::By(by) => by,
        End::NoRow { .. } => EndedBy::Data,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_adds_no_arrival() {
        assert_eq!(whole_gaps(0.1 * 30.0), 3);
        assert_eq!([whole_gaps(0.0), whole_gaps(2.5), whole_gaps(1e7)], [0, 3, 10_000_000]);
    }
}
