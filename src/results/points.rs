//! `points.csv`: one row for each run of a sweep, its axes first, then every figure of all measured phases and
//! workloads as `<metric>_<statistic>`.

use super::manifest::PointEntry;
use super::text::{number, plain, quote_from, text};
use crate::stats::SummaryRow;
use crate::stats::fold::ALL;
use crate::stats::metrics::METRICS;
use crate::stats::objective::Answer;

/// Decimals of a figure: as in `summary.csv`.
const DECIMALS: usize = 6;

/// Columns between the axes and the figures.
const OWN: [&str; 5] = ["point", "repeat", "state", "verdict", "objectives"];

/// Every figure there is, by metric and statistic.
fn figures() -> impl Iterator<Item = (&'static str, &'static str)> {
    METRICS
        .iter()
        .flat_map(|metric| metric.source.statistics().into_iter().map(|statistic| (metric.tag, statistic)))
}

/// Columns after those in a search.
const OF_SEARCH: [&str; 6] = ["step_result", "reason", "decided_by", "misses", "n", "n_eff"];

/// The header row of a sweep over `axes`, or of a search over one.
pub fn header<'a>(axes: impl Iterator<Item = &'a str>, is_search: bool) -> String {
    let figures = figures().map(|(tag, statistic)| format!("{tag}_{statistic}"));
    let of_search = OF_SEARCH.into_iter().filter(|_| is_search);
    let mut line =
        axes.chain(OWN).chain(of_search).map(str::to_owned).chain(figures).collect::<Vec<_>>().join(",");
    line.push('\n');
    line
}

/// The row of one run, of a search or not, of whose `summary` the join of all phases and workloads is told. A run that
/// a signal ended says nothing of the search.
pub fn row(entry: &PointEntry, is_search: bool, summary: &[SummaryRow]) -> String {
    let mut line = String::new();
    let mut cell = |write: &dyn Fn(&mut String)| {
        if !line.is_empty() {
            line.push(',');
        }
        let start = line.len();
        write(&mut line);
        quote_from(start, &mut line);
    };
    for setting in &entry.settings {
        cell(&|cell| text(cell, Some(&setting.value)));
    }
    cell(&|cell| plain(cell, Some(entry.point)));
    cell(&|cell| plain(cell, Some(entry.repeat)));
    cell(&|cell| plain(cell, Some(entry.state.name())));
    cell(&|cell| plain(cell, entry.verdict.as_ref().map(|verdict| &verdict.verdict)));
    cell(&|cell| plain(cell, entry.objectives.map(Answer::name)));
    if is_search {
        let step = entry.step.as_ref();
        cell(&|cell| plain(cell, step.map(|step| &step.result)));
        cell(&|cell| plain(cell, step.map(|step| &step.reason)));
        cell(&|cell| text(cell, step.and_then(|step| step.decided_by.as_deref())));
        cell(&|cell| plain(cell, step.map(|step| step.misses)));
        cell(&|cell| plain(cell, step.map(|step| step.n)));
        cell(&|cell| number(cell, step.and_then(|step| step.n_eff), DECIMALS));
    }
    let all: Vec<&SummaryRow> =
        summary.iter().filter(|row| row.phase == ALL && row.workload == ALL).collect();
    // The summary has its figures in the order of the table of metrics.
    let mut rest = all.iter().peekable();
    for (tag, statistic) in figures() {
        let found = rest.next_if(|row| (row.metric, row.statistic) == (tag, statistic));
        cell(&|cell| number(cell, found.and_then(|row| row.value), DECIMALS));
    }
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use super::super::manifest::{PointState, Setting, VerdictEntry};
    use super::*;

    fn summary(metric: &'static str, statistic: &'static str, value: Option<f64>) -> SummaryRow {
        SummaryRow {
            point: Some(2),
            repeat: Some(1),
            phase: ALL.to_owned(),
            workload: ALL.to_owned(),
            metric,
            statistic,
            value,
            ci_low: None,
            ci_high: None,
            count: 9,
            needs: None,
            unit: "ms",
        }
    }

    #[test]
    fn every_row_has_a_cell_for_every_column_and_axes_come_first() {
        let setting = |axis: &str, value: &str| Setting { axis: axis.to_owned(), value: value.to_owned() };
        let entry = PointEntry {
            point: 2,
            repeat: 1,
            settings: vec![setting("users", "8"), setting("shape", "a,b")],
            state: PointState::Complete,
            seed: 7,
            salt: "00".to_owned(),
            verdict: Some(VerdictEntry::new(&[], true)),
            objectives: Some(Answer::Pass),
            step: None,
        };
        let rows: Vec<SummaryRow> = figures()
            .map(|(tag, statistic)| {
                summary(tag, statistic, (tag == "ttft" && statistic == "p50").then_some(1.5))
            })
            .collect();
        let file = header(["users", "shape"].into_iter(), false) + &row(&entry, false, &rows);
        let mut reader = csv::Reader::from_reader(file.as_bytes());
        let header = reader.headers().unwrap().clone();
        let row = reader.records().next().unwrap().unwrap();
        assert_eq!(
            header.iter().take(7).collect::<Vec<_>>(),
            ["users", "shape", "point", "repeat", "state", "verdict", "objectives"]
        );
        assert_eq!(
            row.iter().take(7).collect::<Vec<_>>(),
            ["8", "a,b", "2", "1", "complete", "valid", "pass"]
        );
        let told: Vec<_> = header.iter().zip(&row).skip(7).filter(|(_, cell)| !cell.is_empty()).collect();
        assert_eq!(told, [("ttft_p50", "1.5")]);
        // A run of a search that a signal ended has no result, and its cells all the same.
        let cells = |line: &str| line.matches(',').count();
        let header = super::header(["users", "shape"].into_iter(), true);
        assert_eq!(
            cells(&super::row(
                &PointEntry { settings: vec![setting("users", "8"), setting("shape", "a")], ..entry },
                true,
                &rows
            )),
            cells(&header)
        );
    }

    #[test]
    fn a_summary_has_its_figures_in_the_order_of_the_columns() {
        use crate::stats::{Fold, PhaseSetup};
        let phase = PhaseSetup { name: "p".to_owned(), counts: true, open_loop: true };
        let rows = Fold::new(None, None, vec![phase], Vec::new()).summary();
        let all = rows.iter().filter(|row| row.phase == ALL && row.workload == ALL);
        assert_eq!(
            all.map(|row| (row.metric, row.statistic)).collect::<Vec<_>>(),
            figures().collect::<Vec<_>>()
        );
    }
}
