//! `tonnage check`: what is wrong with scenarios, and what they would do, without any traffic.

mod amounts;
mod caveats;
mod in_flight;
mod json;
mod law;
mod lengths;
mod listing;
mod look;
mod points;
mod preview;
mod text;

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;

use super::answers;
use super::exit::{Exit, Failure};
use super::lengths::load_tokenizer;
use super::prepare::{scan_datasets, style};
use crate::dataset::Dataset;
use crate::diagnostic::Diagnostics;
use crate::scenario::{Loaded, Overrides, Scenario, explained, load};
use crate::units::parse_duration;
use points::PointPreview;
use preview::Preview;

const EXAMPLES: &str = "\
Examples:
  tonnage check scenarios/*.toml
  tonnage check chat.toml --set phase.steady.load.poisson.rate=12/s --plan 20
  tonnage check chat.toml --service-time 8s
  tonnage check chat.toml --resolved

Exit codes: 0 all can be run · 2 one cannot";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct CheckArgs {
    /// The scenario files
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Set a key of the scenario: key.path=value, members of arrays by their name
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
    /// Print the scenario with all files, arguments and defaults in, and where each value came from
    #[arg(long, conflicts_with_all = ["json", "plan"])]
    resolved: bool,
    /// List the first N planned requests
    #[arg(long, value_name = "N")]
    plan: Option<u64>,
    /// How long a request takes, to estimate how many will be in flight
    #[arg(long, value_name = "DURATION", value_parser = service_time)]
    service_time: Option<Duration>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

fn service_time(text: &str) -> Result<Duration, String> {
    let time = parse_duration(text).map_err(|error| error.to_string())?;
    if time.is_zero() { Err("a request takes some time".to_owned()) } else { Ok(time) }
}

/// A scenario that was looked at.
struct Checked<'a> {
    file: &'a Path,
    /// Errors and warnings.
    problems: Diagnostics,
    /// The scenario with its data, unless there is an error.
    sound: Option<Sound>,
}

/// A scenario that can be run.
struct Sound {
    loaded: Loaded,
    scenario: Arc<Scenario>,
    datasets: Vec<Option<Arc<Dataset>>>,
    preview: Preview,
    /// Of a sweep.
    points: Vec<PointPreview>,
}

pub(super) fn run(args: &CheckArgs) -> Result<Exit, Failure> {
    let overrides = Overrides { set: args.overrides.clone(), target: None };
    let mut ending = Exit::Done;
    let mut objects = Vec::new();
    let mut is_first = true;
    for file in &args.files {
        let checked = check(file, &overrides, args.service_time);
        if checked.sound.is_none() {
            ending = Exit::Usage;
        }
        if args.json {
            objects.push(json::object(&checked, args.plan));
            continue;
        }
        // A closed pipe is the reader's choice.
        let _ = show(&checked, args, is_first);
        is_first &= checked.sound.is_none();
    }
    if args.json {
        let _ = writeln!(io::stdout(), "{:#}", serde_json::json!({ "files": objects }));
    }
    Ok(ending)
}

fn check<'a>(file: &'a Path, overrides: &Overrides, service_time: Option<Duration>) -> Checked<'a> {
    let mut loaded = match load(file, overrides) {
        Ok(loaded) => loaded,
        Err(problems) => return Checked { file, problems, sound: None },
    };
    let mut problems = std::mem::take(&mut loaded.warnings);
    let scenario = Arc::new(loaded.scenario.clone());
    let mut shelf = Vec::new();
    let Ok(datasets) = scan_datasets(&scenario, true, &mut problems, &mut shelf) else {
        return Checked { file, problems, sound: None };
    };
    answers::try_truths(&scenario, &datasets, &mut problems);
    let mut tokenizers = Vec::new();
    load_tokenizer(&scenario, &mut problems, &mut tokenizers);
    let preview = Preview::of(&scenario, &datasets, service_time);
    caveats::add(&loaded, &datasets, &preview, &mut problems);
    let mut points = Vec::new();
    for (index, point) in loaded.at_points().enumerate() {
        let mut found = Diagnostics::default();
        let Ok(datasets) = scan_datasets(&point.scenario, true, &mut found, &mut shelf) else {
            problems.append_new(found);
            return Checked { file, problems, sound: None };
        };
        compare_with_data(&point, &datasets, &mut found);
        load_tokenizer(&point.scenario, &mut found, &mut tokenizers);
        problems.append_new(found);
        points.push(PointPreview::of(&loaded, index, &Arc::new(point.scenario), &datasets));
    }
    let sound = (!problems.has_errors()).then_some(Sound { loaded, scenario, datasets, preview, points });
    Checked { file, problems, sound }
}

/// Holds the requests that a run will plan against the rows there are. A plan that a data set under
/// `when_exhausted = "error"` cannot serve is an error.
pub(super) fn compare_with_data(
    loaded: &Loaded,
    datasets: &[Option<Arc<Dataset>>],
    problems: &mut Diagnostics,
) {
    // Looking ahead takes as long as the start of a run should.
    if loaded.scenario.workloads.iter().all(|workload| workload.when_exhausted().is_none()) {
        return;
    }
    answers::try_truths(&loaded.scenario, datasets, problems);
    let preview = Preview::of(&Arc::new(loaded.scenario.clone()), datasets, None);
    caveats::add_of_data(loaded, datasets, &preview, problems);
}

fn show(checked: &Checked<'_>, args: &CheckArgs, is_first: bool) -> io::Result<()> {
    if !checked.problems.is_empty() {
        writeln!(io::stderr(), "{}", checked.problems.render(style()))?;
    }
    let mut out = io::BufWriter::new(io::stdout().lock());
    let Some(sound) = &checked.sound else { return Ok(()) };
    if !is_first {
        writeln!(out)?;
    }
    if args.resolved {
        if args.files.len() > 1 {
            writeln!(out, "# {}", checked.file.display())?;
        }
        write!(out, "{}", explained(&sound.loaded))?;
        return out.flush();
    }
    text::write(&mut out, checked.file, sound)?;
    points::write(&mut out, &sound.scenario, &sound.points)?;
    if let Some(most) = args.plan {
        text::write_plan(&mut out, sound, most)?;
    }
    out.flush()
}
