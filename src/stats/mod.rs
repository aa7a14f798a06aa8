//! Statistics over request records: pure, no I/O.
//!
//! [`Fold`] takes in rows and gives the summary; [`PerSecond`] takes the same rows and gives the course of the
//! run; [`verdict::judge`] says whether the figures can be trusted. What each figure means stands in
//! [`metrics::METRICS`].

pub mod analysis;
mod answers;
pub mod censored;
pub mod change;
pub mod client;
pub mod effective;
pub mod finding;
pub mod fold;
pub mod histogram;
pub mod interval;
pub mod memory;
pub mod metrics;
pub mod objective;
pub mod percentile;
mod progress;
pub mod quantile;
mod sample;
mod scope;
pub mod slo;
pub mod statistic;
mod tally;
pub mod thresholds;
pub mod timeline;
pub mod trend;
pub mod trial;
pub mod verdict;

pub use analysis::{Analysis, AnalysisRow};
pub use answers::AccuracyRow;
pub use client::ClientFigures;
pub use finding::Finding;
pub use fold::{Fold, GapRow, PhaseSetup, SummaryRow, WorkloadSetup};
pub use histogram::Histogram;
pub use interval::Interval;
pub use memory::{ElementType, KvLayout, ModelMemory};
pub use objective::{Judgement, Objective};
pub use percentile::Percentile;
pub use progress::Progress;
pub use scope::{Figure, Rate, Scope, Window};
pub use slo::{Slo, SloMetric};
pub use statistic::Statistic;
pub use tally::{Kept, RowEvents};
pub use thresholds::Thresholds;
pub use timeline::{PerSecond, TimelineRow};
pub use trial::Trial;
pub use verdict::{Figures, Verdict};

#[cfg(test)]
pub(crate) mod test_rows;
