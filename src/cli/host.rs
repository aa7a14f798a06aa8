//! The machine, and what it says of its time of day.
//!
//! The kernel tells the state of its clock by `adjtimex` alone, which no safe interface offers; what can be had
//! without is the mark that systemd's time service leaves. Where it is missing, nothing is claimed.

use std::fs;
use std::path::Path;

use crate::results::manifest::Host;

/// Exists once systemd-timesyncd has set the clock from a server since boot.
const TIMESYNC_MARK: &str = "/run/systemd/timesync/synchronized";

/// This machine.
pub(super) fn host() -> Host {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let is_synchronised = Path::new(TIMESYNC_MARK).exists();
    Host {
        name: Some(name.trim()).filter(|name| !name.is_empty()).unwrap_or("unknown").to_owned(),
        origin_unix_ns: None,
        synchronised: is_synchronised.then_some(true),
        synchronised_by: is_synchronised.then(|| "systemd-timesyncd".to_owned()),
    }
}
