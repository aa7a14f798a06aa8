//! Readers of what servers put on the wire.
//!
//! Pure and incremental: no I/O, no time. The caller feeds bytes as they come, cut anywhere, and is handed what
//! they contain.

pub mod sse;
