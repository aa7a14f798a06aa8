//! The plan of a seed, pinned in files: numbers, due times, lengths, rows, pauses. A change of one of them is a
//! change of what every scenario with a seed means.

use std::fmt::Write as _;
use std::sync::Arc;

use tonnage::plan::shard::Shard;
use tonnage::plan::{Plan, Start};

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
    let text = HEADER.to_owned() + &lines(SCENARIO, Shard::WHOLE).join("\n") + "\n";
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/plan.csv");
    let pinned = std::fs::read_to_string(golden).unwrap_or_default();
    if pinned != text {
        let made = std::env::temp_dir().join("tonnage-golden-plan.csv");
        std::fs::write(&made, &text).unwrap();
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
