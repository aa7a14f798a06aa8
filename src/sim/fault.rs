//! What goes wrong on purpose: a short text says what and when.
//!
//! ```text
//! PLAN   RULE, RULE, …                        status=503:1s@10%, hang=3@1/20, idle-close=5s
//! RULE   FAULT or FAULT=VALUE, then WHENs     a rule with several WHENs needs all of them
//! WHEN   @10%  of the requests, by chance     @1/7  every seventh      @#7  the seventh alone
//!        @30s..60s  of the server's time
//! ```
//!
//! `docs/simulator.md` lists the faults; [`FAULTS`] is the same list. Chance follows from the seed and the number of
//! the request, so a plan does the same in every run.

mod manner;
mod parse;

use std::fmt;

use crate::seed::Seed;
use crate::units::Nanos;

pub(super) use self::manner::{
    ConnectionManner, Ending, ErrorShape, LineEnd, Manner, Missing, Role, Stage, UsageManner,
};
pub use self::parse::{FAULTS, FaultError};

/// Faults and when they happen.
#[derive(Clone, Debug, PartialEq)]
pub struct FaultPlan {
    seed: Seed,
    rules: Vec<Rule>,
}

impl Default for FaultPlan {
    /// Nothing goes wrong.
    fn default() -> FaultPlan {
        FaultPlan { seed: Seed(0), rules: Vec::new() }
    }
}

/// One fault and when it happens.
#[derive(Clone, Debug, PartialEq)]
struct Rule {
    /// As it was written: the name of its random stream.
    text: String,
    fault: Fault,
    /// All of these must hold.
    when: Vec<When>,
}

/// When a fault happens.
#[derive(Clone, Copy, Debug, PartialEq)]
enum When {
    /// To this share of requests, by chance.
    Share(f64),
    /// To every n-th, counted from 1.
    Every(u64),
    /// To the n-th alone.
    Only(u64),
    /// From the first to before the second of these times of the server's clock.
    Within(Nanos, Nanos),
}

/// A fault of one request or of one connection.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    Request(manner::RequestFault),
    Connection(manner::ConnectionFault),
}

impl FaultPlan {
    /// Reads a plan: rules with commas between them.
    ///
    /// # Errors
    /// When a rule is not one: which, and what is allowed.
    pub fn parse(text: &str) -> Result<FaultPlan, FaultError> {
        let rules = text.split(',').map(str::trim).filter(|rule| !rule.is_empty());
        let rules = rules.map(parse::rule).collect::<Result<Vec<_>, _>>()?;
        Ok(FaultPlan { rules, ..FaultPlan::default() })
    }

    /// The rules of both.
    #[must_use]
    pub fn and(mut self, other: FaultPlan) -> FaultPlan {
        self.rules.extend(other.rules);
        self
    }

    /// The same plan by the chances of another seed.
    pub fn with_seed(self, seed: Seed) -> FaultPlan {
        FaultPlan { seed, ..self }
    }

    /// Whether nothing ever goes wrong.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Reads what a request asks for itself in its `x-sim-fault` header: faults of requests, without a when.
    pub(super) fn of_header(text: &str) -> Result<FaultPlan, FaultError> {
        let plan = FaultPlan::parse(text)?;
        for rule in &plan.rules {
            if matches!(rule.fault, Fault::Connection(_)) {
                return Err(FaultError::new(&rule.text, "a header cannot ask for a fault of the connection"));
            }
            if !rule.when.is_empty() {
                return Err(FaultError::new(
                    &rule.text,
                    "a header is about its own request: leave out the `@`",
                ));
            }
        }
        Ok(plan)
    }

    /// What becomes of request `number`, counted from 1, that comes at `now`.
    pub(super) fn request(&self, number: u64, now: Nanos) -> Manner {
        let mut manner = Manner::default();
        for rule in &self.rules {
            if let Fault::Request(fault) = rule.fault
                && rule.applies(self.seed, number, now)
            {
                manner.apply(fault);
            }
        }
        manner
    }

    /// What becomes of connection `number`, counted from 1, that comes at `now`.
    pub(super) fn connection(&self, number: u64, now: Nanos) -> ConnectionManner {
        let mut manner = ConnectionManner::default();
        for rule in &self.rules {
            if let Fault::Connection(fault) = rule.fault
                && rule.applies(self.seed, number, now)
            {
                manner.apply(fault);
            }
        }
        manner
    }
}

/// As it was written, rules with a comma and a blank between them.
impl fmt::Display for FaultPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rules = self.rules.iter().map(|rule| rule.text.as_str()).collect::<Vec<_>>();
        f.write_str(&rules.join(", "))
    }
}

impl Rule {
    fn applies(&self, seed: Seed, number: u64, now: Nanos) -> bool {
        self.when.iter().all(|when| match *when {
            When::Share(share) => seed.indexed_stream("fault", &self.text, number).unit() < share,
            When::Every(every) => number.is_multiple_of(every),
            When::Only(only) => number == only,
            When::Within(from, to) => (from..to).contains(&now),
        })
    }
}

#[cfg(test)]
mod tests;
