//! Phases, their loads, sessions and rules to stop, written out.

use std::time::Duration;

use super::{Lines, number, quoted};
use crate::arrival::Process;
use crate::distribution::TimeLaw;
use crate::scenario::phase::ARRIVALS;
use crate::scenario::{Load, Margin, Phase, Recording, Requests, Rhythm, SessionForm, StopRules};
use crate::units::{Rate, write_duration, write_rate};

pub(super) fn write(out: &mut Lines<'_>, phase: &Phase) {
    out.header("[[phase]]", &format!("phase.{}.", phase.name));
    out.put("name", quoted(&phase.name));
    out.maybe("duration", phase.duration.map(time));
    match phase.requests {
        Some(Requests::Count(count)) => out.put("requests", count),
        Some(Requests::All) => out.put("requests", quoted("all")),
        Some(Requests::PerUser(each)) => out.put("requests.per_user", each),
        None => {}
    }
    for (name, margin) in [("warm_up", phase.warm_up), ("cool_down", phase.cool_down)] {
        match margin {
            Margin::Time(length) => out.put(name, time(length)),
            Margin::PerUser(requests) => out.put(&format!("{name}.per_user"), requests),
        }
    }
    out.put("measure", phase.measure);
    out.maybe("drain", phase.drain.map(time));
    out.maybe("workloads", (!phase.workloads.is_empty()).then(|| names(&phase.workloads)));
    write_load(out, &phase.load);
    for also in &phase.also {
        out.header("[[phase.also]]", &format!("phase.{}.also.{}.", phase.name, also.name));
        out.put("name", quoted(&also.name));
        out.put("workloads", names(&also.workloads));
        write_load(out, &also.load);
    }
}

fn names(names: &[String]) -> String {
    format!("[{}]", names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", "))
}

fn time(time: Duration) -> String {
    quoted(&write_duration(time))
}

fn level(per_second: f64) -> String {
    quoted(&Rate::per_second(per_second).map_or("0/s".to_owned(), write_rate))
}

fn write_load(out: &mut Lines<'_>, load: &Load) {
    let kind = format!("load.{}", load.name());
    let key = |name: &str| format!("{kind}.{name}");
    match load {
        Load::Open { process, max_in_flight, when_full, trace } => {
            write_process(out, &kind, process);
            if let Some(Recording::Workload { workload, speed, skip, window }) = trace {
                out.put(&key("workload"), quoted(workload));
                out.put(&key("speed"), number(*speed));
                out.put(&key("skip"), time(*skip));
                out.maybe(&key("window"), window.map(time));
            }
            if let Some(Recording::File(trace)) = trace {
                out.put(&key("path"), quoted(&trace.path.to_string_lossy()));
                out.put(&key("format"), quoted(trace.format.name()));
                out.maybe(&key("column"), trace.column.as_deref().map(quoted));
                out.maybe(&key("unit"), trace.unit.map(|unit| quoted(unit.name())));
                out.put(&key("speed"), number(trace.speed));
                out.put(&key("skip"), time(trace.skip));
                out.maybe(&key("window"), trace.window.map(time));
            }
            out.maybe(&key("max_in_flight"), *max_in_flight);
            out.put(&key("when_full"), quoted(when_full.name()));
        }
        Load::Closed { users, rhythm, ramp_up } => {
            out.put(&key("users"), users);
            match rhythm {
                Rhythm::Think(law) => write_times(out, &key("think"), *law),
                Rhythm::Pace(pace) => out.put(&key("pace"), time(*pace)),
            }
            out.put(&key("ramp_up"), time(*ramp_up));
        }
    }
}

fn write_process(out: &mut Lines<'_>, kind: &str, process: &Process) {
    match process {
        Process::Poisson { rate } | Process::Constant { rate } => {
            out.put(&format!("{kind}.rate"), quoted(&write_rate(*rate)));
        }
        Process::Gamma { rate, cv } => {
            out.put(&format!("{kind}.rate"), quoted(&write_rate(*rate)));
            out.put(&format!("{kind}.cv"), number(*cv));
        }
        Process::Varying { curve, arrivals } => {
            let mut stretches = curve.stretches();
            match stretches.next().filter(|_| curve.is_ramp()) {
                Some((_, from, to)) => {
                    out.put(&format!("{kind}.from"), level(from));
                    out.put(&format!("{kind}.to"), level(to));
                }
                None => {
                    let rates = curve.stretches().map(|(_, rate, _)| level(rate)).collect::<Vec<_>>();
                    out.put(&format!("{kind}.rates"), format!("[{}]", rates.join(", ")));
                    out.maybe(&format!("{kind}.each"), curve.stretches().next().map(|(each, ..)| time(each)));
                }
            }
            let name = ARRIVALS.iter().find(|(_, law)| law == arrivals).map(|(name, _)| quoted(name));
            out.maybe(&format!("{kind}.arrivals"), name);
        }
        Process::Recorded(_) => {}
    }
}

fn write_times(out: &mut Lines<'_>, key: &str, law: TimeLaw) {
    match law {
        TimeLaw::Fixed(always) => out.put(key, time(always)),
        TimeLaw::Uniform { min, max } => {
            out.put(&format!("{key}.uniform.min"), time(min));
            out.put(&format!("{key}.uniform.max"), time(max));
        }
        TimeLaw::Exponential { mean } => out.put(&format!("{key}.exponential"), time(mean)),
    }
}

pub(super) fn write_session(out: &mut Lines<'_>, session: &SessionForm) {
    if let Some(turns) = &session.turns {
        super::lengths::write(out, "session.turns", turns);
    }
    write_times(out, "session.think", session.think);
    out.put("session.history", quoted(session.history.name()));
    out.maybe("session.max_context", session.max_context);
}

pub(super) fn write_stop(out: &mut Lines<'_>, stop: &StopRules) {
    out.header("[stop]", "stop.");
    out.put("error_share", number(stop.error_share));
    out.maybe("errors_in_a_row", stop.errors_in_a_row);
    out.put("over_saturated", stop.over_saturated);
}
