//! What a run was: the part of the results that no row can hold.
//!
//! Written at the start with state `running` and again at the end, so that a run that was killed can be told
//! from one that ended. Field names are stable; durations and instants carry their unit in the name.

mod phase;
mod point;
mod shard;
mod verdict;
mod workload;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use phase::PhaseEntry;
pub use point::{PointEntry, PointState, ResumeEntry, Setting};
pub use shard::{Host, ShardEntry};
pub use verdict::{FindingEntry, VerdictEntry};
pub use workload::{LengthsEntry, SkippedRows, WorkloadEntry};

use super::memory::MemoryEntry;
use super::objectives::ObjectiveEntry;
use super::search::CapacityEntry;
use crate::stats::Thresholds;

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

impl Manifest {
    /// The phase of that name, at a point and repeat where there are such.
    pub fn phase(&self, point: Option<u32>, repeat: Option<u32>, name: &str) -> Option<&PhaseEntry> {
        let is_it =
            |entry: &&PhaseEntry| (entry.point, entry.repeat, entry.name.as_str()) == (point, repeat, name);
        self.phases.iter().find(is_it)
    }
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
            "sender_cpu": 0.8,
            "clock_step_ms": 10.0,
            "backlog_bytes": 16777216,
            "memory": 0.5,
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
