//! How long a folder of many rows takes to be summed up, and a row to be written.
//!
//! ```text
//! cargo bench --bench summary [ROWS]
//! ```

use std::collections::BTreeMap;

use tonnage::clock::Clock;
use tonnage::record::{Outcome, Planned, RequestRecord};
use tonnage::results::manifest::{
    ClockKind, FORMAT, PhaseEntry, ServerEntry, State, Timeouts, WorkloadEntry,
};
use tonnage::results::{Manifest, Place, RequestRow, Writer, reader};
use tonnage::seed::Seed;
use tonnage::stats::{Slo, Thresholds};
use tonnage::units::Micros;

fn main() {
    let rows = std::env::args().filter_map(|argument| argument.parse().ok()).next().unwrap_or(1_000_000);
    Clock::run_real(|clock| async move { measure(&clock, rows) }).expect("a clock");
}

#[expect(clippy::print_stdout, reason = "a table for whoever runs it")]
fn measure(clock: &Clock, rows: u64) {
    let folder = std::env::temp_dir().join(format!("tonnage-bench-{}", std::process::id()));
    let mut writer = Writer::create(&Place::Exact(folder.clone()), &manifest(rows), "").expect("a folder");
    let begin = clock.now();
    let mut stream = Seed(1).stream("bench", "");
    for request in 0..rows {
        let record = record(request, stream.exponential(), stream.exponential());
        let row = RequestRow { record: &record, phase: "steady", workload: "chat" };
        writer.request(&row).expect("a row");
    }
    writer.finish(&manifest(rows)).expect("the rest");
    let written = clock.now().since(begin);
    println!("{rows} rows written: {:.2} µs a row", written.as_secs_f64() * 1e6 / rows as f64);
    let begin = clock.now();
    let read = reader::read(&folder, |_, _| ()).expect("the folder");
    println!("read and folded: {:.2} s", clock.now().since(begin).as_secs_f64());
    let begin = clock.now();
    let summary = read.summary();
    println!("summed up to {} figures: {:.2} s", summary.len(), clock.now().since(begin).as_secs_f64());
    std::fs::remove_dir_all(folder).expect("to be gone");
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
