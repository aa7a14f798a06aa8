//! A simulated language-model server.
//!
//! [`Engine`] is a pure step function that is told the time: continuous batching with chunked prefill, each
//! step as long as the [`CostModel`] of its [`Profile`] says. [`Server`] puts an OpenAI-compatible HTTP
//! interface around it, over any byte stream and under either clock; [`Embedded`] runs one on a thread of its
//! own.
//!
//! Modelled: queueing, the batch and its token budget, prefill and decode time, limits of context and of
//! answer. Not modelled: the KV cache (memory never runs out, no prefix is cached), sampling, and what words
//! mean.
//!
//! Nothing here knows the client. Where the scenario's tokenizer should count, it is injected as a
//! [`Tokenize`].

mod answer;
mod chat;
mod cost_model;
mod engine;
mod frames;
mod http;
mod problem;
mod profile;
mod tokenize;

pub use cost_model::{Batch, CostModel};
pub use engine::{Emission, Engine, Finish, Id, Refusal, Request, Step};
pub use http::{Embedded, Monitor, Options, Server, Status, bind};
pub use profile::{Impossible, Parameters, Profile};
pub use tokenize::{TEMPLATE_TOKENS_PER_MESSAGE, Tokenize, Words};
