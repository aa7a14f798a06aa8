//! What a row costs to be written and to be taken in, and how long a folder of many rows takes to be summed up: in CPU time
//! of the thread that does it, and by the clock.
//!
//! ```text
//! cargo bench --bench summary [ROWS]
//! ```

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use tonnage::clock::Clock;
use tonnage::collect::Collector;
use tonnage::record::{
    Ended, Event, Fate, Outcome, Planned, RequestRecord, Slot, Stamp, StampSource, Timeline,
};
use tonnage::results::manifest::{
    ClockKind, FORMAT, PhaseEntry, ServerEntry, State, Timeouts, WorkloadEntry,
};
use tonnage::results::{Manifest, Place, RequestRow, Writer, reader};
use tonnage::scenario::{Overrides, parse};
use tonnage::seed::Seed;
use tonnage::stats::{Slo, Thresholds};
use tonnage::units::{Micros, Nanos};

/// Tokens of an answer, each an event.
const TOKENS: u64 = 100;

fn main() {
    let rows = std::env::args().filter_map(|argument| argument.parse().ok()).next().unwrap_or(1_000_000);
    Clock::run_real(|clock| async move { measure(&clock, rows) }).expect("a clock");
}

#[expect(clippy::print_stdout, reason = "a table for whoever runs it")]
fn measure(clock: &Clock, rows: u64) {
    let place =
        |name: &str| std::env::temp_dir().join(format!("tonnage-bench-{}-{name}", std::process::id()));
    let folder = place("rows");
    let mut writer = Writer::create(&Place::Exact(folder.clone()), &manifest(rows), "").expect("a folder");
    let mut stream = Seed(1).stream("bench", "");
    let records: Vec<RequestRecord> =
        (0..rows).map(|request| record(request, stream.exponential(), stream.exponential())).collect();
    let ((), took) = timed(clock, || {
        for record in &records {
            let row = RequestRow { record, phase: "steady", workload: "chat" };
            writer.request(&row).expect("a row");
        }
        writer.finish(&manifest(rows)).expect("the rest");
    });
    println!("{rows} rows written: {}", took.a_row(rows));
    drop(records);
    let (read, reading) = timed(clock, || reader::read(&folder, |_, _| ()).expect("the folder"));
    println!("read and folded: {reading}");
    let (summary, summing) = timed(clock, || read.summary());
    println!("summed up to {} figures: {summing}", summary.len());
    std::fs::remove_dir_all(folder).expect("to be gone");

    let (folder, rows) = (place("run"), rows / 10);
    let text = "name = \"bench\"\ntarget.url = \"http://server\"\n\
                [[workload]]\nname = \"chat\"\nprompt.synthetic = 1\n\
                [[phase]]\nname = \"steady\"\nduration = \"1h\"\nload.constant = \"1000/s\"\n";
    let scenario = parse("bench.toml", text.as_bytes(), &folder, &Overrides::default());
    let scenario = scenario.map(|loaded| loaded.scenario).expect("a good scenario");
    let writer = Writer::create(&Place::Exact(folder.clone()), &manifest(rows), "").expect("a folder");
    let mut collector = Collector::new(&scenario, writer);
    collector.take(Event::RunStarted { origin: Nanos::ZERO }).expect("nothing to write");
    collector.take(Event::PhaseStarted { phase: 0, at: Nanos::ZERO }).expect("nothing to write");
    let events: Vec<Event> = (0..rows).map(answered).collect();
    let ((), took) =
        timed(clock, || events.into_iter().for_each(|event| collector.take(event).expect("a row")));
    println!("{rows} answers of {TOKENS} tokens taken in, all told: {}", took.a_row(rows));
    std::fs::remove_dir_all(folder).expect("to be gone");
}

/// Time that something took.
struct Took {
    cpu: Duration,
    clock: Duration,
}

impl Took {
    fn a_row(&self, rows: u64) -> String {
        let us = self.cpu.as_secs_f64() * 1e6 / rows as f64;
        // A core has a million of them a second.
        let share = us * 10_000.0 / 1e6 * 100.0;
        format!("{us:.2} µs of CPU a row, {share:.1} % of a core at 10,000 rows a second")
    }
}

impl fmt::Display for Took {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2} s of CPU, {:.2} s by the clock", self.cpu.as_secs_f64(), self.clock.as_secs_f64())
    }
}

fn timed<T>(clock: &Clock, work: impl FnOnce() -> T) -> (T, Took) {
    let look = || (clock.thread_work().expect("a real clock"), clock.now());
    let (cpu, at) = look();
    let done = work();
    let (cpu_after, after) = look();
    (done, Took { cpu: cpu_after - cpu, clock: after.since(at) })
}

/// A request, answered token by token.
fn answered(request: u64) -> Event {
    let at = |ms: u64| Nanos((request + ms) * 1_000_000);
    let mut timeline = Timeline::begin(at(0), StampSource::Kernel);
    timeline.outcome = Outcome::Ok;
    timeline.stamps = (0..TOKENS).map(|token| Stamp { at: at(60 + 20 * token), tokens: None }).collect();
    timeline.events = TOKENS;
    timeline.usage.completion = Some(TOKENS);
    timeline.usage.prompt = Some(812);
    let (first, last) = (at(60), at(60 + 20 * (TOKENS - 1)));
    (timeline.first_byte, timeline.first_token, timeline.first_answer) =
        (Some(first), Some(first), Some(first));
    (timeline.last_token, timeline.last_output, timeline.ended) = (Some(last), Some(last), last);
    timeline.http_status = Some(200);
    timeline.finish_reason = Some("stop".to_owned());
    timeline.server_request_id = Some(format!("chatcmpl-{request:032x}"));
    let planned = Planned { request, session: request, ..Planned::default() };
    let slot = Slot { scheduled: Some(at(0)), measured: true, user: None, held: None };
    Event::Ended(Box::new(Ended { planned, slot, fate: Fate::Sent(Box::new(timeline)) }))
}

fn record(request: u64, wait: f64, answer: f64) -> RequestRecord {
    let planned = Planned {
        request,
        session: request,
        prompt_tokens_planned: Some(800),
        output_tokens_planned: Some(100),
        ..Planned::default()
    };
    let at = Micros(request * 1_000);
    let after = |ms: f64| Some(Micros(at.0 + (ms * 1e3) as u64));
    RequestRecord {
        measured: true,
        http_status: Some(200),
        finish_reason: Some("stop".to_owned()),
        scheduled: Some(at),
        sent: after(0.07),
        first_byte: after(40.0 + 60.0 * wait),
        first_token: after(40.0 + 60.0 * wait),
        first_answer: after(40.0 + 60.0 * wait),
        last_token: after(540.0 + 60.0 * wait + 500.0 * answer),
        last_output: after(540.0 + 60.0 * wait + 500.0 * answer),
        ended: after(540.2 + 60.0 * wait + 500.0 * answer),
        prompt_tokens: Some(812),
        cached_tokens: Some(16),
        output_tokens: Some(100),
        output_tokens_in_window: Some(100.0),
        events: Some(100),
        attempts: Some(1),
        reconnects: Some(0),
        new_connection: Some(false),
        bytes_sent: Some(4_321),
        bytes_received: Some(23_456),
        ignored_events: Some(2),
        server_request_id: Some(format!("chatcmpl-{request:032x}")),
        ..RequestRecord::unsent(planned, Outcome::Ok)
    }
}

fn manifest(rows: u64) -> Manifest {
    let end_s = rows as f64 / 1e3;
    Manifest {
        format: FORMAT,
        tool_version: String::new(),
        run_id: "bench".to_owned(),
        shard: None,
        shards: Vec::new(),
        host: None,
        name: "bench".to_owned(),
        started: String::new(),
        state: State::Complete,
        seed: 1,
        salt: None,
        target: String::new(),
        model: None,
        serving: ServerEntry::default(),
        clock: ClockKind::Virtual,
        stamps: None,
        origin_monotonic_ns: None,
        timeouts: Timeouts::default(),
        phases: vec![PhaseEntry {
            point: None,
            repeat: None,
            name: "steady".to_owned(),
            measured: true,
            open_loop: true,
            counted: false,
            stopped: false,
            start_s: Some(0.0),
            window_start_s: Some(0.0),
            window_end_s: Some(end_s),
            end_s: Some(end_s),
            drained_s: Some(end_s),
            ended_by: Some("duration".to_owned()),
            requests: BTreeMap::new(),
            not_planned: 0,
            client: None,
        }],
        workloads: vec![WorkloadEntry::new("chat", &Slo::default())],
        skipped_rows: Vec::new(),
        answers_forgotten: 0,
        prompts_forgotten: 0,
        watches_server: false,
        block_tokens: None,
        server: Vec::new(),
        memory: None,
        left_out: Default::default(),
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
