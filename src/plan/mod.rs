//! The plan: every session a run will offer, with its exact due time, before the clock starts.
//!
//! All of it follows from scenario and seed, bit for bit on any machine. One random stream a purpose: what
//! changes the lengths leaves the arrivals alone. What belongs to a turn is drawn by the numbers of its session and
//! turn, so that longer conversations leave the lengths of others alone. [`composer::Composer`] turns sessions into
//! requests ahead of need.

pub mod compose;
pub mod composer;
mod context;
pub mod needle;
mod offering;
pub mod passage;
pub mod shard;

use std::sync::Arc;
use std::time::Duration;

use crate::dataset::{Dataset, RowOrder, WhenExhausted};
use crate::distribution::Distribution;
use crate::record::{EndedBy, Planned};
use crate::scenario::{History, Load, Popularity, PromptSource, Recording, Requests, Scenario, Workload};
use crate::seed::Seed;
use context::Room;
use offering::{Left, Offering, without_row};
use shard::Shard;

/// When a session starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// At this offset from the phase's start.
    At(Duration),
    /// When a user of the closed loop is free.
    WhenUserFree,
}

/// A unit of load: a conversation, or a single request as a conversation of one turn.
#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    /// When it starts.
    pub start: Start,
    /// Its requests, at least one, each due when the one before has ended.
    pub turns: Vec<Turn>,
}

/// One request of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// What its row says of it.
    pub planned: Planned,
    /// The pause before it, after the end of the turn before; none before the first.
    pub think: Duration,
    /// Length drawn for its prompt, in tokens: of the whole prompt, or, where it carries the turns before, of what it
    /// adds. `None` where its length is not a number of tokens.
    pub prompt_tokens: Option<u32>,
}

/// Why a load has no further session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// As it should be.
    By(EndedBy),
    /// A data set under `when_exhausted = "error"` has none left.
    NoRow {
        /// Index of its workload.
        workload: u32,
    },
}

/// Sessions whose turns are counted for their mean.
const SESSIONS_TRIED: u64 = 200;

/// Loads whose numbers cannot follow those of another begin at multiples of this.
pub const RANGE: u64 = 1_000_000_000;

/// Numbers of the next session and request.
#[derive(Clone, Copy, Default)]
struct Numbers {
    session: u64,
    request: u64,
}

impl Numbers {
    fn range(index: u64) -> Numbers {
        Numbers { session: index * RANGE, request: index * RANGE }
    }
}

/// The sessions of one phase after another, of each of a phase's loads. Its clone goes on from the same place.
#[derive(Clone)]
pub struct Plan {
    seed: Seed,
    scenario: Arc<Scenario>,
    shard: Shard,
    /// Rows still to come, by workload; the cursor runs on across phases.
    rows: Vec<Option<RowOrder>>,
    /// Sessions so far of each workload whose prompts take their beginnings in turn.
    rounds: Vec<u64>,
    /// The shortest prompt that each workload can have, in tokens; `None` where its lengths are counted in words.
    shortest: Vec<Option<u64>>,
    /// Those of the main loads, which follow one another.
    main: Numbers,
    /// Whether a main load has ended whose number of sessions was for the server to decide.
    unknown: bool,
    /// The loads of the phase, the main one first.
    loads: Vec<Offering>,
}

impl Plan {
    /// The plan of `scenario` under `seed`. `rows` has the row order of each workload that draws on a data set.
    pub fn new(scenario: Arc<Scenario>, seed: Seed, rows: Vec<Option<RowOrder>>) -> Plan {
        let main = Numbers::default();
        let (rounds, shortest) = (vec![0; rows.len()], vec![Some(0); rows.len()]);
        let (shard, loads) = (Shard::WHOLE, Vec::new());
        Plan { seed, scenario, shard, rows, rounds, shortest, main, unknown: false, loads }
    }

    /// The same plan, in which no prompt of a workload is planned shorter than it can be made. `None` is for a workload
    /// whose lengths are no tokens, so that none are planned.
    #[must_use]
    pub fn no_shorter_than(self, shortest: Vec<Option<u64>>) -> Plan {
        Plan { shortest, ..self }
    }

    /// The same plan, of which only the sessions of `shard` are handed out.
    #[must_use]
    pub fn of_shard(self, shard: Shard) -> Plan {
        Plan { shard, ..self }
    }

    /// Turns to phase `index`.
    pub fn begin_phase(&mut self, index: usize) {
        let earlier_also: usize = self.scenario.phases[..index].iter().map(|phase| phase.also.len()).sum();
        let all_also: usize = self.scenario.phases.iter().map(|phase| phase.also.len()).sum();
        if let Some(main) = self.loads.first() {
            self.main = main.numbers;
        }
        // Shards do not know how far the others came, so all begin anew at the same number.
        if std::mem::take(&mut self.unknown) && self.shard.is_part() {
            self.main = Numbers::range((1 + all_also + index) as u64);
        }
        let scenario = Arc::clone(&self.scenario);
        let phase = &scenario.phases[index];
        let by_users = matches!(phase.requests, Some(Requests::PerUser(_))) || phase.duration.is_some();
        self.unknown = by_users && matches!(phase.load, Load::Closed { .. });
        self.loads = phase
            .loads()
            .enumerate()
            .map(|(place, load)| {
                let owner = match place {
                    0 => phase.name.clone(),
                    _ => format!("{}/{}", phase.name, load.name),
                };
                let (left, numbers) = match place {
                    0 => (self.left(phase.requests), self.main),
                    _ => (Left::Unbounded, Numbers::range((earlier_also + place) as u64)),
                };
                let workloads = phase.workloads_of(place, &scenario.workloads);
                Offering::new(self.seed, &owner, phase.duration, load.load, workloads, left, numbers)
            })
            .collect();
        for load in &mut self.loads {
            load.phase = index as u32;
        }
        for load in phase.loads() {
            // The rows of a trace follow its times.
            if let Load::Open { trace: Some(Recording::Workload { workload, skip, .. }), .. } = load.load
                && let Some(place) = scenario.workloads.iter().position(|known| known.name == *workload)
                && let Some(rows) = &mut self.rows[place]
            {
                rows.seek(*skip);
            }
        }
    }

    fn left(&self, requests: Option<Requests>) -> Left {
        match requests {
            None | Some(Requests::PerUser(_)) => Left::Unbounded,
            Some(Requests::Count(count)) => Left::Requests(count),
            // A set that stops may have been used up in part by the phases before.
            Some(Requests::All) => {
                let rest = |rows: &RowOrder| rows.clone().take(rows.rows() as usize).count() as u64;
                Left::Rows(self.rows.iter().map(|rows| rows.as_ref().map_or(0, rest)).collect())
            }
        }
    }

    /// How many loads the phase has.
    pub fn loads(&self) -> usize {
        self.loads.len()
    }

    /// The next session of the phase's load `load`; `None` when it has no further one.
    pub fn next_session(&mut self, load: usize) -> Option<Session> {
        loop {
            let session = self.any_session(load)?;
            if self.shard.owns(session.turns.first()?.planned.session) {
                return Some(session);
            }
        }
    }

    /// Why the phase's load `load` has no further session; to be asked when it has none.
    pub fn end(&self, load: usize) -> End {
        self.loads.get(load).and_then(|load| load.end).unwrap_or(End::By(EndedBy::Requests))
    }

    /// Turns that the phase's load `load` still had to come, counted up to `most`; 0 where that was for the server
    /// to decide.
    pub fn rest(&mut self, load: usize, most: u64) -> u64 {
        if !self.loads.get(load).is_some_and(Offering::is_finite) {
            return 0;
        }
        let mut turns = 0;
        while turns < most
            && let Some(session) = self.next_session(load)
        {
            turns += session.turns.len() as u64;
        }
        turns.min(most)
    }

    /// The next session, whichever shard it belongs to.
    fn any_session(&mut self, load: usize) -> Option<Session> {
        let (seed, scenario) = (self.seed, Arc::clone(&self.scenario));
        let load = self.loads.get_mut(load)?;
        if load.end.is_some() {
            return None;
        }
        let Some(index) = load.choose(&scenario.workloads) else {
            return load.end(End::By(EndedBy::Requests));
        };
        let start = load.start()?;
        let workload = &scenario.workloads[index];
        let session = load.numbers.session;
        let form = workload.session.as_ref();
        let cells = match &workload.prompt {
            PromptSource::Needle(form) => Some(form),
            PromptSource::Synthetic { .. } | PromptSource::Tokens(_) | PromptSource::Dataset(_) => None,
        };
        let rows = &mut self.rows[index];
        let mut row = match rows.as_mut().map(RowOrder::next) {
            None => None,
            Some(Some(row)) => Some(row),
            Some(None) => return load.end(without_row(workload, index)),
        };
        let turns_of_row = rows.as_ref().zip(row).and_then(|(rows, row)| rows.turns(row));
        let carries = form.is_some_and(|form| form.history != History::None);
        let mut room = Room::new(workload, carries);
        let most = most_turns(seed, workload, session);
        let count = match (turns_of_row, most) {
            (Some(turns), most) => most.map_or(u64::from(turns), |most| most.min(turns.into())),
            (None, Some(most)) => most,
            // As many as fit its context.
            (None, None) if room.is_some() => u64::from(u32::MAX),
            (None, None) => 1,
        };
        let mut pauses = form.map(|form| (form.think, seed.indexed_stream("think", &workload.name, session)));
        let prefix = prefix(seed, workload, &mut self.rounds[index], session);
        let mut turns = Vec::new();
        for turn in 0..count as u32 {
            let is_new_row = turn == 0 || turns_of_row.is_none();
            if turn > 0 && !load.left.allows_turn(index, is_new_row) {
                break;
            }
            if turn > 0
                && is_new_row
                && let Some(rows) = rows.as_mut()
            {
                // A conversation that has begun is cut short; the next finds no row at all.
                let Some(next) = rows.next() else { break };
                row = Some(next);
            }
            let stated = row.and_then(|row| rows.as_ref()?.lengths(row));
            let of_row = row.filter(|_| workload.uses_output_tokens());
            let of_row = of_row.and_then(|row| rows.as_ref()?.output_tokens(row, turn));
            let (drawn, output_tokens) = lengths(seed, workload, session, turn);
            let output_tokens = of_row.unwrap_or(output_tokens);
            let needle = row.zip(cells).and_then(|(cell, form)| form.cell(cell));
            let of_cell = needle.map(|needle| needle.length_tokens.into());
            let wanted = drawn.or_else(|| stated?.prompt.map(u64::from)).or(of_cell);
            if let Some((room, tokens)) = room.as_mut().zip(drawn)
                && !room.takes(tokens, output_tokens.into())
                && turn > 0
            {
                break;
            }
            load.left.take(index, is_new_row);
            let think = match &mut pauses {
                Some((law, stream)) if turn > 0 => law.sample(stream),
                _ => Duration::ZERO,
            };
            let is_whole = turn == 0 || !carries;
            let shortest = self.shortest[index];
            let least = shortest.filter(|_| is_whole).unwrap_or(0);
            let prompt_tokens = wanted.map(|wanted| wanted.max(least) as u32);
            let planned = Planned {
                request: load.numbers.request,
                session,
                turn,
                phase: load.phase,
                workload: index as u32,
                dataset_row: row.filter(|_| cells.is_none()).map(u64::from),
                needle,
                output_tokens_planned: Some(output_tokens),
                prompt_tokens_planned: prompt_tokens.filter(|_| is_whole && shortest.is_some()),
                prefix_group: prefix.map(|(group, _)| group),
                prefix_tokens: prefix.map(|(_, tokens)| tokens),
            };
            load.numbers.request += 1;
            turns.push(Turn { planned, think, prompt_tokens });
        }
        load.numbers.session += 1;
        Some(Session { start, turns })
    }
}

/// In which order the rows of each workload are taken: those of its data set, of which `datasets` are all, or its
/// cells.
pub fn row_orders(
    scenario: &Scenario,
    datasets: &[Option<Arc<Dataset>>],
    seed: Seed,
) -> Vec<Option<RowOrder>> {
    let workloads = scenario.workloads.iter().zip(datasets);
    let order = |(workload, dataset): (&Workload, &Option<Arc<Dataset>>)| match &workload.prompt {
        PromptSource::Synthetic { .. } | PromptSource::Tokens(_) => None,
        PromptSource::Needle(form) => {
            Some(RowOrder::new(form.cells(), false, WhenExhausted::Stop, seed, &workload.name))
        }
        PromptSource::Dataset(source) => Some(dataset.as_ref()?.order(source, seed, &workload.name)),
    };
    workloads.map(order).collect()
}

/// Turns that a session may have by its law.
fn most_turns(seed: Seed, workload: &Workload, session: u64) -> Option<u64> {
    let turns = workload.session.as_ref()?.turns.as_ref()?;
    Some(turns.sample(&mut seed.indexed_stream("turns", &workload.name, session)).max(1))
}

/// Tokens drawn for a turn: for what it adds, where that is planned in tokens, and for its answer.
fn lengths(seed: Seed, workload: &Workload, session: u64, turn: u32) -> (Option<u64>, u32) {
    let stream = |purpose| seed.indexed_stream(purpose, &workload.name, step(session, turn));
    let prompt = match &workload.prompt {
        PromptSource::Tokens(prompts) => Some(prompts.tokens.sample(&mut stream("prompt"))),
        PromptSource::Synthetic { .. } | PromptSource::Dataset(_) | PromptSource::Needle(_) => None,
    };
    // Drawn from the stream of the prompt, a pair's answer is the one that stands beside it.
    let is_joint =
        matches!(&workload.prompt, PromptSource::Tokens(prompts) if prompts.joint_output.is_some());
    let purpose = if is_joint { "prompt" } else { "output" };
    (prompt, workload.max_tokens.sample(&mut stream(purpose)) as u32)
}

/// Turns of a session on average, where planned lengths end it; `None` where they do not.
pub fn mean_turns_in_context(workload: &Workload, seed: Seed) -> Option<f64> {
    let carries = workload.session.as_ref()?.history != History::None;
    let count = |session: u64| {
        let mut room = Room::new(workload, carries)?;
        let most = most_turns(seed, workload, session).unwrap_or(u32::MAX.into()) as u32;
        let fits = |turn: &u32| {
            let (prompt, output) = lengths(seed, workload, session, *turn);
            prompt.is_some_and(|tokens| room.takes(tokens, output.into()))
        };
        Some((0..most).take_while(fits).count().max(1) as f64)
    };
    let sum = (0..SESSIONS_TRIED).map(count).sum::<Option<f64>>()?;
    Some(sum / SESSIONS_TRIED as f64)
}

/// The beginning that a session of the workload shares with others, and its length in tokens; `None` where none is
/// declared. `round` counts the sessions whose beginnings are taken in turn; shards that do not send them count too.
fn prefix(seed: Seed, workload: &Workload, round: &mut u64, session: u64) -> Option<(u32, u32)> {
    let PromptSource::Tokens(prompts) = &workload.prompt else { return None };
    let prefix = prompts.shared_prefix.as_ref()?;
    let groups = u64::from(prefix.groups);
    let mut stream = seed.indexed_stream("prefix", &workload.name, session);
    let group = match prefix.popularity {
        Popularity::Uniform => stream.below(groups),
        Popularity::RoundRobin => {
            *round += 1;
            (*round - 1) % groups
        }
        Popularity::Zipf(exponent) => {
            Distribution::zipf(exponent, 1, groups).map_or(0, |law| law.sample(&mut stream) - 1)
        }
    };
    Some((group as u32, prefix.tokens as u32))
}

/// By what the streams of a turn are told apart.
fn step(session: u64, turn: u32) -> u64 {
    session | u64::from(turn) << 44
}
