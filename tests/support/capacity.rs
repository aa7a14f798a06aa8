//! A search of a capacity that is known: the simulated server as a textbook queue, one request at a time, each taking
//! 50 ms.
//!
//! By Erlang's law of waiting in an M/D/1 queue, P(W ≤ x) = (1 − λD) Σₖ (−λ(x − kD))ᵏ/k! · e^{λ(x − kD)}, nine in ten
//! requests see their first token within 200 ms up to 13.879 requests a second.

/// Requests a second at which the p90 of TTFT is 200 ms.
pub(crate) const CAPACITY: f64 = 13.879;

/// The server, `queue.toml`.
pub(crate) const PROFILE: &str = "[fixed]\n\n[engine]\nstep_overhead_us = 50000\nmax_num_seqs = 1\n";

/// The share of searches that may be wrong.
pub(crate) const MAY_ERR: f64 = 0.2;

/// How far apart, as a share, what holds and what fails may be.
pub(crate) const PRECISION: f64 = 0.3;

/// The search, `x.toml`.
pub(crate) const SEARCH: &str = r#"
name = "queue"
seed = 1

[target]
sim.profile = "queue.toml"

[[workload]]
name = "questions"
prompt.synthetic.words = 5
output.max_tokens = 1

[[phase]]
name = "steady"
warm_up = "3s"
duration = "15s"
load.poisson.rate = "1/s"

[[objective]]
metric = "ttft"
percentile = 90
at_most = "200ms"

[capacity]
key = "phase.steady.load.poisson.rate"
from = "8/s"
to = "40/s"
precision = "30%"
confidence = "80%"
max_step = "2m"
"#;

/// How a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// What holds lies within the precision of the truth, and so does what fails.
    Within,
    /// Right as far as it goes, and further from the truth.
    Wide,
    /// It said that it does not know.
    Open,
    /// It said that a value holds that lies beyond the capacity by more than the precision.
    FalsePass,
    /// It said that a value fails that lies under it by more.
    FalseFail,
}

/// Judges the answer of a search.
pub(crate) fn judge(holds: Option<f64>, fails: Option<f64>, is_open: bool) -> Ended {
    let (low, high) = (CAPACITY / (1.0 + PRECISION), CAPACITY * (1.0 + PRECISION));
    match (holds, fails) {
        (Some(holds), _) if holds > high => Ended::FalsePass,
        (_, Some(fails)) if fails < low => Ended::FalseFail,
        _ if is_open => Ended::Open,
        (Some(holds), Some(fails)) if holds >= low && fails <= high => Ended::Within,
        _ => Ended::Wide,
    }
}
