//! `check`, `init`, `schema`, `completions` and `man` as their users meet them.

#![expect(clippy::unwrap_used, reason = "what cannot be set up fails the test")]

use std::path::Path;
use std::process::Command;

/// A folder with files in it, which the program runs in.
struct Folder(tempfile::TempDir);

/// What a command came to.
struct Ended {
    code: i32,
    out: String,
    err: String,
}

impl Folder {
    fn new(files: &[(&str, &str)]) -> Folder {
        let folder = Folder(tempfile::tempdir().unwrap());
        for (name, text) in files {
            folder.write(name, text);
        }
        folder
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    #[track_caller]
    fn run(&self, arguments: &[&str]) -> Ended {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tonnage"));
        let output =
            command.args(arguments).current_dir(self.0.path()).env_remove("TONNAGE_KEY").output().unwrap();
        let text = |bytes: &[u8]| {
            // Data sets are shown with their whole path.
            String::from_utf8_lossy(bytes).replace(&format!("{}/", self.0.path().display()), "")
        };
        Ended { code: output.status.code().unwrap(), out: text(&output.stdout), err: text(&output.stderr) }
    }

    #[track_caller]
    fn done(&self, arguments: &[&str]) -> Ended {
        let ended = self.run(arguments);
        assert_eq!(ended.code, 0, "{arguments:?}\n{}\n{}", ended.out, ended.err);
        ended
    }

    /// What `check --json` says of one scenario.
    #[track_caller]
    fn looked_at(&self, arguments: &[&str]) -> serde_json::Value {
        let ended = self.done(&[&["check", "--json", "load.toml"], arguments].concat());
        serde_json::from_str::<serde_json::Value>(&ended.out).unwrap()["files"][0].take()
    }
}

/// Two phases and two workloads, one of them with data.
const LOAD: &str = r#"
name = "load"
[about]
hardware = "4 × 80 GB"
[target]
sim.profile = "8b-h100"
[[workload]]
name = "made-up"
weight = 3
prompt.synthetic = 50
output.max_tokens.uniform = { min = 5, max = 20 }
[[workload]]
name = "rows"
prompt.dataset = { path = "rows.jsonl", when_exhausted = "repeat", shuffle = true }
output.max_tokens = 8
[[phase]]
name = "open"
warm_up = "2s"
duration = "20s"
load.poisson = { rate = "20/s", max_in_flight = 10 }
[[phase]]
name = "closed"
requests = 400
load.closed = 4
"#;

const ROWS: &str =
    "\"one\"\n{\"prompt\": \"two words\"}\n\n{\"question\": 1}\n\"one\"\n\"\"\n\"and three more\"\n";

fn folder() -> Folder {
    Folder::new(&[("load.toml", LOAD), ("rows.jsonl", ROWS)])
}

#[test]
fn a_sound_scenario_is_shown_as_what_it_will_do_with_what_there_is_to_know() {
    let ended = folder().done(&["check", "load.toml", "--plan", "3"]);
    insta::assert_snapshot!(ended.out, @r"
load.toml: load → simulated 8b-h100, seed drawn for each run

phase   start  end  load          requests          measured  in flight
open    0s     20s  poisson 20/s  400 (361 to 440)  360       20 × seconds a request takes, at most 10
closed  20s    –    4 users       400               400       at most 4

workload  share   prompt                                                                          answer, at most
made-up   75.0 %  50 words                                                                        5 to 20 tokens (p50 12, p90 19, p99 20)
rows      25.0 %  1 to 3 words (p50 1, p90 3, p99 3); 3 to 14 characters (p50 3, p90 14, p99 14)  8 tokens

data of rows: 4 rows of rows.jsonl (prompts); 2 left out: 1 a `prompts` row must have `prompt` as text, once, or be a text itself, 1 a text is blank; 1 repeat an earlier one
answers: at most about 9,127 tokens in all
Times leave out how long each phase drains. Prompts are counted in words: how many tokens they are, the model decides.

plan of seed 0; each run draws its own; `due` counts from the phase's start
 request  phase             due, s  workload       row  tokens at most
       0  open            0.023815  made-up          –  17
       1  open            0.119644  rows             1  8
       2  open            0.215143  made-up          –  6
");
    insta::assert_snapshot!(ended.err, @r"
warning: 1 row left out: a `prompts` row must have `prompt` as text, once, or be a text itself
--> rows.jsonl:4
 = help: line 4; the other 4 rows are used

warning: 1 row left out: a text is blank
--> rows.jsonl:6
 = help: line 6; the other 4 rows are used

warning: 1 of 4 rows repeat an earlier prompt
--> rows.jsonl
 = help: a server with a prefix cache answers them faster than new prompts

warning: phase `open` measures about 360 requests: too few for p99
--> load.toml:19
 = help: p99 needs 368, p95 72, p90 36: send more, or measure longer

warning: phase `open` drops requests as soon as they take 0.50 s on average
--> load.toml:20
 = help: 10 in flight carry no more at this rate: raise `max_in_flight`

warning: workload `rows` sends each of its 4 rows 48.5 times
--> load.toml:14
 = help: a server with a prefix cache answers repeated prompts faster
");
}

#[test]
fn with_a_seed_counts_are_those_of_the_run() {
    let folder = folder();
    folder.done(&["rehearse", "load.toml", "--set", "seed=3", "--out", "out", "--quiet"]);
    let rows = folder.read("out/requests.csv");
    let in_phase =
        |name: &str| rows.lines().filter(|line| line.contains(&format!(",{name},"))).count() as u64;
    let seen = folder.looked_at(&["--set", "seed=3", "--plan", "1000000"]);
    let phases = &seen["preview"]["phases"];
    assert_eq!(phases[0]["requests"]["value"], in_phase("open"));
    assert_eq!(phases[0]["requests"]["certainty"], "exact");
    assert_eq!(phases[1]["requests"]["value"], in_phase("closed"));
    let planned = seen["plan"].as_array().unwrap();
    assert_eq!(planned.len() as u64, in_phase("open") + in_phase("closed"));
    // Every request with its time, its row and its length.
    let columns = rows.lines().next().unwrap().split(',').collect::<Vec<_>>();
    let column = |name: &str| columns.iter().position(|column| *column == name).unwrap();
    for line in rows.lines().skip(1) {
        let cells = line.split(',').collect::<Vec<_>>();
        let cell = |name: &str| cells[column(name)];
        let request = &planned[cell("request").parse::<usize>().unwrap()];
        assert_eq!(request["workload"], cell("workload"));
        assert_eq!(request["output_tokens_at_most"].to_string(), cell("output_tokens_planned"));
        let row = request["dataset_row"].as_u64().map(|row| row.to_string());
        assert_eq!(row.unwrap_or_default(), cell("dataset_row"));
        if let Some(due_s) = request["due_s"].as_f64() {
            let scheduled_s = cell("scheduled_s").parse::<f64>().unwrap();
            assert!((due_s - scheduled_s).abs() < 1e-5, "{due_s} {scheduled_s}");
        }
    }
    let tokens = planned.iter().map(|request| request["output_tokens_at_most"].as_u64().unwrap());
    assert_eq!(seen["preview"]["output_tokens_at_most"], tokens.sum::<u64>());
    assert_eq!(seen["preview"]["exact"], true);
}

#[test]
fn without_a_seed_a_random_count_has_a_range_and_what_the_server_decides_is_left_open() {
    let folder = folder();
    let phases = |arguments: &[&str]| folder.looked_at(arguments)["preview"]["phases"].take();
    let open = &phases(&[])[0];
    assert_eq!(open["requests"]["value"], 400);
    assert_eq!(open["requests"]["certainty"], "about");
    assert_eq!(open["requests"]["range_95"], serde_json::json!([361, 440]));
    let even = &phases(&["--set", "phase.open.load.constant=20/s"])[0];
    assert_eq!(even["requests"], serde_json::json!({ "value": 400, "certainty": "exact", "range_95": null }));
    assert_eq!(even["measured_requests"], 360);
    let set = ["--set", "phase.closed.duration=1m"];
    let bounded = &phases(&set)[1];
    assert_eq!(bounded["requests"]["certainty"], "at_most");
    assert_eq!(bounded["end_s"], serde_json::json!({ "value": 80.0, "certainty": "at_most" }));
    let endless = "[[phase]]\nname = \"closed\"\nload.closed = 4\nduration = \"1m\"\n";
    let alone = [LOAD.split("[[phase]]").next().unwrap(), endless].concat();
    folder.write("load.toml", &alone);
    let seen = folder.looked_at(&[]);
    assert_eq!(seen["preview"]["phases"][0]["requests"], serde_json::Value::Null);
    assert_eq!(seen["preview"]["output_tokens_at_most"], serde_json::Value::Null);
}

#[test]
fn what_follows_a_phase_that_the_server_ends_is_not_claimed_to_be_known() {
    let folder = folder();
    let data = "[[workload]]\nname = \"rows\"\nprompt.dataset = \"rows.jsonl\"\n";
    let phases = "[[phase]]\nname = \"a\"\nduration = \"10s\"\nload.closed = 2\n\
                  [[phase]]\nname = \"b\"\nrequests = 3\nload.constant = \"1/s\"\n";
    let head = "name = \"l\"\nseed = 1\ntarget.sim.profile = \"8b-h100\"\n";
    folder.write("load.toml", &[head, data, phases].concat());
    let seen = folder.looked_at(&["--plan", "50"]);
    let phases = &seen["preview"]["phases"];
    let at_most = |value: f64| serde_json::json!({ "value": value, "certainty": "at_most" });
    assert_eq!(
        (&phases[0]["requests"]["value"], &phases[0]["requests"]["certainty"]),
        (&4.into(), &"at_most".into())
    );
    assert_eq!(
        (&phases[1]["requests"]["value"], &phases[1]["requests"]["certainty"]),
        (&3.into(), &"at_most".into())
    );
    assert_eq!((&phases[0]["end_s"], &phases[1]["end_s"]), (&at_most(10.0), &at_most(12.0)));
    assert_eq!(phases[1]["measured_requests"], serde_json::Value::Null);
    assert_eq!((&seen["preview"]["exact"], seen["plan"].as_array().unwrap().len()), (&false.into(), 4));
    let warnings = folder.done(&["check", "load.toml"]).err;
    assert!(!warnings.contains("sends nothing") && !warnings.contains("ends with its data"), "{warnings}");
}

/// Conversations that go on to the end of their context, some of which begin beyond it.
const GROWING: &str = r#"
name = "growing"
seed = 5
target.sim.profile = "8b-h100"
[[workload]]
name = "talk"
prompt.synthetic.tokens.uniform = { min = 50, max = 1500 }
output = { max_tokens = 50, exact = true }
session.max_context = 1024
[[phase]]
name = "p"
requests = 60
load.closed = 2
"#;

#[test]
fn conversations_that_end_with_their_context_are_previewed_and_kept_as_planned() {
    let folder = Folder::new(&[("load.toml", GROWING)]);
    let ended = folder.done(&["check", "load.toml"]);
    insta::assert_snapshot!(ended.out, @r"
load.toml: growing → simulated 8b-h100, seed 5

phase  start  end  load     requests  measured  in flight
p      0s     –    2 users  60        60        at most 2

workload  share    prompt                                              answer, at most
talk      100.0 %  98 to 1,440 tokens (p50 611, p90 1,404, p99 1,440)  50 tokens

conversations of talk: 1 to 2 turns (p50 1, p90 2, p99 2); each ends before it would pass 1,024 tokens; 18 begin with more and are skipped
prompts: 43,510 tokens in all, without what turns carry of those before
answers: at most 3,000 tokens in all
");
    let seen = folder.looked_at(&[]);
    let talk = &seen["preview"]["workloads"][0];
    assert_eq!((talk["max_context"].as_u64(), talk["turns"]["max"].as_u64()), (Some(1024), Some(2)));
    folder.done(&["rehearse", "load.toml", "--out", "out", "--quiet"]);
    let rows = folder.read("out/requests.csv");
    let too_long =
        rows.lines().filter(|line| line.contains(",skipped,") && line.contains("max_context: ")).count();
    assert_eq!(talk["too_long_for_context"].as_u64(), Some(too_long as u64));
}

/// Steady short requests, and long ones injected among them.
const MIXED: &str = r#"
name = "mixed"
seed = 5
target.sim.profile = "8b-h100"
[[workload]]
name = "short"
prompt.synthetic = 20
output.max_tokens = 10
session = { turns = 3, think = "10ms" }
[[workload]]
name = "long"
prompt.synthetic = 2000
output.max_tokens = 4
[[phase]]
name = "steady"
duration = "20s"
load.constant = "5/s"
[[phase.also]]
name = "injected"
load.constant = "1/s"
workloads = ["long"]
[[phase]]
name = "alone"
requests = 30
workloads = ["short"]
load.closed = 2
"#;

#[test]
fn every_load_of_a_phase_is_previewed_and_counted_as_it_will_be_sent() {
    let folder = Folder::new(&[("load.toml", MIXED)]);
    let ended = folder.done(&["check", "load.toml", "--service-time", "2s"]);
    insta::assert_snapshot!(ended.out, @r"
load.toml: mixed → simulated 8b-h100, seed 5

phase       start  end  load          requests  measured  in flight
steady      0s     20s  constant 5/s  300       300       about 30, peak 30
+ injected              constant 1/s  20                  about 2, peak 2
alone       20s    –    2 users       30        30        about 2, peak 2

workload  share   prompt       answer, at most
short     94.3 %  20 words     10 tokens
long      5.7 %   2,000 words  4 tokens

conversations of short: 3 turns
answers: at most 3,380 tokens in all
Times leave out how long each phase drains. Prompts are counted in words: how many tokens they are, the model decides.
");
    folder.done(&["rehearse", "load.toml", "--out", "out", "--quiet"]);
    let rows = folder.read("out/requests.csv");
    let sent = |workload: &str| rows.lines().filter(|line| line.contains(&format!(",{workload},"))).count();
    let seen = folder.looked_at(&["--plan", "10000"]);
    let workloads = &seen["preview"]["workloads"];
    assert_eq!((workloads[0]["requests"].as_f64(), sent("short")), (Some(330.0), 330));
    assert_eq!((workloads[1]["requests"].as_f64(), sent("long")), (Some(20.0), 20));
    let plan = seen["plan"].as_array().unwrap();
    assert_eq!(plan.len(), 350);
    let injected = plan.iter().filter(|request| request["load"] == "injected").collect::<Vec<_>>();
    assert_eq!(injected.len(), 20);
    assert_eq!(injected[19]["due_s"], 19.0);
    let refused = folder.run(&["check", "load.toml", "--service-time", "0s"]);
    assert!(refused.code == 2 && refused.err.contains("a request takes some time"), "{}", refused.err);
}

#[test]
fn a_stated_service_time_tells_what_requests_in_flight_hold_of_the_servers_memory() {
    let text = "name = \"l\"\nseed = 1\ntarget.sim.profile = \"8b-h100\"\n[[workload]]\nname = \"w\"\n\
                prompt.synthetic.tokens = 1000\noutput.max_tokens = 100\n[[phase]]\nname = \"p\"\n\
                duration = \"60s\"\nload.constant = \"5/s\"\n";
    let folder = Folder::new(&[("load.toml", text)]);
    let in_flight =
        |arguments: &[&str]| folder.looked_at(arguments)["preview"]["phases"][0]["in_flight"].take();
    let told = in_flight(&["--service-time", "4s"]);
    assert_eq!((&told["mean"], &told["peak"]), (&20.0.into(), &20.into()));
    assert_eq!(told["kv_tokens"], serde_json::json!({ "mean": 21_000, "peak": 22_000 }));
    let shown = folder.done(&["check", "load.toml", "--service-time", "4s"]).out;
    assert!(shown.contains("about 20, peak 20; KV about 21,000 tokens, peak 22,000"), "{shown}");
    let words = in_flight(&["--service-time", "4s", "--set", "workload.w.prompt.synthetic=50"]);
    assert_eq!(words["kv_tokens"], serde_json::Value::Null);
    assert_eq!(in_flight(&[]), serde_json::Value::Null);
}

#[test]
fn check_and_run_agree_on_a_plan_that_data_cannot_serve() {
    let folder = folder();
    let set = ["--set", "workload.rows.prompt.dataset.when_exhausted=\"error\""];
    let checked = folder.run(&[&["check", "load.toml"][..], &set].concat());
    let ran = folder.run(&[&["rehearse", "load.toml", "--out", "out"][..], &set].concat());
    let error = "error: phase `open` asks for more rows than workload `rows` has";
    assert!(checked.code == 2 && checked.err.contains(error), "{}", checked.err);
    assert!(ran.code == 2 && ran.err.contains(error), "{}", ran.err);
    // Few enough for the rows there are, for all that the count would allow.
    let few = [
        &set[..],
        &[
            "--set",
            "phase.open.duration=3s",
            "--set",
            "phase.open.load.poisson.rate=0.5/s",
            "--set",
            "phase.closed.requests=2",
            "--set",
            "seed=1",
        ],
    ]
    .concat();
    let checked = folder.run(&[&["check", "load.toml"][..], &few].concat());
    let ran = folder.run(&[&["rehearse", "load.toml", "--out", "few"][..], &few].concat());
    assert_eq!((checked.code, ran.code), (0, 0), "{} {}", checked.err, ran.err);
}

#[test]
fn a_long_plan_is_looked_at_in_part_in_little_memory() {
    let folder = folder();
    folder.write("long.toml", &LOAD.replace("20/s", "2000/s").replace("\"20s\"", "\"5000s\""));
    let program = env!("CARGO_BIN_EXE_tonnage");
    // A hundred megabytes of addresses, of which memory is a part.
    let script = format!("ulimit -v 102400 && exec {program} check --json long.toml");
    let output = Command::new("sh").args(["-c", &script]).current_dir(folder.0.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let seen: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let preview = &seen["files"][0]["preview"];
    assert_eq!(preview["phases"][0]["requests"]["value"], 10_000_000);
    assert_eq!((&preview["sampled"], &preview["exact"]), (&true.into(), &false.into()));
    let tokens = preview["output_tokens_at_most"].as_u64().unwrap();
    assert!((113_700_000..113_800_000).contains(&tokens), "{tokens}");
}

#[test]
fn c154_every_bad_scenario_among_several_is_told_and_nothing_is_sent() {
    let folder = folder();
    folder.write("key.toml", &LOAD.replace("load.closed = 4", "concurency = 4"));
    folder.write("place.toml", &LOAD.replace("[target]", "[target]\nduration = \"5s\""));
    folder.write("rate.toml", &LOAD.replace("\"20/s\"", "\"10\""));
    folder.write("twice.toml", &LOAD.replace("name = \"closed\"", "name = \"open\""));
    let ended = folder.run(&["check", "key.toml", "load.toml", "place.toml", "rate.toml", "twice.toml"]);
    assert_eq!(ended.code, 2);
    assert!(ended.out.starts_with("load.toml: load"), "{}", ended.out);
    let errors = ended.err.split("\n\n").filter(|text| text.starts_with("error")).collect::<Vec<_>>();
    insta::assert_snapshot!(errors.join("\n\n"), @r#"
error: `[[phase]]` needs `load`
  --> key.toml:21:1
   |
21 | [[phase]]
   | ^^^^^^^^^
   |
   = help: add `load = { poisson = "6/s" }`

error: `concurency` is no key of `[[phase]]`
  --> key.toml:24:1
   |
24 | concurency = 4
   | ^^^^^^^^^^
   |
   = help: did you mean `users = 8` of `load.closed` of `[[phase]]`?

error: `duration` is no key of `[target]`
 --> place.toml:6:1
  |
6 | duration = "5s"
  | ^^^^^^^^
  |
  = help: `duration` belongs to `[[phase]]`: move it there

error: `rate`: the time is missing
  --> rate.toml:20:25
   |
20 | load.poisson = { rate = "10", max_in_flight = 10 }
   |                         ^^^^
   |
   = help: a rate is a number per `s`, `min` or `h`, such as "6/s" or "90/min"

error: the name `open` is used twice
  --> twice.toml:22:1
   |
22 | name = "open"
   | ^^^^
   |
   = help: twice.toml:17 has it already
"#);
    let json = folder.run(&["check", "--json", "key.toml", "load.toml"]);
    let seen: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(json.code, 2);
    assert_eq!((&seen["files"][0]["valid"], &seen["files"][1]["valid"]), (&false.into(), &true.into()));
    assert_eq!(seen["files"][0]["problems"][1]["line"], 24);
    assert_eq!(seen["files"][0]["preview"], serde_json::Value::Null);
}

#[test]
fn c146_a_run_can_be_made_again_from_its_results_alone() {
    let folder = folder();
    folder.write("over.toml", "extends = \"load.toml\"\nname = \"over\"\nseed = 11");
    folder.done(&["rehearse", "over.toml", "--set", "phase.closed.requests=20", "--out", "one", "--quiet"]);
    std::fs::remove_file(folder.path("over.toml")).unwrap();
    std::fs::remove_file(folder.path("load.toml")).unwrap();
    folder.done(&["rehearse", "one/scenario.toml", "--out", "two", "--quiet"]);
    assert_eq!(folder.read("one/requests.csv"), folder.read("two/requests.csv"));
    assert_eq!(folder.read("one/scenario.toml"), folder.read("two/scenario.toml"));
    let manifest: serde_json::Value = serde_json::from_str(&folder.read("two/manifest.json")).unwrap();
    assert_eq!(manifest["about"]["hardware"], "4 × 80 GB");
    assert_eq!((&manifest["seed"], &manifest["name"]), (&11.into(), &"over".into()));
}

#[test]
fn the_resolved_scenario_says_where_each_value_came_from_and_means_the_same() {
    let folder = folder();
    folder.write("over.toml", "extends = \"load.toml\"\nname = \"over\"");
    let set = ["--set", "phase.open.load.poisson.rate=5/s"];
    let ended = folder.done(&[&["check", "--resolved", "over.toml"][..], &set].concat());
    for line in [
        "name = \"over\"  # over.toml:2\n",
        "hardware = \"4 × 80 GB\"  # load.toml:4\n",
        "prompt.synthetic.words = 50  # load.toml:10\n",
        "load.poisson.rate = \"5/s\"  # --set\n",
        "load.poisson.max_in_flight = 10  # load.toml:20\n",
        "timeouts.connect = \"5s\"  # default\n",
    ] {
        assert!(ended.out.contains(line), "{line}{}", ended.out);
    }
    folder.write("again.toml", &ended.out);
    let again = folder.done(&["check", "--resolved", "again.toml"]).out;
    let values = |text: &str| {
        text.lines().map(|line| line.split("  # ").next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(values(&again), values(&ended.out));
}

#[test]
fn c142_no_secret_is_shown_in_any_form() {
    let secret = "headers = { x-tenant = \"sk-TEST-123\" }\napi_key_env = \"TONNAGE_KEY\"\n";
    let text = LOAD.replace("[target]\n", &format!("[target]\n{secret}"));
    let folder = Folder::new(&[("load.toml", &text), ("rows.jsonl", ROWS)]);
    folder.write("bad.toml", &text.replace("x-tenant", "host"));
    for arguments in [
        &["check", "load.toml", "bad.toml"][..],
        &["check", "--resolved", "load.toml"],
        &["check", "--json", "load.toml", "bad.toml"],
        &["check", "load.toml", "--set", "target.headers.x-tenant=[\"sk-TEST-123\"]"],
        &["check", "load.toml", "--set", "target.url=http://me:sk-TEST-123@h"],
    ] {
        let ended = folder.run(arguments);
        assert!(!ended.out.contains("sk-TEST-123") && !ended.err.contains("sk-TEST-123"), "{arguments:?}");
    }
    let ended = folder.done(&["check", "load.toml"]);
    assert!(ended.err.contains("the environment variable `TONNAGE_KEY` is not set here"), "{}", ended.err);
}

#[test]
fn c102_more_requests_than_rows_are_told_before_the_run() {
    let one = |when: &str, bound: &str| {
        let head = "name = \"l\"\nseed = 1\ntarget.sim.profile = \"8b-h100\"\n";
        let workload = format!("prompt.dataset = {{ path = \"rows.jsonl\", when_exhausted = \"{when}\" }}");
        let text = format!(
            "{head}[[workload]]\nname = \"w\"\n{workload}\n[[phase]]\nname = \"p\"\n{bound}\nload.closed = 2\n"
        );
        Folder::new(&[("load.toml", &text), ("rows.jsonl", "\"a\"\n\"b\"\n\"c\"\n\"d\"\n\"e\"\n")])
            .run(&["check", "load.toml"])
    };
    let said = |ended: &Ended, text: &str| assert!(ended.err.contains(text), "{}", ended.err);
    said(&one("repeat", "requests = 20"), "warning: workload `w` sends each of its 5 rows 4.0 times");
    said(&one("stop", "requests = 20"), "warning: phase `p` ends with its data, after 5 requests");
    let refused = one("error", "requests = 20");
    said(&refused, "error: phase `p` asks for more rows than workload `w` has");
    assert_eq!((refused.code, refused.out.as_str()), (2, ""));
    assert!(!one("error", "requests = 5").err.contains("rows"));
    assert!(!one("stop", "requests = \"all\"").err.contains("data"));
    assert!(!one("stop", "").err.contains("data"));
    assert!(!one("stop", "duration = \"5m\"\nwarm_up = \"1s\"").err.contains("data"));
}

#[test]
fn what_ends_a_phase_early_is_told_with_what_helps() {
    let one = |workload: &str, phase: &str| {
        let text = format!(
            "name = \"l\"\nseed = 1\ntarget.sim.profile = \"8b-h100\"\n[[workload]]\nname = \"w\"\n{workload}\n\
             [[phase]]\nname = \"p\"\n{phase}\n"
        );
        let trace = "{\"timestamp\": 0, \"input_length\": 40, \"output_length\": 2, \"hash_ids\": [1]}\n";
        Folder::new(&[("load.toml", &text), ("trace.jsonl", trace)]).run(&["check", "load.toml"])
    };
    let trace = "prompt.dataset = { path = \"trace.jsonl\", format = \"mooncake\" }";
    let ended = one(trace, "duration = \"5m\"\nload.trace.workload = \"w\"");
    assert!(ended.err.contains("shorten `duration`, or lower `speed`"), "{}", ended.err);
    let expected = "Lengths of `w` are tokens if the server says how many a prompt has, else words.";
    assert!(ended.out.contains(expected) && ended.out.contains("40 tokens"), "{}", ended.out);
    assert!(ended.out.contains("prompts: 40 tokens in all"), "{}", ended.out);
    let needle = "prompt.needle = { depths = [0.5], lengths = [100, 200] }";
    let ended = one(needle, "requests = 5\nload.closed = 1");
    assert!(ended.err.contains("raise `repeats` of prompt.needle"), "{}", ended.err);
    assert!(!ended.err.contains("when_exhausted"), "{}", ended.err);
}

#[test]
fn of_several_workloads_those_counted_in_words_are_named() {
    let workload = |name, prompt| format!("[[workload]]\nname = \"{name}\"\nprompt.synthetic.{prompt}\n");
    let text = [
        "name = \"l\"\ntarget.sim.profile = \"8b-h100\"\n".to_owned(),
        workload("a", "words = 30"),
        workload("b", "tokens = 30"),
        workload("c", "words = 3"),
        "[[phase]]\nname = \"p\"\nrequests = 5\nload.closed = 1\n".to_owned(),
    ];
    let ended = Folder::new(&[("load.toml", &text.concat())]).run(&["check", "load.toml"]);
    assert!(ended.out.contains("\nPrompts of `a`, `c` are counted in words: "), "{}", ended.out);
}

#[test]
fn what_would_spoil_a_run_is_said_before_it() {
    let warned = |set: &[&str]| {
        let folder = folder();
        let set = set.iter().flat_map(|set| ["--set", set]).collect::<Vec<_>>();
        let ended = folder.done(&[&["check", "load.toml"][..], &set].concat());
        ended.err.lines().filter(|line| line.starts_with("warning")).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(warned(&["phase.open.duration=9h"]), @r"
warning: 1 row left out: a `prompts` row must have `prompt` as text, once, or be a text itself
warning: 1 row left out: a text is blank
warning: 1 of 4 rows repeat an earlier prompt
warning: the run takes at least 9h
warning: phase `open` drops requests as soon as they take 0.50 s on average
warning: workload `rows` sends each of its 4 rows 40523.5 times
");
    insta::assert_snapshot!(warned(&["phase.open.warm_up=0s"]), @r"
warning: 1 row left out: a `prompts` row must have `prompt` as text, once, or be a text itself
warning: 1 row left out: a text is blank
warning: 1 of 4 rows repeat an earlier prompt
warning: phase `open` measures from its first request on, while the server is idle
warning: phase `open` drops requests as soon as they take 0.50 s on average
warning: workload `rows` sends each of its 4 rows 48.5 times
");
    insta::assert_snapshot!(warned(&["slo.e2e=10s"]), @r"
warning: 1 row left out: a `prompts` row must have `prompt` as text, once, or be a text itself
warning: 1 row left out: a text is blank
warning: 1 of 4 rows repeat an earlier prompt
warning: phase `open` measures about 360 requests: too few for p99
warning: `warm_up` (2s) is over before a request must be (10s by `slo.e2e`)
warning: phase `open` drops requests as soon as they take 0.50 s on average
warning: workload `rows` sends each of its 4 rows 48.5 times
");
    insta::assert_snapshot!(warned(&["phase.closed.load.closed.users=500", "workload.made-up.weight=0"]), @r"
warning: 1 row left out: a `prompts` row must have `prompt` as text, once, or be a text itself
warning: 1 row left out: a text is blank
warning: 1 of 4 rows repeat an earlier prompt
warning: phase `open` measures about 360 requests: too few for p99
warning: phase `open` drops requests as soon as they take 0.50 s on average
warning: phase `closed` has 500 users for 400 requests
warning: workload `made-up` has weight 0 and is never sent
warning: workload `rows` sends each of its 4 rows 200.0 times
");
    insta::assert_snapshot!(warned(&["phase.closed.requests=50", "phase.open.measure=false"]), @r"
warning: 1 row left out: a `prompts` row must have `prompt` as text, once, or be a text itself
warning: 1 row left out: a text is blank
warning: 1 of 4 rows repeat an earlier prompt
warning: phase `open` drops requests as soon as they take 0.50 s on average
warning: phase `closed` measures 50 requests: too few for p99
warning: workload `rows` sends each of its 4 rows 28.8 times
");
}

#[test]
fn c152_an_answer_without_a_stated_length_is_bounded_and_the_bound_is_shown() {
    let text = LOAD.replace("output.max_tokens = 8\n", "");
    let folder = Folder::new(&[("load.toml", &text), ("rows.jsonl", ROWS)]);
    assert!(folder.done(&["check", "load.toml"]).out.contains("1,024 tokens"));
    let resolved = folder.done(&["check", "--resolved", "load.toml"]).out;
    assert!(resolved.contains("output.max_tokens = 1024  # default"), "{resolved}");
}

#[test]
fn every_scenario_that_init_writes_is_sound_and_runs_at_once() {
    for kind in ["open-loop", "closed-loop", "dataset", "answers", "mixed", "extends", "sweep"] {
        let folder = Folder::new(&[]);
        let told = folder.done(&["init", "mine.toml", "--kind", kind]).out;
        assert!(told.contains("tonnage rehearse mine.toml"), "{told}");
        assert!(folder.read("mine.toml").contains("tonnage rehearse mine.toml"));
        folder.done(&["check", "mine.toml"]);
        folder.done(&["rehearse", "mine.toml", "--out", "out", "--quiet"]);
        assert!(folder.read("out/requests.csv").lines().count() > 40, "{kind}");
    }
    let folder = Folder::new(&[]);
    folder.done(&["init"]);
    let ended = folder.done(&["check", "scenario.toml"]);
    assert_eq!(ended.err, "");
}

#[test]
fn init_overwrites_nothing_and_leaves_nothing_half_done() {
    let folder = Folder::new(&[("scenario.toml", "mine"), ("prompts.jsonl", "mine")]);
    let ended = folder.run(&["init"]);
    assert_eq!((ended.code, folder.read("scenario.toml").as_str()), (2, "mine"));
    assert!(ended.err.contains("scenario.toml exists already"), "{}", ended.err);
    assert_eq!(folder.run(&["init", "new.toml", "--kind", "dataset"]).code, 2);
    assert!(!folder.path("new.toml").exists() && folder.read("prompts.jsonl") == "mine");
    assert_eq!(folder.run(&["init", "base.toml", "--kind", "extends"]).code, 2);
    assert!(!folder.path("base.toml").exists());
    assert_eq!(folder.run(&["init", "no/such/folder.toml"]).code, 2);
}

#[test]
fn schema_and_reference_are_printed_as_they_stand_in_the_repository() {
    let folder = Folder::new(&[]);
    let file =
        |name: &str| std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap();
    assert_eq!(folder.done(&["schema"]).out, file("scenarios/schema.json"));
    assert_eq!(folder.done(&["schema", "--markdown"]).out, file("docs/scenario.md"));
}

#[test]
fn shells_and_the_manual_know_every_command() {
    let folder = Folder::new(&[]);
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = folder.done(&["completions", shell]).out;
        assert!(script.contains("rehearse") && script.contains("resolved"), "{shell}");
    }
    assert!(folder.done(&["man"]).out.contains(".TH tonnage"));
    folder.done(&["man", "--out", "."]);
    assert!(folder.read("tonnage-check.1").contains("resolved"));
    assert_eq!(folder.run(&["man", "--out", "nowhere"]).code, 2);
}

#[test]
fn a_model_is_shown_with_what_it_takes_and_how_many_sequences_fit() {
    let folder = folder();
    let model = "[model]\nlayers = 28\nkv_heads = 4\nhead_size = 128\nkv_type = \"bf16\"\n\
                 weights = \"15.24GB\"\nmemory = \"24GiB\"\n";
    folder.write("load.toml", &format!("{LOAD}{model}"));
    let ended = folder.done(&["check", "load.toml"]);
    let shown = ended.out.lines().filter(|line| line.starts_with("model") || line.starts_with("sequences"));
    insta::assert_snapshot!(shown.collect::<Vec<_>>().join("\n"), @"
    model: a token takes 56.0 KiB of memory, the weights 14.2 GiB, so that at most 138,686 tokens fit
    sequences that fit at once: 135 of 1Ki, 67 of 2Ki, 33 of 4Ki, 16 of 8Ki, 8 of 16Ki, 4 of 32Ki, 2 of 64Ki, 1 of 128Ki
    ");
    let memory = &folder.looked_at(&[])["preview"]["memory"];
    assert_eq!(memory["kv_bytes_per_token"], 57_344.0);
    assert_eq!(memory["kv_tokens"], 138_686);
    let without = folder.done(&["check", "load.toml", "--set", "model.weights=\"24GB\""]);
    assert!(without.out.contains("the weights 22.4 GiB: they do not fit"), "{}", without.out);
}
