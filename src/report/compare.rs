//! Two sets of runs, figure by figure.
//!
//! Phases are paired by name, points of sweeps and searches by what their axes were set to: where a search was led by its
//! server, the same value is another point.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::figure::{NONE, percent, short, time};
use super::points;
use crate::results::Manifest;
use crate::results::manifest::{ClockKind, PointState};
use crate::results::text::{Column, number, plain, printable, text};
use crate::stats::change::{Change, Counted, FEWEST_RUNS, Run, Side, change};
use crate::stats::fold::ALL;
use crate::stats::metrics::{Source, Unit, metric};
use crate::stats::{Interval, SummaryRow};

/// Figures that are compared.
const COMPARED: [(&str, &str); 18] = [
    ("ttft", "p50"),
    ("ttft", "p90"),
    ("ttft", "p99"),
    ("ttft_adjusted", "p99"),
    ("tpot", "p50"),
    ("tpot", "p90"),
    ("tpot", "p99"),
    ("e2e", "p50"),
    ("e2e", "p90"),
    ("e2e", "p99"),
    ("e2e_adjusted", "p99"),
    ("output_throughput", "value"),
    ("request_throughput", "value"),
    ("goodput", "value"),
    ("attainment", "value"),
    ("success", "value"),
    ("accuracy", "value"),
    ("correct_goodput", "value"),
];

/// Keys of a scenario that may differ between runs of the same load: where it goes, what it is called, and what is
/// asked of it.
const FREE: [&str; 9] =
    ["name", "seed", "about", "target", "slo", "objective", "results", "server", "verdict"];

/// A folder as far as a comparison needs it.
#[derive(Clone, Copy)]
pub struct Compared<'a> {
    /// Where it lies.
    pub name: &'a str,
    /// What it was.
    pub manifest: &'a Manifest,
    /// The scenario as it ran.
    pub scenario: &'a str,
    /// Its figures.
    pub summary: &'a [SummaryRow],
}

/// What a change means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// Over the bound to the good side, and no change is not in the interval.
    Better,
    /// The whole interval lies within the bound.
    Same,
    /// The interval does not tell.
    Unclear,
    /// Over the bound to the bad side, and no change is not in the interval.
    Worse,
}

impl Meaning {
    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Meaning::Better => "better",
            Meaning::Same => "same",
            Meaning::Unclear => "unclear",
            Meaning::Worse => "worse",
        }
    }
}

/// Which side's figure is known from below alone, because requests failed or were cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Censored {
    /// Both are known.
    Neither,
    /// That of the base.
    Base,
    /// That of the new side.
    New,
    /// Both.
    Both,
}

/// One figure of one phase on both sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Point of a sweep, from 1, as the base counts them.
    pub point: Option<u32>,
    /// What the axes of the sweep were set to there: `users = 8`; empty without one.
    pub settings: String,
    /// Name of the phase.
    pub phase: String,
    /// Tag of the metric.
    pub metric: &'static str,
    /// Name of the statistic.
    pub statistic: &'static str,
    /// Both values and how far they are apart; of a side that is known from below alone the bound, infinite where it never
    /// came.
    pub change: Change,
    /// Which side that is.
    pub censored: Censored,
    /// Runs of the base with a value.
    pub base_runs: usize,
    /// Runs of the new side with a value.
    pub new_runs: usize,
    /// What that means.
    pub meaning: Meaning,
}

/// A comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// What differs beside the figures, as `what: base → new`.
    pub differences: Vec<String>,
    /// Figures by phase.
    pub lines: Vec<Line>,
    /// Points, phases and figures that one side alone has.
    pub unpaired: Vec<String>,
}

/// What keeps runs from being compared: keys of their scenarios with both values, or what kind of server there was.
pub fn obstacles(base: &Compared<'_>, new: &Compared<'_>) -> Vec<String> {
    let mut obstacles = Vec::new();
    if is_simulated(base) != is_simulated(new) {
        let server = |side| if is_simulated(side) { "simulated" } else { "real" };
        obstacles.push(format!("server: {} → {}", server(base), server(new)));
    }
    let (from, to) = (keys_of(base.scenario), keys_of(new.scenario));
    let names: BTreeSet<&String> = from.keys().chain(to.keys()).collect();
    for name in names {
        let mut parts = name.split('.');
        let is_free = parts.next().is_some_and(|first| FREE.contains(&first)) || parts.nth(1) == Some("slo");
        if !is_free && from.get(name) != to.get(name) {
            obstacles.push(difference(name, from.get(name), to.get(name)));
        }
    }
    obstacles
}

fn is_simulated(side: &Compared<'_>) -> bool {
    side.manifest.verdict.as_ref().is_some_and(|verdict| verdict.simulated)
}

fn difference(name: &str, from: Option<&String>, to: Option<&String>) -> String {
    let shown = |value: Option<&String>| value.map_or(NONE.to_owned(), |value| printable(value));
    format!("{}: {} → {}", printable(name), shown(from), shown(to))
}

/// Every key of a resolved scenario with its value as text; members of arrays by their name.
fn keys_of(scenario: &str) -> BTreeMap<String, String> {
    fn flatten(path: &str, value: &toml::Value, keys: &mut BTreeMap<String, String>) {
        let join = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        match value {
            toml::Value::Table(table) => {
                for (name, value) in table {
                    flatten(&join(name), value, keys);
                }
            }
            toml::Value::Array(members) if members.iter().any(|member| member.get("name").is_some()) => {
                for (place, member) in members.iter().enumerate() {
                    let name = member.get("name").and_then(toml::Value::as_str);
                    let name = name.map_or(place.to_string(), str::to_owned);
                    keys.insert(join(&name), "present".to_owned());
                    if let toml::Value::Table(table) = member {
                        for (key, value) in table.iter().filter(|(key, _)| *key != "name") {
                            flatten(&format!("{}.{key}", join(&name)), value, keys);
                        }
                    }
                }
            }
            value => {
                keys.insert(path.to_owned(), value.to_string());
            }
        }
    }
    let mut keys = BTreeMap::new();
    if let Ok(table) = scenario.parse::<toml::Table>() {
        flatten("", &toml::Value::Table(table), &mut keys);
    }
    keys
}

/// Pairs the figures of phases that both sides have. What keeps runs from being compared, where they are all the same, is
/// told among their differences. `worse_than` is the share from which a change matters.
pub fn compare(base: &[Compared<'_>], new: &[Compared<'_>], worse_than: f64) -> Comparison {
    let (base, base_repeated) = once_each(base);
    let (new, new_repeated) = once_each(new);
    let (from, to) = (Figures::of(&base), Figures::of(&new));
    let mut lines = Vec::new();
    let mut unpaired = Vec::new();
    for (at, place) in from.places.iter().enumerate() {
        let Some(there) = to.places.iter().position(|other| other == place) else {
            unpaired.push(format!("{} is in the base alone", place.name()));
            continue;
        };
        for (metric, statistic) in COMPARED {
            let (old, young) = (from.side(at, metric, statistic), to.side(there, metric, statistic));
            let least = (from.least(at, metric, statistic), to.least(there, metric, statistic));
            let found = bounded(&old, &young, least, worse_than).or_else(|| {
                let change = change(&old, &young).filter(|_| least == (None, None))?;
                Some((change, Censored::Neither, meaning(metric, change, worse_than)))
            });
            let Some((change, censored, meaning)) = found else {
                let is_empty = |side: &Side, least: Option<Least>| side.runs.is_empty() && least.is_none();
                let only = match (is_empty(&old, least.0), is_empty(&young, least.1)) {
                    (false, true) => "the base alone",
                    (true, false) => "the new side alone",
                    _ => continue,
                };
                unpaired.push(format!("{}: {only} has {metric} {statistic}", place.name()));
                continue;
            };
            lines.push(Line {
                point: from.point_of(at),
                settings: place.settings.clone(),
                phase: place.phase.clone(),
                metric,
                statistic,
                change,
                censored,
                base_runs: least.0.map_or(old.runs.len(), |least| least.runs),
                new_runs: least.1.map_or(young.runs.len(), |least| least.runs),
                meaning,
            });
        }
    }
    let added = to.places.iter().filter(|place| !from.places.contains(place));
    unpaired.extend(added.map(|place| format!("{} is on the new side alone", place.name())));
    let mut differences = differences(&base, &new);
    differences.extend(base_repeated.into_iter().chain(new_repeated));
    Comparison { differences, lines, unpaired }
}

/// The runs of a side without those that are another one over again, and a line on each such set.
fn once_each<'a>(runs: &[Compared<'a>]) -> (Vec<Compared<'a>>, Vec<String>) {
    let mut sets: Vec<Vec<Compared<'a>>> = Vec::new();
    for run in runs {
        match sets.iter_mut().find(|set| is_same_run(&set[0], run)) {
            Some(set) => set.push(*run),
            None => sets.push(vec![*run]),
        }
    }
    let told = sets.iter().filter(|set| set.len() > 1).map(|set| {
        let names: Vec<String> = set.iter().map(|run| printable(run.name)).collect();
        let (names, seed) = (names.join(", "), set[0].manifest.seed);
        match set[0].manifest.clock {
            ClockKind::Virtual => format!(
                "these rehearsals are the same run: {names}; counted once: set another seed for each (seed = {seed})"
            ),
            ClockKind::Real => format!("these folders hold the same run: {names}; counted once"),
        }
    });
    let told = told.collect();
    (sets.into_iter().map(|set| set[0]).collect(), told)
}

/// A rehearsal made twice from one seed is one run; a run under the world's clock only if its folder was copied.
fn is_same_run(one: &Compared<'_>, other: &Compared<'_>) -> bool {
    let (a, b) = (one.manifest, other.manifest);
    let is_copy = (&a.run_id, &a.started, &a.shard) == (&b.run_id, &b.started, &b.shard);
    let is_virtual = a.clock == ClockKind::Virtual;
    (a.clock, a.seed) == (b.clock, b.seed) && (is_copy || is_virtual) && one.summary == other.summary
}

/// The least that a figure can be in any run of a side, with 95 % confidence, where it is not known in all of them.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Least {
    ms: f64,
    runs: usize,
}

/// Compares figures of which one side's, or both's, are known from below alone; `None` where none is. Only what lies beyond
/// every upper end of the other side, and beyond the bound, is told from it.
fn bounded(
    old: &Side,
    young: &Side,
    least: (Option<Least>, Option<Least>),
    worse_than: f64,
) -> Option<(Change, Censored, Meaning)> {
    let most = |side: &Side| {
        let ends = side.runs.iter().map(|run| run.interval.high).collect::<Option<Vec<f64>>>()?;
        ends.into_iter().max_by(f64::total_cmp)
    };
    let is_beyond = |least: f64, side: &Side| most(side).is_some_and(|most| least > most);
    let change =
        |base, new, interval| Change { base, new, relative: None, interval, difference: Interval::NONE };
    Some(match least {
        (None, None) => return None,
        (None, Some(Least { ms: least, .. })) => {
            let base = old.mean()?;
            let low = least / base - 1.0;
            let is_worse = is_beyond(least, old) && low > worse_than;
            let meaning = if is_worse { Meaning::Worse } else { Meaning::Unclear };
            (change(base, least, Interval { low: Some(low), high: None }), Censored::New, meaning)
        }
        (Some(Least { ms: least, .. }), None) => {
            let new = young.mean()?;
            let high = new / least - 1.0;
            let is_better = is_beyond(least, young) && high < -worse_than;
            let meaning = if is_better { Meaning::Better } else { Meaning::Unclear };
            (change(least, new, Interval { low: None, high: Some(high) }), Censored::Base, meaning)
        }
        (Some(from), Some(to)) => (change(from.ms, to.ms, Interval::NONE), Censored::Both, Meaning::Unclear),
    })
}

/// What differs between the first run and any other, and what to know of each.
fn differences(base: &[Compared<'_>], new: &[Compared<'_>]) -> Vec<String> {
    let mut told = Vec::new();
    let Some(first) = base.first() else { return told };
    let mut tell = |difference: String| {
        if !told.contains(&difference) {
            told.push(difference);
        }
    };
    for run in base.iter().chain(new) {
        obstacles(first, run).into_iter().for_each(&mut tell);
        manifest_differences(first.manifest, run.manifest).into_iter().for_each(&mut tell);
    }
    for (side, runs) in [("base", base), ("new", new)] {
        for run in runs {
            let verdict = run.manifest.verdict.as_ref().map(|verdict| verdict.verdict.as_str());
            if verdict != Some("valid") {
                let verdict = verdict.unwrap_or("not known");
                told.push(format!("the verdict of a run of {side} is {verdict}: read its findings first"));
            }
        }
    }
    told
}

fn manifest_differences(base: &Manifest, new: &Manifest) -> Vec<String> {
    let mut differences = Vec::new();
    let mut add = |name: &str, from: Option<&String>, to: Option<&String>| {
        if from != to {
            differences.push(difference(name, from, to));
        }
    };
    add("model", base.model.as_ref(), new.model.as_ref());
    add("target", Some(&base.target), Some(&new.target));
    let clock = |manifest: &Manifest| match manifest.clock {
        ClockKind::Real => "real, measured".to_owned(),
        ClockKind::Virtual => "virtual, rehearsed".to_owned(),
    };
    add("clock", Some(&clock(base)), Some(&clock(new)));
    add("server version", base.serving.version.as_ref(), new.serving.version.as_ref());
    add("server header", base.serving.header.as_ref(), new.serving.header.as_ref());
    let models = |manifest: &Manifest| {
        let models = &manifest.serving.models;
        (!models.is_empty()).then(|| models.join(", "))
    };
    add("models", models(base).as_ref(), models(new).as_ref());
    add("capacity", points::answer(base).as_ref(), points::answer(new).as_ref());
    add("tonnage", Some(&base.tool_version), Some(&new.tool_version));
    let names: BTreeSet<&String> = base.about.keys().chain(new.about.keys()).collect();
    for name in names {
        add(&format!("about.{name}"), base.about.get(name), new.about.get(name));
    }
    differences
}

/// What axes were set to, where there is a sweep or a search, and a phase.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    settings: String,
    phase: String,
}

impl Place {
    fn name(&self) -> String {
        let settings = Some(&self.settings).filter(|settings| !settings.is_empty());
        settings.map_or(self.phase.clone(), |settings| format!("{settings}, {}", self.phase))
    }
}

/// The figures of one side over all workloads, by place. Repeats of one folder are runs like those of several; runs of a
/// sweep that were interrupted are none.
struct Figures<'a> {
    /// In order of running.
    places: Vec<Place>,
    rows: Vec<(usize, &'a Manifest, &'a SummaryRow)>,
}

impl<'a> Figures<'a> {
    fn of(runs: &[Compared<'a>]) -> Figures<'a> {
        let mut figures = Figures { places: Vec::new(), rows: Vec::new() };
        for run in runs {
            for row in run.summary.iter().filter(|row| row.phase != ALL && row.workload == ALL) {
                let Some(settings) = settings(run.manifest, row) else { continue };
                let place = Place { settings, phase: row.phase.clone() };
                let known = figures.places.iter().rposition(|known| *known == place);
                let at = known.unwrap_or_else(|| {
                    figures.places.push(place);
                    figures.places.len() - 1
                });
                figures.rows.push((at, run.manifest, row));
            }
        }
        figures
    }

    /// Rows of one figure at the place with that index, with the manifests of their runs.
    fn rows_of(
        &self,
        at: usize,
        metric: &str,
        statistic: &str,
    ) -> impl Iterator<Item = (&'a Manifest, &'a SummaryRow)> {
        let of_place = self.rows.iter().filter(move |(place, ..)| *place == at);
        let of_figure = of_place.filter(move |(.., row)| (row.metric, row.statistic) == (metric, statistic));
        of_figure.map(|(_, manifest, row)| (*manifest, *row))
    }

    fn side(&self, at: usize, metric: &str, statistic: &str) -> Side {
        let run = |(manifest, row): (&Manifest, &SummaryRow)| {
            let interval = Interval { low: row.ci_low, high: row.ci_high };
            Some(Run { value: row.value?, interval, counted: counted(manifest, row) })
        };
        Side { runs: self.rows_of(at, metric, statistic).filter_map(run).collect() }
    }

    /// Where some run has no value but a lower bound: what none of them is below.
    fn least(&self, at: usize, tag: &str, statistic: &str) -> Option<Least> {
        if !metric(tag).is_some_and(|metric| matches!(metric.source, Source::Adjusted(_))) {
            return None;
        }
        let rows = self.rows_of(at, tag, statistic).map(|(_, row)| row).filter(|row| row.needs.is_none());
        let rows: Vec<&SummaryRow> = rows.collect();
        if !rows.iter().any(|row| row.value.is_none() && row.ci_low.is_some()) {
            return None;
        }
        let ends = rows.iter().map(|row| row.ci_low).collect::<Option<Vec<f64>>>()?;
        ends.into_iter().min_by(f64::total_cmp).map(|ms| Least { ms, runs: rows.len() })
    }

    fn point_of(&self, at: usize) -> Option<u32> {
        self.rows.iter().find(|(place, ..)| *place == at).and_then(|(.., row)| row.point)
    }
}

/// What a rate counted in the window of its phase: requests, of throughputs too.
fn counted(manifest: &Manifest, row: &SummaryRow) -> Option<Counted> {
    let unit = metric(row.metric)?.unit;
    let phase = manifest.phase(row.point, row.repeat, &row.phase)?;
    let seconds = phase.window_end_s? - phase.window_start_s?;
    let is_rate = matches!(unit, Unit::RequestsPerSecond | Unit::TokensPerSecond);
    (is_rate && seconds > 0.0).then_some(Counted { events: row.count as f64, seconds })
}

/// What the axes were set to at the point of a row; nothing without a sweep, `None` for a run that does not count.
fn settings(manifest: &Manifest, row: &SummaryRow) -> Option<String> {
    let Some(key) = row.point.zip(row.repeat) else { return Some(String::new()) };
    let entry = manifest.points.iter().find(|entry| (entry.point, entry.repeat) == key)?;
    let is_over = entry.state != PointState::Interrupted;
    let settings =
        entry.settings.iter().map(|it| format!("{} = {}", printable(&it.axis), printable(&it.value)));
    is_over.then(|| settings.collect::<Vec<_>>().join(", "))
}

fn meaning(tag: &str, change: Change, worse_than: f64) -> Meaning {
    // Latencies are better low; rates and shares of what went well are better high.
    let sign = if metric(tag).is_some_and(|metric| metric.unit == Unit::Ms) { 1.0 } else { -1.0 };
    let (rise, fall) = (
        change.difference.low.is_some_and(|low| low > 0.0),
        change.difference.high.is_some_and(|high| high < 0.0),
    );
    let (low, high) = (change.interval.low, change.interval.high);
    let within = |end: Option<f64>| end.is_some_and(|end| end.abs() <= worse_than);
    // A rise from nothing is beyond every bound.
    let bad = sign * change.relative.unwrap_or(if change.new > 0.0 { f64::INFINITY } else { 0.0 });
    match () {
        () if bad > worse_than && (rise || fall) => Meaning::Worse,
        () if bad < -worse_than && (rise || fall) => Meaning::Better,
        () if within(low) && within(high) => Meaning::Same,
        () => Meaning::Unclear,
    }
}

impl Comparison {
    /// Whether anything is worse by more than the bound.
    pub fn is_worse(&self) -> bool {
        self.lines.iter().any(|line| line.meaning == Meaning::Worse)
    }

    /// As a table for people.
    pub fn text(&self, worse_than: f64) -> String {
        let mut out = String::new();
        for difference in &self.differences {
            let _ = writeln!(out, "{difference}");
        }
        if !self.differences.is_empty() {
            out.push('\n');
        }
        for lines in self.lines.chunk_by(|a, b| (&a.settings, &a.phase) == (&b.settings, &b.phase)) {
            let first = &lines[0];
            let unit = if first.base_runs.min(first.new_runs) >= FEWEST_RUNS {
                "intervals from run to run; within runs where all are alike"
            } else {
                "within-run interval only: what differs from run to run is not in it"
            };
            let (from, to) = (first.base_runs, first.new_runs);
            let place = Place { settings: first.settings.clone(), phase: first.phase.clone() }.name();
            let _ = writeln!(out, "{place}: {} against {}; {unit}", runs(from), runs(to));
            let _ = writeln!(out, "  {:<25} {:>10} {:>10} {:>9}  95 % interval", "", "base", "new", "change");
            for line in lines {
                let _ = writeln!(out, "{}", line.text().trim_end());
            }
            out.push('\n');
        }
        for one_sided in &self.unpaired {
            let _ = writeln!(out, "{one_sided}");
        }
        if !self.unpaired.is_empty() {
            out.push('\n');
        }
        let count = |meaning| self.lines.iter().filter(|line| line.meaning == meaning).count();
        let _ = writeln!(
            out,
            "{} worse by more than {}, {} better, {} the same within it, {} unclear",
            count(Meaning::Worse),
            percent(worse_than),
            count(Meaning::Better),
            count(Meaning::Same),
            count(Meaning::Unclear)
        );
        out
    }

    /// The columns of its table for programs.
    pub const COLUMNS: &'static [Column<Line>] = &[
        Column { name: "point", write: |line, cell| plain(cell, line.point) },
        Column { name: "settings", write: |line, cell| text(cell, Some(&line.settings)) },
        Column { name: "phase", write: |line, cell| text(cell, Some(&line.phase)) },
        Column { name: "metric", write: |line, cell| plain(cell, Some(line.metric)) },
        Column { name: "statistic", write: |line, cell| plain(cell, Some(line.statistic)) },
        Column { name: "base", write: |line, cell| number(cell, line.base(), 6) },
        Column { name: "new", write: |line, cell| number(cell, line.new_value(), 6) },
        Column { name: "change", write: |line, cell| number(cell, line.change.relative, 6) },
        Column { name: "ci_low", write: |line, cell| number(cell, line.change.interval.low, 6) },
        Column { name: "ci_high", write: |line, cell| number(cell, line.change.interval.high, 6) },
        Column { name: "base_runs", write: |line, cell| plain(cell, Some(line.base_runs)) },
        Column { name: "new_runs", write: |line, cell| plain(cell, Some(line.new_runs)) },
        Column {
            name: "unit",
            write: |line, cell| plain(cell, metric(line.metric).map(|metric| metric.unit.name())),
        },
        Column { name: "meaning", write: |line, cell| plain(cell, Some(line.meaning.name())) },
    ];
}

fn runs(count: usize) -> String {
    if count == 1 { "1 run".to_owned() } else { format!("{count} runs") }
}

impl Line {
    fn base(&self) -> Option<f64> {
        matches!(self.censored, Censored::Neither | Censored::New).then_some(self.change.base)
    }

    fn new_value(&self) -> Option<f64> {
        matches!(self.censored, Censored::Neither | Censored::Base).then_some(self.change.new)
    }

    fn text(&self) -> String {
        let figure = |value: f64| match metric(self.metric).map(|metric| metric.unit) {
            Some(Unit::Ms) => time(value),
            Some(Unit::Share) => percent(value),
            _ => format!("{}/s", short(value)),
        };
        let shown = |value: Option<f64>, least: f64| match value {
            Some(value) => figure(value),
            None if least.is_finite() => format!("≥ {}", figure(least)),
            None => "never".to_owned(),
        };
        let signed = |share: Option<f64>| {
            share
                .filter(|share| share.is_finite())
                .map_or(NONE.to_owned(), |share| format!("{:+.1} %", share * 100.0))
        };
        let name = match self.statistic {
            "value" => self.metric.to_owned(),
            statistic => format!("{} {statistic}", self.metric),
        };
        let finite = |end: Option<f64>| end.filter(|end| end.is_finite());
        let interval = match (finite(self.change.interval.low), finite(self.change.interval.high)) {
            (None, None) => String::new(),
            (low, high) => format!("{} … {}", signed(low), signed(high)),
        };
        format!(
            "  {name:<25} {:>10} {:>10} {:>9}  {interval:<21} {}",
            shown(self.base(), self.change.base),
            shown(self.new_value(), self.change.new),
            signed(self.change.relative),
            self.meaning.name()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;
    use crate::results::manifest::{PointEntry, Setting};

    const SCENARIO: &str = "name = \"a\"\nseed = 7\n[target]\nurl = \"http://a\"\n[[workload]]\nname = \"chat\"\n\
                            prompt.synthetic.words = 30\nslo.ttft = \"2s\"\n[[phase]]\nname = \"low\"\nduration = \"1m\"\n";

    #[test]
    fn a_run_against_itself_is_the_same_or_unclear_and_never_worse() {
        let (manifest, rows) = sample::two_phases();
        let run = || [Compared { name: "", manifest: &manifest, scenario: SCENARIO, summary: &rows }];
        let comparison = compare(&run(), &run(), 0.05);
        assert!(!comparison.is_worse());
        let mut known = comparison.lines.iter().filter(|line| line.censored == Censored::Neither);
        assert!(known.all(|line| line.change.relative == Some(0.0)));
    }

    #[test]
    fn slower_runs_are_worse_and_more_throughput_is_better() {
        let (manifest, rows) = sample::two_phases();
        let slower: Vec<SummaryRow> = rows
            .iter()
            .cloned()
            .map(|mut row| {
                let factor = if matches!(row.metric, "ttft" | "output_throughput") { 1.5 } else { 1.0 };
                for figure in [&mut row.value, &mut row.ci_low, &mut row.ci_high] {
                    *figure = figure.map(|figure| figure * factor);
                }
                row
            })
            .collect();
        let base = [Compared { name: "", manifest: &manifest, scenario: SCENARIO, summary: &rows }];
        let new = [Compared { name: "", manifest: &manifest, scenario: SCENARIO, summary: &slower }];
        let comparison = compare(&base, &new, 0.05);
        assert!(comparison.is_worse());
        insta::assert_snapshot!(comparison.text(0.05), @r#"
        the verdict of a run of base is insufficient: read its findings first
        the verdict of a run of new is insufficient: read its findings first

        low: 1 run against 1 run; within-run interval only: what differs from run to run is not in it
                                          base        new    change  95 % interval
          ttft p50                      189 ms     284 ms   +50.0 %  +41.1 % … +59.3 %     worse
          tpot p50                     24.8 ms    24.8 ms    +0.0 %  -1.4 % … +1.4 %       same
          e2e p50                       1.18 s     1.18 s    +0.0 %  +0.0 % … +0.0 %       same
          output_throughput             41.0/s     61.5/s   +50.0 %  +47.6 % … +52.4 %     better
          request_throughput           0.950/s    0.950/s    +0.0 %                        unclear
          goodput                      0.950/s    0.950/s    +0.0 %                        unclear
          attainment                   100.0 %    100.0 %    +0.0 %  -16.1 % … +16.1 %     unclear
          success                      100.0 %    100.0 %    +0.0 %  -16.1 % … +16.1 %     unclear

        high: 1 run against 1 run; within-run interval only: what differs from run to run is not in it
                                          base        new    change  95 % interval
          ttft p50                      399 ms     599 ms   +50.0 %                        unclear
          ttft p90                      559 ms     839 ms   +50.0 %                        unclear
          ttft p99                      595 ms     893 ms   +50.0 %                        unclear
          ttft_adjusted p99           ≥ 589 ms   ≥ 589 ms         –                        unclear
          tpot p50                     30.0 ms    30.0 ms    +0.0 %  +0.0 % … +0.0 %       same
          tpot p90                     30.0 ms    30.0 ms    +0.0 %  +0.0 % … +0.0 %       same
          tpot p99                     30.0 ms    30.0 ms    +0.0 %                        unclear
          e2e p50                       1.60 s     1.60 s    +0.0 %                        unclear
          e2e p90                       1.76 s     1.76 s    +0.0 %                        unclear
          e2e p99                       1.79 s     1.79 s    +0.0 %                        unclear
          e2e_adjusted p99            ≥ 1.79 s   ≥ 1.79 s         –                        unclear
          output_throughput              410/s      615/s   +50.0 %  +44.1 % … +56.4 %     better
          request_throughput            9.57/s     9.57/s    +0.0 %  -10.2 % … +10.2 %     unclear
          goodput                       5.03/s     5.03/s    +0.0 %  -94.3 % … +94.3 %     unclear
          attainment                    49.5 %     49.5 %    +0.0 %  -100.2 % … +100.2 %   unclear
          success                       98.5 %     98.5 %    +0.0 %  -4.0 % … +4.0 %       same

        1 worse by more than 5.0 %, 2 better, 5 the same within it, 16 unclear
        "#);
    }

    #[test]
    fn a_figure_known_from_below_is_worse_only_beyond_the_other_sides_upper_end() {
        let run = |value: f64, high: f64| Side {
            runs: vec![Run { value, interval: Interval { low: None, high: Some(high) }, counted: None }],
        };
        let least = |ms| (None, Some(Least { ms, runs: 1 }));
        let told = |ms| bounded(&run(100.0, 120.0), &Side::default(), least(ms), 0.05).map(|it| it.2);
        assert_eq!(told(119.0), Some(Meaning::Unclear));
        assert_eq!(told(121.0), Some(Meaning::Worse));
        assert_eq!(told(f64::INFINITY), Some(Meaning::Worse));
        let (narrow, open) = (
            run(100.0, 100.5),
            Side { runs: vec![Run { interval: Interval::NONE, ..run(1.0, 1.0).runs[0] }] },
        );
        let meaning = |side: &Side, ms| bounded(side, &Side::default(), least(ms), 0.05).map(|it| it.2);
        assert_eq!(meaning(&narrow, 104.0), Some(Meaning::Unclear), "within the bound");
        assert_eq!(meaning(&open, f64::INFINITY), Some(Meaning::Unclear), "the base may be as late");
        let both = (Some(Least { ms: 5.0, runs: 1 }), Some(Least { ms: f64::INFINITY, runs: 1 }));
        let found = bounded(&Side::default(), &Side::default(), both, 0.05);
        assert_eq!(found.map(|it| (it.1, it.2)), Some((Censored::Both, Meaning::Unclear)));
    }

    /// A search whose steps, in their order, were at these values.
    fn search(values: &[u32]) -> (Manifest, Vec<SummaryRow>) {
        let (mut manifest, rows) = sample::two_phases();
        let mut all = Vec::new();
        for (point, value) in (1..).zip(values) {
            let of_step = rows.iter().filter(|row| row.phase == "high").cloned().map(|mut row| {
                (row.point, row.repeat) = (Some(point), Some(1));
                row.value = row.value.map(|figure| figure * f64::from(*value));
                row
            });
            all.extend(of_step);
            manifest.points.push(PointEntry {
                point,
                repeat: 1,
                settings: vec![Setting { axis: "users".to_owned(), value: value.to_string() }],
                state: PointState::Complete,
                seed: 7,
                salt: String::new(),
                verdict: None,
                objectives: None,
                step: None,
            });
        }
        (manifest, all)
    }

    #[test]
    fn points_are_paired_by_what_their_axes_were_set_to() {
        let (base, new) = (search(&[4, 8, 16]), search(&[4, 16, 8, 10]));
        let side = |(manifest, summary)| [Compared { name: "", manifest, scenario: SCENARIO, summary }];
        let comparison = compare(&side((&base.0, &base.1[..])), &side((&new.0, &new.1[..])), 0.05);
        let mut known = comparison.lines.iter().filter(|line| line.censored == Censored::Neither);
        assert!(known.all(|line| line.change.relative == Some(0.0)));
        let mut places: Vec<_> = comparison.lines.iter().map(|it| (it.point, it.settings.as_str())).collect();
        places.dedup();
        assert_eq!(places, [(Some(1), "users = 4"), (Some(2), "users = 8"), (Some(3), "users = 16")]);
        assert_eq!(comparison.unpaired, ["users = 10, high is on the new side alone"]);
        let told = comparison.text(0.05);
        assert!(told.contains("\nusers = 16, high: 1 run against 1 run;"), "{told}");
        assert!(told.contains("\nusers = 10, high is on the new side alone\n"), "{told}");
    }

    #[test]
    fn runs_of_a_sweep_that_were_interrupted_are_not_compared() {
        let (base, mut new) = (search(&[4, 8]), search(&[4, 8]));
        new.0.points[1].state = PointState::Interrupted;
        let side = |(manifest, summary)| [Compared { name: "", manifest, scenario: SCENARIO, summary }];
        let comparison = compare(&side((&base.0, &base.1[..])), &side((&new.0, &new.1[..])), 0.05);
        assert_eq!(comparison.unpaired, ["users = 8, high is in the base alone"]);
    }

    #[test]
    fn figures_that_one_side_lacks_and_loads_that_differ_are_told() {
        let (manifest, rows) = sample::two_phases();
        let lost: Vec<SummaryRow> = rows
            .iter()
            .cloned()
            .map(|row| SummaryRow { value: row.value.filter(|_| row.metric != "tpot"), ..row })
            .collect();
        let longer = SCENARIO.replace("words = 30", "words = 300");
        let base = [Compared { name: "", manifest: &manifest, scenario: SCENARIO, summary: &rows }];
        let new = [Compared { name: "", manifest: &manifest, scenario: &longer, summary: &lost }];
        let comparison = compare(&base, &new, 0.05);
        assert_eq!(comparison.differences[0], "workload.chat.prompt.synthetic.words: 30 → 300");
        assert_eq!(comparison.unpaired[0], "low: the base alone has tpot p50");
    }

    #[test]
    fn other_load_or_lengths_are_obstacles_and_other_servers_names_and_limits_are_not() {
        let (manifest, rows) = sample::two_phases();
        let run = |scenario| Compared { name: "", manifest: &manifest, scenario, summary: &rows };
        let free =
            SCENARIO.replace("http://a", "http://b").replace("2s", "3s").replace("seed = 7", "seed = 8");
        assert_eq!(obstacles(&run(SCENARIO), &run(&free)), Vec::<String>::new());
        let other = SCENARIO.replace("words = 30", "words = 300").replace("\"low\"", "\"high\"");
        insta::assert_snapshot!(obstacles(&run(SCENARIO), &run(&other)).join("\n"), @r#"
        phase.high: – → present
        phase.high.duration: – → "1m"
        phase.low: present → –
        phase.low.duration: "1m" → –
        workload.chat.prompt.synthetic.words: 30 → 300
        "#);
    }
}
