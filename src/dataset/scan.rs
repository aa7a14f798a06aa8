//! The one pass over a file before a run.

use std::fmt;
use std::fs::File;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use memchr::memchr;

use super::row::Format;
use super::{Dataset, Extent};
use crate::diagnostic::{Diagnostic, Location};

/// Longest line that can be a row. It is read into memory whole, once in the scan and again when it is sent.
const LONGEST_LINE: usize = 64 << 20;

/// How many line numbers of skipped rows are kept for each reason.
const LINES_KEPT: usize = 5;

/// Why a row is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SkipReason {
    /// Bytes that are not UTF-8.
    NotUtf8,
    /// Not a JSON value.
    NotJson,
    /// JSON without the fields of the format, or with one twice or not text.
    Fields,
    /// A text of the row is blank.
    Blank,
    /// Longer than 64 MiB.
    TooLong,
}

impl SkipReason {
    /// The reason in words, for rows of `format`.
    pub fn describe(self, format: Format) -> String {
        match self {
            SkipReason::NotUtf8 => "not UTF-8 text".to_owned(),
            SkipReason::NotJson => "not valid JSON".to_owned(),
            SkipReason::Fields => format!("a `{}` row must have {}", format.name(), format.needs()),
            SkipReason::Blank => "a text is blank".to_owned(),
            SkipReason::TooLong => "longer than 64 MiB".to_owned(),
        }
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
    /// It is one JSON list, not one value a line.
    JsonList(PathBuf),
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
    },
    /// It has more than 2³² rows.
    TooManyRows(PathBuf),
}

impl ScanError {
    /// The error as it is shown.
    pub fn diagnostic(&self) -> Diagnostic {
        let file = |path: &Path| Location::file(path.to_string_lossy());
        let line = |path: &Path, line| Location::line(path.to_string_lossy(), line);
        let known =
            Format::ALL.map(|format| format!("a `{}` row must have {}", format.name(), format.needs()));
        match self {
            ScanError::Unreadable(path, _) | ScanError::NotAFile(path) | ScanError::TooManyRows(path) => {
                Diagnostic::error(self.to_string()).at(file(path))
            }
            ScanError::JsonList(path) => Diagnostic::error(self.to_string())
                .at(file(path))
                .help("write one value a line, as `jq -c '.[]'` does"),
            ScanError::Empty(path) => {
                Diagnostic::error(self.to_string()).at(file(path)).help("give one JSON value a line")
            }
            ScanError::NoGoodRow { path, format: Some(format), line: at, reason } => {
                let problem = Diagnostic::error(self.to_string()).at(line(path, *at));
                problem.help(format!("the first row: {}", reason.describe(*format)))
            }
            ScanError::NoGoodRow { path, format: None, line: at, .. } => {
                let problem = Diagnostic::error(self.to_string()).at(line(path, *at));
                problem.help(format!("one JSON value a line: {}", known.join("; ")))
            }
            ScanError::Ambiguous { path, line: at } => {
                let names = Format::ALL.map(|format| format!("`\"{}\"`", format.name())).join(" or ");
                Diagnostic::error(self.to_string())
                    .at(line(path, *at))
                    .help(format!("say which it is: `format` = {names}"))
            }
        }
    }
}

impl fmt::Display for ScanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScanError::Unreadable(path, error) => {
                write!(f, "the data set `{}` cannot be read: {error}", path.display())
            }
            ScanError::NotAFile(path) => write!(f, "the data set `{}` is not a file", path.display()),
            ScanError::JsonList(path) => {
                write!(f, "the data set `{}` is one JSON list, not one value a line", path.display())
            }
            ScanError::Empty(path) => write!(f, "the data set `{}` has no rows", path.display()),
            ScanError::NoGoodRow { path, format: Some(format), .. } => {
                write!(f, "no row of the data set `{}` is a `{}` row", path.display(), format.name())
            }
            ScanError::NoGoodRow { path, format: None, .. } => {
                write!(f, "no row of the data set `{}` has a known format", path.display())
            }
            ScanError::Ambiguous { path, .. } => {
                write!(f, "rows of the data set `{}` fit more than one format", path.display())
            }
            ScanError::TooManyRows(path) => {
                write!(f, "the data set `{}` has more than 4,294,967,295 rows", path.display())
            }
        }
    }
}

impl std::error::Error for ScanError {}

pub(super) fn scan(path: &Path, format: Option<Format>) -> Result<Dataset, ScanError> {
    let unreadable = |error| ScanError::Unreadable(path.to_owned(), error);
    // Looked at before it is opened: opening a pipe would wait for its writer.
    if !std::fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err(ScanError::NotAFile(path.to_owned()));
    }
    let file = File::open(path).map_err(unreadable)?;
    let mut scan = Scan { path, format, rows: Vec::new(), hashes: Vec::new(), skipped: Vec::new() };
    let mut lines = Lines { input: BufReader::with_capacity(1 << 18, &file), offset: 0, number: 0 };
    let mut line = Vec::new();
    while let Some(read) = lines.next_into(&mut line).map_err(unreadable)? {
        scan.take(&line, &read)?;
    }
    let Scan { format, rows, mut hashes, mut skipped, .. } = scan;
    skipped.sort_by_key(|skipped| skipped.reason);
    let (Some(format), false) = (format, rows.is_empty()) else {
        let first =
            skipped.iter().filter_map(|skipped| Some((*skipped.lines.first()?, skipped.reason))).min();
        return Err(match first {
            Some((line, reason)) => ScanError::NoGoodRow { path: path.to_owned(), format, line, reason },
            None => ScanError::Empty(path.to_owned()),
        });
    };
    hashes.sort_unstable();
    let repeated = hashes.windows(2).filter(|pair| pair[0] == pair[1]).count() as u64;
    Ok(Dataset { file, path: path.to_owned(), format, rows, skipped, repeated })
}

struct Scan<'a> {
    path: &'a Path,
    format: Option<Format>,
    rows: Vec<Extent>,
    hashes: Vec<u64>,
    skipped: Vec<Skipped>,
}

impl Scan<'_> {
    fn take(&mut self, line: &[u8], read: &Line) -> Result<(), ScanError> {
        if read.length > LONGEST_LINE as u64 {
            self.skip(SkipReason::TooLong, read.number);
            return Ok(());
        }
        if line.trim_ascii().is_empty() {
            return Ok(());
        }
        let is_first = self.rows.is_empty() && self.skipped.is_empty();
        if is_first && line.trim_ascii_start().starts_with(b"[") {
            return Err(ScanError::JsonList(self.path.to_owned()));
        }
        let row = match self.format {
            Some(format) => format.read(line),
            None => self.detect(line, read)?,
        };
        let row = match row {
            Ok(row) => row,
            Err(reason) => {
                self.skip(reason, read.number);
                return Ok(());
            }
        };
        if self.rows.len() == u32::MAX as usize {
            return Err(ScanError::TooManyRows(self.path.to_owned()));
        }
        self.rows.push(Extent { offset: read.offset, length: line.len() as u32 });
        // A hasher made by `new` has fixed keys: the count is the same in every run.
        let mut hasher = DefaultHasher::new();
        row.prompt.hash(&mut hasher);
        self.hashes.push(hasher.finish());
        Ok(())
    }

    /// Reads a line in whichever format it has. The first that fits one decides for the file.
    fn detect(&mut self, line: &[u8], read: &Line) -> Result<Result<super::Row, SkipReason>, ScanError> {
        let mut fitting = None;
        let mut reason = SkipReason::NotJson;
        for format in Format::ALL {
            match format.read(line) {
                Ok(_) if fitting.is_some() => {
                    return Err(ScanError::Ambiguous { path: self.path.to_owned(), line: read.number });
                }
                Ok(row) => fitting = Some((format, row)),
                // What makes a row bad is best said of the format that came closest.
                Err(SkipReason::Blank) => reason = SkipReason::Blank,
                Err(other) if reason != SkipReason::Blank => reason = other,
                Err(_) => {}
            }
        }
        let Some((format, row)) = fitting else { return Ok(Err(reason)) };
        self.format = Some(format);
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
}

/// A line's place: `number` from 1; `length` without its end, the whole of it even where less was kept.
struct Line {
    offset: u64,
    length: u64,
    number: u64,
}

/// Lines of a file with their offsets, in memory that no line can exceed.
struct Lines<R> {
    input: R,
    offset: u64,
    number: u64,
}

impl<R: BufRead> Lines<R> {
    /// Puts the next line into `line`, without its end and, on the first, without a byte order mark. Of a line
    /// longer than [`LONGEST_LINE`] only the beginning is kept.
    fn next_into(&mut self, line: &mut Vec<u8>) -> io::Result<Option<Line>> {
        line.clear();
        let mut read = Line { offset: self.offset, length: 0, number: self.number + 1 };
        let mut ended = false;
        while !ended {
            let chunk = match self.input.fill_buf() {
                Ok(chunk) => chunk,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if chunk.is_empty() {
                break;
            }
            let end = memchr(b'\n', chunk);
            let part = &chunk[..end.unwrap_or(chunk.len())];
            let room = (LONGEST_LINE + 1).saturating_sub(line.len());
            line.extend_from_slice(&part[..part.len().min(room)]);
            read.length += part.len() as u64;
            ended = end.is_some();
            let used = part.len() + usize::from(ended);
            self.offset += used as u64;
            self.input.consume(used);
        }
        if read.length == 0 && !ended {
            return Ok(None);
        }
        self.number += 1;
        if line.last() == Some(&b'\r') {
            line.pop();
            read.length -= 1;
        }
        if read.number == 1 && line.starts_with(b"\xef\xbb\xbf") {
            line.drain(..3);
            read.offset += 3;
            read.length -= 3;
        }
        Ok(Some(read))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every line of `text` with its offset, read through a buffer of `capacity` bytes.
    fn lines(text: &[u8], capacity: usize) -> Vec<(u64, Vec<u8>)> {
        let mut lines = Lines { input: BufReader::with_capacity(capacity, text), offset: 0, number: 0 };
        let (mut line, mut all) = (Vec::new(), Vec::new());
        while let Some(read) = lines.next_into(&mut line).unwrap() {
            all.push((read.offset, line.clone()));
        }
        all
    }

    #[test]
    fn lines_are_the_same_wherever_the_buffer_ends() {
        let text = b"\xef\xbb\xbfab\r\n\r\ncd\n\nef";
        let expected = [(3, "ab"), (7, ""), (9, "cd"), (12, ""), (13, "ef")];
        let expected = expected.map(|(at, line)| (at, line.as_bytes().to_vec()));
        for capacity in 1..=text.len() + 1 {
            assert_eq!(lines(text, capacity), expected, "buffer of {capacity}");
        }
    }

    proptest::proptest! {
        #[test]
        fn a_line_stands_at_its_offset(text in proptest::collection::vec(proptest::sample::select(b"ab\r\n".to_vec()), 0..60), capacity in 1..9_usize) {
            for (offset, line) in lines(&text, capacity) {
                let offset = offset as usize;
                proptest::prop_assert_eq!(&text[offset..offset + line.len()], &line[..]);
            }
        }
    }
}
