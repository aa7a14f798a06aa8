//! The runs of a sweep side by side: a line for each, what its axes were set to first.

use super::figure::{NONE, percent, short, time};
use crate::results::Manifest;
use crate::results::manifest::{PointEntry, PointState};
use crate::results::text::printable;
use crate::stats::SummaryRow;
use crate::stats::fold::ALL;

/// Title, metric, statistic and how it is written.
type Figure = (&'static str, &'static str, &'static str, fn(f64) -> String);

/// Figures of the table.
const FIGURES: [Figure; 9] = [
    ("sent/s", "achieved_rate", "value", short),
    ("success", "success", "value", percent),
    ("good", "attainment", "value", percent),
    ("TTFT p50", "ttft", "p50", time),
    ("TTFT p90", "ttft", "p90", time),
    ("TTFT p99", "ttft", "p99", time),
    ("TPOT p50", "tpot", "p50", time),
    ("E2E p90", "e2e", "p90", time),
    ("output/s", "output_throughput", "value", short),
];

/// The table's cells, titles first; figures are of all measured phases and workloads. Columns without any figure are
/// left out.
pub(super) fn cells(manifest: &Manifest, rows: &[SummaryRow]) -> Vec<Vec<String>> {
    let Some(first) = manifest.points.first() else { return Vec::new() };
    let all: Vec<&SummaryRow> = rows.iter().filter(|row| row.phase == ALL && row.workload == ALL).collect();
    let has_repeats = manifest.points.iter().any(|entry| entry.repeat > 1);
    let is_search = manifest.points.iter().any(|entry| entry.step.is_some());
    let figure = |entry: &PointEntry, metric: &str, statistic: &str| {
        let key = (Some(entry.point), Some(entry.repeat), metric, statistic);
        all.iter().find(|row| (row.point, row.repeat, row.metric, row.statistic) == key)?.value
    };
    let shown: Vec<_> = FIGURES
        .iter()
        .filter(|(_, metric, statistic, _)| {
            manifest.points.iter().any(|entry| figure(entry, metric, statistic).is_some())
        })
        .collect();
    let mut titles = vec!["point".to_owned()];
    titles.extend(has_repeats.then(|| "repeat".to_owned()));
    titles.extend(first.settings.iter().map(|setting| printable(&setting.axis)));
    titles.push("verdict".to_owned());
    titles.extend(is_search.then(|| "step".to_owned()));
    titles.extend(shown.iter().map(|(title, ..)| (*title).to_owned()));
    let mut table = vec![titles];
    for entry in &manifest.points {
        let mut line = vec![entry.point.to_string()];
        line.extend(has_repeats.then(|| entry.repeat.to_string()));
        line.extend(entry.settings.iter().map(|setting| printable(&setting.value)));
        line.push(match (entry.state, &entry.verdict) {
            (PointState::Complete, Some(verdict)) => verdict.verdict.clone(),
            (state, _) => state.name().to_owned(),
        });
        if is_search {
            line.push(entry.step.as_ref().map_or(NONE.to_owned(), |step| step.result.clone()));
        }
        line.extend(shown.iter().map(|(_, metric, statistic, write)| {
            figure(entry, metric, statistic).map_or(NONE.to_owned(), write)
        }));
        table.push(line);
    }
    table
}

/// What a search came to, in one line.
pub(super) fn answer(manifest: &Manifest) -> Option<String> {
    let capacity = manifest.capacity.as_ref()?;
    let held = capacity.held_s.map_or(String::new(), |seconds| format!(" over {} s", short(seconds)));
    let mut line = match (capacity.holds, capacity.fails) {
        (Some(holds), Some(fails)) => format!("holds at {holds}{held}, fails at {fails}"),
        (Some(holds), None) => format!("holds at {holds}{held}, the highest that was tried"),
        (None, Some(fails)) => format!("fails at {fails}, and nothing lower was seen to hold"),
        (None, None) => "not known".to_owned(),
    };
    match capacity.unclear {
        Some((low, high)) if low < high => line += &format!("; {low} to {high} did not tell"),
        Some((only, _)) => line += &format!("; {only} did not tell"),
        None => {}
    }
    if let Some(why) = &capacity.undetermined {
        line += &format!("; undetermined: {}", printable(why));
    }
    Some(format!("{}: {line}", printable(&capacity.key)))
}

/// The table as lines of text, in columns flush right.
pub(super) fn text(manifest: &Manifest, rows: &[SummaryRow]) -> String {
    let table = cells(manifest, rows);
    let columns = table.first().map_or(0, Vec::len);
    let width = |column: usize| table.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for line in &table {
        for (cell, width) in line.iter().zip(&widths) {
            text.push_str(&format!("  {cell:>width$}"));
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;
    use crate::results::manifest::Setting;

    #[test]
    fn each_run_has_a_line_and_columns_without_figures_are_left_out() {
        let (manifest, rows) = sample::two_phases();
        let entry = |point, value: &str, state| PointEntry {
            point,
            repeat: 1,
            settings: vec![Setting { axis: "users".to_owned(), value: value.to_owned() }],
            state,
            seed: 7,
            salt: String::new(),
            verdict: manifest.verdict.clone(),
            objectives: None,
            step: None,
        };
        let points = vec![entry(1, "8", PointState::Complete), entry(2, "64", PointState::Stopped)];
        let of = |point: u32| {
            rows.iter()
                .filter(move |row| point == 1 || row.metric != "ttft")
                .cloned()
                .map(move |row| SummaryRow { point: Some(point), repeat: Some(1), ..row })
        };
        let rows: Vec<SummaryRow> = of(1).chain(of(2)).filter(|row| row.metric != "tpot").collect();
        let manifest = Manifest { points, ..manifest };
        insta::assert_snapshot!(text(&manifest, &rows), @r#"
        point  users       verdict  sent/s  success    good  TTFT p50  TTFT p90  TTFT p99  E2E p90  output/s
            1      8  insufficient    7.07   98.6 %  51.9 %    389 ms    557 ms    595 ms   1.76 s       287
            2     64       stopped    7.07   98.6 %  51.9 %         –         –         –   1.76 s       287
        "#);
    }
}
