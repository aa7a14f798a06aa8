//! `tonnage run`: the real path.

use std::rc::Rc;
use std::sync::Arc;

use tokio::sync::mpsc::unbounded_channel;

use super::args::{RunArgs, ScenarioArgs};
use super::book::{End, Facts, Origin};
use super::collecting::{self, Gathered};
use super::exit::{Exit, Failure};
use super::lengths::Simulated;
use super::live::{Live, say};
use super::prepare::{Prepared, Purpose, prepare};
use super::shard::Part;
use super::signals::{self, Signal};
use super::{answers, environment, host, scraping, sim, target};
use crate::clock::Clock;
use crate::results::manifest::{ClockKind, State};
use crate::run::ahead::Source;
use crate::run::stop::{Stop, StopSwitch};
use crate::run::{Ending, Run};
use crate::scenario::{Endpoint, Load, Phase, ProfileSource, TargetUrl};
use crate::sim::{Embedded, FaultPlan, Options};

/// Variables by which other programs are led to a proxy.
const PROXIES: [&str; 6] =
    ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];

pub(super) fn run(args: &RunArgs) -> Result<Exit, Failure> {
    let part = Part::read(&args.part)?;
    let mut prepared = prepare(&args.scenario, args.target.clone(), Purpose::Measure)?;
    part.apply(&mut prepared)?;
    let (url, embedded) = match &prepared.scenario.target.endpoint {
        Endpoint::Url(url) => (url.clone(), None),
        Endpoint::Sim { profile, faults } => {
            let server = embed(profile, faults, &prepared)?;
            (loopback(&server)?, Some(server))
        }
    };
    let max_in_flight = target::descriptors(&prepared.scenario, prepared.shard, embedded.is_some())?;
    let measuring = Measuring {
        args: &args.scenario,
        prepared: &prepared,
        part: &part,
        url,
        max_in_flight,
        simulated: embedded.is_some(),
    };
    let ended = Clock::run_real(|clock| measuring.measure(clock));
    drop(embedded);
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

/// A run about to be made.
struct Measuring<'a> {
    args: &'a ScenarioArgs,
    prepared: &'a Prepared,
    part: &'a Part,
    url: TargetUrl,
    max_in_flight: usize,
    simulated: bool,
}

impl Measuring<'_> {
    async fn measure(&self, clock: Clock) -> Result<Exit, Failure> {
        let scenario = &self.prepared.scenario;
        let connector = target::connector(&self.url, &scenario.target).await?;
        let client = Rc::new(target::client(&clock, connector, &self.url, self.prepared)?);
        let quiet = self.args.quiet;
        let model = target::find_model(&client, &clock, &self.url, &scenario.target, quiet).await?;
        let (composer, lengths, filled) =
            super::lengths::composer(&client, &clock, &self.url, self.prepared, &model, quiet).await?;
        let pages = scraping::pages(scenario, &clock, &client).await?;
        let source = Source::threaded(composer);
        let mut source =
            source.map_err(|error| Failure::unexpected(format!("cannot start a thread: {error}")))?;
        let facts = Facts {
            prepared: self.prepared,
            model,
            lengths,
            filled,
            clock: ClockKind::Real,
            stamps: client.stamp_source().name(),
            simulated: self.simulated,
            host: Some(host::host()),
        };
        let (signal_sender, mut signal_receiver) = unbounded_channel();
        signals::listen(move |signal| {
            // The run may be over already.
            let _ = signal_sender.send(signal);
        })?;
        let start_at = self.part.start(&clock)?;
        let writer = facts.open(self.args)?;
        if !self.args.quiet {
            self.announce(&facts.model);
        }

        let (ask, mut asked) = unbounded_channel();
        let monotonic =
            clock.monotonic().ok_or_else(|| Failure::unexpected("the clock is not the real one"))?;
        let live = (!self.args.quiet).then(|| Live::new(scenario, self.prepared.planned_requests()));
        let collecting =
            collecting::start(facts.collector(writer), monotonic, live, ask.clone(), !self.simulated);
        let collecting =
            collecting.map_err(|error| Failure::unexpected(format!("cannot start a thread: {error}")))?;
        let stop = Rc::new(StopSwitch::default());
        let caught = Rc::new(std::cell::Cell::new(None::<Signal>));
        let quiet = self.args.quiet;
        let ear = tokio::task::spawn_local({
            let (stop, caught) = (Rc::clone(&stop), Rc::clone(&caught));
            async move {
                loop {
                    tokio::select! {
                        Some(failed) = asked.recv() => stop.ask(failed),
                        Some(signal) = signal_receiver.recv() => {
                            let again = caught.replace(Some(signal)).is_some();
                            if !quiet && !again {
                                say("stopping: open requests get a moment to end; a second signal cuts them");
                            }
                            stop.ask(if again { Stop::Now } else { Stop::Drain });
                        }
                    }
                }
            }
        });
        let sink = collecting.sink(Rc::clone(&stop));
        let (sink, watchers) = scraping::watching(sink, &clock, scenario.server.as_ref(), pages);
        let run = Run {
            clock: clock.clone(),
            client,
            sink,
            phases: scenario.phases.clone(),
            max_in_flight: self.max_in_flight,
            seed: self.prepared.seed,
            shard: self.prepared.shard,
            start_at,
            stop,
        };
        let (ending, origin) = run.run(&mut source).await;
        watchers.end().await;
        ear.abort();
        let gathered = collecting.join().map_err(|_| Failure::unexpected("the collecting thread died"))?;
        let ago_ns = i128::from(clock.now().0.saturating_sub(origin.0));
        let origin = Origin {
            monotonic_ns: clock.origin_monotonic_ns().map(|zero| zero + origin.0),
            unix_ns: u64::try_from(environment::unix_time_ns() - ago_ns).ok(),
        };
        conclude(&facts, gathered, &ending, origin, caught.get(), self.args)
    }

    /// Says what is about to happen, with the limits that will hold.
    fn announce(&self, model: &str) {
        let scenario = &self.prepared.scenario;
        let timeouts = &scenario.target.timeouts;
        let total = timeouts.total.map_or("none".to_owned(), |total| format!("{total:?}"));
        let served = if self.simulated { "simulated " } else { "" };
        say(&format!(
            "{} → {served}{model} at {} (seed {})\ntime-outs: connect {:?}, first token {:?}, idle {:?}, total {total}",
            scenario.name,
            self.url,
            self.prepared.seed.0,
            timeouts.connect,
            timeouts.first_token,
            timeouts.idle,
        ));
        if let Some(proxy) = PROXIES.into_iter().find(|name| environment::optional(name).is_some()) {
            say(&format!("{proxy} is set and ignored: connections go straight to the target"));
        }
        let unstated = |load: &Load| matches!(load, Load::Open { max_in_flight: None, .. });
        if scenario.phases.iter().flat_map(Phase::loads).any(|load| unstated(load.load)) {
            say(&format!("open loops hold at most {} requests in flight", self.max_in_flight));
        }
    }
}

/// Closes the books of a run, however it ended.
pub(super) fn conclude(
    facts: &Facts<'_>,
    gathered: Gathered,
    ending: &Ending,
    origin: Origin,
    signal: Option<Signal>,
    args: &ScenarioArgs,
) -> Result<Exit, Failure> {
    let (state, failure) = match (ending, &gathered.failure) {
        (_, Some(error)) => (State::Stopped, Some(error.to_string())),
        (Ending::Stopped(Stop::Failed(reason)), _) => (State::Stopped, Some(reason.clone())),
        (Ending::Stopped(Stop::Rule(_)), _) => (State::Stopped, None),
        (Ending::Stalled(what), _) => (State::Stopped, Some(format!("nothing was left to wait for: {what}"))),
        (Ending::Stopped(_), _) => (State::Interrupted, None),
        (Ending::Complete, _) => (State::Complete, None),
    };
    let collected = gathered.collector.finish(*ending != Ending::Complete, facts.simulated);
    let exit = facts.close(collected, &End { state, origin, failure }, args)?;
    Ok(signal.map_or(exit, Signal::exit))
}
