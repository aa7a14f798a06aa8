//! The real binary, from outside: what it prints, how it exits, and which files it leaves, whatever happens.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in what its cases share too")]

#[path = "cli/analysis.rs"]
mod analysis;
#[path = "cli/answers.rs"]
mod answers;
#[path = "cli/capacity.rs"]
mod capacity;
#[path = "cli/disk.rs"]
mod disk;
#[path = "cli/interrupt.rs"]
mod interrupt;
#[path = "cli/lengths.rs"]
mod lengths;
#[path = "cli/output.rs"]
mod output;
#[path = "cli/readiness.rs"]
mod readiness;
#[path = "cli/rehearse.rs"]
mod rehearse;
#[path = "cli/results.rs"]
mod results;
#[path = "cli/sandbox.rs"]
mod sandbox;
#[path = "cli/scale.rs"]
mod scale;
#[path = "cli/scenarios.rs"]
mod scenarios;
#[path = "cli/scraping.rs"]
mod scraping;
#[path = "cli/secrets.rs"]
mod secrets;
#[path = "cli/server.rs"]
mod server;
#[path = "cli/shards.rs"]
mod shards;
#[path = "cli/sim.rs"]
mod sim;
#[path = "cli/sweep.rs"]
mod sweep;
#[path = "cli/target.rs"]
mod target;
#[path = "cli/terminal.rs"]
mod terminal;
#[path = "cli/texts.rs"]
mod texts;
#[path = "cli/tokens.rs"]
mod tokens;
#[path = "cli/usage.rs"]
mod usage;
#[path = "cli/verdict.rs"]
mod verdict;
