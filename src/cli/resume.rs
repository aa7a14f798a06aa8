//! `--resume`: an interrupted sweep, taken up where it was left.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::exit::Failure;
use crate::results::manifest::{PointEntry, PointState, State};
use crate::results::{Manifest, reader};
use crate::scenario::{Scenario, resolved};

/// The folder of an interrupted sweep.
pub(super) struct Resume {
    pub(super) folder: PathBuf,
    /// Its manifest, with what is to be done again left out.
    pub(super) manifest: Manifest,
}

impl Resume {
    pub(super) fn read(folder: &Path) -> Result<Resume, Failure> {
        let mut manifest = reader::read_manifest(folder).map_err(Failure::usage)?;
        if manifest.state == State::Complete {
            let path = folder.display();
            return Err(Failure::usage(format!(
                "{path} is complete: there is nothing left to do\n  help: `tonnage report {path}` tells it again"
            )));
        }
        manifest.points.retain(|entry| entry.state != PointState::Interrupted);
        let done = |point: Option<u32>, repeat: Option<u32>| is_done(&manifest.points, (point, repeat));
        let phases =
            manifest.phases.iter().filter(|entry| done(entry.point, entry.repeat)).cloned().collect();
        manifest.phases = phases;
        let points = &manifest.points;
        manifest.lengths.retain(|entry| is_done(points, (entry.point, entry.repeat)));
        manifest.state = State::Running;
        manifest.verdict = None;
        Ok(Resume { folder: folder.to_owned(), manifest })
    }

    /// Refuses a scenario that is not the one of the folder.
    pub(super) fn check(&self, scenario: &Scenario) -> Result<(), Failure> {
        let path = self.folder.join("scenario.toml");
        let then = std::fs::read_to_string(&path);
        let then =
            then.map_err(|error| Failure::usage(format!("cannot read {}: {error}", path.display())))?;
        if scenario.sweep.is_none() && scenario.capacity.is_none() {
            return Err(Failure::usage(
                "only a sweep or search can be resumed, and the scenario has none\n  help: run it anew",
            ));
        }
        let now = resolved(scenario);
        if now == then {
            return Ok(());
        }
        let differing = then.lines().zip(now.lines()).find(|(then, now)| then != now);
        let (then, now) = differing.unwrap_or(("it is of another length", "it is of another length"));
        Err(Failure::usage(format!(
            "the scenario is not the one of {}: it was `{then}` and is `{now}`\n  \
             help: name the same file and the same --set and --target as before",
            self.folder.display()
        )))
    }

    pub(super) fn is_done(&self, key: (Option<u32>, Option<u32>)) -> bool {
        is_done(&self.manifest.points, key)
    }

    pub(super) fn salt(&self) -> Option<u64> {
        u64::from_str_radix(self.manifest.salt.as_deref()?, 16).ok()
    }

    /// When the last run that is kept was over, from run start.
    pub(super) fn end(&self) -> Duration {
        let ends = self.manifest.phases.iter().flat_map(|entry| [entry.end_s, entry.drained_s]);
        Duration::try_from_secs_f64(ends.flatten().fold(0.0, f64::max)).unwrap_or_default()
    }
}

impl Resume {
    /// How long ago, at `now`, its time axis began.
    pub(super) fn elapsed(&self, now: jiff::Timestamp) -> Duration {
        let began = self.manifest.started.parse::<jiff::Timestamp>().unwrap_or(now);
        let since = Duration::try_from(now.duration_since(began)).unwrap_or_default();
        // Clocks of the day may be set: never before what is there.
        since.max(self.end())
    }
}

fn is_done(points: &[PointEntry], key: (Option<u32>, Option<u32>)) -> bool {
    points.iter().any(|entry| (Some(entry.point), Some(entry.repeat)) == key)
}
