//! The one pass over a file before a run.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, BufReader, Seek as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::de::IgnoredAny;

use super::count::Counter;
use super::format::Format;
use super::reader::{Header, Reader, example, is_message};
use super::records::{Container, LONGEST, Record, Records};
use super::row::Row;
use super::unpack::unpacked;
use super::{Dataset, Extent, FewShot, FurtherAnswers, Lengths, Source};
use crate::diagnostic::{Diagnostic, Location};
use crate::prompt::Message;

/// How many line numbers of skipped rows are kept for each reason.
const LINES_KEPT: usize = 5;
/// Bytes by whose first one a file's container is told.
const BEGINNING: usize = 4_096;
/// Read at once.
const BUFFER: usize = 1 << 18;

/// Why a row is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SkipReason {
    /// Bytes that are not UTF-8.
    NotUtf8,
    /// Not a JSON value.
    NotJson,
    /// JSON without the fields of the format, or with one twice or not text.
    Fields,
    /// A record of CSV with more or fewer cells than the header, or broken quotes.
    Cells,
    /// A number of tokens that is none.
    Number,
    /// A prompt or an answer of no tokens, as traces have for requests that failed.
    Zero,
    /// A trace's row without a time.
    Time,
    /// Ids of blocks that are not one for each block of the prompt.
    Blocks,
    /// The file does not say how long the answer is.
    NoLength,
    /// A text of the row is blank.
    Blank,
    /// A conversation in which no user says anything.
    NoQuestion,
    /// A message of someone who is neither user, assistant nor system.
    Role,
    /// A message that is not text: an image, say.
    NotText,
    /// A turn without the recorded answer that the next one would carry.
    NoAnswer,
    /// The file ends in the middle of it.
    Cut,
    /// Longer than 64 MiB.
    TooLong,
    /// A prompt of fewer tokens than are wanted.
    FewTokens,
    /// A prompt of more tokens than are wanted.
    ManyTokens,
}

impl SkipReason {
    /// The reason in words, for rows of `format`.
    pub fn describe(self, format: Format) -> String {
        let words = match self {
            SkipReason::Fields => {
                return format!("a `{}` row must have {}", format.name(), format.needs());
            }
            SkipReason::NotUtf8 => "not UTF-8 text",
            SkipReason::NotJson => "not valid JSON",
            SkipReason::Cells => "not as many cells as the header, or broken quotes",
            SkipReason::Number => "a number of tokens that is not a whole one of at least 1",
            SkipReason::Zero => "a prompt or an answer of no tokens",
            SkipReason::Time => "no time that can be read",
            SkipReason::Blocks => "not one id for each block of the prompt",
            SkipReason::NoLength => "the length of the answer is not stated, and there is no answer to count",
            SkipReason::Blank => "a text is blank",
            SkipReason::NoQuestion => "no user says anything in it",
            SkipReason::Role => "a message of another role than user, assistant and system",
            SkipReason::NotText => "a message that is not text",
            SkipReason::NoAnswer => "a turn that others follow has no recorded answer",
            SkipReason::Cut => "the file ends in the middle of it",
            SkipReason::TooLong => "longer than 64 MiB",
            SkipReason::FewTokens => "a prompt of fewer tokens than `min_prompt_tokens`",
            SkipReason::ManyTokens => "a prompt of more tokens than `max_prompt_tokens`",
        };
        words.to_owned()
    }

    /// Whether the scenario asks for it.
    pub fn is_wanted(self) -> bool {
        matches!(self, SkipReason::FewTokens | SkipReason::ManyTokens)
    }
}

/// Rows left out for one reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Why.
    pub reason: SkipReason,
    /// How many, at least 1.
    pub count: u64,
    /// Line numbers of the first few, from 1.
    pub lines: Vec<u64>,
}

/// Why a file is no data set.
#[derive(Debug)]
pub enum ScanError {
    /// It cannot be opened or read.
    Unreadable(PathBuf, io::Error),
    /// It is a folder, a pipe or a device: rows are read at their offsets.
    NotAFile(PathBuf),
    /// It is packed, and cannot be unpacked.
    Packed(PathBuf, io::Error),
    /// It has no line that is not blank.
    Empty(PathBuf),
    /// No row is good. The first bad one is at `line`.
    NoGoodRow {
        /// The file.
        path: PathBuf,
        /// The format asked for, if one was.
        format: Option<Format>,
        /// Line of the first bad row, from 1.
        line: u64,
        /// What is wrong with it.
        reason: SkipReason,
    },
    /// The first good row fits more than one format.
    Ambiguous {
        /// The file.
        path: PathBuf,
        /// Line of the row, from 1.
        line: u64,
        /// The formats it fits.
        formats: Vec<Format>,
    },
    /// The scenario names a column that the header does not have.
    NoColumn {
        /// The file.
        path: PathBuf,
        /// The column.
        name: String,
        /// What the header has.
        header: Vec<String>,
    },
    /// Rows of the format are conversations, and one prompt was to be made of each.
    NoTemplate {
        /// The file.
        path: PathBuf,
        /// The format.
        format: Format,
    },
    /// Examples are wanted, and there are fewer.
    FewExamples {
        /// Their file.
        path: PathBuf,
        /// How many there are.
        found: usize,
        /// How many are wanted.
        wanted: usize,
    },
    /// It has rows, and none in the time that is used.
    Outside {
        /// The file.
        path: PathBuf,
        /// Rows with a time.
        rows: u64,
    },
    /// It has good rows, and none whose prompt is as long as wanted.
    NoneWithin {
        /// The file.
        path: PathBuf,
        /// How many good rows it has.
        rows: u64,
    },
    /// Prompts are to have a length in tokens, they are texts, and nothing counts those.
    NotCounted,
    /// Answers are to be as long as those of the rows, which are texts, and nothing counts those.
    AnswersNotCounted,
    /// The tokenizer cannot be read, or cannot count: why.
    Tokenizer(String),
    /// It has more than 2³² rows.
    TooManyRows(PathBuf),
}

impl ScanError {
    /// The error as it is shown.
    pub fn diagnostic(&self) -> Diagnostic {
        let file = |path: &Path| Location::file(path.to_string_lossy());
        let line = |path: &Path, line| Location::line(path.to_string_lossy(), line);
        let problem = Diagnostic::error(self.to_string());
        match self {
            ScanError::Unreadable(path, _) | ScanError::NotAFile(path) | ScanError::TooManyRows(path) => {
                problem.at(file(path))
            }
            ScanError::Packed(path, _) => problem.at(file(path)).help("unpack it first: `gunzip`, `zstd -d`"),
            ScanError::Empty(path) => problem.at(file(path)).help("give one JSON value a line"),
            ScanError::NoGoodRow { path, format: Some(format), line: at, reason } => {
                let help = format!("the first row: {}", reason.describe(*format));
                problem.at(line(path, *at)).help(help)
            }
            ScanError::NoGoodRow { path, format: None, line: at, .. } => {
                let known = Format::ALL.into_iter().filter(|format| !format.has_columns());
                let known = known.map(Format::name).collect::<Vec<_>>().join(", ");
                let help = format!(
                    "known by their fields are {known}; for other rows say `format = \"jsonl\"` or `\"csv\"` \
                     and name the columns: `columns.prompt = \"question\"`"
                );
                problem.at(line(path, *at)).help(help)
            }
            ScanError::Ambiguous { path, line: at, formats } => {
                let names = formats.iter().map(|format| format!("`\"{}\"`", format.name()));
                let names = names.collect::<Vec<_>>().join(" or ");
                problem.at(line(path, *at)).help(format!("say which it is: `format` = {names}"))
            }
            ScanError::NoColumn { path, header, .. } => {
                let names = header.iter().take(20).map(|name| format!("`{}`", shown(name)));
                let names = names.collect::<Vec<_>>().join(", ");
                problem.at(line(path, 1)).help(format!("the header has {names}"))
            }
            ScanError::NoTemplate { path, .. } => {
                problem.at(file(path)).help("leave `template` out: their turns are sent as they stand")
            }
            ScanError::Outside { path, .. } => {
                problem.at(file(path)).help("see `skip` and `window` of `load.trace`, both in trace time")
            }
            ScanError::NoneWithin { path, .. } => problem
                .at(file(path))
                .help("lower `min_prompt_tokens`, or raise `max_prompt_tokens`; texts are counted without template"),
            ScanError::AnswersNotCounted => problem.help(
                "name one: `target.tokenizer.file = \"tokenizer.json\"`, or give `max_tokens` a number or a law",
            ),
            ScanError::NotCounted => {
                problem.help("name one: `target.tokenizer.file = \"tokenizer.json\"`; a server's cannot be asked before the run")
            }
            ScanError::Tokenizer(_) => {
                problem.help("name a tokenizer.json, or a rank file of tiktoken, with target.tokenizer.file")
            }
            ScanError::FewExamples { path, .. } => {
                problem.at(file(path)).help("lower `few_shot.count`, or name another file")
            }
        }
    }
}

/// A text from a file, short and without control characters.
fn shown(text: &str) -> String {
    text.trim().chars().take(40).map(|c| if c.is_control() { '?' } else { c }).collect()
}

impl fmt::Display for ScanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |path: &Path| format!("the data set `{}`", path.display());
        match self {
            ScanError::Unreadable(path, error) => write!(f, "{} cannot be read: {error}", name(path)),
            ScanError::NotAFile(path) => write!(f, "{} is not a file", name(path)),
            ScanError::Packed(path, error) => write!(f, "{} cannot be unpacked: {error}", name(path)),
            ScanError::Empty(path) => write!(f, "{} has no rows", name(path)),
            ScanError::NoGoodRow { path, format: Some(format), .. } => {
                write!(f, "no row of {} is a `{}` row", name(path), format.name())
            }
            ScanError::NoGoodRow { path, format: None, .. } => {
                write!(f, "no row of {} has a known format", name(path))
            }
            ScanError::Ambiguous { path, .. } => write!(f, "rows of {} fit more than one format", name(path)),
            ScanError::NoColumn { path, name: column, .. } => {
                write!(f, "{} has no column `{column}`", name(path))
            }
            ScanError::NoTemplate { path, format } => {
                write!(
                    f,
                    "rows of {} are conversations (`{}`), and a template makes one prompt",
                    name(path),
                    format.name()
                )
            }
            ScanError::FewExamples { path, found, wanted } => {
                write!(f, "{wanted} examples are wanted of {}, and {found} rows have an answer", name(path))
            }
            ScanError::Outside { path, rows } => {
                write!(f, "none of the {rows} arrivals of {} lies in the window", name(path))
            }
            ScanError::NoneWithin { path, rows } => {
                write!(f, "none of the {rows} prompts of {} is as long as asked for", name(path))
            }
            ScanError::NotCounted => f.write_str(
                "`min_prompt_tokens` and `max_prompt_tokens` need a tokenizer to count the texts of rows",
            ),
            ScanError::AnswersNotCounted => f.write_str(
                "`output.max_tokens = \"dataset\"` needs a tokenizer to count the answers of rows, which state no lengths",
            ),
            ScanError::Tokenizer(why) => write!(f, "the tokens of rows cannot be counted: {why}"),
            ScanError::TooManyRows(path) => write!(f, "{} has more than 4,294,967,295 rows", name(path)),
        }
    }
}

impl std::error::Error for ScanError {}

/// A file that can be read at any place, unpacked where it is packed.
fn open(path: &Path) -> Result<File, ScanError> {
    let unreadable = |error| ScanError::Unreadable(path.to_owned(), error);
    // Looked at before it is opened: opening a pipe would wait for its writer.
    if !std::fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err(ScanError::NotAFile(path.to_owned()));
    }
    let file = File::open(path).map_err(unreadable)?;
    unpacked(file).map_err(|error| ScanError::Packed(path.to_owned(), error))
}

pub(super) fn scan(source: &Source) -> Result<Dataset, ScanError> {
    let path = &source.path;
    let unreadable = |error| ScanError::Unreadable(path.to_owned(), error);
    let file = open(path)?;
    let container = container(&file, source).map_err(unreadable)?;
    (&file).rewind().map_err(unreadable)?;
    let mut records = Records::new(BufReader::with_capacity(BUFFER, &file), container);
    let mut scan = Scan::new(source);
    let mut text = Vec::new();
    if let Container::Csv { .. } = container
        && records.next_into(&mut text).map_err(unreadable)?.is_some()
    {
        scan.begin(&text)?;
    }
    while let Some(record) = records.next_into(&mut text).map_err(unreadable)? {
        scan.take(&text, &record, container)?;
    }
    drop(records);
    scan.finish(file)
}

/// How the rows of `file` follow one another: told from its first byte, and for records of CSV from what the
/// scenario says.
fn container(file: &File, source: &Source) -> io::Result<Container> {
    let mut beginning = vec![0; BEGINNING];
    let read = file.read_at(&mut beginning, 0)?;
    let text = beginning[..read].strip_prefix(b"\xef\xbb\xbf").unwrap_or(&beginning[..read]);
    let first_line = text.trim_ascii_start().split(|byte| *byte == b'\n').next().unwrap_or_default();
    let opening = first_line.first().copied();
    let is_json = matches!(opening, Some(b'{' | b'[' | b'"'));
    let is_named = source.columns.all().next().is_some() || source.template.is_some();
    let header = Header::of(&String::from_utf8_lossy(first_line));
    let csv = Container::Csv { delimiter: header.delimiter };
    let is_csv = match source.format {
        Some(format) => format.comes_in(csv),
        None => !is_json && (is_named || known_by(&header).is_some()),
    };
    if is_csv {
        return Ok(csv);
    }
    if opening != Some(b'[') {
        return Ok(Container::Lines);
    }
    // A list of rows, or of the messages of the first row.
    let mut records = Records::new(BufReader::new(file), Container::List);
    let mut element = Vec::new();
    records.next_into(&mut element)?;
    Ok(if is_message(&element) { Container::Lines } else { Container::List })
}

/// The format of a CSV by its header.
fn known_by(header: &Header) -> Option<Format> {
    let formats = [Format::Azure, Format::BurstGpt];
    formats.into_iter().find(|format| format.claims(|name| header.place(name).is_some()))
}

struct Scan<'a> {
    source: &'a Source,
    counter: Counter<'a>,
    /// Once the format is known.
    reader: Option<Reader>,
    rows: Vec<Extent>,
    hashes: Vec<u64>,
    skipped: Vec<Skipped>,
    mended: u64,
    /// Of each row, where it is wanted.
    lengths: Vec<Lengths>,
    /// Of rows of several turns, which have no times: their places are not changed.
    further_answers: FurtherAnswers,
    times: Vec<Duration>,
    /// Time of the first row that has one.
    origin: Option<i128>,
    last: i128,
    unsorted: u64,
    outside: u64,
}

impl<'a> Scan<'a> {
    fn new(source: &'a Source) -> Scan<'a> {
        let format = source.format.filter(|format| format.comes_in(Container::Lines));
        let reader = format.map(|format| reader(source, format));
        let (rows, hashes, skipped) = (Vec::new(), Vec::new(), Vec::new());
        let (lengths, times) = (Vec::new(), Vec::new());
        let (origin, last) = (None, i128::MIN);
        let [mended, unsorted, outside] = [0; 3];
        Scan {
            source,
            counter: Counter::new(source.tokenizer.as_deref()),
            reader,
            rows,
            hashes,
            skipped,
            mended,
            lengths,
            further_answers: FurtherAnswers::new(),
            times,
            origin,
            last,
            unsorted,
            outside,
        }
    }

    /// Takes the header of a CSV.
    fn begin(&mut self, text: &[u8]) -> Result<(), ScanError> {
        let header = Header::of(&String::from_utf8_lossy(text));
        let is_named = self.source.columns.all().next().is_some();
        let known = known_by(&header).filter(|_| !is_named);
        let reader = reader(self.source, self.source.format.or(known).unwrap_or(Format::Csv));
        let template = reader.template.iter().flat_map(|template| template.columns());
        let named = reader.columns.all().map(|(_, name)| name).chain(template);
        if let Some(name) = named.into_iter().find(|name| header.place(name).is_none()) {
            let (path, name) = (self.source.path.clone(), name.to_owned());
            return Err(ScanError::NoColumn { path, name, header: header.names });
        }
        self.reader = Some(Reader { header, ..reader });
        Ok(())
    }

    fn take(&mut self, text: &[u8], record: &Record, container: Container) -> Result<(), ScanError> {
        if record.is_cut {
            self.skip(SkipReason::Cut, record.line);
            return Ok(());
        }
        if record.length > LONGEST as u64 {
            self.skip(SkipReason::TooLong, record.line);
            return Ok(());
        }
        if text.trim_ascii().is_empty() {
            return Ok(());
        }
        let time = match &self.reader {
            Some(reader) => reader.time(text),
            None => Ok(None),
        };
        let within = match time.map(|time| time.map(|time| self.within(time))) {
            Err(reason) => {
                self.skip(reason, record.line);
                return Ok(());
            }
            Ok(Some(None)) => {
                self.outside += 1;
                return Ok(());
            }
            Ok(within) => within.flatten(),
        };
        let row = match &self.reader {
            Some(reader) => reader.read(text),
            None => self.detect(text, record, container)?,
        };
        // The first row of all tells the format; only then its time can be read.
        let within = match (within, &self.reader) {
            (None, Some(reader)) if reader.columns.time.is_some() && row.is_ok() => {
                let time = reader.time(text).ok().flatten().and_then(|time| self.within(time));
                if time.is_none() {
                    self.outside += 1;
                    return Ok(());
                }
                time
            }
            (within, _) => within,
        };
        match row.and_then(|row| self.usable(row)) {
            Ok(row) => {
                if let Some(bounds) = self.source.bounds
                    && let Some(reason) = bounds.misfit(&row, &mut self.counter)?
                {
                    self.skip(reason, record.line);
                    return Ok(());
                }
                let Some(answers) = self.answers(&row)? else {
                    self.skip(SkipReason::NoLength, record.line);
                    return Ok(());
                };
                self.times.extend(within);
                self.keep(&row, &answers, record)
            }
            Err(reason) => {
                self.skip(reason, record.line);
                Ok(())
            }
        }
    }

    /// A time from that of the first row, if it is one of those that are used.
    fn within(&mut self, time: i128) -> Option<Duration> {
        self.unsorted += u64::from(time < self.last);
        self.last = time;
        let from_first = time.saturating_sub(*self.origin.get_or_insert(time));
        let at = Duration::from_nanos(u64::try_from(from_first).ok()?);
        let is_used = self.source.span.is_none_or(|span| span.holds(at));
        is_used.then_some(at)
    }

    /// Whether all that the scenario wants of a row is there.
    fn usable(&self, row: Row) -> Result<Row, SkipReason> {
        let (last, before) = row.turns.split_last().ok_or(SkipReason::NoQuestion)?;
        let is_whole = self.reader.as_ref().is_some_and(|reader| reader.format.is_conversation());
        // A row that is no conversation is a turn that others may follow.
        let carried = before.iter().chain((!is_whole).then_some(last));
        if self.source.needs_answers && carried.into_iter().any(|turn| turn.answer.is_none()) {
            return Err(SkipReason::NoAnswer);
        }
        Ok(row)
    }

    /// Tokens of its answers where they are wanted: as it states them, for all turns, or else of the texts of all its
    /// answers; `None` where it does not say.
    fn answers(&mut self, row: &Row) -> Result<Option<Vec<u32>>, ScanError> {
        if !self.source.uses_output_tokens {
            return Ok(Some(Vec::new()));
        }
        if let Some(tokens) = row.output_tokens {
            return Ok(Some(vec![tokens]));
        }
        let texts = row.turns.iter().map(|turn| turn.answer.as_deref());
        let Some(texts) = texts.collect::<Option<Vec<_>>>() else { return Ok(None) };
        let count = |text: &str| {
            let tokens = self.counter.count([text])?.ok_or(ScanError::AnswersNotCounted)?;
            // No request asks for an answer of nothing.
            Ok(u32::try_from(tokens).unwrap_or(u32::MAX).max(1))
        };
        texts.into_iter().map(count).collect::<Result<Vec<_>, _>>().map(Some)
    }

    /// Keeps the place of a row; `answers` are tokens of those to its turns, or of that to any of them.
    fn keep(&mut self, row: &Row, answers: &[u32], record: &Record) -> Result<(), ScanError> {
        if self.rows.len() == u32::MAX as usize {
            return Err(ScanError::TooManyRows(self.source.path.clone()));
        }
        let turns = u32::try_from(row.turns.len()).unwrap_or(u32::MAX);
        self.rows.push(Extent { offset: record.offset, length: record.length as u32, turns });
        self.mended += u64::from(row.is_mended);
        if row.size.is_some() || self.source.uses_output_tokens {
            let prompt = row.size.as_ref().map(|size| size.prompt_tokens);
            self.lengths.push(Lengths { prompt, output: answers.first().copied().or(row.output_tokens) });
            if let [_, further @ ..] = answers
                && !further.is_empty()
            {
                self.further_answers.insert(self.rows.len() as u32 - 1, further.into());
            }
        }
        if row.size.is_some() {
            return Ok(());
        }
        // A hasher made by `new` has fixed keys: the count is the same in every run.
        let mut hasher = DefaultHasher::new();
        row.system.hash(&mut hasher);
        row.turns[0].said.iter().for_each(|message| message.content.hash(&mut hasher));
        self.hashes.push(hasher.finish());
        Ok(())
    }

    /// Reads a row in whichever format it has. The first that fits one decides for the file.
    fn detect(
        &mut self,
        text: &[u8],
        record: &Record,
        container: Container,
    ) -> Result<Result<Row, SkipReason>, ScanError> {
        let fields = serde_json::from_slice::<BTreeMap<String, IgnoredAny>>(text).unwrap_or_default();
        let opening = text.trim_ascii_start().first().copied();
        let mut fitting: Vec<(Reader, Row)> = Vec::new();
        let mut reason = SkipReason::NotJson;
        for format in Format::ALL.into_iter().filter(|format| format.comes_in(container)) {
            let claims = match opening {
                Some(b'[') => format == Format::Messages,
                Some(b'"') => format == Format::Prompts,
                // What is no object, or has a field twice, is read to learn what is wrong with it.
                _ if fields.is_empty() => !format.has_columns(),
                _ => format.claims(|name| fields.contains_key(name)),
            };
            if !claims {
                continue;
            }
            let reader = reader(self.source, format);
            match reader.read(text) {
                Ok(row) => fitting.push((reader, row)),
                // What makes a row bad is best said of the format that came closest.
                Err(SkipReason::NotJson | SkipReason::Fields) if reason > SkipReason::Fields => {}
                Err(other) => reason = other,
            }
        }
        if fitting.is_empty() && !fields.is_empty() && reason == SkipReason::NotJson {
            reason = SkipReason::Fields;
        }
        if self.source.columns.all().next().is_some() {
            // Named columns say what a row is.
            let reader = reader(self.source, Format::Jsonl);
            let row = reader.read(text);
            if row.is_ok() {
                self.reader = Some(reader);
            }
            return Ok(row);
        }
        if fitting.len() > 1 {
            let formats = fitting.iter().map(|(reader, _)| reader.format).collect();
            let (path, line) = (self.source.path.clone(), record.line);
            return Err(ScanError::Ambiguous { path, line, formats });
        }
        let Some((reader, row)) = fitting.pop() else { return Ok(Err(reason)) };
        self.reader = Some(reader);
        Ok(Ok(row))
    }

    fn skip(&mut self, reason: SkipReason, line: u64) {
        match self.skipped.iter_mut().find(|skipped| skipped.reason == reason) {
            Some(skipped) => {
                skipped.count += 1;
                if skipped.lines.len() < LINES_KEPT {
                    skipped.lines.push(line);
                }
            }
            None => self.skipped.push(Skipped { reason, count: 1, lines: vec![line] }),
        }
    }

    fn finish(self, file: File) -> Result<Dataset, ScanError> {
        let Scan { source, reader, mut rows, mut hashes, mut skipped, mended, .. } = self;
        let (mut lengths, mut times) = (self.lengths, self.times);
        if !times.is_sorted() {
            // Of equal times the first of the file stays the first.
            let mut order: Vec<usize> = (0..times.len()).collect();
            order.sort_by_key(|place| times[*place]);
            times = order.iter().map(|place| times[*place]).collect();
            rows = order.iter().map(|place| rows[*place]).collect();
            if !lengths.is_empty() {
                lengths = order.iter().map(|place| lengths[*place]).collect();
            }
        }
        let path = source.path.clone();
        skipped.sort_by_key(|skipped| skipped.reason);
        let (Some(reader), false) = (reader, rows.is_empty()) else {
            let first =
                skipped.iter().filter_map(|skipped| Some((*skipped.lines.first()?, skipped.reason))).min();
            let too_short_or_long = skipped.iter().filter(|skipped| skipped.reason.is_wanted());
            let unwanted = too_short_or_long.map(|skipped| skipped.count).sum::<u64>();
            return Err(match first {
                _ if unwanted > 0 => ScanError::NoneWithin { path, rows: unwanted },
                _ if self.outside > 0 => ScanError::Outside { path, rows: self.outside },
                Some((line, reason)) => ScanError::NoGoodRow { path, format: source.format, line, reason },
                None => ScanError::Empty(path),
            });
        };
        if source.template.is_some() && reader.format.is_conversation() {
            return Err(ScanError::NoTemplate { path, format: reader.format });
        }
        hashes.sort_unstable();
        let repeated = hashes.windows(2).filter(|pair| pair[0] == pair[1]).count() as u64;
        let examples = source.few_shot.as_ref().map(|few_shot| examples(source, &reader, few_shot));
        let examples = examples.transpose()?.unwrap_or_default();
        let (unsorted, outside) = (self.unsorted, self.outside);
        let (lengths, further_answers, times) =
            (lengths.into(), Arc::new(self.further_answers), times.into());
        Ok(Dataset {
            file,
            path,
            reader,
            rows,
            skipped,
            repeated,
            mended,
            examples,
            lengths,
            further_answers,
            times,
            unsorted,
            outside,
        })
    }
}

fn reader(source: &Source, format: Format) -> Reader {
    let (columns, block_tokens) = format.trace().unwrap_or_else(|| (source.columns.clone(), None));
    Reader { format, columns, template: source.template.clone(), header: Header::NONE, block_tokens }
}

/// The first good rows of another file of the same format, each with its answer.
fn examples(source: &Source, reader: &Reader, few_shot: &FewShot) -> Result<Vec<Message>, ScanError> {
    let format = Some(reader.format);
    let plain = Source {
        path: few_shot.path.clone(),
        format,
        few_shot: None,
        bounds: None,
        uses_output_tokens: false,
        ..source.clone()
    };
    let set = scan(&plain)?;
    let wanted = few_shot.count as usize;
    let rows = (0..set.rows()).filter_map(|index| example(&set.row(index).ok()?));
    let examples = rows.take(wanted).flatten().collect::<Vec<_>>();
    if examples.len() < 2 * wanted {
        let (path, found) = (few_shot.path.clone(), examples.len() / 2);
        return Err(ScanError::FewExamples { path, found, wanted });
    }
    Ok(examples)
}
