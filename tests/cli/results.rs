//! A results folder, read back by means of its own.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The tables of every results folder.
pub(crate) const TABLES: [&str; 5] =
    ["requests.csv", "gaps.csv", "summary.csv", "timeline.csv", "accuracy.csv"];

/// A row by column.
pub(crate) type Row = BTreeMap<String, String>;

pub(crate) struct Results {
    pub(crate) folder: PathBuf,
}

impl Results {
    pub(crate) fn at(folder: impl AsRef<Path>) -> Results {
        Results { folder: folder.as_ref().to_owned() }
    }

    pub(crate) fn text(&self, file: &str) -> String {
        let path = self.folder.join(file);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    pub(crate) fn manifest(&self) -> Value {
        serde_json::from_str(&self.text("manifest.json")).unwrap()
    }

    pub(crate) fn verdict(&self) -> String {
        self.manifest()["verdict"]["verdict"].as_str().unwrap().to_owned()
    }

    /// All rows of a table. Every one must be whole.
    pub(crate) fn rows(&self, table: &str) -> Vec<Row> {
        let text = self.text(table);
        assert!(text.ends_with('\n'), "{table} ends within a row: {text}");
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let names = reader.headers().unwrap().clone();
        let row = |record: csv::StringRecord| {
            names.iter().map(str::to_owned).zip(record.iter().map(str::to_owned)).collect()
        };
        reader.records().map(|record| row(record.unwrap())).collect()
    }

    /// Rows of `requests.csv` with this outcome.
    pub(crate) fn count(&self, outcome: &str) -> usize {
        self.rows("requests.csv").iter().filter(|row| row["outcome"] == outcome).count()
    }

    /// The count in the manifest's only phase.
    pub(crate) fn manifest_count(&self, name: &str) -> u64 {
        self.manifest()["phases"][0]["requests"][name].as_u64().unwrap_or(0)
    }

    /// A value of `summary.csv` for all workloads of a phase.
    pub(crate) fn summary(&self, phase: &str, metric: &str, statistic: &str) -> Row {
        let rows = self.rows("summary.csv");
        let wanted = |row: &&Row| {
            [&row["phase"], &row["workload"], &row["metric"], &row["statistic"]]
                == [phase, "all", metric, statistic]
        };
        rows.iter().find(wanted).unwrap_or_else(|| panic!("no {phase} {metric} {statistic}")).clone()
    }

    /// Asserts that Python's csv module reads every table: as many columns in each row, and no NaN or infinity.
    /// Returns how many rows of `requests.csv` it sees.
    pub(crate) fn read_by_python(&self) -> usize {
        const SCRIPT: &str = "
import csv, sys
counts = []
for path in sys.argv[1:]:
    with open(path, newline='', encoding='utf-8') as file:
        rows = list(csv.reader(file, strict=True))
    for row in rows:
        assert len(row) == len(rows[0]), (path, row)
        for cell in row:
            assert cell.lower().lstrip('+-') not in ('nan', 'inf', 'infinity'), (path, row)
    counts.append(len(rows) - 1)
print(counts[0])
";
        let files = TABLES.map(|table| self.folder.join(table));
        let output = Command::new("python3").arg("-c").arg(SCRIPT).args(files).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().parse().unwrap()
    }
}
