//! From `[capacity]` to a search.

use super::super::Phase;
use super::super::fields::Fields;
use super::super::measure::{Measure, kind_at};
use super::super::overlay::Part;
use super::super::source::{Document, Setting};
use super::super::sweep::Capacity;
use super::super::tree::Node;
use super::super::values::{Field, Refusal};
use super::sweep::path;
use crate::diagnostic::Diagnostics;
use crate::stats::Objective;
use crate::stats::objective::Points;

/// A search with the key it sets.
pub(super) struct Hunt {
    pub(super) capacity: Capacity,
    pub(super) path: Vec<Part>,
    pub(super) measure: Measure,
    node: Node,
}

impl Hunt {
    /// What is set at a value; `None` for one that the key cannot have.
    pub(super) fn setting(&self, value: f64) -> Option<Setting> {
        let node = Node { at: self.node.at, value: self.measure.write(value)? };
        Some(Setting { path: self.path.clone(), node })
    }
}

/// The search of a document, or what is wrong with it.
pub(super) fn hunt(document: &Document) -> Result<Hunt, Diagnostics> {
    let problems = super::Problems::new(&document.sources, document.problems.clone());
    let hunt = {
        let top = Fields::top(&problems, &document.root);
        top.table("capacity").and_then(|fields| capacity(&fields, &document.set))
    };
    hunt.ok_or_else(|| problems.into_sorted())
}

/// `set` are the keys that the command line has set.
pub(super) fn capacity(fields: &Fields<'_>, set: &[Vec<Part>]) -> Option<Hunt> {
    let node = fields.value("key", |field| Ok(field.node.into_owned()));
    let help = "search over a rate, users, tokens, or another key of numbers";
    let measured = node.and_then(|node| {
        let path = path(fields.problems, &node, set, "a search")?;
        let measure = kind_at(&path).and_then(Measure::of);
        if path.iter().any(|part| part.name == "dataset") {
            fields.problems.error(Some(node.at), "a search cannot choose the rows of a data set", help);
            return None;
        }
        if measure.is_none() {
            fields.problems.error(Some(node.at), "a search needs a key of numbers", help);
        }
        Some((node, path, measure?))
    });
    let amount = |name: &str| {
        let measure = measured.as_ref().map(|(_, _, measure)| *measure);
        fields.value(name, |field| {
            let read = measure.map_or(Some(1.0), |measure| measure.read(&field.node.value));
            read.filter(|amount| *amount > 0.0).ok_or_else(|| {
                let message = format!("`{name}` is no value above 0 of the key that is searched over");
                Refusal::new(message, "write it as the key takes it: 8, \"4Ki\", \"2/s\", \"30s\"")
            })
        })
    };
    let (from, to) = (amount("from"), amount("to"));
    let share = |name: &str| {
        let share = fields.value(name, Field::share)?;
        let is_within = share > 0.0 && share < 1.0;
        if !is_within {
            let message = format!("`{name}` must be above 0 and below 1");
            fields.problems.error(fields.place(name), message, "write it like \"95%\"");
        }
        is_within.then_some(share)
    };
    let (precision, confidence) = (share("precision"), share("confidence"));
    let (max_step, max_time) =
        (fields.value("max_step", Field::duration), fields.value("max_time", Field::duration));
    let confirm = fields.has("confirm").then(|| fields.own("confirm", Field::duration));
    let (node, path, measure) = measured?;
    let (from, to) = (from?, to?);
    if from >= to {
        fields.problems.error(fields.place("from"), "`from` must be below `to`", "exchange them");
        return None;
    }
    let name = path.last()?.name.clone();
    let key = path.iter().map(|part| super::super::resolved::key(&part.name)).collect::<Vec<_>>().join(".");
    let written = |amount: f64| Some(super::super::resolved::toml_of(&measure.write(amount)?));
    let capacity = Capacity {
        name,
        key,
        bounds: [written(from)?, written(to)?],
        from,
        to,
        whole: matches!(measure, Measure::Whole | Measure::Tokens),
        precision: precision?,
        confidence: confidence?,
        max_step: max_step?,
        max_time: max_time?,
        confirm: match confirm {
            Some(confirm) => Some(confirm?),
            None => None,
        },
    };
    Some(Hunt { capacity, path, measure, node })
}

/// What a search needs of the rest of the scenario.
pub(super) fn check(fields: &Fields<'_>, capacity: &Capacity, phases: &[Phase], objectives: &[Objective]) {
    let problems = fields.problems;
    let place = fields.place("key");
    if objectives.is_empty() {
        let message = "a search asks up to where the objectives hold, and there is none";
        let help = "add one: `[[objective]]` with `metric = \"ttft\"`, `percentile = 99`, `at_most = \"2s\"`";
        problems.error(place, message, help);
    }
    for objective in objectives.iter().filter(|objective| objective.allowed_misses().is_none()) {
        let message = format!(
            "a search cannot test the objective on `{}`: it does not say how many requests may miss it",
            objective.tag()
        );
        let help = "bound a percentile, or a share like `success` or `attainment` above 0 % and below 100 %";
        problems.error(place, message, help);
    }
    if objectives.iter().any(|objective| objective.points() == Points::All) {
        let message =
            "an objective is to hold at all points, and a search looks for those at which it does not";
        problems.error(place, message, "leave `points` out");
    }
    let mut measured = phases.iter().filter(|phase| phase.measure);
    let (Some(phase), None) = (measured.next(), measured.next()) else {
        problems.error(place, "a search measures exactly one phase", "set `measure = false` in the others");
        return;
    };
    match phase.duration {
        Some(duration) if duration <= capacity.max_step => {}
        Some(_) => {
            let message = format!("`max_step` is shorter than phase `{}`", phase.name);
            problems.error(fields.place("max_step"), message, "raise it, or shorten the phase");
        }
        None => {
            let message = format!("phase `{}` needs a `duration`, which a search makes longer", phase.name);
            problems.error(place, message, "add `duration = \"1m\"` to it");
        }
    }
    if capacity.confirm.is_some_and(|confirm| phase.duration.is_some_and(|duration| confirm < duration)) {
        let message = format!("`confirm` is shorter than phase `{}`", phase.name);
        problems.error(fields.place("confirm"), message, "raise it: what holds is to be confirmed at length");
    }
    if phase.requests.is_some() {
        let message =
            format!("phase `{}` ends after `requests`, so that a search cannot make it longer", phase.name);
        problems.error(place, message, "leave `requests` out, and give it a `duration`");
    }
}
