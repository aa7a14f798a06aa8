//! Places that cannot be written to, from the start or in the middle of a run.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::results::{Results, TABLES};
use super::sandbox::{Ended, Sandbox, eventually};
use super::server::{Reply, Server};
use super::usage::{QUICK, quick_at};

/// More rows than any of the small places here holds.
fn endless() -> String {
    QUICK.replace("requests = 40", "duration = \"10m\"")
}

/// What holds after a file could not grow: a clean end, and all rows whole.
fn assert_kept(ended: Ended, folder: PathBuf) {
    ended.expect(1).says(&[
        "error: the run was stopped: cannot write",
        "--out",
        "rows written so far are kept",
    ]);
    let results = Results::at(folder);
    assert!(results.rows("requests.csv").len() > 20);
    for table in TABLES {
        results.rows(table);
    }
    results.manifest();
    results.read_by_python();
}

/// A file system of 128 KiB; `None` for those who may not mount one.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(at: PathBuf) -> Option<SmallDisk> {
        fs::create_dir(&at).unwrap();
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", "size=128k", "tmpfs"]).arg(&at).output();
        mounted.is_ok_and(|mounted| mounted.status.success()).then_some(SmallDisk(at))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // What stays mounted shows in the failure to remove the folder.
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_ends_the_run_with_what_was_written() {
    let sandbox = Sandbox::with(&endless());
    let Some(disk) = SmallDisk::mount(sandbox.path("disk")) else { return };
    let out = disk.0.join("r");
    let ended = sandbox.tonnage(&["run", "x.toml", "--out", &out.to_string_lossy()]);
    let file = out.join("requests.csv");
    assert_kept(ended.says(&[&file.to_string_lossy(), "free space"]), out);
}

#[test]
fn a_file_that_may_not_grow_ends_the_run_with_what_was_written() {
    for command in ["run", "rehearse"] {
        let sandbox = Sandbox::with(&endless());
        let line = format!("trap '' XFSZ; ulimit -f 200; exec \"$0\" {command} x.toml --out r");
        let ended = sandbox.shell(&line);
        assert_eq!(Results::at(sandbox.path("r")).manifest()["state"], "stopped");
        assert!(ended.out.lines().next().unwrap().ends_with("stopped"), "{}", ended.out);
        assert_kept(ended.says(&["r/requests.csv"]), sandbox.path("r"));
    }
}

#[test]
fn a_place_where_no_folder_can_be_made_is_said_before_any_load() {
    let server = Server::start(|_| Reply::Tokens(3));
    let sandbox = Sandbox::with(&quick_at(&server.url()));
    for out in ["x.toml/r", "/proc/r"] {
        let ended = sandbox.tonnage(&["run", "x.toml", "--out", out]).expect(1);
        assert_eq!(ended.out, "");
        ended.says(&["cannot create", out.trim_end_matches("/r"), "--out"]);
    }
    assert_eq!(server.posts(), 0);
}

#[test]
fn a_results_folder_that_vanishes_is_an_error_and_the_summary_is_printed() {
    let sandbox = Sandbox::with(&QUICK.replace("requests = 40", "duration = \"2s\""));
    let running = sandbox.start(&["run", "x.toml", "--out", "r"]);
    eventually("the run is on", || running.stderr().contains("time-outs:"));
    fs::remove_dir_all(sandbox.path("r")).unwrap();
    let ended = running.wait().expect(1).says(&["error: the results folder r was removed"]);
    assert!(ended.out.contains("ok of"), "{}", ended.out);
    assert!(!sandbox.has("r"));
}
