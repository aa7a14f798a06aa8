//! Tonnage: a declarative, scenario-driven load generator for language-model servers.

pub mod arrival;
pub mod clock;
pub mod dataset;
pub mod diagnostic;
pub mod distribution;
pub mod prompt;
pub mod protocol;
pub mod record;
pub mod scenario;
pub mod seed;
pub mod sim;
pub mod stats;
pub mod units;
pub mod wire;
pub mod cli {
    //! placeholder
    /// .
    pub fn main() -> std::process::ExitCode {
        std::process::ExitCode::SUCCESS
    }
}
