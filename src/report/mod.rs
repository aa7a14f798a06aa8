//! Results as people and programs read them.

mod figure;
pub mod json;
pub mod live;
pub mod terminal;

#[cfg(test)]
mod sample;
