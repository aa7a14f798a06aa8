//! The keys of a scenario: the one table that reader, help, schema and documentation follow.
//!
//! A key enters here in the commit that makes it work; before that it is an unknown key.

mod data;
mod judged;
mod lengths;
mod observed;
mod prompts;
mod schedule;
mod score;
mod sweep;
mod tables;
mod verdict;

use std::time::Duration;

use crate::sim::Profile;

/// A table of the scenario, or one that stands for a value.
#[derive(Debug)]
pub struct Table {
    /// Where it stands, from the top; empty for the top itself. `[[workload]]` is `workload`.
    pub path: &'static str,
    /// What it is for.
    pub doc: &'static str,
    /// A piece of a scenario that shows it, in full lines.
    pub example: &'static str,
    /// Keys of which exactly one must be there; naming another on the command line replaces it.
    pub one_of: &'static [&'static str],
    /// Its keys, in the order of the documentation.
    pub keys: &'static [Key],
}

/// A key.
#[derive(Debug)]
pub struct Key {
    /// Its name within the table.
    pub name: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// What holds where it is left out.
    pub default: Fallback,
    /// What it means.
    pub doc: &'static str,
    /// A value, as written after the `=`.
    pub example: &'static str,
}

/// What holds where a key is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fallback {
    /// It must not be left out.
    Required,
    /// This value, as it would be written.
    Value(&'static str),
    /// No value, which means what is said here.
    None(&'static str),
}

/// What a key takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A name: letters, digits, `_` and `-`.
    Name,
    /// Any text that is not empty.
    Text,
    /// The same over any number of lines.
    Prose,
    /// The name of an environment variable.
    Variable,
    /// A file, relative to the one that names it.
    Path,
    /// The name of a built-in profile, or a profile file.
    Profile,
    /// The address of a server.
    Url,
    /// `true` or `false`.
    Boolean,
    /// One of these texts.
    Choice(&'static [&'static str]),
    /// A whole number within bounds, both included.
    Integer {
        /// Smallest.
        min: u64,
        /// Largest.
        max: u64,
    },
    /// A whole number of at least 1, or `"all"`.
    Requests,
    /// HTTP statuses that refuse, at least one.
    Statuses,
    /// A number of at least 0.
    Number,
    /// A time of at least `min`.
    Duration {
        /// Shortest.
        min: Duration,
    },
    /// Events per time.
    Rate,
    /// Events per time, or none: `"0/s"`.
    Level,
    /// A list of levels.
    Levels,
    /// A list of names.
    Names,
    /// Pages of metrics: a path of the target or a URL, or a list.
    Pages,
    /// A list of names of metrics.
    Metrics,
    /// A part of a whole: 0.6 or `"60%"`.
    Share,
    /// A number of bytes of at least 1.
    Bytes,
    /// A number of tokens of at least 1.
    Tokens,
    /// Numbers of tokens, at least one.
    TokenList,
    /// Numbers of at least 0, at least one.
    Numbers,
    /// A number of tokens, or a law they follow: the table `distribution`.
    Distribution,
    /// The same, or `"dataset"`.
    AnswerLength,
    /// One of the percentiles in results.
    Percentile,
    /// A number of at least 0 in the unit of the metric beside it.
    Bound,
    /// Names of headers with their values.
    Headers,
    /// Whatever the server understands.
    Free,
    /// Names of the user's own with texts, numbers, booleans or dates.
    About,
    /// The path of a key of the scenario.
    KeyPath,
    /// Paths of keys, at least one.
    KeyPaths,
    /// Values of a key, at least one, or a range of them: the table `sweep.axis.values`.
    Values,
    /// A value of a key that can be counted or measured.
    Amount,
    /// Tables of axes with a value of each, at least one.
    Skips,
    /// The table of this path.
    Table(&'static str),
    /// Any number of tables of this path, at least one.
    Tables(&'static str),
    /// A table, or the value of one of its keys alone.
    Parameters {
        /// Path of the table.
        table: &'static str,
        /// The key whose value may stand alone.
        alone: &'static str,
    },
    /// A table of kinds, or the name of one that needs no parameters.
    OneOf(&'static str),
    /// Nothing: a kind without parameters.
    Bare,
}

impl Kind {
    /// What it takes, in words that follow "takes".
    pub fn describe(self) -> String {
        match self {
            Kind::Name | Kind::Text | Kind::Prose => "text".to_owned(),
            Kind::Variable => "the name of an environment variable".to_owned(),
            Kind::Path => "the path of a file".to_owned(),
            Kind::Profile => format!("{}, or the path of a profile file", list(Profile::NAMES, "or")),
            Kind::Url => "a URL".to_owned(),
            Kind::Boolean => "`true` or `false`".to_owned(),
            Kind::Choice(choices) => list(choices, "or"),
            Kind::Integer { .. } => "a whole number".to_owned(),
            Kind::Requests => "a whole number or `\"all\"`".to_owned(),
            Kind::Statuses => "a list of statuses".to_owned(),
            Kind::Number => "a number".to_owned(),
            Kind::Duration { .. } => "a duration".to_owned(),
            Kind::Rate => "a rate".to_owned(),
            Kind::Level => "a rate or `\"0/s\"`".to_owned(),
            Kind::Levels => "a list of rates".to_owned(),
            Kind::Names => "a list of names".to_owned(),
            Kind::Pages => "a path, a URL or a list of them".to_owned(),
            Kind::Metrics => "a list of names of metrics".to_owned(),
            Kind::Share => "a share, such as 0.6 or `\"60%\"`".to_owned(),
            Kind::Bytes => "a size, such as `\"24GiB\"`".to_owned(),
            Kind::Tokens => "a number of tokens".to_owned(),
            Kind::TokenList => "a list of numbers of tokens".to_owned(),
            Kind::Numbers => "a list of numbers".to_owned(),
            Kind::Distribution => "a number of tokens or a distribution".to_owned(),
            Kind::KeyPath => "the path of a key".to_owned(),
            Kind::KeyPaths => "a list of paths of keys".to_owned(),
            Kind::Values => "a list of values or a range".to_owned(),
            Kind::Amount => "a number, with its unit if it has one".to_owned(),
            Kind::Skips => "a list of tables with values of axes".to_owned(),
            Kind::AnswerLength => "a number of tokens, a distribution or `\"dataset\"`".to_owned(),
            Kind::Percentile => {
                "a percentile in results: 50, 90, 95, 99, 99.9, or 1, 5, 10, 25, 75".to_owned()
            }
            Kind::Bound => {
                "a value in the unit of its metric: a time, a share, a rate or a number".to_owned()
            }
            Kind::Headers | Kind::Free | Kind::About | Kind::Table(_) => "a table".to_owned(),
            Kind::Tables(path) => format!("`[[{path}]]` tables"),
            Kind::Parameters { table, alone } => match find(table).key(alone) {
                Some(key) => format!("{} or a table", key.kind.describe()),
                None => "a table".to_owned(),
            },
            Kind::Bare => "nothing".to_owned(),
            Kind::OneOf(path) => format!("{}, or a table", list(&find(path).bare_kinds(), "or")),
        }
    }

    /// The unit of its values, if they have one.
    pub fn unit(self) -> Option<&'static str> {
        match self {
            Kind::Duration { .. } => Some("seconds"),
            Kind::Rate | Kind::Level | Kind::Levels => Some("per second"),
            Kind::Bytes => Some("bytes"),
            Kind::Tokens | Kind::TokenList | Kind::Distribution | Kind::AnswerLength => Some("tokens"),
            _ => None,
        }
    }

    /// Path of the table that describes its value, if that can be one with keys of its own.
    pub fn table(self) -> Option<&'static str> {
        match self {
            Kind::Table(path)
            | Kind::Tables(path)
            | Kind::Parameters { table: path, .. }
            | Kind::OneOf(path) => Some(path),
            Kind::Distribution | Kind::AnswerLength => Some("distribution"),
            Kind::Values => Some("sweep.axis.values"),
            _ => None,
        }
    }
}

impl Table {
    /// The key `name`.
    pub fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }

    /// Its kinds that may be named without parameters.
    pub fn bare_kinds(&self) -> Vec<&'static str> {
        let needs_nothing = |name: &&&'static str| match self.key(name).map(|key| key.kind) {
            Some(Kind::Bare) => true,
            Some(kind) => kind
                .table()
                .map(find)
                .is_some_and(|table| table.keys.iter().all(|key| key.default != Fallback::Required)),
            None => false,
        };
        self.one_of.iter().filter(needs_nothing).copied().collect()
    }

    /// How a user writes the table: `[target]`, `[[phase]]`, `load.poisson` in `[[phase]]`.
    pub fn heading(&self) -> String {
        heading(self.path)
    }
}

/// How a user writes the table that stands at `path`.
pub(super) fn heading(path: &str) -> String {
    let (outer, inner) = path.split_once('.').unwrap_or((path, ""));
    let is_list = find(outer).key(inner).is_some_and(|key| matches!(key.kind, Kind::Tables(_)));
    let outer = match find("").key(outer).map(|key| key.kind) {
        Some(Kind::Tables(_)) => format!("`[[{outer}]]`"),
        Some(_) if is_list => return format!("`[[{path}]]`"),
        Some(_) => format!("`[{outer}]`"),
        None if path.is_empty() => return "the top level".to_owned(),
        None => return format!("`{path}`"),
    };
    if inner.is_empty() { outer } else { format!("`{inner}` of {outer}") }
}

/// The table of `path`; the top where there is none.
pub fn find(path: &str) -> &'static Table {
    TABLES.iter().find(|table| table.path == path).unwrap_or(&TABLES[0])
}

/// `a`, `b` or `c`, each in backticks.
pub(super) fn list(names: &[impl AsRef<str>], last: &str) -> String {
    let quoted = names.iter().map(|name| format!("`{}`", name.as_ref())).collect::<Vec<_>>();
    match quoted.split_last() {
        Some((end, [])) => end.clone(),
        Some((end, rest)) => format!("{} {last} {end}", rest.join(", ")),
        None => String::new(),
    }
}

/// Every table with its keys. The first is the top.
pub const TABLES: &[Table] = tables::TABLES;

/// What users of other tools may write, and the key that does it here.
pub(super) const OTHER_NAMES: &[(&str, &str)] = &[
    ("base_url", "target.url"),
    ("endpoint", "target.url"),
    ("host", "target.url"),
    ("timeout", "target.timeouts"),
    ("concurrency", "phase.load.closed.users"),
    ("clients", "phase.load.closed.users"),
    ("qps", "phase.load.poisson.rate"),
    ("rps", "phase.load.poisson.rate"),
    ("request_rate", "phase.load.poisson.rate"),
    ("num_requests", "phase.requests"),
    ("num_prompts", "phase.requests"),
    ("api_key", "target.api_key_env"),
    ("warmup", "phase.warm_up"),
    ("include", "extends"),
    ("import", "extends"),
    ("inherits", "extends"),
    ("metadata", "about"),
    ("description", "about"),
    ("matrix", "sweep.axis"),
    ("parameters", "sweep.axis"),
];
