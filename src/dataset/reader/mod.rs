//! From the text of a row to what it says.

mod chat;
mod question;

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Map, Value};

use super::format::Format;
use super::row::Row;
use super::scan::SkipReason;
use super::template::Template;
use crate::prompt::{Message, Role};

pub(super) use chat::is_message;

/// Columns that a scenario names, where the format leaves them open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Columns {
    /// What is asked.
    pub prompt: Option<String>,
    /// The reference answer.
    pub truth: Option<String>,
    /// The recorded answer.
    pub answer: Option<String>,
    /// What the model is told before.
    pub system: Option<String>,
}

impl Columns {
    /// Every column with its key.
    pub fn all(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let all = [
            ("prompt", &self.prompt),
            ("truth", &self.truth),
            ("answer", &self.answer),
            ("system", &self.system),
        ];
        all.into_iter().filter_map(|(key, name)| Some((key, name.as_deref()?)))
    }
}

/// Reads the rows of one file.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    pub(super) format: Format,
    pub(super) columns: Columns,
    pub(super) template: Option<Template>,
    /// Of CSV.
    pub(super) header: Header,
}

/// The first record of a CSV.
#[derive(Clone, Debug)]
pub(super) struct Header {
    pub(super) names: Vec<String>,
    pub(super) delimiter: u8,
}

impl Header {
    /// No header: the file is JSON.
    pub(super) const NONE: Header = Header { names: Vec::new(), delimiter: b',' };

    /// Reads a header, its delimiter the one of comma, semicolon and tab that makes the most of it.
    pub(super) fn of(text: &str) -> Header {
        let split = |delimiter| Header { names: cells(text, delimiter).unwrap_or_default(), delimiter };
        // The first of the best.
        let best = [b'\t', b';', b','].map(split).into_iter().max_by_key(|header| header.names.len());
        best.unwrap_or(Header::NONE)
    }

    /// The place of a column; blanks around it and its case do not matter.
    pub(super) fn place(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| known.trim().eq_ignore_ascii_case(name.trim()))
    }
}

impl Reader {
    pub(super) fn read(&self, text: &[u8]) -> Result<Row, SkipReason> {
        let text = std::str::from_utf8(text).map_err(|_| SkipReason::NotUtf8)?;
        let mut row = match self.format {
            Format::Csv => {
                let cells = cells(text, self.header.delimiter).ok_or(SkipReason::Cells)?;
                if cells.len() != self.header.names.len() {
                    return Err(SkipReason::Cells);
                }
                self.named(|name| self.header.place(name).map(|place| cells[place].clone()))?
            }
            format => {
                let opening = text.trim_start().chars().next();
                // A list would be taken for the fields in order.
                let is_row = match opening {
                    Some('{') => true,
                    Some('"') => format == Format::Prompts,
                    Some('[') => format == Format::Messages,
                    _ => false,
                };
                if !is_row {
                    json::<IgnoredAny>(text)?;
                    return Err(SkipReason::Fields);
                }
                self.of_json(text)?
            }
        };
        if row.turns.iter().any(|turn| turn.asked().all(|asked| asked.trim().is_empty())) {
            return Err(SkipReason::Blank);
        }
        if let Some(template) = self.template.as_ref().filter(|_| !self.format.has_columns()) {
            let object: Map<String, Value> = json(text)?;
            let prompt = template.fill(|name| plain(object.get(name)?)).ok_or(SkipReason::Fields)?;
            row.turns[0].said = vec![Message::user(prompt)];
        }
        Ok(row)
    }

    fn of_json(&self, text: &str) -> Result<Row, SkipReason> {
        match self.format {
            Format::Gsm8k => question::gsm8k(text),
            Format::Math => question::math(text),
            Format::ShareGpt => chat::sharegpt(text),
            Format::Messages => chat::messages(text),
            Format::Batch => chat::batch(text),
            Format::Turns => chat::turns(text),
            Format::Prompts => question::prompts(text),
            Format::LongBench => question::longbench(text),
            Format::LongBenchV2 => question::longbench_v2(text),
            Format::Jsonl | Format::Csv => {
                let object: Map<String, Value> = json(text)?;
                self.named(|name| plain(object.get(name)?))
            }
        }
    }

    /// A row of the columns that the scenario names.
    fn named(&self, value: impl Fn(&str) -> Option<String>) -> Result<Row, SkipReason> {
        let given = |name: &Option<String>| match name {
            Some(name) => value(name).map(Some).ok_or(SkipReason::Fields),
            None => Ok(None),
        };
        let prompt = match &self.template {
            Some(template) => template.fill(&value),
            None => given(&self.columns.prompt)?,
        };
        let truth = given(&self.columns.truth)?;
        if truth.as_ref().is_some_and(|truth| truth.trim().is_empty()) {
            return Err(SkipReason::Blank);
        }
        let answer = given(&self.columns.answer)?.filter(|answer| !answer.trim().is_empty());
        let system = given(&self.columns.system)?.filter(|system| !system.trim().is_empty());
        Ok(Row { system, ..Row::question(prompt.ok_or(SkipReason::Fields)?, answer, truth) })
    }
}

/// The rows that stand before every question as examples: each with its answer, as messages.
pub(super) fn example(row: &Row) -> Option<[Message; 2]> {
    let turn = row.turns.first()?;
    let answer = turn.answer.as_ref().or(row.truth.as_ref())?;
    let asked = turn.said.last()?.clone();
    Some([asked, Message { role: Role::Assistant, content: answer.clone() }])
}

fn json<T: DeserializeOwned>(text: &str) -> Result<T, SkipReason> {
    let reason =
        |error: serde_json::Error| if error.is_data() { SkipReason::Fields } else { SkipReason::NotJson };
    serde_json::from_str(text).map_err(reason)
}

/// A value as text; a list of one as that one.
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(value) => Some(value.to_string()),
        Value::Array(list) if list.len() == 1 => plain(&list[0]),
        Value::Array(_) | Value::Object(_) | Value::Null => None,
    }
}

/// The cells of a record; `None` where its quotes are broken.
fn cells(text: &str, delimiter: u8) -> Option<Vec<String>> {
    if !text.contains('"') {
        return Some(text.split(char::from(delimiter)).map(str::to_owned).collect());
    }
    let mut reader =
        csv::ReaderBuilder::new().has_headers(false).delimiter(delimiter).from_reader(text.as_bytes());
    let record = reader.records().next()?.ok()?;
    Some(record.iter().map(str::to_owned).collect())
}

/// A number as files write it: 12, 12.0 or "12".
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Flexible {
    Whole(u64),
    Number(f64),
    Text(String),
}

impl Flexible {
    /// A count of tokens, at least 1.
    pub(super) fn count(self) -> Result<u32, SkipReason> {
        let number = match self {
            Flexible::Whole(number) => number as f64,
            Flexible::Number(number) => number,
            Flexible::Text(text) => text.trim().replace(',', "").parse().map_err(|_| SkipReason::Number)?,
        };
        let is_count = number.fract() == 0.0 && (1.0..=f64::from(u32::MAX)).contains(&number);
        if is_count { Ok(number as u32) } else { Err(SkipReason::Number) }
    }
}
