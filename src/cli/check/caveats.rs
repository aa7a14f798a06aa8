//! What the author of a scenario should know before a run: warnings, and errors where a run would refuse.

use std::sync::Arc;
use std::time::Duration;

use super::amounts::{Certainty, Count, Span};
use super::preview::{PhasePreview, Preview};
use super::text::{duration, number};
use crate::cli::environment;
use crate::dataset::{Dataset, WhenExhausted};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::report::figure::grouped;
use crate::scenario::{Load, Loaded, Margin, Phase, PromptSource, Requests, Scenario};
use crate::stats::{Percentile, SloMetric};

/// A run of more than this is worth a word.
const LONG_RUN: Duration = Duration::from_secs(4 * 3_600);
/// Servers that answer within this are quick.
const QUICK: Duration = Duration::from_secs(1);

/// Adds to `problems` all that there is to say.
pub(super) fn add(
    loaded: &Loaded,
    datasets: &[Option<Arc<Dataset>>],
    preview: &Preview,
    problems: &mut Diagnostics,
) {
    let mut caveats = Caveats { loaded, scenario: &loaded.scenario, datasets, preview, problems };
    caveats.of_the_run();
    for (phase, course) in loaded.scenario.phases.iter().zip(&preview.phases) {
        caveats.of_its_counts(phase, course);
        caveats.of_its_data(phase, course);
        caveats.of_its_warm_up(phase);
        caveats.of_its_load(phase);
    }
    for index in 0..loaded.scenario.workloads.len() {
        caveats.of_a_workload(index);
    }
}

/// Adds to `problems` what there is to say of the rows that the run will take.
pub(super) fn add_of_data(
    loaded: &Loaded,
    datasets: &[Option<Arc<Dataset>>],
    preview: &Preview,
    problems: &mut Diagnostics,
) {
    let mut caveats = Caveats { loaded, scenario: &loaded.scenario, datasets, preview, problems };
    for (phase, course) in loaded.scenario.phases.iter().zip(&preview.phases) {
        caveats.of_its_data(phase, course);
    }
    for index in 0..loaded.scenario.workloads.len() {
        caveats.of_its_repeats(index);
    }
}

struct Caveats<'a> {
    loaded: &'a Loaded,
    scenario: &'a Scenario,
    datasets: &'a [Option<Arc<Dataset>>],
    preview: &'a Preview,
    problems: &'a mut Diagnostics,
}

impl Caveats<'_> {
    /// Says it at the first of `paths` that was given.
    fn say(&mut self, problem: Diagnostic, paths: &[String], help: impl Into<String>) {
        let location = paths.iter().find_map(|path| self.loaded.origins.location(path));
        let problem = Diagnostic { location, ..problem };
        self.problems.push(problem.help(help));
    }

    fn warn(&mut self, message: String, paths: &[String], help: impl Into<String>) {
        self.say(Diagnostic::warning(message), paths, help);
    }

    fn of_the_run(&mut self) {
        if let Some(variable) = &self.scenario.target.api_key_env
            && environment::required(variable).is_err()
        {
            let message = format!("the environment variable `{variable}` is not set here");
            let help = format!("export {variable}=… before the run");
            self.warn(message, &["target.api_key_env".to_owned()], help);
        }
        let lengths = self.preview.phases.iter().map(|phase| phase.length);
        let certain = |length: Option<Span>| {
            length.filter(|length| length.certainty != Certainty::AtMost).map_or(Duration::ZERO, |it| it.time)
        };
        let total = lengths.clone().map(certain).fold(Duration::ZERO, Duration::saturating_add);
        let longest = lengths.map(certain).enumerate().max_by_key(|(_, length)| *length);
        if let Some((longest, _)) = longest.filter(|_| total > LONG_RUN) {
            let phase = &self.scenario.phases[longest];
            let message = format!("the run takes at least {}", duration(total));
            let help = "`tonnage rehearse` plays it against a simulated server in a fraction of that";
            self.warn(message, &[at(phase, "duration"), at(phase, "requests"), at(phase, "name")], help);
        }
    }

    fn of_its_counts(&mut self, phase: &Phase, course: &PhasePreview) {
        let Some(measured) = course.measured.filter(|_| phase.measure) else { return };
        let needs = Percentile::P99.needs();
        if measured >= needs {
            return;
        }
        let about = if matches!(course.requests, Some(Count::Exactly(_))) { "" } else { "about " };
        let message = match measured {
            0 => format!("phase `{}` measures no request", phase.name),
            _ => format!("phase `{}` measures {about}{measured} requests: too few for p99", phase.name),
        };
        let help = format!(
            "p99 needs {needs}, p95 {}, p90 {}: send more, or measure longer",
            Percentile::P95.needs(),
            Percentile::P90.needs()
        );
        self.warn(message, &[at(phase, "requests"), at(phase, "duration"), at(phase, "name")], help);
    }

    fn of_its_data(&mut self, phase: &Phase, course: &PhasePreview) {
        let planned = course.requests.map_or(0, Count::number);
        let is_bounded = phase.duration.is_some() || phase.requests.is_some();
        if !course.ends_with_data || !is_bounded && planned > 0 {
            return;
        }
        let sent = phase.workloads_of(0, &self.scenario.workloads);
        let sent = sent.into_iter().map(|index| &self.scenario.workloads[index]);
        let ending = sent.filter(|workload| workload.weight > 0.0);
        let ending = ending.filter_map(|workload| Some((workload, workload.when_exhausted()?)));
        let ending = ending.filter(|(_, when)| *when != WhenExhausted::Repeat).collect::<Vec<_>>();
        let paths = [at(phase, "requests"), at(phase, "duration"), at(phase, "name")];
        if let Some((workload, _)) = ending.iter().find(|(_, when)| *when == WhenExhausted::Error) {
            let message =
                format!("phase `{}` asks for more rows than workload `{}` has", phase.name, workload.name);
            let help =
                "ask for fewer requests, or set prompt.dataset.when_exhausted to \"repeat\" or \"stop\"";
            self.say(Diagnostic::error(message), &paths, help);
            return;
        }
        let message = match planned {
            0 => format!("phase `{}` sends nothing: all rows were sent before", phase.name),
            _ => format!(
                "phase `{}` ends with its data, after {} requests",
                phase.name,
                number(course.requests)
            ),
        };
        let has_cells = ending.iter().any(|(workload, _)| matches!(workload.prompt, PromptSource::Needle(_)));
        let help = match &phase.load {
            Load::Open { trace: Some(_), .. } => {
                "the trace is over by then: shorten `duration`, or lower `speed` or widen `window` of load.trace"
            }
            _ if has_cells => {
                "raise `repeats` of prompt.needle, or let `requests = \"all\"` end the phase with its cells"
            }
            _ => "set prompt.dataset.when_exhausted = \"repeat\" to go round again",
        };
        self.warn(message, &paths, help);
    }

    fn of_its_warm_up(&mut self, phase: &Phase) {
        if !phase.measure || phase.duration.is_none() {
            return;
        }
        if phase.warm_up == Margin::NONE {
            let message = format!(
                "phase `{}` measures from its first request on, while the server is idle",
                phase.name
            );
            let help = "add `warm_up`, a few times as long as a request takes";
            self.warn(message, &[at(phase, "warm_up"), at(phase, "name")], help);
            return;
        }
        if let Some(limit) = self.slowest_good_request().filter(|limit| *limit > phase.warm_up.time()) {
            let message = format!(
                "`warm_up` ({}) is over before a request must be ({} by `slo.e2e`)",
                duration(phase.warm_up.time()),
                duration(limit)
            );
            let help = "make it longer, so that measuring begins at full load";
            self.warn(message, &[at(phase, "warm_up")], help);
        }
    }

    fn of_its_load(&mut self, phase: &Phase) {
        match (&phase.load, phase.requests) {
            (Load::Open { process, max_in_flight: Some(most), .. }, _) => {
                let Some(rate) = process.peak_per_second() else { return };
                let full_s = f64::from(*most) / rate;
                let limit = self.slowest_good_request().unwrap_or(QUICK);
                if full_s >= limit.as_secs_f64() {
                    return;
                }
                let message = format!(
                    "phase `{}` drops requests as soon as they take {:.2} s on average",
                    phase.name, full_s
                );
                let help = format!(
                    "{} in flight carry no more at this rate: raise `max_in_flight`",
                    grouped((*most).into())
                );
                self.warn(message, &[at(phase, &format!("load.{}.max_in_flight", phase.load.name()))], help);
            }
            (Load::Closed { users, .. }, Some(Requests::Count(count))) if u64::from(*users) > count => {
                let message = format!("phase `{}` has {users} users for {count} requests", phase.name);
                let help = "the others have nothing to do: raise `requests`, or lower `users`";
                self.warn(message, &[at(phase, "load.closed.users")], help);
            }
            _ => {}
        }
    }

    fn of_a_workload(&mut self, index: usize) {
        let workload = &self.scenario.workloads[index];
        let path = |key: &str| format!("workload.{}.{key}", workload.name);
        if workload.weight == 0.0 {
            let message = format!("workload `{}` has weight 0 and is never sent", workload.name);
            self.warn(message, &[path("weight")], "give it a weight, or remove it");
        }
        self.of_its_repeats(index);
    }

    fn of_its_repeats(&mut self, index: usize) {
        let (workload, course) = (&self.scenario.workloads[index], &self.preview.workloads[index]);
        let (PromptSource::Dataset(source), Some(dataset), Some(requests)) =
            (&workload.prompt, &self.datasets[index], course.requests)
        else {
            return;
        };
        let rounds = requests / dataset.all_turns() as f64;
        if source.when_exhausted == WhenExhausted::Repeat && rounds > 1.0 {
            let rows = grouped(dataset.rows().into());
            let message =
                format!("workload `{}` sends each of its {rows} rows {rounds:.1} times", workload.name);
            let help = "a server with a prefix cache answers repeated prompts faster";
            let path = format!("workload.{}.prompt.dataset.path", workload.name);
            self.warn(message, &[path], help);
        }
    }

    /// The longest time that a request may take and still be good.
    fn slowest_good_request(&self) -> Option<Duration> {
        let limits = self.scenario.workloads.iter().flat_map(|workload| &workload.slo.limits);
        limits.filter(|(metric, _)| *metric == SloMetric::E2e).map(|(_, limit)| *limit).max()
    }
}

fn at(phase: &Phase, key: &str) -> String {
    format!("phase.{}.{key}", phase.name)
}
