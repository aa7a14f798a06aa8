//! One exchange with a scripted server: what its timeline says, to the nanosecond.
#![expect(clippy::unwrap_used, reason = "a test fails by a panic, its helpers too")]

mod support;

#[path = "exchange/apis.rs"]
mod apis;
#[path = "exchange/bodies.rs"]
mod bodies;
#[path = "exchange/broken.rs"]
mod broken;
#[path = "exchange/connections.rs"]
mod connections;
#[path = "exchange/figures.rs"]
mod figures;
#[path = "exchange/http2.rs"]
mod http2;
#[path = "exchange/limits.rs"]
mod limits;
#[path = "exchange/parsing.rs"]
mod parsing;
#[path = "exchange/preflight.rs"]
mod preflight;
#[path = "exchange/refusals.rs"]
mod refusals;
#[path = "exchange/request.rs"]
mod request;
#[path = "exchange/retries.rs"]
mod retries;
#[path = "exchange/stamps.rs"]
mod stamps;
#[path = "exchange/tcp.rs"]
mod tcp;
#[path = "exchange/tls.rs"]
mod tls;
#[path = "exchange/ways.rs"]
mod ways;
