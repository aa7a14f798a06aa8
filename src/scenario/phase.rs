//! What a scenario says of its phases: how load arrives, how long, and what of it counts.

use std::time::Duration;

use super::Workload;
use crate::arrival::{Arrivals, Process};
use crate::dataset::TraceSource;
use crate::distribution::{Distribution, TimeLaw};

/// A stretch of load.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    /// Its name.
    pub name: String,
    /// How long load is offered, `warm_up` and `cool_down` included.
    pub duration: Option<Duration>,
    /// How many requests are sent; whichever of the two comes first ends the phase. Where both are `None`, a data
    /// set or a trace that stops does.
    pub requests: Option<Requests>,
    /// First part of the phase, not measured.
    pub warm_up: Margin,
    /// Last part of the phase, not measured.
    pub cool_down: Margin,
    /// Whether the phase counts in results.
    pub measure: bool,
    /// How long open requests may run on; `None` until every one has ended.
    pub drain: Option<Duration>,
    /// How requests arrive.
    pub load: Load,
    /// Names of the workloads it sends; empty for all that no [`Also`] of the phase sends.
    pub workloads: Vec<String>,
    /// Further loads over the phase's whole time.
    pub also: Vec<Also>,
}

/// A second load in the window of a phase, with random streams and an in-flight limit of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Also {
    /// Its name.
    pub name: String,
    /// How its requests arrive.
    pub load: Load,
    /// Names of the workloads it sends, at least one. No other load of the phase sends them.
    pub workloads: Vec<String>,
}

/// A number of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requests {
    /// This many, at least 1.
    Count(u64),
    /// Every row of the data sets once.
    All,
    /// This many of each user of a closed loop, at least 1.
    PerUser(u64),
}

/// A part at the begin or the end of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Margin {
    /// So long.
    Time(Duration),
    /// So many requests of each user of a closed loop, at least 1.
    PerUser(u64),
}

impl Margin {
    /// No part at all.
    pub const NONE: Margin = Margin::Time(Duration::ZERO);

    /// Its length; none where it is counted in requests.
    pub fn time(self) -> Duration {
        match self {
            Margin::Time(time) => time,
            Margin::PerUser(_) => Duration::ZERO,
        }
    }

    /// Its length in requests of each user; 0 where it is a time.
    pub fn per_user(self) -> u64 {
        match self {
            Margin::Time(_) => 0,
            Margin::PerUser(requests) => requests,
        }
    }
}

/// How requests arrive.
#[derive(Clone, Debug, PartialEq)]
pub enum Load {
    /// At times of their own.
    Open {
        /// The law of those times.
        process: Process,
        /// Most requests open at once; `None` for what the machine allows.
        max_in_flight: Option<u32>,
        /// What becomes of a request that is due while so many are open.
        when_full: WhenFull,
        /// Where recorded times were read from.
        trace: Option<Recording>,
    },
    /// When a user is free.
    Closed {
        /// How many users.
        users: u32,
        /// When a user's next request is due.
        rhythm: Rhythm,
        /// The time over which users begin, one after another at equal distances.
        ramp_up: Duration,
    },
}

/// Where recorded times come from.
#[derive(Clone, Debug, PartialEq)]
pub enum Recording {
    /// A file of times.
    File(TraceSource),
    /// The rows of a workload's data set, which are sent at their own times.
    Workload {
        /// Its name.
        workload: String,
        /// How many times faster than recorded, above 0.
        speed: f64,
        /// Trace time left out at the begin.
        skip: Duration,
        /// Trace time used after that; `None` for all.
        window: Option<Duration>,
    },
}

impl Load {
    /// An open loop that drops what is due at `max_in_flight`.
    pub fn open(process: Process, max_in_flight: Option<u32>) -> Load {
        Load::Open { process, max_in_flight, when_full: WhenFull::Drop, trace: None }
    }

    /// A closed loop of users who all begin at once and never pause.
    pub fn closed(users: u32) -> Load {
        Load::Closed { users, rhythm: Rhythm::NO_PAUSE, ramp_up: Duration::ZERO }
    }

    /// The name in scenarios.
    pub fn name(&self) -> &'static str {
        match self {
            Load::Open { trace: Some(_), .. } | Load::Open { process: Process::Recorded(_), .. } => "trace",
            Load::Open { process: Process::Poisson { .. }, .. } => "poisson",
            Load::Open { process: Process::Constant { .. }, .. } => "constant",
            Load::Open { process: Process::Gamma { .. }, .. } => "gamma",
            Load::Open { process: Process::Varying { curve, .. }, .. } if curve.is_ramp() => "ramp",
            Load::Open { process: Process::Varying { .. }, .. } => "steps",
            Load::Closed { .. } => "closed",
        }
    }
}

/// What becomes of a request that is due while `max_in_flight` are open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenFull {
    /// It is left out, and its row says so.
    Drop,
    /// It waits for a place.
    Wait,
}

impl WhenFull {
    /// Every choice.
    pub const ALL: [WhenFull; 2] = [WhenFull::Drop, WhenFull::Wait];

    /// The name in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            WhenFull::Drop => "drop",
            WhenFull::Wait => "wait",
        }
    }
}

/// When the next request of a user is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rhythm {
    /// A pause after the last one has ended.
    Think(TimeLaw),
    /// At multiples of this from the user's begin, or once the last one has ended if that is later.
    Pace(Duration),
}

impl Rhythm {
    /// As soon as the last one has ended.
    pub const NO_PAUSE: Rhythm = Rhythm::Think(TimeLaw::Fixed(Duration::ZERO));
}

/// A conversation of several turns.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionForm {
    /// How many turns, of a row that is a conversation at most; `None` for as many as the row has, or as fit
    /// `max_context`.
    pub turns: Option<Distribution>,
    /// The pause between the end of one and the next.
    pub think: TimeLaw,
    /// What a turn carries of those before it.
    pub history: History,
    /// Tokens that a prompt and its answer must not pass together; `None` for no bound.
    pub max_context: Option<u64>,
}

impl SessionForm {
    /// The most turns of a conversation.
    pub const MOST_TURNS: u64 = 10_000;
}

/// What a turn carries of the turns before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum History {
    /// All their prompts, with the answers that the server gave.
    Real,
    /// All their prompts, with the answers that stand in the data set.
    Recorded,
    /// Nothing.
    None,
}

impl History {
    /// Every choice.
    pub const ALL: [History; 3] = [History::Real, History::Recorded, History::None];

    /// The name in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            History::Real => "real",
            History::Recorded => "recorded",
            History::None => "none",
        }
    }
}

/// When a run is stopped before its end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StopRules {
    /// Above this share of failures among the last 100 requests; 1 for never.
    pub error_share: f64,
    /// After so many failures in a row.
    pub errors_in_a_row: Option<u64>,
    /// When requests in flight and times to first token both keep growing.
    pub over_saturated: bool,
}

impl Default for StopRules {
    fn default() -> StopRules {
        StopRules { error_share: 0.5, errors_in_a_row: None, over_saturated: false }
    }
}

/// The law of arrivals by its name in scenarios.
pub(super) const ARRIVALS: [(&str, Arrivals); 2] =
    [("poisson", Arrivals::Poisson), ("constant", Arrivals::Constant)];

/// One load of a phase.
#[derive(Clone, Copy, Debug)]
pub struct PhaseLoad<'a> {
    /// The phase's name, or for a second load its own.
    pub name: &'a str,
    /// How its requests arrive.
    pub load: &'a Load,
}

impl Phase {
    /// Its loads, the main one first.
    pub fn loads(&self) -> impl Iterator<Item = PhaseLoad<'_>> {
        let main = PhaseLoad { name: &self.name, load: &self.load };
        let also = self.also.iter().map(|also| PhaseLoad { name: &also.name, load: &also.load });
        std::iter::once(main).chain(also)
    }

    /// Indices of the workloads that load `index` of the phase sends, of `all` of the scenario.
    pub fn workloads_of(&self, index: usize, all: &[Workload]) -> Vec<usize> {
        sent_by(&self.workloads, &self.also, index, all).collect()
    }
}

/// Indices of the workloads that load `index` of a phase sends, whose main load names `own`.
pub(super) fn sent_by<'a>(
    own: &'a [String],
    also: &'a [Also],
    index: usize,
    all: &'a [Workload],
) -> impl Iterator<Item = usize> + Clone + use<'a> {
    let names = index.checked_sub(1).and_then(|place| also.get(place)).map_or(own, |also| &also.workloads);
    let elsewhere = move |name: &String| also.iter().any(|also| also.workloads.contains(name));
    let is_sent = move |name: &String| if names.is_empty() { !elsewhere(name) } else { names.contains(name) };
    (0..all.len()).filter(move |index| is_sent(&all[*index].name))
}
