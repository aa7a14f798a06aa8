//! `[[objective]]`: bounds of figures that the scenario can measure.

use super::fields::Fields;
use super::values::Field;
use super::{Phase, Workload};
use crate::stats::metrics::{Metric, Source, metric};
use crate::stats::objective::{Bound, Over, Points};
use crate::stats::{Objective, Slo};

/// Reads one table; `None` where something is missing or wrong, which is reported. Names are checked where phases and
/// workloads could be read.
pub(super) fn read(
    fields: &Fields<'_>,
    phases: Option<&[Phase]>,
    workloads: Option<&[Workload]>,
) -> Option<Objective> {
    let tag = fields.value("metric", Field::choice).and_then(|index| Objective::METRICS.get(index).copied());
    let percentile = fields.own("percentile", Field::percentile);
    let over = fields.value("over", Field::choice).and_then(|index| Over::ALL.get(index).copied());
    let points = fields.value("points", Field::choice).and_then(|index| Points::ALL.get(index).copied());
    let phase = phase(fields, phases);
    let workload = workload(fields, workloads);
    let metric = metric(tag?)?;
    let bound = bound(fields, metric);
    let has_percentiles = matches!(metric.source, Source::Row(..));
    match (has_percentiles, fields.has("percentile")) {
        (true, false) => {
            let help = "add `percentile = 99`";
            let message = format!("`{}` is many values: which percentile?", metric.tag);
            fields.problems.error(fields.place("metric"), message, help);
        }
        (false, true) => {
            let message = format!("`{}` is one figure and has no percentiles", metric.tag);
            fields.problems.error(fields.place("percentile"), message, "leave `percentile` out");
        }
        _ => {}
    }
    if let Some(workloads) = workloads {
        report_unmeasurable(fields, metric, workloads);
    }
    let objective = match (has_percentiles, percentile) {
        (true, percentile) => Objective::percentile(metric.tag, percentile?, bound?, over?),
        (false, _) => Objective::new(metric.tag, "value", bound?, over?),
    };
    let objective = objective.ok()?.at_points(points?);
    let objective = phase?.into_iter().fold(objective, |objective, name| objective.in_phase(&name));
    Some(workload?.into_iter().fold(objective, |objective, name| objective.for_workload(&name)))
}

fn bound(fields: &Fields<'_>, metric: &Metric) -> Option<Bound> {
    let read = |name| fields.own(name, |field| field.bound(metric));
    match fields.has("at_most") {
        true => read("at_most").map(Bound::AtMost),
        false => read("at_least").map(Bound::AtLeast),
    }
}

/// `Some(None)` where none is named, `None` where the one named will not do.
fn phase(fields: &Fields<'_>, phases: Option<&[Phase]>) -> Option<Option<String>> {
    if !fields.has("phase") {
        return Some(None);
    }
    let name = fields.own("phase", Field::name)?;
    let Some(phases) = phases else { return Some(Some(name)) };
    let measured: Vec<&str> =
        phases.iter().filter(|phase| phase.measure).map(|phase| phase.name.as_str()).collect();
    if measured.contains(&name.as_str()) {
        return Some(Some(name));
    }
    let message = match phases.iter().any(|phase| phase.name == name) {
        true => format!("the phase `{name}` is not measured, and has no figures"),
        false => format!("there is no phase `{name}`"),
    };
    fields.problems.error(fields.place("phase"), message, known("measured phases", &measured));
    None
}

fn workload(fields: &Fields<'_>, workloads: Option<&[Workload]>) -> Option<Option<String>> {
    if !fields.has("workload") {
        return Some(None);
    }
    let name = fields.own("workload", Field::name)?;
    let Some(workloads) = workloads else { return Some(Some(name)) };
    let names: Vec<&str> = workloads.iter().map(|workload| workload.name.as_str()).collect();
    if names.contains(&name.as_str()) {
        return Some(Some(name));
    }
    fields.problems.error(
        fields.place("workload"),
        format!("there is no workload `{name}`"),
        known("workloads", &names),
    );
    None
}

fn known(what: &str, names: &[&str]) -> String {
    match names {
        [] => format!("there are no {what}"),
        names => format!("{what}: {}", super::keys::list(names, "and")),
    }
}

/// Reports a metric that no answer of the workloads asked of can have.
fn report_unmeasurable(fields: &Fields<'_>, metric: &Metric, workloads: &[Workload]) {
    let named = fields.peek("workload", Field::name);
    let asked =
        || workloads.iter().filter(|workload| named.as_ref().is_none_or(|name| *name == workload.name));
    let place = fields.place("metric");
    if needs_stream(metric.tag) && asked().all(|workload| !workload.request.stream) {
        let message = format!("`{}` cannot be measured: answers are not streamed", metric.tag);
        fields.problems.error(place, message, "set `stream = true`, or bound `e2e` instead");
    }
    if needs_limits(metric.tag) && asked().all(|workload| workload.slo == Slo::default()) {
        let message = format!("`{}` cannot be measured: requests have no limits", metric.tag);
        fields.problems.error(place, message, "set limits in `[slo]`");
    }
    if needs_score(metric.tag) && asked().all(|workload| workload.score.is_none()) {
        let message = format!("`{}` cannot be measured: answers are not checked", metric.tag);
        fields.problems.error(place, message, "set `score` of the workload");
    }
    if metric.tag == "consistency" && asked().all(|workload| !workload.consistency) {
        let message = "`consistency` cannot be measured: answers are not compared";
        fields.problems.error(place, message, "set `consistency = true` of the workload");
    }
}

fn needs_stream(tag: &str) -> bool {
    ["ttft", "first_answer", "tpot", "decode_speed", "prefill_speed"].iter().any(|stem| tag.starts_with(stem))
}

fn needs_score(tag: &str) -> bool {
    ["accuracy", "no_answer_share", "unchecked_requests", "correct_goodput"].contains(&tag)
}

fn needs_limits(tag: &str) -> bool {
    ["attainment", "goodput", "slo_unmeasurable"].contains(&tag)
}
