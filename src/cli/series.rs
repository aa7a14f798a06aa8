//! A scenario run once, or once for each run of its sweep, into one folder.

use std::time::Duration;

use super::args::ScenarioArgs;
use super::book::{Book, End, Facts, Origin, taken};
use super::collecting::Gathered;
use super::environment;
use super::exit::{Exit, Failure};
use super::hunt::Hunt;
use super::live::{Live, say};
use super::prepare::Prepared;
use super::signals::Signal;
use crate::blocks::KnownPrompt;
use crate::collect::Collector;
use crate::plan::composer::Composer;
use crate::results::manifest::{LengthsEntry, State};
use crate::run::Ending;
use crate::run::stop::Stop;
use crate::sweep::{Grid, Run};
use crate::units::Nanos;

/// Where runs are made: on the network, or in virtual time.
pub(super) trait Stage {
    /// Does what comes before a run: a way to its server, the lengths of its prompts, the server's cache.
    async fn make_ready(&mut self, prepared: &Prepared) -> Result<Readiness, Failure>;

    /// Makes one run, to the end of its last request.
    async fn play(&mut self, playing: Playing<'_>) -> Result<Played, Failure>;

    /// Says what is about to happen, once there is a place for its results.
    fn announce(&self, prepared: &Prepared);

    /// Lets so much time pass. A signal ends it.
    async fn pause(&mut self, time: Duration) -> Option<Signal>;
}

/// Whether a run can begin.
pub(super) enum Readiness {
    /// It can.
    Ready {
        /// What makes its requests.
        composer: Box<Composer>,
        /// How they are made to their lengths.
        lengths: Vec<LengthsEntry>,
        /// Shared prefixes that were sent before it.
        filled: Vec<KnownPrompt>,
    },
    /// The user no longer wants it to.
    Caught(Signal),
}

/// A run about to be made.
pub(super) struct Playing<'a> {
    pub(super) prepared: &'a Prepared,
    /// What makes its requests.
    pub(super) composer: Composer,
    /// What takes in its events.
    pub(super) collector: Collector,
    /// The instant that columns subtract; `None` for its start.
    pub(super) origin: Option<Nanos>,
    /// What shows its progress.
    pub(super) live: Option<Live>,
}

/// A run that was made.
pub(super) struct Played {
    pub(super) gathered: Gathered,
    pub(super) ending: Ending,
    /// The instant that its columns subtract.
    pub(super) origin: Nanos,
    /// That instant by other clocks.
    pub(super) zero: Origin,
    pub(super) signal: Option<Signal>,
}

/// Runs the scenario, and closes the books however it ends. There are none before its server was ready once.
pub(super) async fn play(
    stage: &mut impl Stage,
    facts: &Facts<'_>,
    prepared: &Prepared,
    args: &ScenarioArgs,
) -> Result<Exit, Failure> {
    let sweep = prepared.scenario.sweep.as_ref();
    let resume = prepared.resume.as_deref();
    let mut order = Order::new(prepared);
    let mut pace = Pace::new(prepared);
    let mut book: Option<Book<'_>> = None;
    // A sweep goes on along the time axis that it began.
    let mut origin = resume.map(|_| Nanos::ZERO);
    let mut signal = None;
    let mut end = End { state: State::Complete, origin: Origin::default(), failure: None };
    loop {
        let taken = match (&book, resume) {
            (Some(book), _) => book.taken(),
            (None, Some(resume)) => taken(&resume.manifest),
            (None, None) => Duration::ZERO,
        };
        let own = match order.next(prepared, taken) {
            None => break,
            Some(Ok(own)) => own,
            Some(Err(failure)) => {
                end.state = State::Stopped;
                book.map_or(Ok(Exit::Unexpected), |open| open.close(&end, args))?;
                return Err(failure);
            }
        };
        if let Some(sweep) = sweep.filter(|sweep| origin.is_some() && !sweep.pause.is_zero()) {
            signal = stage.pause(sweep.pause).await;
            if signal.is_some() {
                end.state = State::Interrupted;
                break;
            }
        }
        let step = &own;
        if !args.quiet {
            announce(step);
        }
        let readiness = match (stage.make_ready(step).await, book.take()) {
            (Ok(readiness), open) => {
                book = open;
                readiness
            }
            (Err(failure), open) => {
                end.state = State::Stopped;
                open.map_or(Ok(Exit::Unexpected), |open| open.close(&end, args))?;
                return Err(failure);
            }
        };
        let (composer, lengths, filled) = match readiness {
            Readiness::Ready { composer, lengths, filled } => (*composer, lengths, filled),
            Readiness::Caught(caught) if book.is_none() => return Ok(caught.exit()),
            Readiness::Caught(caught) => {
                (signal, end.state) = (Some(caught), State::Interrupted);
                break;
            }
        };
        let (mut open, is_first) = match book.take() {
            Some(open) => (open, false),
            None => (facts.open(args)?, true),
        };
        let mut live = (!args.quiet).then(|| Live::new(&step.scenario, step.planned_requests()));
        let title = match (&order, step.run) {
            (Order::Sweep(grid), Some(run)) => Some(pace.begin(run, grid, prepared)),
            (Order::Search(hunt), _) => Some(hunt.title(taken)),
            _ => None,
        };
        live = live.map(|live| title.into_iter().fold(live, Live::of_run));
        let collector = open.begin(step, lengths)?.after(filled);
        if is_first && !args.quiet {
            stage.announce(prepared);
        }
        let playing = Playing { prepared: step, composer, collector, origin, live };
        let played = stage.play(playing).await?;
        origin = Some(played.origin);
        if end.origin.monotonic_ns.is_none() {
            end.origin = played.zero;
        }
        let stopped = played.ending != Ending::Complete;
        let (state, failure) = state_of(&played);
        let is_cut = played.signal.is_some() || failure.is_some() || is_interrupted(&played);
        let is_over = step.run.is_none() || is_cut;
        let collected = played.gathered.collector.finish(stopped, facts.simulated);
        let whole = open.end(step, collected, state, order.hunt().filter(|_| !is_cut));
        book = Some(open);
        signal = played.signal;
        if is_over || !whole {
            (end.state, end.failure) = (state, failure);
            break;
        }
        pace.end();
    }
    let mut book = match book {
        Some(book) => book,
        None => facts.open(args)?,
    };
    if let Some(hunt) = order.hunt().filter(|_| end.state == State::Complete) {
        let answer = hunt.answer(&book);
        book.set_capacity(answer);
    }
    let exit = book.close(&end, args)?;
    Ok(signal.map_or(exit, Signal::exit))
}

/// Which run comes next.
enum Order<'a> {
    /// The scenario as it is.
    Once,
    /// Nothing more.
    Over,
    Sweep(Grid),
    Search(Hunt<'a>),
}

impl<'a> Order<'a> {
    /// Goes on after the runs that are kept of an interrupted sweep or search.
    fn new(prepared: &'a Prepared) -> Order<'a> {
        let resume = prepared.resume.as_deref();
        if let Some(sweep) = &prepared.scenario.sweep {
            let is_done = |run: Run| resume.is_some_and(|it| it.is_done((Some(run.point), Some(run.repeat))));
            return Order::Sweep(Grid::new(sweep, prepared.seed).without(is_done));
        }
        let done = resume.map_or(&[][..], |resume| &resume.manifest.points);
        Hunt::new(prepared, done).map_or(Order::Once, Order::Search)
    }

    /// `taken` is the time that all runs so far have taken.
    fn next(&mut self, prepared: &Prepared, taken: Duration) -> Option<Result<Prepared, Failure>> {
        match self {
            Order::Once => {
                *self = Order::Over;
                Some(Ok(prepared.clone()))
            }
            Order::Over => None,
            Order::Sweep(grid) => grid.next().map(|run| Ok(prepared.at(run))),
            Order::Search(hunt) => hunt.next(prepared, taken),
        }
    }

    fn hunt(&mut self) -> Option<&mut Hunt<'a>> {
        match self {
            Order::Search(hunt) => Some(hunt),
            _ => None,
        }
    }
}

/// How far a run came, and the failure of ours that stopped it.
fn state_of(played: &Played) -> (State, Option<String>) {
    match (&played.ending, &played.gathered.failure) {
        (_, Some(error)) => (State::Stopped, Some(error.to_string())),
        (Ending::Stopped(Stop::Failed(reason)), _) => (State::Stopped, Some(reason.clone())),
        (Ending::Stopped(Stop::Rule(_)), _) => (State::Stopped, None),
        (Ending::Stalled(what), _) => (State::Stopped, Some(format!("nothing was left to wait for: {what}"))),
        (Ending::Stopped(_), _) => (State::Interrupted, None),
        (Ending::Complete, _) => (State::Complete, None),
    }
}

fn is_interrupted(played: &Played) -> bool {
    matches!(played.ending, Ending::Stopped(Stop::Drain | Stop::Now))
}

/// How fast the runs of a sweep go, to tell how long those to come will take.
struct Pace {
    /// When the run under way began, by the time of day.
    began_ns: i128,
    /// Time of the world that the runs so far have taken.
    taken: Duration,
    /// Time that their phases were to offer load; `None` where one does not say.
    offered: Option<Duration>,
    current: Option<Duration>,
    runs: u32,
}

impl Pace {
    fn new(prepared: &Prepared) -> Pace {
        let offered = offered(prepared).map(|_| Duration::ZERO);
        Pace { began_ns: 0, taken: Duration::ZERO, offered, current: None, runs: 0 }
    }

    /// Begins a run; returns what it is called, and says it.
    fn begin(&mut self, run: Run, grid: &Grid, prepared: &Prepared) -> String {
        self.began_ns = environment::unix_time_ns();
        self.current = offered(&prepared.at(run));
        let left: Vec<Option<Duration>> =
            [run].into_iter().chain(grid.left()).map(|run| offered(&prepared.at(run))).collect();
        let number = grid.total() - grid.left().count();
        format!(
            "{number}/{}{}",
            grid.total(),
            self.left(&left).map_or(String::new(), |left| { format!(", about {} left", rough(left)) })
        )
    }

    fn end(&mut self) {
        let ns = environment::unix_time_ns() - self.began_ns;
        self.taken += Duration::from_nanos(u64::try_from(ns).unwrap_or(0));
        self.offered = self.offered.zip(self.current).map(|(sum, this)| sum + this);
        self.runs += 1;
    }

    /// How long the runs that offer load for so long will take.
    fn left(&self, offered: &[Option<Duration>]) -> Option<Duration> {
        if self.runs == 0 {
            return None;
        }
        let planned = offered.iter().copied().sum::<Option<Duration>>();
        match planned.zip(self.offered.filter(|offered| !offered.is_zero())) {
            Some((planned, offered)) => {
                Some(self.taken.mul_f64(planned.as_secs_f64() / offered.as_secs_f64()))
            }
            None => Some(self.taken / self.runs * u32::try_from(offered.len()).unwrap_or(u32::MAX)),
        }
    }
}

/// How long the phases offer load, where all of them say so.
fn offered(prepared: &Prepared) -> Option<Duration> {
    prepared.scenario.phases.iter().map(|phase| phase.duration).sum()
}

/// `40 s`, `12 min`, `3.5 h`.
pub(super) fn rough(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7_200 => format!("{} min", (seconds + 30) / 60),
        seconds => format!("{:.1} h", seconds as f64 / 3_600.0),
    }
}

/// Says which run of a sweep begins, and what its axes are set to.
fn announce(step: &Prepared) {
    if let Some(run) = step.run {
        let settings =
            step.settings.iter().map(|it| format!("{} = {}", it.axis, it.value)).collect::<Vec<_>>();
        let settings = settings.join(", ");
        let repeat = if run.repeat > 1 { format!(", repeat {}", run.repeat) } else { String::new() };
        say(&format!("point {}{repeat}: {settings}", run.point));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_follows_from_the_runs_so_far() {
        let second = Duration::from_secs(1);
        let mut pace =
            Pace { began_ns: 0, taken: second * 30, offered: Some(second * 20), current: None, runs: 2 };
        assert_eq!(pace.left(&[Some(second * 20), Some(second * 60)]), Some(second * 120));
        pace.offered = None;
        assert_eq!(pace.left(&[None, None, None]), Some(second * 45));
        pace.runs = 0;
        assert_eq!(pace.left(&[None]), None);
    }

    #[test]
    fn times_left_are_told_in_few_digits() {
        let told = [7, 119, 600, 12_600].map(|seconds| rough(Duration::from_secs(seconds)));
        assert_eq!(told, ["7 s", "119 s", "10 min", "3.5 h"]);
    }
}
