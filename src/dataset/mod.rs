//! Data sets: files of prompts and conversations.
//!
//! A file is scanned once before a run: it is cut into rows (`records`), every row is read as its format says
//! (`reader`), and of the good ones offset and length are kept, not the text. Every row left out has a reason and is
//! counted. During the run a row is one read at its offset. In which order rows are taken is decided by [`RowOrder`],
//! which knows nothing of files.

mod format;
mod order;
mod reader;
mod records;
mod row;
mod scan;
mod template;
pub mod tokenizer;
mod trace;
mod unpack;

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

pub use format::Format;
pub use order::{RowOrder, WhenExhausted};
pub use reader::Columns;
pub use row::{Row, Turn};
pub use scan::{ScanError, SkipReason, Skipped};
pub use template::{Template, TemplateError};
pub use trace::{TimeUnit, Trace, TraceError, TraceFormat, TraceSource};

use crate::diagnostic::{Diagnostic, Location};
use crate::prompt::Message;
use crate::seed::Seed;
use reader::Reader;

/// Where prompts come from, and how they are taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The file.
    pub path: PathBuf,
    /// Its format; `None` to see from its rows.
    pub format: Option<Format>,
    /// Whether rows are taken in an order drawn from the seed; else as they stand.
    pub shuffle: bool,
    /// What follows the last row.
    pub when_exhausted: WhenExhausted,
    /// Its columns, where the format leaves them open.
    pub columns: Columns,
    /// How prompts are made of columns; `None` for what the format takes as prompt.
    pub template: Option<Template>,
    /// Examples that stand before every question.
    pub few_shot: Option<FewShot>,
    /// Whether every turn but the last must have its answer in the file.
    pub needs_answers: bool,
}

impl Source {
    /// The rows of the file at `path` as they stand, once.
    pub fn of(path: PathBuf) -> Source {
        Source {
            path,
            format: None,
            shuffle: false,
            when_exhausted: WhenExhausted::Stop,
            columns: Columns::default(),
            template: None,
            few_shot: None,
            needs_answers: false,
        }
    }
}

/// Answered rows that stand before every question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FewShot {
    /// Their file, of the same format.
    pub path: PathBuf,
    /// How many, from its beginning.
    pub count: u32,
}

/// A scanned data set, ready to be read from.
#[derive(Debug)]
pub struct Dataset {
    file: File,
    path: PathBuf,
    reader: Reader,
    rows: Vec<Extent>,
    skipped: Vec<Skipped>,
    repeated: u64,
    mended: u64,
    examples: Vec<Message>,
}

/// Where a row stands in the file, and how many turns it has.
#[derive(Clone, Copy, Debug)]
struct Extent {
    offset: u64,
    length: u32,
    turns: u32,
}

impl Dataset {
    /// Reads the file through once and checks every row.
    ///
    /// # Errors
    /// When the file cannot be read, its format cannot be told, or no row of it is good.
    pub fn scan(source: &Source) -> Result<Dataset, ScanError> {
        scan::scan(source)
    }

    /// Number of good rows, never 0. [`Dataset::row`] takes indices below it.
    pub fn rows(&self) -> u32 {
        // The scan refuses a file with more.
        self.rows.len() as u32
    }

    /// The order in which the rows are taken, as `source` wants it; `workload` is the name of the workload whose
    /// stream shuffles them.
    pub fn order(&self, source: &Source, seed: Seed, workload: &str) -> RowOrder {
        let order = RowOrder::new(self.rows(), source.shuffle, source.when_exhausted, seed, workload);
        if !self.is_conversations() {
            return order;
        }
        order.of_conversations(self.rows.iter().map(|extent| extent.turns).collect())
    }

    /// Turns of all good rows.
    pub fn all_turns(&self) -> u64 {
        self.rows.iter().map(|extent| u64::from(extent.turns)).sum()
    }

    /// Whether its rows are conversations, sent turn by turn.
    pub fn is_conversations(&self) -> bool {
        self.reader.format.is_conversation()
    }

    /// Bytes of the good rows.
    pub fn bytes(&self) -> u64 {
        self.rows.iter().map(|extent| u64::from(extent.length)).sum()
    }

    /// The format, as given or as seen.
    pub fn format(&self) -> Format {
        self.reader.format
    }

    /// The file, as given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What was left out, by reason. Blank lines are no rows.
    pub fn skipped(&self) -> &[Skipped] {
        &self.skipped
    }

    /// Number of good rows of which messages were left out or joined: answers before the first question, blank
    /// messages, neighbours of one role.
    pub fn mended(&self) -> u64 {
        self.mended
    }

    /// Number of good rows whose first prompt an earlier row has already: a server's prefix cache will know them.
    /// Prompts are compared by a 64-bit hash.
    pub fn repeated(&self) -> u64 {
        self.repeated
    }

    /// The good row `index`, counted from 0, read from the file.
    ///
    /// # Errors
    /// When the file cannot be read or is no longer what was scanned.
    pub fn row(&self, index: u32) -> Result<Row, RowError> {
        let Some(extent) = self.rows.get(index as usize) else { return Err(RowError::Changed) };
        let mut text = vec![0; extent.length as usize];
        self.file.read_exact_at(&mut text, extent.offset).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => RowError::Changed,
            _ => RowError::Unreadable(error),
        })?;
        let mut row = self.reader.read(&text).map_err(|_| RowError::Changed)?;
        if row.turns.len() != extent.turns as usize {
            return Err(RowError::Changed);
        }
        row.turns[0].said.splice(0..0, self.examples.iter().cloned());
        Ok(row)
    }

    /// What a user should know before a run: rows left out, and repeated ones.
    pub fn warnings(&self) -> Vec<Diagnostic> {
        let file = self.path.to_string_lossy();
        let of_skipped = self.skipped.iter().map(|skipped| {
            let rows = if skipped.count == 1 { "row" } else { "rows" };
            let message =
                format!("{} {rows} left out: {}", skipped.count, skipped.reason.describe(self.format()));
            let lines = skipped.lines.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
            let more = if skipped.count > skipped.lines.len() as u64 { ", …" } else { "" };
            let first = skipped.lines.first().copied().unwrap_or_default();
            let warning = Diagnostic::warning(message).at(Location::line(&*file, first));
            let label = if skipped.count == 1 { "line" } else { "lines" };
            warning.help(format!("{label} {lines}{more}; the other {} rows are used", self.rows.len()))
        });
        let of_repeated = (self.repeated > 0).then(|| {
            let message = format!("{} of {} rows repeat an earlier prompt", self.repeated, self.rows.len());
            let warning = Diagnostic::warning(message).at(Location::file(&*file));
            warning.help("a server with a prefix cache answers them faster than new prompts")
        });
        let of_mended = (self.mended > 0).then(|| {
            let message = format!(
                "of {} of {} conversations messages were left out or joined",
                self.mended,
                self.rows.len()
            );
            let warning = Diagnostic::warning(message).at(Location::file(&*file));
            warning.help("left out are blank ones and answers before the first question, joined neighbours of one role")
        });
        of_skipped.chain(of_mended).chain(of_repeated).collect()
    }
}

/// Why a row of a scanned data set cannot be had.
#[derive(Debug)]
pub enum RowError {
    /// The file cannot be read.
    Unreadable(io::Error),
    /// The file is no longer what was scanned.
    Changed,
}

impl std::fmt::Display for RowError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RowError::Unreadable(error) => write!(f, "the data set cannot be read: {error}"),
            RowError::Changed => f.write_str("the data set has changed since it was scanned"),
        }
    }
}

impl std::error::Error for RowError {}

#[cfg(test)]
mod tests;
