//! Where the values of a scenario were said.

use std::collections::BTreeMap;

use super::keys::Kind;
use super::overlay::{Shape, name_of};
use super::resolved::key;
use super::source::Sources;
use super::tree::{Entry, Table, Value};
use crate::diagnostic::Location;

/// Where each value that was said was said, by its path: `phase.steady.load.poisson.rate`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origins(BTreeMap<String, Origin>);

/// A file's line, or an argument of the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Origin {
    name: String,
    /// From 1; `None` for an argument.
    line: Option<u64>,
}

impl Origins {
    pub(super) fn of(root: &Table, sources: &Sources) -> Origins {
        let lines = sources.texts().map(|(name, text)| {
            let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at);
            (name, breaks.collect())
        });
        let mut walk = Walk { lines: lines.collect(), found: BTreeMap::new() };
        walk.table(root, "", Shape::TOP);
        Origins(walk.found)
    }

    /// Where the value at `path` was said, or the one it follows from: `base.toml:12`, `--set`. `None` for a
    /// default.
    pub fn describe(&self, path: &str) -> Option<String> {
        let origin = self.find(path)?;
        Some(match origin.line {
            Some(line) => format!("{}:{line}", origin.name),
            None => origin.name.clone(),
        })
    }

    /// The same as a place for a message.
    pub fn location(&self, path: &str) -> Option<Location> {
        let origin = self.find(path)?;
        Some(match origin.line {
            Some(line) => Location::line(&*origin.name, line),
            None => Location::file(&*origin.name),
        })
    }

    fn find(&self, path: &str) -> Option<&Origin> {
        let said = |path: &str| self.0.get(path);
        // A lone parameter stands under the name of its table.
        let lone = path.rsplit_once('.').and_then(|(table, _)| said(table));
        // The values of an axis follow from its range.
        let range = || {
            let steps = ["linear.step", "geometric.factor"];
            let mut steps = steps.iter().filter(|_| path.ends_with(".values"));
            steps.find_map(|step| said(&format!("{path}.{step}")))
        };
        said(path).or(lone).or_else(range).or_else(|| {
            // A workload takes what it does not say from the tables for all.
            let (workload, key) = path.strip_prefix("workload.")?.split_once('.')?;
            match key {
                "output.max_tokens" => said(&format!("workload.{workload}.request.max_tokens"))
                    .or_else(|| said("request.max_tokens")),
                _ if key.starts_with("slo.") || key.starts_with("request.") => said(key),
                _ => None,
            }
        })
    }
}

/// A walk through the tree, and where the lines of its sources end.
struct Walk<'a> {
    lines: Vec<(&'a str, Vec<usize>)>,
    found: BTreeMap<String, Origin>,
}

impl Walk<'_> {
    fn table(&mut self, table: &Table, path: &str, shape: Shape) {
        for entry in &table.entries {
            let path = match path {
                "" => key(&entry.name),
                path => format!("{path}.{}", key(&entry.name)),
            };
            let kind = shape.kind(&entry.name);
            match (&entry.node.value, kind) {
                (Value::List(members), Some(Kind::Tables(_))) => {
                    for member in members {
                        if let (Value::Table(table), Some(name)) = (&member.value, name_of(member)) {
                            self.table(table, &format!("{path}.{name}"), Shape::of(kind));
                        }
                    }
                }
                (Value::Table(table), Some(_)) => self.table(table, &path, Shape::of(kind)),
                _ => self.add(path, entry),
            }
        }
    }

    fn add(&mut self, path: String, entry: &Entry) {
        let Some((name, breaks)) = self.lines.get(entry.at.source) else { return };
        let line = breaks.partition_point(|end| *end < entry.at.start) as u64 + 1;
        let line = (!name.starts_with("--")).then_some(line);
        self.found.insert(path, Origin { name: (*name).to_owned(), line });
    }
}
