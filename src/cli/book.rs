//! The results of a run or a sweep: opened before it, filled run by run, closed after it, and told to the user.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::answers;
use super::args::ScenarioArgs;
use super::exit::{Exit, Failure};
use super::hunt::Hunt;
use super::prepare::Prepared;
use super::resume::Resume;
use crate::collect::{Collected, Collector, PhaseCourse};
use crate::report::{self, json, terminal};
use crate::results::manifest::{
    ClockKind, FORMAT, Host, LeftOut, LengthsEntry, PageEntry, PhaseEntry, PointEntry, PointState,
    ResumeEntry, ServerEntry, SkippedRows, State, Timeouts, VerdictEntry, WorkloadEntry,
};
use crate::results::memory::MemoryEntry;
use crate::results::objectives::{ObjectiveEntry, any_fails, any_fails_at_a_point, undetermined};
use crate::results::search::CapacityEntry;
use crate::results::{Manifest, Place, ResultsError, Writer, points, reader};
use crate::scenario::{Endpoint, Load, MetricsPage};
use crate::scrape::track::ScrapeTally;
use crate::stats::analysis::{Known, Step};
use crate::stats::memory::BLOCK_TOKENS;
use crate::stats::{Analysis, AnalysisRow, SummaryRow, Verdict};

/// What a run knows of itself before its first request.
pub(super) struct Facts<'a> {
    pub(super) prepared: &'a Prepared,
    pub(super) model: String,
    /// What the server says of itself.
    pub(super) serving: ServerEntry,
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

impl<'a> Facts<'a> {
    /// Makes the results folder, or opens the one of the sweep to go on with; its manifest says that the run is on.
    pub(super) fn open(&'a self, args: &ScenarioArgs) -> Result<Book<'a>, Failure> {
        let failed = |error: ResultsError| {
            let exit = match error {
                ResultsError::Exists { .. } => Exit::Usage,
                _ => Exit::Unexpected,
            };
            Failure::new(exit, format!("{error}"))
        };
        if let Some(resume) = self.prepared.resume.as_deref() {
            return self.reopen(resume);
        }
        let place = match &args.out {
            Some(out) => Place::Exact(out.clone()),
            None => {
                let name = &self.prepared.scenario.name;
                let at = self.prepared.started.strftime("%Y%m%dT%H%M%SZ");
                Place::Fresh(PathBuf::from(format!("results/{name}-{at}")))
            }
        };
        let scenario = crate::scenario::resolved(&self.prepared.scenario);
        let mut manifest = self.manifest();
        if self.prepared.is_series() {
            // Those of each run are added as it begins.
            manifest.phases.clear();
        }
        let mut writer = Writer::create(&place, &manifest, &scenario).map_err(failed)?;
        if let Some(server) = &self.prepared.scenario.server {
            writer.begin_server(!server.extra.is_empty()).map_err(failed)?;
        }
        let details = self.prepared.scenario.results;
        writer.begin_details(details.chunks, details.responses).map_err(failed)?;
        if let Some(sweep) = &self.prepared.scenario.sweep {
            let axes = sweep.axes.iter().map(|axis| axis.name.as_str());
            writer.create_points(&points::header(axes, false)).map_err(failed)?;
        }
        if let Some(capacity) = &self.prepared.scenario.capacity {
            let name = std::iter::once(capacity.name.as_str());
            writer.create_points(&points::header(name, true)).map_err(failed)?;
        }
        let folder = writer.folder().to_owned();
        Ok(Book {
            facts: self,
            manifest,
            folder,
            writer: Some(writer),
            summary: Vec::new(),
            analysis: Vec::new(),
            failed: None,
        })
    }

    fn reopen(&'a self, resume: &Resume) -> Result<Book<'a>, Failure> {
        let mut manifest = resume.manifest.clone();
        let (writer, rows_removed) =
            Writer::resume(&resume.folder, &|key| resume.is_done(key)).map_err(Failure::unexpected)?;
        manifest.resumed.push(ResumeEntry {
            started: self.prepared.started.to_string(),
            at_s: resume.end().as_secs_f64(),
            origin_monotonic_ns: None,
            rows_removed,
        });
        writer.write_manifest(&manifest).map_err(Failure::unexpected)?;
        let folder = reader::read(&resume.folder, |_, _| ()).map_err(Failure::unexpected)?;
        let summary = folder.summary();
        let folder = resume.folder.clone();
        Ok(Book {
            facts: self,
            manifest,
            folder,
            writer: Some(writer),
            summary,
            analysis: Vec::new(),
            failed: None,
        })
    }

    fn manifest(&self) -> Manifest {
        let scenario = &self.prepared.scenario;
        let timeouts = &scenario.target.timeouts;
        let phases = phase_entries(self.prepared);
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
            serving: self.serving.clone(),
            clock: self.clock,
            stamps: Some(self.stamps.to_owned()),
            origin_monotonic_ns: None,
            timeouts: Timeouts {
                connect_s: Some(timeouts.connect.as_secs_f64()),
                first_token_s: Some(timeouts.first_token.as_secs_f64()),
                idle_s: Some(timeouts.idle.as_secs_f64()),
                total_s: timeouts.total.map(|total| total.as_secs_f64()),
            },
            phases,
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
            lengths: Vec::new(),
            about: scenario.about.clone(),
            objectives: scenario.objectives.iter().map(ObjectiveEntry::from).collect(),
            thresholds: scenario.thresholds,
            verdict: None,
            points: Vec::new(),
            capacity: None,
            resumed: Vec::new(),
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

/// The results of a run under way.
pub(super) struct Book<'a> {
    facts: &'a Facts<'a>,
    manifest: Manifest,
    folder: PathBuf,
    /// `None` while a run has it.
    writer: Option<Writer>,
    /// Every figure so far.
    summary: Vec<SummaryRow>,
    /// What rows and looks say together, once they are all there.
    analysis: Vec<AnalysisRow>,
    /// The first file that could not be written.
    failed: Option<ResultsError>,
}

impl Book<'_> {
    /// What takes in the events of `step`, which is about to begin; `lengths` says how its prompts are made to theirs.
    pub(super) fn begin(
        &mut self,
        step: &Prepared,
        lengths: Vec<LengthsEntry>,
    ) -> Result<Collector, Failure> {
        let writer = self.writer.take();
        let writer = writer.ok_or_else(|| Failure::unexpected("a run began before the last was over"))?;
        self.manifest.lengths.extend(lengths);
        if step.run.is_some() {
            self.manifest.phases.extend(phase_entries(step));
        }
        writer.write_manifest(&self.manifest).map_err(Failure::unexpected)?;
        let collector = Collector::new(&step.scenario, writer).of_shard(step.shard);
        let collector = collector.checking(answers::checks(step));
        Ok(match step.run {
            Some(run) => collector.of_run(run.point, run.repeat),
            None => collector.analysing(self.manifest.is_analysed()),
        })
    }

    /// Writes what `step` came to. False where that could not be done.
    pub(super) fn end(
        &mut self,
        step: &Prepared,
        collected: Collected,
        state: State,
        hunt: Option<&mut Hunt<'_>>,
    ) -> bool {
        let summary = collected.fold.summary();
        let mut objectives = self.manifest.objectives.clone();
        objectives.iter_mut().for_each(|objective| objective.judge(&summary));
        let mut findings = collected.findings.clone();
        findings.extend(undetermined(&objectives));
        let verdict = VerdictEntry::new(&findings, self.facts.simulated);
        let point_state = match state {
            State::Complete => PointState::Complete,
            State::Stopped => PointState::Stopped,
            State::Running | State::Interrupted => PointState::Interrupted,
        };
        let judged = hunt.map(|hunt| hunt.take(&collected, &verdict, point_state));
        let Collected {
            courses,
            fold,
            seconds,
            figures,
            left_out,
            scrapes,
            analysis,
            answers_forgotten,
            prompts_forgotten,
            mut writer,
            ..
        } = collected;
        self.manifest.answers_forgotten += answers_forgotten;
        self.manifest.prompts_forgotten += prompts_forgotten;
        self.manifest.left_out = self.manifest.left_out.join(left_out);
        add_pages(&mut self.manifest.server, self.facts.pages(&scrapes));
        let first = self.manifest.phases.len().saturating_sub(courses.len());
        for (index, (entry, course)) in self.manifest.phases[first..].iter_mut().zip(&courses).enumerate() {
            if let Some(course) = course {
                fill(entry, course);
                let facts = fold.facts(index as u32);
                entry.counted = facts.is_some_and(|facts| facts.counted);
                entry.stopped = facts.is_some_and(|facts| facts.stopped);
                entry.client =
                    figures.iter().find(|known| known.phase == entry.name).map(|known| known.client);
                entry.requests =
                    fold.outcomes(index as u32).into_iter().map(|(name, n)| (name.to_owned(), n)).collect();
            }
        }
        let mut tables = vec![
            writer.gaps(&fold.gaps()),
            writer.summary(&summary),
            writer.timeline(&seconds.rows()),
            writer.accuracy(&fold.accuracy()),
        ];
        match step.run {
            None => {
                self.manifest.verdict = Some(verdict);
                let known = known(&self.manifest, Step::of(&fold, None, None));
                self.analysis = analysis.map(|analysis| analysis.rows(&known)).unwrap_or_default();
                if self.manifest.is_analysed() {
                    tables.push(writer.analysis(&self.analysis));
                }
            }
            Some(run) => {
                let entry = PointEntry {
                    point: run.point,
                    repeat: run.repeat,
                    settings: step.settings.clone(),
                    state: point_state,
                    seed: step.seed.0,
                    salt: format!("{:016x}", step.salt.0),
                    verdict: Some(verdict),
                    objectives: objectives.iter().flat_map(|it| &it.judged).map(|judged| judged.answer).max(),
                    step: judged,
                };
                let is_search = self.facts.prepared.scenario.capacity.is_some();
                tables.push(writer.point(&points::row(&entry, is_search, &summary)));
                self.manifest.points.push(entry);
            }
        }
        tables.push(writer.flush());
        if step.run.is_some() {
            tables.push(writer.write_manifest(&self.manifest));
        }
        self.summary.extend(summary);
        self.writer = Some(writer);
        let failed = tables.into_iter().find_map(Result::err);
        let is_whole = failed.is_none();
        self.failed = self.failed.take().or(failed);
        is_whole
    }

    /// Says what the search came to.
    pub(super) fn set_capacity(&mut self, capacity: CapacityEntry) {
        self.manifest.capacity = Some(capacity);
    }

    /// The runs so far.
    pub(super) fn points(&self) -> &[PointEntry] {
        &self.manifest.points
    }

    /// How long their phases have taken, draining included.
    pub(super) fn taken(&self) -> Duration {
        taken(&self.manifest)
    }

    /// Writes the last word, prints the result, and says how to end.
    pub(super) fn close(mut self, end: &End, args: &ScenarioArgs) -> Result<Exit, Failure> {
        let manifest = &mut self.manifest;
        manifest.state = if self.failed.is_none() { end.state } else { State::Stopped };
        match manifest.resumed.last_mut() {
            Some(resumed) => resumed.origin_monotonic_ns = end.origin.monotonic_ns,
            None => {
                manifest.origin_monotonic_ns = end.origin.monotonic_ns;
                if let Some(host) = &mut manifest.host {
                    host.origin_unix_ns = end.origin.unix_ns;
                }
            }
        }
        let summary = &self.summary;
        manifest.objectives.iter_mut().for_each(|objective| objective.judge(summary));
        if self.facts.prepared.is_series() {
            manifest.verdict = Some(VerdictEntry::of_points(&manifest.points, self.facts.simulated));
        }
        let folder = self.folder.as_path();
        let written = self.writer.as_ref().map_or(Ok(()), |writer| writer.write_manifest(manifest));
        let written = self.failed.take().map_or(written, Err);
        if self.facts.prepared.is_series() && written.is_ok() && manifest.is_analysed() {
            // Rows of all runs together: those of each are gone.
            let mut analysis = Analysis::default();
            let read = reader::read(folder, |_, record| analysis.add(record)).map_err(Failure::unexpected)?;
            self.analysis = super::report::analyse(&read, analysis)?;
        }
        if args.json {
            print(&json::object(manifest, &self.summary, &self.analysis, folder), folder)?;
        } else {
            let told = terminal::text(manifest, &self.summary) + &report::analysis::text(&self.analysis);
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
        let verdicts = [Verdict::Valid, Verdict::Insufficient];
        let told = manifest.verdict.as_ref().map(|verdict| verdict.verdict.as_str());
        let verdict = verdicts.into_iter().find(|verdict| told == Some(verdict.name()));
        // In a sweep or search each run stands for itself: some are there to miss, unless it is said that none may.
        let missed = match self.facts.prepared.is_series() {
            true => any_fails_at_a_point(&manifest.objectives),
            false => any_fails(&manifest.objectives),
        };
        if manifest.capacity.as_ref().is_some_and(|capacity| capacity.undetermined.is_some()) {
            return Ok(Exit::Invalid);
        }
        Ok(exit(verdict.unwrap_or(Verdict::Invalid), missed, args.strict))
    }
}

/// How long the phases of `manifest` have taken, draining included.
pub(super) fn taken(manifest: &Manifest) -> Duration {
    let length = |entry: &PhaseEntry| Some(entry.drained_s.or(entry.end_s)? - entry.start_s?);
    let seconds = manifest.phases.iter().filter_map(length).sum();
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}

/// Adds what came of looking at each page in one run to what came of it in those before.
fn add_pages(pages: &mut Vec<PageEntry>, more: Vec<PageEntry>) {
    if pages.is_empty() {
        *pages = more;
        return;
    }
    for (page, more) in pages.iter_mut().zip(more) {
        page.looks += more.looks;
        page.failed += more.failed;
        page.missed += more.missed;
        page.resets += more.resets;
        page.faults += more.faults;
        page.series_left_out += more.series_left_out;
        page.server = page.server.take().or(more.server);
        page.last_error = more.last_error.or(page.last_error.take());
    }
}

/// The phases of a run that has not begun.
fn phase_entries(step: &Prepared) -> Vec<PhaseEntry> {
    let phases = step.scenario.phases.iter().map(|phase| PhaseEntry {
        point: step.run.map(|run| run.point),
        repeat: step.run.map(|run| run.repeat),
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
    phases.collect()
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
