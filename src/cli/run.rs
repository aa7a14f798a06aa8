//! `tonnage run`: the real path.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::args::{RunArgs, ScenarioArgs};
use super::book::{Facts, Origin};
use super::collecting;
use super::exit::{Exit, Failure};
use super::lengths::{self, Simulated};
use super::live::say;
use super::prepare::{Prepared, Purpose, prepare};
use super::series::{self, Played, Playing, Readiness, Stage};
use super::shard::Part;
use super::signals::{self, Signal};
use super::{answers, environment, host, scraping, sim, target};
use crate::blocks::KnownPrompt;
use crate::client::Client;
use crate::clock::Clock;
use crate::plan::composer::Composer;
use crate::results::manifest::{ClockKind, LengthsEntry, ServerEntry};
use crate::run::Run;
use crate::run::ahead::Source;
use crate::run::stop::{Stop, StopSwitch};
use crate::scenario::{Endpoint, Load, Phase, ProfileSource, Target, TargetUrl};
use crate::sim::{Embedded, FaultPlan, Options};
use crate::units::Nanos;

/// Variables by which other programs are led to a proxy.
const PROXIES: [&str; 6] =
    ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];

pub(super) fn run(args: &RunArgs) -> Result<Exit, Failure> {
    let part = Part::read(&args.part)?;
    let mut prepared = prepare(&args.scenario, args.target.clone(), Purpose::Measure)?;
    part.apply(&mut prepared)?;
    let server = Server::of(&prepared)?;
    let embedded = server.embedded.is_some();
    let max_in_flight = target::descriptors(&prepared.scenario, prepared.shard, embedded)?;
    let measuring =
        Measuring { args: &args.scenario, prepared: &prepared, part: &part, server, max_in_flight };
    // What is resumed goes on along the time axis that it began.
    let start = prepared.resume.as_ref().map_or(Duration::ZERO, |resume| resume.elapsed(prepared.started));
    let ended = Clock::run_real_from(start, |clock| measuring.measure(clock));
    ended.map_err(|error| Failure::unexpected(format!("the runtime cannot start: {error}")))?
}

fn embed(profile: &ProfileSource, faults: &FaultPlan, prepared: &Prepared) -> Result<Embedded, Failure> {
    let mut options = Options {
        api_key: prepared.key.clone(),
        answer_key: answers::Key::of(prepared),
        faults: faults.clone().with_seed(prepared.seed),
        epoch_unix_s: environment::unix_time_s(),
        ..Options::default()
    };
    if let Some(tokenizer) = &prepared.tokenizer {
        options.tokenizer = Arc::new(Simulated(Arc::clone(tokenizer)));
    }
    Embedded::start(sim::profile(profile)?, options)
        .map_err(|error| Failure::unexpected(format!("the embedded server cannot start: {error}")))
}

fn loopback(server: &Embedded) -> Result<TargetUrl, Failure> {
    TargetUrl::parse(&format!("http://{}", server.addr()))
        .map_err(|error| Failure::unexpected(error.problem.to_owned()))
}

/// A run or sweep about to be made.
struct Measuring<'a> {
    args: &'a ScenarioArgs,
    prepared: &'a Prepared,
    part: &'a Part,
    server: Server,
    max_in_flight: usize,
}

impl Measuring<'_> {
    async fn measure(self, clock: Clock) -> Result<Exit, Failure> {
        let link = Link::to(&clock, self.prepared, self.server, self.args.quiet).await?;
        let facts = Facts {
            prepared: self.prepared,
            model: link.model.clone(),
            serving: link.serving.clone(),
            clock: ClockKind::Real,
            stamps: link.client.stamp_source().name(),
            simulated: link.server.embedded.is_some(),
            host: Some(host::host()),
        };
        let (signal_sender, signals) = unbounded_channel();
        signals::listen(move |signal| {
            // The run may be over already.
            let _ = signal_sender.send(signal);
        })?;
        let quiet = self.args.quiet;
        let max_in_flight = self.max_in_flight;
        let mut stage =
            Network { clock, link, signals, part: Some(self.part), start_at: None, max_in_flight, quiet };
        series::play(&mut stage, &facts, self.prepared, self.args).await
    }
}

/// A server: at an address, or inside this process.
struct Server {
    url: TargetUrl,
    embedded: Option<Embedded>,
}

impl Server {
    fn of(prepared: &Prepared) -> Result<Server, Failure> {
        match &prepared.scenario.target.endpoint {
            Endpoint::Url(url) => Ok(Server { url: url.clone(), embedded: None }),
            Endpoint::Sim { profile, faults } => {
                let server = embed(profile, faults, prepared)?;
                Ok(Server { url: loopback(&server)?, embedded: Some(server) })
            }
        }
    }
}

/// A way to a server that is ready.
struct Link {
    /// What it was made for.
    target: Target,
    server: Server,
    client: Rc<Client>,
    model: String,
    /// What the server says of itself.
    serving: ServerEntry,
}

impl Link {
    async fn to(clock: &Clock, prepared: &Prepared, server: Server, quiet: bool) -> Result<Link, Failure> {
        let target = &prepared.scenario.target;
        let connector = target::connector(&server.url, target).await?;
        let client = Rc::new(target::client(clock, connector, &server.url, prepared)?);
        let (model, serving) = target::find_model(&client, clock, &server.url, target, quiet).await?;
        Ok(Link { target: target.clone(), server, client, model, serving })
    }

    /// Goes over to another server where this run is for another, and prepares it.
    async fn make_ready(
        &mut self,
        clock: &Clock,
        prepared: &Prepared,
        quiet: bool,
    ) -> Result<(Composer, Vec<LengthsEntry>, Vec<KnownPrompt>), Failure> {
        if self.target != prepared.scenario.target {
            *self = Link::to(clock, prepared, Server::of(prepared)?, quiet).await?;
        }
        lengths::composer(&self.client, clock, &self.server.url, prepared, &self.model, quiet).await
    }
}

/// Runs over the network, in real time.
struct Network<'a> {
    clock: Clock,
    link: Link,
    signals: UnboundedReceiver<Signal>,
    /// What says when the first run starts, until that is asked.
    part: Option<&'a Part>,
    /// When the first run starts.
    start_at: Option<Nanos>,
    /// Room for requests in the scenario as it is without a sweep.
    max_in_flight: usize,
    quiet: bool,
}

impl Stage for Network<'_> {
    async fn make_ready(&mut self, prepared: &Prepared) -> Result<Readiness, Failure> {
        let readying = self.link.make_ready(&self.clock, prepared, self.quiet);
        let (composer, lengths, filled) = tokio::select! {
            biased;
            Some(signal) = self.signals.recv() => return Ok(Readiness::Caught(signal)),
            ready = readying => ready?,
        };
        if let Some(part) = self.part.take() {
            self.start_at = part.start(&self.clock)?;
        }
        Ok(Readiness::Ready { composer: Box::new(composer), lengths, filled })
    }

    async fn play(&mut self, playing: Playing<'_>) -> Result<Played, Failure> {
        let Playing { prepared, composer, collector, origin, live } = playing;
        let max_in_flight =
            target::descriptors(&prepared.scenario, prepared.shard, self.link.server.embedded.is_some())?;
        let pages = scraping::pages(&prepared.scenario, &self.clock, &self.link.client).await?;
        let no_thread = |error| Failure::unexpected(format!("cannot start a thread: {error}"));
        let mut source = Source::threaded(composer).map_err(no_thread)?;
        let (ask, mut asked) = unbounded_channel();
        let monotonic =
            self.clock.monotonic().ok_or_else(|| Failure::unexpected("the clock is not the real one"))?;
        let is_alone = self.link.server.embedded.is_none();
        let collecting = collecting::start(collector, monotonic, live, ask.clone(), is_alone);
        let collecting = collecting.map_err(no_thread)?;
        let stop = Rc::new(StopSwitch::default());
        let scenario = &prepared.scenario;
        let sink = collecting.sink(Rc::clone(&stop));
        let (sink, watchers) = scraping::watching(sink, &self.clock, scenario.server.as_ref(), pages);
        let run = Run {
            clock: self.clock.clone(),
            client: Rc::clone(&self.link.client),
            sink,
            phases: prepared.scenario.phases.clone(),
            max_in_flight,
            seed: prepared.seed,
            shard: prepared.shard,
            start_at: self.start_at.take(),
            origin,
            stop: Rc::clone(&stop),
        };
        let mut caught = None;
        let (ending, origin) = {
            let running = run.run(&mut source);
            tokio::pin!(running);
            loop {
                tokio::select! {
                    biased;
                    ended = &mut running => break ended,
                    Some(failed) = asked.recv() => stop.ask(failed),
                    Some(signal) = self.signals.recv() => {
                        let again = caught.replace(signal).is_some();
                        if !self.quiet && !again {
                            say("stopping: open requests get a moment to end; a second signal cuts them");
                        }
                        stop.ask(if again { Stop::Now } else { Stop::Drain });
                    }
                }
            }
        };
        watchers.end().await;
        let gathered = collecting.join().map_err(|_| Failure::unexpected("the collecting thread died"))?;
        let ago_ns = i128::from(self.clock.now().0.saturating_sub(origin.0));
        let zero = Origin {
            monotonic_ns: self.clock.origin_monotonic_ns().map(|zero| zero.wrapping_add(origin.0)),
            unix_ns: u64::try_from(environment::unix_time_ns() - ago_ns).ok(),
        };
        Ok(Played { gathered, ending, origin, zero, signal: caught })
    }

    fn announce(&self, prepared: &Prepared) {
        announce(prepared, &self.link, self.max_in_flight);
    }

    async fn pause(&mut self, time: Duration) -> Option<Signal> {
        tokio::select! {
            biased;
            signal = self.signals.recv() => signal,
            () = self.clock.sleep(time) => None,
        }
    }
}

/// Says what is about to happen, with the limits that will hold.
fn announce(prepared: &Prepared, link: &Link, max_in_flight: usize) {
    let scenario = &prepared.scenario;
    let timeouts = &scenario.target.timeouts;
    let total = timeouts.total.map_or("none".to_owned(), |total| format!("{total:?}"));
    let served = if link.server.embedded.is_some() { "simulated " } else { "" };
    say(&format!(
        "{} → {served}{} at {} (seed {})\ntime-outs: connect {:?}, first token {:?}, idle {:?}, total {total}",
        scenario.name,
        link.model,
        link.server.url,
        prepared.seed.0,
        timeouts.connect,
        timeouts.first_token,
        timeouts.idle,
    ));
    if let Some(proxy) = PROXIES.into_iter().find(|name| environment::optional(name).is_some()) {
        say(&format!("{proxy} is set and ignored: connections go straight to the target"));
    }
    let unstated = |load: &Load| matches!(load, Load::Open { max_in_flight: None, .. });
    if scenario.phases.iter().flat_map(Phase::loads).any(|load| unstated(load.load)) {
        say(&format!("open loops hold at most {max_in_flight} requests in flight"));
    }
}
