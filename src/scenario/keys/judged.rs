//! Tables of what must hold of a run's figures, and of which files are written.

use super::tables::{REQUIRED, key};
use super::{Fallback, Kind, Table};
use crate::stats::Objective;

pub(super) const OBJECTIVE: Table = Table {
    path: "objective",
    doc: "What must hold of one figure. It passes or fails where the figure's 95 % interval lies wholly on one side of \
          the bound; else it is undetermined, and the sample insufficient.",
    example: r#"[[objective]]
metric = "ttft"
percentile = 99
at_most = "3s"

[[objective]]
metric = "success"
at_least = "99%""#,
    one_of: &["at_most", "at_least"],
    keys: &[
        key(
            "metric",
            Kind::Choice(Objective::METRICS),
            REQUIRED,
            r#""ttft""#,
            "The metric, as in `summary.csv`; `docs/metrics.md` defines each.",
        ),
        key(
            "percentile",
            Kind::Percentile,
            Fallback::None("the metric's only figure; a latency or a length needs one"),
            "99",
            "Which percentile of a latency or a length.",
        ),
        key(
            "at_most",
            Kind::Bound,
            Fallback::None("bounded from below: `at_least`"),
            r#""3s""#,
            "The figure may be this or less.",
        ),
        key(
            "at_least",
            Kind::Bound,
            Fallback::None("bounded from above: `at_most`"),
            r#""1ms""#,
            "The figure may be this or more.",
        ),
        key(
            "phase",
            Kind::Name,
            Fallback::None("every measured phase, each for itself"),
            r#""p""#,
            "Name of a measured phase.",
        ),
        key("workload", Kind::Name, Fallback::None("all together"), r#""w""#, "Name of a workload."),
        key(
            "over",
            Kind::Choice(&["all", "ok"]),
            Fallback::Value(r#""all""#),
            r#""ok""#,
            "Which requests a latency is taken of: `all`, from the time they were due, failed and dropped ones as \
             infinitely late; or those that ended `ok`, from the time they were sent.",
        ),
        key(
            "points",
            Kind::Choice(&["none", "all"]),
            Fallback::Value(r#""none""#),
            r#""all""#,
            "At which points of a sweep it must hold, so that exit code 5 is avoided. It is judged at each of them either way.",
        ),
    ],
};

pub(super) const RESULTS: Table = Table {
    path: "results",
    doc: "Files of results beside those that are always written. No figure needs them. Where results come faster than \
          they can be written, their rows are left out and counted before anything else is.",
    example: r#"[results]
chunks = true
responses = true"#,
    one_of: &[],
    keys: &[
        key(
            "chunks",
            Kind::Boolean,
            Fallback::Value("false"),
            "true",
            "Whether `chunks.csv` is written: request, number, time, gap and tokens of each event that carried tokens.",
        ),
        key(
            "responses",
            Kind::Boolean,
            Fallback::Value("false"),
            "true",
            "Whether `responses.jsonl` is written: answer, reasoning and tool calls of each request, exactly as they came.",
        ),
    ],
};
