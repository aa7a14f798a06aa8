//! How the program ends.

use std::fmt::Display;
use std::process::ExitCode;

/// Every way to end, by its exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exit {
    /// Done.
    Done,
    /// Something no rule foresees; the message says what.
    Unexpected,
    /// Bad usage or a bad scenario.
    Usage,
    /// The target is unreachable or not ready.
    Unreachable,
    /// The run is over, but its numbers are not valid.
    Invalid,
    /// A bound was missed.
    Missed,
    /// SIGINT; partial results are kept.
    Interrupted,
    /// SIGTERM; partial results are kept.
    Terminated,
}

impl Exit {
    /// The number the shell sees.
    pub(super) fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Unexpected => 1,
            Exit::Usage => 2,
            Exit::Unreachable => 3,
            Exit::Invalid => 4,
            Exit::Missed => 5,
            Exit::Interrupted => 130,
            Exit::Terminated => 143,
        }
    }

    /// Ends the process here and now, as a kill would.
    #[expect(clippy::disallowed_methods, reason = "for a user who asks for the third time")]
    pub(super) fn at_once(self) -> ! {
        std::process::exit(self.code().into())
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

/// An end before any result, with what to tell the user.
#[derive(Debug)]
pub(super) struct Failure {
    /// How to end.
    pub(super) exit: Exit,
    /// What to say, complete.
    pub(super) message: String,
}

impl Failure {
    /// An end as `exit` for an error: what is wrong, and behind a line break `help: …` what to do about it.
    pub(super) fn new(exit: Exit, error: impl Display) -> Failure {
        Failure { exit, message: format!("error: {error}") }
    }

    /// Something no rule foresees.
    pub(super) fn unexpected(error: impl Display) -> Failure {
        Failure::new(Exit::Unexpected, error)
    }

    /// Bad usage or a bad scenario.
    pub(super) fn usage(error: impl Display) -> Failure {
        Failure::new(Exit::Usage, error)
    }

    /// Problems that are already written out in full.
    pub(super) fn problems(rendered: String) -> Failure {
        Failure { exit: Exit::Usage, message: rendered }
    }
}
