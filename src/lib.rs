//! Tonnage: a declarative, scenario-driven load generator for language-model servers.
//!
//! # The pipeline
//!
//! A scenario file is read and checked ([`scenario`]); it becomes a [`plan`] of sessions with exact due times; the
//! [`run`] sends each at its time through the [`client`], which turns one request into one timeline, stamped when
//! bytes arrive; everything that happens is an event ([`record`]) that [`collect`] folds into rows ([`results`])
//! and figures ([`stats`]); [`report`] puts them into words. [`sim`] is the server that stands in for a real one.
//!
//! # Layers
//!
//! A module imports lower layers only; `tests/architecture.rs` holds that.
//!
//! | layer | modules |
//! | --- | --- |
//! | 7 | [`cli`]: the only place that prints, exits and reads the environment |
//! | 6 | [`collect`], [`report`], [`sweep`] |
//! | 5 | [`run`], [`results`], [`scrape`] |
//! | 4 | [`plan`], [`client`] |
//! | 3 | [`scenario`] |
//! | 2 | [`stats`], [`protocol`], [`dataset`] |
//! | 1 | [`arrival`], [`wire`], [`sim`], [`prompt`], [`record`] |
//! | 0 | [`clock`], [`units`], [`seed`], [`diagnostic`], [`distribution`], [`blocks`] |
//!
//! # Time
//!
//! All time comes from [`clock`]. Under the virtual clock the whole pipeline runs exactly as it does against a
//! server, in one thread and no time:
//!
//! ```
//! use tonnage::clock::Clock;
//! use tonnage::units::Nanos;
//!
//! let woke_at = Clock::run_virtual(|clock| async move {
//!     clock.sleep_until(Nanos(123_456_789)).await;
//!     clock.now()
//! })?;
//! assert_eq!(woke_at, Nanos(123_456_789));
//! # Ok::<(), std::io::Error>(())
//! ```

pub mod arrival;
pub mod blocks;
pub mod cli;
pub mod client;
pub mod clock;
pub mod collect;
pub mod dataset;
pub mod diagnostic;
pub mod distribution;
pub mod plan;
pub mod prompt;
pub mod protocol;
pub mod record;
pub mod report;
pub mod results;
pub mod run;
pub mod scenario;
pub mod score;
pub mod scrape;
pub mod seed;
pub mod sim;
pub mod stats;
pub mod sweep;
pub mod units;
pub mod wire;
