//! From events to rows, figures and files, in order, beside the run.
//!
//! A collector is fed every event of a run. It closes each request into a record, writes the record's row,
//! and folds it. Progress while the run goes on and the report at its end are readings of the same fold.

mod eligible;
mod grading;
mod own;
mod rules;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::blocks::KnownPrompt;
use crate::dataset::tokenizer::{Specials, Tokenizer};
use crate::plan::shard::Shard;
use crate::record::{
    Ended, EndedBy, Event, Fate, GapFigures, Outcome, RequestRecord, Scraped, ServerFigure, Stamp, Timeline,
    TokenSource,
};
use crate::results::manifest::LeftOut;
use crate::results::{RequestRow, ResultsError, Writer};
use crate::scenario::{CachePolicy, Load, Margin, Phase, Scenario, ServerWatch};
use crate::scrape::track::{ScrapeTally, Track};
use eligible::Seen;
pub use grading::{AnswerCheck, Truth};
use grading::{FirstAnswers, MOST_REMEMBERED};
pub use own::Memory;
use own::{Look, Own};
use rules::Rules;

use crate::stats::Analysis;
use crate::stats::Progress;
use crate::stats::RowEvents;
use crate::stats::Slo;
use crate::stats::Window;
use crate::stats::fold::{Fold, PhaseSetup, WorkloadSetup};
use crate::stats::percentile::Percentile;
use crate::stats::timeline::PerSecond;
use crate::stats::verdict::{Figures, Finding, Thresholds, judge};
use crate::units::{Micros, Nanos};

/// Events of unfinished long streams are held up to this much in all; more are counted and left out.
const HELD_STAMPS_LIMIT: usize = 16 << 20;

/// What is known of one phase's course.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PhaseCourse {
    /// When it began to offer load, from run start.
    pub start: Micros,
    /// Where its window begins; `None` while no request has counted whose warm-up is counted in requests.
    pub window_start: Option<Micros>,
    /// Where its window ends; `None` until that is known.
    pub window_end: Option<Micros>,
    /// When it stopped offering load.
    pub ended: Option<(Micros, EndedBy)>,
    /// When its last request was over.
    pub drained: Option<Micros>,
    /// Arrivals after a stop or signal, and slots that users never reached.
    pub not_planned: u64,
}

/// Takes in a run.
pub struct Collector {
    phases: Vec<Phase>,
    /// Name and limits of each.
    workloads: Vec<(String, Slo)>,
    writer: Writer,
    origin: Nanos,
    courses: Vec<Option<PhaseCourse>>,
    fold: Fold,
    seconds: PerSecond,
    /// What the client measures of itself.
    own: Own,
    held: BTreeMap<u64, Held>,
    held_count: usize,
    held_limit: usize,
    left_out: LeftOut,
    /// Whether events come faster than they are taken in, so that rows no figure needs are not written.
    is_hurried: bool,
    progress: Progress,
    rules: Rules,
    thresholds: Thresholds,
    shard: Option<u32>,
    /// Point and repeat of a sweep.
    run: Option<(u32, u32)>,
    /// By workload.
    checks: Vec<Option<AnswerCheck>>,
    first_answers: FirstAnswers,
    /// Prompts that the server may know.
    seen: Seen,
    /// Of each page of the server's metrics.
    tracks: Vec<Track>,
    /// Where the run is analysed.
    analysis: Option<Analysis>,
    /// Counts answers that nobody else counted.
    tokenizer: Option<Arc<Tokenizer>>,
}

/// Events of a stream that has not ended.
enum Held {
    All(Vec<Stamp>),
    /// There was no room for all, so none is kept: figures of a part would be those of another stream.
    TooMany,
}

/// What a run came to.
pub struct Collected {
    /// The course of each phase that began.
    pub courses: Vec<Option<PhaseCourse>>,
    /// Its figures.
    pub fold: Fold,
    /// Its course by the second.
    pub seconds: PerSecond,
    /// What is known of each phase that counts and has rows.
    pub figures: Vec<Figures>,
    /// What the verdict rests on.
    pub findings: Vec<Finding>,
    /// What was not kept for want of room.
    pub left_out: LeftOut,
    /// First answers that were forgotten for want of room: later ones to the same request were not compared.
    pub answers_forgotten: u64,
    /// Prompts that were forgotten for want of room: later ones were not compared with them.
    pub prompts_forgotten: u64,
    /// What it needs to be analysed, if it is.
    pub analysis: Option<Analysis>,
    /// What came of looking at each page of the server's metrics.
    pub scrapes: Vec<ScrapeTally>,
    /// Where the rows went.
    pub writer: Writer,
}

impl Collector {
    /// A collector before the first event; rows go to `writer`.
    pub fn new(scenario: &Scenario, writer: Writer) -> Collector {
        let phase_setup = |phase: &Phase| PhaseSetup {
            name: phase.name.clone(),
            counts: phase.measure,
            open_loop: matches!(phase.load, Load::Open { .. }),
        };
        let workload_setup = |workload: &crate::scenario::Workload| WorkloadSetup {
            name: workload.name.clone(),
            slo: workload.slo.clone(),
            exact_output: workload.exact_output,
            scored: workload.score.is_some(),
            cold: workload.cache == CachePolicy::Cold,
        };
        let fold = Fold::new(
            None,
            None,
            scenario.phases.iter().map(phase_setup).collect(),
            scenario.workloads.iter().map(workload_setup).collect(),
        );
        Collector {
            phases: scenario.phases.clone(),
            workloads: scenario
                .workloads
                .iter()
                .map(|workload| (workload.name.clone(), workload.slo.clone()))
                .collect(),
            writer,
            origin: Nanos::ZERO,
            courses: vec![None; scenario.phases.len()],
            fold,
            seconds: PerSecond::new(None, None),
            own: Own::new(scenario.phases.len()),
            held: BTreeMap::new(),
            held_count: 0,
            held_limit: HELD_STAMPS_LIMIT,
            left_out: LeftOut::default(),
            is_hurried: false,
            progress: Progress::default(),
            rules: Rules::new(scenario.stop),
            thresholds: scenario.thresholds,
            shard: None,
            run: None,
            checks: Vec::new(),
            first_answers: FirstAnswers::new(MOST_REMEMBERED),
            seen: Seen::new(scenario.block_tokens()),
            tracks: scenario.server.iter().flat_map(tracks).collect(),
            analysis: None,
            tokenizer: None,
        }
    }

    /// The same collector, checking answers by workload.
    #[must_use]
    pub fn checking(self, checks: Vec<Option<AnswerCheck>>) -> Collector {
        Collector { checks, ..self }
    }

    /// The same collector, counting answers by a tokenizer where the server says no number.
    #[must_use]
    pub fn counting(self, tokenizer: Option<Arc<Tokenizer>>) -> Collector {
        Collector { tokenizer, ..self }
    }

    /// The same collector for one part of a run.
    #[must_use]
    pub fn of_shard(self, shard: Shard) -> Collector {
        Collector { shard: shard.is_part().then(|| shard.index()), ..self }
    }

    /// The same collector for one run of a sweep.
    #[must_use]
    pub fn of_run(mut self, point: u32, repeat: u32) -> Collector {
        self.fold = self.fold.of_run(point, repeat);
        self.seconds = PerSecond::new(Some(point), Some(repeat));
        self.run = Some((point, repeat));
        self
    }

    /// The same collector, which analyses the run if `analysed`.
    #[must_use]
    pub fn analysing(self, analysed: bool) -> Collector {
        Collector { analysis: analysed.then(Analysis::default), ..self }
    }

    /// The same collector, of a server that was sent `filled` before the run.
    #[must_use]
    pub fn after(mut self, filled: Vec<KnownPrompt>) -> Collector {
        filled.into_iter().for_each(|known| self.seen.keep(known));
        self
    }

    /// Which rule of `[stop]` was broken, if one was: the run is to be stopped.
    pub fn broken_rule(&self) -> Option<String> {
        self.rules.breach().map(Finding::to_string)
    }

    /// Takes in one event.
    ///
    /// # Errors
    /// When a row cannot be written; nothing written before is lost.
    pub fn take(&mut self, event: Event) -> Result<(), ResultsError> {
        match event {
            Event::RunStarted { origin } => self.origin = origin,
            Event::PhaseStarted { phase, at } => self.start_phase(phase, at),
            Event::Sent { request, known, at, .. } => {
                if let Some(known) = known {
                    self.seen.sent(request, known);
                }
                self.progress.sent += 1;
                self.rules.sent(at.micros_from(self.origin));
            }
            Event::Stamps { request, stamps } => {
                self.seen.answered(request);
                self.hold(request, stamps);
            }
            Event::Ended(ended) => return self.end_request(*ended),
            Event::PhaseEnded { phase, at, by } => self.end_phase(phase, at, by),
            Event::WindowStarted { phase, at } => {
                let at = at.micros_from(self.origin);
                if let Some(course) = self.course(phase) {
                    course.window_start = Some(at);
                    let window = window_of(course);
                    self.fold.set_window(phase, window);
                }
            }
            Event::PhaseDrained { phase, at, not_planned } => {
                let at = at.micros_from(self.origin);
                if let Some(course) = self.course(phase) {
                    course.drained = Some(at);
                    course.not_planned = not_planned;
                }
            }
            Event::Scraped(scraped) => return self.take_page(*scraped),
            Event::RunEnded { .. } => {}
            Event::SenderWoke { at, delay, busy, step } => {
                self.own.look(self.progress.phase, Look { at, delay, busy, step });
            }
        }
        Ok(())
    }

    /// Reads a page of the server's metrics.
    fn take_page(&mut self, scraped: Scraped) -> Result<(), ResultsError> {
        let Some(track) = self.tracks.get_mut(scraped.endpoint as usize) else { return Ok(()) };
        let (mut sample, mut extra) = track.take(scraped, self.origin);
        for look in std::iter::once(&mut sample).chain(extra.iter_mut().map(|extra| &mut extra.of)) {
            (look.point, look.repeat) = self.run.unzip();
        }
        if let Some(tokens) = sample.figures.figure(ServerFigure::BlockTokens) {
            self.seen.state_block(tokens);
        }
        if let Some(analysis) = &mut self.analysis {
            analysis.add_look(&sample);
        }
        self.writer.server(&sample, &extra)
    }

    /// Says how many CPU seconds the client took in the second from run start that begins at `t_s`.
    pub fn take_cpu(&mut self, t_s: u64, cpu_s: f64) {
        self.seconds.set_client_cpu(t_s, cpu_s);
    }

    /// Says how many bytes of events wait to be taken in.
    pub fn take_backlog(&mut self, bytes: u64) {
        self.own.backlog(self.progress.phase, bytes);
    }

    /// Says how much memory the client has had.
    pub fn take_memory(&mut self, memory: Memory) {
        self.own.memory(self.progress.phase, memory);
    }

    /// Says whether so much waits to be taken in that rows no figure needs are not to be written: those of `chunks.csv`.
    pub fn hurry(&mut self, is_hurried: bool) {
        self.is_hurried = is_hurried;
    }

    /// Says how many texts were dropped before they came here.
    pub fn add_dropped_texts(&mut self, count: u64) {
        self.left_out.responses += count;
    }

    /// Counts so far.
    pub fn progress(&self) -> Progress {
        self.progress
    }

    /// Puts what was written so far where a crash cannot take it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn flush(&mut self) -> Result<(), ResultsError> {
        self.writer.flush()
    }

    /// Ends the fold. `stopped` says that the run was stopped before its end, `simulated` that the server was
    /// not a real one.
    pub fn finish(mut self, stopped: bool, simulated: bool) -> Collected {
        if stopped {
            self.fold.mark_stopped(self.progress.phase);
        }
        for (index, course) in self.courses.iter_mut().enumerate() {
            if let Some(course) = course {
                course.window_end = self.fold.window(index as u32).map(|(_, end)| end).or(course.window_end);
            }
        }
        let mut findings: Vec<Finding> = self.rules.breach().cloned().into_iter().collect();
        let mut all = self.fold.figures();
        for figures in &mut all {
            let index = self.phases.iter().position(|phase| phase.name == figures.phase);
            if let Some(index) = index {
                figures.client = self.own.complete(index, figures.client);
            }
            findings.extend(judge(figures, &self.thresholds, simulated));
        }
        findings.extend(self.fold.answer_findings(&self.thresholds));
        findings.extend(Finding::answers_forgotten(self.first_answers.forgotten()));
        Collected {
            courses: self.courses,
            fold: self.fold,
            seconds: self.seconds,
            figures: all,
            findings,
            left_out: self.left_out,
            answers_forgotten: self.first_answers.forgotten(),
            prompts_forgotten: self.seen.forgotten(),
            analysis: self.analysis,
            scrapes: self.tracks.into_iter().map(|track| track.tally).collect(),
            writer: self.writer,
        }
    }

    fn course(&mut self, phase: u32) -> Option<&mut PhaseCourse> {
        self.courses.get_mut(phase as usize)?.as_mut()
    }

    fn start_phase(&mut self, index: u32, at: Nanos) {
        let Some(phase) = self.phases.get(index as usize) else { return };
        let start = at.micros_from(self.origin);
        let course = PhaseCourse {
            start,
            window_start: match phase.warm_up {
                Margin::Time(warm_up) => Some((at + warm_up).micros_from(self.origin)),
                Margin::PerUser(_) => None,
            },
            window_end: phase.duration.map(|duration| {
                let measured = duration.saturating_sub(phase.cool_down.time());
                (at + measured).micros_from(self.origin)
            }),
            ..PhaseCourse::default()
        };
        self.seconds.start_phase(&phase.name, start);
        self.rules.start_phase(&phase.name, start);
        self.fold.set_window(index, window_of(&course));
        self.courses[index as usize] = Some(course);
        self.progress.phase = index;
        self.progress.phase_start = at.since(self.origin);
    }

    fn end_phase(&mut self, index: u32, at: Nanos, by: EndedBy) {
        let at = at.micros_from(self.origin);
        let Some(course) = self.course(index) else { return };
        course.ended = Some((at, by));
        course.window_end = match by {
            EndedBy::Duration | EndedBy::Stop | EndedBy::Signal => {
                course.window_end.map(|end| end.min(at).max(course.window_start.unwrap_or_default()))
            }
            // As where there is no duration: until the last output of a measured row.
            EndedBy::Requests | EndedBy::Data => None,
        };
        let window = window_of(course);
        self.fold.set_window(index, window);
    }

    fn hold(&mut self, request: u64, stamps: Vec<Stamp>) {
        let count = stamps.len();
        let held = self.held.entry(request).or_insert(Held::All(Vec::new()));
        match held {
            Held::All(kept) if self.held_count + count <= self.held_limit => {
                self.held_count += count;
                kept.extend(stamps);
            }
            Held::All(kept) => {
                self.held_count -= kept.len();
                self.left_out.stamps += (kept.len() + count) as u64;
                *held = Held::TooMany;
            }
            Held::TooMany => self.left_out.stamps += count as u64,
        }
    }

    fn end_request(&mut self, mut ended: Ended) -> Result<(), ResultsError> {
        let stamps = self.stamps_of(&mut ended);
        let instants: Vec<Micros> = stamps.iter().map(|stamp| stamp.at.micros_from(self.origin)).collect();
        let tokens: Option<Vec<u32>> = stamps.iter().map(|stamp| stamp.tokens).collect();
        let events = RowEvents { stamps: &instants, tokens: tokens.as_deref() };
        let phase = ended.planned.phase as usize;
        let course = self.courses.get(phase).and_then(Option::as_ref);
        let window = course.filter(|_| self.phases[phase].measure).map(|course| match course.window_start {
            Some(_) => window_of(course),
            // Nothing that has come so far is inside.
            None => Window { start: Some(Micros(u64::MAX)), end: None },
        });
        let workload = ended.planned.workload as usize;
        let said = said(&mut ended);
        let texts = match &mut ended.fate {
            Fate::Sent(timeline) => timeline.texts.take(),
            Fate::Unsent { .. } => None,
        };
        let answer = said.as_ref().map(|(answer, _)| answer.as_str());
        let counted = self.tokenizer.as_deref().zip(answer);
        let mut record = close(ended, self.origin, events, window, counted);
        if let Some((answer, body_hash)) = said.filter(|_| record.outcome == Outcome::Ok) {
            let check = self.checks.get(workload).and_then(Option::as_ref);
            record.grade = check.and_then(|check| check.grade(&record.planned, &answer));
            record.consistent = body_hash.and_then(|hash| self.first_answers.compare(hash, &answer));
        }
        record.eligible_tokens = self.seen.ended(&record);
        record.shard = self.shard;
        (record.point, record.repeat) = self.run.unzip();
        self.rules.ended(&record);
        record.slo_met = self.workloads[workload].1.judge(&record);
        self.progress.ended += 1;
        self.progress.ok += u64::from(record.outcome == Outcome::Ok);
        self.progress.unsent += u64::from(record.sent.is_none());
        self.fold.add(&record, events);
        self.seconds.add(&record, events);
        if let Some(analysis) = &mut self.analysis {
            analysis.add(&record);
        }
        let phase = &self.phases[phase].name;
        let row = RequestRow { record: &record, phase, workload: &self.workloads[workload].0 };
        if self.is_hurried && self.writer.has_chunks() {
            self.left_out.chunks += instants.len() as u64;
        } else {
            self.writer.chunks(&record, events)?;
        }
        if let Some(texts) = texts {
            self.writer.response(&row, &texts)?;
        }
        self.writer.request(&row)
    }

    /// All token-bearing events of a request, those handed over before its end first.
    fn stamps_of(&mut self, ended: &mut Ended) -> Vec<Stamp> {
        let Fate::Sent(timeline) = &mut ended.fate else { return Vec::new() };
        let rest = std::mem::take(&mut timeline.stamps);
        match self.held.remove(&ended.planned.request) {
            None => rest,
            Some(Held::All(mut held)) => {
                self.held_count -= held.len();
                held.extend(rest);
                held
            }
            Some(Held::TooMany) => {
                self.left_out.stamps += rest.len() as u64;
                Vec::new()
            }
        }
    }
}

/// The text of an answer that is to be checked, and the hash of its request.
fn said(ended: &mut Ended) -> Option<(String, Option<u64>)> {
    match &mut ended.fate {
        Fate::Sent(timeline) => Some((timeline.answer.take()?, timeline.body_hash)),
        Fate::Unsent { .. } => None,
    }
}

/// One track for each page that is looked at.
fn tracks(server: &ServerWatch) -> impl Iterator<Item = Track> {
    server.metrics.iter().map(|_| Track::new(server.extra.clone()))
}

fn window_of(course: &PhaseCourse) -> Window {
    Window { start: course.window_start, end: course.window_end }
}

/// Closes a request into its record: instants from run start, rounded once.
fn close(
    ended: Ended,
    origin: Nanos,
    events: RowEvents<'_>,
    window: Option<Window>,
    counted: Option<(&Tokenizer, &str)>,
) -> RequestRecord {
    let at = |instant: Nanos| instant.micros_from(origin);
    let mut record = RequestRecord::unsent(ended.planned, Outcome::NotSent);
    record.user = ended.slot.user;
    record.measured = ended.slot.measured;
    record.scheduled = ended.slot.scheduled.map(at);
    record.held = ended.slot.held.map(Micros::from_duration);
    let timeline = match ended.fate {
        Fate::Unsent { outcome, error } => {
            record.outcome = outcome;
            record.error = error;
            return record;
        }
        Fate::Sent(timeline) => *timeline,
    };
    let (output_tokens, token_source) = count_output(&timeline, events, counted);
    record.outcome = timeline.outcome;
    record.http_status = timeline.http_status;
    record.sent = Some(at(timeline.sent));
    record.first_byte = timeline.first_byte.map(at);
    record.first_token = timeline.first_token.map(at);
    record.first_answer = timeline.first_answer.map(at);
    record.last_token = timeline.last_token.map(at);
    record.last_output = timeline.last_output.map(at);
    record.ended = Some(at(timeline.ended));
    record.stamp = Some(timeline.stamp);
    record.reads = Some(timeline.reads);
    record.connect = timeline.connect.map(Micros::from_duration);
    record.upload = timeline.upload.map(Micros::from_duration);
    record.gaps = gap_figures(events.stamps);
    record.prompt_tokens = timeline.usage.prompt;
    record.cached_tokens = timeline.usage.cached;
    record.output_tokens = output_tokens;
    record.reasoning_tokens = timeline.usage.reasoning;
    record.token_source = token_source;
    record.events = Some(timeline.events);
    record.attempts = Some(timeline.attempts);
    record.reconnects = Some(timeline.reconnects);
    record.new_connection = timeline.new_connection;
    record.bytes_sent = Some(timeline.bytes_sent);
    record.bytes_received = Some(timeline.bytes_received);
    record.ignored_events = Some(timeline.ignored_events);
    record.output_tokens_in_window =
        window.and_then(|window| tokens_in_window(&record, timeline.events, events, window));
    record.finish_reason = timeline.finish_reason;
    record.error = timeline.error;
    record.server_request_id = timeline.server_request_id;
    record
}

/// N and where it comes from: the server's usage, else ids or log probabilities it listed, else the counts it
/// stated event by event, else what a tokenizer counts of a whole answer that is all of the output.
fn count_output(
    timeline: &Timeline,
    events: RowEvents<'_>,
    counted: Option<(&Tokenizer, &str)>,
) -> (Option<u64>, Option<TokenSource>) {
    if let Some(tokens) = timeline.usage.completion {
        return (Some(tokens), Some(TokenSource::Server));
    }
    if let Some(tokens) = timeline.counted_tokens {
        return (Some(tokens), Some(TokenSource::Ids));
    }
    let stated = events.tokens.filter(|tokens| !tokens.is_empty());
    if let Some(tokens) = stated {
        return (Some(tokens.iter().copied().map(u64::from).sum()), Some(TokenSource::Server));
    }
    // Reasoning comes before an answer, calls of tools in its place or after it.
    let is_all = timeline.first_answer.is_some()
        && timeline.first_answer == timeline.first_token
        && timeline.finish_reason.as_deref().is_none_or(|reason| !reason.contains("tool"));
    let tokens = counted
        .filter(|_| is_all)
        .and_then(|(tokenizer, answer)| tokenizer.count(answer, Specials::Without).ok());
    (tokens.map(|tokens| tokens as u64), tokens.map(|_| TokenSource::Tokenizer))
}

/// Output tokens that arrived inside the window: by the counts of its events where each has one, else N in
/// proportion to the events inside. An answer that came as one document arrived at its end. Of events that were
/// too many to keep the first and the last are known: all inside, all outside, or no telling.
fn tokens_in_window(
    record: &RequestRecord,
    event_count: u64,
    events: RowEvents<'_>,
    window: Window,
) -> Option<f64> {
    let is_inside =
        |at: &Micros| window.start.is_none_or(|start| *at >= start) && window.end.is_none_or(|end| *at < end);
    let tokens = record.output_tokens? as f64;
    if event_count == 0 {
        return record.last_output.map(|at| if is_inside(&at) { tokens } else { 0.0 });
    }
    if events.stamps.len() as u64 != event_count {
        let (first, last) = (record.first_token?, record.last_token?);
        let is_outside =
            window.start.is_some_and(|start| last < start) || window.end.is_some_and(|end| first >= end);
        return match (is_inside(&first) && is_inside(&last), is_outside) {
            (true, _) => Some(tokens),
            (_, true) => Some(0.0),
            _ => None,
        };
    }
    if let Some(counts) = events.tokens {
        let inside = events.stamps.iter().zip(counts).filter(|(at, _)| is_inside(at));
        return Some(inside.map(|(_, count)| f64::from(*count)).sum());
    }
    let inside = events.stamps.iter().filter(|at| is_inside(at)).count();
    Some(tokens * inside as f64 / events.stamps.len() as f64)
}

/// Nearest-rank figures of the gaps, by selection: a sort would cost the collector as much as all else.
fn gap_figures(stamps: &[Micros]) -> GapFigures {
    let mut gaps: Vec<Micros> = stamps.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let mut select = |percentile: Percentile| {
        let rank = percentile.rank(gaps.len() as u64).checked_sub(1)? as usize;
        Some(*gaps.select_nth_unstable(rank).1)
    };
    let (p50, p99) = (select(Percentile::P50), select(Percentile::P99));
    GapFigures { p50, p99, max: gaps.iter().max().copied() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Planned, Slot, StampSource};
    use crate::results::Place;
    use crate::results::manifest::tests::manifest;
    use crate::scenario::{Overrides, parse};

    /// A collector of one phase of 10 s, with room for so many events of unfinished streams.
    fn collector(folder: &std::path::Path, held_limit: usize) -> Collector {
        let text = "name = \"c\"\ntarget.url = \"http://server\"\n\
                    [[workload]]\nname = \"chat\"\nprompt.synthetic = 1\n\
                    [[phase]]\nname = \"p\"\nduration = \"10s\"\nload.closed = 1\n";
        let loaded = parse("c.toml", text.as_bytes(), folder, &Overrides::default());
        let writer = Writer::create(&Place::Exact(folder.join("run")), &manifest(), text).unwrap();
        let mut collector = Collector::new(&loaded.expect("a good scenario").scenario, writer);
        collector.held_limit = held_limit;
        collector.take(Event::RunStarted { origin: Nanos(5) }).unwrap();
        collector.take(Event::PhaseStarted { phase: 0, at: Nanos(5) }).unwrap();
        collector
    }

    fn at(s: u64) -> Nanos {
        Nanos(5 + s * 1_000_000_000)
    }

    fn stamps(seconds: std::ops::Range<u64>) -> Vec<Stamp> {
        seconds.map(|s| Stamp { at: at(s), tokens: None }).collect()
    }

    /// Request `request` ended, with a token in each of `seconds`, of which those of `rest` are not handed over.
    fn end(request: u64, seconds: std::ops::Range<u64>, rest: std::ops::Range<u64>) -> Event {
        let mut timeline = Timeline::begin(at(seconds.start), StampSource::Virtual);
        timeline.outcome = Outcome::Ok;
        timeline.events = seconds.end - seconds.start;
        timeline.usage.completion = Some(timeline.events);
        let last = at(seconds.end - 1);
        (timeline.first_token, timeline.last_token) = (Some(at(seconds.start)), Some(last));
        (timeline.last_output, timeline.ended) = (Some(last), last);
        timeline.stamps = stamps(rest);
        let planned = Planned { request, session: request, ..Planned::default() };
        let slot = Slot { scheduled: Some(at(seconds.start)), measured: true, user: None, held: None };
        Event::Ended(Box::new(Ended { planned, slot, fate: Fate::Sent(Box::new(timeline)) }))
    }

    #[test]
    fn rows_of_single_events_are_left_out_and_counted_while_in_a_hurry_and_no_figure_misses_them() {
        let folder = tempfile::tempdir().unwrap();
        let mut collector = collector(folder.path(), 100);
        collector.writer.begin_details(true, false).unwrap();
        for (request, is_hurried) in [(0, false), (1, true), (2, false)] {
            collector.hurry(is_hurried);
            collector.take(end(request, 1..5, 1..5)).unwrap();
        }
        let mut collected = collector.finish(false, true);
        assert_eq!(collected.left_out, LeftOut { chunks: 4, ..LeftOut::default() });
        collected.writer.flush().unwrap();
        let rows_of = |name: &str| {
            let file = std::fs::read_to_string(folder.path().join("run").join(name)).unwrap();
            let mut reader = csv::Reader::from_reader(file.as_bytes());
            reader.deserialize().map(Result::unwrap).collect::<Vec<BTreeMap<String, String>>>()
        };
        let chunks = rows_of("chunks.csv");
        let own = |request: &str| chunks.iter().filter(|row| row["request"] == request).count();
        assert_eq!((own("0"), own("1"), own("2")), (4, 0, 4));
        let rows = rows_of("requests.csv");
        assert!(rows.iter().all(|row| row["events"] == "4" && row["gap_p50_ms"] == "1000.000"), "{rows:?}");
        assert_eq!(rows.len(), 3);
    }

    #[test]
    fn a_stream_whose_events_find_no_room_has_no_gaps_and_counts_where_it_wholly_lies() {
        let folder = tempfile::tempdir().unwrap();
        let mut collector = collector(folder.path(), 6);
        let mut hand_over =
            |request, seconds| collector.take(Event::Stamps { request, stamps: stamps(seconds) }).unwrap();
        hand_over(0, 0..4);
        hand_over(1, 1..4);
        hand_over(2, 7..9);
        hand_over(1, 4..5);
        collector.take(end(0, 0..6, 4..6)).unwrap();
        collector.take(end(1, 1..6, 5..6)).unwrap();
        collector.take(end(2, 7..12, 9..12)).unwrap();
        // Room again: this one is whole.
        collector.take(Event::Stamps { request: 3, stamps: stamps(6..11) }).unwrap();
        collector.take(end(3, 6..12, 11..12)).unwrap();
        assert_eq!(collector.held_count, 0);
        let mut collected = collector.finish(false, true);
        assert_eq!(collected.left_out.stamps, 5);
        collected.writer.flush().unwrap();
        let file = std::fs::read_to_string(folder.path().join("run/requests.csv")).unwrap();
        let mut reader = csv::Reader::from_reader(file.as_bytes());
        let rows: Vec<BTreeMap<String, String>> = reader.deserialize().map(Result::unwrap).collect();
        let column = |name: &str| rows.iter().map(|row| row[name].clone()).collect::<Vec<_>>();
        assert_eq!(column("gap_max_ms"), ["1000.000", "", "1000.000", "1000.000"]);
        assert_eq!(column("output_tokens_in_window"), ["6", "5", "3", "4"]);
        assert_eq!(column("tpot_ms"), ["1000.000"; 4]);
        assert!(collected.fold.summary().iter().all(|row| row.value.is_none_or(f64::is_finite)));
    }

    #[test]
    fn first_answers_that_find_no_room_are_told_of() {
        let folder = tempfile::tempdir().unwrap();
        let mut collector = collector(folder.path(), 6);
        collector.first_answers = FirstAnswers::new(2);
        for request in 0..5 {
            let mut event = end(request, 0..4, 0..4);
            if let Event::Ended(ended) = &mut event
                && let Fate::Sent(timeline) = &mut ended.fate
            {
                (timeline.answer, timeline.body_hash) = (Some("72".to_owned()), Some(request));
            }
            collector.take(event).unwrap();
        }
        let collected = collector.finish(false, true);
        assert_eq!(collected.answers_forgotten, 3);
        let told = collected.findings.iter().map(ToString::to_string).find(|text| text.contains("forgotten"));
        assert_eq!(
            told.as_deref(),
            Some(
                "3 first answers were forgotten for want of room: \
                 consistency says nothing of later answers to the same requests"
            )
        );
    }

    #[test]
    fn of_events_without_room_across_the_windows_end_there_is_no_telling() {
        let folder = tempfile::tempdir().unwrap();
        let mut collector = collector(folder.path(), 0);
        collector.take(Event::Stamps { request: 0, stamps: stamps(8..11) }).unwrap();
        collector.take(end(0, 8..11, 0..0)).unwrap();
        let collected = collector.finish(false, true);
        let summary = collected.fold.summary();
        let figure = |tag| summary.iter().find(|row| row.metric == tag).map(|row| row.value);
        assert_eq!(figure("output_throughput"), Some(None));
        assert_eq!(figure("uncounted_requests"), Some(Some(1.0)));
        assert_eq!(collected.seconds.rows().last().map(|second| second.output_tokens), Some(None));
    }
}
