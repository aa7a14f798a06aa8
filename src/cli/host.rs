//! The machine: its memory, and what it says of its time of day.
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

/// Memory that this process may have: the machine's, or less where a control group of its own sets a limit.
pub(super) fn memory_bytes() -> Option<u64> {
    let machine = fs::read_to_string("/proc/meminfo").ok().as_deref().and_then(total_bytes);
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let own = groups.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default();
    let limit = |folder: &Path| fs::read_to_string(folder.join("memory.max")).ok()?.trim().parse().ok();
    let root = Path::new("/sys/fs/cgroup");
    let path = root.join(own);
    let groups = path.ancestors().take_while(|folder| folder.starts_with(root));
    groups.filter_map(limit).chain(machine).min()
}

/// What `/proc/meminfo` says of all memory.
fn total_bytes(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1 << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_told_in_bytes() {
        assert_eq!(total_bytes("MemTotal:       16303428 kB\nMemFree: 1 kB\n"), Some(16_303_428 << 10));
        assert_eq!(total_bytes("MemFree: 1 kB\n"), None);
        assert_eq!(total_bytes("MemTotal: many\n"), None);
        assert!(memory_bytes().is_some_and(|bytes| bytes > 1 << 20), "this machine tells");
    }
}
