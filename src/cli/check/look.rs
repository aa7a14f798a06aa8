//! A look at phase after phase, load after load.
//!
//! The plan is walked as a run walks it, up to a bound; beyond that, counts follow from the law of arrivals, and
//! lengths from the sessions that were walked. What depends on the server is left open, never guessed.

use std::sync::Arc;
use std::time::Duration;

use super::amounts::{Certainty, Count, Span};
use super::in_flight::{HeldTokens, InFlight, in_flight};
use super::law;
use super::preview::{AlsoPreview, PhasePreview, ends_with_the_server};
use crate::dataset::{Dataset, WhenExhausted};
use crate::distribution::Distribution;
use crate::plan::{End, Plan, Session, Start, Turn, mean_turns_in_context};
use crate::record::EndedBy;
use crate::scenario::{History, Load, Margin, Phase, PromptSource, Requests, Scenario, Workload};
use crate::seed::Seed;

/// Most sessions that are walked, all phases together.
pub(super) const MOST_WALKED: u64 = 100_000;

/// What is known so far.
pub(super) struct Look<'a> {
    scenario: &'a Scenario,
    /// Requests that each workload's data set holds: its rows, or the turns of them.
    rows: Vec<Option<u64>>,
    /// Tokens asked for of an answer of each workload, on average.
    answers: Vec<f64>,
    /// Tokens of a prompt of each workload on average, where they are planned.
    mean_prompts: Vec<Option<f64>>,
    /// Turns of a session of each workload, on average.
    turns: Vec<f64>,
    /// Whether the rows of each workload say how many turns a session has.
    are_conversations: Vec<bool>,
    plan: Plan,
    /// What a request takes, if it was stated.
    service_time: Option<Duration>,
    /// Most sessions walked of each load.
    most: u64,
    /// Output tokens of the sessions walked, by workload.
    pub(super) walked: Vec<Vec<u64>>,
    /// Lengths drawn for their prompts, in tokens, by workload.
    pub(super) prompts: Vec<Vec<u64>>,
    /// Turns of the sessions walked, by workload.
    pub(super) turn_counts: Vec<Vec<u64>>,
    /// Sessions walked whose first turn would pass the context stated, by workload.
    pub(super) too_long: Vec<u64>,
    /// Requests of each workload so far, about; `None` once they depend on the server.
    pub(super) requests: Vec<Option<f64>>,
    /// Whether what earlier phases have sent depends on the server.
    pub(super) is_open: bool,
    /// Whether a plan was walked in part only.
    pub(super) is_sampled: bool,
}

/// What was seen of a load.
#[derive(Default)]
struct Walk {
    planned: u64,
    measured: u64,
    last: Duration,
    by_workload: Vec<u64>,
    ended_by: Option<EndedBy>,
}

/// One load of a phase.
struct Side<'a> {
    phase: &'a Phase,
    /// Its place among the loads of the phase; the main one is 0.
    place: usize,
    load: &'a Load,
    /// Each workload's share of its sessions.
    shares: Vec<f64>,
    /// Mean turns of its sessions.
    turns: f64,
}

/// Tokens asked for of an answer, on average.
fn mean_answer(workload: &Workload, set: Option<&Dataset>) -> f64 {
    let stated = set.filter(|_| workload.uses_output_tokens()).and_then(Dataset::mean_output_tokens);
    stated.unwrap_or_else(|| workload.max_tokens.mean())
}

/// Tokens of a prompt, or of what a turn adds, on average; `None` where they are not planned in tokens.
fn mean_prompt(workload: &Workload, set: Option<&Dataset>) -> Option<f64> {
    match &workload.prompt {
        PromptSource::Tokens(prompts) => Some(prompts.tokens.mean()),
        PromptSource::Dataset(_) => set?.mean_prompt_tokens(),
        PromptSource::Needle(form) => {
            Some(form.lengths.iter().sum::<u64>() as f64 / form.lengths.len() as f64)
        }
        PromptSource::Synthetic { .. } => None,
    }
}

/// Turns of a session on average; of conversations cut short by a law, about.
fn mean_turns(workload: &Workload, set: Option<&Dataset>) -> f64 {
    let asked = workload.session.as_ref().and_then(|session| session.turns.as_ref());
    let asked = asked.map(|turns| turns.mean().max(1.0));
    let asked = mean_turns_in_context(workload, Seed(0)).or(asked);
    let of_rows = set.filter(|set| set.is_conversations());
    let of_rows = of_rows.map(|set| set.all_turns() as f64 / f64::from(set.rows().max(1)));
    match (of_rows, asked) {
        (Some(turns), asked) => asked.map_or(turns, |asked| asked.min(turns)),
        (None, asked) => asked.unwrap_or(1.0),
    }
}

impl<'a> Look<'a> {
    /// Before the first phase. At most `most` sessions are walked.
    pub(super) fn new(
        scenario: &'a Scenario,
        datasets: &[Option<Arc<Dataset>>],
        plan: Plan,
        service_time: Option<Duration>,
        most: u64,
    ) -> Look<'a> {
        let loads = scenario.phases.iter().map(|phase| 1 + phase.also.len()).sum::<usize>() as u64;
        Look {
            scenario,
            rows: scenario
                .workloads
                .iter()
                .zip(datasets)
                .map(|(workload, set)| workload.rows(set.as_deref()))
                .collect(),
            answers: scenario
                .workloads
                .iter()
                .zip(datasets)
                .map(|(workload, set)| mean_answer(workload, set.as_deref()))
                .collect(),
            mean_prompts: scenario
                .workloads
                .iter()
                .zip(datasets)
                .map(|(workload, set)| mean_prompt(workload, set.as_deref()))
                .collect(),
            turns: scenario
                .workloads
                .iter()
                .zip(datasets)
                .map(|(workload, set)| mean_turns(workload, set.as_deref()))
                .collect(),
            are_conversations: datasets
                .iter()
                .map(|set| set.as_ref().is_some_and(|set| set.is_conversations()))
                .collect(),
            plan,
            service_time,
            most: (most / loads.max(1)).max(1),
            walked: vec![Vec::new(); scenario.workloads.len()],
            prompts: vec![Vec::new(); scenario.workloads.len()],
            turn_counts: vec![Vec::new(); scenario.workloads.len()],
            too_long: vec![0; scenario.workloads.len()],
            requests: vec![Some(0.0); scenario.workloads.len()],
            is_open: false,
            is_sampled: false,
        }
    }

    /// Looks at phase `index`, which begins at `start`.
    pub(super) fn phase(&mut self, index: usize, start: Option<Span>) -> PhasePreview {
        let phase = &self.scenario.phases[index];
        let before = ends_with_the_server(phase).then(|| self.plan.clone());
        self.plan.begin_phase(index);
        let main = self.side(phase, 0);
        let walk = self.walk(&main);
        let requests = match walk.ended_by {
            Some(ended_by) => self.count_of_whole(&main, &walk, ended_by),
            None => self.count_by_law(&main, phase.duration),
        };
        let runs_out = match walk.ended_by {
            Some(ended_by) => ended_by == EndedBy::Data,
            None => {
                matches!(requests, Some(Count::About(most)) if self.rows_left(&main).is_some_and(|left| left as u64 == most))
            }
        };
        // How many rows are left to a phase depends on how many those before it have taken.
        let may_be_less = before.is_some() || self.is_open && self.has_ending_data(&main);
        let requests = match may_be_less {
            true => requests.map(|count| Count::AtMost(count.number())),
            false => requests,
        };
        let length = self.length(&main, &walk, requests);
        self.add(&main, &walk, requests);
        let also = (1..=phase.also.len()).map(|place| self.also(phase, place, length)).collect();
        if let Some(before) = before {
            self.plan = before;
            self.is_open = true;
        }
        PhasePreview {
            start,
            length,
            requests,
            measured: measured(phase, &walk, requests, length),
            ends_with_data: runs_out && !may_be_less,
            in_flight: self.in_flight(&main, requests),
            also,
        }
    }

    /// Share of a workload in all requests: by weight where every load draws on all workloads, else by counts.
    pub(super) fn share(&self, workload: usize) -> Option<f64> {
        let all = &self.scenario.workloads;
        let phases = &self.scenario.phases;
        if phases.iter().all(|phase| phase.also.is_empty() && phase.workloads_of(0, all).len() == all.len()) {
            let total: f64 = all.iter().map(|workload| workload.weight).sum();
            return Some(all[workload].weight / total);
        }
        let total = self.requests.iter().copied().sum::<Option<f64>>()?;
        (total > 0.0).then(|| self.requests[workload].map(|requests| requests / total)).flatten()
    }

    /// A further load of a phase: offered until the phase ends, whatever ends it.
    fn also(&mut self, phase: &'a Phase, place: usize, length: Option<Span>) -> AlsoPreview {
        let side = self.side(phase, place);
        let length = length.filter(|length| length.certainty != Certainty::AtMost);
        let known = length.filter(|_| matches!(side.load, Load::Open { .. }));
        let before = (known.is_none() || phase.duration.is_none()).then(|| self.plan.clone());
        let walk = self.walk_for(&side, known.map(|length| length.time));
        let requests = known.and_then(|length| {
            let whole = walk.ended_by.is_some() && length.certainty == Certainty::Exact;
            match whole && (self.scenario.seed.is_some() || !law::draws_times(side.load)) {
                true => Some(Count::Exactly(walk.planned)),
                false => self.count_by_law(&side, Some(length.time)),
            }
        });
        if let Some(before) = before {
            self.plan = before;
            self.is_open |= self.draws_on_data(&side);
        }
        self.add(&side, &walk, requests);
        AlsoPreview { requests, in_flight: self.in_flight(&side, requests) }
    }

    /// Never more than there are requests.
    fn in_flight(&self, side: &Side<'_>, requests: Option<Count>) -> Option<InFlight> {
        let open = in_flight(side.load, side.turns, self.service_time?);
        let most = match requests {
            Some(Count::Exactly(most) | Count::AtMost(most)) => most,
            _ => u64::MAX,
        };
        let (mean, peak) = (open.mean.min(most as f64), open.peak.min(most));
        Some(InFlight { mean, peak, held: self.held(side, mean, peak), ..open })
    }

    /// Tokens in the server's memory of so many requests; `None` where prompts are not planned in tokens, or carry
    /// turns before them.
    fn held(&self, side: &Side<'_>, mean: f64, peak: u64) -> Option<HeldTokens> {
        let (mut prompt, mut answer) = (0.0, 0.0);
        for (index, workload) in self.scenario.workloads.iter().enumerate() {
            let share = side.shares[index];
            if share == 0.0 {
                continue;
            }
            let PromptSource::Tokens(prompts) = &workload.prompt else { return None };
            if workload.session.as_ref().is_some_and(|session| session.history != History::None) {
                return None;
            }
            prompt += share * prompts.tokens.mean();
            answer += share * self.answers[index];
        }
        // Over its life a request holds half of its answer on average, at its end all of it.
        let (mean, peak) = (mean * (prompt + answer / 2.0), peak as f64 * (prompt + answer));
        Some(HeldTokens { mean: mean.round() as u64, peak: peak.round() as u64 })
    }

    fn side(&self, phase: &'a Phase, place: usize) -> Side<'a> {
        let all = &self.scenario.workloads;
        let sent = phase.workloads_of(place, all);
        let weight = |index: usize| if sent.contains(&index) { all[index].weight } else { 0.0 };
        let total: f64 = (0..all.len()).map(weight).sum();
        let shares: Vec<f64> =
            (0..all.len()).map(|index| if total > 0.0 { weight(index) / total } else { 0.0 }).collect();
        let turns = self.turns.iter().zip(&shares).map(|(turns, share)| share * turns);
        let load = match place.checked_sub(1) {
            None => &phase.load,
            Some(also) => &phase.also[also].load,
        };
        Side { phase, place, load, turns: turns.sum(), shares }
    }

    /// Adds what a load sends to what its workloads have sent so far.
    fn add(&mut self, side: &Side<'_>, walk: &Walk, requests: Option<Count>) {
        for (workload, seen) in walk.by_workload.iter().enumerate() {
            // A workload that is never drawn has no requests, however many there are.
            if side.shares[workload] == 0.0 {
                continue;
            }
            let by_share = |count: Count| count.number() as f64 * side.shares[workload];
            let here = requests.map(|count| match (walk.ended_by, count) {
                (None, count) | (_, count @ (Count::Between { .. } | Count::About(_))) => by_share(count),
                (Some(_), _) => *seen as f64,
            });
            self.requests[workload] = self.requests[workload].zip(here).map(|(sum, here)| sum + here);
        }
        // A load without end is walked in part by nature.
        self.is_sampled |= walk.ended_by.is_none() && requests.is_some();
    }

    fn walk(&mut self, side: &Side<'_>) -> Walk {
        self.walk_for(side, side.phase.duration)
    }

    /// Walks the sessions that a load starts in the first `time` of its phase.
    fn walk_for(&mut self, side: &Side<'_>, time: Option<Duration>) -> Walk {
        let mut walk = Walk { by_workload: vec![0; self.walked.len()], ..Walk::default() };
        let phase = side.phase;
        let is_over = |start: Start| matches!((start, time), (Start::At(due), Some(time)) if due >= time);
        while walk.planned < self.most {
            let Some(session) = self.plan.next_session(side.place).filter(|session| !is_over(session.start))
            else {
                walk.ended_by = Some(ended_by(&self.plan, side.place));
                break;
            };
            if let Start::At(due) = session.start {
                let end = phase.duration.map(|end| end.saturating_sub(phase.cool_down.time()));
                let is_measured = due >= phase.warm_up.time() && end.is_none_or(|end| due < end);
                walk.last = due;
                walk.measured += if is_measured { session.turns.len() as u64 } else { 0 };
            }
            self.note(&session);
            for Turn { planned, prompt_tokens, .. } in session.turns {
                walk.planned += 1;
                let workload = planned.workload as usize;
                walk.by_workload[workload] += 1;
                self.walked[workload].extend(planned.output_tokens_planned.map(u64::from));
                self.prompts[workload].extend(prompt_tokens.map(u64::from));
            }
        }
        // One more step tells a plan that ends here from one that goes on.
        if walk.ended_by.is_none() {
            let mut further = self.plan.clone();
            let next = further.next_session(side.place).filter(|session| !is_over(session.start));
            walk.ended_by = next.is_none().then(|| ended_by(&further, side.place));
        }
        walk
    }

    /// Notes how many turns a session has, and whether it can begin at all.
    fn note(&mut self, session: &Session) {
        let Some(Turn { planned, prompt_tokens, .. }) = session.turns.first() else { return };
        let index = planned.workload as usize;
        self.turn_counts[index].push(session.turns.len() as u64);
        let limit = self.scenario.workloads[index].session.as_ref().and_then(|session| session.max_context);
        let asked = prompt_tokens.zip(planned.output_tokens_planned);
        let asked = asked.map(|(prompt, answer)| u64::from(prompt) + u64::from(answer));
        self.too_long[index] += u64::from(asked.zip(limit).is_some_and(|(asked, limit)| asked > limit));
    }

    /// The requests of a load that was walked to its end: those, unless another seed gives others.
    fn count_of_whole(&self, side: &Side<'_>, walk: &Walk, ended_by: EndedBy) -> Option<Count> {
        let planned = walk.planned;
        let draws_times = law::draws_times(side.load) && side.phase.duration.is_some();
        let draws_workloads = side.shares.iter().filter(|share| **share > 0.0).count() > 1;
        Some(match ended_by {
            _ if self.scenario.seed.is_some() => Count::Exactly(planned),
            EndedBy::Data if draws_times || draws_workloads => Count::About(planned),
            EndedBy::Duration | EndedBy::Requests if draws_times => {
                self.count_by_law(side, side.phase.duration)?
            }
            EndedBy::Duration if self.draws_turns(side) => self.count_by_law(side, side.phase.duration)?,
            _ => Count::Exactly(planned),
        })
    }

    fn draws_turns(&self, side: &Side<'_>) -> bool {
        let mut of_rows = self.are_conversations.iter().zip(&side.shares);
        of_rows.any(|(is_conversation, share)| *is_conversation && *share > 0.0)
            || self.any_drawn(side, |workload| {
                let Some(session) = &workload.session else { return false };
                let is_drawn = |law: &Distribution| law.min() != law.max();
                let ends_by_length = match &workload.prompt {
                    PromptSource::Tokens(prompts) if session.max_context.is_some() => {
                        is_drawn(&prompts.tokens) || is_drawn(&workload.max_tokens)
                    }
                    _ => false,
                };
                ends_by_length || session.turns.as_ref().is_some_and(is_drawn)
            })
    }

    fn draws_on_data(&self, side: &Side<'_>) -> bool {
        self.any_drawn(side, |workload| workload.when_exhausted().is_some())
    }

    fn any_drawn(&self, side: &Side<'_>, is_so: impl Fn(&Workload) -> bool) -> bool {
        let mut drawn = self.scenario.workloads.iter().zip(&side.shares).filter(|(_, share)| **share > 0.0);
        drawn.any(|(workload, _)| is_so(workload))
    }

    /// The requests of a load by the law of its arrivals, if it is offered for `time`.
    fn count_by_law(&self, side: &Side<'_>, time: Option<Duration>) -> Option<Count> {
        let asked = side.phase.requests.filter(|_| side.place == 0).map(|requests| match requests {
            Requests::Count(count) => count,
            Requests::PerUser(each) => match side.load {
                Load::Closed { users, .. } => each.saturating_mul((*users).into()),
                Load::Open { .. } => each,
            },
            Requests::All => {
                let drawn = self.rows.iter().zip(&side.shares).filter(|(_, share)| **share > 0.0);
                drawn.filter_map(|(rows, _)| *rows).sum()
            }
        });
        let arrivals = time.and_then(|time| law::requests(side.load, time, side.turns));
        let offered = match (asked, arrivals) {
            (None, arrivals) => arrivals,
            (Some(asked), None) => Some(Count::Exactly(asked)),
            (Some(asked), Some(Count::Between { expected, low, high })) if low < asked => {
                Some(Count::Between { expected: expected.min(asked), low, high: high.min(asked) })
            }
            (Some(asked), Some(arrivals)) => Some(Count::Exactly(asked.min(arrivals.number()))),
        };
        let most = self.rows_left(side).map(|rows| rows as u64);
        match (offered, most) {
            (Some(offered), Some(most)) if offered.number() > most => Some(Count::About(most)),
            (None, Some(most)) => Some(Count::About(most)),
            (offered, _) => offered,
        }
    }

    /// Requests of a load until the first of its data sets that end has ended, about; `None` where none ends, or
    /// where earlier phases depend on the server.
    fn rows_left(&self, side: &Side<'_>) -> Option<f64> {
        let left = self.scenario.workloads.iter().enumerate().filter_map(|(index, workload)| {
            let ends = workload.when_exhausted()? != WhenExhausted::Repeat && side.shares[index] > 0.0;
            let left = self.rows[index]? as f64 - self.requests[index]?;
            ends.then(|| left.max(0.0) / side.shares[index])
        });
        left.min_by(f64::total_cmp)
    }

    /// Whether a load draws on a data set that ends.
    fn has_ending_data(&self, side: &Side<'_>) -> bool {
        self.any_drawn(side, |workload| {
            workload.when_exhausted().is_some_and(|when| when != WhenExhausted::Repeat)
        })
    }

    fn length(&self, main: &Side<'_>, walk: &Walk, requests: Option<Count>) -> Option<Span> {
        let phase = main.phase;
        let rate = match &phase.load {
            Load::Open { process, .. } => process.peak_per_second().unwrap_or(f64::INFINITY),
            Load::Closed { .. } => {
                // Users may be through with their requests, or the rows, before.
                let may_end = phase.requests.is_some() || self.has_ending_data(main);
                let certainty = if may_end { Certainty::AtMost } else { Certainty::Exact };
                return phase.duration.map(|duration| Span::new(duration, certainty));
            }
        };
        let is_less = matches!(requests, Some(Count::AtMost(_)));
        let drawn = self.scenario.seed.is_none() && matches!(requests, Some(Count::About(_)));
        let drawn = drawn || self.scenario.seed.is_none() && law::draws_times(&phase.load);
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
                let sessions = count.number() as f64 / main.turns;
                let time = Duration::try_from_secs_f64(sessions / rate).ok()?;
                match phase.duration {
                    // The last of many arrivals is as good as the end.
                    Some(duration) if time.as_secs_f64() > 0.98 * duration.as_secs_f64() => whole,
                    _ => Some(Span::new(time, certainty.max(Certainty::About))),
                }
            }
            (None, None) => whole,
        }
    }

    /// Tokens of all prompts, without what conversations carry of earlier turns: those walked where they are those of
    /// every run, else by their law. `None` where a workload's are not planned in tokens, or its number of requests
    /// is not known.
    pub(super) fn prompt_tokens(&self, is_exact: bool) -> Option<u64> {
        let mut sum = 0.0;
        for index in 0..self.scenario.workloads.len() {
            let mean = self.mean_prompts[index]?;
            let requests = self.requests[index]?;
            sum += match is_exact {
                true => self.prompts[index].iter().sum::<u64>() as f64,
                false => requests * mean,
            };
        }
        Some(sum.round() as u64)
    }

    /// The most tokens of all answers: those walked where they are those of every run, else by their law.
    pub(super) fn output_tokens(&self, is_exact: bool) -> Option<u64> {
        let mut sum = 0.0;
        for index in 0..self.scenario.workloads.len() {
            let requests = self.requests[index]?;
            sum += match is_exact {
                true => self.walked[index].iter().sum::<u64>() as f64,
                false => requests * self.answers[index],
            };
        }
        Some(sum.round() as u64)
    }
}

/// Requests of a phase's main load that will be measured, about.
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
            let left_out = phase.warm_up.time().saturating_add(phase.cool_down.time());
            let share = whole.saturating_sub(left_out).as_secs_f64() / whole.as_secs_f64();
            // A phase of no length has no share to speak of.
            share.is_finite().then(|| (count.number() as f64 * share).round() as u64)
        }
    }
}

/// Why a load has no further session; a data set that must not end is one that has.
fn ended_by(plan: &Plan, load: usize) -> EndedBy {
    match plan.end(load) {
        End::By(by) => by,
        End::NoRow { .. } => EndedBy::Data,
    }
}
