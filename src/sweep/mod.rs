//! Scenarios run again and again: which run comes next. Pure; the command line runs them.

pub mod capacity;
pub mod grid;

pub use capacity::Search;
pub use grid::{Grid, Run};
