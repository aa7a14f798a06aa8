//! The command line: the only place that prints, exits and reads the environment.

mod answers;
mod args;
mod book;
mod check;
mod collecting;
mod compare;
mod completions;
mod environment;
mod exit;
mod host;
mod hunt;
mod init;
mod lengths;
mod live;
mod man;
mod merge;
mod prepare;
mod rehearse;
mod report;
mod resume;
mod run;
mod schema;
mod score;
mod scraping;
mod series;
mod shard;
mod signals;
mod sim;
mod target;

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;

use args::{Cli, Command};

/// Runs the program: parses the command line, carries the command out, says how it ended.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let ended = match &cli.command {
        Command::Run(args) => run::run(args),
        Command::Rehearse(args) => rehearse::run(args),
        Command::Sim(args) => sim::run(args),
        Command::Check(args) => check::run(args),
        Command::Score(args) => score::run(args),
        Command::Init(args) => init::run(args),
        Command::Schema(args) => schema::run(args),
        Command::Completions(args) => completions::run(args),
        Command::Man(args) => man::run(args),
        Command::Report(args) => report::run(args),
        Command::Compare(args) => compare::run(args),
        Command::Merge(args) => merge::run(args),
    };
    let exit = ended.unwrap_or_else(|failure| {
        let _ = writeln!(std::io::stderr(), "{}", failure.message.trim_end());
        failure.exit
    });
    exit.into()
}
