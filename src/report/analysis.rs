//! The analysis of long contexts for a terminal.

use super::figure::{grouped, short};
use crate::results::text::printable;
use crate::stats::AnalysisRow;

/// Lines for every answer and every open question; empty where nothing was asked.
pub fn text(rows: &[AnalysisRow]) -> String {
    let mut text = String::new();
    let shown = rows.iter().filter(|row| !is_told_elsewhere(row));
    let (answers, open): (Vec<_>, Vec<_>) = shown.partition(|row| row.value.is_some());
    if !answers.is_empty() {
        text += "\nanalysis\n";
    }
    let mut said = "";
    for row in answers {
        // Terms of one fit rest on the same evidence.
        text += &format!("  {}\n", answer(row, row.note != said));
        said = &row.note;
    }
    if !open.is_empty() {
        text += "\nnot identifiable\n";
    }
    for row in open {
        let what = row.note.strip_prefix("not identifiable: ").unwrap_or(&row.note);
        text += &format!("  {}: {}\n", name(row), printable(what));
    }
    text
}

/// The throughput of each rung stands with its phase, or in the table of points.
fn is_told_elsewhere(row: &AnalysisRow) -> bool {
    (row.analysis, row.term) == ("knee", "output_throughput")
}

fn name(row: &AnalysisRow) -> String {
    let of = if row.scope.is_empty() { String::new() } else { format!(" of {}", printable(&row.scope)) };
    format!("{} {}{of}", row.analysis.replace('_', " "), row.term.replace('_', " "))
}

fn answer(row: &AnalysisRow, with_note: bool) -> String {
    let figure = |value: f64| match value.abs() >= 1_000.0 {
        true => grouped(value.round() as u64),
        false => short(value),
    };
    let mut text = format!("{}: {} {}", name(row), row.value.map(figure).unwrap_or_default(), row.unit);
    text = text.trim_end_matches(" share").to_owned();
    match (row.interval.low, row.interval.high) {
        (Some(low), Some(high)) => text += &format!(" ({} to {})", figure(low), figure(high)),
        (None, Some(_)) => text += " at most",
        _ => {}
    }
    if with_note && !row.note.is_empty() { format!("{text}; {}", printable(&row.note)) } else { text }
}
