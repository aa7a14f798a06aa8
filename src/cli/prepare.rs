//! All that happens before the clock: scenario, data sets, key, seed.

use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::sync::Arc;
use std::time::Duration;

use super::args::ScenarioArgs;
use super::check;
use super::environment;
use super::exit::Failure;
use super::lengths::load_tokenizer;
use super::live::{patiently, say};
use super::resume::Resume;
use crate::dataset::tokenizer::{Specials, Tokenizer};
use crate::dataset::{Dataset, Source};
use crate::diagnostic::{Diagnostics, Style};
use crate::plan::compose::{Form, Prompts, Salt, Stuff, System};
use crate::plan::composer::Composer;
use crate::plan::passage::Passage;
use crate::plan::shard::Shard;
use crate::plan::{Plan, row_orders};
use crate::protocol::BodyOptions;
use crate::results::ResultsError;
use crate::results::manifest::Setting;
use crate::scenario::{
    Material, Overrides, PromptSource, Requests, Scenario, SystemText, Template, TextFile, Workload,
};
use crate::seed::Seed;
use crate::sweep::Run;

/// A scenario that can be run.
#[derive(Clone)]
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
    /// What each point of the sweep runs, in order; empty without one.
    pub(super) points: Vec<Variant>,
    /// Which run of the sweep or search this is.
    pub(super) run: Option<Run>,
    /// What makes the scenario of each value of the search; `None` without one.
    pub(super) template: Option<Template>,
    /// What the run of a sweep or search is set to.
    pub(super) settings: Vec<Setting>,
    /// The sweep that it goes on with.
    pub(super) resume: Option<Arc<Resume>>,
}

/// The scenario at one point, with its data.
#[derive(Clone)]
pub(super) struct Variant {
    scenario: Arc<Scenario>,
    datasets: Vec<Option<Arc<Dataset>>>,
    tokenizer: Option<Arc<Tokenizer>>,
}

/// What the length of a text is counted in.
#[derive(Clone, Copy)]
enum Counted {
    InWords,
    InTokens,
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
    let resume = args.resume.as_deref().map(Resume::read).transpose()?;
    let mut loaded = crate::scenario::load(&args.file, &overrides).map_err(|problems| refused(&problems))?;
    let mut notes = std::mem::take(&mut loaded.warnings);
    let mut shelf = Vec::new();
    let datasets = scan_datasets(&loaded.scenario, args.quiet, &mut notes, &mut shelf)?;
    check::compare_with_data(&loaded, &datasets, &mut notes);
    let mut tokenizers = Vec::new();
    let tokenizer = load_tokenizer(&loaded.scenario, &mut notes, &mut tokenizers);
    let mut points = Vec::new();
    for point in loaded.at_points() {
        let mut found = Diagnostics::default();
        let datasets = scan_datasets(&point.scenario, args.quiet, &mut found, &mut shelf)?;
        check::compare_with_data(&point, &datasets, &mut found);
        let tokenizer = load_tokenizer(&point.scenario, &mut found, &mut tokenizers);
        notes.append_new(found);
        points.push((point.scenario, datasets, tokenizer));
    }
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
    let seed = match (scenario.seed, &resume) {
        (Some(seed), _) => seed,
        (None, Some(resume)) => resume.manifest.seed,
        // Thirty-two bits: short enough to be typed again.
        (None, None) => environment::random()? >> 32,
    };
    scenario.seed = Some(seed);
    let salt = match (scenario.salt, purpose) {
        (Some(salt), _) => salt,
        (None, Purpose::Measure) => environment::random()?,
        (None, Purpose::Rehearse) => seed,
    };
    let salt = resume.as_ref().and_then(Resume::salt).unwrap_or(salt);
    let run_id = match &resume {
        Some(resume) => resume.manifest.run_id.clone(),
        None => format!("{:012x}", environment::random()? >> 16),
    };
    let points = points.into_iter().map(|(scenario, datasets, tokenizer)| Variant {
        scenario: Arc::new(Scenario { seed: Some(seed), ..scenario }),
        datasets,
        tokenizer,
    });
    if let Some(resume) = &resume {
        resume.check(&scenario)?;
    }
    Ok(Prepared {
        scenario: Arc::new(scenario),
        seed: Seed(seed),
        salt: Salt(salt),
        run_id,
        datasets,
        tokenizer,
        key,
        started: environment::utc_now(),
        shard: Shard::WHOLE,
        draws_seed,
        points: points.collect(),
        run: None,
        template: loaded.template,
        settings: Vec::new(),
        resume: resume.map(Arc::new),
    })
}

impl Prepared {
    /// One run of its sweep: the point's scenario, with seed and salt of its own.
    pub(super) fn at(&self, run: Run) -> Prepared {
        let mut prepared = Prepared { run: Some(run), ..self.clone() };
        prepared.seed = run.seed(self.seed);
        prepared.salt = Salt(run.salt(self.salt.0));
        if let Some(variant) = self.points.get(run.point as usize - 1) {
            prepared.scenario = Arc::clone(&variant.scenario);
            prepared.datasets.clone_from(&variant.datasets);
            prepared.tokenizer.clone_from(&variant.tokenizer);
        }
        let sweep = prepared.scenario.sweep.as_ref();
        let settings = sweep.and_then(|sweep| {
            let points = sweep.points();
            let settings = sweep.settings(points.get(run.point as usize - 1)?);
            Some(
                settings
                    .map(|(axis, value)| Setting { axis: axis.to_owned(), value: value.to_owned() })
                    .collect(),
            )
        });
        prepared.settings = settings.unwrap_or_default();
        prepared
    }

    /// One run of its search: the scenario at `value`, its measured phase so long.
    pub(super) fn at_value(&self, run: Run, value: f64, duration: Duration) -> Result<Prepared, Failure> {
        let (Some(template), Some(capacity)) = (&self.template, &self.scenario.capacity) else {
            return Err(Failure::unexpected("the scenario has no search"));
        };
        let scenario = template.at(value, duration).map_err(|problems| refused(&problems))?;
        let mut prepared = self.at(run);
        prepared.scenario = Arc::new(Scenario { seed: self.scenario.seed, ..scenario });
        prepared.settings = vec![Setting { axis: capacity.name.clone(), value: value.to_string() }];
        Ok(prepared)
    }

    /// Whether it is run more than once.
    pub(super) fn is_series(&self) -> bool {
        self.scenario.sweep.is_some() || self.scenario.capacity.is_some()
    }

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
    ///
    /// # Errors
    /// When a text cannot be cut to its lengths.
    pub(super) fn forms(&self, model: &str) -> Result<Vec<Form>, Failure> {
        let workloads = self.scenario.workloads.iter().zip(&self.datasets);
        workloads.map(|(workload, dataset)| self.form(workload, dataset.as_ref(), model)).collect()
    }

    fn form(
        &self,
        workload: &Workload,
        dataset: Option<&Arc<Dataset>>,
        model: &str,
    ) -> Result<Form, Failure> {
        Ok(Form {
            workload: workload.name.clone(),
            prompts: match (&workload.prompt, dataset) {
                (PromptSource::Synthetic { words, text }, _) => {
                    let passage = text.as_ref().map(|file| self.passage(file, *words, Counted::InWords));
                    Prompts::Synthetic { words: *words, passage: passage.transpose()? }
                }
                (PromptSource::Tokens(prompts), _) => Prompts::Tokens {
                    prefix_tokens: prompts.shared_prefix.map_or(0, |prefix| prefix.tokens),
                    of: match &prompts.material {
                        Material::Words => Stuff::Words,
                        Material::Ids(ids) => Stuff::Ids(*ids),
                        Material::Text(file) => {
                            Stuff::Passage(self.passage(file, prompts.tokens.max(), Counted::InTokens)?)
                        }
                    },
                },
                (PromptSource::Needle(form), _) => Prompts::Needle(form.into()),
                (PromptSource::Dataset(_), Some(dataset)) => Prompts::Rows(Arc::clone(dataset)),
                (PromptSource::Dataset(_), None) => unreachable!("every data set was scanned above"),
            },
            system: match &workload.system {
                None => System::None,
                Some(SystemText::Text(text) | SystemText::File { text, .. }) => System::Text(text.clone()),
                Some(SystemText::Tokens(tokens)) => System::Tokens(*tokens),
            },
            measure: None,
            cache: workload.cache,
            history: workload.history(dataset.map(Arc::as_ref)),
            context: workload.session.as_ref().and_then(|session| session.max_context),
            tokenizer: self.tokenizer.clone(),
            options: BodyOptions {
                model: model.to_owned(),
                stream: workload.request.stream,
                temperature: Some(workload.request.temperature),
                chat_limit: self.scenario.target.chat_limit,
                exact: workload.exact_output,
                ids: matches!(&workload.prompt, PromptSource::Tokens(prompts) if prompts.ids().is_some()),
                extra: workload.request.extra.clone(),
            },
            checks: workload.score.is_some(),
            compares: workload.consistency,
        })
    }

    /// The text of `file`, of which prompts take at most so much.
    fn passage(&self, file: &TextFile, longest: u64, counted: Counted) -> Result<Arc<Passage>, Failure> {
        let passage = match (counted, &self.tokenizer) {
            (Counted::InTokens, Some(tokenizer)) => Passage::counted(&file.text, longest, |text| {
                Some(tokenizer.count(text, Specials::Without).ok()? as u64)
            }),
            _ => Passage::in_words(&file.text, longest),
        };
        passage.map(Arc::new).map_err(|why| {
            let help = "give the length in words: prompt.text.words";
            Failure::usage(format!(
                "{} cannot be cut to a length: {why}\n  help: {help}",
                file.path.display()
            ))
        })
    }

    /// Composes this scenario's requests by `forms`.
    pub(super) fn composer(&self, forms: Vec<Form>) -> Composer {
        let rows = row_orders(&self.scenario, &self.datasets, self.seed);
        let plan = Plan::new(Arc::clone(&self.scenario), self.seed, rows).of_shard(self.shard);
        Composer::new(plan, self.scenario.target.api, forms, self.salt, self.id())
    }

    /// What ids of its requests begin with: those of the run, point and repeat, zero where there is no sweep.
    pub(super) fn id(&self) -> String {
        let (point, repeat) = self.run.map_or((0, 0), |run| (run.point, run.repeat));
        format!("{}-{point}-{repeat}", self.run_id)
    }
}

/// Reads every data set through, but those on the `shelf`, where they are put. What is wrong with one, and what else
/// there is to know, goes into `notes`.
pub(super) fn scan_datasets(
    scenario: &Scenario,
    quiet: bool,
    notes: &mut Diagnostics,
    shelf: &mut Vec<(Source, Arc<Dataset>)>,
) -> Result<Vec<Option<Arc<Dataset>>>, Failure> {
    let mut datasets: Vec<Option<Arc<Dataset>>> = Vec::new();
    for workload in &scenario.workloads {
        let PromptSource::Dataset(source) = &workload.prompt else {
            datasets.push(None);
            continue;
        };
        if let Some((_, dataset)) = shelf.iter().find(|(known, _)| known == source) {
            datasets.push(Some(Arc::clone(dataset)));
            continue;
        }
        let scan = || Dataset::scan(source);
        let scanned =
            if quiet { scan() } else { patiently(&format!("reading {}", source.path.display()), scan) };
        match scanned {
            Ok(dataset) => {
                dataset.warnings().into_iter().for_each(|warning| notes.push(warning));
                let dataset = Arc::new(dataset);
                shelf.push((source.clone(), Arc::clone(&dataset)));
                datasets.push(Some(dataset));
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
