//! A preview for people.

use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use super::Sound;
use super::amounts::{Certainty, Count, Span};
use super::in_flight::InFlight;
use super::lengths::Lengths;
use super::listing::{Listed, Listing};
use super::preview::WorkloadPreview;
use crate::arrival::Process;
use crate::dataset::Dataset;
use crate::plan::Start;
use crate::report::figure::grouped;
use crate::results::memory::MemoryEntry;
use crate::scenario::{Endpoint, History, Load, PromptSource, Workload};
use crate::units::{write_duration, write_rate};

/// Stands where nothing can be said.
const NONE: &str = "–";

/// Writes what the scenario in `file` will do.
pub(super) fn write(out: &mut impl Write, file: &Path, sound: &Sound) -> io::Result<()> {
    let (scenario, preview) = (&sound.scenario, &sound.preview);
    let target = match &scenario.target.endpoint {
        Endpoint::Url(url) => url.to_string(),
        Endpoint::Sim { profile, .. } => format!("simulated {profile}"),
    };
    let seed = scenario.seed.map_or("seed drawn for each run".to_owned(), |seed| format!("seed {seed}"));
    writeln!(out, "{}: {} → {target}, {seed}\n", file.display(), scenario.name)?;

    let mut rows =
        vec![["phase", "start", "end", "load", "requests", "measured", "in flight"].map(str::to_owned)];
    for (phase, course) in scenario.phases.iter().zip(&preview.phases) {
        let end = course.start.zip(course.length).map(|(start, length)| start.then(length));
        let measured = match (phase.measure, course.measured) {
            (false, _) => "no".to_owned(),
            (true, Some(count)) => grouped(count),
            (true, None) => NONE.to_owned(),
        };
        let columns = [span(course.start), span(end), load(&phase.load), number(course.requests), measured];
        let [start, end, load, requests, measured] = columns;
        let in_flight = in_flight(&phase.load, course.requests, course.in_flight);
        rows.push([phase.name.clone(), start, end, load, requests, measured, in_flight]);
        for (also, course) in phase.also.iter().zip(&course.also) {
            let name = format!("+ {}", also.name);
            let in_flight = self::in_flight(&also.load, course.requests, course.in_flight);
            let (load, requests) = (self::load(&also.load), number(course.requests));
            rows.push([name, String::new(), String::new(), load, requests, String::new(), in_flight]);
        }
    }
    write_table(out, &rows)?;

    let mut rows = vec![["workload", "share", "prompt", "answer, at most"].map(str::to_owned)];
    for (workload, course) in scenario.workloads.iter().zip(&preview.workloads) {
        let tokens = course.prompt_tokens.map(|tokens| lengths(tokens, "tokens"));
        let words = course.prompt_words.map(|words| lengths(words, "words"));
        let characters = course.prompt_characters.map(|characters| lengths(characters, "characters"));
        let prompt = tokens.into_iter().chain(words).chain(characters).collect::<Vec<_>>().join("; ");
        let answer = course.output_tokens.map_or(NONE.to_owned(), |tokens| lengths(tokens, "tokens"));
        let share = course.share.map_or(NONE.to_owned(), |share| format!("{:.1} %", share * 100.0));
        rows.push([workload.name.clone(), share, prompt, answer]);
    }
    writeln!(out)?;
    write_table(out, &rows)?;
    writeln!(out)?;
    for (workload, dataset) in scenario.workloads.iter().zip(&sound.datasets) {
        if let Some(dataset) = dataset {
            writeln!(out, "data of {}: {}", workload.name, data(dataset))?;
        }
    }
    for (workload, course) in scenario.workloads.iter().zip(&preview.workloads) {
        if let Some(turns) = course.turns {
            writeln!(out, "conversations of {}: {}", workload.name, conversations(turns, course))?;
        }
    }
    if let Some(tokens) = preview.prompt_tokens {
        let about = if preview.is_exact { "" } else { "about " };
        let carries = |workload: &Workload| {
            workload.session.as_ref().is_some_and(|session| session.history != History::None)
        };
        let new = if scenario.workloads.iter().any(carries) {
            ", without what turns carry of those before"
        } else {
            ""
        };
        writeln!(out, "prompts: {about}{} tokens in all{new}", grouped(tokens))?;
    }
    match preview.output_tokens {
        Some(tokens) => {
            let about = if preview.is_exact { "" } else { "about " };
            writeln!(out, "answers: at most {about}{} tokens in all", grouped(tokens))?;
        }
        None => writeln!(out, "answers: their number depends on the server")?,
    }
    if let Some(model) = &scenario.model {
        writeln!(out, "{}", memory(&MemoryEntry::new(model, scenario.block_tokens())))?;
    }
    let drains = if scenario.phases.len() > 1 { "Times leave out how long each phase drains. " } else { "" };
    let note = format!("{drains}{}", counted(sound));
    if !note.is_empty() {
        writeln!(out, "{}", note.trim_end())?;
    }
    if preview.is_sampled {
        let note =
            "The plan is long: counts follow from its arrivals, lengths from the beginning of each phase.";
        writeln!(out, "{note}")?;
    }
    Ok(())
}

/// What lengths of prompts are counted in, where that is not simply tokens.
fn counted(sound: &Sound) -> String {
    let workloads = sound.scenario.workloads.iter().zip(&sound.preview.workloads);
    let names = |is_meant: &dyn Fn(&Workload, &WorkloadPreview) -> bool| {
        let meant = workloads.clone().filter(|(workload, course)| is_meant(workload, course));
        meant.map(|(workload, _)| format!("`{}`", workload.name)).collect::<Vec<_>>()
    };
    let in_words = names(&|_, course| course.prompt_tokens.is_none() && course.prompt_words.is_some());
    let is_named = sound.scenario.target.tokenizer.is_some();
    let by_server = names(&|workload, course| {
        course.prompt_tokens.is_some() && !is_named && !matches!(workload.prompt, PromptSource::Tokens(_))
    });
    let of_words = match in_words.len() {
        0 => String::new(),
        all if all == sound.scenario.workloads.len() => {
            "Prompts are counted in words: how many tokens they are, the model decides.".to_owned()
        }
        _ => format!(
            "Prompts of {} are counted in words: how many tokens they are, the model decides.",
            in_words.join(", ")
        ),
    };
    let of_server = format!(
        "Lengths of {} are tokens if the server says how many a prompt has, else words.",
        by_server.join(", ")
    );
    let notes = [of_words, if by_server.is_empty() { String::new() } else { of_server }];
    notes.into_iter().filter(|note| !note.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Lists the first `most` planned requests.
pub(super) fn write_plan(out: &mut impl Write, sound: &Sound, most: u64) -> io::Result<()> {
    let scenario = &sound.scenario;
    let seed = match scenario.seed {
        Some(seed) => format!("of seed {seed}"),
        None => "of seed 0; each run draws its own".to_owned(),
    };
    writeln!(out, "\nplan {seed}; `due` counts from the phase's start")?;
    let widest = |names: &mut dyn Iterator<Item = usize>, least: usize| names.max().unwrap_or(0).max(least);
    let phase_width = widest(&mut scenario.phases.iter().map(|phase| phase.name.len()), 5);
    let name_width = widest(&mut scenario.workloads.iter().map(|workload| workload.name.len()), 8);
    writeln!(
        out,
        "{:>8}  {:phase_width$}  {:>16}  {:name_width$}  {:>8}  tokens at most",
        "request", "phase", "due, s", "workload", "row"
    )?;
    let listing = Listing::of(sound, most);
    for Listed { start, turn, .. } in &listing.requests {
        let planned = &turn.planned;
        let due = match start {
            _ if planned.turn > 0 => format!("turn {}", planned.turn),
            Start::At(due) => format!("{:.6}", due.as_secs_f64()),
            Start::WhenUserFree => "a user is free".to_owned(),
        };
        let phase = &scenario.phases[planned.phase as usize].name;
        let workload = &scenario.workloads[planned.workload as usize].name;
        let row = planned.dataset_row.map_or(NONE.to_owned(), |row| row.to_string());
        let tokens = planned.output_tokens_planned.map_or(NONE.to_owned(), |tokens| tokens.to_string());
        writeln!(
            out,
            "{:>8}  {phase:phase_width$}  {due:>16}  {workload:name_width$}  {row:>8}  {tokens}",
            planned.request
        )?;
    }
    if listing.is_open {
        writeln!(out, "What follows depends on how many of these the server lets be sent.")?;
    }
    Ok(())
}

fn write_table<const N: usize>(out: &mut impl Write, rows: &[[String; N]]) -> io::Result<()> {
    let widths: [usize; N] = std::array::from_fn(|column| {
        rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default()
    });
    for row in rows {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
        writeln!(out, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
    }
    Ok(())
}

fn load(load: &Load) -> String {
    match load {
        Load::Open { process, .. } => match process {
            Process::Poisson { rate } | Process::Constant { rate } | Process::Gamma { rate, .. } => {
                format!("{} {}", load.name(), write_rate(*rate))
            }
            Process::Varying { curve, .. } => {
                format!("{} up to {:.3}/s", load.name(), curve.peak()).replace(".000/", "/")
            }
            Process::Recorded(times) => format!("trace of {}", grouped(times.len() as u64)),
        },
        Load::Closed { users: 1, .. } => "1 user".to_owned(),
        Load::Closed { users, .. } => format!("{} users", grouped((*users).into())),
    }
}

fn in_flight(load: &Load, requests: Option<Count>, estimate: Option<InFlight>) -> String {
    if let Some(InFlight { mean, peak, is_capped, held }) = estimate {
        let capped = if is_capped { ", capped by `max_in_flight`" } else { "" };
        let held =
            held.map(|held| format!("; KV about {} tokens, peak {}", grouped(held.mean), grouped(held.peak)));
        return format!("about {mean:.0}, peak {}{capped}{}", grouped(peak), held.unwrap_or_default());
    }
    match load {
        Load::Closed { users, .. } => {
            let requests = requests.map_or(u64::MAX, Count::number);
            format!("at most {}", grouped(u64::from(*users).min(requests)))
        }
        Load::Open { process, max_in_flight, .. } => {
            let most = max_in_flight.map(|most| format!(", at most {}", grouped(most.into())));
            let Some(rate) = process.peak_per_second() else {
                return max_in_flight
                    .map_or(NONE.to_owned(), |most| format!("at most {}", grouped(most.into())));
            };
            format!("{rate:.3} × seconds a request takes{}", most.unwrap_or_default()).replace(".000 ", " ")
        }
    }
}

/// What a model takes, and how much fits beside it.
fn memory(model: &MemoryEntry) -> String {
    let mut text = format!("model: a token takes {:.1} KiB of memory", model.kv_bytes_per_token / 1024.0);
    if let Some(weights) = model.weights_bytes {
        text += &format!(", the weights {:.1} GiB", weights as f64 / f64::from(1 << 30));
    }
    let Some(tokens) = model.kv_tokens else { return text + "; `weights` and `memory` would say what fits" };
    if tokens == 0 {
        return text + ": they do not fit";
    }
    text += &format!(", so that at most {} tokens fit\n", grouped(tokens));
    let lengths = model.fit.iter().map(|fit| format!("{}Ki", fit.length_tokens >> 10));
    let sequences = model.fit.iter().map(|fit| grouped(fit.sequences));
    let fits = lengths.zip(sequences).map(|(length, sequences)| format!("{sequences} of {length}"));
    text + "sequences that fit at once: " + &fits.collect::<Vec<_>>().join(", ")
}

pub(super) fn span(span: Option<Span>) -> String {
    match span {
        None => NONE.to_owned(),
        Some(Span { time, certainty: Certainty::Exact }) => duration(time),
        Some(Span { time, certainty: Certainty::About }) => format!("about {}", duration(time)),
        Some(Span { time, certainty: Certainty::AtMost }) => format!("by {}", duration(time)),
    }
}

/// A duration to the millisecond, from a second on to the tenth, from a minute on to the second.
pub(super) fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    match seconds {
        _ if duration.is_zero() => "0s".to_owned(),
        short if short < 0.9995 => format!("{:.0}ms", short * 1e3),
        short if short < 59.95 => format!("{short:.1}").trim_end_matches(".0").to_owned() + "s",
        _ => write_duration(Duration::from_secs(seconds.round() as u64)),
    }
}

/// A number of requests and how far to trust it.
pub(super) fn number(count: Option<Count>) -> String {
    match count {
        None => "as the server allows".to_owned(),
        Some(Count::Exactly(count)) => grouped(count),
        Some(Count::About(count)) => format!("about {}", grouped(count)),
        Some(Count::AtMost(count)) => format!("at most {}", grouped(count)),
        Some(Count::Between { expected, low, high }) => {
            format!("{} ({} to {})", grouped(expected), grouped(low), grouped(high))
        }
    }
}

fn lengths(lengths: Lengths, unit: &str) -> String {
    let Lengths { min, p50, p90, p99, max, is_sampled } = lengths;
    if min == max {
        return format!("{} {unit}", grouped(min));
    }
    let [min, p50, p90, p99, max] = [min, p50, p90, p99, max].map(grouped);
    let sampled = if is_sampled { ", of a sample" } else { "" };
    format!("{min} to {max} {unit} (p50 {p50}, p90 {p90}, p99 {p99}{sampled})")
}

fn conversations(turns: Lengths, workload: &WorkloadPreview) -> String {
    let mut text = lengths(turns, "turns");
    if let Some(limit) = workload.max_context {
        text += &format!("; each ends before it would pass {} tokens", grouped(limit));
        match workload.too_long {
            None => text += ", as the server counts them",
            Some(0) => {}
            Some(count) => text += &format!("; {} begin with more and are skipped", grouped(count)),
        }
    }
    text
}

fn data(dataset: &Dataset) -> String {
    let file = dataset.path().file_name().unwrap_or(dataset.path().as_os_str()).to_string_lossy();
    let skipped: u64 = dataset.skipped().iter().map(|skipped| skipped.count).sum();
    let turns = match dataset.is_conversations() {
        true => format!(", {} turns", grouped(dataset.all_turns())),
        false => String::new(),
    };
    let mut text = format!(
        "{} rows of {} ({}{turns})",
        grouped(dataset.rows().into()),
        file.replace(char::is_control, "?"),
        dataset.format().name()
    );
    if skipped > 0 {
        let reasons = dataset.skipped().iter().map(|skipped| {
            format!("{} {}", grouped(skipped.count), skipped.reason.describe(dataset.format()))
        });
        text += &format!("; {} left out: {}", grouped(skipped), reasons.collect::<Vec<_>>().join(", "));
    }
    if dataset.outside() > 0 {
        text += &format!("; {} outside the window", grouped(dataset.outside()));
    }
    if dataset.unsorted() > 0 {
        text += &format!("; {} out of order", grouped(dataset.unsorted()));
    }
    if dataset.mended() > 0 {
        text += &format!("; {} with messages left out or joined", grouped(dataset.mended()));
    }
    if dataset.repeated() > 0 {
        text += &format!("; {} repeat an earlier one", grouped(dataset.repeated()));
    }
    text
}
