//! Arrival times recorded elsewhere: files with one arrival a line.
//!
//! Only the times are read. Units kill: every format has its own, and a generic file must state it.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::diagnostic::{Diagnostic, Location};

/// Longest line of a trace. Lines with many ids of blocks are long.
const LONGEST_LINE: u64 = 16 << 20;
/// Most arrivals that are kept.
const MOST_ARRIVALS: usize = 10_000_000;

/// Where recorded times come from, and which of them are used.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceSource {
    /// The file.
    pub path: PathBuf,
    /// How it carries them.
    pub format: TraceFormat,
    /// Column or field of the time, where the format leaves it open.
    pub column: Option<String>,
    /// Unit of the time, where the format leaves it open.
    pub unit: Option<TimeUnit>,
    /// How many times faster than recorded, above 0.
    pub speed: f64,
    /// Trace time left out at the begin.
    pub skip: Duration,
    /// Trace time used after that; `None` for all.
    pub window: Option<Duration>,
}

/// How a file carries times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceFormat {
    /// JSON lines, `timestamp` in milliseconds.
    Mooncake,
    /// JSON lines, `timestamp` in seconds.
    Bailian,
    /// CSV, `TIMESTAMP` as a date.
    Azure,
    /// CSV, `Timestamp` in seconds.
    BurstGpt,
    /// JSON lines with a field and a unit that the scenario names.
    Jsonl,
    /// CSV with a column and a unit that the scenario names.
    Csv,
}

/// Unit of a recorded time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// Seconds.
    S,
    /// Milliseconds.
    Ms,
    /// Microseconds.
    Us,
    /// Nanoseconds.
    Ns,
    /// Date and time of day; without a zone it is UTC.
    Date,
}

/// Times as they were recorded.
#[derive(Clone, Debug)]
pub struct Trace {
    /// When arrivals are due, from the start of the phase, ascending, at least one.
    pub offsets: Arc<[Duration]>,
    /// Rows of the file.
    pub rows: u64,
    /// Rows that came earlier than the row before them; they were sorted.
    pub unsorted: u64,
}

/// Why a file gives no times.
#[derive(Debug)]
pub struct TraceError {
    /// What is wrong.
    pub problem: String,
    /// What to do about it.
    pub help: String,
}

impl TraceFormat {
    /// Every format.
    pub const ALL: [TraceFormat; 6] = [
        TraceFormat::Mooncake,
        TraceFormat::Bailian,
        TraceFormat::Azure,
        TraceFormat::BurstGpt,
        TraceFormat::Jsonl,
        TraceFormat::Csv,
    ];

    /// The name in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            TraceFormat::Mooncake => "mooncake",
            TraceFormat::Bailian => "bailian",
            TraceFormat::Azure => "azure",
            TraceFormat::BurstGpt => "burstgpt",
            TraceFormat::Jsonl => "jsonl",
            TraceFormat::Csv => "csv",
        }
    }

    /// Column and unit that belong to it; `None` where the scenario names them.
    pub fn fixed(self) -> Option<(&'static str, TimeUnit)> {
        match self {
            TraceFormat::Mooncake => Some(("timestamp", TimeUnit::Ms)),
            TraceFormat::Bailian => Some(("timestamp", TimeUnit::S)),
            TraceFormat::Azure => Some(("TIMESTAMP", TimeUnit::Date)),
            TraceFormat::BurstGpt => Some(("Timestamp", TimeUnit::S)),
            TraceFormat::Jsonl | TraceFormat::Csv => None,
        }
    }

    fn is_json(self) -> bool {
        matches!(self, TraceFormat::Mooncake | TraceFormat::Bailian | TraceFormat::Jsonl)
    }
}

impl TimeUnit {
    /// Every unit.
    pub const ALL: [TimeUnit; 5] = [TimeUnit::S, TimeUnit::Ms, TimeUnit::Us, TimeUnit::Ns, TimeUnit::Date];

    /// The name in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            TimeUnit::S => "s",
            TimeUnit::Ms => "ms",
            TimeUnit::Us => "us",
            TimeUnit::Ns => "ns",
            TimeUnit::Date => "date",
        }
    }

    /// Nanoseconds in one; `None` for dates.
    fn ns(self) -> Option<i128> {
        match self {
            TimeUnit::S => Some(1_000_000_000),
            TimeUnit::Ms => Some(1_000_000),
            TimeUnit::Us => Some(1_000),
            TimeUnit::Ns => Some(1),
            TimeUnit::Date => None,
        }
    }

    /// A time as text, in nanoseconds from whatever it counts from.
    pub(super) fn read(self, text: &str) -> Option<i128> {
        let text = text.trim();
        match self.ns() {
            Some(ns) => decimal(text, ns),
            None => date(text),
        }
    }
}

impl TraceError {
    fn new(problem: impl Into<String>, help: impl Into<String>) -> TraceError {
        TraceError { problem: problem.into(), help: help.into() }
    }
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problem)
    }
}

impl std::error::Error for TraceError {}

impl TraceSource {
    /// Reads the file through once and keeps the times that are used.
    ///
    /// # Errors
    /// When the file cannot be read, a row has no time, or no row is left.
    pub fn read(&self) -> Result<Trace, TraceError> {
        let file = File::open(&self.path).map_err(|error| unreadable(&error))?;
        self.read_from(BufReader::new(file))
    }

    fn read_from(&self, input: impl BufRead) -> Result<Trace, TraceError> {
        let mut reader = Times::new(self, input)?;
        let mut kept: Vec<i128> = Vec::new();
        let (mut first, mut last, mut rows, mut unsorted) = (None, i128::MIN, 0, 0);
        let skip = self.skip.as_nanos() as i128;
        let window = self.window.map_or(i128::MAX, |window| window.as_nanos() as i128);
        while let Some(at) = reader.next()? {
            rows += 1;
            unsorted += u64::from(at < last);
            last = at;
            let within = at.saturating_sub(*first.get_or_insert(at)).saturating_sub(skip);
            if !(0..window).contains(&within) {
                continue;
            }
            if kept.len() == MOST_ARRIVALS {
                let problem = format!("the trace has more than {MOST_ARRIVALS} arrivals");
                return Err(TraceError::new(problem, "use a part of it: `window = \"1h\"`"));
            }
            kept.push(within);
        }
        if kept.is_empty() {
            let problem = match rows {
                0 => "the trace has no row".to_owned(),
                rows => format!("none of the trace's {rows} arrivals lies in its window"),
            };
            return Err(TraceError::new(problem, "see `skip` and `window`, both in trace time"));
        }
        kept.sort_unstable();
        let offsets = kept.into_iter().map(|ns| self.faster(ns)).collect();
        Ok(Trace { offsets, rows, unsorted })
    }

    fn faster(&self, ns: i128) -> Duration {
        faster(Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX)), self.speed)
    }

    /// What a user should know of the trace before a run.
    pub fn warnings(&self, trace: &Trace) -> Option<Diagnostic> {
        let message =
            format!("{} of {} arrivals are earlier than the one before", trace.unsorted, trace.rows);
        let warning = Diagnostic::warning(message).at(Location::file(&*self.path.to_string_lossy()));
        (trace.unsorted > 0).then(|| {
            warning.help(
                "they were sorted; times count from the first row, and what is earlier than that is left out",
            )
        })
    }
}

/// When that which was recorded at `at` is due at `speed` times the speed.
pub fn faster(at: Duration, speed: f64) -> Duration {
    if speed == 1.0 {
        return at;
    }
    Duration::from_nanos(libm::rint(at.as_nanos() as f64 / speed) as u64)
}

fn unreadable(error: &io::Error) -> TraceError {
    TraceError::new(format!("the trace cannot be read: {error}"), "it is a text file, one arrival a line")
}

/// The times of a file, row by row.
struct Times<'a, R> {
    input: R,
    path: &'a Path,
    is_json: bool,
    column: &'a str,
    unit: TimeUnit,
    /// Place of the column in a CSV.
    place: usize,
    line: u64,
    buffer: Vec<u8>,
}

impl<'a, R: BufRead> Times<'a, R> {
    fn new(source: &'a TraceSource, input: R) -> Result<Times<'a, R>, TraceError> {
        let (column, unit) = match (source.format.fixed(), &source.column, source.unit) {
            (Some(fixed), _, _) => fixed,
            (None, Some(column), Some(unit)) => (&**column, unit),
            _ => {
                let help = "write `column = \"timestamp\"` and `unit = \"ms\"`";
                return Err(TraceError::new("column and unit of the times are not known", help));
            }
        };
        let is_json = source.format.is_json();
        let mut times =
            Times { input, path: &source.path, is_json, column, unit, place: 0, line: 0, buffer: Vec::new() };
        if !is_json && times.advance()? {
            let header = fields(text(&times.buffer)).unwrap_or_default();
            let alike = |name: &String| name.trim().eq_ignore_ascii_case(column.trim());
            times.place = header.iter().position(alike).ok_or_else(|| {
                let known = header.iter().map(|name| format!("`{}`", shown(name))).collect::<Vec<_>>();
                let help = format!("its first line names {}", known.join(", "));
                TraceError::new(format!("the trace has no column `{column}`"), help)
            })?;
        }
        Ok(times)
    }

    /// The next time, in nanoseconds.
    fn next(&mut self) -> Result<Option<i128>, TraceError> {
        if !self.advance()? {
            return Ok(None);
        }
        let line = text(&self.buffer);
        let time = if self.is_json {
            json_time(line, self.column, self.unit)
        } else {
            let cells = fields(line);
            cells.and_then(|cells| self.unit.read(cells.get(self.place)?))
        };
        let Some(time) = time else {
            let file = self.path.file_name().unwrap_or_default().to_string_lossy();
            let problem = format!("line {} of {} has no time in `{}`", self.line, shown(&file), self.column);
            let help = match self.unit {
                TimeUnit::Date => "a date is like `2023-11-16 18:17:03.97996`".to_owned(),
                unit => format!("it is a number, here in {}", unit.name()),
            };
            return Err(TraceError::new(problem, help));
        };
        Ok(Some(time))
    }

    /// Reads on to the next line that is not blank; false at the end.
    fn advance(&mut self) -> Result<bool, TraceError> {
        loop {
            self.buffer.clear();
            let mut limited = self.input.by_ref().take(LONGEST_LINE);
            let read = limited.read_until(b'\n', &mut self.buffer).map_err(|error| unreadable(&error))?;
            self.line += 1;
            if read as u64 == LONGEST_LINE {
                let problem = format!("line {} of the trace is longer than 16 MiB", self.line);
                return Err(TraceError::new(problem, "it is a text file, one arrival a line"));
            }
            if read == 0 {
                return Ok(false);
            }
            if !text(&self.buffer).trim().is_empty() {
                return Ok(true);
            }
        }
    }
}

/// A line without its end and without a mark of the byte order. What is not UTF-8 holds no time.
fn text(line: &[u8]) -> &str {
    std::str::from_utf8(line).unwrap_or("\u{fffd}").trim_start_matches('\u{feff}').trim_end()
}

/// A text from a file, short and without control characters.
fn shown(text: &str) -> String {
    text.chars().take(40).map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// The cells of a line of CSV; `None` where its quotes are broken.
fn fields(line: &str) -> Option<Vec<String>> {
    if !line.contains('"') {
        return Some(line.split(',').map(str::to_owned).collect());
    }
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(line.as_bytes());
    let record = reader.records().next()?.ok()?;
    Some(record.iter().map(str::to_owned).collect())
}

fn json_time(line: &str, field: &str, unit: TimeUnit) -> Option<i128> {
    let row: serde_json::Map<String, Value> = serde_json::from_str(line).ok()?;
    match row.get(field)? {
        Value::Number(number) => unit.read(&number.to_string()),
        Value::String(text) => unit.read(text),
        _ => None,
    }
}

/// A decimal number of units of `ns` nanoseconds, exact to the nanosecond.
fn decimal(text: &str, ns: i128) -> Option<i128> {
    if text.contains(['e', 'E']) {
        let number = text.parse::<f64>().ok().filter(|number| number.is_finite())?;
        return Some(libm::rint(number * ns as f64) as i128);
    }
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let is_negative = whole.starts_with('-');
    let is_number = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    if whole.trim_start_matches('-').is_empty() || whole.len() > 20 || !is_number(part) {
        return None;
    }
    let whole = whole.parse::<i128>().ok()?.checked_mul(ns)?;
    // What lies beyond a nanosecond is cut.
    let mut fraction = 0;
    let mut place = ns;
    for digit in part.bytes() {
        place /= 10;
        fraction += i128::from(digit - b'0') * place;
    }
    Some(if is_negative { whole - fraction } else { whole + fraction })
}

/// A date with up to nine decimals of a second, in nanoseconds from 1970; without a zone it is of UTC.
fn date(text: &str) -> Option<i128> {
    if let Some(ns) = plain_date(text) {
        return Some(ns);
    }
    if let Ok(instant) = text.parse::<jiff::Timestamp>() {
        return Some(instant.as_nanosecond());
    }
    let civil = text.parse::<jiff::civil::DateTime>().ok()?;
    Some(civil.duration_since(jiff::civil::date(1970, 1, 1).at(0, 0, 0, 0)).as_nanos())
}

/// The same of the form that files of a gigabyte have, `2024-05-16 18:17:03.9799600`; `None` of any other.
fn plain_date(text: &str) -> Option<i128> {
    let number = |from: usize, to: usize| {
        let digits = text.as_bytes().get(from..to)?;
        let sum = digits.iter().try_fold(0_i16, |sum, digit| {
            digit.is_ascii_digit().then(|| 10 * sum + i16::from(digit - b'0'))
        })?;
        Some(sum)
    };
    let marks = [(4, b"-"), (7, b"-"), (10, b" T"), (13, b":"), (16, b":")] as [(usize, &[u8]); 5];
    let has_marks =
        marks.iter().all(|(at, marks)| text.as_bytes().get(*at).is_some_and(|mark| marks.contains(mark)));
    let second = number(17, 19).filter(|second| has_marks && *second < 60)?;
    let (month, day) = (i8::try_from(number(5, 7)?).ok()?, i8::try_from(number(8, 10)?).ok()?);
    let day = jiff::civil::Date::new(number(0, 4)?, month, day).ok()?;
    let (hour, minute) =
        (number(11, 13).filter(|hour| *hour < 24)?, number(14, 16).filter(|minute| *minute < 60)?);
    let days = day.duration_since(jiff::civil::date(1970, 1, 1)).as_secs() / 86_400;
    let seconds = days * 86_400 + i64::from(hour) * 3_600 + i64::from(minute) * 60 + i64::from(second);
    let mut fraction = 0;
    match text.as_bytes().get(19..)? {
        [] => {}
        [b'.', decimals @ ..] if (1..=9).contains(&decimals.len()) => {
            let mut place = 1_000_000_000;
            for digit in decimals {
                place /= 10;
                fraction += i64::from(digit.is_ascii_digit().then(|| digit - b'0')?) * place;
            }
        }
        _ => return None,
    }
    Some(i128::from(seconds) * 1_000_000_000 + i128::from(fraction))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(format: TraceFormat) -> TraceSource {
        TraceSource {
            path: PathBuf::from("times.txt"),
            format,
            column: None,
            unit: None,
            speed: 1.0,
            skip: Duration::ZERO,
            window: None,
        }
    }

    fn read(source: &TraceSource, text: &str) -> Result<Vec<u128>, String> {
        let trace = source.read_from(text.as_bytes()).map_err(|error| format!("{error}; {}", error.help))?;
        Ok(trace.offsets.iter().map(Duration::as_nanos).collect())
    }

    #[test]
    fn every_format_has_its_unit() {
        let mooncake = "{\"timestamp\": 27, \"hash_ids\": [1]}\n\n{\"timestamp\": 3027}\r\n";
        assert_eq!(read(&source(TraceFormat::Mooncake), mooncake).unwrap(), [0, 3_000_000_000]);
        let bailian = "\u{feff}{\"timestamp\": 61.114}\n{\"timestamp\": 61.2}";
        assert_eq!(read(&source(TraceFormat::Bailian), bailian).unwrap(), [0, 86_000_000]);
        let azure = "TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:17:03.9799600,4808,10\r\n\
                     2023-11-16 18:17:04.0319601,3180,8";
        assert_eq!(read(&source(TraceFormat::Azure), azure).unwrap(), [0, 52_000_100]);
        let zoned = "timestamp\n2024-05-10 00:00:09.42+00:00\n2024-05-10T00:00:10Z\n";
        assert_eq!(read(&source(TraceFormat::Azure), zoned).unwrap(), [0, 580_000_000]);
        let moved = "Timestamp,Session ID,Elapsed time\n19440110.0,\"a,b\",43\n19440161.0,c,2\n";
        assert_eq!(read(&source(TraceFormat::BurstGpt), moved).unwrap(), [0, 51_000_000_000]);
    }

    #[test]
    fn a_generic_file_states_column_and_unit() {
        let mut source = source(TraceFormat::Csv);
        assert!(read(&source, "at\n1\n").unwrap_err().contains("unit = \"ms\""));
        source.column = Some("at".to_owned());
        source.unit = Some(TimeUnit::Us);
        assert_eq!(read(&source, " At ,x\n10,1\n12.5,2\n").unwrap(), [0, 2_500]);
        assert!(read(&source, "when,x\n10,1\n").unwrap_err().contains("names `when`, `x`"));
        assert!(read(&source, "at\n10\nnan\n").unwrap_err().starts_with("line 3 of times.txt"));
    }

    #[test]
    fn skip_and_window_are_trace_time_and_speed_comes_after() {
        let mut source = source(TraceFormat::Mooncake);
        (source.skip, source.window) = (Duration::from_millis(10), Some(Duration::from_millis(20)));
        source.speed = 4.0;
        let rows = [0, 9, 10, 14, 29, 30].map(|ms| format!("{{\"timestamp\": {ms}}}\n")).concat();
        assert_eq!(read(&source, &rows).unwrap(), [0, 1_000_000, 4_750_000]);
        source.skip = Duration::from_secs(1);
        assert!(read(&source, &rows).unwrap_err().starts_with("none of the trace's 6 arrivals"));
    }

    #[test]
    fn times_out_of_order_are_sorted_and_counted() {
        let source = source(TraceFormat::Mooncake);
        let rows = [5, 7, 6, 9].map(|ms| format!("{{\"timestamp\": {ms}}}\n")).concat();
        let trace = source.read_from(rows.as_bytes()).unwrap();
        assert_eq!((trace.rows, trace.unsorted), (4, 1));
        assert!(trace.offsets.is_sorted());
        assert!(source.warnings(&trace).is_some());
    }

    proptest::proptest! {
        #[test]
        fn a_plain_date_is_the_one_that_the_calendar_says(
            text in "(19|20)[0-9]{2}-[01][0-9]-[0-3][0-9][ T][0-2][0-9]:[0-5][0-9]:[0-6][0-9](\\.[0-9]{1,9})?",
        ) {
            let civil = text.parse::<jiff::civil::DateTime>().ok();
            let since = civil.map(|civil| civil.duration_since(jiff::civil::date(1970, 1, 1).at(0, 0, 0, 0)).as_nanos());
            // The calendar takes a leap second for the one before.
            if let Some(ns) = plain_date(&text) {
                proptest::prop_assert_eq!(Some(ns), since);
            }
            proptest::prop_assert_eq!(date(&text), since);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>, format in 0..6_usize) {
            let _ = source(TraceFormat::ALL[format]).read_from(&bytes[..]);
        }

        #[test]
        fn decimals_are_exact_to_the_nanosecond(ns in 0..1_u64 << 62) {
            let text = format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
            proptest::prop_assert_eq!(decimal(&text, 1_000_000_000), Some(i128::from(ns)));
        }
    }

    /// Traces as they are published.
    #[cfg(feature = "shared-data")]
    #[test]
    fn published_traces_are_read() {
        let folder = Path::new("../shared/data/traces");
        let count = |name: &str, format| {
            let source = TraceSource { path: folder.join(name), ..source(format) };
            source.read().map(|trace| trace.rows).map_err(|error| error.problem)
        };
        assert_eq!(count("mooncake-conversation-first4000.jsonl", TraceFormat::Mooncake), Ok(4_000));
        assert!(count("azure-2023-code.csv", TraceFormat::Azure).unwrap() > 8_000);
        assert!(count("burstgpt-v2-first4.csv", TraceFormat::BurstGpt).unwrap() >= 3);
        assert!(count("handmade-bailian.jsonl", TraceFormat::Bailian).unwrap() >= 3);
    }
}
