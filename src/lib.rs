//! Tonnage: a declarative, scenario-driven load generator for language-model servers.

pub mod arrival;
pub mod clock;
pub mod prompt;
pub mod record;
pub mod report;
pub mod results;
pub mod seed;
pub mod stats;
pub mod units;
pub mod cli {
    //! placeholder
    /// .
    pub fn main() -> std::process::ExitCode {
        std::process::ExitCode::SUCCESS
    }
}
