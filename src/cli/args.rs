//! The command line.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use super::check::CheckArgs;
use super::completions::CompletionsArgs;
use super::init::InitArgs;
use super::man::ManArgs;
use super::schema::SchemaArgs;
use super::score::ScoreArgs;
use super::shard::ShardArgs;

const RUN_EXAMPLES: &str = "\
Examples:
  tonnage run scenarios/quickstart.toml
  tonnage run chat.toml --target http://10.0.0.5:8000 --set phase.steady.load.poisson.rate=12/s
  tonnage run chat.toml --out results/monday --json > monday.json

Exit codes:
  0 done · 1 unexpected · 2 bad usage or scenario · 3 target unreachable or not ready
  4 ran, but the numbers are not valid · 5 an objective was missed
  130, 143 interrupted, partial results kept";

const REHEARSE_EXAMPLES: &str = "\
Examples:
  tonnage rehearse scenarios/quickstart.toml
  tonnage rehearse chat.toml --profile 8b-h100 --set phase.steady.load.poisson.rate=40/s";

const SIM_EXAMPLES: &str = "\
Examples:
  tonnage sim
  tonnage sim --listen 127.0.0.1:8000 --profile 72b-4x64gb
  tonnage sim --profile my-server.toml --fault status=503:1s@10% --fault reset=20@1/50
  curl http://127.0.0.1:8000/v1/models";

const COMPARE_EXAMPLES: &str = "\
Examples:
  tonnage compare results/monday results/tuesday
  tonnage compare results/a1 --base results/a2 --base results/a3 results/b1 results/b2 results/b3 --csv
  tonnage compare results/monday results/tuesday --worse-than 10%

Exit codes:
  0 nothing is worse by more than the bound · 2 not comparable · 5 something is";

const MERGE_EXAMPLES: &str = "\
Examples:
  tonnage run chat.toml --shard 0/2 --start-at 2026-01-02T03:04:05Z --out results/part-0
  tonnage merge results/part-0 results/part-1 --out results/whole

Exit codes:
  0 done · 2 no set of shards of one run · 4 the numbers of the whole are not valid · 5 an objective was missed";

const REPORT_EXAMPLES: &str = "\
Examples:
  tonnage report results/quickstart-20260101T120000Z
  tonnage report results/* --json > summaries.jsonl";

/// Declarative, scenario-driven load generator for language-model servers.
#[derive(Debug, Parser)]
#[command(version, about, arg_required_else_help = true, disable_help_subcommand = true)]
pub(super) struct Cli {
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Run a scenario and write its results
    Run(RunArgs),
    /// Run a scenario against the simulated server in virtual time: an hour in seconds, no sockets
    Rehearse(RehearseArgs),
    /// Serve the simulated server for other tools
    Sim(SimArgs),
    /// Say what is wrong with scenarios and what they would do, without any traffic
    Check(CheckArgs),
    /// Check the answers of a file of predictions and truths
    Score(ScoreArgs),
    /// Write a scenario to start from
    Init(InitArgs),
    /// Print the JSON Schema of scenarios, or the reference of their keys
    Schema(SchemaArgs),
    /// Print completions for a shell
    Completions(CompletionsArgs),
    /// Print the manual
    Man(ManArgs),
    /// Tell a run again from its folder, and write a page with charts into it
    Report(ReportArgs),
    /// Compare runs figure by figure; exit code 5 where one is worse by more than a bound
    Compare(CompareArgs),
    /// Join the results of a run's shards to those of one run
    Merge(MergeArgs),
}

/// What `run` and `rehearse` share.
#[derive(Debug, Args)]
pub(super) struct ScenarioArgs {
    /// The scenario file
    pub(super) file: PathBuf,
    /// Set a key of the scenario: key.path=value, members of arrays by their name
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(super) overrides: Vec<String>,
    /// Write results into this folder, which must not exist [default: results/NAME-TIME]
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
    /// Go on with the interrupted sweep or search in this folder: runs that ended are kept, the others are made
    #[arg(long, value_name = "DIR", conflicts_with = "out")]
    pub(super) resume: Option<PathBuf>,
    /// Show neither progress nor warnings
    #[arg(long)]
    pub(super) quiet: bool,
    /// Print the summary as one JSON object
    #[arg(long)]
    pub(super) json: bool,
    /// Treat a sample that is too small as a failure (exit code 4)
    #[arg(long)]
    pub(super) strict: bool,
}

#[derive(Debug, Args)]
#[command(after_help = RUN_EXAMPLES)]
pub(super) struct RunArgs {
    #[command(flatten)]
    pub(super) scenario: ScenarioArgs,
    /// Measure this server instead of the scenario's, an embedded one too
    #[arg(long, value_name = "URL")]
    pub(super) target: Option<String>,
    #[command(flatten)]
    pub(super) part: ShardArgs,
}

#[derive(Debug, Args)]
#[command(after_help = REHEARSE_EXAMPLES)]
pub(super) struct RehearseArgs {
    #[command(flatten)]
    pub(super) scenario: ScenarioArgs,
    /// Simulate this server: a name or a profile file [default: the scenario's `target.sim.profile`, else 7b-24gb]
    #[arg(long, value_name = "NAME|FILE")]
    pub(super) profile: Option<String>,
    /// Let this go wrong on purpose, beside what the scenario says: FAULT@WHEN, as `status=503@10%`
    #[arg(long = "fault", value_name = "RULE")]
    pub(super) faults: Vec<String>,
}

#[derive(Debug, Args)]
#[command(after_help = SIM_EXAMPLES)]
pub(super) struct SimArgs {
    /// Listen here; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8000")]
    pub(super) listen: SocketAddr,
    /// The server to model: a name or a profile file
    #[arg(long, value_name = "NAME|FILE", default_value = "7b-24gb")]
    pub(super) profile: String,
    /// Let this go wrong on purpose: FAULT@WHEN, as `status=503:1s@10%` or `hang=5@1/20`; may be repeated
    #[arg(long = "fault", value_name = "RULE")]
    pub(super) faults: Vec<String>,
    /// Accept only requests with this variable's value as bearer key
    #[arg(long, value_name = "VARIABLE")]
    pub(super) api_key_env: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = REPORT_EXAMPLES)]
pub(super) struct ReportArgs {
    /// Folders of runs, killed ones too
    #[arg(required = true, value_name = "DIR")]
    pub(super) folders: Vec<PathBuf>,
    /// Print the summary as one JSON object
    #[arg(long)]
    pub(super) json: bool,
    /// Print every figure as CSV, as in summary.csv
    #[arg(long, conflicts_with = "json")]
    pub(super) csv: bool,
}

#[derive(Debug, Args)]
#[command(after_help = MERGE_EXAMPLES)]
pub(super) struct MergeArgs {
    /// Folders of all shards, in any order
    #[arg(required = true, value_name = "DIR")]
    pub(super) folders: Vec<PathBuf>,
    /// Write the results into this folder, which must not exist
    #[arg(long, value_name = "DIR")]
    pub(super) out: PathBuf,
    /// Print the summary as one JSON object
    #[arg(long)]
    pub(super) json: bool,
    /// Treat a sample that is too small as a failure (exit code 4)
    #[arg(long)]
    pub(super) strict: bool,
}

#[derive(Debug, Args)]
#[command(after_help = COMPARE_EXAMPLES)]
pub(super) struct CompareArgs {
    /// Folder of the run to compare with
    #[arg(value_name = "BASE")]
    pub(super) base: PathBuf,
    /// Folders of new runs, repeats of each other
    #[arg(required = true, value_name = "NEW")]
    pub(super) new: Vec<PathBuf>,
    /// Further repeats of the base: with three a side, intervals are those from run to run
    #[arg(id = "more", long = "base", value_name = "DIR")]
    pub(super) more: Vec<PathBuf>,
    /// The change from which it matters
    #[arg(long, value_name = "SHARE", default_value = "5%", value_parser = super::compare::share)]
    pub(super) worse_than: f64,
    /// Compare runs of different load all the same
    #[arg(long)]
    pub(super) anyway: bool,
    /// Print the table as CSV
    #[arg(long)]
    pub(super) csv: bool,
}
