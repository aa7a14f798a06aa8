//! Truths of data sets: for the collector, which checks answers, and for the simulated server, which gives them.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use super::prepare::Prepared;
use crate::collect::{AnswerCheck, Truth};
use crate::dataset::{Dataset, Row};
use crate::diagnostic::{Diagnostic, Diagnostics, Location};
use crate::plan::needle;
use crate::scenario::{PromptSource, Scenario};
use crate::score::{Kind, Rule};
use crate::sim::AnswerKey;

/// How many lines of rows without a truth are named.
const LINES_NAMED: usize = 5;

/// How the answers of each workload are checked.
pub(super) fn checks(prepared: &Prepared) -> Vec<Option<AnswerCheck>> {
    let workloads = prepared.scenario.workloads.iter().zip(&prepared.datasets);
    let checks = workloads.map(|(workload, dataset)| {
        let rule = workload.score.clone()?;
        let truth: Truth = match (dataset, &workload.prompt) {
            (Some(dataset), _) => truth_of_row(Arc::clone(dataset), rule.clone()),
            (None, PromptSource::Needle(form)) => {
                let (salt, name, needles) = (prepared.salt, workload.name.clone(), form.needles);
                Box::new(move |planned| needle::truths(salt, &name, planned, needles))
            }
            (None, _) => Box::new(|_| Vec::new()),
        };
        Some(AnswerCheck { rule, truth })
    });
    checks.collect()
}

/// Reads the truth of a request's row when its answer is there; one that nothing could equal is none.
fn truth_of_row(dataset: Arc<Dataset>, rule: Rule) -> Truth {
    Box::new(move |planned| {
        let index = planned.dataset_row.and_then(|row| u32::try_from(row).ok());
        let truth = index.and_then(|index| dataset.row(index).ok()?.truth);
        truth.filter(|truth| rule.truth(truth).is_some()).into_iter().collect()
    })
}

/// Tries the truths of every scored data set. One without any is an error; rows without one are a warning.
pub(super) fn try_truths(scenario: &Scenario, datasets: &[Option<Arc<Dataset>>], notes: &mut Diagnostics) {
    for (workload, dataset) in scenario.workloads.iter().zip(datasets) {
        let (Some(rule), Some(dataset)) = (&workload.score, dataset) else { continue };
        if rule.ignores_truth() {
            continue;
        }
        let is_usable = |row: &u32| {
            let truth = dataset.row(*row).ok().and_then(|row| row.truth);
            truth.is_some_and(|truth| rule.truth(&truth).is_some())
        };
        let without: Vec<u32> = (0..dataset.rows()).filter(|row| !is_usable(row)).collect();
        if without.is_empty() {
            continue;
        }
        let (count, all) = (without.len(), dataset.rows());
        let rows: Vec<String> = without.iter().take(LINES_NAMED).map(u32::to_string).collect();
        let more = if count > rows.len() { ", …" } else { "" };
        let kind = rule.kind().name();
        let file = Location::file(&*dataset.path().to_string_lossy());
        notes.push(if count == all as usize {
            let message = format!(
                "workload `{}` has `score` and no row has a truth that `{kind}` finds",
                workload.name
            );
            let help = "use a data set with answers, or another kind of `score`";
            Diagnostic::error(message).at(file).help(help)
        } else {
            let message = format!(
                "{count} of {all} rows have no truth that `{kind}` finds: their answers are not checked"
            );
            Diagnostic::warning(message)
                .at(file)
                .help(format!("rows {}{more}, counted from 0", rows.join(", ")))
        });
    }
}

/// What the simulated server knows of a scenario: the truths of its data sets.
pub(super) struct Key {
    datasets: Vec<(Arc<Dataset>, Option<Rule>)>,
    /// Data set and row by a hash of the prompt.
    rows: BTreeMap<u64, (usize, u32)>,
}

impl Key {
    /// The key of a scenario; `None` where no row has an answer.
    pub(super) fn of(prepared: &Prepared) -> Option<Arc<dyn AnswerKey>> {
        let mut key = Key { datasets: Vec::new(), rows: BTreeMap::new() };
        for (workload, dataset) in prepared.scenario.workloads.iter().zip(&prepared.datasets) {
            let Some(dataset) = dataset else { continue };
            let place = key.datasets.len();
            for index in 0..dataset.rows() {
                let Ok(row) = dataset.row(index) else { continue };
                if let (Some(question), true) = (question(&row), row.truth.is_some()) {
                    key.rows.entry(hash(question)).or_insert((place, index));
                }
            }
            key.datasets.push((Arc::clone(dataset), workload.score.clone()));
        }
        (!key.rows.is_empty()).then(|| Arc::new(key) as Arc<dyn AnswerKey>)
    }

    fn known(&self, prompt: &str) -> Option<String> {
        let (place, index) = *self.rows.get(&hash(prompt))?;
        let (dataset, rule) = self.datasets.get(place)?;
        let row = dataset.row(index).ok().filter(|row| question(row) == Some(prompt))?;
        let truth = row.truth?;
        match rule {
            Some(rule) => Some(phrased(rule, &rule.truth(&truth)?, truth)),
            None => Some(truth),
        }
    }
}

impl AnswerKey for Key {
    /// The prompt may stand behind something else: then what follows a line break is looked for.
    fn solution(&self, question: &str) -> Option<String> {
        let after_breaks = question.match_indices('\n').map(|(at, _)| &question[at + 1..]);
        std::iter::once(question).chain(after_breaks).find_map(|prompt| self.known(prompt))
    }
}

/// A right answer as a model would put it, its value last.
fn phrased(rule: &Rule, value: &str, truth: String) -> String {
    match rule.kind() {
        Kind::Gsm8k if truth.contains("####") => truth,
        Kind::Gsm8k => format!("The answer is\n#### {value}"),
        Kind::Math => format!("The answer is $\\boxed{{{value}}}$."),
        Kind::Choice { .. } => format!("The answer is ({value})."),
        Kind::Exact | Kind::Contains | Kind::Regex { .. } => truth,
    }
}

/// The last that a row of one question says to the model.
fn question(row: &Row) -> Option<&str> {
    let [turn] = row.turns.as_slice() else { return None };
    turn.asked().last()
}

fn hash(prompt: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    prompt.hash(&mut hasher);
    hasher.finish()
}
