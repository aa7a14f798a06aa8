//! The plan of a seed, pinned in files: numbers, due times, lengths, rows, pauses. A change of one of them is a
//! change of what every scenario with a seed means.

use std::fmt::Write as _;
use std::sync::Arc;

use tonnage::plan::composer::{Composed, Next};
use tonnage::plan::shard::Shard;
use tonnage::plan::{Plan, Start};
use tonnage::record::Usage;
use tonnage::scenario::History;

use crate::stage::Stage;

const SCENARIO: &str = r#"name = "golden"
seed = 7
target.url = "http://server"
[[workload]]
name = "chat"
weight = 3
prompt.synthetic = 20
output.max_tokens.uniform = { min = 1, max = 900 }
session = { turns.uniform = { min = 1, max = 4 }, think.exponential = "2s" }
[[workload]]
name = "rows"
prompt.dataset = { path = "rows.jsonl", shuffle = true, when_exhausted = "repeat" }
output.max_tokens = 64
[[phase]]
name = "poisson"
duration = "4s"
load.poisson = "5/s"
[[phase]]
name = "gamma"
requests = 12
load.gamma = { rate = "5/s", cv = 2 }
[[phase.also]]
name = "side"
workloads = ["rows"]
load.constant = "3/s"
[[phase]]
name = "ramp"
duration = "4s"
load.ramp = { from = "0/s", to = "6/s" }
[[phase]]
name = "steps"
load.steps = { rates = ["1/s", "6/s"], each = "2s" }
[[phase]]
name = "users"
requests = 12
load.closed = 3
"#;

fn stage(scenario: &str) -> Stage {
    let rows = (0..9).map(|row| format!("{{\"prompt\": \"row {row}\"}}\n")).collect::<String>();
    Stage::new(scenario).file("rows.jsonl", &rows)
}

/// One line a turn, of each load at most so many sessions.
fn lines(scenario: &str, shard: Shard) -> Vec<String> {
    let stage = stage(scenario);
    let scenario = Arc::new(stage.scenario());
    let mut plan: Plan = stage.plan(&scenario).of_shard(shard);
    let mut lines = Vec::new();
    for (index, phase) in scenario.phases.iter().enumerate() {
        plan.begin_phase(index);
        for (load, of) in phase.loads().enumerate() {
            for _ in 0..if load == 0 { usize::MAX } else { 6 } {
                let Some(session) = plan.next_session(load) else { break };
                let start = match session.start {
                    Start::At(offset) => offset.as_nanos().to_string(),
                    Start::WhenUserFree => "free".to_owned(),
                };
                for turn in session.turns {
                    let planned = turn.planned;
                    let mut line = format!("{},{},{}", planned.request, planned.session, planned.turn);
                    let (workload, row) =
                        (&scenario.workloads[planned.workload as usize].name, planned.dataset_row);
                    let row = row.map(|row| row.to_string()).unwrap_or_default();
                    let tokens = planned.output_tokens_planned.unwrap();
                    let think = turn.think.as_nanos();
                    write!(line, ",{},{workload},{start},{think},{row},{tokens}", of.name).unwrap();
                    lines.push(line);
                }
            }
        }
    }
    lines
}

const HEADER: &str = "request,session,turn,load,workload,start_ns,think_ns,dataset_row,output_tokens\n";

#[test]
fn the_plan_of_a_seed_is_the_one_of_the_golden_file() {
    compare("plan.csv", &(HEADER.to_owned() + &lines(SCENARIO, Shard::WHOLE).join("\n") + "\n"));
}

/// Holds `text` against a golden file; where it is another, it is left to be looked at.
fn compare(name: &str, text: &str) {
    let golden = format!("{}/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    if std::fs::read_to_string(&golden).unwrap_or_default() != text {
        let made = std::env::temp_dir().join(format!("tonnage-golden-{name}"));
        std::fs::write(&made, text).unwrap();
        panic!("the plan is another: {} against {golden}", made.display());
    }
}

#[test]
fn shards_have_the_lines_of_the_golden_file_between_them() {
    // A second load of a phase without duration has no end, so that each shard is asked for as many sessions.
    let scenario = SCENARIO
        .replace("load.constant = \"3/s\"", "load.steps = { rates = [\"2/s\", \"1/s\"], each = \"1s\" }");
    let mut whole = lines(&scenario, Shard::WHOLE);
    whole.sort();
    for count in 2..5 {
        let parts = (0..count).flat_map(|index| lines(&scenario, Shard::new(index, count).unwrap()));
        let mut parts: Vec<String> = parts.collect();
        parts.sort();
        assert_eq!(parts, whole, "{count} shards");
    }
}

/// The columns `keep` of each line of the given loads.
fn columns(scenario: &str, keep: &[usize]) -> Vec<Vec<String>> {
    let pick = |line: &String| {
        let cells: Vec<&str> = line.split(',').collect();
        keep.iter().map(|column| cells[*column].to_owned()).collect()
    };
    lines(scenario, Shard::WHOLE).iter().map(pick).collect()
}

#[test]
fn a_change_of_one_purpose_leaves_the_others_where_they_were() {
    let all_but = |left_out: usize| (0..9).filter(|column| *column != left_out).collect::<Vec<_>>();
    let change = |from: &str, to: &str| {
        let changed = SCENARIO.replace(from, to);
        assert_ne!(changed, SCENARIO);
        changed
    };
    let lengths = change("{ min = 1, max = 900 }", "{ min = 5, max = 17 }");
    assert_eq!(columns(SCENARIO, &all_but(8)), columns(&lengths, &all_but(8)));
    assert_ne!(columns(SCENARIO, &[8]), columns(&lengths, &[8]));
    let pauses = change("think.exponential = \"2s\"", "think.uniform = { min = \"1s\", max = \"3s\" }");
    assert_eq!(columns(SCENARIO, &all_but(6)), columns(&pauses, &all_but(6)));
    assert_ne!(columns(SCENARIO, &[6]), columns(&pauses, &[6]));
    let order = change("shuffle = true", "shuffle = false");
    assert_eq!(columns(SCENARIO, &all_but(7)), columns(&order, &all_but(7)));
    assert_ne!(columns(SCENARIO, &[7]), columns(&order, &[7]));
    let rate = change("rate = \"5/s\", cv = 2", "rate = \"9/s\", cv = 1");
    assert_eq!(columns(SCENARIO, &all_but(5)), columns(&rate, &all_but(5)));
    // Longer conversations: begins, and the lengths of turns that both have, stay.
    let turns = change("turns.uniform = { min = 1, max = 4 }", "turns = 3");
    let of_poisson = |scenario: &str| {
        let mut turns = columns(scenario, &[1, 2, 3, 5, 8]);
        turns.retain(|turn| turn[2] == "poisson");
        turns
    };
    let (before, after) = (of_poisson(SCENARIO), of_poisson(&turns));
    let common: Vec<_> = before.iter().filter(|turn| *turn[1] < *"3" && after.contains(turn)).collect();
    let expected = before.iter().filter(|turn| *turn[1] < *"3").count();
    // Requests of `rows` have one turn in both.
    assert_eq!(common.len(), expected);
}

/// What the plan of [`SCENARIO`] leaves out: lengths of prompts, beginnings they share, recorded times and rows, needles,
/// conversations of a file, and those that end with their context.
const PROMPTS: &str = r#"name = "golden"
seed = 11
target.url = "http://server"
[[workload]]
name = "shared"
weight = 2
prompt.synthetic.tokens.lognormal = { median = 60, sigma = 0.5, max = 400 }
prompt.synthetic.shared_prefix = { tokens = 24, groups = 5, popularity.zipf = 1.1 }
output.max_tokens.gamma = { mean = 40, cv = 0.5 }
[[workload]]
name = "cold"
system.tokens = 12
cache = "cold"
prompt.synthetic.tokens.mix = [{ fixed = 30, weight = 3 }, { uniform = { min = 50, max = 90 }, weight = 1 }]
prompt.synthetic.shared_prefix = { tokens = 8, groups = 3, popularity = "round_robin" }
output.max_tokens.values = { of = [8, 64], weights = [3, 1] }
[[workload]]
name = "growing"
prompt.synthetic.tokens.normal = { mean = 40, sd = 9 }
output = { max_tokens = 20, exact = true }
session = { max_context = 240, think.uniform = { min = "1s", max = "3s" } }
[[workload]]
name = "talk"
prompt.dataset = { path = "talk.json", when_exhausted = "repeat" }
session = { history = "recorded", turns = 2 }
output.max_tokens.zipf = { exponent = 1.1, max = "1Ki" }
[[workload]]
name = "needles"
prompt.needle = { depths = [0, 0.5, 1], lengths = [200, 300] }
[[workload]]
name = "replay"
prompt.dataset = { path = "trace.jsonl", format = "mooncake" }
output.max_tokens = "dataset"
[[phase]]
name = "made_up"
requests = 30
workloads = ["shared", "cold", "growing"]
load.poisson = "5/s"
[[phase]]
name = "rows"
requests = 8
workloads = ["talk"]
load.constant = "2/s"
[[phase]]
name = "cells"
requests = "all"
workloads = ["needles"]
load.closed = 2
[[phase]]
name = "trace"
workloads = ["replay"]
load.trace = { workload = "replay", speed = 3 }
[[phase]]
name = "times"
workloads = ["shared"]
load.trace = { path = "times.csv", format = "csv", column = "at", unit = "s", skip = "1s" }
"#;

fn prompts() -> Stage {
    let talk = r#"[{"conversations": [{"from": "human", "value": "a"}, {"from": "gpt", "value": "A"},
        {"from": "human", "value": "b"}, {"from": "gpt", "value": "B"}, {"from": "human", "value": "c"}]},
        {"conversations": [{"from": "human", "value": "d"}, {"from": "gpt", "value": "D"}]}]"#;
    let trace = r#"{"timestamp": 5000, "input_length": 1100, "output_length": 3, "hash_ids": [1, 2, 3]}
{"timestamp": 5300, "input_length": 1500, "output_length": 5, "hash_ids": [1, 2, 7]}
{"timestamp": 5200, "input_length": 700, "output_length": 6, "hash_ids": [1, 4]}
"#;
    let times = "at\n10.5\n11.75\n11.5\n13.125\n20\n";
    Stage::new(PROMPTS).file("talk.json", talk).file("trace.jsonl", trace).file("times.csv", times)
}

/// FNV-1a of 64 bits: the same for ever, and no dependency.
fn fingerprint(body: &[u8]) -> u64 {
    body.iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// One line a turn: its plan, and what its body is where it does not depend on the server.
fn lines_with_bodies(stage: &Stage) -> Vec<String> {
    let scenario = Arc::new(stage.scenario());
    let mut composer = stage.composer(&scenario);
    let mut lines = Vec::new();
    for (index, phase) in scenario.phases.iter().enumerate() {
        composer.begin_phase(index);
        let mut taken = 0;
        while let Next::Session(composed) = composer.compose_next(0) {
            taken += 1;
            let Composed { start, turns, outgoing, mut conversation } = *composed;
            let mut body = Some(outgoing.unwrap().body);
            for (number, turn) in turns.iter().enumerate() {
                let (planned, prompt) = (&turn.planned, turn.prompt_tokens);
                let workload = &scenario.workloads[planned.workload as usize];
                if number > 0 {
                    let is_recorded = workload.session.as_ref().unwrap().history == History::Recorded;
                    let usage = Usage::default();
                    let next = is_recorded.then(|| conversation.next(turn, None, &usage, false).unwrap());
                    body = next.map(|outgoing| outgoing.body);
                }
                let start = match start {
                    Start::At(offset) => offset.as_nanos().to_string(),
                    Start::WhenUserFree => "free".to_owned(),
                };
                let cell = |number: Option<u64>| number.map(|number| number.to_string()).unwrap_or_default();
                let mut line = format!(
                    "{},{},{},{},{},{start},{},{},{},{},{},{}",
                    planned.request,
                    planned.session,
                    planned.turn,
                    phase.name,
                    workload.name,
                    turn.think.as_nanos(),
                    cell(planned.dataset_row),
                    cell(prompt.map(u64::from)),
                    cell(planned.prefix_group.map(u64::from)),
                    cell(planned.prefix_tokens.map(u64::from)),
                    planned.output_tokens_planned.unwrap(),
                );
                if let Some(body) = &body {
                    write!(line, ",{},{:016x}", body.len(), fingerprint(body)).unwrap();
                } else {
                    line += ",,";
                }
                lines.push(line);
            }
        }
        composer.end_phase(&[taken], false);
    }
    lines
}

const PROMPTS_HEADER: &str = "request,session,turn,phase,workload,start_ns,think_ns,dataset_row,prompt_tokens,\
                              prefix_group,prefix_tokens,output_tokens,body_bytes,body_fnv64\n";

#[test]
fn lengths_prefixes_and_bodies_of_a_seed_and_a_salt_are_those_of_the_golden_file() {
    let lines = lines_with_bodies(&prompts());
    compare("prompts.csv", &(PROMPTS_HEADER.to_owned() + &lines.join("\n") + "\n"));
    for count in [2, 3] {
        let parts = (0..count).flat_map(|index| lines_with_bodies(&prompts().shard(index, count)));
        let mut parts: Vec<String> = parts.collect();
        parts.sort();
        let mut whole = lines.clone();
        whole.sort();
        assert_eq!(parts, whole, "{count} shards");
    }
    // Another salt changes bodies, and nothing that is planned.
    let salted = lines_with_bodies(&prompts().salt(2));
    let plan = |lines: &[String]| {
        lines.iter().map(|line| line.rsplitn(3, ',').nth(2).unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(plan(&lines), plan(&salted));
    let kept = lines.iter().zip(&salted).filter(|(one, other)| one == other && !one.ends_with(','));
    assert!(kept.clone().all(|(line, _)| line.contains(",talk,")), "rows of a file have no salt");
    assert_eq!(kept.count(), 8);
}
