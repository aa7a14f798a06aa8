//! Turns the plan's sessions into requests, in order.

use std::sync::Arc;

use bytes::Bytes;

use super::compose::{Salt, synthetic};
use super::{End, Plan, Start};
use crate::dataset::Dataset;
use crate::prompt::{Message, Outgoing};
use crate::protocol::{Api, BodyOptions};
use crate::record::{EndedBy, Planned};

/// Where the prompts of one workload come from.
pub enum Prompts {
    /// This many words, drawn for each request.
    Synthetic {
        /// Words a prompt.
        words: u64,
    },
    /// Rows of a data set.
    Rows(Arc<Dataset>),
}

/// What the requests of one workload have in common.
pub struct Form {
    /// The workload's name.
    pub workload: String,
    /// Where its prompts come from.
    pub prompts: Prompts,
    /// What its bodies have in common.
    pub options: BodyOptions,
}

/// A session ready to be sent.
#[derive(Debug)]
pub struct Composed {
    /// When it starts.
    pub start: Start,
    /// The plan's part of its row.
    pub planned: Planned,
    /// The request, or why it could not be composed.
    pub outgoing: Result<Outgoing, String>,
}

impl Composed {
    /// Bytes held, about.
    pub fn size_bytes(&self) -> usize {
        let body = self.outgoing.as_ref().map_or(0, |outgoing| outgoing.body.len() + outgoing.id.len());
        size_of::<Composed>() + body
    }
}

/// The next thing a phase has to offer.
#[derive(Debug)]
pub enum Next {
    /// A session.
    Session(Box<Composed>),
    /// Nothing more, and why.
    End(EndedBy),
    /// Nothing more, and the run cannot go on: why.
    Failed(String),
}

/// Composes the sessions of one phase after another.
pub struct Composer {
    plan: Plan,
    /// The plan at the start of the phase, to go back to when a phase takes fewer sessions than were composed.
    phase_start: Plan,
    /// Sessions of the phase composed so far.
    composed: u64,
    api: Api,
    forms: Vec<Form>,
    salt: Salt,
    run_id: String,
}

impl Composer {
    /// A composer for `plan`; `forms` are those of its workloads, in order.
    pub fn new(plan: Plan, api: Api, forms: Vec<Form>, salt: Salt, run_id: String) -> Composer {
        Composer { phase_start: plan.clone(), plan, composed: 0, api, forms, salt, run_id }
    }

    /// Turns to phase `index`.
    pub fn begin_phase(&mut self, index: usize) {
        self.plan.begin_phase(index);
        self.phase_start = self.plan.clone();
        self.composed = 0;
    }

    /// Composes the phase's next session.
    pub fn compose_next(&mut self) -> Next {
        let Some(session) = self.plan.next() else {
            return match self.plan.end() {
                End::By(by) => Next::End(by),
                End::NoRow { workload } => Next::Failed(format!(
                    "workload `{}` has taken every row of its data set, and when_exhausted is \"error\"",
                    self.forms[workload as usize].workload
                )),
            };
        };
        self.composed += 1;
        let outgoing = self.compose(&session.turn);
        Next::Session(Box::new(Composed { start: session.start, planned: session.turn, outgoing }))
    }

    /// Leaves the phase where `taken` sessions of it were used: what was composed beyond them was never planned.
    pub fn end_phase(&mut self, taken: u64) {
        if taken == self.composed {
            return;
        }
        self.plan = self.phase_start.clone();
        for _ in 0..taken {
            self.plan.next();
        }
    }

    fn compose(&self, turn: &Planned) -> Result<Outgoing, String> {
        let form = &self.forms[turn.workload as usize];
        let messages = match (&form.prompts, turn.dataset_row) {
            (Prompts::Synthetic { words }, _) => synthetic(self.salt, &form.workload, turn.request, *words),
            (Prompts::Rows(dataset), Some(row)) => {
                let row = dataset.row(row as u32).map_err(|error| error.to_string())?;
                vec![Message::user(row.prompt)]
            }
            (Prompts::Rows(_), None) => return Err("the plan names no row of the data set".into()),
        };
        let max_tokens = turn.output_tokens_planned.unwrap_or_default();
        Ok(Outgoing {
            // Point and repeat are 0 where there is no sweep.
            id: format!("{}-0-0-{}", self.run_id, turn.request),
            stream: form.options.stream,
            body: Bytes::from(form.options.body(self.api, &messages, max_tokens)),
        })
    }
}
