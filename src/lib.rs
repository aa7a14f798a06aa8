//! Tonnage: a declarative, scenario-driven load generator for language-model servers.

pub mod arrival;
pub mod cli;
pub mod client;
pub mod clock;
pub mod collect;
pub mod dataset;
pub mod diagnostic;
pub mod distribution;
pub mod plan;
pub mod prompt;
pub mod protocol;
pub mod record;
pub mod report;
pub mod results;
pub mod run;
pub mod scenario;
pub mod score;
pub mod seed;
pub mod sim;
pub mod stats;
pub mod units;
pub mod wire;
