//! Phases with every kind of load, sessions and rules to stop.

use super::*;
use crate::distribution::TimeLaw;

#[test]
fn further_loads_and_sessions_are_read_as_written() {
    let text = MINIMAL.replace("load.poisson = \"6/s\"", "")
        + r#"
warm_up = "10s"
cool_down = "20s"
load.gamma = { rate = "6/s", cv = 2, when_full = "wait" }
workloads = ["w"]
[[phase.also]]
name = "side"
workloads = ["talk"]
load.closed = { users = 2, think.uniform = { min = "1s", max = "3s" }, ramp_up = "4s" }
[[phase]]
name = "up"
duration = "1m"
load.ramp = { from = "0/s", to = "90/min" }
[[phase]]
name = "stairs"
load.steps = { rates = ["2/s", "0/s", "4/s"], each = "1m", arrivals = "constant" }
[[phase]]
name = "recorded"
load.trace = { path = "trace.jsonl", format = "mooncake", speed = 2 }
[[phase]]
name = "people"
requests.per_user = 8
warm_up.per_user = 1
cool_down.per_user = 2
load.closed = { users = 3, pace = "10s" }
[[workload]]
name = "talk"
prompt.synthetic = 20
session = { turns.uniform = { min = 2, max = 4 }, think.exponential = "5s", history = "none", max_context = "8Ki" }
[stop]
error_share = "20%"
errors_in_a_row = 9
over_saturated = true
"#;
    let folder = folder();
    let loaded = parse("load.toml", text.as_bytes(), folder.path(), &Overrides::default());
    let scenario = loaded.unwrap().scenario;
    let [first, up, stairs, recorded, people] = &scenario.phases[..] else { panic!() };
    let seconds = Duration::from_secs;
    assert_eq!((first.warm_up.time(), first.cool_down.time()), (seconds(10), seconds(20)));
    assert_eq!(first.workloads_of(0, &scenario.workloads), [0]);
    assert_eq!(first.workloads_of(1, &scenario.workloads), [1]);
    let Load::Open { process: Process::Gamma { cv: 2.0, .. }, when_full: WhenFull::Wait, .. } = first.load
    else {
        panic!("{:?}", first.load)
    };
    let rhythm = Rhythm::Think(TimeLaw::uniform(seconds(1), seconds(3)).unwrap());
    assert_eq!(first.also[0].load, Load::Closed { users: 2, rhythm, ramp_up: seconds(4) });
    let names = scenario.phases.iter().map(|phase| phase.load.name()).collect::<Vec<_>>();
    assert_eq!(names, ["gamma", "ramp", "steps", "trace", "closed"]);
    let expected = |phase: &Phase| match &phase.load {
        Load::Open { process, .. } => process.expected(seconds(180)),
        Load::Closed { .. } => panic!(),
    };
    assert_eq!((expected(up), expected(stairs), expected(recorded)), (45.0, 360.0, 3.0));
    assert_eq!((stairs.duration, recorded.duration), (Some(seconds(180)), None));
    assert_eq!((people.warm_up, people.cool_down), (Margin::PerUser(1), Margin::PerUser(2)));
    assert_eq!(people.requests, Some(Requests::PerUser(8)));
    let session = scenario.workloads[1].session.clone().unwrap();
    assert_eq!((session.turns, session.history), (Distribution::uniform(2, 4), History::None));
    assert_eq!(session.max_context, Some(8_192));
    let stop = StopRules { error_share: 0.2, errors_in_a_row: Some(9), over_saturated: true };
    assert_eq!(scenario.stop, stop);
    assert_eq!(again(&scenario), scenario);
}

#[test]
fn loads_that_cannot_be_are_refused() {
    let refusal = |bound: &str, load: &str| {
        let text = MINIMAL.replace("duration = \"5m\"", bound).replace("load.poisson = \"6/s\"", load);
        read(&text).unwrap_err().lines().next().unwrap().to_owned()
    };
    let five = "duration = \"5m\"";
    let all = [
        refusal("requests = 9", "load.ramp = { from = \"1/s\", to = \"2/s\" }"),
        refusal(five, "load.ramp = { from = \"0/s\", to = \"0/s\" }"),
        refusal(five, "load.steps = { rates = [\"1/s\"], each = \"5m\" }"),
        refusal(five, "load.steps = { rates = [\"1/s\", \"2/s\"], each = \"1m\" }"),
        refusal(five, "load.gamma = { rate = \"1/s\", cv = 0 }"),
        refusal(five, "load.trace = { path = \"trace.jsonl\", format = \"azure\" }"),
        refusal(five, "load.trace = { path = \"trace.jsonl\", format = \"jsonl\", unit = \"ms\" }"),
        refusal(five, "load.trace = { path = \"trace.jsonl\", format = \"mooncake\", unit = \"s\" }"),
        refusal(five, "load.trace = { path = \"trace.jsonl\", format = \"mooncake\", skip = \"1h\" }"),
        refusal(five, "load.closed = { users = 1, think = \"1s\", pace = \"1s\" }"),
        refusal("requests.per_user = 2", "load.poisson = \"6/s\""),
        refusal("requests = 2\ncool_down = \"1s\"", "load.closed = 1"),
        refusal("requests.per_user = 2\nwarm_up.per_user = 2", "load.closed = 1"),
        refusal("duration = \"5m\"\nwarm_up.per_user = 2", "load.closed = 1"),
        refusal("requests = 5\ncool_down.per_user = 2", "load.closed = 1"),
        refusal("duration = \"5m\"\nworkloads = [\"v\"]", "load.closed = 1"),
        refusal(five, "load.closed = 1\n[[phase.also]]\nname = \"a\"\nworkloads = [\"w\"]\nload.closed = 1"),
    ];
    insta::assert_snapshot!(all.join("\n"), @r"
error: a ramp runs over the phase's `duration`
error: no request would ever arrive
error: `rates` takes at least two
error: the steps are over after 2m, before the phase's `duration` is
error: `cv` must be from 0.01 to 100
error: the trace has no column `TIMESTAMP`
error: a trace of format `jsonl` needs `column`
error: `unit` is known of this format: `timestamp` in ms
error: none of the trace's 3 arrivals lies in its window
error: a user has either `think` or `pace`
error: `requests.per_user` counts requests of users, and an open loop has none
error: without `duration` it is not known when a `cool_down` begins
error: `warm_up` and `cool_down` leave nothing of 2 requests a user
error: `warm_up` cannot be counted in a phase that has a `duration`
error: `cool_down.per_user` needs to know how many requests a user sends
error: there is no workload `v`
error: the load of `p` has no workload that is sent
");
}
