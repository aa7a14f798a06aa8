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
    let base = read([&args.base].into_iter().chain(&args.more))?;
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

fn read<'a>(paths: impl Iterator<Item = &'a PathBuf>) -> Result<Vec<(Folder, Vec<SummaryRow>)>, Failure> {
    let folders = paths.map(|path| reader::read(path, |_, _| ()).map_err(Failure::usage));
    folders
        .map(|folder| {
            folder.map(|folder| {
                let summary = folder.summary();
                (folder, summary)
            })
        })
        .collect()
}

fn compared(folders: &[(Folder, Vec<SummaryRow>)]) -> Vec<Compared<'_>> {
    let compared = folders.iter().map(|(folder, summary)| Compared {
        manifest: &folder.manifest,
        scenario: &folder.scenario,
        summary,
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
