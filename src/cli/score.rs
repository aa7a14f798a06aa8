//! `tonnage score`: verdicts on the rows of a file, one at a time.
//!
//! Memory holds one row, whatever the file's size. A row that cannot be scored is reported, counted and left out: it
//! is neither right nor wrong.

mod rows;

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;

use self::rows::{Bad, Reading, Row, Rows};
use super::exit::{Exit, Failure};
use crate::score::{Check, Kind, Rule, Tally};

const EXAMPLES: &str = "\
Examples:
  tonnage score answers.jsonl --kind gsm8k
  tonnage score answers.csv --kind math > verdicts.csv
  tonnage score answers.jsonl --kind regex --pattern 'code: (\\d+)'
  tonnage score answers.jsonl --kind math --explain 17

FILE is JSONL (an object a line) or CSV (with a header). Its columns are `prediction`, the whole
response, `truth`, and `kind` where it varies; others are ignored.

Verdicts go to standard output as CSV, totals to standard error. Rows are numbered from 0.

Exit codes:
  0 done · 1 unexpected · 2 bad usage, or a file that cannot be read
  4 no row could be scored; with --strict, at least one could not";

/// How many rows left out are reported one by one.
const REPORTED: u64 = 20;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ScoreArgs {
    /// The file of answers; `-` for standard input
    file: PathBuf,
    /// Check rows that name no kind as this one
    #[arg(long, value_parser = PossibleValuesParser::new(Kind::NAMES))]
    kind: Option<String>,
    /// The pattern of kind `regex`; its capture group is compared with the truth, without one it is the test
    #[arg(long, value_name = "REGEX")]
    pattern: Option<String>,
    /// The last letter of kind `choice`
    #[arg(long, value_name = "LETTER", default_value_t = 'J')]
    letters: char,
    /// Count only answers in a final mark: a box, `####`, or `<answer>` tags
    #[arg(long)]
    marked_only: bool,
    /// Let numbers differ from the truth by this share of it
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = super::compare::share)]
    tolerance: f64,
    /// Fail (exit code 4) if a row has no usable truth or cannot be read
    #[arg(long)]
    strict: bool,
    /// Show step by step how this row gets its verdict, and score no other
    #[arg(long, value_name = "ROW")]
    explain: Option<u64>,
}

pub(super) fn run(args: &ScoreArgs) -> Result<Exit, Failure> {
    let rules = Rules::new(args)?;
    let name = args.file.to_string_lossy();
    let mut rows = Rows::open(&args.file)?;
    match args.explain {
        Some(wanted) => explain(&mut rows, &rules, &name, wanted, args.strict),
        None => score(&mut rows, &rules, &name, args.strict),
    }
}

/// A rule for each kind that the arguments allow.
struct Rules {
    by_kind: BTreeMap<&'static str, Rule>,
    default: Option<String>,
}

impl Rules {
    fn new(args: &ScoreArgs) -> Result<Rules, Failure> {
        if args.kind.as_deref() == Some("regex") && args.pattern.is_none() {
            return Err(Failure::usage("kind `regex` needs a pattern\n  help: give it with --pattern"));
        }
        let kinds = Kind::NAMES.iter().filter_map(|name| match *name {
            "choice" => Some(Kind::Choice { last: args.letters }),
            "regex" => args.pattern.clone().map(|pattern| Kind::Regex { pattern }),
            name => Kind::named(name),
        });
        let mut by_kind = BTreeMap::new();
        for kind in kinds {
            let name = kind.name();
            let rule =
                Rule::new(kind).and_then(|rule| rule.tolerance(args.tolerance)).map_err(Failure::usage)?;
            by_kind.insert(name, if args.marked_only { rule.marked_only() } else { rule });
        }
        Ok(Rules { by_kind, default: args.kind.clone() })
    }

    /// The rule for a row.
    fn of(&self, row: &Row) -> Result<&Rule, Bad> {
        let kind = row.kind.as_deref().filter(|kind| !kind.is_empty()).or(self.default.as_deref());
        let kind = kind.ok_or(Bad::NoKind)?;
        self.by_kind.get(kind).ok_or(match kind {
            "regex" => Bad::NoPattern,
            _ => Bad::UnknownKind,
        })
    }
}

fn explain(rows: &mut Rows, rules: &Rules, file: &str, wanted: u64, strict: bool) -> Result<Exit, Failure> {
    let mut count = 0;
    while let Some(Reading { line, row }) = rows.next().map_err(|error| unreadable(file, &error))? {
        if count == wanted {
            let at = |bad: Bad| Failure::usage(format!("{file}:{line}: {bad}"));
            let row = row.map_err(at)?;
            let rule = rules.of(&row).map_err(at)?;
            let steps = rule.explain(&row.prediction, &row.truth).join("\n");
            // A closed pipe is the reader's choice.
            let _ = writeln!(io::stdout(), "row {wanted}, line {line}\n{steps}");
            let is_left_out = rule.truth(&row.truth).is_none();
            return Ok(if strict && is_left_out { Exit::Invalid } else { Exit::Done });
        }
        count += 1;
    }
    Err(Failure::usage(format!("{file}: no row {wanted}\n  help: it has {count}, numbered from 0")))
}

fn score(rows: &mut Rows, rules: &Rules, file: &str, strict: bool) -> Result<Exit, Failure> {
    let mut out = Verdicts::new(io::stdout());
    let (mut tally, mut left_out) = (Tally::default(), 0);
    let mut number = 0;
    out.header()?;
    let ended = loop {
        let Reading { line, row } = match rows.next() {
            Ok(Some(reading)) => reading,
            Ok(None) => break Ok(()),
            Err(error) => break Err(unreadable(file, &error)),
        };
        match row.and_then(|row| checked(rules, &row)) {
            Ok(check) => {
                tally.add(check.verdict);
                out.row(number, &check)?;
            }
            Err(bad) => {
                left_out += 1;
                if left_out <= REPORTED {
                    let _ = writeln!(io::stderr(), "{file}:{line}: {bad}");
                }
            }
        }
        number += 1;
    };
    out.finish()?;
    let _ = write!(io::stderr(), "{}", totals(&tally, left_out));
    ended?;
    Ok(if tally.scored() == 0 || strict && left_out > 0 { Exit::Invalid } else { Exit::Done })
}

fn checked(rules: &Rules, row: &Row) -> Result<Check, Bad> {
    let rule = rules.of(row)?;
    if rule.truth(&row.truth).is_none() {
        return Err(Bad::Truth(rule.kind().name()));
    }
    Ok(rule.check(&row.prediction, &row.truth))
}

fn unreadable(file: &str, error: &io::Error) -> Failure {
    Failure::usage(format!("{file}: {error}"))
}

/// The totals as they are shown.
fn totals(tally: &Tally, left_out: u64) -> String {
    let Tally { right, wrong, no_answer } = tally;
    let mut text = format!("right {right} · wrong {wrong} · no answer {no_answer}");
    text += &match tally.accuracy() {
        Some(accuracy) => {
            let [share, low, high] = [accuracy.share, accuracy.low, accuracy.high].map(|share| 100.0 * share);
            format!("\naccuracy {share:.2} % (95 % interval {low:.2} % to {high:.2} %)")
        }
        None => "\nno row could be scored".to_owned(),
    };
    if left_out > 0 {
        let rows = if left_out == 1 { "row" } else { "rows" };
        let shown =
            if left_out > REPORTED { format!(", the first {REPORTED} named above") } else { String::new() };
        text += &format!("\n{left_out} {rows} left out{shown}");
    }
    text + "\n"
}

/// Verdicts as CSV. Once the reader has gone nothing is written any more; the totals still count.
struct Verdicts<W: Write> {
    csv: Option<csv::Writer<BufWriter<W>>>,
}

impl<W: Write> Verdicts<W> {
    fn new(out: W) -> Verdicts<W> {
        Verdicts { csv: Some(csv::Writer::from_writer(BufWriter::new(out))) }
    }

    fn header(&mut self) -> Result<(), Failure> {
        self.write(|csv| csv.write_record(["row", "verdict", "rule", "answer", "truth"]).map_err(cause))
    }

    fn row(&mut self, number: u64, check: &Check) -> Result<(), Failure> {
        let number = number.to_string();
        let fields = [number.as_str(), check.verdict.name(), check.rule, &check.answer, &check.truth];
        self.write(|csv| csv.write_record(fields).map_err(cause))
    }

    fn finish(&mut self) -> Result<(), Failure> {
        self.write(|csv| csv.flush())
    }

    fn write(
        &mut self,
        write: impl FnOnce(&mut csv::Writer<BufWriter<W>>) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let Some(csv) = &mut self.csv else { return Ok(()) };
        match write(csv) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                if let Some(Ok(buffer)) = self.csv.take().map(csv::Writer::into_inner) {
                    // What is buffered has no reader; dropping the buffer would try to write it.
                    let _ = buffer.into_parts();
                }
                Ok(())
            }
            Err(error) => Err(Failure::unexpected(format!("the verdicts cannot be written: {error}"))),
            Ok(()) => Ok(()),
        }
    }
}

/// The failure to write that a CSV error wraps.
fn cause(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}
