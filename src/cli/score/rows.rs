//! Rows of prediction and truth, read one at a time from JSONL or CSV.

use std::cell::Cell;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::rc::Rc;

use serde::Deserialize;
use serde_json::Value;

use crate::cli::exit::Failure;
use crate::score::Kind;

/// The longest row, in bytes.
const LONGEST_ROW: usize = 16 << 20;

/// The most significant digits that a JSON number with a point or exponent keeps on its way through a double.
const EXACT_DIGITS: usize = 15;

/// A row that can be scored.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Row {
    /// The whole response.
    pub(super) prediction: String,
    /// The truth as the data set has it.
    pub(super) truth: String,
    /// The kind, where the row names one.
    pub(super) kind: Option<String>,
}

/// Why a row cannot be scored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bad {
    NotUtf8,
    NotJson,
    NotAnObject,
    Missing(&'static str),
    NotText(&'static str),
    Imprecise(&'static str),
    Fields,
    TooLong,
    NoKind,
    UnknownKind,
    NoPattern,
    Truth(&'static str),
}

impl fmt::Display for Bad {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bad::NotUtf8 => write!(out, "not UTF-8 text"),
            Bad::NotJson => write!(out, "not valid JSON"),
            Bad::NotAnObject => write!(out, "not a JSON object"),
            Bad::Missing(field) => write!(out, "no `{field}`"),
            Bad::NotText(field) => write!(out, "`{field}` is neither text nor a number"),
            Bad::Imprecise(field) => {
                write!(out, "`{field}` has too many digits for a number: give it as text")
            }
            Bad::Fields => write!(out, "more or fewer fields than the header"),
            Bad::TooLong => write!(out, "longer than {} MiB", LONGEST_ROW >> 20),
            Bad::NoKind => write!(out, "no kind: give a column `kind`, or --kind"),
            Bad::UnknownKind => write!(out, "unknown kind: it is one of {}", Kind::NAMES.join(", ")),
            Bad::NoPattern => write!(out, "kind `regex` needs a pattern: give it with --pattern"),
            Bad::Truth(kind) => write!(out, "the truth has no answer of kind `{kind}`"),
        }
    }
}

/// A row, or why it is none, and the line it starts on, from 1.
#[derive(Debug)]
pub(super) struct Reading {
    pub(super) line: u64,
    pub(super) row: Result<Row, Bad>,
}

/// The rows of a file.
pub(super) enum Rows {
    Lines(Lines<Box<dyn BufRead>>),
    Table(Box<Table>),
}

impl Rows {
    /// Opens `path`, or standard input for `-`. A file is JSONL by its name, or where its first character is `{`.
    pub(super) fn open(path: &Path) -> Result<Rows, Failure> {
        let name = path.to_string_lossy();
        let unreadable = |error: io::Error| Failure::usage(format!("cannot read {name}: {error}"));
        let input: Box<dyn Read> =
            if name == "-" { Box::new(io::stdin()) } else { Box::new(File::open(path).map_err(unreadable)?) };
        let mut input = BufReader::new(input);
        let start = input.fill_buf().map_err(unreadable)?;
        let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start).trim_ascii_start();
        let named = path.extension().is_some_and(|extension| extension == "jsonl" || extension == "ndjson");
        match start.first() {
            Some(b'[') => {
                let help = "write one object a line, as `jq -c '.[]'` does";
                Err(Failure::usage(format!("{name}: a JSON list, not an object a line\n  help: {help}")))
            }
            // Nothing at all is no rows of any form.
            first if named || matches!(first, None | Some(b'{')) => {
                Ok(Rows::Lines(Lines { input: Box::new(input), line: 0 }))
            }
            _ => Table::open(input, &name).map(|table| Rows::Table(Box::new(table))),
        }
    }

    /// The next row; `None` after the last.
    ///
    /// # Errors
    /// When reading fails and cannot go on.
    pub(super) fn next(&mut self) -> io::Result<Option<Reading>> {
        match self {
            Rows::Lines(lines) => lines.next(),
            Rows::Table(table) => table.next(),
        }
    }
}

/// JSON, an object a line.
pub(super) struct Lines<R> {
    input: R,
    line: u64,
}

#[derive(Deserialize)]
struct Object {
    prediction: Option<Value>,
    truth: Option<Value>,
    kind: Option<Value>,
}

impl<R: BufRead> Lines<R> {
    fn next(&mut self) -> io::Result<Option<Reading>> {
        loop {
            let mut text = Vec::new();
            let read = (&mut self.input).take(LONGEST_ROW as u64 + 1).read_until(b'\n', &mut text)?;
            if read == 0 {
                return Ok(None);
            }
            self.line += 1;
            let line = self.line;
            if read > LONGEST_ROW {
                if !text.ends_with(b"\n") {
                    self.input.skip_until(b'\n')?;
                }
                return Ok(Some(Reading { line, row: Err(Bad::TooLong) }));
            }
            let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&text);
            if !text.trim_ascii().is_empty() {
                return Ok(Some(Reading { line, row: object(text) }));
            }
        }
    }
}

fn object(text: &[u8]) -> Result<Row, Bad> {
    let text = std::str::from_utf8(text).map_err(|_| Bad::NotUtf8)?;
    if !text.trim_start().starts_with('{') {
        return Err(Bad::NotAnObject);
    }
    let object: Object = serde_json::from_str(text).map_err(|_| Bad::NotJson)?;
    let kind = object.kind.filter(|kind| !kind.is_null());
    Ok(Row {
        prediction: written("prediction", object.prediction)?,
        truth: written("truth", object.truth)?,
        kind: kind.map(|kind| written("kind", Some(kind))).transpose()?,
    })
}

/// A field as text: numbers as they were written, where a double can tell.
fn written(field: &'static str, value: Option<Value>) -> Result<String, Bad> {
    match value {
        None => Err(Bad::Missing(field)),
        Some(Value::String(text)) => Ok(text),
        Some(Value::Number(number)) => {
            let text = number.to_string();
            let whole = number.is_i64() || number.is_u64();
            let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
            let digits = mantissa.bytes().filter(u8::is_ascii_digit).count();
            if whole || digits <= EXACT_DIGITS { Ok(text) } else { Err(Bad::Imprecise(field)) }
        }
        Some(_) => Err(Bad::NotText(field)),
    }
}

/// CSV with a header.
pub(super) struct Table {
    reader: csv::Reader<Metered<BufReader<Box<dyn Read>>>>,
    /// Bytes read since the last row.
    unread: Rc<Cell<usize>>,
    record: csv::ByteRecord,
    prediction: usize,
    truth: usize,
    kind: Option<usize>,
}

impl Table {
    fn open(input: BufReader<Box<dyn Read>>, name: &str) -> Result<Table, Failure> {
        let unread = Rc::new(Cell::new(0));
        let mut reader = csv::Reader::from_reader(Metered { input, unread: Rc::clone(&unread) });
        let header = reader.headers().map_err(|error| Failure::usage(format!("{name}: {error}")))?;
        let column = |wanted: &str| {
            header.iter().position(|name| name.trim_start_matches('\u{feff}').trim() == wanted)
        };
        let needed = |wanted: &str| {
            column(wanted).ok_or_else(|| {
                let help = "the first line names the columns; `prediction` and `truth` are needed";
                Failure::usage(format!("{name}:1: no column `{wanted}`\n  help: {help}"))
            })
        };
        let (prediction, truth, kind) = (needed("prediction")?, needed("truth")?, column("kind"));
        Ok(Table { reader, unread, record: csv::ByteRecord::new(), prediction, truth, kind })
    }

    fn next(&mut self) -> io::Result<Option<Reading>> {
        self.unread.set(0);
        let before = self.reader.position().line();
        let read = self.reader.read_byte_record(&mut self.record);
        let line = self.record.position().map_or(before, csv::Position::line);
        match read {
            Ok(false) => Ok(None),
            Ok(true) => Ok(Some(Reading { line, row: self.row() })),
            Err(error) => match error.kind() {
                csv::ErrorKind::UnequalLengths { pos, .. } => {
                    let line = pos.as_ref().map_or(line, csv::Position::line);
                    Ok(Some(Reading { line, row: Err(Bad::Fields) }))
                }
                _ => Err(io::Error::other(format!("line {before}: {error}"))),
            },
        }
    }

    fn row(&self) -> Result<Row, Bad> {
        let field = |at: usize, name| {
            let bytes = self.record.get(at).ok_or(Bad::Missing(name))?;
            String::from_utf8(bytes.to_vec()).map_err(|_| Bad::NotUtf8)
        };
        Ok(Row {
            prediction: field(self.prediction, "prediction")?,
            truth: field(self.truth, "truth")?,
            kind: self.kind.map(|at| field(at, "kind")).transpose()?,
        })
    }
}

/// A reader that gives up when one row takes too many bytes, as after a quotation mark that nothing closes.
struct Metered<R> {
    input: R,
    unread: Rc<Cell<usize>>,
}

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.unread.get() > LONGEST_ROW {
            return Err(io::Error::other(format!("a row is {}", Bad::TooLong)));
        }
        let read = self.input.read(buffer)?;
        self.unread.set(self.unread.get() + read);
        Ok(read)
    }
}
