//! What integration tests share: a server that does as it is told, and a client in front of it.
//!
//! [`frames`] has the events of a chat stream, [`script`] says what a server does with a request and when,
//! [`server`] plays scripts in memory under the virtual clock or over loopback, [`bench`] sends requests to it
//! and tells what became of them.
#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "each test file compiles this module for itself, uses its part of it, and fails by a panic"
)]

pub(crate) mod bench;
pub(crate) mod frames;
pub(crate) mod script;
pub(crate) mod server;
pub(crate) mod tls;
