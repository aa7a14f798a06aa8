//! Scenarios run again and again: which run comes next. Pure; the command line runs them.

pub mod grid;

pub use grid::{Grid, Run};
