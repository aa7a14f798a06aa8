//! All that happens before the clock: scenario, data sets, key, seed.

use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::sync::Arc;

use super::args::ScenarioArgs;
use super::check;
use super::environment;
use super::exit::Failure;
use super::lengths::load_tokenizer;
use super::live::{patiently, say};
use crate::dataset::Dataset;
use crate::dataset::tokenizer::Tokenizer;
use crate::diagnostic::{Diagnostics, Style};
use crate::plan::compose::{Form, Prompts, Salt, System};
use crate::plan::composer::Composer;
use crate::plan::shard::Shard;
use crate::plan::{Plan, row_orders};
use crate::protocol::BodyOptions;
use crate::results::ResultsError;
use crate::run::calibrate::unmeasured;
use crate::scenario::{Overrides, PromptSource, Requests, Scenario, SystemText};
use crate::seed::Seed;

/// A scenario that can be run.
pub(super) struct Prepared {
    pub(super) scenario: Arc<Scenario>,
    pub(super) seed: Seed,
    pub(super) salt: Salt,
    pub(super) run_id: String,
    /// The data set of each workload that has one.
    pub(super) datasets: Vec<Option<Arc<Dataset>>>,
    /// The tokenizer, where the scenario names a file.
    pub(super) tokenizer: Option<Arc<Tokenizer>>,
    /// The bearer key.
    pub(super) key: Option<String>,
    pub(super) started: jiff::Timestamp,
    /// Its part of the run.
    pub(super) shard: Shard,
    /// Whether the seed is this process's own.
    pub(super) draws_seed: bool,
}

/// What a scenario is prepared for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A server that wants its key, and whose cache must not know the prompts: their salt is drawn.
    Measure,
    /// A simulator that asks for no key, and figures that repeat: the salt follows from the seed.
    Rehearse,
}

/// Reads and checks everything; says all that is wrong before any traffic.
pub(super) fn prepare(
    args: &ScenarioArgs,
    target: Option<String>,
    purpose: Purpose,
) -> Result<Prepared, Failure> {
    if let Some(out) = args.out.as_deref().filter(|out| out.symlink_metadata().is_ok()) {
        return Err(Failure::usage(ResultsError::Exists { path: out.to_owned() }));
    }
    let overrides = Overrides { set: args.overrides.clone(), target };
    let mut loaded = crate::scenario::load(&args.file, &overrides).map_err(|problems| refused(&problems))?;
    let mut notes = std::mem::take(&mut loaded.warnings);
    let datasets = scan_datasets(&loaded.scenario, args.quiet, &mut notes)?;
    check::compare_with_data(&loaded, &datasets, &mut notes);
    let tokenizer = load_tokenizer(&loaded.scenario, &mut notes);
    let mut scenario = loaded.scenario;
    if notes.has_errors() {
        return Err(refused(&notes));
    }
    if !args.quiet && !notes.is_empty() {
        say(&notes.render(style()));
    }
    let variable = scenario.target.api_key_env.as_deref().filter(|_| purpose == Purpose::Measure);
    let key = variable.map(environment::required).transpose()?;
    let draws_seed = scenario.seed.is_none();
    let seed = match scenario.seed {
        Some(seed) => seed,
        // Thirty-two bits: short enough to be typed again.
        None => environment::random()? >> 32,
    };
    scenario.seed = Some(seed);
    let salt = match (scenario.salt, purpose) {
        (Some(salt), _) => salt,
        (None, Purpose::Measure) => environment::random()?,
        (None, Purpose::Rehearse) => seed,
    };
    Ok(Prepared {
        scenario: Arc::new(scenario),
        seed: Seed(seed),
        salt: Salt(salt),
        run_id: format!("{:012x}", environment::random()? >> 16),
        datasets,
        tokenizer,
        key,
        started: environment::utc_now(),
        shard: Shard::WHOLE,
        draws_seed,
    })
}

impl Prepared {
    /// How many requests the phases ask for, where each of them says so.
    pub(super) fn planned_requests(&self) -> Option<u64> {
        let workloads = self.scenario.workloads.iter().zip(&self.datasets);
        let rows: u64 = workloads.filter_map(|(workload, set)| workload.rows(set.as_deref())).sum();
        let counts = self.scenario.phases.iter().map(|phase| match (phase.requests, phase.duration) {
            (Some(Requests::Count(count)), None) => Some(count),
            (Some(Requests::All), None) => Some(rows),
            _ => None,
        });
        counts.sum()
    }

    /// What the requests of each workload have in common, for `model`. Lengths in tokens are not measured yet.
    pub(super) fn forms(&self, model: &str) -> Vec<Form> {
        let forms = self.scenario.workloads.iter().zip(&self.datasets).map(|(workload, dataset)| Form {
            workload: workload.name.clone(),
            prompts: match (&workload.prompt, dataset) {
                (PromptSource::Synthetic { words }, _) => Prompts::Synthetic { words: *words },
                (PromptSource::Tokens(prompts), _) => {
                    let prefix = prompts.shared_prefix.as_ref();
                    Prompts::Tokens(unmeasured(prefix.map_or(0, |prefix| prefix.tokens)))
                }
                (PromptSource::Needle(form), _) => Prompts::Needle { distractors: form.distractors },
                (PromptSource::Dataset(_), Some(dataset)) => Prompts::Rows(Arc::clone(dataset)),
                (PromptSource::Dataset(_), None) => unreachable!("every data set was scanned above"),
            },
            system: match &workload.system {
                None => System::None,
                Some(SystemText::Text(text) | SystemText::File { text, .. }) => System::Text(text.clone()),
                Some(SystemText::Tokens(tokens)) => System::Tokens(*tokens),
            },
            cache: workload.cache,
            history: workload.history(dataset.as_deref()),
            options: BodyOptions {
                model: model.to_owned(),
                stream: workload.request.stream,
                temperature: Some(workload.request.temperature),
                chat_limit: self.scenario.target.chat_limit,
                exact: workload.exact_output,
                extra: workload.request.extra.clone(),
            },
            checks: workload.score.is_some(),
            compares: workload.consistency,
        });
        forms.collect()
    }

    /// Composes this scenario's requests by `forms`.
    pub(super) fn composer(&self, forms: Vec<Form>) -> Composer {
        let rows = row_orders(&self.scenario, &self.datasets, self.seed);
        let plan = Plan::new(Arc::clone(&self.scenario), self.seed, rows).of_shard(self.shard);
        Composer::new(plan, self.scenario.target.api, forms, self.salt, self.run_id.clone())
    }
}

/// Reads every data set through. What is wrong with one, and what else there is to know, goes into `notes`.
pub(super) fn scan_datasets(
    scenario: &Scenario,
    quiet: bool,
    notes: &mut Diagnostics,
) -> Result<Vec<Option<Arc<Dataset>>>, Failure> {
    let mut datasets: Vec<Option<Arc<Dataset>>> = Vec::new();
    for workload in &scenario.workloads {
        let PromptSource::Dataset(source) = &workload.prompt else {
            datasets.push(None);
            continue;
        };
        let scan = || Dataset::scan(source);
        let scanned =
            if quiet { scan() } else { patiently(&format!("reading {}", source.path.display()), scan) };
        match scanned {
            Ok(dataset) => {
                dataset.warnings().into_iter().for_each(|warning| notes.push(warning));
                datasets.push(Some(Arc::new(dataset)));
            }
            Err(error) => {
                notes.push(error.diagnostic());
                datasets.push(None);
            }
        }
    }
    if notes.has_errors() { Err(refused(notes)) } else { Ok(datasets) }
}

fn refused(problems: &Diagnostics) -> Failure {
    let mut message = problems.render(style());
    let count = problems.iter().count() as u64 + problems.more();
    if count > 1 {
        let _ = write!(message, "\n{count} problems; nothing was sent");
    }
    Failure::problems(message)
}

/// Colours where a person looks.
pub(super) fn style() -> Style {
    if std::io::stderr().is_terminal() { Style::Coloured } else { Style::Plain }
}
