//! From the text of a row to what it says.

mod chat;
mod question;

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeOwned, DeserializeSeed, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::format::Format;
use super::records::Container;
use super::row::{Row, Size};
use super::scan::SkipReason;
use super::template::Template;
use super::trace::TimeUnit;
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
    /// Tokens of the prompt, in place of a text.
    pub prompt_tokens: Option<String>,
    /// Tokens of the answer.
    pub output_tokens: Option<String>,
    /// When it was sent, and the unit of that.
    pub time: Option<(String, TimeUnit)>,
}

impl Columns {
    /// Every column with its key.
    pub fn all(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let all = [
            ("prompt", &self.prompt),
            ("truth", &self.truth),
            ("answer", &self.answer),
            ("system", &self.system),
            ("prompt_tokens", &self.prompt_tokens),
            ("output_tokens", &self.output_tokens),
        ];
        let named = all.into_iter().filter_map(|(key, name)| Some((key, name.as_deref()?)));
        named.chain(self.time.as_ref().map(|(name, _)| ("time", name.as_str())))
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
    /// Tokens of a block of a trace that has ids of them.
    pub(super) block_tokens: Option<u32>,
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
            Format::Csv | Format::Azure | Format::BurstGpt => {
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
        if row.size.is_some() {
            return Ok(row);
        }
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
            Format::Mooncake | Format::Bailian => {
                let object: Map<String, Value> = json(text)?;
                let mut row = self.named(|name| plain(object.get(name)?))?;
                if let (Some(size), Some(ids), Some(block)) =
                    (&mut row.size, object.get("hash_ids"), self.block_tokens)
                {
                    (size.blocks, size.block_tokens) = (blocks(ids, size.prompt_tokens, block)?, block);
                }
                Ok(row)
            }
            Format::Jsonl | Format::Csv | Format::Azure | Format::BurstGpt => {
                let object: Map<String, Value> = json(text)?;
                self.named(|name| plain(object.get(name)?))
            }
        }
    }

    /// When a row of a trace was sent, in nanoseconds from whatever its times count from; `None` where the format
    /// has no times. Nothing else of the row is read.
    pub(super) fn time(&self, text: &[u8]) -> Result<Option<i128>, SkipReason> {
        let Some((name, unit)) = &self.columns.time else { return Ok(None) };
        let text = std::str::from_utf8(text).map_err(|_| SkipReason::NotUtf8)?;
        let cell = if self.format.comes_in(Container::Lines) {
            let mut reader = serde_json::Deserializer::from_str(text);
            let value = Pick(name).deserialize(&mut reader).map_err(|_| SkipReason::NotJson)?;
            value.as_ref().and_then(plain).map(Cow::Owned)
        } else {
            let place = self.header.place(name).ok_or(SkipReason::Cells)?;
            cell(text, self.header.delimiter, place).ok_or(SkipReason::Cells)?
        };
        cell.and_then(|cell| unit.read(&cell)).map(Some).ok_or(SkipReason::Time)
    }

    /// A row of the columns that the scenario names.
    fn named(&self, value: impl Fn(&str) -> Option<String>) -> Result<Row, SkipReason> {
        let given = |name: &Option<String>| match name {
            Some(name) => value(name).map(Some).ok_or(SkipReason::Fields),
            None => Ok(None),
        };
        let output_tokens = given(&self.columns.output_tokens)?;
        let output_tokens = output_tokens.map(|text| Flexible::Text(text).count()).transpose()?;
        if let Some(text) = given(&self.columns.prompt_tokens)? {
            let prompt_tokens = Flexible::Text(text).count()?;
            return Ok(Row::sized(
                Size { prompt_tokens, blocks: Vec::new(), block_tokens: 0 },
                output_tokens,
            ));
        }
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
        Ok(Row { system, output_tokens, ..Row::question(prompt.ok_or(SkipReason::Fields)?, answer, truth) })
    }
}

/// One field of an object; the others are passed over.
struct Pick<'a>(&'a str);

impl<'de> DeserializeSeed<'de> for Pick<'_> {
    type Value = Option<Value>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<Value>, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Pick<'_> {
    type Value = Option<Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Option<Value>, A::Error> {
        let mut found = None;
        while let Some(name) = map.next_key::<Cow<'de, str>>()? {
            if name == self.0 {
                found = Some(map.next_value()?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

/// One id a block, of which the last may be shorter.
fn blocks(ids: &Value, prompt_tokens: u32, block_tokens: u32) -> Result<Vec<u64>, SkipReason> {
    // Negative ids are ids too, and none is cut to fewer bits.
    let id = |id: &Value| id.as_u64().or_else(|| id.as_i64().map(i64::cast_unsigned));
    let ids = ids.as_array().and_then(|ids| ids.iter().map(id).collect::<Option<Vec<_>>>());
    let ids = ids.ok_or(SkipReason::Blocks)?;
    let needed = prompt_tokens.div_ceil(block_tokens) as usize;
    if ids.len() == needed { Ok(ids) } else { Err(SkipReason::Blocks) }
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

/// One cell of a record, if it has so many; the outer `None` where its quotes are broken.
fn cell(text: &str, delimiter: u8, place: usize) -> Option<Option<Cow<'_, str>>> {
    if !text.contains('"') {
        return Some(text.split(char::from(delimiter)).nth(place).map(Cow::Borrowed));
    }
    Some(cells(text, delimiter)?.into_iter().nth(place).map(Cow::Owned))
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
        if number == 0.0 {
            return Err(SkipReason::Zero);
        }
        let is_count = number.fract() == 0.0 && (1.0..=f64::from(u32::MAX)).contains(&number);
        if is_count { Ok(number as u32) } else { Err(SkipReason::Number) }
    }
}
