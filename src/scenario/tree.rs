//! A scenario as written: values with the places they came from, before anything is made of them.
//!
//! The tree owns its texts and knows several sources, so that what is said on the command line can be put into
//! what is said in a file, and every message still points at the right one.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::secret::is_secret_name;

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) at: Place,
    pub(super) value: Value,
}

/// A stretch of one source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) source: usize,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// What a value is.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Text(String),
    /// Saturated where it does not fit, which is out of every key's range.
    Integer(i128),
    Float(f64),
    Boolean(bool),
    Date(String),
    List(Vec<Node>),
    Table(Table),
}

impl Value {
    /// What it is, in words that follow "found".
    pub(super) fn describe(&self) -> &'static str {
        match self {
            Value::Text(_) => "text",
            Value::Integer(_) => "a whole number",
            Value::Float(_) => "a decimal number",
            Value::Boolean(_) => "`true` or `false`",
            Value::Date(_) => "a date",
            Value::List(_) => "a list",
            Value::Table(_) => "a table",
        }
    }
}

/// Keys with their values. No key is there twice.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    pub(super) entries: Vec<Entry>,
}

/// A key with its value.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) at: Place,
    pub(super) node: Node,
}

impl Table {
    pub(super) fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.name == name)
    }

    /// Takes the entry `name` out.
    pub(super) fn take(&mut self, name: &str) -> Option<Entry> {
        let index = self.entries.iter().position(|entry| entry.name == name)?;
        Some(self.entries.remove(index))
    }
}

/// Makes trees of the parser's values and notes on the way what must not be shown and what must not be written.
pub(super) struct Converter<'a> {
    source: usize,
    text: &'a str,
    /// Added to every span.
    offset: usize,
    /// Values that are secret.
    pub(super) secrets: Vec<Range<usize>>,
    /// Inline tables broken over lines, with their dotted path from the header they stand under.
    pub(super) broken: Vec<(Place, String)>,
    /// The path walked since the last header.
    path: Vec<String>,
}

impl<'a> Converter<'a> {
    /// For a text that begins at `offset` of `source`, whose whole text is `text`.
    pub(super) fn new(source: usize, text: &'a str, offset: usize) -> Converter<'a> {
        Converter { source, text, offset, secrets: Vec::new(), broken: Vec::new(), path: Vec::new() }
    }

    /// A text without quotes around it.
    pub(super) fn text(&mut self, text: &str, secret: bool) -> Node {
        let at = self.place(&(0..text.len()));
        if secret || is_telling_url(text) {
            self.secrets.push(at.start..at.end);
        }
        Node { at, value: Value::Text(text.to_owned()) }
    }

    fn place(&self, span: &Range<usize>) -> Place {
        Place { source: self.source, start: span.start + self.offset, end: span.end + self.offset }
    }

    pub(super) fn table(&mut self, table: &DeTable<'_>, secret: bool) -> Table {
        let entries = table.iter().map(|(key, value)| {
            let name = key.get_ref().to_string();
            let at = self.place(&key.span());
            // The key of an axis or a search is the path of one, and no secret.
            let is_path =
                name == "key" && ["values", "from"].iter().any(|beside| table.contains_key(*beside));
            let secret = if is_path { secret } else { self.enter(&name, at, secret) };
            self.path.push(name.clone());
            let node = self.node(value, secret);
            self.path.pop();
            Entry { name, at, node }
        });
        let mut entries = entries.collect::<Vec<_>>();
        entries.sort_by_key(|entry| entry.at);
        Table { entries }
    }

    /// Whether what stands under the key `name` is secret, in a table that is `secret`. Among headers, a key that
    /// is no plain name may be a header written as a whole.
    pub(super) fn enter(&mut self, name: &str, at: Place, secret: bool) -> bool {
        if secret && !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')) {
            self.secrets.push(at.start..at.end);
        }
        secret || is_secret_name(name)
    }

    pub(super) fn node(&mut self, value: &Spanned<DeValue<'_>>, secret: bool) -> Node {
        let at = self.place(&value.span());
        let is_scalar = !matches!(value.get_ref(), DeValue::Array(_) | DeValue::Table(_));
        if is_scalar && (secret || value.get_ref().as_str().is_some_and(is_telling_url)) {
            self.secrets.push(at.start..at.end);
        }
        let value = match value.get_ref() {
            DeValue::String(text) => Value::Text(text.to_string()),
            DeValue::Integer(number) => {
                let limit = if number.as_str().starts_with('-') { i128::MIN } else { i128::MAX };
                Value::Integer(i128::from_str_radix(number.as_str(), number.radix()).unwrap_or(limit))
            }
            DeValue::Float(number) => Value::Float(number.as_str().parse().unwrap_or(f64::NAN)),
            DeValue::Boolean(value) => Value::Boolean(*value),
            DeValue::Datetime(date) => Value::Date(date.to_string()),
            DeValue::Array(list) => Value::List(list.iter().map(|value| self.node(value, secret)).collect()),
            DeValue::Table(table) => {
                // Below a header of its own, keys are written from there.
                let has_header = self.text.get(at.start..).is_some_and(|text| text.starts_with('['));
                let outer = has_header.then(|| std::mem::take(&mut self.path));
                let table = self.table(table, secret);
                self.path = outer.unwrap_or_else(|| std::mem::take(&mut self.path));
                if self.is_broken_over_lines(at, &table) {
                    self.broken.push((at, self.path.join(".")));
                }
                Value::Table(table)
            }
        };
        Node { at, value }
    }

    /// Whether `at` is an inline table with a line break between its parts; one inside a value is none of ours.
    fn is_broken_over_lines(&self, at: Place, table: &Table) -> bool {
        let Some(text) = self.text.get(at.start..at.end).filter(|text| text.starts_with('{')) else {
            return false;
        };
        let mut values = Vec::new();
        collect_values(table, &mut values);
        values.sort_unstable();
        let in_value = |at: usize| {
            let before = values.partition_point(|place| place.start <= at);
            before > 0 && at < values[before - 1].end
        };
        text.bytes().enumerate().any(|(i, byte)| byte == b'\n' && !in_value(at.start + i))
    }
}

/// Places of the values in `table`. A table made by a dotted key has its key's place, so its values count.
fn collect_values(table: &Table, places: &mut Vec<Place>) {
    for entry in &table.entries {
        match &entry.node.value {
            Value::Table(inner) if entry.node.at == entry.at => collect_values(inner, places),
            _ => places.push(entry.node.at),
        }
    }
}

/// Whether a text looks like a URL with a password or query in it, or like a path of one.
fn is_telling_url(text: &str) -> bool {
    let is_url = text.contains("://") && text.contains(['@', '?', '#']);
    is_url || text.starts_with('/') && text.contains('?')
}
