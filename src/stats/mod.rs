//! Statistics over request records: pure, no I/O.

pub mod slo;

pub use slo::{Slo, SloMetric};
