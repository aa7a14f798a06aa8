//! The waist of the program: what a run says about itself.
//!
//! The sender emits [`Event`]s and never waits; everything after it (files, statistics, progress, verdict) is a
//! fold over them. An exchange leaves a [`Timeline`] in exact clock time; closing it together with what was
//! [`Planned`] gives a [`RequestRecord`], whose instants are whole microseconds from run start. Every figure,
//! live or later, is computed from records.

mod event;
mod grade;
mod outcome;
mod planned;
mod row;
mod server;
mod timeline;

pub use event::{Ended, EndedBy, Event, Fate, Slot};
pub use grade::{Grade, Verdict};
pub use outcome::Outcome;
pub use planned::{Needle, Planned};
pub use row::{GapFigures, RequestRecord};
pub use server::{ExtraSample, Scraped, ServerFigure, ServerFigures, ServerSample};
pub use timeline::{Reads, Stamp, StampSource, Texts, Timeline, TokenSource, Usage};
