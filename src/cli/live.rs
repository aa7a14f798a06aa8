//! Progress on standard error: a line that renews itself on a terminal, else one line every ten seconds.

use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use crate::report::live::progress_line;
use crate::scenario::Scenario;
use crate::stats::Progress;

const LINE_EVERY: Duration = Duration::from_secs(10);

/// Shows how a run gets on.
pub(super) struct Live {
    phases: Vec<(String, Option<Duration>)>,
    renews: bool,
    next_line: Duration,
    shown: bool,
}

impl Live {
    /// For `scenario`; nothing has been shown yet.
    pub(super) fn new(scenario: &Scenario) -> Live {
        Live {
            phases: scenario.phases.iter().map(|phase| (phase.name.clone(), phase.duration)).collect(),
            renews: std::io::stderr().is_terminal(),
            next_line: LINE_EVERY,
            shown: false,
        }
    }

    pub(super) fn show(&mut self, progress: &Progress, elapsed: Duration) {
        let (name, duration) = &self.phases[progress.phase as usize];
        let line = progress_line(progress, name, *duration, elapsed);
        // Nobody may be looking any more; that is no reason to stop.
        if self.renews {
            let _ = write!(std::io::stderr(), "\r{line}\x1b[K");
            self.shown = true;
        } else if elapsed >= self.next_line {
            self.next_line += LINE_EVERY;
            let _ = writeln!(std::io::stderr(), "{line}");
        }
    }

    /// Leaves an empty line for what follows.
    pub(super) fn clear(&mut self) {
        if self.shown {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}
