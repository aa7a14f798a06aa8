//! A folder of its own for each test, and the binary running in it.

use std::fs::{self, File};
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nix::pty::openpty;
use tempfile::TempDir;

/// How long anything may take on a busy machine before the test gives up, in looks of [`LOOK`].
const LOOKS: u32 = 6_000;
const LOOK: Duration = Duration::from_millis(20);

/// Where the binary is.
pub(crate) fn binary() -> &'static Path {
    assert_cmd::cargo::cargo_bin!("tonnage")
}

/// Waits until `holds`.
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..LOOKS {
        if holds() {
            return;
        }
        thread::sleep(LOOK);
    }
    panic!("it never came to pass that {what}");
}

/// An empty folder that the binary runs in, with no key in its environment.
pub(crate) struct Sandbox {
    folder: TempDir,
    started: AtomicU32,
}

impl Sandbox {
    pub(crate) fn new() -> Sandbox {
        Sandbox { folder: tempfile::tempdir().unwrap(), started: AtomicU32::new(0) }
    }

    /// One with the scenario `x.toml`.
    pub(crate) fn with(scenario: &str) -> Sandbox {
        let sandbox = Sandbox::new();
        sandbox.write("x.toml", scenario);
        sandbox
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    /// Runs the binary to its end.
    pub(crate) fn tonnage(&self, arguments: &[&str]) -> Ended {
        self.start(arguments).wait()
    }

    /// Starts the binary.
    pub(crate) fn start(&self, arguments: &[&str]) -> Running {
        let mut command = Command::new(binary());
        command.args(arguments);
        self.spawn(command)
    }

    /// Runs a line of the shell to its end; `$0` is the binary.
    pub(crate) fn shell(&self, line: &str) -> Ended {
        let mut command = Command::new("sh");
        command.arg("-c").arg(line).arg(binary());
        self.spawn(command).wait()
    }

    /// Starts `command` in the folder. What it prints goes to files, so that it never waits for a reader.
    pub(crate) fn spawn(&self, command: Command) -> Running {
        let [out, err] = self.outputs();
        let to = Stdio::from(File::create(&err).unwrap());
        Running { child: self.begin(command, &out, to), out, err, screen: None }
    }

    /// The same with standard error on a terminal; what it shows is kept all the same.
    pub(crate) fn spawn_on_terminal(&self, command: Command) -> Running {
        let [out, err] = self.outputs();
        let terminal = openpty(None, None).unwrap();
        let (mut screen, mut kept) = (File::from(terminal.master), File::create(&err).unwrap());
        let child = self.begin(command, &out, Stdio::from(terminal.slave));
        // It ends with an error once nobody writes any more.
        let screen = thread::spawn(move || drop(io::copy(&mut screen, &mut kept)));
        Running { child, out, err, screen: Some(screen) }
    }

    fn outputs(&self) -> [PathBuf; 2] {
        let number = self.started.fetch_add(1, Ordering::Relaxed);
        ["out", "err"].map(|name| self.path(&format!(".{name}-{number}")))
    }

    fn begin(&self, mut command: Command, out: &Path, err: Stdio) -> Child {
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        command.env_remove("OPENAI_API_KEY");
        command.stdout(File::create(out).unwrap()).stderr(err).spawn().unwrap()
    }
}

/// The binary at work; killed when dropped.
pub(crate) struct Running {
    child: Child,
    out: PathBuf,
    err: PathBuf,
    /// Keeps what the terminal shows.
    screen: Option<JoinHandle<()>>,
}

impl Running {
    pub(crate) fn stdout(&self) -> String {
        fs::read_to_string(&self.out).unwrap()
    }

    pub(crate) fn stderr(&self) -> String {
        fs::read_to_string(&self.err).unwrap()
    }

    /// Sends the signal of this name.
    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("sh").arg("-c").arg(format!("kill -{name} {}", self.child.id())).status();
        assert!(sent.unwrap().success());
    }

    pub(crate) fn wait(mut self) -> Ended {
        let mut status = None;
        eventually("the program ends", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        let status = status.unwrap();
        if let Some(screen) = self.screen.take() {
            screen.join().unwrap();
        }
        let ended =
            Ended { code: status.code(), signal: status.signal(), out: self.stdout(), err: self.stderr() };
        assert!(!ended.err.contains("panicked"), "{}", ended.err);
        ended
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended already, as a rule.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How it ended, and what it printed.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ended {
    /// Asserts the exit code, and shows all that was printed where it is another one.
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Ended {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    /// Asserts that standard error has each of `words`.
    #[track_caller]
    pub(crate) fn says(self, words: &[&str]) -> Ended {
        for word in words {
            assert!(self.err.contains(word), "`{word}` is missing from {self:#?}");
        }
        self
    }
}
