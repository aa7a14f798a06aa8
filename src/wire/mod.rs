//! Readers of what servers put on the wire.
//!
//! Pure and incremental: no I/O, no time. The caller feeds bytes as they come, cut anywhere, and is handed what
//! they contain.

pub mod chunks;
pub mod exposition;
mod framing;
pub mod ndjson;
pub mod sse;

use std::error::Error;
use std::fmt;

pub use framing::{Framing, Parser};

/// Largest line and largest event by default: 16 MiB.
pub const EVENT_LIMIT_BYTES: usize = 16 << 20;

/// Buffers larger than this are given back after the event that needed them.
const RETAINED_BYTES: usize = 64 << 10;

/// A line or an event was larger than the parser's limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overflow {
    /// The limit.
    pub limit_bytes: usize,
}

impl fmt::Display for Overflow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an event of the stream is larger than {} bytes", self.limit_bytes)
    }
}

impl Error for Overflow {}

fn empty(buffer: &mut Vec<u8>) {
    buffer.clear();
    buffer.shrink_to(RETAINED_BYTES);
}
