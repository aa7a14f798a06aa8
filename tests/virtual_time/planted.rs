//! Faults planted in whole runs: each has its finding and no other, and without a fault there is none.

use std::sync::Arc;

use tonnage::collect::{Collector, Memory};
use tonnage::record::Event;
use tonnage::sim::{FaultPlan, Options, Profile, Tokenize};
use tonnage::units::Nanos;

use crate::answer::{Answer, ms};
use crate::stage::Stage;

const OPENING: &str = "name = \"planted\"\nseed = 7\n\
     [target]\nurl = \"http://server\"\nmodel = \"m\"\n\
     [[workload]]\nname = \"chat\"\nprompt.synthetic.tokens.uniform = { min = 100, max = 200 }\n";
const EXACT: &str = "output.max_tokens.uniform = { min = 8, max = 24 }\noutput.exact = true\n";
const STEADY: &str = "[[phase]]\nname = \"steady\"\nduration = \"60s\"\nload.poisson = \"10/s\"\n";

fn steady() -> Stage {
    Stage::new(&format!("{OPENING}{EXACT}{STEADY}"))
}

fn server() -> Profile {
    Profile::named("8b-h100").unwrap()
}

/// What is found of a run of this stage where the server has these faults.
fn found(stage: &Stage, faults: &str) -> Vec<&'static str> {
    let options = Options { faults: FaultPlan::parse(faults).unwrap(), ..Options::default() };
    stage.simulated_with(server(), options, 1).found()
}

#[test]
fn a_clean_run_has_no_finding() {
    let play = steady().simulated(server());
    assert_eq!((play.found(), play.ended("ok")), (vec![], play.rows.len()));
    assert!(play.rows.len() > 500);
}

#[test]
fn a_client_that_begins_late_sends_late() {
    let stage = steady().lead_in(ms(1_500));
    assert_eq!(stage.simulated(server()).found(), [""; 0]);
    let late = stage.late().simulated(server());
    assert_eq!(late.found(), ["send_delay"]);
    assert!(late.rows[0].number("lag_ms").unwrap() > 500.0);
}

#[test]
fn a_client_that_is_slow_itself_is_found_by_what_it_measures_of_itself() {
    type Own = fn(&mut Collector);
    fn look(client: &mut Collector, delay: u64, busy: u64, step: u64) {
        for look in 0..100 {
            let (at, step) = (Nanos(look * 50_000_000), if look == 50 { step } else { 0 });
            let (delay, busy, step) = (ms(delay), Some(ms(busy)), Some(ms(step)));
            client.take(Event::SenderWoke { at, delay, busy, step }).unwrap();
        }
    }
    let faults: [(&str, Own); 5] = [
        ("loop_delay", |client| look(client, 40, 5, 0)),
        ("sender_cpu", |client| look(client, 0, 47, 0)),
        // c068: the latencies of the run are those of a clock that nobody sets.
        ("clock_step", |client| look(client, 0, 5, 5_000)),
        ("backlog", |client| client.take_backlog(70 << 20)),
        ("memory", |client| {
            client.take_memory(Memory { peak_bytes: 7 << 30, limit_bytes: Some(8 << 30) });
        }),
    ];
    for (finding, own) in faults {
        assert_eq!(steady().own(own).simulated(server()).found(), [finding]);
    }
}

#[test]
fn requests_dropped_for_want_of_room_are_found() {
    let load = STEADY.replace("\"10/s\"", "{ rate = \"10/s\", max_in_flight = 1 }");
    let play = Stage::new(&format!("{OPENING}{EXACT}{load}")).simulated(server());
    assert_eq!(play.found(), ["dropped"]);
    assert!(play.ended("dropped") > 100);
}

#[test]
fn a_rate_that_is_not_reached_is_found() {
    let load = STEADY.replace("\"10/s\"", "{ rate = \"10/s\", max_in_flight = 1, when_full = \"wait\" }");
    let play = Stage::new(&format!("{OPENING}{EXACT}{load}")).simulated(server());
    assert_eq!(play.found(), ["rate_not_reached"]);
}

#[test]
fn c098_a_cache_that_is_warm_from_another_run_is_found() {
    let play = steady().simulated_with(server(), Options::default(), 2);
    assert_eq!(play.found(), ["strange_hits"]);
    assert!(play.rows.iter().all(|row| row.number("cached_tokens").unwrap() > 90.0));
}

/// Two tokens a word.
struct Halves;

impl Tokenize for Halves {
    fn encode(&self, text: &str, ids: &mut Vec<u32>) {
        for (place, word) in (0..).zip(text.split_whitespace()) {
            ids.extend([place, word.len() as u32]);
        }
    }
}

#[test]
fn prompts_of_another_length_are_found() {
    let options = Options { tokenizer: Arc::new(Halves), ..Options::default() };
    assert_eq!(steady().simulated_with(server(), options, 1).found(), ["prompt_length"]);
}

#[test]
fn c151_answers_of_another_length_are_found() {
    let play = steady().scripted(|asked| {
        let prompt = asked.prompt().split_whitespace().count() as u64 + 4;
        let mut answer = Answer::new();
        for token in 0..5 {
            answer = answer.at(ms(30 + 10 * token)).token();
        }
        answer.finish("stop").usage(prompt, 5).done()
    });
    assert_eq!(play.found(), ["output_length"]);
}

#[test]
fn c071_a_proxy_that_buffers_is_found() {
    assert_eq!(found(&steady(), "buffer"), ["bursts"]);
    assert_eq!(found(&steady(), "batch=8"), ["bursts"]);
}

#[test]
fn a_queue_that_grows_is_found() {
    let one_by_one = Profile::parse(
        "one-by-one",
        "[fixed]\nprefill_tokens_per_s = 1e6\n[engine]\nstep_overhead_us = 7200\nmax_num_seqs = 1\n",
    );
    let play = steady().simulated(one_by_one.unwrap());
    assert_eq!(play.found(), ["growing"]);
}

#[test]
fn c152_answers_cut_at_their_limit_are_found() {
    let free = format!("{OPENING}output.max_tokens = 300\n{STEADY}");
    assert_eq!(Stage::new(&free).simulated(server()).found(), ["truncated"]);
}

#[test]
fn a_sample_that_is_too_small_is_found() {
    let short = STEADY.replace("60s", "2s");
    assert_eq!(Stage::new(&format!("{OPENING}{EXACT}{short}")).simulated(server()).found(), ["few_answers"]);
}

#[test]
fn failures_of_the_server_are_found() {
    for faults in ["status=503@5%", "error=object:3@5%", "cut=2@5%", "malformed=2@5%", "reset=2@5%"] {
        assert_eq!(found(&steady(), faults), ["failed"], "{faults}");
    }
}

#[test]
fn answers_without_a_count_of_tokens_are_found() {
    assert_eq!(found(&steady(), "usage=none"), ["uncounted"]);
}

#[test]
fn answers_cut_at_the_end_are_found() {
    let drained = STEADY.replace("duration", "drain = \"500ms\"\nduration");
    assert_eq!(found(&Stage::new(&format!("{OPENING}{EXACT}{drained}")), "hang@3%"), ["unfinished"]);
}

#[test]
fn rows_that_are_asked_again_are_found() {
    let rows: String = (0..400).map(|row| format!("{{\"prompt\": \"question {row} of many\"}}\n")).collect();
    let data = OPENING.replace(
        "prompt.synthetic.tokens.uniform = { min = 100, max = 200 }",
        "prompt.dataset = { path = \"rows.jsonl\", when_exhausted = \"repeat\" }",
    );
    let stage = Stage::new(&format!("{data}{EXACT}{STEADY}")).file("rows.jsonl", &rows);
    assert_eq!(stage.simulated(server()).found(), ["repeated_rows"]);
}
