//! Reading tables by the table of keys: what is unknown, missing, or there twice is found here, for every table
//! in the same way.

use std::borrow::Cow;
use std::cell::RefCell;
use std::path::Path;

use toml::de::DeValue;

use super::keys::{self, Fallback, Key, Kind};
use super::overlay::kind_alone;
use super::source::Sources;
use super::suggest;
use super::tree::{Converter, Entry, Node, Place, Table, Value};
use super::values::{Field, Refusal};
use crate::diagnostic::{Diagnostic, Diagnostics};

/// Problems as they are found.
pub(super) struct Problems<'a> {
    sources: &'a Sources,
    found: RefCell<Diagnostics>,
}

impl<'a> Problems<'a> {
    /// Goes on from what was `found` in `sources` before.
    pub(super) fn new(sources: &'a Sources, found: Diagnostics) -> Problems<'a> {
        Problems { sources, found: RefCell::new(found) }
    }

    /// An error at `at`, or of the scenario as a whole.
    pub(super) fn error(&self, at: Option<Place>, message: impl Into<String>, help: impl Into<String>) {
        self.push(Diagnostic::error(message), at, help);
    }

    /// A warning at `at`, or of the scenario as a whole.
    pub(super) fn warning(&self, at: Option<Place>, message: impl Into<String>, help: impl Into<String>) {
        self.push(Diagnostic::warning(message), at, help);
    }

    fn push(&self, problem: Diagnostic, at: Option<Place>, help: impl Into<String>) {
        let mut found = self.found.borrow_mut();
        // Finding a place means reading the file up to it: not for problems that are only counted.
        if found.is_full() {
            return found.push(problem);
        }
        let location = at.map_or_else(|| self.sources.file(), |at| self.sources.location(at));
        found.push(problem.at(location).help(help));
    }

    /// Whether further problems are counted only.
    fn is_full(&self) -> bool {
        self.found.borrow().is_full()
    }

    /// File and line of a place, for help that points to it.
    pub(super) fn line(&self, at: Place) -> String {
        let location = self.sources.location(at);
        match location.file.starts_with("--") {
            true => format!("`{}`", location.file),
            false => format!("{}:{}", location.file, location.line.unwrap_or_default()),
        }
    }

    /// The folder that a path given at `place` is relative to.
    pub(super) fn folder(&self, at: Place) -> &Path {
        self.sources.folder(at)
    }

    /// The text at `at`, as it may be shown.
    pub(super) fn shown(&self, at: Place) -> &str {
        self.sources.shown(at)
    }

    /// Whether what is missing may stand in a file that could not be had.
    pub(super) fn is_partial(&self) -> bool {
        self.sources.is_partial
    }

    pub(super) fn into_sorted(self) -> Diagnostics {
        let mut found = self.found.into_inner();
        found.sort();
        found
    }
}

/// Most keys of a table that are compared with the name of a missing one.
const MOST_GUESSED: usize = 100;

/// Where a table stands.
#[derive(Default)]
struct Scope {
    /// Its path from the top; empty for the top.
    path: String,
    /// Tables around it, from the top.
    outer: Vec<&'static keys::Table>,
}

/// A table of the scenario together with the keys it may have.
pub(super) struct Fields<'a> {
    pub(super) problems: &'a Problems<'a>,
    table: &'static keys::Table,
    entries: Cow<'a, Table>,
    /// Where the table begins; `None` for the top and for tables left out.
    at: Option<Place>,
    scope: Scope,
    /// The key a lone parameter was given under: `load.closed = 8` is `users` given under `closed`.
    given_as: Option<&'static str>,
}

impl<'a> Fields<'a> {
    /// The whole scenario.
    pub(super) fn top(problems: &'a Problems<'a>, root: &'a Table) -> Fields<'a> {
        Fields::open(problems, keys::find(""), Cow::Borrowed(root), None, Scope::default())
    }

    fn open(
        problems: &'a Problems<'a>,
        table: &'static keys::Table,
        entries: Cow<'a, Table>,
        at: Option<Place>,
        scope: Scope,
    ) -> Fields<'a> {
        let fields = Fields { problems, table, entries, at, scope, given_as: None };
        fields.check_keys();
        fields.check_kinds();
        fields
    }

    fn check_keys(&self) {
        for entry in &self.entries.entries {
            if self.table.key(&entry.name).is_none() {
                let begin = self.at.filter(|at| at.source == entry.at.source);
                let header = begin.map(|at| self.problems.sources.shown(at));
                let header = header.filter(|text| text.starts_with('['));
                let name = abridged(&entry.name);
                let message = format!("`{name}` is no key of {}", keys::heading(&self.scope.path));
                let help = match self.problems.is_full() {
                    true => String::new(),
                    false => suggest::unknown_key(&entry.name, self.table, &self.scope.outer, header),
                };
                self.problems.error(Some(entry.at), message, help);
            }
        }
    }

    fn check_kinds(&self) {
        let kinds = self.table.one_of;
        let mut given =
            self.entries.entries.iter().filter(|entry| kinds.contains(&&*entry.name)).collect::<Vec<_>>();
        given.sort_by_key(|entry| entry.at);
        match given[..] {
            [] if kinds.iter().any(|kind| self.mentions(kind)) => {}
            // Both are reported as what they are: kinds by another name.
            [] if self.has("type") || self.has("kind") || self.problems.is_partial() => {}
            [] if !kinds.is_empty() => {
                let examples = kinds.iter().filter_map(|kind| self.table.key(kind));
                let examples =
                    examples.map(|key| format!("{} = {}", key.name, key.example)).collect::<Vec<_>>();
                let message =
                    format!("{} needs {}", keys::heading(&self.scope.path), keys::list(kinds, "or"));
                self.problems.error(self.at, message, format!("add {}", keys::list(&examples, "or")));
            }
            [first, second, ..] => {
                let (one, other) = (&first.name, &second.name);
                let message = format!("{} has both `{one}` and `{other}`", keys::heading(&self.scope.path));
                let help = format!("keep one of them: `{one}` stands at {}", self.problems.line(first.at));
                self.problems.error(Some(second.at), message, help);
            }
            _ => {}
        }
    }

    /// Whether `name` is given.
    pub(super) fn has(&self, name: &str) -> bool {
        self.entries.entry(name).is_some()
    }

    /// Whether a table is given for `name`.
    pub(super) fn holds_table(&self, name: &str) -> bool {
        self.entries.entry(name).is_some_and(|entry| matches!(entry.node.value, Value::Table(_)))
    }

    /// Where `name` is given, or else where the table begins.
    pub(super) fn place(&self, name: &str) -> Option<Place> {
        self.entries.entry(name).map(|entry| entry.at).or(self.at)
    }

    /// The key and value given for `name`.
    fn given(&self, name: &str) -> Option<Field<'_>> {
        let entry = self.entries.entry(name)?;
        Some(Field {
            label: self.given_as.unwrap_or(self.key(name)?.name),
            key: self.key(name)?,
            node: Cow::Borrowed(&entry.node),
        })
    }

    fn key(&self, name: &str) -> Option<&'static Key> {
        let key = self.table.key(name);
        debug_assert!(key.is_some(), "`{name}` is read and not in the table of keys");
        key
    }

    /// The value of `name` where it is given and can be read, without a word if not.
    pub(super) fn peek<'s, T>(
        &'s self,
        name: &str,
        read: impl Fn(Field<'s>) -> Result<T, Refusal>,
    ) -> Option<T> {
        read(self.given(name)?).ok()
    }

    /// The value of `name` where it is given. What `read` refuses is reported.
    pub(super) fn own<'s, T>(
        &'s self,
        name: &str,
        read: impl Fn(Field<'s>) -> Result<T, Refusal>,
    ) -> Option<T> {
        let field = self.given(name)?;
        let at = field.node.at;
        let refusal = match read(field) {
            Ok(value) => return Some(value),
            Err(refusal) => refusal,
        };
        self.problems.error(Some(at), refusal.message, refusal.help);
        None
    }

    /// The value of `name`: given, or its default. `None` where it has none, or where the value is refused; a
    /// required key that is missing is reported.
    pub(super) fn value<'s, T>(
        &'s self,
        name: &str,
        read: impl Fn(Field<'s>) -> Result<T, Refusal>,
    ) -> Option<T> {
        if self.has(name) {
            return self.own(name, read);
        }
        let key = self.key(name)?;
        match key.default {
            Fallback::None(_) => None,
            Fallback::Value(text) => {
                read(Field { label: key.name, key, node: Cow::Owned(written(text)?) }).ok()
            }
            Fallback::Required => {
                self.report_missing(key);
                None
            }
        }
    }

    fn report_missing(&self, key: &Key) {
        if self.mentions(key.name) || self.problems.is_partial() {
            return;
        }
        let owner = if self.table.path.is_empty() {
            "the scenario".to_owned()
        } else {
            keys::heading(&self.scope.path)
        };
        let (what, help) = match key.kind {
            Kind::Table(of) | Kind::Tables(of) if self.table.path.is_empty() => (
                keys::find(of).heading(),
                format!("add {}, or `{} = {}`", keys::find(of).heading(), key.name, key.example),
            ),
            _ => (format!("`{}`", key.name), format!("add `{} = {}`", key.name, key.example)),
        };
        self.problems.error(self.at, format!("{owner} needs {what}"), help);
    }

    /// The table `name`; an empty one where it is left out and may be.
    pub(super) fn table(&self, name: &str) -> Option<Fields<'_>> {
        let key = self.key(name)?;
        let table = keys::find(key.kind.table()?);
        let Some(entry) = self.entries.entry(name) else {
            if key.default == Fallback::Required {
                self.report_missing(key);
                return None;
            }
            let (problems, entries) = (self.problems, Cow::Owned(Table::default()));
            return Some(Fields {
                problems,
                table,
                entries,
                at: self.at,
                scope: self.inside(name),
                given_as: None,
            });
        };
        match (&entry.node.value, key.kind) {
            (Value::Table(inner), _) => Some(Fields::open(
                self.problems,
                table,
                Cow::Borrowed(inner),
                Some(entry.node.at),
                self.inside(name),
            )),
            (_, Kind::Parameters { alone, .. }) => {
                let lone = Entry { name: alone.to_owned(), at: entry.at, node: entry.node.clone() };
                let inner = Table { entries: vec![lone] };
                let fields =
                    Fields::open(self.problems, table, Cow::Owned(inner), Some(entry.at), self.inside(name));
                Some(Fields { given_as: Some(key.name), ..fields })
            }
            (Value::Text(text), Kind::OneOf(_)) if table.key(text).is_some() => {
                let inner = Table { entries: vec![kind_alone(text, entry.node.at)] };
                let at = Some(entry.node.at);
                Some(Fields::open(self.problems, table, Cow::Owned(inner), at, self.inside(name)))
            }
            (value, Kind::OneOf(_)) => {
                let alike = match value {
                    Value::Text(text) => suggest::nearest(text, table.one_of.iter().copied()),
                    _ => None,
                };
                let message = format!("`{name}` takes {}", keys::list(table.one_of, "or"));
                let help = match alike {
                    Some(alike) => format!("did you mean `{alike}`?"),
                    None => format!("write it like `{name} = {}`", key.example),
                };
                self.problems.error(Some(entry.node.at), message, help);
                None
            }
            (value, _) => {
                let found = match value {
                    Value::Text(text) => Some(text.as_str()),
                    _ => None,
                };
                let message = format!("`{name}` takes a table, not {}", value.describe());
                let help = match value {
                    Value::List(_) if self.table.path.is_empty() => {
                        format!("write `[{name}]` with one bracket, once")
                    }
                    _ => suggest::table_form(name, key.kind, found),
                };
                self.problems.error(Some(entry.node.at), message, help);
                None
            }
        }
    }

    /// The key `name`, a kind without parameters.
    pub(super) fn bare(&self, name: &str) -> Option<()> {
        let (entry, key) = (self.entries.entry(name)?, self.key(name)?);
        if matches!(&entry.node.value, Value::Table(inner) if inner.entries.is_empty()) {
            return Some(());
        }
        let message = format!("`{}` has nothing to set", key.name);
        let around = self.scope.path.rsplit('.').next().unwrap_or_default();
        self.problems.error(Some(entry.at), message, format!("write `{around} = \"{name}\"`"));
        None
    }

    /// The scope of the table `name` in this one.
    fn inside(&self, name: &str) -> Scope {
        let path = match &*self.scope.path {
            "" => name.to_owned(),
            path => format!("{path}.{name}"),
        };
        Scope { path, outer: self.scope.outer.iter().copied().chain([self.table]).collect() }
    }

    /// Whether `name` is given, or a key that is none was most likely meant to be it.
    pub(super) fn mentions(&self, name: &str) -> bool {
        let is_meant = |given: &str| {
            self.table.key(given).is_none()
                && suggest::nearest(given, self.table.keys.iter().map(|key| key.name)) == Some(name)
        };
        self.has(name) || self.entries.entries.iter().take(MOST_GUESSED).any(|entry| is_meant(&entry.name))
    }

    /// The tables of the list `name`, at least one; those that are none are reported.
    pub(super) fn tables(&self, name: &str) -> Vec<Fields<'_>> {
        let Some(key) = self.key(name) else { return Vec::new() };
        let Some(entry) = self.entries.entry(name) else {
            self.report_missing(key);
            return Vec::new();
        };
        let table = keys::find(key.kind.table().unwrap_or_default());
        let Value::List(members) = &entry.node.value else {
            let message = format!("`{name}` takes `[[{name}]]` tables, not {}", entry.node.value.describe());
            let help = format!("write `[[{name}]]` with two brackets, once for each");
            self.problems.error(Some(entry.node.at), message, help);
            return Vec::new();
        };
        if members.is_empty() {
            let help = format!("write `[[{name}]]` for each");
            self.problems.error(Some(entry.node.at), format!("`{name}` needs at least one table"), help);
        }
        let mut tables = Vec::new();
        for node in members {
            match &node.value {
                Value::Table(inner) => {
                    let (inner, at) = (Cow::Borrowed(inner), Some(node.at));
                    tables.push(Fields::open(self.problems, table, inner, at, self.inside(name)));
                }
                other => {
                    let message = format!("`{name}` takes `[[{name}]]` tables, not {}", other.describe());
                    self.problems.error(Some(node.at), message, format!("write `[[{name}]]` for each"));
                }
            }
        }
        tables
    }

    /// The table `name` as it stands, for tables whose keys are the user's own.
    pub(super) fn free(&self, name: &str) -> Option<&Table> {
        let (entry, key) = (self.entries.entry(name)?, self.key(name)?);
        match &entry.node.value {
            Value::Table(inner) => Some(inner),
            other => {
                let message = format!("`{name}` takes a table, not {}", other.describe());
                let help = format!("write it like `{name} = {}`", key.example);
                self.problems.error(Some(entry.node.at), message, help);
                None
            }
        }
    }
}

/// A default of the table of keys as a value. It has no place of its own, and is never refused.
fn written(text: &str) -> Option<Node> {
    let parsed = DeValue::parse(text).ok()?;
    Some(Converter::new(0, text, 0).node(&parsed, false))
}

/// A name short enough for a message.
pub(super) fn abridged(name: &str) -> String {
    match name.char_indices().nth(60) {
        Some((at, _)) => format!("{}…", &name[..at]),
        None => name.to_owned(),
    }
}
