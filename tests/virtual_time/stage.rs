//! A stage: a scenario goes in, everything that became of it comes out.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::ops::Index;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use tonnage::client::{Client, Connector, Settings};
use tonnage::clock::Clock;
use tonnage::collect::{Collected, Collector, PhaseCourse};
use tonnage::dataset::tokenizer::Tokenizer;
use tonnage::dataset::{self, Dataset};
use tonnage::plan::compose::{Form, Measure, Prompts, Salt, Stuff, System};
use tonnage::plan::composer::Composer;
use tonnage::plan::shard::Shard;
use tonnage::plan::{Plan, row_orders};
use tonnage::protocol::BodyOptions;
use tonnage::record::{EndedBy, Event};
use tonnage::results::manifest::{
    ClockKind, FORMAT, LeftOut, Manifest, PhaseEntry, ServerEntry, State, Timeouts, VerdictEntry,
    WorkloadEntry,
};
use tonnage::results::{Place, Writer};
use tonnage::run::ahead::Source;
use tonnage::run::stop::{Stop, StopSwitch};
use tonnage::run::{Ending, Run};
use tonnage::scenario::{Load, Overrides, Phase, PromptSource, Scenario, SystemText, Transport, parse};
use tonnage::seed::Seed;
use tonnage::sim::{Options, Profile, Server, TEMPLATE_TOKENS_PER_MESSAGE};
use tonnage::stats::analysis::{Known, Step};
use tonnage::stats::{AnalysisRow, Finding, SummaryRow, Thresholds, TimelineRow};
use tonnage::units::Nanos;

use crate::answer::Answer;
use crate::server::{Asked, Script, ScriptedServer};

/// A pipe holds this much, so that none of the tests' answers wait for their reader.
const PIPE_BYTES: usize = 1 << 20;

/// A run about to be made.
pub(crate) struct Stage {
    folder: TempDir,
    scenario: String,
    salt: u64,
    lead_in: Duration,
    refuses_for: Duration,
    stops: Vec<(Duration, Stop)>,
    shard: Shard,
    tokenizer: Option<Arc<Tokenizer>>,
    is_late: bool,
    own: fn(&mut Collector),
}

/// A run that was made.
pub(crate) struct Play {
    pub(crate) ending: Ending,
    /// The instant from which columns count.
    pub(crate) origin: Nanos,
    pub(crate) events: Vec<Event>,
    /// `requests.csv` by request.
    pub(crate) rows: Vec<Row>,
    /// `requests.csv` as it stands.
    pub(crate) file: String,
    pub(crate) courses: Vec<Option<PhaseCourse>>,
    pub(crate) summary: Vec<SummaryRow>,
    pub(crate) timeline: Vec<TimelineRow>,
    pub(crate) findings: Vec<Finding>,
    pub(crate) analysis: Vec<AnalysisRow>,
    /// What the scripted server saw, in order of arrival.
    pub(crate) asked: Vec<Asked>,
    /// Most requests open at the scripted server.
    pub(crate) peak: usize,
    folder: TempDir,
}

/// A row of `requests.csv`: cells by column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row(BTreeMap<String, String>);

impl Index<&str> for Row {
    type Output = str;

    fn index(&self, column: &str) -> &str {
        self.0.get(column).unwrap_or_else(|| panic!("no column `{column}`"))
    }
}

impl Row {
    /// A cell as a number; `None` where it is empty.
    pub(crate) fn number(&self, column: &str) -> Option<f64> {
        let cell = &self[column];
        (!cell.is_empty()).then(|| cell.parse().unwrap())
    }
}

impl Stage {
    /// A stage of seed 7 with one workload `chat`, whose further keys, if any, begin `rest`; then come the phases.
    pub(crate) fn chat(rest: &str) -> Stage {
        let opening = "name = \"stage\"\nseed = 7\n";
        let middle = "[target]\nurl = \"http://server\"\nmodel = \"m\"\n\
                      [[workload]]\nname = \"chat\"\nprompt.synthetic.words = 3\n";
        Stage::new(&format!("{opening}{middle}{rest}"))
    }

    /// A stage for a whole scenario.
    pub(crate) fn new(scenario: &str) -> Stage {
        Stage {
            folder: tempfile::tempdir().unwrap(),
            scenario: scenario.to_owned(),
            salt: 1,
            lead_in: Duration::ZERO,
            refuses_for: Duration::ZERO,
            stops: Vec::new(),
            shard: Shard::WHOLE,
            tokenizer: None,
            is_late: false,
            own: |_| (),
        }
    }

    /// Counts texts with a tokenizer.
    pub(crate) fn tokenizer(mut self, tokenizer: Tokenizer) -> Stage {
        self.tokenizer = Some(Arc::new(tokenizer));
        self
    }

    /// Plays one part of the run.
    pub(crate) fn shard(mut self, index: u32, count: u32) -> Stage {
        self.shard = Shard::new(index, count).unwrap();
        self
    }

    /// Puts a file beside the scenario.
    pub(crate) fn file(self, name: &str, text: &str) -> Stage {
        fs::write(self.folder.path().join(name), text).unwrap();
        self
    }

    pub(crate) fn salt(mut self, salt: u64) -> Stage {
        self.salt = salt;
        self
    }

    /// Lets the clock go on for so long before the run.
    pub(crate) fn lead_in(mut self, lead_in: Duration) -> Stage {
        self.lead_in = lead_in;
        self
    }

    /// Begins only after the lead-in, though it was to begin before it: what is due meanwhile goes out late.
    pub(crate) fn late(mut self) -> Stage {
        self.is_late = true;
        self
    }

    /// Tells the collector, at the end of the run, how the client itself fared.
    pub(crate) fn own(mut self, own: fn(&mut Collector)) -> Stage {
        self.own = own;
        self
    }

    /// Has every connection closed at once for so long from the start of the run.
    pub(crate) fn refuses_for(mut self, span: Duration) -> Stage {
        self.refuses_for = span;
        self
    }

    /// Asks for a stop so long after the start of the run.
    pub(crate) fn stop(mut self, after: Duration, stop: Stop) -> Stage {
        self.stops.push((after, stop));
        self
    }

    pub(crate) fn scenario(&self) -> Scenario {
        let loaded = parse("stage.toml", self.scenario.as_bytes(), self.folder.path(), &Overrides::default());
        match loaded {
            Ok(loaded) => loaded.scenario,
            Err(problems) => panic!("{}", problems.render(tonnage::diagnostic::Style::Plain)),
        }
    }

    fn datasets<'a>(&self, scenario: &'a Scenario) -> Vec<Option<(&'a dataset::Source, Arc<Dataset>)>> {
        let datasets = scenario.workloads.iter().map(|workload| match &workload.prompt {
            PromptSource::Synthetic { .. } | PromptSource::Tokens(_) | PromptSource::Needle(_) => None,
            PromptSource::Dataset(source) => Some((source, Arc::new(Dataset::scan(source).unwrap()))),
        });
        datasets.collect()
    }

    pub(crate) fn plan(&self, scenario: &Arc<Scenario>) -> Plan {
        let seed = Seed(scenario.seed.expect("scenarios of tests state their seed"));
        let datasets = self.datasets(scenario);
        let datasets: Vec<_> = datasets.into_iter().map(|set| set.map(|(_, set)| set)).collect();
        Plan::new(Arc::clone(scenario), seed, row_orders(scenario, &datasets, seed)).of_shard(self.shard)
    }

    pub(crate) fn composer(&self, scenario: &Arc<Scenario>) -> Composer {
        let datasets = self.datasets(scenario);
        let forms = scenario.workloads.iter().zip(&datasets).map(|(workload, dataset)| Form {
            workload: workload.name.clone(),
            prompts: match (&workload.prompt, dataset) {
                (PromptSource::Synthetic { words, .. }, _) => {
                    Prompts::Synthetic { words: *words, passage: None }
                }
                (PromptSource::Needle(form), _) => Prompts::Needle(form.into()),
                (PromptSource::Tokens(prompts), _) => {
                    let prefix_tokens = prompts.shared_prefix.map_or(0, |prefix| prefix.tokens);
                    Prompts::Tokens { prefix_tokens, of: prompts.ids().map_or(Stuff::Words, Stuff::Ids) }
                }
                (_, dataset) => Prompts::Rows(Arc::clone(&dataset.as_ref().unwrap().1)),
            },
            system: match &workload.system {
                None => System::None,
                Some(SystemText::Text(text) | SystemText::File { text, .. }) => System::Text(text.clone()),
                Some(SystemText::Tokens(tokens)) => System::Tokens(*tokens),
            },
            measure: Some(Measure { overhead_tokens: TEMPLATE_TOKENS_PER_MESSAGE, ..Measure::words() }),
            cache: workload.cache,
            history: workload.history(dataset.as_ref().map(|(_, dataset)| &**dataset)),
            context: workload.session.as_ref().and_then(|session| session.max_context),
            tokenizer: self.tokenizer.clone(),
            options: BodyOptions {
                model: "m".to_owned(),
                stream: workload.request.stream,
                temperature: Some(workload.request.temperature),
                extra: workload.request.extra.clone(),
                ..BodyOptions::default()
            },
            checks: workload.score.is_some(),
            compares: workload.consistency,
        });
        let plan = self.plan(scenario);
        Composer::new(plan, scenario.target.api, forms.collect(), Salt(self.salt), "run-0-0".to_owned())
    }

    /// Plays against a server that answers each request as `script` says.
    pub(crate) fn scripted(&self, script: impl Fn(&Asked) -> Answer + 'static) -> Play {
        let script: Script = Box::new(script);
        let refuses_until = Nanos::ZERO + self.lead_in + self.refuses_for;
        let (mut play, server) = Clock::run_virtual(|clock| async move {
            let server = ScriptedServer::new(clock.clone(), script, refuses_until);
            let open = Rc::clone(&server);
            let play = self.play(clock, move |stream| {
                tokio::task::spawn_local(Rc::clone(&open).serve(stream));
            });
            (play.await, server)
        })
        .unwrap();
        play.asked = server.asked.take();
        play.peak = server.peak.get();
        play
    }

    /// Plays against the simulated server.
    pub(crate) fn simulated(&self, profile: Profile) -> Play {
        self.simulated_with(profile, Options::default(), 1)
    }

    /// The same with a server of these options, so many times one after the other; returns the last.
    pub(crate) fn simulated_with(&self, profile: Profile, options: Options, times: usize) -> Play {
        Clock::run_virtual(|clock| async move {
            let options = Options { model: Some("m".to_owned()), ..options };
            let server = Rc::new(Server::new(clock.clone(), profile, options));
            let play = || {
                let server = Rc::clone(&server);
                self.play(clock.clone(), move |stream| {
                    tokio::task::spawn_local(server.serve(stream));
                })
            };
            for _ in 1..times {
                play().await;
            }
            play().await
        })
        .unwrap()
    }

    async fn play(&self, clock: Clock, serve: impl Fn(tokio::io::DuplexStream) + 'static) -> Play {
        let scenario = Arc::new(self.scenario());
        clock.sleep(self.lead_in).await;
        let connector = Connector::memory(move || {
            let (ours, theirs) = tokio::io::duplex(PIPE_BYTES);
            serve(theirs);
            ours
        });
        let settings = Settings {
            authority: "server".to_owned(),
            path: scenario.target.api.path().to_owned(),
            models_path: "/v1/models".to_owned(),
            health_path: "/health".to_owned(),
            keeps_texts: scenario.results.responses,
            api: scenario.target.api,
            headers: Vec::new(),
            timeouts: scenario.target.timeouts,
            transport: Transport::default(),
        };
        let client = Client::new(clock.clone(), connector, settings).unwrap();
        let results = tempfile::tempdir().unwrap();
        let manifest = Manifest { shard: self.shard.to_text(), ..manifest(&scenario) };
        let mut writer = Writer::create(&Place::Exact(results.path().join("run")), &manifest, "").unwrap();
        writer.begin_details(scenario.results.chunks, scenario.results.responses).unwrap();
        let desk = Rc::new(RefCell::new((
            Vec::new(),
            Collector::new(&scenario, writer).of_shard(self.shard).analysing(true),
        )));
        let stop = Rc::new(StopSwitch::default());
        for (after, ask) in self.stops.clone() {
            let (clock, stop) = (clock.clone(), Rc::clone(&stop));
            tokio::task::spawn_local(async move {
                clock.sleep(after).await;
                stop.ask(ask);
            });
        }
        let run = Run {
            clock: clock.clone(),
            client: Rc::new(client),
            sink: {
                let (desk, stop) = (Rc::clone(&desk), Rc::clone(&stop));
                Rc::new(move |event: Event| {
                    let mut desk = desk.borrow_mut();
                    desk.0.push(event.clone());
                    desk.1.take(event).unwrap();
                    if let Some(rule) = desk.1.broken_rule() {
                        stop.ask(Stop::Rule(rule));
                    }
                })
            },
            phases: scenario.phases.clone(),
            max_in_flight: 10_000,
            seed: Seed(scenario.seed.unwrap()),
            shard: self.shard,
            start_at: self.is_late.then_some(Nanos::ZERO),
            origin: None,
            stop,
        };
        let mut source = Source::inline(self.composer(&scenario));
        let (ending, origin) = run.run(&mut source).await;
        drop(run);
        let (events, mut collector) = Rc::into_inner(desk).expect("no request is left over").into_inner();
        (self.own)(&mut collector);
        let collected = collector.finish(ending != Ending::Complete, true);
        Play::new(ending, origin, events, collected, manifest, results)
    }
}

impl Play {
    fn new(
        ending: Ending,
        origin: Nanos,
        events: Vec<Event>,
        collected: Collected,
        mut manifest: Manifest,
        folder: TempDir,
    ) -> Play {
        let Collected { courses, fold, seconds, figures, findings, analysis, mut writer, .. } = collected;
        let known = Known { steps: Step::of(&fold, None, None), ..Known::default() };
        let analysis = analysis.unwrap().rows(&known);
        for ((index, entry), course) in (0..).zip(&mut manifest.phases).zip(&courses) {
            let facts = fold.facts(index).unwrap();
            (entry.counted, entry.stopped) = (facts.counted, facts.stopped);
            entry.start_s = course.map(|course| course.start.as_s());
            entry.window_start_s = course.and_then(|course| course.window_start).map(|at| at.as_s());
            entry.window_end_s = course.and_then(|course| course.window_end).map(|at| at.as_s());
            let counts = fold.outcomes(index).into_iter();
            entry.requests = counts.map(|(name, count)| (name.to_owned(), count)).collect();
            entry.client = figures.iter().find(|known| known.phase == entry.name).map(|known| known.client);
        }
        manifest.state = State::Complete;
        manifest.verdict = Some(VerdictEntry::new(&findings, true));
        writer.gaps(&fold.gaps()).unwrap();
        writer.summary(&fold.summary()).unwrap();
        writer.timeline(&seconds.rows()).unwrap();
        writer.finish(&manifest).unwrap();
        let file = fs::read_to_string(folder.path().join("run/requests.csv")).unwrap();
        let mut reader = csv::Reader::from_reader(file.as_bytes());
        let mut rows: Vec<Row> = reader.deserialize().map(|row| Row(row.unwrap())).collect();
        rows.sort_by_key(|row| row["request"].parse::<u64>().unwrap());
        Play {
            ending,
            origin,
            events,
            rows,
            file,
            courses,
            summary: fold.summary(),
            timeline: seconds.rows(),
            findings,
            analysis,
            asked: Vec::new(),
            peak: 0,
            folder,
        }
    }

    /// Where its results are.
    pub(crate) fn results(&self) -> PathBuf {
        self.folder.path().join("run")
    }

    /// The cells of a column, by request.
    pub(crate) fn column(&self, column: &str) -> Vec<&str> {
        self.rows.iter().map(|row| &row[column]).collect()
    }

    /// The rows of a phase, by request.
    pub(crate) fn phase(&self, phase: &str) -> Vec<&Row> {
        self.rows.iter().filter(|row| &row["phase"] == phase).collect()
    }

    /// How many rows ended so.
    pub(crate) fn ended(&self, outcome: &str) -> usize {
        self.rows.iter().filter(|row| &row["outcome"] == outcome).count()
    }

    /// A figure of phase `phase`, over all its workloads.
    pub(crate) fn figure(&self, phase: &str, metric: &str, statistic: &str) -> Option<f64> {
        self.figure_of(phase, "all", metric, statistic)
    }

    pub(crate) fn figure_of(
        &self,
        phase: &str,
        workload: &str,
        metric: &str,
        statistic: &str,
    ) -> Option<f64> {
        let row = self.summary.iter().find(|row| {
            row.phase == phase
                && row.workload == workload
                && row.metric == metric
                && row.statistic == statistic
        });
        row.unwrap_or_else(|| panic!("no {metric} {statistic} of {phase} {workload}")).value
    }

    /// When a phase stopped offering load, in s from run start, and by what.
    pub(crate) fn end_of(&self, phase: usize) -> (f64, EndedBy) {
        let (at, by) = self.courses[phase].unwrap().ended.unwrap();
        (at.as_s(), by)
    }

    /// When the last request of a phase was over, in s from run start.
    pub(crate) fn drained(&self, phase: usize) -> f64 {
        self.courses[phase].unwrap().drained.unwrap().as_s()
    }

    /// The names of all findings.
    pub(crate) fn found(&self) -> Vec<&'static str> {
        self.findings.iter().map(|finding| finding.kind.name()).collect()
    }
}

fn manifest(scenario: &Scenario) -> Manifest {
    let phase = |phase: &Phase| PhaseEntry {
        point: None,
        repeat: None,
        name: phase.name.clone(),
        measured: phase.measure,
        open_loop: matches!(phase.load, Load::Open { .. }),
        counted: false,
        stopped: false,
        start_s: None,
        window_start_s: None,
        window_end_s: None,
        end_s: None,
        drained_s: None,
        ended_by: None,
        requests: BTreeMap::new(),
        not_planned: 0,
        client: None,
    };
    let workloads = scenario.workloads.iter();
    Manifest {
        format: FORMAT,
        tool_version: "0.1.0".to_owned(),
        run_id: "run".to_owned(),
        shard: None,
        shards: Vec::new(),
        host: None,
        name: "stage".to_owned(),
        started: String::new(),
        state: State::Running,
        seed: 7,
        salt: None,
        target: String::new(),
        model: None,
        serving: ServerEntry::default(),
        clock: ClockKind::Virtual,
        stamps: None,
        origin_monotonic_ns: None,
        timeouts: Timeouts::default(),
        phases: scenario.phases.iter().map(phase).collect(),
        workloads: workloads.map(|workload| WorkloadEntry::new(&workload.name, &workload.slo)).collect(),
        skipped_rows: Vec::new(),
        answers_forgotten: 0,
        prompts_forgotten: 0,
        watches_server: false,
        block_tokens: None,
        server: Vec::new(),
        memory: None,
        left_out: LeftOut::default(),
        lengths: Vec::new(),
        about: BTreeMap::new(),
        objectives: Vec::new(),
        thresholds: Thresholds::default(),
        verdict: None,
        points: Vec::new(),
        capacity: None,
        resumed: Vec::new(),
    }
}
