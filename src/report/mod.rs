//! Results as people and programs read them.

pub(crate) mod figure;
pub mod json;
pub mod live;
pub mod terminal;

#[cfg(test)]
mod sample;
