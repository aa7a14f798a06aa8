//! What holds of every run: each planned request leaves one row, and the rows add up.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use proptest::prelude::*;
use tonnage::record::{EndedBy, Event, Fate};
use tonnage::run::Ending;
use tonnage::run::stop::Stop;

use crate::answer::{Answer, ms};
use crate::server::Asked;
use crate::stage::{Play, Row, Stage};

/// A phase as drawn.
#[derive(Clone, Debug)]
struct Drawn {
    load: Load,
    duration_ms: Option<u64>,
    requests: Option<u64>,
    warm_up_ms: u64,
    drain_ms: Option<u64>,
    measure: bool,
}

/// Conversations as drawn.
#[derive(Clone, Debug)]
struct Talk {
    most_turns: u32,
    think_ms: u64,
    history: &'static str,
    max_context: Option<u32>,
    when_full: &'static str,
}

#[derive(Clone, Debug)]
enum Load {
    Constant { rate: u32, max_in_flight: Option<u32> },
    Poisson { rate: u32, max_in_flight: Option<u32> },
    Closed { users: u32 },
}

impl Load {
    /// The most requests that may be open at once.
    fn cap(&self) -> usize {
        let cap = match self {
            Load::Constant { max_in_flight, .. } | Load::Poisson { max_in_flight, .. } => *max_in_flight,
            Load::Closed { users } => Some(*users),
        };
        cap.map_or(usize::MAX, |cap| cap as usize)
    }
}

impl Drawn {
    fn write(&self, index: usize, text: &mut String) {
        let _ = write!(text, "[[phase]]\nname = \"p{index}\"\nmeasure = {}\n", self.measure);
        if let Some(duration) = self.duration_ms {
            let _ =
                write!(text, "duration = \"{duration}ms\"\nwarm_up = \"{}ms\"\n", self.warm_up_ms % duration);
        }
        if let Some(requests) = self.requests {
            let _ = writeln!(text, "requests = {requests}");
        }
        if let Some(drain) = self.drain_ms {
            let _ = writeln!(text, "drain = \"{drain}ms\"");
        }
        let cap = |cap: &Option<u32>| cap.map_or(String::new(), |cap| format!(", max_in_flight = {cap}"));
        let _ = match &self.load {
            Load::Constant { rate, max_in_flight } => {
                writeln!(text, "load.constant = {{ rate = \"{rate}/s\"{} }}", cap(max_in_flight))
            }
            Load::Poisson { rate, max_in_flight } => {
                writeln!(text, "load.poisson = {{ rate = \"{rate}/s\"{} }}", cap(max_in_flight))
            }
            Load::Closed { users } => writeln!(text, "load.closed = {users}"),
        };
    }
}

fn phases() -> impl Strategy<Value = Vec<Drawn>> {
    let cap = || proptest::option::of(1..6_u32);
    let load = prop_oneof![
        (1..60_u32, cap()).prop_map(|(rate, max_in_flight)| Load::Constant { rate, max_in_flight }),
        (1..60_u32, cap()).prop_map(|(rate, max_in_flight)| Load::Poisson { rate, max_in_flight }),
        (1..5_u32).prop_map(|users| Load::Closed { users }),
    ];
    let bounds = prop_oneof![
        (50..1_500_u64).prop_map(|duration| (Some(duration), None)),
        (1..30_u64).prop_map(|requests| (None, Some(requests))),
        (50..1_500_u64, 1..30_u64).prop_map(|(duration, requests)| (Some(duration), Some(requests))),
    ];
    let drain = proptest::option::of(prop_oneof![Just(0), 1..800_u64]);
    let phase = (load, bounds, 0..1_000_u64, drain, prop::bool::weighted(0.8)).prop_map(
        |(load, (duration_ms, requests), warm_up_ms, drain_ms, measure)| Drawn {
            load,
            duration_ms,
            requests,
            warm_up_ms,
            drain_ms,
            measure,
        },
    );
    proptest::collection::vec(phase, 1..4)
}

/// An answer that follows from the request's number: most are good, each kind of fault occurs.
fn answer(asked: &Asked, salt: u64) -> Answer {
    let draw = (asked.request + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_mul(salt | 1) >> 40;
    let delay = Duration::from_nanos((draw % 1_000) * 250_123);
    match draw / 1_000 % 12 {
        0 => Answer::status(503, delay),
        1 => Answer::refusal(),
        2 => Answer::new().role().at(delay).token().close(),
        3 => Answer::new(),
        4 => Answer::new().role().at(delay).token(),
        5 => Answer::new().at(delay).data(r#"{"error":{"message":"no"}}"#).done(),
        6 => Answer::new().at(delay).finish("stop").done(),
        7 => Answer::new().at(delay).data("no json").done(),
        _ => Answer::tokens(delay, delay / 7, 1 + (draw % 9) as u32),
    }
}

fn check(play: &Play, phases: &[Drawn], stopped: bool) {
    match &play.ending {
        // A stop may have been asked for when all was over.
        Ending::Complete => {}
        Ending::Stopped(_) => assert!(stopped),
        Ending::Stalled(what) => panic!("stalled: {what}"),
    }
    let numbers: Vec<_> = (0..play.rows.len()).map(|number| number.to_string()).collect();
    assert_eq!(play.column("request"), numbers, "one row for each planned request");
    check_events(play, phases);
    for (index, phase) in phases.iter().enumerate() {
        check_phase(play, index, phase);
    }
}

/// In-flight requests stay within the phase's cap, and the rows tell what the events told.
fn check_events(play: &Play, phases: &[Drawn]) {
    let mut open = 0;
    let (mut cap, mut sent, mut ended) = (0, 0, BTreeMap::new());
    for event in &play.events {
        match event {
            Event::PhaseStarted { phase, .. } => {
                assert_eq!(open, 0, "nothing leaks from one phase into the next");
                cap = phases[*phase as usize].load.cap();
            }
            Event::Sent { .. } => {
                open += 1;
                sent += 1;
                assert!(open <= cap, "{open} in flight of {cap}");
            }
            Event::Ended(over) => {
                open -= usize::from(matches!(over.fate, Fate::Sent(_)));
                *ended.entry(over.planned.request).or_insert(0) += 1;
            }
            _ => {}
        }
    }
    assert_eq!(open, 0);
    assert!(ended.values().all(|times| *times == 1) && ended.len() == play.rows.len());
    assert_eq!(play.rows.iter().filter(|row| !row["sent_s"].is_empty()).count(), sent);
}

fn check_phase(play: &Play, index: usize, phase: &Drawn) {
    let name = format!("p{index}");
    let rows = play.phase(&name);
    let Some(course) = play.courses[index] else {
        assert!(rows.is_empty(), "a phase that never began has no rows");
        return;
    };
    let (ended, by) = course.ended.unwrap();
    let drained = course.drained.unwrap();
    if let Some(requests) = phase.requests {
        assert!(rows.len() as u64 <= requests);
        assert!(by != EndedBy::Requests || rows.len() as u64 == requests);
    }
    for row in &rows {
        let scheduled = row.number("scheduled_s").unwrap();
        assert!((course.start.as_s()..=ended.as_s()).contains(&scheduled));
        if !row["sent_s"].is_empty() {
            assert_eq!(&row["lag_ms"], "0.000");
            assert!(row.number("ended_s").unwrap() <= drained.as_s());
        } else {
            assert_eq!(&row["outcome"], "dropped");
        }
        if let Some(drain) = phase.drain_ms {
            // Both ends are rounded, so that their distance may be a microsecond longer.
            let limit = ended.as_s() + drain as f64 / 1e3 + 1.5e-6;
            assert!(row.number("ended_s").is_none_or(|ended| ended <= limit));
        }
    }
    check_measured(
        &rows,
        phase,
        course.window_start.unwrap().as_s(),
        course.window_end.map(|end| end.as_s()),
        by,
    );
    if phase.measure && !rows.is_empty() {
        let count = |outcome| play.figure(&name, "requests", outcome).unwrap();
        assert_eq!(count("planned"), rows.len() as f64);
        let parts = ["sent", "dropped", "not_sent", "skipped"].map(count);
        assert_eq!(parts.iter().sum::<f64>(), count("planned"));
        let measured = rows.iter().filter(|row| &row["measured"] == "true").count();
        assert_eq!(play.figure(&name, "measured_requests", "planned"), Some(measured as f64));
    }
}

/// A row counts exactly if its due time lies in the window.
fn check_measured(rows: &[&Row], phase: &Drawn, start: f64, end: Option<f64>, by: EndedBy) {
    let counted = matches!(by, EndedBy::Requests | EndedBy::Data) || phase.duration_ms.is_none();
    for row in rows {
        let scheduled = row.number("scheduled_s").unwrap();
        let in_window = scheduled >= start && (counted || end.is_some_and(|end| scheduled < end));
        assert_eq!(&row["measured"] == "true", phase.measure && in_window, "due at {scheduled}");
    }
}

fn talk() -> impl Strategy<Value = Talk> {
    let history = prop_oneof![Just("real"), Just("none")];
    let when_full = prop_oneof![Just("drop"), Just("wait")];
    (1..6_u32, 0..400_u64, history, proptest::option::of(16..60_u32), when_full).prop_map(
        |(most_turns, think_ms, history, max_context, when_full)| Talk {
            most_turns,
            think_ms,
            history,
            max_context,
            when_full,
        },
    )
}

impl Talk {
    fn write(&self, text: &mut String) {
        let limit = self.max_context.map_or(String::new(), |limit| format!(", max_context = {limit}"));
        let _ = writeln!(
            text,
            "output.max_tokens = 9\nsession = {{ turns.uniform = {{ min = 1, max = {} }}, think = \"{}ms\", history = \"{}\"{limit} }}",
            self.most_turns, self.think_ms, self.history,
        );
    }
}

/// The turns of a session follow one another; the first that is not answered ends it, and all after it are skipped.
fn check_session(turns: &[&Row], talk: &Talk) {
    let numbers: Vec<_> = (0..turns.len()).map(|number| number.to_string()).collect();
    assert_eq!(turns.iter().map(|row| &row["turn"]).collect::<Vec<_>>(), numbers);
    let answered = turns.iter().take_while(|row| &row["outcome"] == "ok").count();
    for pair in turns[..answered].windows(2) {
        let (ended, due) = (pair[0].number("ended_s").unwrap(), pair[1].number("scheduled_s").unwrap());
        // Each time is rounded on its own.
        assert!((due - ended - talk.think_ms as f64 / 1e3).abs() < 1.5e-6);
    }
    for (number, row) in turns.iter().enumerate().skip(answered) {
        if number > answered {
            assert_eq!(&row["outcome"], "skipped");
        }
        if &row["outcome"] == "skipped" {
            assert_eq!((&row["measured"], &row["sent_s"]), ("false", ""));
            let is_full = row["error"].starts_with("max_context: ");
            assert!(is_full || row["error"].is_empty());
            assert!(!is_full || talk.max_context.is_some());
        }
    }
}

/// Rows add up over conversations whatever becomes of them.
fn check_sessions(play: &Play, phases: &[Drawn], talk: &Talk) {
    let numbers: Vec<_> = (0..play.rows.len()).map(|number| number.to_string()).collect();
    assert_eq!(play.column("request"), numbers, "one row for each planned request");
    check_events(play, phases);
    let mut sessions: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    play.rows.iter().for_each(|row| sessions.entry(&row["session"]).or_default().push(row));
    sessions.values().for_each(|turns| check_session(turns, talk));
    for (index, phase) in phases.iter().enumerate() {
        let name = format!("p{index}");
        let rows = play.phase(&name);
        assert!(phase.requests.is_none_or(|requests| rows.len() as u64 <= requests));
        if phase.measure && !rows.is_empty() {
            let count = |outcome| play.figure(&name, "requests", outcome).unwrap();
            let parts = ["sent", "dropped", "not_sent", "skipped"].map(count);
            assert_eq!(parts.iter().sum::<f64>(), count("planned"));
            assert_eq!(count("planned"), rows.len() as f64);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_planned_request_leaves_one_row_and_the_rows_add_up(
        phases in phases(),
        salt: u64,
        lead_in_ns in 0..3_000_000_u64,
        stop_ms in proptest::option::weighted(0.3, 0..3_000_u64),
        now: bool,
    ) {
        let mut text = "[target.timeouts]\nfirst_token = \"700ms\"\nidle = \"300ms\"\n".to_owned();
        phases.iter().enumerate().for_each(|(index, phase)| phase.write(index, &mut text));
        let mut stage = Stage::chat(&text).lead_in(Duration::from_nanos(lead_in_ns));
        if let Some(stop_ms) = stop_ms {
            stage = stage.stop(ms(stop_ms), if now { Stop::Now } else { Stop::Drain });
        }
        let play = stage.scripted(move |asked| answer(asked, salt));
        check(&play, &phases, stop_ms.is_some());
    }

    #[test]
    fn conversations_add_up_whatever_ends_them(
        phases in phases(),
        talk in talk(),
        salt: u64,
        stop_ms in proptest::option::weighted(0.2, 0..3_000_u64),
    ) {
        let mut text = String::new();
        talk.write(&mut text);
        text += "[target.timeouts]\nfirst_token = \"700ms\"\nidle = \"300ms\"\n";
        phases.iter().enumerate().for_each(|(index, phase)| phase.write(index, &mut text));
        let text = text.replace("max_in_flight =", &format!("when_full = \"{}\", max_in_flight =", talk.when_full));
        let mut stage = Stage::chat(&text);
        if let Some(stop_ms) = stop_ms {
            stage = stage.stop(ms(stop_ms), Stop::Drain);
        }
        let play = stage.scripted(move |asked| answer(asked, salt));
        check_sessions(&play, &phases, &talk);
    }
}
