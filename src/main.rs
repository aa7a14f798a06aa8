//! The binary: all of it is [`tonnage::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    tonnage::cli::main()
}
