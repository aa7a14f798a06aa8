//! One line of progress.

use std::time::Duration;

use crate::stats::Progress;

/// How phase `phase` gets on, `elapsed` after run start. `planned` is how many requests the run will send in all,
/// where that is known.
pub fn progress_line(
    progress: &Progress,
    phase: &str,
    duration: Option<Duration>,
    planned: Option<u64>,
    elapsed: Duration,
) -> String {
    let in_flight = progress.sent.saturating_sub(progress.ended - progress.unsent);
    let failed = progress.ended - progress.unsent - progress.ok;
    let mut line = format!("{:>4} s  {phase}", elapsed.as_secs());
    if let Some(duration) = duration {
        let into = elapsed.saturating_sub(progress.phase_start).min(duration);
        line += &format!(" {}/{} s", into.as_secs(), duration.as_secs_f64());
    }
    let of = planned.map_or(String::new(), |planned| format!(" of {planned}"));
    line += &format!("  {}{of} sent, {in_flight} in flight, {} ok", progress.sent, progress.ok);
    for (count, name) in [(failed, "failed"), (progress.unsent, "not sent")] {
        if count > 0 {
            line += &format!(", {count} {name}");
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_counts_what_is_sent_open_and_failed() {
        let progress =
            Progress { phase: 0, phase_start: Duration::from_secs(2), sent: 10, ended: 8, ok: 5, unsent: 1 };
        let (thirty, twelve) = (Duration::from_secs(30), Duration::from_secs(12));
        let line = progress_line(&progress, "steady", Some(thirty), None, twelve);
        assert_eq!(line, "  12 s  steady 10/30 s  10 sent, 3 in flight, 5 ok, 2 failed, 1 not sent");
        let line = progress_line(&progress, "all", None, Some(480), twelve);
        assert_eq!(line, "  12 s  all  10 of 480 sent, 3 in flight, 5 ok, 2 failed, 1 not sent");
    }
}
