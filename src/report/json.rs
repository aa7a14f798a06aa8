//! The summary as one JSON object, for programs.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use crate::results::Manifest;
use crate::results::manifest::{FindingEntry, PhaseEntry, PointEntry, ShardEntry, State};
use crate::results::objectives::ObjectiveEntry;
use crate::results::search::CapacityEntry;
use crate::stats::metrics::{Source, metric};
use crate::stats::{AnalysisRow, SummaryRow};

/// The summary as one JSON object on one line: headline, phases, findings, the analysis where there is one, and every figure by group, metric
/// and statistic, `null` where there is none. `folder` is where the results are.
pub fn object(manifest: &Manifest, rows: &[SummaryRow], analysis: &[AnalysisRow], folder: &Path) -> String {
    let verdict = manifest.verdict.as_ref();
    let summary = Summary {
        name: &manifest.name,
        run_id: &manifest.run_id,
        folder: folder.to_string_lossy(),
        target: &manifest.target,
        model: manifest.model.as_deref(),
        state: manifest.state,
        simulated: verdict.is_some_and(|verdict| verdict.simulated),
        verdict: verdict.map(|verdict| verdict.verdict.as_str()),
        findings: verdict.map_or(&[], |verdict| verdict.findings.as_slice()),
        phases: &manifest.phases,
        shards: &manifest.shards,
        objectives: &manifest.objectives,
        points: &manifest.points,
        analysis: analysis.iter().map(Answer::from).collect(),
        capacity: manifest.capacity.as_ref(),
        figures: figures(rows),
    };
    serde_json::to_string(&summary).expect("names are text and numbers are finite or null")
}

#[derive(Serialize)]
struct Summary<'a> {
    name: &'a str,
    run_id: &'a str,
    folder: Cow<'a, str>,
    target: &'a str,
    model: Option<&'a str>,
    state: State,
    simulated: bool,
    verdict: Option<&'a str>,
    findings: &'a [FindingEntry],
    phases: &'a [PhaseEntry],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    shards: &'a [ShardEntry],
    objectives: &'a [ObjectiveEntry],
    /// Runs of a sweep.
    #[serde(skip_serializing_if = "<[PointEntry]>::is_empty")]
    points: &'a [PointEntry],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    analysis: Vec<Answer<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    capacity: Option<&'a CapacityEntry>,
    figures: Vec<Group<'a>>,
}

/// A row of `analysis.csv`.
#[derive(Serialize)]
struct Answer<'a> {
    analysis: &'a str,
    scope: &'a str,
    term: &'a str,
    value: Option<f64>,
    ci_low: Option<f64>,
    ci_high: Option<f64>,
    unit: &'a str,
    count: u64,
    residual: Option<f64>,
    note: &'a str,
}

impl<'a> From<&'a AnalysisRow> for Answer<'a> {
    fn from(row: &'a AnalysisRow) -> Answer<'a> {
        Answer {
            analysis: row.analysis,
            scope: &row.scope,
            term: row.term,
            value: row.value.and_then(rounded),
            ci_low: row.interval.low.and_then(rounded),
            ci_high: row.interval.high.and_then(rounded),
            unit: row.unit,
            count: row.count,
            residual: row.residual.and_then(rounded),
            note: &row.note,
        }
    }
}

#[derive(Serialize)]
struct Group<'a> {
    point: Option<u32>,
    repeat: Option<u32>,
    phase: &'a str,
    workload: &'a str,
    metrics: BTreeMap<&'a str, MetricFigures<'a>>,
}

#[derive(Serialize)]
struct MetricFigures<'a> {
    unit: &'a str,
    /// Values it was taken of; none where each statistic is a count of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u64>,
    #[serde(flatten)]
    statistics: BTreeMap<&'a str, Option<f64>>,
}

fn figures(rows: &[SummaryRow]) -> Vec<Group<'_>> {
    let same_group = |a: &SummaryRow, b: &SummaryRow| {
        (a.point, a.repeat, &a.phase, &a.workload) == (b.point, b.repeat, &b.phase, &b.workload)
    };
    rows.chunk_by(same_group)
        .map(|rows| Group {
            point: rows[0].point,
            repeat: rows[0].repeat,
            phase: &rows[0].phase,
            workload: &rows[0].workload,
            metrics: rows
                .chunk_by(|a, b| a.metric == b.metric)
                .map(|rows| (rows[0].metric, of_metric(rows)))
                .collect(),
        })
        .collect()
}

/// As in the tables: six decimals are far below what can be measured.
fn rounded(value: f64) -> Option<f64> {
    value.is_finite().then(|| (value * 1e6).round() / 1e6)
}

fn of_metric(rows: &[SummaryRow]) -> MetricFigures<'_> {
    let counts_apart = metric(rows[0].metric).is_some_and(|metric| {
        matches!(
            metric.source,
            Source::Outcomes | Source::MeasuredOutcomes | Source::FinishReasons | Source::Verdicts
        )
    });
    MetricFigures {
        unit: rows[0].unit,
        count: (!counts_apart).then_some(rows[0].count),
        statistics: rows.iter().map(|row| (row.statistic, row.value.and_then(rounded))).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn figures_are_found_by_phase_metric_and_statistic() {
        let (manifest, rows) = sample::two_phases();
        let object: serde_json::Value =
            serde_json::from_str(&object(&manifest, &rows, &[], Path::new("results/documents"))).unwrap();
        assert_eq!(object["verdict"], "insufficient");
        assert_eq!(object["phases"][0]["ended_by"], "duration");
        let figures = object["figures"].as_array().unwrap();
        let high =
            figures.iter().find(|group| group["phase"] == "high" && group["workload"] == "all").unwrap();
        insta::assert_snapshot!(high["metrics"]["ttft"], @r#"{"count":400,"max":599.0,"mean":399.5,"min":200.0,"p1":203.0,"p10":239.0,"p25":299.0,"p5":219.0,"p50":399.0,"p75":499.0,"p90":559.0,"p95":579.0,"p99":595.0,"p99.9":null,"sd":115.614301,"unit":"ms"}"#);
        assert_eq!(high["metrics"]["measured_requests"]["http_error"], 3.0);
        assert_eq!(high["metrics"]["measured_requests"].get("count"), None);
    }

    #[test]
    fn c138_figures_that_cannot_be_had_are_null() {
        let (manifest, rows) = sample::all_failed();
        let text = object(&manifest, &rows, &[], Path::new("results/documents"));
        assert!(!text.to_lowercase().contains(":nan") && !text.to_lowercase().contains(":inf"));
        let object: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert!(object["figures"][0]["metrics"]["ttft"]["p50"].is_null());
    }
}
