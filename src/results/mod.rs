//! Results on disk: which columns there are, and how they get into files.
//!
//! [`Writer`] makes the folder and fills it; [`RequestRow::COLUMNS`], [`tables`] and [`Manifest`] say with what. [`reader`] turns a
//! folder back into figures, and [`merge`] those of a run's shards into one.

pub mod analysis;
mod cells;
pub mod columns;
pub mod details;
pub mod manifest;
pub mod memory;
pub mod merge;
pub mod objectives;
pub mod points;
mod prune;
pub mod reader;
pub mod search;
pub mod tables;
pub mod text;
pub mod writer;

pub use columns::RequestRow;
pub use manifest::Manifest;
pub use reader::{Folder, ReadError};
pub use writer::{Place, ResultsError, Writer};
