//! `analysis.csv`, and what an analysis needs of a folder: looks at the server, and which runs are analysed at all.

use super::manifest::Manifest;
use super::text::{Column, number, plain, text};
use crate::stats::AnalysisRow;

/// Decimals of a figure.
const DECIMALS: usize = 6;
/// Measured phases or points that make a ladder.
const RUNGS: usize = 3;

/// `analysis.csv`: one answer, or one question that is open, a row.
pub const ANALYSIS: &[Column<AnalysisRow>] = &[
    Column { name: "analysis", write: |row, cell| plain(cell, Some(row.analysis)) },
    Column { name: "scope", write: |row, cell| text(cell, Some(&row.scope)) },
    Column { name: "term", write: |row, cell| plain(cell, Some(row.term)) },
    Column { name: "value", write: |row, cell| number(cell, row.value, DECIMALS) },
    Column { name: "ci_low", write: |row, cell| number(cell, row.interval.low, DECIMALS) },
    Column { name: "ci_high", write: |row, cell| number(cell, row.interval.high, DECIMALS) },
    Column { name: "unit", write: |row, cell| plain(cell, Some(row.unit)) },
    Column { name: "count", write: |row, cell| plain(cell, Some(row.count)) },
    Column { name: "residual", write: |row, cell| number(cell, row.residual, DECIMALS) },
    Column { name: "note", write: |row, cell| text(cell, Some(&row.note)) },
];

impl Manifest {
    /// Whether its run is analysed: a ladder of three measured rungs or more, or one whose server or model is told
    /// of. Others are no long-context runs, and every question would be open.
    pub fn is_analysed(&self) -> bool {
        let rungs = self.phases.iter().filter(|phase| phase.measured).count();
        rungs >= RUNGS || self.memory.is_some() || self.watches_server
    }
}
