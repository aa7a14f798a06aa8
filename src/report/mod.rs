//! Results as people and programs read them.

pub mod analysis;
mod chart;
pub mod compare;
pub mod course;
pub(crate) mod figure;
pub mod html;
pub mod json;
pub mod live;
mod objective;
mod points;
pub mod terminal;

#[cfg(test)]
mod sample;
