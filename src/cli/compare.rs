//! `tonnage compare`: two sets of runs, figure by figure.

use std::io::Write as _;
use std::path::PathBuf;

use super::args::CompareArgs;
use super::exit::{Exit, Failure};
use crate::report::compare::{Compared, Comparison, compare, obstacles};
use crate::results::{Folder, reader, text};
use crate::stats::SummaryRow;

/// Obstacles named at most.
const NAMED: usize = 12;

pub(super) fn run(args: &CompareArgs) -> Result<Exit, Failure> {
    let base_paths: Vec<&PathBuf> = [&args.base].into_iter().chain(&args.more).collect();
    named_once(base_paths.iter().copied().chain(&args.new))?;
    let base = read(base_paths.into_iter())?;
    let new = read(args.new.iter())?;
    let (base, new) = (compared(&base), compared(&new));
    let all = || base.iter().chain(&new);
    if let Some(first) = base.first().filter(|_| !args.anyway) {
        let mut found: Vec<String> = all().flat_map(|run| obstacles(first, run)).collect();
        found.dedup();
        if !found.is_empty() {
            let rest = found.len().saturating_sub(NAMED);
            found.truncate(NAMED);
            let rest = if rest > 0 { format!("\n  and {rest} more") } else { String::new() };
            return Err(Failure::usage(format!(
                "the runs are not of the same load:\n  {}{rest}\n  help: compare runs of one scenario, or say --anyway",
                found.join("\n  ")
            )));
        }
    }
    let comparison = compare(&base, &new, args.worse_than);
    if comparison.lines.is_empty() {
        return Err(Failure::usage("the runs have no phase in common\n  help: compare runs of one scenario"));
    }
    let told = if args.csv {
        text::file(Comparison::COLUMNS, &comparison.lines)
    } else {
        comparison.text(args.worse_than)
    };
    // A closed pipe is the reader's choice.
    let _ = writeln!(std::io::stdout(), "{}", told.trim_end());
    Ok(if comparison.is_worse() { Exit::Missed } else { Exit::Done })
}

/// Refuses a folder that is named twice, under whatever names: it would count as two runs.
fn named_once<'a>(paths: impl Iterator<Item = &'a PathBuf>) -> Result<(), Failure> {
    let mut named: Vec<(&PathBuf, PathBuf)> = Vec::new();
    for path in paths {
        // What cannot be found is told by the reader.
        let Ok(whole) = path.canonicalize() else { continue };
        if let Some((first, _)) = named.iter().find(|(_, other)| *other == whole) {
            return Err(Failure::usage(format!(
                "{} is the same run as {}\n  help: name each run once",
                path.display(),
                first.display()
            )));
        }
        named.push((path, whole));
    }
    Ok(())
}

struct Run {
    name: String,
    folder: Folder,
    summary: Vec<SummaryRow>,
}

fn read<'a>(paths: impl Iterator<Item = &'a PathBuf>) -> Result<Vec<Run>, Failure> {
    let read = |path: &PathBuf| {
        let folder = reader::read(path, |_, _| ()).map_err(Failure::usage)?;
        let summary = folder.summary();
        Ok(Run { name: path.display().to_string(), folder, summary })
    };
    paths.map(read).collect()
}

fn compared(runs: &[Run]) -> Vec<Compared<'_>> {
    let compared = runs.iter().map(|run| Compared {
        name: &run.name,
        manifest: &run.folder.manifest,
        scenario: &run.folder.scenario,
        summary: &run.summary,
    });
    compared.collect()
}

/// Reads `5%` or `0.05`.
pub(super) fn share(text: &str) -> Result<f64, String> {
    let (number, unit) = text.strip_suffix('%').map_or((text, 1.0), |number| (number, 100.0));
    let share = number.trim().parse::<f64>().map(|number| number / unit);
    let in_range = |share: &f64| (0.0..=1.0).contains(share);
    share
        .ok()
        .filter(in_range)
        .ok_or_else(|| "a share is a percentage or a number from 0 to 1, such as 5%".to_owned())
}
