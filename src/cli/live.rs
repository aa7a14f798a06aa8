//! What standard error says while a run goes on: a line that renews itself on a terminal, else one line every ten
//! seconds; and a word on whatever takes long before it.

use std::io::{IsTerminal as _, Write as _};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use crate::report::live::progress_line;
use crate::scenario::Scenario;
use crate::stats::Progress;

/// Where lines stay, every so many are shown.
const LINE_EVERY: u64 = 10;
/// Work that takes longer than this is spoken of.
pub(super) const PATIENCE: Duration = Duration::from_secs(1);
/// Back to the start of the line, which is emptied.
const RENEW: &str = "\r\x1b[K";

/// Shows how a run gets on.
pub(super) struct Live {
    phases: Vec<(String, Option<Duration>)>,
    planned: Option<u64>,
    /// Which run of a sweep it is.
    run: Option<String>,
    renews: bool,
    looks: u64,
}

impl Live {
    /// For `scenario`, of which `planned` requests are known to come; nothing has been shown yet.
    pub(super) fn new(scenario: &Scenario, planned: Option<u64>) -> Live {
        Live {
            phases: scenario.phases.iter().map(|phase| (phase.name.clone(), phase.duration)).collect(),
            planned,
            run: None,
            renews: std::io::stderr().is_terminal(),
            looks: 0,
        }
    }

    /// The same for a run of a sweep, called `title`.
    #[must_use]
    pub(super) fn of_run(self, title: String) -> Live {
        Live { run: Some(title), ..self }
    }

    /// To be called once a second. `elapsed` is the run's own time, which may be virtual.
    pub(super) fn show(&mut self, progress: &Progress, elapsed: Duration) {
        let Some((name, duration)) = self.phases.get(progress.phase as usize) else { return };
        let mut line = progress_line(progress, name, *duration, self.planned, elapsed);
        if let Some(run) = &self.run {
            line = format!("[{run}] {}", line.trim_start());
        }
        // Nobody may be looking any more; that is no reason to stop.
        if self.renews {
            // Without wrapping, so that a narrow window shows the beginning on one line.
            let _ = write!(std::io::stderr(), "{RENEW}\x1b[?7l{line}\x1b[?7h");
        } else if self.looks > 0 && self.looks.is_multiple_of(LINE_EVERY) {
            let _ = writeln!(std::io::stderr(), "{line}");
        }
        self.looks += 1;
    }

    /// Leaves an empty line for what follows.
    pub(super) fn clear(&self) {
        if self.renews && self.looks > 0 {
            let _ = write!(std::io::stderr(), "{RENEW}");
        }
    }
}

/// Says something at once, in place of a line that renews itself.
pub(super) fn say(text: &str) {
    let mut err = std::io::stderr();
    let lead = if err.is_terminal() { RENEW } else { "" };
    let _ = writeln!(err, "{lead}{text}");
}

/// Does `work`; says that it is `doing` so if it takes longer than a second.
pub(super) fn patiently<T>(doing: &str, work: impl FnOnce() -> T) -> T {
    thread::scope(|scope| {
        let (done, is_done) = channel::<()>();
        let wait = move || {
            if is_done.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                say(&format!("{doing} …"));
            }
        };
        // Where no thread can be had, the work is done in silence.
        let waiting = thread::Builder::new().spawn_scoped(scope, wait);
        let result = work();
        drop(done);
        drop(waiting);
        result
    })
}
