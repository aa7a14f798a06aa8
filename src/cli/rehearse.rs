//! `tonnage rehearse`: the same run against the simulator, in one thread and virtual time.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::args::RehearseArgs;
use super::book::{Facts, Origin};
use super::collecting::Gathered;
use super::exit::{Exit, Failure};
use super::lengths::{self, Simulated};
use super::live::{Live, say};
use super::prepare::{Prepared, Purpose, prepare};
use super::series::{self, Played, Playing, Readiness, Stage};
use super::signals::{self, Signal};
use super::{answers, scraping, sim, target};
use crate::client::{Client, Connector};
use crate::clock::Clock;
use crate::protocol::Api;
use crate::results::manifest::{ClockKind, ServerEntry};
use crate::run::ahead::Source;
use crate::run::stop::{Stop, StopSwitch};
use crate::run::{Run, Sink};
use crate::scenario::{Endpoint, SIMULATED_APIS, Target, TargetUrl};
use crate::sim::{FaultPlan, Options, Profile, Server};
use crate::stats::Progress;
use crate::units::Nanos;

/// The server rehearsed against where the scenario names none.
const DEFAULT_PROFILE: &str = "7b-24gb";
/// Room in each in-memory pipe.
const PIPE_BYTES: usize = 64 << 10;
/// How often progress is shown.
const LOOK_EVERY: Duration = Duration::from_secs(1);

pub(super) fn run(args: &RehearseArgs) -> Result<Exit, Failure> {
    let prepared = prepare(&args.scenario, None, Purpose::Rehearse)?;
    let profile = profile(args, &prepared)?;
    let api = prepared.scenario.target.api;
    if !SIMULATED_APIS.contains(&api) {
        let spoken = SIMULATED_APIS.map(Api::name).join(", ");
        return Err(Failure::usage(format!(
            "the simulated server does not speak `{}`\n  help: rehearse with --set target.api= and one of {spoken}",
            api.name()
        )));
    }
    let (sender, signals) = channel();
    signals::listen(move |signal| {
        // The rehearsal may be over already.
        let _ = sender.send(signal);
    })?;
    let rehearsed = Clock::run_virtual(|clock| rehearse(args, &prepared, profile, clock, signals));
    rehearsed.map_err(|error| Failure::unexpected(format!("the runtime cannot start: {error}")))?
}

async fn rehearse(
    args: &RehearseArgs,
    prepared: &Prepared,
    profile: Profile,
    clock: Clock,
    signals: Receiver<Signal>,
) -> Result<Exit, Failure> {
    let profile_name = profile.name().to_owned();
    let link = Link::to(&clock, prepared, profile, faults(args, prepared)?).await?;
    let facts = Facts {
        prepared,
        model: link.model.clone(),
        serving: link.serving.clone(),
        clock: ClockKind::Virtual,
        stamps: link.client.stamp_source().name(),
        simulated: true,
        host: None,
    };
    if let Some(resume) = &prepared.resume {
        clock.sleep_until(Nanos::ZERO + resume.end()).await;
    }
    let mut stage = Rehearsal { args, clock, profile_name, link, signals: Rc::new(signals) };
    series::play(&mut stage, &facts, prepared, &args.scenario).await
}

/// A way to a simulated server.
struct Link {
    /// What it was made for.
    target: Target,
    url: TargetUrl,
    client: Rc<Client>,
    model: String,
    /// What the server says of itself.
    serving: ServerEntry,
}

impl Link {
    async fn to(
        clock: &Clock,
        prepared: &Prepared,
        profile: Profile,
        faults: FaultPlan,
    ) -> Result<Link, Failure> {
        let target = &prepared.scenario.target;
        let url = match &target.endpoint {
            Endpoint::Url(url) => url.clone(),
            Endpoint::Sim { .. } => in_memory_url()?,
        };
        let answer_key = answers::Key::of(prepared);
        let mut options = Options { model: target.model.clone(), answer_key, faults, ..Options::default() };
        if let Some(tokenizer) = &prepared.tokenizer {
            options.tokenizer = Arc::new(Simulated(Arc::clone(tokenizer)));
        }
        let server = Server::new(clock.clone(), profile, options);
        let connector = Connector::memory(move || {
            let (ours, theirs) = tokio::io::duplex(PIPE_BYTES);
            tokio::task::spawn_local(server.serve(theirs));
            ours
        });
        let client = Rc::new(target::client(clock, connector, &url, prepared)?);
        let (model, serving) = target::find_model(&client, clock, &url, target, true).await?;
        Ok(Link { target: target.clone(), url, client, model, serving })
    }
}

/// Runs against the simulator, in virtual time.
struct Rehearsal<'a> {
    args: &'a RehearseArgs,
    clock: Clock,
    /// Of the scenario as it is without a sweep.
    profile_name: String,
    link: Link,
    signals: Rc<Receiver<Signal>>,
}

impl Stage for Rehearsal<'_> {
    async fn make_ready(&mut self, prepared: &Prepared) -> Result<Readiness, Failure> {
        if self.link.target != prepared.scenario.target {
            let (profile, faults) = (profile(self.args, prepared)?, faults(self.args, prepared)?);
            self.link = Link::to(&self.clock, prepared, profile, faults).await?;
        }
        let Link { url, client, model, .. } = &self.link;
        let quiet = self.args.scenario.quiet;
        let (composer, lengths, filled) =
            lengths::composer(client, &self.clock, url, prepared, model, quiet).await?;
        Ok(Readiness::Ready { composer: Box::new(composer), lengths, filled })
    }

    async fn play(&mut self, playing: Playing<'_>) -> Result<Played, Failure> {
        let Playing { prepared, composer, collector, origin, live } = playing;
        let mut source = Source::inline(composer);
        let watch = live.map(Watch::start);
        let seen = watch.as_ref().map(|watch| Arc::clone(&watch.seen));
        let desk = Rc::new(RefCell::new(Gathered { collector, failure: None }));
        let stop = Rc::new(StopSwitch::default());
        let caught = Rc::new(Cell::new(None));
        let sink = sink(&self.clock, &desk, &stop, &caught, Rc::clone(&self.signals), seen);
        let scenario = &prepared.scenario;
        let pages = scraping::simulated_page(scenario, &self.link.client)?;
        let (sink, watchers) = scraping::watching(sink, &self.clock, scenario.server.as_ref(), pages);
        let run = Run {
            clock: self.clock.clone(),
            client: Rc::clone(&self.link.client),
            sink,
            phases: prepared.scenario.phases.clone(),
            max_in_flight: target::MAX_IN_FLIGHT,
            seed: prepared.seed,
            shard: prepared.shard,
            start_at: None,
            origin,
            stop,
        };
        let (ending, origin) = run.run(&mut source).await;
        drop(run);
        drop(watch);
        watchers.end().await;
        let gathered = Rc::into_inner(desk).map(RefCell::into_inner);
        let gathered = gathered.ok_or_else(|| Failure::unexpected("the rehearsal did not come to rest"))?;
        Ok(Played { gathered, ending, origin, zero: Origin::default(), signal: caught.get() })
    }

    fn announce(&self, prepared: &Prepared) {
        let (name, profile, seed) = (&prepared.scenario.name, &self.profile_name, prepared.seed.0);
        say(&format!("{name} → {profile} in virtual time (seed {seed})"));
    }

    async fn pause(&mut self, time: Duration) -> Option<Signal> {
        self.clock.sleep(time).await;
        self.signals.try_recv().ok()
    }
}

/// What goes wrong at it.
fn faults(args: &RehearseArgs, prepared: &Prepared) -> Result<FaultPlan, Failure> {
    let faults = match &prepared.scenario.target.endpoint {
        Endpoint::Sim { faults, .. } => faults.clone(),
        Endpoint::Url(_) => FaultPlan::default(),
    };
    Ok(faults.and(sim::faults(&args.faults)?).with_seed(prepared.seed))
}

/// The server to rehearse against.
fn profile(args: &RehearseArgs, prepared: &Prepared) -> Result<Profile, Failure> {
    match (&args.profile, &prepared.scenario.target.endpoint) {
        (Some(named), _) => sim::profile(&sim::source(named)?),
        (None, Endpoint::Sim { profile, .. }) => sim::profile(profile),
        (None, Endpoint::Url(_)) => sim::profile(&sim::source(DEFAULT_PROFILE)?),
    }
}

/// Takes each event in at once: under the virtual clock nothing may run beside the one thread.
fn sink(
    clock: &Clock,
    desk: &Rc<RefCell<Gathered>>,
    stop: &Rc<StopSwitch>,
    caught: &Rc<Cell<Option<Signal>>>,
    signals: Rc<Receiver<Signal>>,
    seen: Option<Arc<Mutex<Seen>>>,
) -> Sink {
    let (clock, desk, stop, caught) = (clock.clone(), Rc::clone(desk), Rc::clone(stop), Rc::clone(caught));
    Rc::new(move |event| {
        if let Ok(signal) = signals.try_recv() {
            // Virtual time passes in no time: there is nothing to drain for.
            caught.set(Some(signal));
            stop.ask(Stop::Now);
        }
        let mut desk = desk.borrow_mut();
        if let Err(error) = desk.collector.take(event) {
            stop.ask(Stop::Failed(error.to_string()));
            desk.failure.get_or_insert(error);
        }
        if let Some(rule) = desk.collector.broken_rule() {
            stop.ask(Stop::Rule(rule));
        }
        // Whoever looks has the lock for a moment; the next event comes soon.
        if let Some(Ok(mut seen)) = seen.as_ref().map(|seen| seen.try_lock()) {
            *seen = (desk.collector.progress(), clock.now().since(Nanos::ZERO));
        }
    })
}

/// What a look at the rehearsal shows: its counts, at so much virtual time.
type Seen = (Progress, Duration);

/// Shows progress once a second of the world's time, from a thread of its own that no virtual time waits for.
struct Watch {
    seen: Arc<Mutex<Seen>>,
    /// Dropping it is the sign to end.
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    fn start(mut live: Live) -> Watch {
        let seen = Arc::new(Mutex::new(Seen::default()));
        let (end, ended) = channel();
        let shown = Arc::clone(&seen);
        let look = move || {
            while ended.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
                let (progress, elapsed) = *shown.lock().unwrap_or_else(PoisonError::into_inner);
                live.show(&progress, elapsed);
            }
            live.clear();
        };
        // Where no thread can be had, there is no progress to see.
        let thread = thread::Builder::new().name("watch".into()).spawn(look).ok();
        Watch { seen, end: Some(end), thread }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            // Without it nothing is shown, and nothing else is lost.
            let _ = thread.join();
        }
    }
}

fn in_memory_url() -> Result<TargetUrl, Failure> {
    TargetUrl::parse("http://simulated").map_err(|error| Failure::unexpected(error.problem))
}
