//! What a scenario will do, as far as that can be known without doing it.

use std::sync::Arc;
use std::time::Duration;

use super::amounts::{Certainty, Count, Span};
use super::in_flight::InFlight;
use super::lengths::Lengths;
use super::look::{Look, MOST_WALKED};
use crate::dataset::Dataset;
use crate::plan::{Plan, row_orders};
use crate::scenario::{Load, Phase, PromptSource, Scenario, Workload};
use crate::seed::Seed;

/// What a scenario will do.
pub(super) struct Preview {
    /// Its phases, in order.
    pub(super) phases: Vec<PhasePreview>,
    /// Its workloads, in order.
    pub(super) workloads: Vec<WorkloadPreview>,
    /// Tokens of all prompts, as far as they are planned in tokens.
    pub(super) prompt_tokens: Option<u64>,
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
    /// Requests of its main load that are open at once; `None` where no service time was stated.
    pub(super) in_flight: Option<InFlight>,
    /// What its further loads will do.
    pub(super) also: Vec<AlsoPreview>,
}

/// What a further load of a phase will do.
pub(super) struct AlsoPreview {
    /// The requests it will plan; `None` where that depends on the server.
    pub(super) requests: Option<Count>,
    /// Those of them that are open at once; `None` where no service time was stated.
    pub(super) in_flight: Option<InFlight>,
}

/// What a workload will ask.
pub(super) struct WorkloadPreview {
    /// Its share of requests, as far as it follows from weights; `None` where it depends on the server.
    pub(super) share: Option<f64>,
    /// Requests it will have, about; `None` where that depends on the server.
    pub(super) requests: Option<f64>,
    /// Lengths planned for its prompts in tokens, or in conversations for what each turn adds; `None` where they are
    /// not planned in tokens.
    pub(super) prompt_tokens: Option<Lengths>,
    /// Lengths of its prompts in words; `None` where they cannot be read.
    pub(super) prompt_words: Option<Lengths>,
    /// Lengths of its prompts in characters, where they come from a file.
    pub(super) prompt_characters: Option<Lengths>,
    /// Tokens asked for at most, over the requests that were walked; `None` where it has none of them.
    pub(super) output_tokens: Option<Lengths>,
    /// How many turns its conversations have; `None` where each request stands alone.
    pub(super) turns: Option<Lengths>,
    /// The context before which they end.
    pub(super) max_context: Option<u64>,
    /// Of the conversations that were walked, those whose first turn would pass it; `None` where lengths are not planned
    /// in tokens.
    pub(super) too_long: Option<u64>,
}

/// The plan of a scenario; that of the first seed where it states none.
pub(super) fn plan(scenario: &Arc<Scenario>, datasets: &[Option<Arc<Dataset>>]) -> Plan {
    let seed = Seed(scenario.seed.unwrap_or_default());
    Plan::new(Arc::clone(scenario), seed, row_orders(scenario, datasets, seed))
}

/// Lengths of a data set's prompts in words and in characters, where they are texts.
fn of_rows(workload: &Workload, dataset: &Dataset) -> (Option<Lengths>, Option<Lengths>) {
    if dataset.is_sized() {
        return (None, None);
    }
    Lengths::of_prompts(dataset, workload.history(Some(dataset))).unzip()
}

impl Preview {
    /// Looks ahead. `datasets` are those of the workloads, in order; `service_time` is what a request takes.
    pub(super) fn of(
        scenario: &Arc<Scenario>,
        datasets: &[Option<Arc<Dataset>>],
        service_time: Option<Duration>,
    ) -> Preview {
        Preview::within(scenario, datasets, service_time, MOST_WALKED)
    }

    /// The same, with at most so many sessions walked.
    pub(super) fn within(
        scenario: &Arc<Scenario>,
        datasets: &[Option<Arc<Dataset>>],
        service_time: Option<Duration>,
        most: u64,
    ) -> Preview {
        let mut look = Look::new(scenario, datasets, plan(scenario, datasets), service_time, most);
        let mut start = Some(Span::new(Duration::ZERO, Certainty::Exact));
        let mut phases = Vec::new();
        for index in 0..scenario.phases.len() {
            let phase = look.phase(index, start);
            start = start.zip(phase.length).map(|(start, length)| start.then(length));
            phases.push(phase);
        }
        let is_drawn = |count: &Option<Count>| matches!(count, Some(Count::Between { .. } | Count::About(_)));
        let is_any_drawn = phases
            .iter()
            .any(|phase| is_drawn(&phase.requests) || phase.also.iter().any(|also| is_drawn(&also.requests)));
        let is_exact = !look.is_sampled && !look.is_open && !is_any_drawn;
        let (prompt_tokens, output_tokens) = (look.prompt_tokens(is_exact), look.output_tokens(is_exact));
        let workloads = scenario.workloads.iter().zip(datasets).enumerate();
        let workloads = workloads.map(|(index, (workload, dataset))| {
            let (prompt_words, prompt_characters) = match (&workload.prompt, dataset) {
                (PromptSource::Synthetic { words, .. }, _) => (Some(Lengths::all(*words)), None),
                (PromptSource::Dataset(_), Some(dataset)) => of_rows(workload, dataset),
                (PromptSource::Tokens(_) | PromptSource::Needle(_), _) | (PromptSource::Dataset(_), None) => {
                    (None, None)
                }
            };
            WorkloadPreview {
                prompt_tokens: Lengths::of(std::mem::take(&mut look.prompts[index])),
                share: look.share(index),
                requests: look.requests[index],
                prompt_words,
                prompt_characters,
                output_tokens: Lengths::of(std::mem::take(&mut look.walked[index])),
                turns: Lengths::of(std::mem::take(&mut look.turn_counts[index])).filter(|_| {
                    workload.session.is_some() || dataset.as_ref().is_some_and(|set| set.is_conversations())
                }),
                max_context: workload.session.as_ref().and_then(|session| session.max_context),
                too_long: matches!(workload.prompt, PromptSource::Tokens(_)).then_some(look.too_long[index]),
            }
        });
        let (workloads, is_sampled) = (workloads.collect(), look.is_sampled);
        Preview { phases, workloads, prompt_tokens, output_tokens, is_exact, is_sampled }
    }
}

/// Whether a phase takes as many requests as the server lets it: users that send until a time is over.
pub(super) fn ends_with_the_server(phase: &Phase) -> bool {
    matches!(phase.load, Load::Closed { .. }) && phase.duration.is_some()
}
