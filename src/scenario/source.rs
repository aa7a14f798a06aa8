//! From files and command line to one tree: what was said, before what it means.

use std::fs::File;
use std::io::Read as _;
use std::ops::Range;
use std::path::{Path, PathBuf};

use toml::de::{DeTable, DeValue};

use super::keys::{self, Kind};
use super::redact;
use super::suggest::nearest;
use super::tree::{Converter, Node, Place, Table, Value};
use crate::diagnostic::{Diagnostic, Diagnostics, Location};

/// What the command line changes of a scenario. It may hold secrets, so it has no `Debug`.
#[derive(Clone, Default)]
pub struct Overrides {
    /// `key.path=value`, as given to `--set`, in order.
    pub set: Vec<String>,
    /// The server's address, as given to `--target`. It replaces a simulated one too.
    pub target: Option<String>,
}

/// Everything said, as one tree.
pub(super) struct Document {
    pub(super) root: Table,
    pub(super) sources: Sources,
    /// The folder that paths are relative to.
    pub(super) base: PathBuf,
    /// What is wrong with the way things are said. What they mean can still be read.
    pub(super) problems: Diagnostics,
}

/// Where the parts of a tree come from. Texts are kept as they may be shown, with secrets blotted out; every
/// place keeps its offset.
#[derive(Default)]
pub(super) struct Sources(Vec<(String, String)>);

impl Sources {
    pub(super) fn location(&self, place: Place) -> Location {
        let (name, shown) = &self.0[place.source];
        Location::span(name, shown, &(place.start..place.end))
    }

    /// The first source as a whole.
    pub(super) fn file(&self) -> Location {
        Location::file(self.0.first().map_or("", |(name, _)| name))
    }

    /// The text at `place`, as it may be shown.
    pub(super) fn shown(&self, place: Place) -> &str {
        self.0[place.source].1.get(place.start..place.end).unwrap_or_default()
    }

    fn add(&mut self, name: &str, text: &str, secrets: &[Range<usize>]) {
        self.0.push((name.to_owned(), redact::blot(text, secrets)));
    }
}

/// Largest scenario file.
const MOST_BYTES: u64 = 1 << 20;

/// Most parts of one key. The parser nests as deep as a key is long, and the deepest key has six parts.
const MOST_PARTS: usize = 64;

/// Reads the scenario at `path`.
pub(super) fn load(path: &Path, overrides: &Overrides) -> Result<Document, Diagnostics> {
    let name = path.to_string_lossy();
    let unreadable = |error: std::io::Error| {
        let message = format!("the scenario cannot be read: {error}");
        Diagnostics::from(Diagnostic::error(message).at(Location::file(&*name)))
    };
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    // Absolute, so that the resolved scenario means the same files wherever it is kept.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let base = std::path::absolute(folder).map_err(unreadable)?;
    parse(&name, &bytes, base, overrides)
}

/// Reads a scenario from `bytes`. `name` is what messages call it; paths in it are relative to `base`.
pub(super) fn parse(
    name: &str,
    bytes: &[u8],
    base: PathBuf,
    overrides: &Overrides,
) -> Result<Document, Diagnostics> {
    let refuse = |location, message: &str, help: &str| {
        Diagnostics::from(Diagnostic::error(message).at(location).help(help))
    };
    if bytes.len() as u64 > MOST_BYTES {
        return Err(refuse(
            Location::file(name),
            "the scenario is larger than 1 MiB",
            "is it the right file?",
        ));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let line = bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
        refuse(Location::line(name, line), "the scenario is not UTF-8 text", "save it as UTF-8")
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if let Some(at) = long_key(text) {
        let location = Location::line(name, text[..at].matches('\n').count() as u64 + 1);
        return Err(refuse(location, "a key has more than 64 parts", "no key of a scenario is that deep"));
    }
    let (parsed, errors) = DeTable::parse_recoverable(text);
    let mut converter = Converter::new(0, text, 0);
    let root = converter.table(parsed.get_ref(), false);
    let mut secrets = converter.secrets;
    if !errors.is_empty() {
        // The tree of a broken text is a guess: whatever may be a secret is hidden by the look of its line.
        secrets.extend(redact::suspects(text));
    }
    let mut sources = Sources::default();
    sources.add(name, text, &secrets);
    if !errors.is_empty() {
        return Err(syntax_errors(&errors, &sources));
    }
    let mut problems = Diagnostics::default();
    for (place, path) in &converter.broken {
        let problem = Diagnostic::error("a table in braces must stand on one line");
        if problems.is_full() {
            problems.push(problem);
            continue;
        }
        let problem = problem.at(sources.location(*place));
        problems.push(problem.help(dotted_form(&sources, *place, path)));
    }
    let mut document = Document { root, sources, base, problems };
    for argument in &overrides.set {
        if let Err(problem) = document.set(argument) {
            document.problems.append(problem);
        }
    }
    if let Some(url) = &overrides.target {
        document.set_target(url);
    }
    Ok(document)
}

fn syntax_errors(errors: &[toml::de::Error], sources: &Sources) -> Diagnostics {
    let mut problems = Diagnostics::default();
    // After a brace that was never closed every line is an error: the first says it.
    let is_in_braces = |error: &&toml::de::Error| {
        error.message().contains("key-value pairs") || error.message().contains("inline table")
    };
    let in_braces = errors.iter().filter(is_in_braces).take(1);
    for error in errors.iter().filter(|error| !is_in_braces(error)).chain(in_braces) {
        let problem = Diagnostic::error(format!("not valid TOML: {}", error.message()));
        if problems.is_full() {
            problems.push(problem);
            continue;
        }
        let span = error.span().unwrap_or_default();
        let problem = problem.at(sources.location(Place { source: 0, start: span.start, end: span.end }));
        problems.push(problem.help(syntax_help(error.message())));
    }
    problems.sort();
    problems
}

/// What to do about a syntax error of the parser's `message`.
fn syntax_help(message: &str) -> &'static str {
    if message.contains("quoted") {
        "texts stand in quotes, durations, rates and sizes too: `duration = \"30s\"`"
    } else if message.contains("duplicate") {
        "keep one of them"
    } else {
        "a line is `key = value`, `[table]` or `[[table]]`"
    }
}

/// The lines to write instead of a table in braces, as far as they can be seen from its own.
fn dotted_form(sources: &Sources, place: Place, path: &str) -> String {
    let inside = sources.shown(place).trim_start_matches('{').trim_end_matches('}');
    let parts = inside.lines().map(|line| line.trim().trim_end_matches(',')).filter(|line| {
        let key = line.split('=').next().unwrap_or_default().trim();
        line.contains('=') && !line.contains(['{', '}', '[', ']']) && !key.is_empty() && !key.contains(' ')
    });
    let lines = parts.take(4).map(|line| format!("`{path}.{line}`")).collect::<Vec<_>>();
    match lines.is_empty() {
        true => format!("give each key a line of its own: `{path}.… = …`"),
        false => format!("give each key a line of its own: {}", lines.join(", ")),
    }
}

/// Where a run of more than [`MOST_PARTS`] dotted parts begins.
fn long_key(text: &str) -> Option<usize> {
    let (mut dots, mut begin) = (0, 0);
    for (i, byte) in text.bytes().enumerate() {
        match byte {
            b'.' => dots += 1,
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b' ' | b'\t' | b'"' | b'\'' => {}
            _ => (dots, begin) = (0, i + 1),
        }
        if dots >= MOST_PARTS {
            return Some(begin);
        }
    }
    None
}

/// One part of a key path.
struct Part {
    name: String,
    at: Place,
}

impl Document {
    /// Applies one `key.path=value`.
    fn set(&mut self, argument: &str) -> Result<(), Diagnostics> {
        let form = "write `--set key.path=value`, such as `--set phase.steady.load.closed.users=8`";
        let refuse = |message: &str| {
            Diagnostics::from(Diagnostic::error(message).at(Location::file("--set")).help(form))
        };
        let equals = equals_sign(argument).ok_or_else(|| refuse("`--set` has no `=`"))?;
        let (path, value) = (&argument[..equals], argument[equals + 1..].trim());
        let source = self.sources.0.len();
        let mut parts =
            key_path(path, source).ok_or_else(|| refuse("the key path of `--set` cannot be read"))?;

        let offset = argument.len() - argument[equals + 1..].trim_start().len();
        let mut converter = Converter::new(source, argument, offset);
        let secret = parts.iter().fold(false, |secret, part| converter.enter(&part.name, part.at, secret));
        let node = match DeValue::parse(value) {
            Ok(parsed) if !value.is_empty() => converter.node(&parsed, secret),
            _ => converter.text(value, secret),
        };
        self.sources.add("--set", argument, &converter.secrets);
        let last = parts.pop().ok_or_else(|| refuse("the key path of `--set` is empty"))?;
        let root = keys::find("");
        put(&mut self.root, Some(root), &parts, (last, node)).map_err(|refusal| {
            let problem = Diagnostic::error(refusal.message).at(self.sources.location(refusal.at));
            Diagnostics::from(problem.help(refusal.help))
        })
    }

    fn set_target(&mut self, url: &str) {
        let source = self.sources.0.len();
        let mut converter = Converter::new(source, url, 0);
        let node = converter.text(url, false);
        self.sources.add("--target", url, &converter.secrets);
        let part = |name: &str| Part { name: name.to_owned(), at: node.at };
        let (target, url) = (part("target"), part("url"));
        // The path names no member of a list, which is all that can be refused.
        let _ = put(&mut self.root, Some(keys::find("")), &[target], (url, node));
    }
}

/// The first `=` outside quotes.
fn equals_sign(argument: &str) -> Option<usize> {
    let mut quote = None;
    let mut escaped = false;
    for (i, byte) in argument.bytes().enumerate() {
        match (quote, byte) {
            _ if escaped => escaped = false,
            (Some(b'"'), b'\\') => escaped = true,
            (Some(open), _) if open == byte => quote = None,
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b'=') => return Some(i),
            _ => {}
        }
    }
    None
}

/// The parts of a dotted key, read as TOML reads them.
fn key_path(path: &str, source: usize) -> Option<Vec<Part>> {
    if path.contains('\n') || long_key(path).is_some() {
        return None;
    }
    let line = format!("{path}=0");
    let parsed = DeTable::parse(&line).ok()?;
    let mut parts = Vec::new();
    let mut table = parsed.get_ref();
    loop {
        let (key, value) = table.iter().next()?;
        let (start, end) = (key.span().start, key.span().end);
        parts.push(Part { name: key.get_ref().to_string(), at: Place { source, start, end } });
        match value.get_ref() {
            DeValue::Table(inner) => table = inner,
            _ => return Some(parts),
        }
    }
}

struct Refusal {
    at: Place,
    message: String,
    help: String,
}

/// Puts `last` under `path`, following the table of keys: members of lists go by name, and naming another kind
/// replaces the kind that was there.
fn put(
    table: &mut Table,
    schema: Option<&'static keys::Table>,
    path: &[Part],
    last: (Part, Node),
) -> Result<(), Refusal> {
    let part = path.first().unwrap_or(&last.0);
    let kinds = schema.map_or(&[][..], |schema| schema.one_of);
    if kinds.contains(&&*part.name) {
        kinds.iter().filter(|kind| **kind != part.name).for_each(|kind| table.remove(kind));
    }
    let Some((part, rest)) = path.split_first() else {
        let (part, node) = last;
        let kind = schema.and_then(|schema| schema.key(&part.name)).map(|key| key.kind);
        if let (Some(Kind::Tables(of)), false) = (kind, matches!(node.value, Value::List(_))) {
            return Err(Refusal {
                at: part.at,
                message: format!("`{of}` is a list of tables"),
                help: format!("name one and a key of it: `--set {of}.NAME.key=value`"),
            });
        }
        table.set(&part.name, part.at, node);
        return Ok(());
    };
    let kind = schema.and_then(|schema| schema.key(&part.name)).map(|key| key.kind);
    if let Some(Kind::Tables(of)) = kind {
        let (member, rest) =
            rest.split_first().map_or((&last.0, None), |(member, rest)| (member, Some(rest)));
        let found = find_member(table, part, member)?;
        return match rest {
            Some(rest) => put(found, Some(keys::find(of)), rest, last),
            None => Err(Refusal {
                at: member.at,
                message: format!("`{of}.{}` is a table", member.name),
                help: "name a key of it".to_owned(),
            }),
        };
    }
    let inner = table.descend(
        part,
        match kind {
            Some(Kind::Parameters { alone, .. }) => Some(alone),
            _ => None,
        },
    );
    put(inner, kind.and_then(Kind::table).map(keys::find), rest, last)
}

fn find_member<'a>(table: &'a mut Table, list: &Part, member: &Part) -> Result<&'a mut Table, Refusal> {
    let name_of = |node: &Node| match &node.value {
        Value::Table(table) => table.entry("name").and_then(|entry| match &entry.node.value {
            Value::Text(name) => Some(name.clone()),
            _ => None,
        }),
        _ => None,
    };
    let members = match table.entries.iter_mut().find(|entry| entry.name == list.name) {
        Some(entry) => match &mut entry.node.value {
            Value::List(members) => &mut members[..],
            _ => &mut [],
        },
        None => &mut [],
    };
    let names = members.iter().filter_map(name_of).collect::<Vec<_>>();
    let found = members.iter_mut().find(|node| name_of(node).as_deref() == Some(&member.name));
    match found.map(|node| &mut node.value) {
        Some(Value::Table(table)) => Ok(table),
        _ => Err(Refusal {
            at: member.at,
            message: format!("no {} is named `{}`", list.name, member.name),
            help: match nearest(&member.name, names.iter().map(String::as_str)) {
                Some(name) => format!("did you mean `{name}`?"),
                None if names.is_empty() => format!("the scenario has no `[[{}]]` with a name", list.name),
                None => format!("there is {}", keys::list(&names, "and")),
            },
        }),
    }
}

impl Table {
    /// The table under `part`, made if there is none. A value in its place becomes the member `alone` of it, or
    /// goes where there is no such member.
    fn descend(&mut self, part: &Part, alone: Option<&str>) -> &mut Table {
        let index = match self.entries.iter().position(|entry| entry.name == part.name) {
            Some(index) => index,
            None => {
                let node = Node { at: part.at, value: Value::Table(Table::default()) };
                self.set(&part.name, part.at, node);
                self.entries.len() - 1
            }
        };
        let value = &mut self.entries[index].node.value;
        if !matches!(value, Value::Table(_)) {
            let at = self.entries[index].node.at;
            let mut table = Table::default();
            let value = std::mem::replace(&mut self.entries[index].node.value, Value::Boolean(false));
            if let Some(alone) = alone {
                table.set(alone, at, Node { at, value });
            }
            self.entries[index].node = Node { at, value: Value::Table(table) };
        }
        match &mut self.entries[index].node.value {
            Value::Table(table) => table,
            _ => unreachable!("made a table just above"),
        }
    }
}

/// Whether a data set of this path can be read, in words if not.
pub(super) fn missing_file(path: &Path) -> Option<String> {
    match std::fs::metadata(path) {
        Ok(found) if found.is_file() => None,
        Ok(_) => Some("is not a file".to_owned()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Some("does not exist".to_owned()),
        Err(error) => Some(format!("cannot be read: {error}")),
    }
}
