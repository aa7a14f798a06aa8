//! Reading phases, their loads, sessions and rules to stop.

use std::sync::Arc;
use std::time::Duration;

use super::existing_file;
use crate::arrival::{Arrivals, Curve, Process};
use crate::dataset::{self, Dataset, Span, TimeUnit, TraceFormat, TraceSource, WhenExhausted};
use crate::distribution::{Distribution, TimeLaw};
use crate::scenario::fields::Fields;
use crate::scenario::phase::{ARRIVALS, sent_by};
use crate::scenario::values::Field;
use crate::scenario::{
    Also, History, Load, Margin, Phase, PromptSource, Recording, Requests, Rhythm, SessionForm, StopRules,
    WhenFull, Workload,
};
use crate::units::write_duration;

/// `workloads` are those of the scenario, if all could be read.
pub(super) fn phase(fields: &Fields<'_>, workloads: Option<&[Workload]>) -> Option<Phase> {
    let name = fields.value("name", Field::name);
    let mut duration = fields.value("duration", Field::duration);
    let requests = fields.has("requests").then(|| requests(fields));
    let (warm_up, cool_down) = (margin(fields, "warm_up"), margin(fields, "cool_down"));
    let measure = fields.value("measure", Field::boolean);
    let drain = fields.value("drain", Field::duration);
    let load = fields.table("load").and_then(|load| self::load(&load, duration, workloads));
    let own = named(fields, workloads);
    let also = also(fields, workloads, duration);
    if let Some(Load::Open { process: Process::Varying { curve, .. }, .. }) = &load
        && !curve.is_ramp()
    {
        duration = duration.or(Some(curve.length()));
    }
    let requests = requests.map_or(Some(None), |requests| requests.map(Some));
    if let (Some(warm_up), Some(cool_down), Some(requests)) = (warm_up, cool_down, requests) {
        let margins = [("warm_up", warm_up), ("cool_down", cool_down)];
        check_margins(fields, duration, margins);
        if let Some(load) = &load {
            check_counts(fields, duration, margins, requests, load);
        }
    }
    if let (Some(workloads), Some(own), Some(also), Some(requests)) = (workloads, &own, &also, requests) {
        let sent = sent_by(own, also, 0, workloads);
        check_bounds(fields, requests, load.as_ref(), sent.map(|index| &workloads[index]));
    }
    let phase = Phase {
        name: name?,
        duration,
        requests: requests?,
        warm_up: warm_up?,
        cool_down: cool_down?,
        measure: measure?,
        drain,
        load: load?,
        workloads: own?,
        also: also?,
    };
    if let Some(workloads) = workloads {
        check_loads(fields, &phase, workloads);
    }
    Some(phase)
}

fn requests(fields: &Fields<'_>) -> Option<Requests> {
    let fields = fields.table("requests")?;
    if fields.has("per_user") {
        return fields.value("per_user", Field::integer).map(Requests::PerUser);
    }
    fields.own("count", Field::requests).map(|count| count.map_or(Requests::All, Requests::Count))
}

fn margin(fields: &Fields<'_>, name: &str) -> Option<Margin> {
    if !fields.has(name) {
        return Some(Margin::NONE);
    }
    let fields = fields.table(name)?;
    if fields.has("per_user") {
        return fields.value("per_user", Field::integer).map(Margin::PerUser);
    }
    fields.own("time", Field::duration).map(Margin::Time)
}

/// The names under `workloads`, each of which must be one.
fn named(fields: &Fields<'_>, workloads: Option<&[Workload]>) -> Option<Vec<String>> {
    if !fields.has("workloads") {
        return Some(Vec::new());
    }
    let names = fields.own("workloads", Field::names)?;
    let place = || fields.place("workloads");
    for (index, name) in names.iter().enumerate() {
        if names[..index].contains(name) {
            fields.problems.error(place(), format!("`workloads` names `{name}` twice"), "name it once");
        }
        let known = workloads.is_none_or(|known| known.iter().any(|workload| workload.name == *name));
        if !known {
            let known = workloads.unwrap_or_default().iter().map(|workload| format!("`{}`", workload.name));
            let help = format!("there is {}", known.collect::<Vec<_>>().join(", "));
            fields.problems.error(place(), format!("there is no workload `{name}`"), help);
        }
    }
    Some(names)
}

fn also(
    fields: &Fields<'_>,
    workloads: Option<&[Workload]>,
    duration: Option<Duration>,
) -> Option<Vec<Also>> {
    if !fields.has("also") {
        return Some(Vec::new());
    }
    let tables = fields.tables("also");
    super::check_names(&tables);
    let read = |fields: &Fields<'_>| {
        let name = fields.value("name", Field::name);
        let load = fields.table("load").and_then(|load| self::load(&load, duration, workloads));
        let workloads = match fields.has("workloads") {
            true => named(fields, workloads),
            false => fields.value("workloads", Field::names),
        };
        Some(Also { name: name?, load: load?, workloads: workloads? })
    };
    // Collected before it is asked whether all could be read.
    tables.iter().map(read).collect::<Vec<_>>().into_iter().collect()
}

/// Holds `warm_up` and `cool_down` against `duration`.
fn check_margins(fields: &Fields<'_>, duration: Option<Duration>, margins: [(&str, Margin); 2]) {
    let [(_, warm_up), (_, cool_down)] = margins;
    let Some(duration) = duration else {
        if !cool_down.time().is_zero() && !fields.mentions("duration") {
            let help = "add `duration`, or count it: `requests.per_user = 8` and `cool_down.per_user = 1`";
            let message = "without `duration` it is not known when a `cool_down` begins";
            fields.problems.error(fields.place("cool_down"), message, help);
        }
        return;
    };
    if warm_up.time().saturating_add(cool_down.time()) < duration {
        return;
    }
    let at = fields.place("duration").map(|at| fields.problems.line(at)).unwrap_or_default();
    let (message, part) = match fields.has("cool_down") {
        false => ("`warm_up` leaves nothing of `duration`", "`warm_up` is the first part of"),
        true => {
            ("`warm_up` and `cool_down` leave nothing of `duration`", "they are the first and last part of")
        }
    };
    let name = if fields.has("warm_up") { "warm_up" } else { "cool_down" };
    let help = format!("{part} `duration` (at {at}): make it shorter, or `duration` longer");
    fields.problems.error(fields.place(name), message, help);
}

/// Counts of each user need users, and a phase that counts.
fn check_counts(
    fields: &Fields<'_>,
    duration: Option<Duration>,
    margins: [(&str, Margin); 2],
    requests: Option<Requests>,
    load: &Load,
) {
    let error = |name: &str, message: String, help: &str| {
        fields.problems.error(fields.place(name), message, help);
    };
    let counted = margins.iter().filter(|(_, margin)| margin.per_user() > 0).map(|(name, _)| *name);
    let counted = counted.chain(matches!(requests, Some(Requests::PerUser(_))).then_some("requests"));
    for name in counted {
        if !matches!(load, Load::Closed { .. }) {
            let message = format!("`{name}.per_user` counts requests of users, and an open loop has none");
            error(name, message, "give a time or a number, or close the loop: `load.closed = 8`");
        } else if duration.is_some() && name != "requests" {
            let message = format!("`{name}` cannot be counted in a phase that has a `duration`");
            error(name, message, "give it as a time");
        }
    }
    let [(_, warm_up), (_, cool_down)] = margins;
    match requests {
        Some(Requests::PerUser(each)) if warm_up.per_user() + cool_down.per_user() >= each => {
            let message = format!("`warm_up` and `cool_down` leave nothing of {each} requests a user");
            error("requests", message, "raise `requests.per_user`");
        }
        Some(Requests::PerUser(_)) => {}
        _ if cool_down.per_user() > 0 => {
            let message = "`cool_down.per_user` needs to know how many requests a user sends".to_owned();
            error("cool_down", message, "add `requests.per_user = 8`");
        }
        _ => {}
    }
}

/// Each workload belongs to one load of the phase, and each load has one that is sent.
fn check_loads(fields: &Fields<'_>, phase: &Phase, workloads: &[Workload]) {
    let place = || fields.place(if fields.has("also") { "also" } else { "workloads" });
    for (index, also) in phase.also.iter().enumerate() {
        let others = phase.also[..index].iter().flat_map(|other| &other.workloads);
        for name in &also.workloads {
            if phase.workloads.contains(name) || others.clone().any(|other| other == name) {
                let message = format!("the workload `{name}` stands in two loads of phase `{}`", phase.name);
                fields.problems.error(place(), message, "name it in one of them");
            }
        }
    }
    // That none is sent at all is said of the workloads.
    if workloads.iter().all(|workload| workload.weight == 0.0) {
        return;
    }
    for (index, load) in phase.loads().enumerate() {
        let indices = phase.workloads_of(index, workloads);
        if let Load::Open { trace: Some(Recording::Workload { workload, .. }), .. } = load.load
            && indices.iter().any(|index| workloads[*index].name != *workload)
        {
            let message =
                format!("the load of `{}` sends rows of `{workload}` at their times, and others", load.name);
            fields.problems.error(place(), message, format!("add `workloads = [\"{workload}\"]`"));
        }
        if indices.iter().all(|index| workloads[*index].weight == 0.0) {
            let message = format!("the load of `{}` has no workload that is sent", load.name);
            fields.problems.error(place(), message, "name one under `workloads` whose weight is above 0");
        }
    }
}

/// A phase must end. `sent` are the workloads of its main load.
fn check_bounds<'w>(
    fields: &Fields<'_>,
    requests: Option<Requests>,
    load: Option<&Load>,
    sent: impl Iterator<Item = &'w Workload> + Clone,
) {
    let mut sets = sent.filter(|workload| workload.weight > 0.0).map(|workload| match &workload.prompt {
        PromptSource::Dataset(set) => Some(set.when_exhausted),
        PromptSource::Synthetic { .. } | PromptSource::Tokens(_) => None,
        PromptSource::Needle(_) => Some(WhenExhausted::Stop),
    });
    if requests == Some(Requests::All) && sets.clone().any(|set| set.is_none()) {
        let message = "`requests = \"all\"` sends every row once, and a workload has no rows";
        fields.problems.error(fields.place("requests"), message, "give a number, or a `duration`");
    }
    let ends_itself =
        matches!(load, Some(Load::Open { process: Process::Recorded(_) | Process::Varying { .. }, .. }));
    let is_bounded = fields.mentions("duration")
        || fields.mentions("requests")
        || fields.problems.is_partial()
        || ends_itself;
    if !is_bounded && !sets.any(|set| set == Some(WhenExhausted::Stop)) {
        let message = "the phase has no end: it needs `duration` or `requests`";
        fields.problems.error(fields.place("name"), message, "add `duration = \"5m\"` or `requests = 1000`");
    }
}

/// `duration` is that of the phase.
fn load(fields: &Fields<'_>, duration: Option<Duration>, workloads: Option<&[Workload]>) -> Option<Load> {
    if fields.has("closed") {
        return closed(&fields.table("closed")?);
    }
    let kinds = ["poisson", "constant", "gamma", "ramp", "steps", "trace"];
    let kind = kinds.into_iter().find(|kind| fields.has(kind))?;
    let fields = fields.table(kind)?;
    let max_in_flight = fields.value("max_in_flight", Field::integer);
    // The key's bounds are those of the type.
    let max_in_flight = max_in_flight.and_then(|most| u32::try_from(most).ok());
    let when_full =
        fields.value("when_full", Field::choice).and_then(|index| WhenFull::ALL.get(index).copied());
    let mut trace = None;
    let process = match kind {
        "poisson" => fields.value("rate", Field::rate).map(|rate| Process::Poisson { rate }),
        "constant" => fields.value("rate", Field::rate).map(|rate| Process::Constant { rate }),
        "gamma" => gamma(&fields),
        "ramp" => ramp(&fields, duration),
        "steps" => steps(&fields, duration),
        _ => {
            let (process, recording) = self::trace(&fields, workloads)?;
            trace = Some(recording);
            Some(process)
        }
    };
    Some(Load::Open { process: process?, max_in_flight, when_full: when_full?, trace })
}

fn gamma(fields: &Fields<'_>) -> Option<Process> {
    let (rate, cv) = (fields.value("rate", Field::rate), fields.value("cv", Field::number));
    let (rate, cv) = (rate?, cv?);
    let process = Process::gamma(rate, cv);
    if process.is_none() {
        let help = "1 is as random as Poisson, above it comes in bursts, below it is more even";
        fields.problems.error(fields.place("cv"), "`cv` must be from 0.01 to 100", help);
    }
    process
}

fn arrivals(fields: &Fields<'_>) -> Option<Arrivals> {
    let index = fields.value("arrivals", Field::choice)?;
    ARRIVALS.get(index).map(|(_, arrivals)| *arrivals)
}

fn ramp(fields: &Fields<'_>, duration: Option<Duration>) -> Option<Process> {
    let (from, to) = (fields.value("from", Field::level), fields.value("to", Field::level));
    let arrivals = arrivals(fields);
    let Some(duration) = duration else {
        let help = "add `duration = \"5m\"` to the phase";
        fields.problems.error(fields.place("from"), "a ramp runs over the phase's `duration`", help);
        return None;
    };
    varying(fields, "from", &[(duration, from?, to?)], arrivals?)
}

fn steps(fields: &Fields<'_>, duration: Option<Duration>) -> Option<Process> {
    let (rates, each) = (fields.value("rates", Field::levels), fields.value("each", Field::duration));
    let arrivals = arrivals(fields);
    let (rates, each) = (rates?, each?);
    let whole = each.saturating_mul(u32::try_from(rates.len()).unwrap_or(u32::MAX));
    if rates.len() < 2 {
        let help = "one rate is `load.poisson`";
        fields.problems.error(fields.place("rates"), "`rates` takes at least two", help);
        return None;
    }
    if duration.is_some_and(|duration| duration > whole) {
        let whole = write_duration(whole);
        let message = format!("the steps are over after {whole}, before the phase's `duration` is");
        fields.problems.error(fields.place("each"), message, "leave `duration` out, or make `each` longer");
        return None;
    }
    let stretches = rates.into_iter().map(|rate| (each, rate, rate)).collect::<Vec<_>>();
    varying(fields, "rates", &stretches, arrivals?)
}

fn varying(
    fields: &Fields<'_>,
    key: &str,
    stretches: &[(Duration, f64, f64)],
    arrivals: Arrivals,
) -> Option<Process> {
    let curve = Curve::new(stretches);
    if curve.is_none() {
        let help = "give one rate above 0";
        fields.problems.error(fields.place(key), "no request would ever arrive", help);
    }
    Some(Process::Varying { curve: Arc::new(curve?), arrivals })
}

/// Times of a file, or of the rows of a workload; read now so that what is wrong with them is said with everything
/// else.
fn trace(fields: &Fields<'_>, workloads: Option<&[Workload]>) -> Option<(Process, Recording)> {
    let path = fields.value("path", |field| existing_file(field, fields.problems));
    let format = fields.value("format", Field::choice).and_then(|index| TraceFormat::ALL.get(index).copied());
    let column = fields.value("column", Field::text);
    let unit = fields.value("unit", Field::choice).and_then(|index| TimeUnit::ALL.get(index).copied());
    let speed = fields.value("speed", Field::number);
    let skip = fields.value("skip", Field::duration);
    let window = fields.value("window", Field::duration);
    let speed = speed?;
    if !(1e-6..=1e6).contains(&speed) {
        let help = "2 plays an hour in half an hour";
        fields.problems.error(fields.place("speed"), "`speed` must be from 0.000001 to 1,000,000", help);
        return None;
    }
    if fields.has("workload") {
        for key in ["format", "column", "unit"].into_iter().filter(|key| fields.has(key)) {
            let message = format!("`{key}` is known of the workload's data set");
            fields.problems.error(fields.place(key), message, "leave it out");
        }
        let workload = fields.value("workload", Field::name)?;
        let process = times_of(fields, workloads?, &workload, speed, Span::new(skip?, window))?;
        return Some((process, Recording::Workload { workload, speed, skip: skip?, window }));
    }
    if format.is_none() && !fields.has("format") {
        let help = "add `format = \"mooncake\"`: units are never guessed";
        fields.problems.error(fields.place("path"), "a trace needs its `format`", help);
    }
    let format = format?;
    if let Some((column, unit)) = format.fixed() {
        for key in ["column", "unit"].into_iter().filter(|key| fields.has(key)) {
            let message = format!(
                "`{key}` is known of this format: `{column}` in {}",
                if unit == TimeUnit::Date { "dates" } else { unit.name() }
            );
            let help = "leave it out, or set `format` to \"jsonl\" or \"csv\"";
            fields.problems.error(fields.place(key), message, help);
        }
    } else {
        for key in ["column", "unit"].into_iter().filter(|key| !fields.mentions(key)) {
            let help = "add `column = \"timestamp\"` and `unit = \"ms\"`: units are never guessed";
            let message = format!("a trace of format `{}` needs `{key}`", format.name());
            fields.problems.error(fields.place("format"), message, help);
        }
        column.as_ref().zip(unit)?;
    }
    let source = TraceSource { path: path?, format, column, unit, speed, skip: skip?, window };
    Some((recorded(fields, &source)?, Recording::File(source)))
}

/// The times of the rows of workload `name` that lie in `span`.
fn times_of(
    fields: &Fields<'_>,
    workloads: &[Workload],
    name: &str,
    speed: f64,
    span: Span,
) -> Option<Process> {
    let refuse = |message: String, help: String| {
        fields.problems.error(fields.place("workload"), message, help);
        None
    };
    let Some(workload) = workloads.iter().find(|workload| workload.name == name) else {
        let known = workloads.iter().map(|workload| format!("`{}`", workload.name)).collect::<Vec<_>>();
        return refuse(format!("there is no workload `{name}`"), format!("there is {}", known.join(", ")));
    };
    let PromptSource::Dataset(source) = &workload.prompt else {
        let help = "name one whose `prompt.dataset` is a trace";
        return refuse(format!("the workload `{name}` has no rows, and so no times"), help.to_owned());
    };
    if source.shuffle || workload.session.is_some() {
        let help = "leave `shuffle` and `session` out of the workload";
        let message = format!("rows of `{name}` cannot be sent at their own times in another order");
        return refuse(message, help.to_owned());
    }
    let set = match Dataset::scan(&dataset::Source { span: Some(span), ..source.clone() }) {
        Ok(set) => set,
        Err(error) => {
            let help = error.diagnostic().help.unwrap_or_default();
            return refuse(error.to_string(), help);
        }
    };
    if set.times().is_empty() {
        let help = "name a trace, or the column of times: `columns.time` and `columns.time_unit`";
        return refuse(format!("the rows of `{name}` have no times"), help.to_owned());
    }
    let offsets = set.times().iter().map(|at| dataset::faster(*at - span.from, speed)).collect();
    Some(Process::Recorded(offsets))
}

/// Keeps of the traces that workloads draw on only what the phases use.
pub(super) fn limit_traces(workloads: &mut [Workload], phases: &[Phase]) {
    for workload in workloads {
        let PromptSource::Dataset(source) = &mut workload.prompt else { continue };
        let spans = phases.iter().flat_map(Phase::loads).filter_map(|load| match load.load {
            Load::Open { trace: Some(Recording::Workload { workload: name, skip, window, .. }), .. } => {
                (*name == workload.name).then(|| Span::new(*skip, *window))
            }
            _ => None,
        });
        source.span = spans.reduce(Span::with);
    }
}

/// The times of `source`.
fn recorded(fields: &Fields<'_>, source: &TraceSource) -> Option<Process> {
    match source.read() {
        Ok(trace) => {
            if trace.unsorted > 0 {
                let message =
                    format!("{} of the trace's arrivals are earlier than the one before", trace.unsorted);
                let help = "they were sorted; times count from the first row, and what is earlier than that is left out";
                fields.problems.warning(fields.place("path"), message, help);
            }
            Some(Process::Recorded(trace.offsets))
        }
        Err(error) => {
            fields.problems.error(fields.place("path"), error.problem, error.help);
            None
        }
    }
}

fn closed(fields: &Fields<'_>) -> Option<Load> {
    let users = fields.value("users", Field::integer);
    let ramp_up = fields.value("ramp_up", Field::duration);
    let think = time_law(fields, "think");
    let pace = fields.value("pace", Field::duration);
    if fields.has("think") && fields.has("pace") {
        let help = "`think` pauses after each answer, `pace` keeps times of its own";
        fields.problems.error(fields.place("pace"), "a user has either `think` or `pace`", help);
    }
    let rhythm = pace.map_or(Rhythm::Think(think?), Rhythm::Pace);
    Some(Load::Closed { users: u32::try_from(users?).ok()?, rhythm, ramp_up: ramp_up? })
}

/// The law of times under `name`; no time where it is left out.
fn time_law(fields: &Fields<'_>, name: &str) -> Option<TimeLaw> {
    if !fields.has(name) {
        return Some(TimeLaw::Fixed(Duration::ZERO));
    }
    let fields = fields.table(name)?;
    if fields.has("fixed") {
        return fields.value("fixed", Field::duration).map(TimeLaw::Fixed);
    }
    if fields.has("exponential") {
        let mean = fields.table("exponential")?.value("mean", Field::duration)?;
        return Some(TimeLaw::Exponential { mean });
    }
    if !fields.has("uniform") {
        return None;
    }
    let fields = fields.table("uniform")?;
    let (min, max) = (fields.value("min", Field::duration), fields.value("max", Field::duration));
    let (min, max) = (min?, max?);
    let law = TimeLaw::uniform(min, max);
    if law.is_none() {
        let [min, max] = [min, max].map(write_duration);
        let message = format!("`min` ({min}) is above `max` ({max})");
        fields.problems.error(fields.place("min"), message, "exchange them");
    }
    law
}

fn count_law(fields: &Fields<'_>) -> Option<Distribution> {
    if fields.has("fixed") {
        return fields.value("fixed", Field::integer).map(Distribution::Fixed);
    }
    if !fields.has("uniform") {
        return None;
    }
    let fields = fields.table("uniform")?;
    let (min, max) = (fields.value("min", Field::integer), fields.value("max", Field::integer));
    let (min, max) = (min?, max?);
    let law = Distribution::uniform(min, max);
    if law.is_none() {
        let message = format!("`min` ({min}) is above `max` ({max})");
        fields.problems.error(fields.place("min"), message, "exchange them");
    }
    law
}

pub(super) fn session(fields: &Fields<'_>) -> Option<SessionForm> {
    let turns = match fields.has("turns") {
        true => fields.table("turns").and_then(|fields| count_law(&fields)).map(Some),
        false => Some(None),
    };
    let think = time_law(fields, "think");
    let history = fields.value("history", Field::choice).and_then(|index| History::ALL.get(index).copied());
    let max_context = match fields.has("max_context") {
        true => fields.value("max_context", Field::tokens).map(Some),
        false => Some(None),
    };
    Some(SessionForm { turns: turns?, think: think?, history: history?, max_context: max_context? })
}

pub(super) fn stop(fields: &Fields<'_>) -> Option<StopRules> {
    let error_share = fields.value("error_share", Field::share);
    let errors_in_a_row = fields.value("errors_in_a_row", Field::integer);
    let over_saturated = fields.value("over_saturated", Field::boolean);
    Some(StopRules { error_share: error_share?, errors_in_a_row, over_saturated: over_saturated? })
}
