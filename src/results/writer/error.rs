//! Results folders that cannot be made or written.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// A results folder that could not be made or written.
#[derive(Debug)]
pub enum ResultsError {
    /// Something is there already.
    Exists {
        /// The folder.
        path: PathBuf,
    },
    /// It could not be made.
    Create {
        /// Folder or file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file of another folder could not be read.
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It could not be written to. What was written before stands, in whole rows.
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl fmt::Display for ResultsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ResultsError::Exists { path } => write!(
                f,
                "{} exists, and results are never overwritten: choose another folder with --out",
                path.display()
            ),
            ResultsError::Create { path, source } => {
                write!(f, "cannot create {}: {source}: {}", path.display(), remedy(source))
            }
            ResultsError::Read { path, source } => write!(f, "cannot read {}: {source}", path.display()),
            ResultsError::Write { path, source } => write!(
                f,
                "cannot write {}: {source}: {}; rows written so far are kept",
                path.display(),
                remedy(source)
            ),
        }
    }
}

impl std::error::Error for ResultsError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ResultsError::Exists { .. } => None,
            ResultsError::Create { source, .. }
            | ResultsError::Read { source, .. }
            | ResultsError::Write { source, .. } => Some(source),
        }
    }
}

fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free space, or choose a folder on another disk with --out"
        }
        _ => "choose a folder that can be written to with --out",
    }
}
