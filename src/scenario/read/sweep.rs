//! From `[sweep]` to its points.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use super::super::fields::{Fields, Problems, abridged};
use super::super::keys::{self, Kind};
use super::super::measure::{Measure, kind_at, label};
use super::super::overlay::Part;
use super::super::resolved::toml_of;
use super::super::secret::is_secret_name;
use super::super::source::{Document, Setting, path_at};
use super::super::sweep::{Axis, Order, Point, Step, Sweep};
use super::super::tree::{Node, Place, Value};
use super::super::values::Field;
use super::check_names;
use crate::diagnostic::Diagnostics;

/// Most points times repeats.
const MOST_RUNS: usize = 1_000;
/// Columns of `points.csv` beside the axes and the figures.
const TAKEN: [&str; 13] = [
    "objectives",
    "point",
    "repeat",
    "state",
    "verdict",
    "seed",
    "start_s",
    "step_result",
    "reason",
    "decided_by",
    "misses",
    "n",
    "n_eff",
];
/// What belongs to the results as a whole.
const FIXED: [&str; 13] = [
    "name",
    "seed",
    "salt",
    "about",
    "extends",
    "sweep",
    "capacity",
    "slo",
    "objective",
    "model",
    "server",
    "results",
    "verdict",
];

/// A sweep with what each step of each axis sets.
pub(super) struct Axes {
    pub(super) sweep: Sweep,
    settings: Vec<Vec<Vec<Setting>>>,
}

impl Axes {
    /// What is set at `point`.
    pub(super) fn settings(&self, point: &Point) -> Vec<Setting> {
        self.settings.iter().zip(&point.0).flat_map(|(axis, step)| axis[*step].clone()).collect()
    }
}

/// The sweep of a document, or what is wrong with it.
pub(super) fn axes(document: &Document) -> Result<Axes, Diagnostics> {
    let problems = Problems::new(&document.sources, document.problems.clone());
    let axes = {
        let top = Fields::top(&problems, &document.root);
        top.table("sweep").and_then(|fields| sweep(&fields, &document.set))
    };
    axes.ok_or_else(|| problems.into_sorted())
}

/// `set` are the keys that the command line has set.
pub(super) fn sweep(fields: &Fields<'_>, set: &[Vec<Part>]) -> Option<Axes> {
    let tables = fields.tables("axis");
    check_names(&tables);
    let read = tables.iter().map(|fields| axis(fields, set)).collect::<Vec<_>>();
    let repeats = fields.value("repeats", Field::integer);
    let order = fields.value("order", Field::choice).and_then(|index| Order::ALL.get(index).copied());
    let pause = fields.value("pause", Field::duration);
    let read = read.into_iter().collect::<Option<Vec<_>>>().filter(|axes| !axes.is_empty())?;
    let keys = tables
        .iter()
        .zip(&read)
        .flat_map(|(fields, (axis, _))| axis.keys.iter().zip(std::iter::repeat(fields)));
    let mut seen = BTreeMap::new();
    let mut is_sound = true;
    for (key, fields) in keys {
        let place = fields.place("key");
        if let Some(first) = seen.insert(key.clone(), place).flatten() {
            let help = format!("{} sets it already", fields.problems.line(first));
            fields.problems.error(place, format!("two axes set `{}`", abridged(key)), help);
            is_sound = false;
        }
    }
    let (axes, settings): (Vec<Axis>, Vec<_>) = read.into_iter().unzip();
    let skip = if fields.has("skip") { skip(fields, &axes)? } else { Vec::new() };
    let repeats = u32::try_from(repeats?).ok()?;
    let (order, pause): (Order, Duration) = (order?, pause?);
    let runs = axes.iter().try_fold(repeats as usize, |runs, axis| runs.checked_mul(axis.steps.len()));
    if runs.is_none_or(|runs| runs > MOST_RUNS) {
        let message = format!("the sweep has more than {MOST_RUNS} points and repeats");
        fields.problems.error(
            fields.place("axis"),
            message,
            "take fewer values, or split it into several files",
        );
        return None;
    }
    let sweep = Sweep { axes, repeats, order, pause, skip };
    if sweep.points().is_empty() {
        fields.problems.error(fields.place("skip"), "`skip` leaves no point", "leave one of its entries out");
        return None;
    }
    is_sound.then_some(Axes { sweep, settings })
}

/// An axis, and what each of its steps sets.
fn axis(fields: &Fields<'_>, set: &[Vec<Part>]) -> Option<(Axis, Vec<Vec<Setting>>)> {
    let name = fields.value("name", Field::name);
    let taken = |name: &String| {
        let is_figure = crate::stats::metrics::METRICS.iter().any(|metric| {
            name.strip_prefix(metric.tag).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
        });
        TAKEN.contains(&&**name) || is_figure
    };
    if let Some(name) = name.as_ref().filter(|name| taken(name)) {
        let message = format!("the name `{name}` is taken by a column of `points.csv`");
        fields.problems.error(fields.place("name"), message, "choose another");
        return None;
    }
    let (place, paths) = match fields.has("keys") {
        true => (fields.place("keys")?, fields.own("keys", |field| Ok(field.node.into_owned()))?),
        false if fields.has("key") => {
            let node = fields.own("key", |field| Ok(field.node.into_owned()))?;
            (fields.place("key")?, Node { at: node.at, value: Value::List(vec![node]) })
        }
        false => return None,
    };
    let Value::List(paths) = paths.value else {
        let help = "write it like `keys = [\"workload.chat.output.max_tokens\"]`, or `key` for one";
        fields.problems.error(Some(place), "`keys` takes a list of paths of keys", help);
        return None;
    };
    let paths = paths.iter().map(|node| path(fields.problems, node, set, "an axis")).collect::<Vec<_>>();
    let paths = paths.into_iter().collect::<Option<Vec<_>>>()?;
    if paths.is_empty() {
        fields.problems.error(Some(place), "`keys` names no key", "name one, or leave the axis out");
        return None;
    }
    if !fields.has("values") {
        fields.value("values", |_| Ok(()));
        return None;
    }
    let node = fields.own("values", |field| Ok(field.node.into_owned()))?;
    let rows = match node.value {
        Value::List(values) => listed(fields, values, paths.len())?,
        _ => range(&fields.table("values")?, &paths)?.into_iter().map(|value| vec![value]).collect(),
    };
    let measures = paths.iter().map(|path| kind_at(path).and_then(Measure::of)).collect::<Vec<_>>();
    let mut steps: Vec<Step> = Vec::new();
    let mut settings = Vec::new();
    for row in rows {
        let at = row.first().map_or(place, |node| node.at);
        let row = row.into_iter().zip(&paths).map(|(node, path)| absolute(fields, node, path));
        let row = row.collect::<Vec<_>>();
        let labels = row.iter().zip(&measures).map(|(node, measure)| {
            label(&node.value, *measure).unwrap_or_else(|| abridged(fields.problems.shown(node.at)))
        });
        let label = labels.collect::<Vec<_>>().join(" + ");
        if steps.iter().any(|step| step.label == label) {
            let message = format!("the axis has the value `{}` twice", abridged(&label));
            fields.problems.error(Some(at), message, "leave one of them out; `repeats` runs a point again");
            return None;
        }
        steps.push(Step { label, values: row.iter().map(|node| toml_of(&node.value)).collect() });
        let set = row.into_iter().zip(&paths).map(|(node, path)| Setting { path: path.clone(), node });
        settings.push(set.collect());
    }
    let keys = paths.iter().map(|path| {
        path.iter().map(|part| super::super::resolved::key(&part.name)).collect::<Vec<_>>().join(".")
    });
    Some((Axis { name: name?, keys: keys.collect(), steps }, settings))
}

/// The path of a key that `who`, an axis or a search, may set.
pub(super) fn path(problems: &Problems<'_>, node: &Node, set: &[Vec<Part>], who: &str) -> Option<Vec<Part>> {
    let form = "write it like \"phase.steady.load.closed.users\", with phases and workloads by name";
    let text = match &node.value {
        Value::Text(text) => text,
        other => {
            let message = format!("{who} takes the path of a key as text, not {}", other.describe());
            problems.error(Some(node.at), message, form);
            return None;
        }
    };
    let Some(path) = path_at(text, node.at) else {
        problems.error(Some(node.at), "the path of a key cannot be read", form);
        return None;
    };
    let refuse = |message: String, help: &str| problems.error(Some(node.at), message, help);
    let (first, last) = (path.first()?, path.last()?);
    if FIXED.contains(&&*first.name) || last.name == "name" || path.iter().any(|part| part.name == "slo") {
        let message = format!("{who} cannot set `{}`: it is the same for all points", abridged(text));
        refuse(message, "choose a key of the server, a workload, or a phase");
        return None;
    }
    if path.iter().any(|part| part.name == "headers" || is_secret_name(&part.name)) {
        refuse(format!("{who} cannot set what may be a secret: its values are kept with the results"), form);
        return None;
    }
    let names = |path: &[Part]| path.iter().map(|part| part.name.clone()).collect::<Vec<_>>();
    let own = names(&path);
    if let Some(set) = set.iter().find(|set| {
        let set = names(set);
        set.starts_with(&own) || own.starts_with(&set)
    }) {
        let at = set.first().map(|part| part.at);
        let help = match who {
            "a search" => "leave it out, or change the bounds: `--set capacity.from=…`".to_owned(),
            _ => format!(
                "leave it out, or change the axis: `--set sweep.axis.NAME.values=[…]` sets `{}`",
                abridged(text)
            ),
        };
        problems.error(at, format!("`--set` names a key that {who} sets"), help);
        return None;
    }
    Some(path)
}

/// The values of a list, one row a step.
fn listed(fields: &Fields<'_>, values: Vec<Node>, keys: usize) -> Option<Vec<Vec<Node>>> {
    if values.is_empty() {
        fields.problems.error(fields.place("values"), "`values` is empty", "give at least one value");
        return None;
    }
    if !fields.has("keys") {
        return Some(values.into_iter().map(|value| vec![value]).collect());
    }
    let rows = values.into_iter().map(|node| match node.value {
        Value::List(row) if row.len() == keys => Some(row),
        _ => {
            let message = format!("with {keys} `keys`, each of `values` is a list of {keys}");
            let help = "write it like `values = [[200, 800], [4000, 100]]`";
            fields.problems.error(Some(node.at), message, help);
            None
        }
    });
    rows.collect::<Vec<_>>().into_iter().collect()
}

/// The values of a range. `fields` are those of `values`.
fn range(fields: &Fields<'_>, paths: &[Vec<Part>]) -> Option<Vec<Node>> {
    let kind = ["linear", "geometric"].into_iter().find(|kind| fields.has(kind))?;
    let place = fields.place(kind)?;
    let measure = match paths {
        [path] => kind_at(path).and_then(Measure::of),
        _ => {
            let help = "list the values: `values = [[200, 800], [4000, 100]]`";
            fields.problems.error(Some(place), "a range is of one key, and the axis has several", help);
            return None;
        }
    };
    let Some(measure) = measure else {
        fields.problems.error(Some(place), "a range needs a key of numbers", "list the values");
        return None;
    };
    let fields = fields.table(kind)?;
    let amount = |name: &str| {
        fields.value(name, |field| match measure.read(&field.node.value) {
            Some(amount) => Ok(amount),
            None => Err(not_an_amount(&field, paths)),
        })
    };
    let (from, to) = (amount("from"), amount("to"));
    let refuse = |name: &str, message: &str, help: &str| {
        fields.problems.error(fields.place(name), message, help);
        None
    };
    let amounts = match kind {
        "linear" => {
            let (from, to, step) = (from?, to?, amount("step")?);
            if step <= 0.0 {
                return refuse("step", "`step` must be above 0", "give the distance between two values");
            }
            let count = libm::floor((to - from) / step + 1e-9) + 1.0;
            (count, (0..=MOST_RUNS).map(|place| from + step * place as f64).collect::<Vec<_>>())
        }
        _ => {
            let factor = fields.value("factor", Field::number);
            let (from, to, factor) = (from?, to?, factor?);
            if factor <= 1.0 {
                return refuse("factor", "`factor` must be above 1", "2 doubles from value to value");
            }
            if from <= 0.0 {
                return refuse("from", "`from` must be above 0", "no factor leads away from 0");
            }
            let count = libm::floor(libm::log(to / from) / libm::log(factor) + 1e-9) + 1.0;
            let nth = |place: usize| from * libm::pow(factor, place as f64);
            (count, (0..=MOST_RUNS).map(nth).collect::<Vec<_>>())
        }
    };
    let (count, amounts) = amounts;
    if from? > to? {
        return refuse("from", "`from` is above `to`", "exchange them");
    }
    if count > MOST_RUNS as f64 {
        return refuse(kind, "the range has more than 1,000 values", "take larger steps");
    }
    let values = amounts.into_iter().take(count as usize).map(|amount| measure.write(amount));
    let mut values =
        values.map(|value| Some(Node { at: place, value: value? })).collect::<Option<Vec<_>>>()?;
    // Whole numbers may fall together at the low end of a range with a small factor.
    values.dedup_by(|a, b| label(&a.value, Some(measure)) == label(&b.value, Some(measure)));
    Some(values)
}

fn not_an_amount(field: &Field<'_>, paths: &[Vec<Part>]) -> super::super::values::Refusal {
    let kind = paths.first().and_then(|path| kind_at(path));
    let takes = kind.map_or("a number".to_owned(), Kind::describe);
    let message = format!("`{}` is no value of the axis's key, which takes {takes}", field.label);
    super::super::values::Refusal::new(message, "write it as the key takes it: 8, \"4Ki\", \"2/s\", \"30s\"")
}

/// Files that steps name are relative to the file that names them, wherever the resolved scenario is kept.
fn absolute(fields: &Fields<'_>, node: Node, path: &[Part]) -> Node {
    match (&node.value, kind_at(path)) {
        (Value::Text(text), Some(Kind::Path)) => {
            let path = fields.problems.folder(node.at).join(Path::new(text));
            Node { at: node.at, value: Value::Text(path.to_string_lossy().into_owned()) }
        }
        _ => node,
    }
}

fn skip(fields: &Fields<'_>, axes: &[Axis]) -> Option<Vec<Vec<(usize, usize)>>> {
    let form = "write it like `skip = [{ context = \"128Ki\", users = 64 }]`";
    let node = fields.own("skip", |field| Ok(field.node.into_owned()))?;
    let Value::List(entries) = node.value else {
        fields.problems.error(Some(node.at), "`skip` takes a list of tables", form);
        return None;
    };
    let entries = entries.into_iter().map(|node| match node.value {
        Value::Table(table) if !table.entries.is_empty() => {
            let steps = table.entries.iter().map(|entry| {
                let found = find_step(axes, &entry.name, &entry.node);
                found.map_err(|(message, help)| fields.problems.error(Some(entry.at), message, help)).ok()
            });
            steps.collect::<Vec<_>>().into_iter().collect::<Option<Vec<_>>>()
        }
        _ => {
            fields.problems.error(Some(node.at), "an entry of `skip` names axes with a value of each", form);
            None
        }
    });
    entries.collect::<Vec<_>>().into_iter().collect()
}

/// Axis and step that an entry of `skip` names, or why there is none.
fn find_step(axes: &[Axis], name: &str, node: &Node) -> Result<(usize, usize), (String, String)> {
    let Some(at) = axes.iter().position(|axis| axis.name == name) else {
        let names = axes.iter().map(|axis| axis.name.as_str()).collect::<Vec<_>>();
        return Err((
            format!("no axis is named `{}`", abridged(name)),
            format!("there is {}", keys::list(&names, "and")),
        ));
    };
    let axis = &axes[at];
    let row = match &node.value {
        Value::List(row) if axis.keys.len() > 1 => row.iter().map(|node| &node.value).collect::<Vec<_>>(),
        value => vec![value],
    };
    let labels = row.iter().zip(&axis.keys).map(|(value, key)| {
        let path = path_at(key, Place { source: 0, start: 0, end: 0 });
        label(value, path.and_then(|path| kind_at(&path)).and_then(Measure::of)).unwrap_or_default()
    });
    let wanted = labels.collect::<Vec<_>>().join(" + ");
    let step =
        axis.steps.iter().position(|step| step.label == wanted).filter(|_| row.len() == axis.keys.len());
    let help = || {
        let labels = axis.steps.iter().take(20).map(|step| abridged(&step.label)).collect::<Vec<_>>();
        format!("it has {}", keys::list(&labels, "and"))
    };
    step.map(|step| (at, step)).ok_or_else(|| (format!("the axis `{name}` has no such value"), help()))
}
