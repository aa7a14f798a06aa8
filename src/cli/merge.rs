//! `tonnage merge`: the shards of a run as one.

use std::io::Write as _;

use super::args::MergeArgs;
use super::book::exit;
use super::exit::{Exit, Failure};
use super::report::analyse;
use crate::report::{self, json, terminal};
use crate::results::ResultsError;
use crate::results::merge::{MergeError, merge};
use crate::results::objectives::any_fails;
use crate::stats::{Analysis, Verdict};

pub(super) fn run(args: &MergeArgs) -> Result<Exit, Failure> {
    let mut analysis = Analysis::default();
    let whole =
        merge(&args.folders, &args.out, |record| analysis.add(record)).map_err(|error| match error {
            MergeError::Write(ResultsError::Write { .. } | ResultsError::Create { .. }) => {
                Failure::unexpected(error)
            }
            _ => Failure::usage(error),
        })?;
    let summary = whole.summary();
    let analysis = analyse(&whole, analysis)?;
    let told = if args.json {
        json::object(&whole.manifest, &summary, &analysis, &args.out)
    } else {
        let lines = terminal::text(&whole.manifest, &summary) + &report::analysis::text(&analysis);
        format!("{lines}\n{}", args.out.display())
    };
    // A closed pipe is the reader's choice, and the files stand.
    let _ = writeln!(std::io::stdout(), "{told}");
    let verdict = whole.manifest.verdict.as_ref().map_or(Verdict::Valid, |entry| entry.verdict());
    Ok(exit(verdict, any_fails(&whole.manifest.objectives), args.strict))
}
