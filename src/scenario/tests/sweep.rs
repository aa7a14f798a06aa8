//! Sweeps as they are read.

use std::path::Path;
use std::time::Duration;

use super::super::keys::{self, Fallback};
use super::super::{Load, Loaded, Order, Overrides, PromptSource, parse, resolved};
use crate::diagnostic::Style;

const BASE: &str = r#"
name = "s"
target.url = "http://h"

[[workload]]
name = "chat"
prompt.synthetic.words = 200

[[phase]]
name = "steady"
duration = "5m"
load.closed = {}

[sweep]
"#;

const USERS: &str = r#"
[[sweep.axis]]
name = "users"
key = "phase.steady.load.closed.users"
values = [1, 8, 64]
"#;

fn read_with(text: &str, set: &[&str]) -> Result<Loaded, String> {
    let overrides = Overrides { set: set.iter().map(|text| (*text).to_owned()).collect(), target: None };
    let loaded = parse("s.toml", text.as_bytes(), Path::new("/folder"), &overrides);
    loaded.map_err(|problems| problems.render(Style::Plain))
}

fn read(text: &str) -> Loaded {
    read_with(text, &[]).unwrap()
}

fn users(loaded: &Loaded) -> Vec<u32> {
    let users = |scenario: &super::super::Scenario| match scenario.phases[0].load {
        Load::Closed { users, .. } => users,
        Load::Open { .. } => 0,
    };
    loaded.points.iter().map(users).collect()
}

fn labels(loaded: &Loaded) -> Vec<&str> {
    let sweep = loaded.scenario.sweep.as_ref().unwrap();
    sweep.axes[0].steps.iter().map(|step| step.label.as_str()).collect()
}

#[test]
fn each_point_is_the_scenario_with_its_values() {
    let loaded = read(&(BASE.to_owned() + USERS));
    assert_eq!(users(&loaded), [1, 8, 64]);
    assert_eq!(loaded.scenario, loaded.points[0]);
    let sweep = loaded.scenario.sweep.unwrap();
    assert_eq!((sweep.repeats, sweep.order, sweep.pause), (1, Order::Points, Duration::ZERO));
}

#[test]
fn several_keys_change_together_and_axes_cross() {
    let text = BASE.to_owned()
        + USERS
        + "[[sweep.axis]]\nname = \"shape\"\n\
           keys = [\"workload.chat.prompt.synthetic.words\", \"workload.chat.output.max_tokens\"]\n\
           values = [[200, \"1Ki\"], [4000, 100]]\n";
    let loaded = read(&text);
    let told = loaded.points.iter().zip(users(&loaded)).map(|(scenario, users)| {
        let workload = &scenario.workloads[0];
        let PromptSource::Synthetic { words, .. } = workload.prompt else { panic!("no such prompt") };
        format!("{users} {words} {:?}", workload.max_tokens)
    });
    assert_eq!(
        told.collect::<Vec<_>>(),
        [
            "1 200 Fixed(1024)",
            "1 4000 Fixed(100)",
            "8 200 Fixed(1024)",
            "8 4000 Fixed(100)",
            "64 200 Fixed(1024)",
            "64 4000 Fixed(100)"
        ]
    );
    let sweep = loaded.scenario.sweep.unwrap();
    assert_eq!(sweep.axes[1].steps[0].label, "200 + 1024");
}

#[test]
fn ranges_reach_both_ends_in_the_units_of_their_key() {
    let of = |key: &str, range: &str| {
        let base = BASE.replace("load.closed = {}", "load.poisson.rate = \"1/s\"");
        let axis = format!("[[sweep.axis]]\nname = \"a\"\nkey = \"{key}\"\nvalues.{range}\n");
        let loaded = read(&(base + &axis));
        labels(&loaded).join(" ")
    };
    let words = "workload.chat.prompt.synthetic.words";
    assert_eq!(of(words, "linear = { from = 10, to = 30, step = 10 }"), "10 20 30");
    assert_eq!(of(words, "linear = { from = 10, to = 29, step = 10 }"), "10 20");
    assert_eq!(of(words, "geometric = { from = 1, to = 10, factor = 1.5 }"), "1 2 3 5 8");
    let rate = "phase.steady.load.poisson.rate";
    assert_eq!(of(rate, "geometric = { from = \"30/min\", to = \"4/s\", factor = 2 }"), "0.5 1 2 4");
    assert_eq!(
        of(rate, "linear = { from = \"0.1/s\", to = \"0.3/s\", step = \"0.1/s\" }").split(' ').count(),
        3
    );
    let tokens = "workload.chat.output.max_tokens";
    assert_eq!(of(tokens, "geometric = { from = \"1Ki\", to = \"4Ki\", factor = 2 }"), "1024 2048 4096");
    let time = "phase.steady.duration";
    assert_eq!(of(time, "linear = { from = \"30s\", to = \"1m\", step = \"15s\" }"), "30 45 60");
}

#[test]
fn the_command_line_may_change_an_axis_and_says_what_is_wrong_there() {
    let text = BASE.to_owned() + USERS;
    let loaded = read_with(&text, &["sweep.axis.users.values=[2, 3]", "sweep.repeats=4"]).unwrap();
    assert_eq!((users(&loaded), loaded.scenario.sweep.unwrap().repeats), (vec![2, 3], 4));
    let refused =
        read_with(&text, &["phase.steady.duration=1m", "sweep.axis.users.values=[2, 0]"]).unwrap_err();
    assert!(refused.contains("sweep.axis.users.values=[2, 0]") && refused.contains("from 1 to"), "{refused}");
}

#[test]
fn files_that_steps_name_are_relative_to_the_file_that_names_them() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.jsonl", "b.jsonl"] {
        std::fs::write(folder.path().join(name), "{\"prompt\":\"x\"}\n").unwrap();
    }
    let text = BASE
        .replace("prompt.synthetic.words = 200", "prompt.dataset = {}")
        .replace("= {}\n\n[sweep]", "= 1\n\n[sweep]")
        + "[[sweep.axis]]\nname = \"data\"\nkey = \"workload.chat.prompt.dataset.path\"\nvalues = [\"a.jsonl\", \"b.jsonl\"]\n";
    let loaded = parse("s.toml", text.as_bytes(), folder.path(), &Overrides::default()).unwrap();
    let path = |index: usize| match &loaded.points[index].workloads[0].prompt {
        PromptSource::Dataset(source) => source.path.clone(),
        other => panic!("no such prompt: {other:?}"),
    };
    assert_eq!([path(0), path(1)], ["a.jsonl", "b.jsonl"].map(|name| folder.path().join(name)));
    // Read again from elsewhere, it names the same files.
    let again = parse("r.toml", resolved(&loaded.scenario).as_bytes(), Path::new("/"), &Overrides::default());
    assert_eq!(again.unwrap().points[1].workloads[0].prompt, loaded.points[1].workloads[0].prompt);
}

#[test]
fn a_resolved_sweep_is_the_same_sweep() {
    let text = BASE.to_owned()
        + "repeats = 3\norder = \"shuffled\"\npause = \"10s\"\nskip = [{ users = 8, words = 300 }]\n"
        + "[[sweep.axis]]\nname = \"users\"\nkey = \"phase.steady.load.closed.users\"\n\
           values.geometric = { from = 1, to = 8, factor = 2 }\n"
        + "[[sweep.axis]]\nname = \"words\"\nkey = \"workload.chat.prompt.synthetic.words\"\nvalues = [200, 300]\n";
    let loaded = read(&text);
    assert_eq!(loaded.points.len(), 7);
    let written = resolved(&loaded.scenario);
    let again = read(&written);
    assert_eq!(again.points, loaded.points);
    assert_eq!(resolved(&again.scenario), written);
}

#[test]
fn every_default_of_a_sweep_is_a_value_its_key_takes() {
    for key in keys::find("sweep").keys {
        let Fallback::Value(default) = key.default else { continue };
        let set = format!("sweep.{}={default}", key.name);
        read_with(&(BASE.to_owned() + USERS), &[&set]).unwrap();
        let set = format!("sweep.{}={}", key.name, key.example);
        read_with(&(BASE.to_owned() + USERS), &[&set]).unwrap();
    }
    let orders = keys::find("sweep").key("order").unwrap().kind;
    assert!(matches!(orders, keys::Kind::Choice(names) if names == Order::ALL.map(Order::name)));
}
