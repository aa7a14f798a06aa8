//! What a run was: the part of the results that no row can hold.
//!
//! Written at the start with state `running` and again at the end, so that a run that was killed can be told
//! from one that ended. Field names are stable; durations and instants carry their unit in the name.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::memory::MemoryEntry;
use super::objectives::ObjectiveEntry;
use super::search::{CapacityEntry, StepEntry};
use crate::stats::objective::Answer;
use crate::stats::verdict::Figures;
use crate::stats::{Finding, Slo, SloMetric, Thresholds, Verdict, WorkloadSetup};

/// The number of this form of the manifest.
pub const FORMAT: u32 = 1;

/// `manifest.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Form of the file: [`FORMAT`].
    pub format: u32,
    /// Version of the program.
    pub tool_version: String,
    /// Stands in every request's id.
    pub run_id: String,
    /// Which part of the run: `k/n`, k from 0; none for all of it.
    #[serde(default)]
    pub shard: Option<String>,
    /// The parts that were joined to it, in order; empty for a run of one process.
    #[serde(default)]
    pub shards: Vec<ShardEntry>,
    /// The machine it ran on; none under the virtual clock, and of joined parts.
    #[serde(default)]
    pub host: Option<Host>,
    /// Name of the scenario.
    pub name: String,
    /// When the run began, RFC 3339.
    pub started: String,
    /// How far it came.
    pub state: State,
    /// What the plan was drawn from.
    pub seed: u64,
    /// What made its prompts unlike those of other runs.
    pub salt: Option<String>,
    /// Address of the server without secrets, or `sim`.
    pub target: String,
    /// The model asked for.
    pub model: Option<String>,
    /// What the server said of itself before the run.
    #[serde(default)]
    pub serving: ServerEntry,
    /// Which clock ran.
    pub clock: ClockKind,
    /// Where times of rows come from: `kernel`, `read`, `virtual`.
    pub stamps: Option<String>,
    /// CLOCK_MONOTONIC at the run's zero; none under the virtual clock.
    pub origin_monotonic_ns: Option<u64>,
    /// Limits of one exchange.
    pub timeouts: Timeouts,
    /// Every phase of every point and repeat, in order of running.
    pub phases: Vec<PhaseEntry>,
    /// What the figures rest on, by workload.
    pub workloads: Vec<WorkloadEntry>,
    /// Rows of data sets that were left out, by reason.
    pub skipped_rows: Vec<SkippedRows>,
    /// First answers to a request that were forgotten for want of room, so that later ones were not compared.
    #[serde(default)]
    pub answers_forgotten: u64,
    /// Prompts that were forgotten for want of room, so that later ones were not compared with them.
    #[serde(default)]
    pub prompts_forgotten: u64,
    /// Whether the server's metrics are looked at.
    #[serde(default)]
    pub watches_server: bool,
    /// Tokens of a block of the server's memory, as far as the scenario says.
    #[serde(default)]
    pub block_tokens: Option<u64>,
    /// What came of looking at each page of the server's metrics.
    #[serde(default)]
    pub server: Vec<PageEntry>,
    /// The model in the server's memory, where the scenario tells of it.
    #[serde(default)]
    pub memory: Option<MemoryEntry>,
    /// What was not kept for want of room.
    #[serde(default)]
    pub left_out: LeftOut,
    /// How the lengths of prompts in tokens were had, by workload; empty where none were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lengths: Vec<LengthsEntry>,
    /// Free text of the scenario's `[about]`.
    pub about: BTreeMap<String, String>,
    /// What had to hold, and whether it did.
    #[serde(default)]
    pub objectives: Vec<ObjectiveEntry>,
    /// The limits that the verdict goes by.
    #[serde(default)]
    pub thresholds: Thresholds,
    /// Whether the figures can be trusted; none while running. Of a sweep that of its best run.
    pub verdict: Option<VerdictEntry>,
    /// Every run of a sweep that has ended, in order of running; empty without one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub points: Vec<PointEntry>,
    /// What a search came to; none before it has ended, and without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<CapacityEntry>,
    /// Each time that an interrupted sweep was taken up again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resumed: Vec<ResumeEntry>,
}

/// What a server says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerEntry {
    /// Its version; none where it does not tell.
    pub version: Option<String>,
    /// Its `server` header.
    pub header: Option<String>,
    /// The models it lists, the first hundred.
    pub models: Vec<String>,
}

/// A run of a sweep that has ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PointEntry {
    /// Its point, from 1.
    pub point: u32,
    /// Its repeat, from 1.
    pub repeat: u32,
    /// What its axes were set to, in their order.
    pub settings: Vec<Setting>,
    /// How far it came.
    pub state: PointState,
    /// What its plan was drawn from.
    pub seed: u64,
    /// What made its prompts unlike those of other runs.
    pub salt: String,
    /// Whether its figures can be trusted.
    pub verdict: Option<VerdictEntry>,
    /// The worst that became of an objective; none without one.
    #[serde(default)]
    pub objectives: Option<Answer>,
    /// What it says in a search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StepEntry>,
}

/// An axis of a sweep at one of its steps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// Name of the axis.
    pub axis: String,
    /// What it is called there: a plain number, or text.
    pub value: String,
}

/// How far a run of a sweep came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PointState {
    /// To its end.
    Complete,
    /// To a stop rule: it has failed.
    Stopped,
    /// To a signal, or a failure of the client: it is run again when the sweep is resumed.
    Interrupted,
}

impl PointState {
    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            PointState::Complete => "complete",
            PointState::Stopped => "stopped",
            PointState::Interrupted => "interrupted",
        }
    }
}

/// A sweep taken up again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResumeEntry {
    /// When, RFC 3339.
    pub started: String,
    /// The same from run start.
    pub at_s: f64,
    /// CLOCK_MONOTONIC at the run's zero from then on; none under the virtual clock.
    pub origin_monotonic_ns: Option<u64>,
    /// Rows of the run that was under way, which is run again: they were removed.
    pub rows_removed: u64,
}

/// How far a run came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It has begun, and has not said that it ended.
    Running,
    /// To its end.
    Complete,
    /// To a stop rule, or a failure of the client.
    Stopped,
    /// To a signal.
    Interrupted,
}

/// Which clock a run was under.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClockKind {
    /// The world's.
    Real,
    /// The rehearsal's.
    Virtual,
}

/// Limits of one exchange; none where there is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Timeouts {
    /// To a connection.
    pub connect_s: Option<f64>,
    /// To the first generated text.
    pub first_token_s: Option<f64>,
    /// Of silence after it.
    pub idle_s: Option<f64>,
    /// Of the whole exchange.
    pub total_s: Option<f64>,
}

/// A phase as it ran. Instants are from run start; none where it did not come to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhaseEntry {
    /// Point of a sweep, from 1.
    pub point: Option<u32>,
    /// Repeat of a point, from 1.
    pub repeat: Option<u32>,
    /// Its name.
    pub name: String,
    /// Whether it counts.
    pub measured: bool,
    /// Whether requests came at their own times, whatever the server did.
    pub open_loop: bool,
    /// Whether its window ends with the last output of a measured row, because no duration ended it.
    pub counted: bool,
    /// Whether the run was stopped before it had drained.
    pub stopped: bool,
    /// When it began to offer load.
    pub start_s: Option<f64>,
    /// Where its window begins.
    pub window_start_s: Option<f64>,
    /// Where its window ends.
    pub window_end_s: Option<f64>,
    /// When it stopped offering load.
    pub end_s: Option<f64>,
    /// When its last request was over.
    pub drained_s: Option<f64>,
    /// Why it stopped offering load: `duration`, `requests`, `data`, `stop`, `signal`.
    pub ended_by: Option<String>,
    /// Requests `planned`, `sent`, and by outcome those that occurred, measured or not.
    pub requests: BTreeMap<String, u64>,
    /// Arrivals after a stop or signal, and slots that users never reached: due, and no longer planned.
    pub not_planned: u64,
    /// How the client itself fared; none where it did not come to the phase.
    #[serde(default)]
    pub client: Option<ClientEntry>,
}

/// The machine of a run, and what is known of its time of day.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// Its time of day at the run's zero, in ns since 1970.
    pub origin_unix_ns: Option<u64>,
    /// Whether its time of day is kept to that of other machines; none where nothing tells.
    pub synchronised: Option<bool>,
    /// What says so.
    pub synchronised_by: Option<String>,
}

/// A part of a run that was joined with the others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardEntry {
    /// Which: `k/n`, k from 0.
    pub shard: String,
    /// How far it came.
    pub state: State,
    /// Its rows.
    pub rows: u64,
    /// The machine it ran on.
    pub host: Option<Host>,
}

/// How the client fared in a phase: figures over measured rows that no table holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClientEntry {
    /// p99 of how late the sender's event loop woke.
    pub loop_delay_p99_ms: Option<f64>,
    /// p99 over rows of the longest time that bytes lay before they were read; none without kernel stamps.
    pub read_delay_p99_ms: Option<f64>,
    /// Reads that completed an event with tokens.
    pub reads: u64,
    /// Those of them that completed more than one.
    pub shared_reads: u64,
    /// Kernel stamps that were missing or impossible, and were replaced by the nearest possible time.
    pub clamped_stamps: u64,
}

impl From<&Figures> for ClientEntry {
    fn from(figures: &Figures) -> ClientEntry {
        ClientEntry {
            loop_delay_p99_ms: figures.loop_delay_p99_ms,
            read_delay_p99_ms: figures.read_delay_p99_ms,
            reads: figures.reads,
            shared_reads: figures.shared_reads,
            clamped_stamps: figures.clamped_stamps,
        }
    }
}

impl ClientEntry {
    /// Puts them beside the figures that follow from rows.
    pub fn complete(&self, figures: Figures) -> Figures {
        Figures {
            loop_delay_p99_ms: self.loop_delay_p99_ms,
            read_delay_p99_ms: self.read_delay_p99_ms,
            reads: self.reads,
            shared_reads: self.shared_reads,
            clamped_stamps: self.clamped_stamps,
            ..figures
        }
    }

    /// Those of two clients together: counts add up, and of delays the longer one stands.
    #[must_use]
    pub fn join(self, other: ClientEntry) -> ClientEntry {
        let longer = |a: Option<f64>, b: Option<f64>| a.into_iter().chain(b).reduce(f64::max);
        ClientEntry {
            loop_delay_p99_ms: longer(self.loop_delay_p99_ms, other.loop_delay_p99_ms),
            read_delay_p99_ms: longer(self.read_delay_p99_ms, other.read_delay_p99_ms),
            reads: self.reads + other.reads,
            shared_reads: self.shared_reads + other.shared_reads,
            clamped_stamps: self.clamped_stamps + other.clamped_stamps,
        }
    }
}

/// How a workload's prompts were made to their lengths.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LengthsEntry {
    /// Point of a sweep, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub point: Option<u32>,
    /// Repeat of a point, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<u32>,
    /// The workload's name.
    pub workload: String,
    /// Where its words come from: `common` (those that are one token in every common vocabulary), `tokenizer` (the
    /// scenario's file), `endpoint` (the server's), or `ids` where prompts are lists of them.
    pub words: String,
    /// Tokens that template and instructions add, as the server counts; none where it does not say.
    pub overhead_tokens: Option<u64>,
    /// Tokens of a word, as the server counts.
    pub tokens_per_word: f64,
    /// By how much of its length a probe differed from what was expected of it; none where the server does not count.
    pub error_share: Option<f64>,
}

/// What the figures of a workload rest on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkloadEntry {
    /// Its name.
    pub name: String,
    /// Whether answers had to have exactly the length asked for.
    pub exact_output: bool,
    /// How its answers are checked, by the name of the kind; none where they are not.
    #[serde(default)]
    pub score: Option<String>,
    /// What of its prompts a server's prefix cache could know: `cold`, `shared`, `natural`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<String>,
    /// Limits of its requests by metric, in ms.
    pub slo_ms: BTreeMap<String, f64>,
}

impl WorkloadEntry {
    /// A workload whose answers may have any length.
    pub fn new(name: &str, slo: &Slo) -> WorkloadEntry {
        let in_ms =
            |(metric, limit): &(SloMetric, Duration)| (metric.name().to_owned(), limit.as_secs_f64() * 1e3);
        WorkloadEntry {
            name: name.to_owned(),
            exact_output: false,
            score: None,
            cache: None,
            slo_ms: slo.limits.iter().map(in_ms).collect(),
        }
    }

    /// What a fold must know of it. Limits of metrics that are not known are left out.
    pub fn setup(&self) -> WorkloadSetup {
        let limit = |metric: SloMetric| {
            let ms = self.slo_ms.get(metric.name())?;
            Some((metric, Duration::from_nanos((ms * 1e6).round() as u64)))
        };
        WorkloadSetup {
            name: self.name.clone(),
            exact_output: self.exact_output,
            scored: self.score.is_some(),
            cold: self.cache.as_deref() == Some("cold"),
            slo: Slo { limits: SloMetric::ALL.into_iter().filter_map(limit).collect() },
        }
    }
}

/// Rows of a data set that were left out for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedRows {
    /// Name of the workload.
    pub workload: String,
    /// Why.
    pub reason: String,
    /// How many.
    pub rows: u64,
}

/// What came of looking at a page of the server's metrics.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageEntry {
    /// The page, as the scenario names it.
    pub page: String,
    /// `vllm`, `sglang` or `llamacpp`; none where no page had a name that is known.
    pub server: Option<String>,
    /// Looks that were made.
    pub looks: u64,
    /// Of those, looks that brought no page.
    pub failed: u64,
    /// Looks left out because the one before took too long.
    pub missed: u64,
    /// Times that a counter went back, because the server began anew.
    pub resets: u64,
    /// Lines that could not be read.
    pub faults: u64,
    /// Values of counters that were left out because there were too many series.
    pub series_left_out: u64,
    /// Why the last failed look failed.
    pub last_error: Option<String>,
}

/// What was not kept for want of room. Rows of requests are never among it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Token-bearing events whose times no figure has.
    pub stamps: u64,
    /// Rows of `chunks.csv`.
    pub chunks: u64,
    /// Lines of `responses.jsonl`.
    pub responses: u64,
}

impl LeftOut {
    /// Both together.
    #[must_use]
    pub fn join(self, other: LeftOut) -> LeftOut {
        LeftOut {
            stamps: self.stamps + other.stamps,
            chunks: self.chunks + other.chunks,
            responses: self.responses + other.responses,
        }
    }
}

/// Whether the figures can be trusted, and what there is to know about them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VerdictEntry {
    /// `valid`, `insufficient` or `invalid`.
    pub verdict: String,
    /// Whether the server was simulated.
    pub simulated: bool,
    /// What speaks against them.
    pub findings: Vec<FindingEntry>,
}

/// A finding in words and figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FindingEntry {
    /// What it is about: `send_delay`.
    pub kind: String,
    /// `warning`, `insufficient` or `invalid`.
    pub severity: String,
    /// Name of the phase.
    pub phase: String,
    /// What was found, in `unit`.
    pub measured: f64,
    /// The limit, in `unit`.
    pub threshold: f64,
    /// `ms`, `share`, `requests` or `times`.
    pub unit: String,
    /// What was found and what it means.
    pub text: String,
    /// What to do.
    pub advice: String,
}

impl VerdictEntry {
    /// The verdict of these findings.
    pub fn new(findings: &[Finding], simulated: bool) -> VerdictEntry {
        VerdictEntry {
            verdict: Verdict::of(findings).name().to_owned(),
            simulated,
            findings: findings.iter().map(FindingEntry::from).collect(),
        }
    }

    /// The verdict; an unknown word is taken for the worst.
    pub fn verdict(&self) -> Verdict {
        let known = [Verdict::Valid, Verdict::Insufficient, Verdict::Invalid];
        known.into_iter().find(|verdict| verdict.name() == self.verdict).unwrap_or(Verdict::Invalid)
    }

    /// Puts findings that were told before in front; the worst of all is the verdict.
    #[must_use]
    pub fn preceded_by(mut self, told: Vec<FindingEntry>) -> VerdictEntry {
        let weigh = |verdict: Verdict| told.iter().any(|finding| finding.severity == verdict.name());
        let worst = [Verdict::Invalid, Verdict::Insufficient]
            .into_iter()
            .find(|verdict| self.verdict == verdict.name() || weigh(*verdict));
        self.verdict = worst.unwrap_or(Verdict::Valid).name().to_owned();
        self.findings.splice(0..0, told);
        self
    }
}

impl FindingEntry {
    /// Whether it says why the run was stopped.
    pub fn is_stop(&self) -> bool {
        self.kind.starts_with("stopped_")
    }
}

impl VerdictEntry {
    /// That of a sweep: the best of its runs, since each stands for itself, with each kind of finding once, in the
    /// words of the first run that has it.
    pub fn of_points(points: &[PointEntry], simulated: bool) -> VerdictEntry {
        let verdicts = points.iter().filter_map(|point| point.verdict.as_ref());
        let names = [Verdict::Valid, Verdict::Insufficient, Verdict::Invalid].map(Verdict::name);
        let has = |name: &&str| verdicts.clone().any(|verdict| verdict.verdict == *name);
        let best = names.into_iter().find(has).unwrap_or(Verdict::Invalid.name());
        let mut found: Vec<(FindingEntry, usize)> = Vec::new();
        for finding in verdicts.clone().flat_map(|verdict| &verdict.findings) {
            let key =
                |entry: &FindingEntry| (entry.kind.clone(), entry.severity.clone(), entry.phase.clone());
            match found.iter_mut().find(|(known, _)| key(known) == key(finding)) {
                Some((_, count)) => *count += 1,
                None => found.push((finding.clone(), 1)),
            }
        }
        let findings = found.into_iter().map(|(finding, count)| FindingEntry {
            text: format!("in {count} of {} runs; first: {}", points.len(), finding.text),
            ..finding
        });
        VerdictEntry { verdict: best.to_owned(), simulated, findings: findings.collect() }
    }
}

impl From<&Finding> for FindingEntry {
    fn from(finding: &Finding) -> FindingEntry {
        FindingEntry {
            kind: finding.kind.name().to_owned(),
            severity: finding.severity.name().to_owned(),
            phase: finding.phase.clone(),
            measured: finding.measured,
            threshold: finding.threshold,
            unit: finding.kind.measure().name().to_owned(),
            text: finding.to_string(),
            advice: finding.kind.advice().to_owned(),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::stats::verdict::{Figures, judge};

    pub(crate) fn manifest() -> Manifest {
        Manifest {
            format: FORMAT,
            tool_version: "0.1.0".to_owned(),
            run_id: "r1".to_owned(),
            shard: None,
            shards: Vec::new(),
            host: None,
            name: "documents".to_owned(),
            started: "2025-01-02T03:04:05Z".to_owned(),
            state: State::Running,
            seed: 7,
            salt: None,
            target: "http://127.0.0.1:8000".to_owned(),
            model: Some("tiny".to_owned()),
            serving: ServerEntry::default(),
            clock: ClockKind::Real,
            stamps: Some("read".to_owned()),
            origin_monotonic_ns: Some(123_456_789),
            timeouts: Timeouts {
                connect_s: Some(5.0),
                first_token_s: Some(120.0),
                idle_s: Some(60.0),
                total_s: None,
            },
            phases: vec![PhaseEntry {
                point: None,
                repeat: None,
                name: "steady".to_owned(),
                measured: true,
                open_loop: true,
                counted: false,
                stopped: false,
                start_s: Some(0.0),
                window_start_s: Some(30.0),
                window_end_s: Some(300.0),
                end_s: Some(300.0),
                drained_s: Some(304.000_123),
                ended_by: Some("duration".to_owned()),
                requests: [("planned".to_owned(), 3), ("sent".to_owned(), 3), ("ok".to_owned(), 3)].into(),
                not_planned: 0,
                client: None,
            }],
            workloads: vec![WorkloadEntry {
                name: "chat".to_owned(),
                exact_output: false,
                score: None,
                cache: None,
                slo_ms: [("ttft".to_owned(), 400.0)].into(),
            }],
            skipped_rows: vec![SkippedRows {
                workload: "chat".to_owned(),
                reason: "no answer".to_owned(),
                rows: 12,
            }],
            answers_forgotten: 0,
            prompts_forgotten: 0,
            watches_server: false,
            block_tokens: None,
            server: Vec::new(),
            memory: None,
            left_out: LeftOut::default(),
            lengths: Vec::new(),
            about: BTreeMap::new(),
            objectives: Vec::new(),
            thresholds: Thresholds::default(),
            verdict: None,
            points: Vec::new(),
            capacity: None,
            resumed: Vec::new(),
        }
    }

    #[test]
    fn a_manifest_is_read_back_as_it_was_written() {
        let figures =
            Figures { phase: "steady".to_owned(), ok: 3, decided: 3, measured: 3, ..Figures::default() };
        let verdict = VerdictEntry::new(&judge(&figures, &Thresholds::default(), true), true);
        let written = Manifest { state: State::Interrupted, verdict: Some(verdict), ..manifest() };
        let text = serde_json::to_string_pretty(&written).unwrap();
        assert_eq!(serde_json::from_str::<Manifest>(&text).unwrap(), written);
        insta::assert_snapshot!(text, @r#"
        {
          "format": 1,
          "tool_version": "0.1.0",
          "run_id": "r1",
          "shard": null,
          "shards": [],
          "host": null,
          "name": "documents",
          "started": "2025-01-02T03:04:05Z",
          "state": "interrupted",
          "seed": 7,
          "salt": null,
          "target": "http://127.0.0.1:8000",
          "model": "tiny",
          "serving": {
            "version": null,
            "header": null,
            "models": []
          },
          "clock": "real",
          "stamps": "read",
          "origin_monotonic_ns": 123456789,
          "timeouts": {
            "connect_s": 5.0,
            "first_token_s": 120.0,
            "idle_s": 60.0,
            "total_s": null
          },
          "phases": [
            {
              "point": null,
              "repeat": null,
              "name": "steady",
              "measured": true,
              "open_loop": true,
              "counted": false,
              "stopped": false,
              "start_s": 0.0,
              "window_start_s": 30.0,
              "window_end_s": 300.0,
              "end_s": 300.0,
              "drained_s": 304.000123,
              "ended_by": "duration",
              "requests": {
                "ok": 3,
                "planned": 3,
                "sent": 3
              },
              "not_planned": 0,
              "client": null
            }
          ],
          "workloads": [
            {
              "name": "chat",
              "exact_output": false,
              "score": null,
              "slo_ms": {
                "ttft": 400.0
              }
            }
          ],
          "skipped_rows": [
            {
              "workload": "chat",
              "reason": "no answer",
              "rows": 12
            }
          ],
          "answers_forgotten": 0,
          "prompts_forgotten": 0,
          "watches_server": false,
          "block_tokens": null,
          "server": [],
          "memory": null,
          "left_out": {
            "stamps": 0,
            "chunks": 0,
            "responses": 0
          },
          "about": {},
          "objectives": [],
          "thresholds": {
            "delay_ms": 1.0,
            "delay_share": 0.05,
            "delay_invalid_ms": 10.0,
            "delay_invalid_share": 0.1,
            "shared_reads": 0.2,
            "client_errors": 0.001,
            "rate_not_reached": 0.02,
            "few_answers": 36,
            "growing": 0.5,
            "short_window": 5.0,
            "unfinished": 0.01,
            "unfinished_insufficient": 0.1,
            "failed": 0.01,
            "failed_insufficient": 0.1,
            "prompt_length": 0.05,
            "output_length": 0.05,
            "truncated": 0.1,
            "repeated_rows": 0.01,
            "strange_hits": 0.05,
            "cache_unused": 0.05,
            "bursts": 0.5,
            "no_answer": 0.05,
            "not_right_truncated": 0.5,
            "accuracy_falls": 0.02
          },
          "verdict": {
            "verdict": "insufficient",
            "simulated": true,
            "findings": [
              {
                "kind": "few_answers",
                "severity": "insufficient",
                "phase": "steady",
                "measured": 3.0,
                "threshold": 36.0,
                "unit": "requests",
                "text": "only 3 measured requests ended ok (wanted 36): high percentiles cannot be told from fewer",
                "advice": "run longer, or send more requests"
              }
            ]
          }
        }
        "#);
    }
}
