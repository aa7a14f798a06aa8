//! Metrics as servers expose them: Prometheus text and OpenMetrics, which differ in little.
//!
//! <https://prometheus.io/docs/instrumenting/exposition_formats/> and the OpenMetrics 1.0 text. A page is read
//! line by line; a line that cannot be read is a [`Fault`] of its own and hides no other. Of a sample come name,
//! labels, value, time and the declared kind of its family; help, units and exemplars are passed over. Names in
//! quotes (UTF-8 names) are not read.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::str::Lines;

/// One line of a page that states a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample<'a> {
    /// Name, with the suffix that samples of its kind have (`_total`, `_bucket`, …).
    pub name: &'a str,
    /// Names and values of its labels, in the page's order.
    pub labels: Vec<(&'a str, Cow<'a, str>)>,
    /// Value: any number, infinite and NaN included.
    pub value: f64,
    /// When it was taken, if it says so: milliseconds in Prometheus text, seconds in OpenMetrics, since 1970.
    pub timestamp: Option<f64>,
    /// Kind of its family.
    pub kind: Kind,
}

/// What a family of samples is, as the page declares it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Only grows, or starts anew.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Cumulative counts in `_bucket`, by the label `le`, with `_sum` and `_count`.
    Histogram,
    /// Quantiles, by the label `quantile`, with `_sum` and `_count`.
    Summary,
    /// Another kind, or none was declared.
    #[default]
    Other,
}

/// A line that is neither a comment nor a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Its number, from 1.
    pub line: usize,
    /// What was expected.
    pub expected: &'static str,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} of the metrics: expected {}", self.line, self.expected)
    }
}

impl Error for Fault {}

/// Reads a page.
pub fn samples(page: &str) -> Samples<'_> {
    Samples { lines: page.lines(), line: 0, family: "", kind: Kind::Other }
}

/// The samples of a page, in its order. Ends with the page or with OpenMetrics' `# EOF`.
#[derive(Clone, Debug)]
pub struct Samples<'a> {
    lines: Lines<'a>,
    line: usize,
    /// Family declared last, and its kind.
    family: &'a str,
    kind: Kind,
}

impl<'a> Sample<'a> {
    /// Value of a label.
    pub fn label(&self, name: &str) -> Option<&str> {
        self.labels.iter().find(|(label, _)| *label == name).map(|(_, value)| value.as_ref())
    }

    /// Whether it says when its series began (`…_created`), not how far it has come. Some libraries write such
    /// samples unasked, as gauges.
    pub fn is_creation_time(&self) -> bool {
        self.name.ends_with("_created")
    }
}

impl<'a> Iterator for Samples<'a> {
    type Item = Result<Sample<'a>, Fault>;

    fn next(&mut self) -> Option<Result<Sample<'a>, Fault>> {
        loop {
            self.line += 1;
            let line = self.lines.next()?.trim_matches(BLANKS);
            if line == "# EOF" {
                self.lines = "".lines();
            } else if let Some(comment) = line.strip_prefix('#') {
                self.take_comment(comment);
            } else if !line.is_empty() {
                let sample = read_sample(line).map_err(|expected| Fault { line: self.line, expected });
                return Some(sample.map(|sample| Sample { kind: self.kind_of(sample.name), ..sample }));
            }
        }
    }
}

impl<'a> Samples<'a> {
    fn take_comment(&mut self, comment: &'a str) {
        let mut words = comment.split(BLANKS).filter(|word| !word.is_empty());
        if words.next() == Some("TYPE") {
            self.family = words.next().unwrap_or_default();
            self.kind = match words.next() {
                Some("counter") => Kind::Counter,
                Some("gauge") => Kind::Gauge,
                Some("histogram") => Kind::Histogram,
                Some("summary") => Kind::Summary,
                _ => Kind::Other,
            };
        }
    }

    /// Samples follow the declaration of their family, whose name they bear, perhaps with a suffix.
    fn kind_of(&self, name: &str) -> Kind {
        match name.strip_prefix(self.family) {
            Some("") => self.kind,
            Some("_total" | "_created") if self.kind == Kind::Counter => self.kind,
            Some("_bucket" | "_sum" | "_count" | "_created")
                if matches!(self.kind, Kind::Histogram | Kind::Summary) =>
            {
                self.kind
            }
            _ => Kind::Other,
        }
    }
}

const BLANKS: [char; 2] = [' ', '\t'];

/// Reads a line that is neither empty nor a comment, or says what was expected.
fn read_sample(line: &str) -> Result<Sample<'_>, &'static str> {
    let (name, rest) = split_name(line, true).ok_or("the name of a metric")?;
    let (labels, rest) = match rest.trim_start_matches(BLANKS).strip_prefix('{') {
        Some(rest) => read_labels(rest)?,
        None if rest.starts_with(BLANKS) => (Vec::new(), rest),
        None => return Err("labels or a blank after the name"),
    };
    // What follows a `#` is an exemplar.
    let numbers = rest.split('#').next().unwrap_or_default();
    let mut numbers = numbers.split(BLANKS).filter(|number| !number.is_empty()).map(str::parse::<f64>);
    let Some(Ok(value)) = numbers.next() else { return Err("a number as the value") };
    let timestamp = numbers.next().transpose().map_err(|_| "a number as the time")?;
    if numbers.next().is_some() {
        return Err("nothing after value and time");
    }
    Ok(Sample { name, labels, value, timestamp, kind: Kind::Other })
}

/// Labels and their values, and what follows the brace that closes them.
type Labels<'a> = (Vec<(&'a str, Cow<'a, str>)>, &'a str);

fn read_labels(mut rest: &str) -> Result<Labels<'_>, &'static str> {
    let mut labels = Vec::new();
    loop {
        rest = rest.trim_start_matches(BLANKS);
        if let Some(after) = rest.strip_prefix('}') {
            return Ok((labels, after));
        }
        let (name, after) = split_name(rest, false).ok_or("the name of a label")?;
        let after = after.trim_start_matches(BLANKS).strip_prefix('=').ok_or("`=` after the label's name")?;
        let after = after.trim_start_matches(BLANKS).strip_prefix('"').ok_or("a label's value in quotes")?;
        let (value, after) = split_value(after).ok_or("the quote that ends a label's value")?;
        labels.push((name, value));
        rest = after.trim_start_matches(BLANKS);
        match rest.strip_prefix(',') {
            Some(after) => rest = after,
            None if rest.starts_with('}') => {}
            None => return Err("a comma or `}` after a label"),
        }
    }
}

/// Splits a name off: letters, digits, `_`, and `:` in names of metrics, not beginning with a digit.
fn split_name(text: &str, is_metric: bool) -> Option<(&str, &str)> {
    let is_inside = |c: char| c.is_ascii_alphanumeric() || c == '_' || is_metric && c == ':';
    let end = text.find(|c| !is_inside(c)).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    (!name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit())).then_some((name, rest))
}

/// Splits a label's value off, up to its closing quote. Escaped are `\\`, `\"` and `\n`; a backslash before
/// anything else is itself.
fn split_value(text: &str) -> Option<(Cow<'_, str>, &str)> {
    let mut value = Cow::Borrowed("");
    let mut rest = text;
    loop {
        let (plain, after) = rest.split_at(rest.find(['"', '\\'])?);
        value += plain;
        if let Some(after) = after.strip_prefix('"') {
            return Some((value, after));
        }
        let escaped = &after[1..];
        let (character, taken) = match escaped.as_bytes().first() {
            Some(b'\\') => ("\\", 1),
            Some(b'"') => ("\"", 1),
            Some(b'n') => ("\n", 1),
            _ => ("\\", 0),
        };
        value += character;
        rest = &escaped[taken..];
    }
}

#[cfg(test)]
mod tests;
