//! `tonnage man`: manual pages.

use std::io::Write as _;
use std::path::PathBuf;

use clap::{Args, CommandFactory as _};
use clap_mangen::Man;

use super::args::Cli;
use super::exit::{Exit, Failure};

const EXAMPLES: &str = "\
Examples:
  tonnage man | man -l -
  tonnage man --out ~/.local/share/man/man1";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ManArgs {
    /// Write a page for each command into this folder, which must exist, instead of printing the first
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(super) fn run(args: &ManArgs) -> Result<Exit, Failure> {
    let command = Cli::command();
    if let Some(folder) = &args.out {
        return match clap_mangen::generate_to(command, folder) {
            Ok(()) => Ok(Exit::Done),
            Err(error) => Err(Failure::usage(format!(
                "the pages cannot be written to {}: {error}\n  help: name a folder that exists",
                folder.display()
            ))),
        };
    }
    let mut page = Vec::new();
    Man::new(command).render(&mut page).map_err(|error| Failure::unexpected(error.to_string()))?;
    // A closed pipe is the reader's choice.
    let _ = std::io::stdout().write_all(&page);
    Ok(Exit::Done)
}
