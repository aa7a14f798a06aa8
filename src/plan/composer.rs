//! Turns the plan's sessions into requests, in order.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher as _};
use std::sync::Arc;

use bytes::Bytes;

use super::compose::{Salt, sized, synthetic};
use super::needle;
use super::{End, Plan, Start, Turn, step};
use crate::dataset::{self, Dataset};
use crate::prompt::{Message, Outgoing, Role};
use crate::protocol::{Api, BodyOptions};
use crate::record::{EndedBy, Planned};
use crate::scenario::History;

/// What a run stopped before its end would still have sent is counted up to this.
const MOST_COUNTED: u64 = 1_000_000;

/// Where the prompts of one workload come from.
pub enum Prompts {
    /// This many words, drawn for each request.
    Synthetic {
        /// Words a prompt.
        words: u64,
    },
    /// Rows of a data set.
    Rows(Arc<Dataset>),
    /// Needles in text of our own.
    Needle {
        /// Other needles beside the one that is asked for.
        distractors: u32,
    },
}

/// What the requests of one workload have in common.
pub struct Form {
    /// The workload's name.
    pub workload: String,
    /// Where its prompts come from.
    pub prompts: Prompts,
    /// What a turn carries of those before it.
    pub history: History,
    /// What its bodies have in common.
    pub options: BodyOptions,
    /// Whether answers are checked.
    pub checks: bool,
    /// Whether answers to the same request are compared.
    pub compares: bool,
}

/// A session ready to be sent.
#[derive(Debug)]
pub struct Composed {
    /// When it starts.
    pub start: Start,
    /// Its turns, at least one.
    pub turns: Vec<Turn>,
    /// The request of its first turn, or why it could not be composed.
    pub outgoing: Result<Outgoing, String>,
    /// What the requests of later turns are made of.
    pub conversation: Conversation,
}

impl Composed {
    /// Bytes held, about.
    pub fn size_bytes(&self) -> usize {
        let body = self.outgoing.as_ref().map_or(0, |outgoing| outgoing.body.len() + outgoing.id.len());
        let said = bytes(&self.conversation.messages);
        let script = self.conversation.script.iter();
        let script: usize =
            script.map(|turn| bytes(&turn.said) + turn.answer.as_ref().map_or(0, String::len)).sum();
        size_of::<Composed>() + self.turns.len() * size_of::<Turn>() + body + said + script
    }
}

fn bytes(messages: &[Message]) -> usize {
    messages.iter().map(|message| message.content.len()).sum()
}

/// What was said in a session so far, and what is still to be said.
pub struct Conversation {
    recipe: Arc<Recipe>,
    /// Empty where turns carry nothing of those before them.
    messages: Vec<Message>,
    /// The turns still to come, where a row of a data set holds them all.
    script: VecDeque<dataset::Turn>,
    /// What the model is told in each turn that carries nothing of those before.
    system: Option<Message>,
    /// The recorded answer to the turn sent last.
    recorded: Option<String>,
}

impl std::fmt::Debug for Conversation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Conversation").field("messages", &self.messages).finish_non_exhaustive()
    }
}

impl Conversation {
    /// The request of `turn`, which follows one that was answered with `answer`. `is_last` says that no turn
    /// follows it. An error says why it cannot be composed.
    pub fn next(
        &mut self,
        turn: &Planned,
        answer: Option<String>,
        is_last: bool,
    ) -> Result<Outgoing, String> {
        let history = self.recipe.forms[turn.workload as usize].history;
        let recorded = self.recorded.take();
        let mut new = match self.script.pop_front() {
            Some(turn) => {
                self.recorded = turn.answer;
                turn.said
            }
            None => {
                let row = self.recipe.prompt(turn)?;
                self.recorded = row.recorded;
                row.messages
            }
        };
        let content = match history {
            History::None => {
                new.splice(0..0, self.system.clone());
                return Ok(self.recipe.outgoing(turn, &new, false));
            }
            History::Real => answer.ok_or("the answer before is too long for the next turn to carry")?,
            History::Recorded => recorded.ok_or("the turn before has no recorded answer")?,
        };
        self.messages.push(Message { role: Role::Assistant, content });
        self.messages.extend(new);
        Ok(self.recipe.outgoing(turn, &self.messages, !is_last && history == History::Real))
    }
}

/// The next thing a load has to offer.
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
    /// Sessions of each load of the phase composed so far.
    composed: Vec<u64>,
    recipe: Arc<Recipe>,
}

/// What a turn adds to what was said.
struct Opening {
    messages: Vec<Message>,
    /// What the model is told, if it is the first of the messages.
    system: Option<Message>,
    recorded: Option<String>,
    /// The other turns of its row.
    script: VecDeque<dataset::Turn>,
}

/// What bodies are made by.
struct Recipe {
    api: Api,
    forms: Vec<Form>,
    salt: Salt,
    /// What ids of requests begin with.
    id: String,
}

impl Composer {
    /// A composer for `plan`; `forms` are those of its workloads, in order. Ids of requests begin with `id`.
    pub fn new(plan: Plan, api: Api, forms: Vec<Form>, salt: Salt, id: String) -> Composer {
        let recipe = Arc::new(Recipe { api, forms, salt, id });
        Composer { phase_start: plan.clone(), plan, composed: Vec::new(), recipe }
    }

    /// Turns to phase `index`; returns how many loads it has.
    pub fn begin_phase(&mut self, index: usize) -> usize {
        self.plan.begin_phase(index);
        self.phase_start = self.plan.clone();
        self.composed = vec![0; self.plan.loads()];
        self.composed.len()
    }

    /// Composes the next session of the phase's load `load`.
    pub fn compose_next(&mut self, load: usize) -> Next {
        let Some(session) = self.plan.next_session(load) else {
            return match self.plan.end(load) {
                End::By(by) => Next::End(by),
                End::NoRow { workload } => Next::Failed(format!(
                    "workload `{}` has taken every row of its data set, and when_exhausted is \"error\"",
                    self.recipe.forms[workload as usize].workload
                )),
            };
        };
        self.composed[load] += 1;
        let (outgoing, conversation) = self.recipe.begin(&session.turns);
        Next::Session(Box::new(Composed {
            start: session.start,
            turns: session.turns,
            outgoing,
            conversation,
        }))
    }

    /// Leaves the phase where so many sessions of each load were used: what was composed beyond them was never
    /// planned. Where `counts_rest`, returns how many turns were still to come.
    pub fn end_phase(&mut self, taken: &[u64], counts_rest: bool) -> u64 {
        if taken != self.composed {
            self.plan = self.phase_start.clone();
            for (load, taken) in taken.iter().enumerate() {
                for _ in 0..*taken {
                    self.plan.next_session(load);
                }
            }
        }
        if !counts_rest {
            return 0;
        }
        let mut rest = self.plan.clone();
        (0..taken.len()).map(|load| rest.rest(load, MOST_COUNTED)).sum()
    }
}

impl Recipe {
    /// The first request of a session, and what the others need.
    fn begin(self: &Arc<Recipe>, turns: &[Turn]) -> (Result<Outgoing, String>, Conversation) {
        let mut conversation = Conversation {
            recipe: Arc::clone(self),
            messages: Vec::new(),
            script: VecDeque::new(),
            system: None,
            recorded: None,
        };
        let first = &turns[0].planned;
        let history = self.forms[first.workload as usize].history;
        let opening = match self.prompt(first) {
            Ok(opening) => opening,
            Err(error) => return (Err(error), conversation),
        };
        let goes_on = turns.len() > 1;
        let outgoing = self.outgoing(first, &opening.messages, goes_on && history == History::Real);
        if goes_on {
            (conversation.script, conversation.recorded) = (opening.script, opening.recorded);
            conversation.system = opening.system;
            if history != History::None {
                conversation.messages = opening.messages;
            }
        }
        (Ok(outgoing), conversation)
    }

    /// What a turn adds to what was said, unless its row was begun before.
    fn prompt(&self, turn: &Planned) -> Result<Opening, String> {
        let form = &self.forms[turn.workload as usize];
        match (&form.prompts, turn.dataset_row) {
            (Prompts::Synthetic { words }, _) => {
                let messages = synthetic(self.salt, &form.workload, step(turn.session, turn.turn), *words);
                Ok(Opening { messages, system: None, recorded: None, script: VecDeque::new() })
            }
            (Prompts::Needle { distractors }, _) => {
                let needle = turn.needle.ok_or("the plan names no needle")?;
                let request = step(turn.session, turn.turn);
                let messages = needle::prompt(self.salt, &form.workload, request, needle, *distractors);
                Ok(Opening { messages, system: None, recorded: None, script: VecDeque::new() })
            }
            (Prompts::Rows(dataset), Some(row)) => {
                let row = dataset.row(row as u32).map_err(|error| error.to_string())?;
                if let Some(size) = &row.size {
                    let request = step(turn.session, turn.turn);
                    let messages = sized(self.salt, &form.workload, request, size);
                    return Ok(Opening { messages, system: None, recorded: None, script: VecDeque::new() });
                }
                let mut script = VecDeque::from(row.turns);
                let first = script.pop_front().ok_or("the row has no turn")?;
                let system = row.system.map(|content| Message { role: Role::System, content });
                let messages = system.iter().cloned().chain(first.said).collect();
                Ok(Opening { messages, system, recorded: first.answer, script })
            }
            (Prompts::Rows(_), None) => Err("the plan names no row of the data set".into()),
        }
    }

    fn outgoing(&self, turn: &Planned, messages: &[Message], keep_answer: bool) -> Outgoing {
        let Form { options, checks, compares, .. } = &self.forms[turn.workload as usize];
        let max_tokens = turn.output_tokens_planned.unwrap_or_default();
        let body = options.body(self.api, messages, max_tokens);
        Outgoing {
            id: format!("{}-{}", self.id, turn.request),
            stream: options.stream,
            keep_answer,
            check_answer: *checks || *compares,
            body_hash: compares.then(|| hash(&body)),
            body: Bytes::from(body),
        }
    }
}

/// A hash that is the same in every run.
fn hash(body: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    body.hash(&mut hasher);
    hasher.finish()
}
