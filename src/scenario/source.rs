//! From files and command line to one tree: what was said, before what it means.

use std::fs::File;
use std::io::{self, Read as _};
use std::ops::Range;
use std::path::{Path, PathBuf};

use toml::de::{DeTable, DeValue};

use super::overlay::{self, Part, Shape};
use super::redact;
use super::tree::{Converter, Entry, Node, Place, Table, Value};
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
    /// What is wrong with the way things are said. What they mean can still be read.
    pub(super) problems: Diagnostics,
    /// What the command line has set.
    pub(super) set: Vec<Vec<Part>>,
}

/// What the files say, and what the command line changes of it. A step of a sweep comes between the two.
#[derive(Clone)]
pub(super) struct Layers {
    root: Table,
    sources: Sources,
    problems: Diagnostics,
    overrides: Overrides,
}

/// A key that a step of a sweep sets.
#[derive(Clone)]
pub(super) struct Setting {
    /// The path of the key, at least one part.
    pub(super) path: Vec<Part>,
    pub(super) node: Node,
}

/// Where the parts of a tree come from, the scenario itself first.
#[derive(Clone, Default)]
pub(super) struct Sources {
    list: Vec<Source>,
    /// A file that the scenario extends could not be had: what is missing may stand there.
    pub(super) is_partial: bool,
}

/// A file or an argument.
#[derive(Clone)]
struct Source {
    /// What messages call it.
    name: String,
    /// Its text as it may be shown, with secrets blotted out; every place keeps its offset.
    shown: String,
    /// The folder that paths in it are relative to.
    folder: PathBuf,
}

impl Sources {
    pub(super) fn location(&self, place: Place) -> Location {
        let source = &self.list[place.source];
        Location::span(&source.name, &source.shown, &(place.start..place.end))
    }

    /// The first source as a whole.
    pub(super) fn file(&self) -> Location {
        Location::file(self.list.first().map_or("", |source| &source.name))
    }

    /// The text at `place`, as it may be shown.
    pub(super) fn shown(&self, place: Place) -> &str {
        self.list[place.source].shown.get(place.start..place.end).unwrap_or_default()
    }

    /// The folder that a path given at `place` is relative to.
    pub(super) fn folder(&self, place: Place) -> &Path {
        &self.list[place.source].folder
    }

    /// Name and text of each, in the order of [`Place::source`].
    pub(super) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.list.iter().map(|source| (&*source.name, &*source.shown))
    }

    fn add(&mut self, name: &str, text: &str, secrets: &[Range<usize>], folder: PathBuf) {
        self.list.push(Source { name: name.to_owned(), shown: redact::blot(text, secrets), folder });
    }

    /// Adds what the command line says. Paths in it are relative to the scenario.
    fn add_argument(&mut self, name: &str, text: &str, secrets: &[Range<usize>]) {
        let folder = self.list.first().map(|source| source.folder.clone()).unwrap_or_default();
        self.add(name, text, secrets, folder);
    }
}

/// Largest scenario file.
const MOST_BYTES: u64 = 1 << 20;

/// Most files that extend one another.
const MOST_FILES: usize = 16;

/// Most parts of one key. The parser nests as deep as a key is long, and the deepest key has six parts.
const MOST_PARTS: usize = 64;

/// Reads the scenario at `path`.
pub(super) fn load(path: &Path, overrides: &Overrides) -> Result<Layers, Diagnostics> {
    let name = path.to_string_lossy();
    let unreadable = |error: io::Error| {
        let message = format!("the scenario cannot be read: {error}");
        Diagnostics::from(Diagnostic::error(message).at(Location::file(&*name)))
    };
    let bytes = beginning(path).map_err(unreadable)?;
    // Absolute, so that the resolved scenario means the same files wherever it is kept.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = std::path::absolute(folder).map_err(unreadable)?;
    assemble(Link { name: name.to_string(), file: path.canonicalize().ok() }, &bytes, folder, overrides)
}

/// Reads a scenario from `bytes`. `name` is what messages call it; paths in it are relative to `folder`.
pub(super) fn parse(
    name: &str,
    bytes: &[u8],
    folder: PathBuf,
    overrides: &Overrides,
) -> Result<Layers, Diagnostics> {
    assemble(Link { name: name.to_owned(), file: None }, bytes, folder, overrides)
}

/// A file's bytes, one more than it may have at most.
fn beginning(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// One of the files that extend one another.
struct Link {
    name: String,
    /// The file whatever it is called; `None` where the scenario is no file.
    file: Option<PathBuf>,
}

/// The scenario in `bytes`, over what it extends.
fn assemble(top: Link, bytes: &[u8], folder: PathBuf, overrides: &Overrides) -> Result<Layers, Diagnostics> {
    let (mut sources, mut problems) = (Sources::default(), Diagnostics::default());
    let mut trees = vec![tree(&top.name, bytes, folder, &mut sources, &mut problems)?];
    let mut chain = vec![top];
    while let Some(extends) = trees.last_mut().and_then(|tree| tree.take("extends")) {
        match extended(&extends, &mut chain, &mut sources, &mut problems) {
            Ok(base) => trees.push(base),
            Err(found) => {
                problems.append(found);
                sources.is_partial = true;
                break;
            }
        }
    }
    let mut root = Table::default();
    trees.into_iter().rev().for_each(|over| overlay::merge(&mut root, over, Shape::TOP));
    Ok(Layers { root, sources, problems, overrides: overrides.clone() })
}

impl Layers {
    /// The tree with `settings` over the files, and the command line over both.
    pub(super) fn document(&self, settings: &[Setting]) -> Document {
        let Layers { root, sources, problems, overrides } = self;
        let mut document = Document {
            root: root.clone(),
            sources: sources.clone(),
            problems: problems.clone(),
            set: Vec::new(),
        };
        // Steps may be said on the command line too, so its sources are there before them.
        let said = overrides.set.iter().map(|argument| document.said(argument)).collect::<Vec<_>>();
        for setting in settings {
            document.step(setting);
        }
        for said in said {
            if let Err(problem) = said.and_then(|(path, entry)| document.set(&path, entry)) {
                document.problems.append(problem);
            }
        }
        if let Some(url) = &overrides.target {
            document.set_target(url);
        }
        document
    }
}

/// The tree of the file that `extends` names, which joins the chain.
fn extended(
    extends: &Entry,
    chain: &mut Vec<Link>,
    sources: &mut Sources,
    problems: &mut Diagnostics,
) -> Result<Table, Diagnostics> {
    let at = extends.node.at;
    let location = sources.location(at);
    let refuse = |message: String, help: String| {
        Diagnostics::from(Diagnostic::error(message).at(location.clone()).help(help))
    };
    let form = "write it like `extends = \"base.toml\"`".to_owned();
    let text = match &extends.node.value {
        Value::Text(text) if !text.trim().is_empty() && !text.contains(char::is_control) => text,
        Value::Text(_) => return Err(refuse("`extends` takes the path of a file".to_owned(), form)),
        Value::List(_) => {
            let help = "let the base extend the next one in turn".to_owned();
            return Err(refuse("`extends` takes one file, not a list".to_owned(), help));
        }
        other => {
            let message = format!("`extends` takes the path of a file, not {}", other.describe());
            return Err(refuse(message, form));
        }
    };
    let path = sources.folder(at).join(text);
    let name = Path::new(&location.file).with_file_name(text).to_string_lossy().into_owned();
    if let Some(problem) = missing_file(&path) {
        let help = format!("{RELATIVE}; looked for `{}`", path.display());
        return Err(refuse(format!("the file of `extends` {problem}"), help));
    }
    let unreadable =
        |error: io::Error| refuse(format!("the file of `extends` cannot be read: {error}"), form.clone());
    let file = path.canonicalize().map_err(unreadable)?;
    if let Some(first) = chain.iter().position(|link| link.file.as_ref() == Some(&file)) {
        let round = chain[first..].iter().map(|link| &*link.name).chain([&*name]).collect::<Vec<_>>();
        let help = format!("{}: remove one `extends`", round.join(" → "));
        return Err(refuse("the scenario extends itself".to_owned(), help));
    }
    if chain.len() == MOST_FILES {
        let help = "put what they share into fewer files".to_owned();
        return Err(refuse(format!("more than {MOST_FILES} files extend one another"), help));
    }
    let bytes = beginning(&path).map_err(unreadable)?;
    let folder = path.parent().unwrap_or(Path::new("/")).to_owned();
    let tree = tree(&name, &bytes, folder, sources, problems)?;
    chain.push(Link { name, file: Some(file) });
    Ok(tree)
}

/// Where paths start from, for messages.
pub(super) const RELATIVE: &str = "paths are relative to the file that names them";

/// The tree of one file, which becomes a source.
fn tree(
    name: &str,
    bytes: &[u8],
    folder: PathBuf,
    sources: &mut Sources,
    problems: &mut Diagnostics,
) -> Result<Table, Diagnostics> {
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
    let source = sources.list.len();
    let (parsed, errors) = DeTable::parse_recoverable(text);
    let mut converter = Converter::new(source, text, 0);
    let root = converter.table(parsed.get_ref(), false);
    let mut secrets = converter.secrets;
    if !errors.is_empty() {
        // The tree of a broken text is a guess: whatever may be a secret is hidden by the look of its line.
        secrets.extend(redact::suspects(text));
    }
    sources.add(name, text, &secrets, folder);
    if !errors.is_empty() {
        return Err(syntax_errors(&errors, source, sources));
    }
    for (place, path) in &converter.broken {
        let problem = Diagnostic::error("a table in braces must stand on one line");
        if problems.is_full() {
            problems.push(problem);
            continue;
        }
        let problem = problem.at(sources.location(*place));
        problems.push(problem.help(dotted_form(sources, *place, path)));
    }
    Ok(root)
}

fn syntax_errors(errors: &[toml::de::Error], source: usize, sources: &Sources) -> Diagnostics {
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
        let problem = problem.at(sources.location(Place { source, start: span.start, end: span.end }));
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

impl Document {
    /// Applies what a step of a sweep sets.
    fn step(&mut self, setting: &Setting) {
        let Some((last, path)) = setting.path.split_last() else { return };
        let entry = Entry { name: last.name.clone(), at: last.at, node: setting.node.clone() };
        if let Err(refusal) = overlay::put(&mut self.root, Shape::TOP, path, entry) {
            let problem = Diagnostic::error(refusal.message).at(self.sources.location(refusal.at));
            self.problems.push(problem.help(refusal.help));
        }
    }

    /// Reads one `key.path=value`, which becomes a source: the path of the table, and what to put there.
    fn said(&mut self, argument: &str) -> Result<(Vec<Part>, Entry), Diagnostics> {
        let form = "write `--set key.path=value`, such as `--set phase.steady.load.closed.users=8`";
        let refuse = |message: &str| {
            Diagnostics::from(Diagnostic::error(message).at(Location::file("--set")).help(form))
        };
        let equals = equals_sign(argument).ok_or_else(|| refuse("`--set` has no `=`"))?;
        let (path, value) = (&argument[..equals], argument[equals + 1..].trim());
        let source = self.sources.list.len();
        let mut parts =
            key_path(path, source).ok_or_else(|| refuse("the key path of `--set` cannot be read"))?;

        let offset = argument.len() - argument[equals + 1..].trim_start().len();
        let mut converter = Converter::new(source, argument, offset);
        let secret = parts.iter().fold(false, |secret, part| converter.enter(&part.name, part.at, secret));
        let node = match DeValue::parse(value) {
            Ok(parsed) if !value.is_empty() => converter.node(&parsed, secret),
            _ => converter.text(value, secret),
        };
        self.sources.add_argument("--set", argument, &converter.secrets);
        self.set.push(parts.clone());
        let last = parts.pop().ok_or_else(|| refuse("the key path of `--set` is empty"))?;
        if parts.first().unwrap_or(&last).name == "extends" {
            let message = "`extends` cannot be set: files are read before the command line";
            let problem = Diagnostic::error(message).at(self.sources.location(last.at));
            return Err(problem.help("write it into a file, or set its keys one by one").into());
        }
        Ok((parts, Entry { name: last.name, at: last.at, node }))
    }

    /// Puts what the command line says where it says.
    fn set(&mut self, path: &[Part], entry: Entry) -> Result<(), Diagnostics> {
        overlay::put(&mut self.root, Shape::TOP, path, entry).map_err(|refusal| {
            let problem = Diagnostic::error(refusal.message).at(self.sources.location(refusal.at));
            Diagnostics::from(problem.help(refusal.help))
        })
    }

    fn set_target(&mut self, url: &str) {
        let source = self.sources.list.len();
        let mut converter = Converter::new(source, url, 0);
        let node = converter.text(url, false);
        self.sources.add_argument("--target", url, &converter.secrets);
        let target = Part { name: "target".to_owned(), at: node.at };
        let url = Entry { name: "url".to_owned(), at: node.at, node };
        // The path names no member of a list, which is all that can be refused.
        let _ = overlay::put(&mut self.root, Shape::TOP, &[target], url);
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

/// The parts of a dotted key that stands at `at` as a text.
pub(super) fn path_at(path: &str, at: Place) -> Option<Vec<Part>> {
    let parts = key_path(path, at.source)?;
    Some(parts.into_iter().map(|part| Part { at, ..part }).collect())
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

/// Whether a data set of this path can be read, in words if not.
pub(super) fn missing_file(path: &Path) -> Option<String> {
    match std::fs::metadata(path) {
        Ok(found) if found.is_file() => None,
        Ok(_) => Some("is not a file".to_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Some("does not exist".to_owned()),
        Err(error) => Some(format!("cannot be read: {error}")),
    }
}

/// Most bytes of a file of JSON that a scenario points to.
const MOST_JSON_BYTES: u64 = 64 << 20;

/// The text of a small file; what is wrong, in words that follow "the file", where there is none to be had.
pub(super) fn small_text(path: &Path) -> Result<String, String> {
    let mut text = String::new();
    let file = File::open(path).map_err(|error| format!("cannot be read: {error}"))?;
    let read = file.take(MOST_JSON_BYTES + 1).read_to_string(&mut text);
    read.map_err(|error| format!("cannot be read: {error}"))?;
    if text.len() as u64 > MOST_JSON_BYTES {
        return Err(format!("is longer than {} MiB", MOST_JSON_BYTES >> 20));
    }
    Ok(text)
}
