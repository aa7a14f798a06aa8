//! Results as people and programs read them.

mod chart;
pub mod course;
mod figure;
pub mod html;
pub mod json;
pub mod live;
pub mod terminal;

#[cfg(test)]
mod sample;
