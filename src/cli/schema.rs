//! `tonnage schema`: what scenarios may hold, for editors and for readers.

use std::io::Write as _;

use clap::Args;

use super::exit::{Exit, Failure};
use crate::scenario::{reference, schema};

const EXAMPLES: &str = "\
Examples:
  tonnage schema > schema.json
  tonnage schema --markdown > scenario.md

Editors complete and check a scenario whose first line is
  #:schema ./schema.json";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct SchemaArgs {
    /// Print the reference of all keys as Markdown instead
    #[arg(long)]
    markdown: bool,
}

pub(super) fn run(args: &SchemaArgs) -> Result<Exit, Failure> {
    let text = if args.markdown { reference() } else { schema() };
    // A closed pipe is the reader's choice.
    let _ = std::io::stdout().write_all(text.as_bytes());
    Ok(Exit::Done)
}
