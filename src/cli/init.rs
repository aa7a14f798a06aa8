//! `tonnage init`: a scenario to start from.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::exit::{Exit, Failure};

const EXAMPLES: &str = "\
Examples:
  tonnage init
  tonnage init capacity.toml --kind closed-loop";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct InitArgs {
    /// The file to write, which must not exist
    #[arg(default_value = "scenario.toml")]
    file: PathBuf,
    /// What the scenario is to show
    #[arg(long, value_enum, default_value_t = Purpose::OpenLoop)]
    kind: Purpose,
}

/// What a scenario is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Purpose {
    /// Requests arrive at times of their own: latency under a given load
    OpenLoop,
    /// Users send when their last request has ended: throughput
    ClosedLoop,
    /// Every row of a file is sent once; an example of such a file is written too
    Dataset,
    /// Questions with known answers: how many are right, and how fast; an example of such a file is written too
    Answers,
    /// Short and long requests together, each with its own limits
    Mixed,
    /// A scenario that changes another one, which is written too
    Extends,
}

impl Purpose {
    fn scenario(self) -> &'static str {
        match self {
            Purpose::OpenLoop => include_str!("init/open-loop.toml"),
            Purpose::ClosedLoop => include_str!("init/closed-loop.toml"),
            Purpose::Dataset => include_str!("init/dataset.toml"),
            Purpose::Answers => include_str!("init/answers.toml"),
            Purpose::Mixed => include_str!("init/mixed.toml"),
            Purpose::Extends => include_str!("init/extends.toml"),
        }
    }

    /// Name and text of a file that the scenario needs beside it.
    fn companion(self) -> Option<(&'static str, &'static str)> {
        match self {
            Purpose::Dataset => Some(("prompts.jsonl", include_str!("init/prompts.jsonl"))),
            Purpose::Answers => Some(("questions.jsonl", include_str!("init/questions.jsonl"))),
            Purpose::Extends => Some(("base.toml", include_str!("init/open-loop.toml"))),
            Purpose::OpenLoop | Purpose::ClosedLoop | Purpose::Mixed => None,
        }
    }
}

pub(super) fn run(args: &InitArgs) -> Result<Exit, Failure> {
    let companion = args.kind.companion().map(|(name, text)| (args.file.with_file_name(name), text));
    let files = companion.into_iter().chain([(args.file.clone(), args.kind.scenario())]).collect::<Vec<_>>();
    // Looked at before any is written, so that none is left over from an attempt that failed.
    let is_taken = |file: &Path| file.symlink_metadata().is_ok();
    let is_named_twice = files.len() > 1 && files[0].0 == args.file;
    if let Some((taken, _)) = files.iter().find(|(file, _)| is_taken(file) || is_named_twice) {
        return Err(refused(taken, &io::ErrorKind::AlreadyExists.into()));
    }
    for (file, text) in &files {
        write_new(file, &named(text, file)).map_err(|error| refused(file, &error))?;
    }
    let names = files.iter().map(|(file, _)| file.display().to_string()).collect::<Vec<_>>();
    let file = args.file.display();
    // A closed pipe is the reader's choice, and the files stand.
    let _ = writeln!(
        io::stdout(),
        "wrote {}; it needs no server:\n  tonnage check {file}\n  tonnage rehearse {file}\n  tonnage run {file}",
        names.join(" and ")
    );
    Ok(Exit::Done)
}

/// A text whose commands name the file it goes to.
fn named(text: &str, file: &Path) -> String {
    match file.file_name().and_then(|name| name.to_str()) {
        Some(name) if !name.contains(char::is_control) => text.replace("scenario.toml", name),
        _ => text.to_owned(),
    }
}

fn write_new(file: &Path, text: &str) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).open(file)?.write_all(text.as_bytes())
}

fn refused(file: &Path, error: &io::Error) -> Failure {
    let file = file.display();
    Failure::usage(match error.kind() {
        io::ErrorKind::AlreadyExists => {
            format!("{file} exists already\n  help: name another file: tonnage init FILE")
        }
        _ => format!("{file} cannot be written: {error}"),
    })
}
