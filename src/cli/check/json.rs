//! A preview for machines. What cannot be said is `null`.

use serde_json::{Value, json};

use super::amounts::{Certainty, Count, Span};
use super::in_flight::InFlight;
use super::lengths::Lengths;
use super::listing::{Listed, Listing};
use super::preview::{PhasePreview, WorkloadPreview};
use super::{Checked, Sound, points};
use crate::dataset::Dataset;
use crate::diagnostic::{Diagnostic, Severity};
use crate::plan::Start;
use crate::results::memory::MemoryEntry;
use crate::scenario::{Endpoint, Load, Phase};

/// What was found in one file, with the first `planned` requests if they are asked for.
pub(super) fn object(checked: &Checked<'_>, planned: Option<u64>) -> Value {
    let mut object = json!({
        "file": checked.file.to_string_lossy(),
        "valid": checked.sound.is_some(),
        "problems": checked.problems.iter().map(problem).collect::<Vec<_>>(),
        "more_problems": checked.problems.more(),
    });
    if let Some(sound) = &checked.sound {
        object["preview"] = preview(sound);
        if let Some(most) = planned {
            object["plan"] = requests(sound, most);
        }
    }
    object
}

fn problem(problem: &Diagnostic) -> Value {
    let location = problem.location.as_ref();
    json!({
        "severity": match problem.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        },
        "message": problem.message,
        "help": problem.help,
        "file": location.map(|location| &location.file),
        "line": location.and_then(|location| location.line),
        "column": location.and_then(|location| location.column),
    })
}

fn preview(sound: &Sound) -> Value {
    let (scenario, preview) = (&sound.scenario, &sound.preview);
    let phases = scenario.phases.iter().zip(&preview.phases);
    let workloads = scenario.workloads.iter().zip(&preview.workloads).zip(&sound.datasets);
    json!({
        "name": scenario.name,
        "seed": scenario.seed,
        "target": match &scenario.target.endpoint {
            Endpoint::Url(url) => url.to_string(),
            Endpoint::Sim { profile, .. } => format!("sim {profile}"),
        },
        "phases": phases.map(|(phase, course)| self::phase(phase, course)).collect::<Vec<_>>(),
        "workloads": workloads
            .map(|((workload, course), dataset)| self::workload(&workload.name, course, dataset.as_deref()))
            .collect::<Vec<_>>(),
        "prompt_tokens": preview.prompt_tokens,
        "output_tokens_at_most": preview.output_tokens,
        "memory": scenario.model.as_ref().map(|model| MemoryEntry::new(model, scenario.block_tokens())),
        "exact": preview.is_exact,
        "sampled": preview.is_sampled,
        "points": points::json(&sound.points),
    })
}

fn phase(phase: &Phase, course: &PhasePreview) -> Value {
    let end = course.start.zip(course.length).map(|(start, length)| start.then(length));
    let (in_flight_at_most, in_flight_per_service_s) = in_flight(&phase.load);
    let also = phase.also.iter().zip(&course.also).map(|(also, course)| {
        let (in_flight_at_most, in_flight_per_service_s) = in_flight(&also.load);
        json!({
            "name": also.name,
            "load": also.load.name(),
            "requests": course.requests.map(count),
            "in_flight_at_most": in_flight_at_most,
            "in_flight_per_service_s": in_flight_per_service_s,
            "in_flight": course.in_flight.map(estimate),
        })
    });
    json!({
        "name": phase.name,
        "measure": phase.measure,
        "load": phase.load.name(),
        "start_s": span(course.start),
        "end_s": span(end),
        "requests": course.requests.map(count),
        "measured_requests": course.measured,
        "ends_with_data": course.ends_with_data,
        "in_flight_at_most": in_flight_at_most,
        "in_flight_per_service_s": in_flight_per_service_s,
        "in_flight": course.in_flight.map(estimate),
        "also": also.collect::<Vec<_>>(),
    })
}

/// What bounds the requests in flight of a load, and how many there are for each second that one takes.
fn in_flight(load: &Load) -> (Option<u64>, Option<f64>) {
    match load {
        Load::Open { process, max_in_flight, .. } => {
            (max_in_flight.map(u64::from), process.peak_per_second())
        }
        Load::Closed { users, .. } => (Some(u64::from(*users)), None),
    }
}

fn estimate(InFlight { mean, peak, is_capped, held }: InFlight) -> Value {
    let kv_tokens = held.map(|held| json!({ "mean": held.mean, "peak": held.peak }));
    json!({ "mean": mean, "peak": peak, "capped": is_capped, "kv_tokens": kv_tokens })
}

fn workload(name: &str, course: &WorkloadPreview, dataset: Option<&Dataset>) -> Value {
    json!({
        "name": name,
        "share": course.share,
        "requests": course.requests,
        "prompt_tokens": course.prompt_tokens.map(lengths),
        "prompt_words": course.prompt_words.map(lengths),
        "prompt_characters": course.prompt_characters.map(lengths),
        "output_tokens_at_most": course.output_tokens.map(lengths),
        "turns": course.turns.map(lengths),
        "max_context": course.max_context,
        "too_long_for_context": course.max_context.and(course.too_long),
        "data": dataset.map(|dataset| json!({
            "path": dataset.path().to_string_lossy(),
            "format": dataset.format().name(),
            "rows": dataset.rows(),
            "turns": dataset.all_turns(),
            "mended": dataset.mended(),
            "outside": dataset.outside(),
            "unsorted": dataset.unsorted(),
            "repeated": dataset.repeated(),
            "left_out": dataset.skipped().iter().map(|skipped| json!({
                "reason": skipped.reason.describe(dataset.format()),
                "rows": skipped.count,
                "first_lines": skipped.lines,
            })).collect::<Vec<_>>(),
        })),
    })
}

fn span(span: Option<Span>) -> Value {
    let Some(Span { time, certainty }) = span else { return Value::Null };
    let certainty = match certainty {
        Certainty::Exact => "exact",
        Certainty::About => "about",
        Certainty::AtMost => "at_most",
    };
    json!({ "value": time.as_secs_f64(), "certainty": certainty })
}

fn count(count: Count) -> Value {
    let (certainty, range) = match count {
        Count::Exactly(_) => ("exact", None),
        Count::Between { low, high, .. } => ("about", Some([low, high])),
        Count::About(_) => ("about", None),
        Count::AtMost(_) => ("at_most", None),
    };
    json!({ "value": count.number(), "certainty": certainty, "range_95": range })
}

fn lengths(lengths: Lengths) -> Value {
    let Lengths { min, p50, p90, p99, max, is_sampled } = lengths;
    json!({ "min": min, "p50": p50, "p90": p90, "p99": p99, "max": max, "sampled": is_sampled })
}

fn requests(sound: &Sound, most: u64) -> Value {
    let scenario = &sound.scenario;
    let listing = Listing::of(sound, most);
    let request = |listed: &Listed| {
        let planned = &listed.turn.planned;
        json!({
            "request": planned.request,
            "phase": scenario.phases[planned.phase as usize].name,
            "load": listed.load,
            "due_s": match listed.start {
                Start::At(due) if planned.turn == 0 => Some(due.as_secs_f64()),
                _ => None,
            },
            "session": planned.session,
            "turn": planned.turn,
            "think_s": listed.turn.think.as_secs_f64(),
            "workload": scenario.workloads[planned.workload as usize].name,
            "dataset_row": planned.dataset_row,
            "prompt_tokens": planned.prompt_tokens_planned,
            "output_tokens_at_most": planned.output_tokens_planned,
        })
    };
    listing.requests.iter().map(request).collect::<Vec<_>>().into()
}
