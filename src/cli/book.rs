//! The results of one run: opened before it, closed after it, and told to the user.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use super::answers;
use super::args::ScenarioArgs;
use super::exit::{Exit, Failure};
use super::prepare::Prepared;
use crate::blocks::KnownPrompt;
use crate::collect::{Collected, Collector, PhaseCourse};
use crate::report::{self, json, terminal};
use crate::results::manifest::{
    ClientEntry, ClockKind, FORMAT, Host, LeftOut, LengthsEntry, PageEntry, PhaseEntry, SkippedRows, State,
    Timeouts, VerdictEntry, WorkloadEntry,
};
use crate::results::memory::MemoryEntry;
use crate::results::objectives::{ObjectiveEntry, any_fails, undetermined};
use crate::results::{Manifest, Place, ResultsError, Writer};
use crate::scenario::{Endpoint, Load, MetricsPage};
use crate::scrape::track::ScrapeTally;
use crate::stats::Verdict;
use crate::stats::analysis::{Known, Step};
use crate::stats::memory::BLOCK_TOKENS;

/// What a run knows of itself before its first request.
pub(super) struct Facts<'a> {
    pub(super) prepared: &'a Prepared,
    pub(super) model: String,
    /// How lengths in tokens were had.
    pub(super) lengths: Vec<LengthsEntry>,
    /// Shared prefixes that were sent before the run.
    pub(super) filled: Vec<KnownPrompt>,
    pub(super) clock: ClockKind,
    pub(super) stamps: &'static str,
    /// A simulated server answered.
    pub(super) simulated: bool,
    /// The machine; none under the virtual clock.
    pub(super) host: Option<Host>,
}

/// The run's zero by other clocks; none under the virtual one.
#[derive(Clone, Copy, Default)]
pub(super) struct Origin {
    /// CLOCK_MONOTONIC.
    pub(super) monotonic_ns: Option<u64>,
    /// Time of day, since 1970.
    pub(super) unix_ns: Option<u64>,
}

/// How a run came to its end.
pub(super) struct End {
    pub(super) state: State,
    pub(super) origin: Origin,
    /// A failure of ours that stopped it.
    pub(super) failure: Option<String>,
}

impl Facts<'_> {
    /// Makes the results folder, its manifest saying that the run is on.
    pub(super) fn open(&self, args: &ScenarioArgs) -> Result<Writer, Failure> {
        let place = match &args.out {
            Some(out) => Place::Exact(out.clone()),
            None => {
                let name = &self.prepared.scenario.name;
                let at = self.prepared.started.strftime("%Y%m%dT%H%M%SZ");
                Place::Fresh(PathBuf::from(format!("results/{name}-{at}")))
            }
        };
        let scenario = crate::scenario::resolved(&self.prepared.scenario);
        let writer = Writer::create(&place, &self.manifest(), &scenario).and_then(|mut writer| {
            if let Some(server) = &self.prepared.scenario.server {
                writer.begin_server(!server.extra.is_empty())?;
            }
            let files = self.prepared.scenario.results;
            writer.begin_details(files.chunks, files.responses)?;
            Ok(writer)
        });
        writer.map_err(|error| {
            let exit = match error {
                ResultsError::Exists { .. } => Exit::Usage,
                _ => Exit::Unexpected,
            };
            Failure::new(exit, format!("{error}"))
        })
    }

    /// Writes what the run came to, prints it, and says how to end.
    pub(super) fn close(
        &self,
        collected: Collected,
        end: &End,
        args: &ScenarioArgs,
    ) -> Result<Exit, Failure> {
        let Collected {
            courses,
            fold,
            seconds,
            figures,
            mut findings,
            left_out,
            scrapes,
            analysis,
            answers_forgotten,
            prompts_forgotten,
            mut writer,
            ..
        } = collected;
        let summary = fold.summary();
        let mut manifest = self.manifest();
        manifest.objectives.iter_mut().for_each(|objective| objective.judge(&summary));
        findings.extend(undetermined(&manifest.objectives));
        let verdict = Verdict::of(&findings);
        let tables = [
            writer.gaps(&fold.gaps()),
            writer.summary(&summary),
            writer.timeline(&seconds.rows()),
            writer.accuracy(&fold.accuracy()),
            writer.flush(),
        ];
        let tables: Result<(), ResultsError> = tables.into_iter().collect();
        manifest.left_out = left_out;
        manifest.state = if tables.is_ok() { end.state } else { State::Stopped };
        manifest.origin_monotonic_ns = end.origin.monotonic_ns;
        if let Some(host) = &mut manifest.host {
            host.origin_unix_ns = end.origin.unix_ns;
        }
        manifest.server = self.pages(&scrapes);
        manifest.answers_forgotten = answers_forgotten;
        manifest.prompts_forgotten = prompts_forgotten;
        manifest.verdict = Some(VerdictEntry::new(&findings, self.simulated));
        for (index, (entry, course)) in manifest.phases.iter_mut().zip(&courses).enumerate() {
            if let Some(course) = course {
                fill(entry, course);
                let facts = fold.facts(index as u32);
                entry.counted = facts.is_some_and(|facts| facts.counted);
                entry.stopped = facts.is_some_and(|facts| facts.stopped);
                entry.client = figures.iter().find(|known| known.phase == entry.name).map(ClientEntry::from);
                entry.requests =
                    fold.outcomes(index as u32).into_iter().map(|(name, n)| (name.to_owned(), n)).collect();
            }
        }
        let known = known(&manifest, Step::of(&fold, None, None));
        let analysis = analysis.map(|analysis| analysis.rows(&known)).unwrap_or_default();
        let analysed = if manifest.is_analysed() { writer.analysis(&analysis) } else { Ok(()) };
        let written = tables.and(analysed).and(writer.write_manifest(&manifest));
        let folder = writer.folder();
        if args.json {
            print(&json::object(&manifest, &summary, &analysis, folder), folder)?;
        } else {
            let told = terminal::text(&manifest, &summary) + &report::analysis::text(&analysis);
            print(&format!("{told}\n{}", folder.display()), folder)?;
        }
        if !folder.exists() {
            let gone = format!("the results folder {} was removed while the run went on", folder.display());
            return Err(Failure::unexpected(format!("{gone}: what is printed above is all there is")));
        }
        if let Some(failure) = &end.failure {
            return Err(Failure::unexpected(format!("the run was stopped: {failure}")));
        }
        written.map_err(Failure::unexpected)?;
        Ok(exit(verdict, any_fails(&manifest.objectives), args.strict))
    }

    /// A collector whose rows go to `writer`.
    pub(super) fn collector(&self, writer: Writer) -> Collector {
        let analysed = self.manifest().is_analysed();
        let collector = Collector::new(&self.prepared.scenario, writer).of_shard(self.prepared.shard);
        collector.checking(answers::checks(self.prepared)).analysing(analysed).after(self.filled.clone())
    }

    fn manifest(&self) -> Manifest {
        let scenario = &self.prepared.scenario;
        let timeouts = &scenario.target.timeouts;
        let phases = scenario.phases.iter().map(|phase| PhaseEntry {
            point: None,
            repeat: None,
            name: phase.name.clone(),
            measured: phase.measure,
            open_loop: matches!(phase.load, Load::Open { .. }),
            counted: false,
            stopped: false,
            start_s: None,
            window_start_s: None,
            window_end_s: None,
            end_s: None,
            drained_s: None,
            ended_by: None,
            requests: BTreeMap::new(),
            not_planned: 0,
            client: None,
        });
        Manifest {
            format: FORMAT,
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            run_id: self.prepared.run_id.clone(),
            shard: self.prepared.shard.to_text(),
            shards: Vec::new(),
            host: self.host.clone(),
            name: scenario.name.clone(),
            started: self.prepared.started.to_string(),
            state: State::Running,
            seed: self.prepared.seed.0,
            salt: Some(format!("{:016x}", self.prepared.salt.0)),
            target: match &scenario.target.endpoint {
                Endpoint::Url(url) => url.to_string(),
                Endpoint::Sim { profile, .. } => format!("sim {profile}"),
            },
            model: Some(self.model.clone()),
            clock: self.clock,
            stamps: Some(self.stamps.to_owned()),
            origin_monotonic_ns: None,
            timeouts: Timeouts {
                connect_s: Some(timeouts.connect.as_secs_f64()),
                first_token_s: Some(timeouts.first_token.as_secs_f64()),
                idle_s: Some(timeouts.idle.as_secs_f64()),
                total_s: timeouts.total.map(|total| total.as_secs_f64()),
            },
            phases: phases.collect(),
            workloads: scenario
                .workloads
                .iter()
                .map(|workload| WorkloadEntry {
                    score: workload.score.as_ref().map(|rule| rule.kind().name().to_owned()),
                    exact_output: workload.exact_output,
                    cache: Some(workload.cache.name().to_owned()),
                    ..WorkloadEntry::new(&workload.name, &workload.slo)
                })
                .collect(),
            skipped_rows: self.skipped_rows(),
            answers_forgotten: 0,
            prompts_forgotten: 0,
            watches_server: scenario.server.is_some(),
            block_tokens: scenario.server.as_ref().and_then(|server| server.block_size),
            server: Vec::new(),
            memory: scenario.model.as_ref().map(|model| MemoryEntry::new(model, scenario.block_tokens())),
            left_out: LeftOut::default(),
            lengths: self.lengths.clone(),
            about: scenario.about.clone(),
            objectives: scenario.objectives.iter().map(ObjectiveEntry::from).collect(),
            verdict: None,
        }
    }

    /// What came of looking at each page.
    fn pages(&self, scrapes: &[ScrapeTally]) -> Vec<PageEntry> {
        let pages = self.prepared.scenario.server.iter().flat_map(|server| &server.metrics);
        let entry = |(page, tally): (&MetricsPage, &ScrapeTally)| PageEntry {
            page: page.text(),
            server: tally.server.map(str::to_owned),
            looks: tally.looks,
            failed: tally.failed,
            missed: tally.missed,
            resets: tally.resets,
            faults: tally.faults,
            series_left_out: tally.series_left_out,
            last_error: tally.last_error.clone(),
        };
        pages.zip(scrapes).map(entry).collect()
    }

    fn skipped_rows(&self) -> Vec<SkippedRows> {
        let workloads = self.prepared.scenario.workloads.iter().zip(&self.prepared.datasets);
        let with_data = workloads.filter_map(|(workload, dataset)| Some((workload, dataset.as_ref()?)));
        let skipped = with_data.flat_map(|(workload, dataset)| {
            dataset.skipped().iter().map(|skipped| SkippedRows {
                workload: workload.name.clone(),
                reason: skipped.reason.describe(dataset.format()),
                rows: skipped.count,
            })
        });
        skipped.collect()
    }
}

/// What an analysis must know beside rows and looks.
pub(super) fn known(manifest: &Manifest, steps: Vec<Step>) -> Known {
    Known {
        steps,
        model_tokens: manifest.memory.as_ref().and_then(|memory| memory.kv_tokens),
        block_tokens: manifest.block_tokens.unwrap_or(BLOCK_TOKENS),
    }
}

/// How to end with this verdict, where an objective was `missed` or none: figures that cannot stand miss nothing.
pub(super) fn exit(verdict: Verdict, missed: bool, strict: bool) -> Exit {
    match verdict {
        Verdict::Invalid => Exit::Invalid,
        Verdict::Insufficient if strict => Exit::Invalid,
        _ if missed => Exit::Missed,
        Verdict::Valid | Verdict::Insufficient => Exit::Done,
    }
}

/// Prints the result. A closed pipe is the reader's choice, and the files stand.
fn print(text: &str, folder: &Path) -> Result<(), Failure> {
    let mut out = std::io::stdout();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::unexpected(format!(
            "cannot write to standard output: {error}\n  help: the results are in {}",
            folder.display()
        ))),
        _ => Ok(()),
    }
}

fn fill(entry: &mut PhaseEntry, course: &PhaseCourse) {
    entry.start_s = Some(course.start.as_s());
    entry.window_start_s = course.window_start.map(|start| start.as_s());
    entry.window_end_s = course.window_end.map(|end| end.as_s());
    entry.end_s = course.ended.map(|(at, _)| at.as_s());
    entry.ended_by = course.ended.map(|(_, by)| by.name().to_owned());
    entry.drained_s = course.drained.map(|at| at.as_s());
    entry.not_planned = course.not_planned;
}
