//! A simulated language-model server.
//!
//! [`Engine`] is a pure step function that is told the time: continuous batching with chunked prefill over paged KV
//! memory with a prefix cache, each step as long as the [`CostModel`] of its [`Profile`] says. [`Server`] puts an
//! OpenAI-compatible HTTP interface around it, over any byte stream and under either clock; [`Embedded`] runs one on a
//! thread of its own.
//!
//! Modelled: queueing, the batch and its token budget, prefill and decode time, KV memory with preemption, the prefix
//! cache, limits of context and of answer. Not modelled: sampling, and what words mean.
//!
//! Nothing here knows the client. Where the scenario's tokenizer should count, it is injected as a [`Tokenize`].

mod answer;
mod ask;
mod body;
mod cost_model;
mod engine;
mod fault;
mod frames;
mod http;
mod knowledge;
mod kv_cache;
mod metrics;
mod prefix;
mod problem;
mod profile;
mod request;
mod tokenize;

pub use cost_model::{Batch, CostModel, FixedCost, Machine, Model, Roofline};
pub use engine::{Course, Emission, Engine, Step, Totals};
pub use fault::{FAULTS, FaultError, FaultPlan};
pub use http::{Embedded, Monitor, Options, Server, Status, bind};
pub use knowledge::{AnswerKey, NEEDLE, NEEDLE_QUESTION};
pub use prefix::{BlockHash, BlockHasher};
pub use profile::{Impossible, Parameters, Profile, Skill};
pub use request::{Finish, Id, Refusal, Request};
pub use tokenize::{TEMPLATE_TOKENS_PER_MESSAGE, Tokenize, Words};
