//! `tonnage completions`: what a shell needs to complete command lines.

use std::io::Write as _;

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use super::args::Cli;
use super::exit::{Exit, Failure};

const EXAMPLES: &str = "\
Examples:
  tonnage completions bash > ~/.local/share/bash-completion/completions/tonnage
  tonnage completions fish > ~/.config/fish/completions/tonnage.fish";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

pub(super) fn run(args: &CompletionsArgs) -> Result<Exit, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "tonnage", &mut text);
    // A closed pipe is the reader's choice.
    let _ = std::io::stdout().write_all(&text);
    Ok(Exit::Done)
}
