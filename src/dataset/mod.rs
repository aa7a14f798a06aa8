//! Data sets: files of prompts and conversations.
//!
//! A file is scanned once before a run: it is cut into rows (`records`), every row is read as its format says
//! (`reader`), and of the good ones offset and length are kept, not the text. Every row left out has a reason and is
//! counted. During the run a row is one read at its offset. In which order rows are taken is decided by [`RowOrder`],
//! which knows nothing of files.

mod bounds;
mod count;
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

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

pub use bounds::PromptBounds;
pub use format::Format;
pub use order::{RowOrder, WhenExhausted};
pub use reader::Columns;
pub use row::{Row, Size, Turn};
pub use scan::{ScanError, SkipReason, Skipped};
pub use template::{Template, TemplateError};
pub use trace::{TimeUnit, Trace, TraceError, TraceFormat, TraceSource, faster};

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
    /// Whether every row must say how long its answers are, by a number or by their texts, and requests ask for that.
    pub uses_output_tokens: bool,
    /// Of a trace: the time whose rows are used; `None` for all.
    pub span: Option<Span>,
    /// How long prompts may be; `None` for any length.
    pub bounds: Option<PromptBounds>,
    /// The file of the tokenizer that counts texts, where the scenario names one.
    pub tokenizer: Option<PathBuf>,
}

/// A part of a trace, in its own time from its first row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its begin.
    pub from: Duration,
    /// Its end, not included; `None` for that of the trace.
    pub to: Option<Duration>,
}

impl Span {
    /// The part of `window` after `skip`.
    pub fn new(skip: Duration, window: Option<Duration>) -> Span {
        Span { from: skip, to: window.map(|window| skip.saturating_add(window)) }
    }

    /// The least part that holds both.
    #[must_use]
    pub fn with(self, other: Span) -> Span {
        Span { from: self.from.min(other.from), to: self.to.zip(other.to).map(|(a, b)| a.max(b)) }
    }

    fn holds(self, at: Duration) -> bool {
        at >= self.from && self.to.is_none_or(|to| at < to)
    }
}

/// Tokens of the answers to all turns but the first, by row.
type FurtherAnswers = BTreeMap<u32, Box<[u32]>>;

/// What a row says of lengths, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lengths {
    /// Of the prompt, where it stands in place of a text.
    pub prompt: Option<u32>,
    /// Of the answer.
    pub output: Option<u32>,
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
            uses_output_tokens: false,
            span: None,
            bounds: None,
            tokenizer: None,
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
    /// Of each row, where rows state them; the answer is that to its first turn.
    lengths: Arc<[Lengths]>,
    /// Tokens of the answers to the further turns of rows, where they were counted.
    further_answers: Arc<FurtherAnswers>,
    /// Of each row of a trace, from the first of the file, ascending.
    times: Arc<[Duration]>,
    unsorted: u64,
    outside: u64,
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
        let further = Arc::clone(&self.further_answers);
        let order =
            order.with_lengths(Arc::clone(&self.lengths), further).with_times(Arc::clone(&self.times));
        if !self.is_conversations() {
            return order;
        }
        order.of_conversations(self.rows.iter().map(|extent| extent.turns).collect())
    }

    /// Whether its rows state lengths in place of texts.
    pub fn is_sized(&self) -> bool {
        self.lengths.first().is_some_and(|lengths| lengths.prompt.is_some())
    }

    /// What each row says of lengths; empty where rows are texts.
    pub fn lengths(&self) -> &[Lengths] {
        &self.lengths
    }

    /// The mean length that rows state for their prompts, in tokens; `None` where they are texts.
    pub fn mean_prompt_tokens(&self) -> Option<f64> {
        let stated = self.lengths.iter().map(|lengths| lengths.prompt.map(u64::from));
        Some(stated.sum::<Option<u64>>()? as f64 / self.lengths.len().max(1) as f64)
            .filter(|_| self.is_sized())
    }

    /// The mean length of recorded answers, in tokens; `None` where rows do not say.
    pub fn mean_output_tokens(&self) -> Option<f64> {
        let first = self.lengths.iter().filter_map(|lengths| lengths.output);
        let further = self.further_answers.values().flat_map(|answers| answers.iter().copied());
        let (sum, count) = first
            .chain(further)
            .fold((0_u64, 0_u64), |(sum, count), tokens| (sum + u64::from(tokens), count + 1));
        (count > 0).then(|| sum as f64 / count as f64)
    }

    /// When each row was sent, from the first of the file, ascending; empty where rows have no times.
    pub fn times(&self) -> &[Duration] {
        &self.times
    }

    /// Rows of a trace that came earlier than the one before; they were sorted.
    pub fn unsorted(&self) -> u64 {
        self.unsorted
    }

    /// Rows of a trace that are not in the time that is used.
    pub fn outside(&self) -> u64 {
        self.outside
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
        if row.size.is_some() {
            return Ok(row);
        }
        row.turns[0].said.splice(0..0, self.examples.iter().cloned());
        Ok(row)
    }

    /// What a user should know before a run: rows left out, and repeated ones.
    pub fn warnings(&self) -> Vec<Diagnostic> {
        let file = self.path.to_string_lossy();
        let of_skipped = self.skipped.iter().filter(|skipped| !skipped.reason.is_wanted()).map(|skipped| {
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
        let of_unsorted = (self.unsorted > 0).then(|| {
            let message = format!("{} rows of the trace are earlier than the one before", self.unsorted);
            let warning = Diagnostic::warning(message).at(Location::file(&*file));
            warning.help(
                "they were sorted; times count from the first row, and what is earlier than that is left out",
            )
        });
        let of_mended = of_mended.into_iter().chain(of_unsorted);
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
