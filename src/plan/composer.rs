//! Turns the plan's sessions into requests, in order.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::compose::{Form, Opening, Prompts, Salt};
use super::context::{Added, Context, Length, Misfit};
use super::{End, Plan, Start, Turn};
use crate::blocks::{Carried, KnownPrompt};
use crate::dataset;
use crate::prompt::{Message, Outgoing, Role};
use crate::protocol::Api;
use crate::record::{EndedBy, Outcome, Planned, Usage};
use crate::scenario::{CachePolicy, History, PromptSource};

/// What a run stopped before its end would still have sent is counted up to this.
const MOST_COUNTED: u64 = 1_000_000;

/// A session ready to be sent.
#[derive(Debug)]
pub struct Composed {
    /// When it starts.
    pub start: Start,
    /// Its turns, at least one.
    pub turns: Vec<Turn>,
    /// The request of its first turn, or why there is none.
    pub outgoing: Result<Outgoing, Unsendable>,
    /// What the requests of later turns are made of.
    pub conversation: Conversation,
}

/// Why a turn has no request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unsendable {
    /// It could not be composed: why.
    Failed(String),
    /// Its conversation would pass the context stated for it: in words.
    BeyondContext(String),
}

impl Unsendable {
    /// What becomes of the turn, and the text for its row's `error`.
    pub fn into_fate(self) -> (Outcome, String) {
        match self {
            Unsendable::Failed(error) => (Outcome::ClientError, error),
            Unsendable::BeyondContext(why) => (Outcome::Skipped, why),
        }
    }
}

impl From<String> for Unsendable {
    fn from(error: String) -> Unsendable {
        Unsendable::Failed(error)
    }
}

impl From<&str> for Unsendable {
    fn from(error: &str) -> Unsendable {
        Unsendable::Failed(error.to_owned())
    }
}

impl From<Misfit> for Unsendable {
    fn from(misfit: Misfit) -> Unsendable {
        match misfit {
            Misfit::Full(why) => Unsendable::BeyondContext(why),
            Misfit::Unknown => Unsendable::from(
                "max_context cannot be kept: the server states no prompt_tokens, and no target.tokenizer.file is named",
            ),
        }
    }
}

impl Composed {
    /// Bytes held, about.
    pub fn size_bytes(&self) -> usize {
        let body = self.outgoing.as_ref().map_or(0, |outgoing| outgoing.body.len() + outgoing.id.len());
        let said = bytes(&self.conversation.messages);
        let script = self.conversation.script.iter();
        let script: usize =
            script.map(|turn| bytes(&turn.said) + turn.answer.as_ref().map_or(0, String::len)).sum();
        let known = self.conversation.known.as_ref().map(|known| &known.blocks);
        let to_come = self.conversation.counted.iter().filter_map(|turn| turn.blocks.as_ref());
        let known: usize = known.into_iter().chain(to_come).map(|blocks| size_of_val(&**blocks)).sum();
        size_of::<Composed>() + known + self.turns.len() * size_of::<Turn>() + body + said + script
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
    /// What the first prompt begins with, where its tokens are known.
    known: Option<KnownPrompt>,
    /// What it has taken of the context that it must not pass.
    context: Option<Context>,
    /// What is known of the turns still to come beforehand.
    counted: VecDeque<Counted>,
    /// Tokens of the recorded answer.
    recorded_tokens: Option<u64>,
}

/// What a tokenizer says of one turn of a data set, where it was asked.
#[derive(Debug, Default)]
struct Counted {
    said: Option<u64>,
    answer: Option<u64>,
    /// What it begins with, where it begins anew and that took a tokenizer to tell.
    blocks: Option<Arc<[u64]>>,
}

impl std::fmt::Debug for Conversation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Conversation").field("messages", &self.messages).finish_non_exhaustive()
    }
}

impl Conversation {
    /// The request of `turn`, which follows one that was answered with `answer` and `usage`. `is_last` says that no
    /// turn follows it. An error says why there is none.
    pub fn next(
        &mut self,
        turn: &Turn,
        answer: Option<String>,
        usage: &Usage,
        is_last: bool,
    ) -> Result<Outgoing, Unsendable> {
        let planned = &turn.planned;
        let form = self.recipe.form(turn);
        let history = form.history;
        let recorded = self.recorded.take();
        let recorded_tokens = self.recorded_tokens.take();
        let counted = self.counted.pop_front().unwrap_or_default();
        let new = match self.script.pop_front() {
            Some(scripted) => {
                self.recorded = scripted.answer;
                match history {
                    History::None => self.recipe.alone(turn, scripted.said, self.system.clone()),
                    History::Real | History::Recorded => scripted.said,
                }
            }
            None => {
                let row = self.recipe.opening(turn)?;
                self.recorded = row.recorded;
                row.messages
            }
        };
        self.recorded_tokens = counted.answer;
        let carried = match history {
            History::None => None,
            History::Real => Some(answer.ok_or("the answer before is too long for the next turn to carry")?),
            History::Recorded => Some(recorded.ok_or("the turn before has no recorded answer")?),
        };
        if let Some(context) = &mut self.context {
            let answer_bytes = carried.as_ref().map_or(0, String::len) as u64;
            let recorded = Length { tokens: recorded_tokens, bytes: answer_bytes };
            let added = Added {
                text: form.length(turn, &new, counted.said),
                recorded: (history == History::Recorded).then_some(recorded),
                answer_bytes,
                max_tokens: planned.output_tokens_planned.unwrap_or_default().into(),
            };
            context.add(usage, added)?;
        }
        let Some(content) = carried else {
            let told = counted.blocks.map(|blocks| KnownPrompt {
                blocks,
                carried: Carried::Nothing,
                goes_on: false,
            });
            let known = match form.identifies_tokens() {
                Some(_) => told,
                None => self.recipe.known(planned, &new, false),
            };
            return Ok(Outgoing { known, ..self.recipe.outgoing(planned, &new, false) });
        };
        self.messages.push(Message { role: Role::Assistant, content });
        self.messages.extend(new);
        let outgoing = self.recipe.outgoing(planned, &self.messages, !is_last && history == History::Real);
        let carried = if history == History::Real { Carried::PromptAndAnswer } else { Carried::Prompt };
        let known = self.known.clone().map(|known| KnownPrompt { carried, goes_on: !is_last, ..known });
        Ok(Outgoing { known, ..outgoing })
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

/// What bodies are made by.
struct Recipe {
    api: Api,
    forms: Vec<Form>,
    salt: Salt,
    /// The salt of prompts that are to be the same in every run of a seed.
    natural: Salt,
    /// What ids of requests begin with.
    id: String,
    /// Tokens of a block of a prefix cache.
    block_tokens: u64,
}

impl Composer {
    /// A composer for `plan`; `forms` are those of its workloads, in order. Ids of requests begin with `id`.
    pub fn new(plan: Plan, api: Api, forms: Vec<Form>, salt: Salt, id: String) -> Composer {
        let plan = plan.no_shorter_than(forms.iter().map(Form::shortest_tokens).collect());
        let (natural, block_tokens) = (Salt(plan.seed.0), plan.scenario.block_tokens());
        let recipe = Arc::new(Recipe { api, forms, salt, natural, id, block_tokens });
        Composer { phase_start: plan.clone(), plan, composed: Vec::new(), recipe }
    }

    /// One request for each shared prefix that is to be known to the server before the run, unmeasured.
    pub fn fills(&self) -> impl Iterator<Item = Result<Outgoing, String>> + use<> {
        let recipe = Arc::clone(&self.recipe);
        let workloads = self.plan.scenario.workloads.iter().enumerate();
        let filled = workloads.filter_map(|(index, workload)| match &workload.prompt {
            PromptSource::Tokens(prompts) if workload.cache != CachePolicy::Cold => {
                let prefix = prompts.shared_prefix.filter(|prefix| prefix.fill)?;
                Some((index as u32, prefix.groups))
            }
            _ => None,
        });
        let all = filled.collect::<Vec<_>>().into_iter();
        let all = all.flat_map(|(workload, groups)| (0..groups).map(move |group| (workload, group)));
        all.enumerate().map(move |(number, (workload, prefix_group))| {
            // Numbers that no request of the run has.
            let request = u64::MAX / 2 + number as u64;
            let planned = Planned {
                request,
                session: request,
                workload,
                prefix_group: Some(prefix_group),
                output_tokens_planned: Some(1),
                ..Planned::default()
            };
            let turn = Turn { planned, think: Duration::ZERO, prompt_tokens: Some(0) };
            let messages = recipe.opening(&turn)?.messages;
            let outgoing = recipe.outgoing(&turn.planned, &messages, false);
            let known = recipe.known(&turn.planned, &messages, false);
            Ok(Outgoing { known, id: format!("{}-fill-{number}", recipe.id), ..outgoing })
        })
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
    fn begin(self: &Arc<Recipe>, turns: &[Turn]) -> (Result<Outgoing, Unsendable>, Conversation) {
        let mut conversation = Conversation {
            recipe: Arc::clone(self),
            messages: Vec::new(),
            script: VecDeque::new(),
            system: None,
            recorded: None,
            known: None,
            context: None,
            counted: VecDeque::new(),
            recorded_tokens: None,
        };
        let first = &turns[0].planned;
        let form = self.form(&turns[0]);
        let history = form.history;
        let opening = match self.opening(&turns[0]) {
            Ok(opening) => opening,
            Err(error) => return (Err(error.into()), conversation),
        };
        let (counted, to_come) = self.count_ahead(turns, &opening);
        if let Some(limit_tokens) = form.context {
            let begun = Context::begin(
                limit_tokens,
                history,
                form.length(&turns[0], &opening.messages, counted.said),
                first.output_tokens_planned.unwrap_or_default().into(),
                form.template_tokens().unwrap_or_default(),
            );
            match begun {
                Ok(context) => conversation.context = Some(context),
                Err(misfit) => return (Err(misfit.into()), conversation),
            }
        }
        (conversation.counted, conversation.recorded_tokens) = (to_come, counted.answer);
        let goes_on = turns.len() > 1;
        let outgoing = self.outgoing(first, &opening.messages, goes_on && history == History::Real);
        let known = self.known(first, &opening.messages, goes_on && history != History::None);
        if goes_on {
            conversation.known = known.clone();
            (conversation.script, conversation.recorded) = (opening.script, opening.recorded);
            conversation.system = opening.system;
            if history != History::None {
                conversation.messages = opening.messages;
            }
        }
        (Ok(Outgoing { known, ..outgoing }), conversation)
    }

    /// What a turn adds to what was said, unless its row was begun before.
    fn opening(&self, turn: &Turn) -> Result<Opening, String> {
        let form = self.form(turn);
        form.opening(self.salt(form), turn)
    }

    /// The messages of a later turn that begins anew, and is set apart from all others where its workload's policy
    /// asks for it.
    fn alone(&self, turn: &Turn, mut said: Vec<Message>, system: Option<Message>) -> Vec<Message> {
        said.splice(0..0, system);
        let form = self.form(turn);
        form.set_apart(self.salt(form), turn, &mut said);
        said
    }

    /// What a tokenizer says of a session's turns, of its first and of those to come: it takes its time, which a turn
    /// that is due has not.
    fn count_ahead(&self, turns: &[Turn], opening: &Opening) -> (Counted, VecDeque<Counted>) {
        let form = self.form(&turns[0]);
        let counts = form.context.is_some() && form.tokenizer.is_some() && !form.is_measured();
        let tells_blocks =
            turns.len() > 1 && form.history == History::None && form.identifies_tokens().is_some();
        if !counts && !tells_blocks {
            return (Counted::default(), VecDeque::new());
        }
        let count = |said: &[Message], answer: Option<&str>| Counted {
            said: form.count(said.iter().map(|message| message.content.as_str())).filter(|_| counts),
            answer: answer
                .filter(|_| counts && form.history == History::Recorded)
                .and_then(|answer| form.count([answer].into_iter())),
            blocks: None,
        };
        let alone = |turn: &Turn, said: &[Message]| Counted {
            blocks: tells_blocks.then(|| form.blocks(&turn.planned, said, self.block_tokens)).flatten(),
            ..count(said, None)
        };
        let mut script = opening.script.iter();
        let to_come = turns[1..].iter().map(|turn| match script.next() {
            Some(scripted) if form.history == History::None => {
                alone(turn, &self.alone(turn, scripted.said.clone(), opening.system.clone()))
            }
            Some(scripted) => count(&scripted.said, scripted.answer.as_deref()),
            // One that cannot be read is found out when it is due.
            None => self.opening(turn).map_or(Counted::default(), |opening| match form.history {
                History::None => alone(turn, &opening.messages),
                _ => count(&opening.messages, opening.recorded.as_deref()),
            }),
        });
        let to_come = to_come.collect();
        (count(&opening.messages, opening.recorded.as_deref()), to_come)
    }

    fn form(&self, turn: &Turn) -> &Form {
        &self.forms[turn.planned.workload as usize]
    }

    fn salt(&self, form: &Form) -> Salt {
        // What a needle says, and what fills the lengths of a trace, is known by the run's salt alone.
        let is_made_up = matches!(form.prompts, Prompts::Needle(_)) || form.is_sized();
        let is_natural = form.cache == CachePolicy::Natural && !is_made_up;
        if is_natural { self.natural } else { self.salt }
    }

    /// What a prompt that begins anew begins with, where its tokens are known.
    fn known(&self, turn: &Planned, messages: &[Message], goes_on: bool) -> Option<KnownPrompt> {
        let blocks = self.forms[turn.workload as usize].blocks(turn, messages, self.block_tokens)?;
        Some(KnownPrompt { blocks, carried: Carried::Nothing, goes_on })
    }

    fn outgoing(&self, turn: &Planned, messages: &[Message], keep_answer: bool) -> Outgoing {
        let Form { options, checks, compares, tokenizer, .. } = &self.forms[turn.workload as usize];
        let max_tokens = turn.output_tokens_planned.unwrap_or_default();
        let body = options.body(self.api, messages, max_tokens);
        Outgoing {
            id: format!("{}-{}", self.id, turn.request),
            stream: options.stream,
            keep_answer,
            check_answer: *checks || *compares || tokenizer.is_some(),
            body_hash: compares.then(|| hash(&body)),
            known: None,
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
