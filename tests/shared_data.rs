//! Real data sets through the real binary, and what real servers wrote through the decoders.
//!
//! The data is not part of this repository and has its own licences. It is expected beside the crate's folder:
//! `../shared/data` with the data sets, `../shared/wire` with the captures. Without the feature `shared-data`
//! nothing here is built.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in what its cases share too")]

#[path = "shared_data/captures.rs"]
mod captures;
#[path = "shared_data/data_sets.rs"]
mod data_sets;
#[path = "shared_data/problems.rs"]
mod problems;
#[expect(dead_code, reason = "tests/cli.rs uses the rest")]
#[path = "cli/results.rs"]
mod results;
#[expect(dead_code, reason = "tests/cli.rs uses the rest")]
#[path = "cli/sandbox.rs"]
mod sandbox;

use std::path::PathBuf;

/// A folder of the shared data.
fn shared(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared").join(name);
    assert!(path.is_dir(), "{} is not there: these tests need it", path.display());
    path
}
