//! Scenarios read from text: what is taken, what is refused, and that nothing panics.

mod judged;
mod key_table;
mod lengths;
mod merging;
mod schedule;
mod score;
mod sweep;

use std::path::PathBuf;

use super::keys::{Fallback, Kind, TABLES};
use super::*;
use crate::arrival::Process;
use crate::dataset::{Format, WhenExhausted};
use crate::diagnostic::Style;
use crate::stats::{ElementType, KvLayout, SloMetric};
use crate::units::Rate;

const MINIMAL: &str = r#"
name = "load"
[target]
url = "http://127.0.0.1:8000"
[[workload]]
name = "w"
prompt.synthetic.words = 200
[[phase]]
name = "p"
duration = "5m"
load.poisson = "6/s"
"#;

/// Every key at a value of its own, two workloads and all loads.
const FULL: &str = r#"
name = "documents"
seed = 7

[about]
hardware = "4 × 80 GB"
tensor_parallel = 4
"driver of" = 2025-01-02
share = 0.5

[target]
url = "https://example.org:8443/api/openai/"
api = "chat"
model = "qwen2.5-72b"
headers = { authorization = "Bearer hunter2", "x-tenant" = "hunter2" }
timeouts = { connect = "1s", first_token = "2m", idle = "3s", total = "1h0.5s" }

[request]
temperature = 0.7
max_tokens = "2Ki"
extra = { top_k = 1, chat_template_kwargs = { "enable thinking" = false, list = [1.5, "a\u007f\n", -3] } }

[[workload]]
name = "documents"
weight = 3
prompt.synthetic = 200
output.max_tokens.uniform = { min = 64, max = 512 }
slo.ttft = "5s"

[[workload]]
name = "problems"
weight = 0.5
prompt.dataset = { path = "rows.jsonl", format = "gsm8k", shuffle = true, when_exhausted = "repeat" }
request.temperature = 1
request.extra.top_k = 2

[[phase]]
name = "warm"
requests = 100
measure = false
load.closed.users = 4

[[phase]]
name = "steady"
warm_up = "30s"
duration = "5m"
drain = "0s"
load.poisson = { rate = "90/min", max_in_flight = 512 }

[[phase]]
name = "even"
requests = 9
load.constant = "0.1/s"

[slo]
ttft = "2s"
tpot = "80ms"
"#;

/// A model with 16 query heads and 2 of keys and values.
const CONFIG: &str = r#"{"num_hidden_layers": 8, "num_attention_heads": 16, "num_key_value_heads": 2,
    "hidden_size": 1024, "torch_dtype": "bfloat16"}"#;

/// A folder with the data set that scenarios here name.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let data = ["rows.jsonl", "problems.jsonl", "questions.csv", "test.jsonl", "train.jsonl"];
    let data = data.into_iter().chain(["quiz.jsonl", "totals.jsonl"]);
    for name in data.chain(["client.pem", "client.key", "ca.pem", "tokenizer.json", "system.txt", "book.txt"])
    {
        std::fs::write(folder.path().join(name), "\"a prompt\"\n").unwrap();
    }
    let times = "{\"timestamp\": 0}\n{\"timestamp\": 40}\n{\"timestamp\": 90}\n";
    std::fs::write(folder.path().join("trace.jsonl"), times).unwrap();
    std::fs::write(folder.path().join("config.json"), CONFIG).unwrap();
    folder
}

fn set(arguments: &[&str]) -> Overrides {
    Overrides { set: arguments.iter().map(|argument| (*argument).to_owned()).collect(), target: None }
}

fn read_with(text: &str, overrides: &Overrides) -> Result<Scenario, String> {
    let folder = folder();
    let loaded = parse("load.toml", text.as_bytes(), folder.path(), overrides);
    loaded.map(|loaded| loaded.scenario).map_err(|problems| {
        assert!(problems.has_errors());
        problems.render(Style::Plain)
    })
}

fn read(text: &str) -> Result<Scenario, String> {
    read_with(text, &Overrides::default())
}

#[test]
fn a_minimal_scenario_has_the_defaults_of_the_table() {
    let scenario = read(MINIMAL).unwrap();
    let timeouts = Timeouts {
        connect: Duration::from_secs(5),
        first_token: Duration::from_secs(120),
        idle: Duration::from_secs(60),
        total: None,
    };
    assert_eq!(scenario.target.timeouts, timeouts);
    assert_eq!((scenario.seed, scenario.target.api, scenario.target.model), (None, Api::Chat, None));
    let workload = &scenario.workloads[0];
    assert_eq!((workload.weight, &workload.max_tokens), (1.0, &Distribution::Fixed(1024)));
    assert_eq!(workload.request, RequestOptions { stream: true, temperature: 0.0, extra: Map::new() });
    let phase = &scenario.phases[0];
    assert_eq!((phase.warm_up, phase.measure, phase.drain, phase.requests), (Margin::NONE, true, None, None));
    let process = Process::Poisson { rate: Rate::per_second(6.0).unwrap() };
    assert_eq!(phase.load, Load::open(process, None));
}

#[test]
fn a_full_scenario_is_read_as_written() {
    let scenario = read(FULL).unwrap();
    assert_eq!(scenario.seed, Some(7));
    let Endpoint::Url(url) = &scenario.target.endpoint else { panic!("{:?}", scenario.target.endpoint) };
    assert_eq!(url.join("/v1/chat/completions"), "/api/openai/v1/chat/completions");
    let headers = scenario.target.headers.iter().map(|(name, value)| (name.as_str(), value.reveal()));
    assert_eq!(headers.collect::<Vec<_>>(), [("authorization", "Bearer hunter2"), ("x-tenant", "hunter2")]);
    let [documents, problems] = &scenario.workloads[..] else { panic!() };
    assert_eq!(documents.max_tokens, Distribution::Uniform { min: 64, max: 512 });
    assert_eq!(problems.max_tokens, Distribution::Fixed(2048));
    let seconds = Duration::from_secs;
    let limits = |ttft| vec![(SloMetric::Ttft, seconds(ttft)), (SloMetric::Tpot, Duration::from_millis(80))];
    assert_eq!((&documents.slo.limits, &problems.slo.limits), (&limits(5), &limits(2)));
    assert_eq!((documents.request.temperature, problems.request.temperature), (0.7, 1.0));
    assert_eq!(problems.request.extra["top_k"], 2);
    assert_eq!(
        documents.request.extra["chat_template_kwargs"]["list"],
        serde_json::json!([1.5, "a\u{7f}\n", -3])
    );
    let PromptSource::Dataset(set) = &problems.prompt else { panic!() };
    assert_eq!(
        (set.format, set.shuffle, set.when_exhausted),
        (Some(Format::Gsm8k), true, WhenExhausted::Repeat)
    );
    assert!(set.path.is_absolute());
    assert_eq!(scenario.phases[1].drain, Some(Duration::ZERO));
    let process = Process::Poisson { rate: Rate::per_second(1.5).unwrap() };
    assert_eq!(scenario.phases[1].load, Load::open(process, Some(512)));
}

#[test]
fn a_phase_may_end_with_its_data_alone_only_if_the_data_ends() {
    let with = |set: &str, bound: &str| {
        let text = MINIMAL.replace("prompt.synthetic.words = 200", &format!("prompt.dataset = {set}"));
        read(&text.replace("duration = \"5m\"", bound))
    };
    assert!(with("\"rows.jsonl\"", "").is_ok());
    assert!(with("{ path = \"rows.jsonl\", when_exhausted = \"repeat\" }", "").is_err());
    assert!(with("{ path = \"rows.jsonl\", when_exhausted = \"error\" }", "").is_err());
    let all = with("{ path = \"rows.jsonl\", when_exhausted = \"repeat\" }", "requests = \"all\"").unwrap();
    assert_eq!(all.phases[0].requests, Some(Requests::All));
}

#[test]
fn a_scenario_without_a_measured_phase_is_read_with_a_warning() {
    let text = format!("{MINIMAL}measure = false\n");
    let loaded = parse("load.toml", text.as_bytes(), Path::new("/"), &Overrides::default()).unwrap();
    assert!(!loaded.warnings.has_errors());
    insta::assert_snapshot!(loaded.warnings.render(Style::Plain), @r"
warning: no phase is measured, so the run has no results
  --> load.toml:12:1
   |
12 | measure = false
   | ^^^^^^^
   |
   = help: leave `measure = false` to phases that prepare the server
");
}

#[test]
fn set_reaches_members_of_lists_by_name_and_takes_values_or_text() {
    let scenario = read_with(
        FULL,
        &set(&[
            "phase.steady.duration=10m",
            "phase.steady.load.poisson.rate=\"3/s\"",
            "workload.documents.output.max_tokens=5",
            "workload.problems.prompt.dataset.shuffle=false",
            "seed = 9",
            "target.model=a b",
            "request.extra.\"top p\"=0.5",
            "name=other",
        ]),
    );
    let scenario = scenario.unwrap();
    let process = Process::Poisson { rate: Rate::per_second(3.0).unwrap() };
    assert_eq!(scenario.phases[1].load, Load::open(process, Some(512)));
    assert_eq!(scenario.phases[1].duration, Some(Duration::from_secs(600)));
    assert_eq!(scenario.workloads[0].max_tokens, Distribution::Fixed(5));
    assert_eq!((scenario.seed, scenario.name.as_str()), (Some(9), "other"));
    assert_eq!(scenario.target.model.as_deref(), Some("a b"));
    assert_eq!(scenario.workloads[1].request.extra["top p"], 0.5);
}

#[test]
fn naming_another_kind_replaces_the_kind_whole() {
    let scenario = read_with(
        FULL,
        &set(&[
            "phase.steady.load.closed.users=8",
            "workload.problems.prompt.synthetic=5",
            "target.sim.profile=8b-h100",
        ]),
    );
    let scenario = scenario.unwrap();
    assert_eq!(scenario.phases[1].load, Load::closed(8));
    assert_eq!(scenario.workloads[1].prompt, PromptSource::Synthetic { words: 5, text: None });
    assert_eq!(
        scenario.target.endpoint,
        Endpoint::Sim { profile: ProfileSource::BuiltIn("8b-h100".to_owned()), faults: FaultPlan::default() }
    );
}

#[test]
fn a_lone_parameter_keeps_its_meaning_when_another_is_set_beside_it() {
    let scenario = read_with(MINIMAL, &set(&["phase.p.load.poisson.max_in_flight=5"])).unwrap();
    let process = Process::Poisson { rate: Rate::per_second(6.0).unwrap() };
    assert_eq!(scenario.phases[0].load, Load::open(process, Some(5)));
    let scenario = read_with(
        MINIMAL,
        &set(&["workload.w.output.max_tokens=7", "workload.w.output.max_tokens.uniform={min=1,max=2}"]),
    );
    assert_eq!(scenario.unwrap().workloads[0].max_tokens, Distribution::Uniform { min: 1, max: 2 });
}

#[test]
fn target_replaces_an_address_and_a_simulated_server() {
    let overrides = Overrides { set: Vec::new(), target: Some("http://h:9/v1".to_owned()) };
    let sim = MINIMAL.replace("url = \"http://127.0.0.1:8000\"", "sim.profile = \"8b-h100\"\nmodel = \"m\"");
    for text in [MINIMAL, &sim] {
        let Endpoint::Url(url) = read_with(text, &overrides).unwrap().target.endpoint else { panic!() };
        assert_eq!(url.to_string(), "http://h:9/v1");
    }
    assert_eq!(read_with(&sim, &overrides).unwrap().target.model.as_deref(), Some("m"));
}

#[test]
fn what_the_command_line_says_wrong_is_shown_as_said_there() {
    let cases = [
        "phase.stedy.duration=1m",
        "phase.steady.load.closed.users=many",
        "phase.steady.duratoin=1m",
        "phase.steady=1",
        "phase=1",
        "workload.x.y.z=1",
        "no equals",
        "a..b=1",
        "target.url=ftp://h",
    ];
    let shown = cases.map(|case| read_with(FULL, &set(&[case])).expect_err(case)).join("\n");
    insta::assert_snapshot!(shown, @r"
error: no phase is named `stedy`
 --> --set:1:7
  |
1 | phase.stedy.duration=1m
  |       ^^^^^
  |
  = help: did you mean `steady`?

error: `users` takes a whole number, not text
 --> --set:1:32
  |
1 | phase.steady.load.closed.users=many
  |                                ^^^^
  |
  = help: write it like `users = 8`

error: `duratoin` is no key of `[[phase]]`
 --> --set:1:14
  |
1 | phase.steady.duratoin=1m
  |              ^^^^^^^^
  |
  = help: did you mean `duration`?

error: `phase.steady` is a table
 --> --set:1:7
  |
1 | phase.steady=1
  |       ^^^^^^
  |
  = help: name a key of it

error: `phase` is a list of tables
 --> --set:1:1
  |
1 | phase=1
  | ^^^^^
  |
  = help: name one and a key of it: `--set phase.NAME.key=value`

error: no workload is named `x`
 --> --set:1:10
  |
1 | workload.x.y.z=1
  |          ^
  |
  = help: there is `documents` and `problems`

error: `--set` has no `=`
--> --set
 = help: write `--set key.path=value`, such as `--set phase.steady.load.closed.users=8`

error: the key path of `--set` cannot be read
--> --set
 = help: write `--set key.path=value`, such as `--set phase.steady.load.closed.users=8`

error: the URL's scheme is neither `http` nor `https`
 --> --set:1:12
  |
1 | target.url=ftp://h
  |            ^^^^^^^
  |
  = help: write it like `http://127.0.0.1:8000` or `https://example.org/api/openai`
");
}

#[test]
fn secrets_on_the_command_line_are_not_shown() {
    let cases = [
        "target.headers.authorization=Bearer hunter2\u{1}",
        "target.headers.authorization=[\"hunter2\"]",
        "target.headers={ \"hunter2:\" = \"hunter2\" }",
        "target.headers.\"a: hunter2\"=1",
        "target.headers.a: hunter2=1",
        "target.api_key_env=sk-hunter2",
        "target.api_key=hunter2",
        "target.url=http://me:hunter2@h",
        "token hunter2",
    ];
    for case in cases {
        let shown = read_with(MINIMAL, &set(&[case])).expect_err(case);
        assert!(!shown.contains("hunter2"), "{case}: {shown}");
    }
    let overrides = Overrides { set: Vec::new(), target: Some("http://h?key=hunter2".to_owned()) };
    assert!(!read_with(MINIMAL, &overrides).unwrap_err().contains("hunter2"));
}

#[test]
fn a_resolved_scenario_has_every_default_and_no_secret() {
    let scenario = read(FULL).unwrap();
    let PromptSource::Dataset(set) = &scenario.workloads[1].prompt else { panic!() };
    let folder = set.path.parent().unwrap().to_str().unwrap().to_owned();
    insta::assert_snapshot!(resolved(&scenario).replace(&folder, "/folder"), @r#"
    name = "documents"
    seed = 7

    [about]
    "driver of" = "2025-01-02"
    hardware = "4 × 80 GB"
    share = "0.5"
    tensor_parallel = "4"

    [target]
    url = "https://example.org:8443/api/openai"
    api = "chat"
    model = "qwen2.5-72b"
    length_member = "max_tokens"
    # headers.authorization = … (values of headers are not stored)
    # headers.x-tenant = … (values of headers are not stored)
    timeouts.connect = "1s"
    timeouts.first_token = "2m"
    timeouts.idle = "3s"
    timeouts.total = "1h500ms"
    reset_cache = false
    ready_within = "30s"
    connections = "reuse"
    tls.insecure = false
    http = "auto"
    stamps = "kernel"

    [[workload]]
    name = "documents"
    weight = 3
    prompt.synthetic.words = 200
    cache = "cold"
    output.max_tokens.uniform.min = 64
    output.max_tokens.uniform.max = 512
    output.exact = false
    slo.ttft = "5s"
    slo.tpot = "80ms"
    request.stream = true
    request.temperature = 0.7
    request.extra.chat_template_kwargs = { "enable thinking" = false, list = [1.5, "a\u007f\n", -3] }
    request.extra.top_k = 1

    [[workload]]
    name = "problems"
    weight = 0.5
    prompt.dataset.path = "/folder/rows.jsonl"
    prompt.dataset.format = "gsm8k"
    prompt.dataset.shuffle = true
    prompt.dataset.when_exhausted = "repeat"
    cache = "natural"
    output.max_tokens = 2048
    output.exact = false
    slo.ttft = "2s"
    slo.tpot = "80ms"
    request.stream = true
    request.temperature = 1
    request.extra.chat_template_kwargs = { "enable thinking" = false, list = [1.5, "a\u007f\n", -3] }
    request.extra.top_k = 2

    [[phase]]
    name = "warm"
    requests = 100
    warm_up = "0s"
    cool_down = "0s"
    measure = false
    load.closed.users = 4
    load.closed.think = "0s"
    load.closed.ramp_up = "0s"

    [[phase]]
    name = "steady"
    duration = "5m"
    warm_up = "30s"
    cool_down = "0s"
    measure = true
    drain = "0s"
    load.poisson.rate = "90/min"
    load.poisson.max_in_flight = 512
    load.poisson.when_full = "drop"

    [[phase]]
    name = "even"
    requests = 9
    warm_up = "0s"
    cool_down = "0s"
    measure = true
    load.constant.rate = "6/min"
    load.constant.when_full = "drop"

    [stop]
    error_share = 0.5
    over_saturated = false

    [verdict]
    delay = "1ms"
    delay_share = 0.05
    delay_invalid = "10ms"
    delay_invalid_share = 0.1
    shared_reads = 0.2
    sender_cpu = 0.8
    clock_step = "10ms"
    backlog = "16MiB"
    memory = 0.5
    client_errors = 0.001
    rate_not_reached = 0.02
    few_answers = 36
    growing = 0.5
    short_window = 5
    unfinished = 0.01
    unfinished_insufficient = 0.1
    failed = 0.01
    failed_insufficient = 0.1
    prompt_length = 0.05
    output_length = 0.05
    truncated = 0.1
    repeated_rows = 0.01
    strange_hits = 0.05
    cache_unused = 0.05
    bursts = 0.5
    no_answer = 0.05
    not_right_truncated = 0.5
    accuracy_falls = 0.02

    [results]
    chunks = false
    responses = false
    "#);
}

/// The scenario read again from its resolved form in a folder of its own, headers given anew.
fn again(scenario: &Scenario) -> Scenario {
    let text = resolved(scenario);
    let headers = scenario.target.headers.iter();
    let headers = headers.map(|(name, value)| {
        format!("target.headers.{}={}", serde_json::json!(name), serde_json::json!(value.reveal()))
    });
    let overrides = Overrides { set: headers.collect(), target: None };
    match parse("resolved.toml", text.as_bytes(), Path::new("/elsewhere"), &overrides) {
        Ok(loaded) => loaded.scenario,
        Err(problems) => panic!("{}\n{text}", problems.render(Style::Plain)),
    }
}

#[test]
fn a_resolved_scenario_reads_the_same() {
    let folder = folder();
    for text in [MINIMAL, FULL] {
        let loaded = parse("load.toml", text.as_bytes(), folder.path(), &Overrides::default()).unwrap();
        let scenario = loaded.scenario;
        assert!(!resolved(&scenario).contains("hunter2") && !format!("{scenario:?}").contains("hunter2"));
        assert_eq!(again(&scenario), scenario);
    }
}

proptest::proptest! {
    #[test]
    fn any_resolved_scenario_reads_the_same(
        seed: u64, weight in 0.1..1e6_f64, temperature in 0.0..3.0_f64, words in 1..10_000_000_u64,
        tokens in 1..u32::MAX, more in 0..1000_u32, rate in 1e-6..1e6_f64, duration_ns in 2..31_536_000_000_000_000_u64,
        most: Option<u32>, requests: Option<u64>, stream: bool, text in ".{1,20}", key in ".{0,8}", number: f64,
    ) {
        let mut scenario = read(FULL).unwrap();
        scenario.workloads.pop();
        scenario.seed = Some(seed);
        scenario.target.model = Some(text.clone()).filter(|text| !text.trim().is_empty() && !text.contains(char::is_control));
        let workload = &mut scenario.workloads[0];
        (workload.weight, workload.prompt) = (weight, PromptSource::Synthetic { words, text: None });
        workload.max_tokens = Distribution::uniform(tokens.into(), tokens.saturating_add(more).into()).unwrap();
        (workload.request.stream, workload.request.temperature) = (stream, temperature);
        if !stream {
            workload.slo.limits.clear();
        }
        let mut list = vec![Value::from(text), Value::from(seed)];
        list.extend(serde_json::Number::from_f64(number).map(Value::from));
        workload.request.extra.insert(format!("x{key}"), serde_json::json!({ key: list }));
        let phase = &mut scenario.phases[1];
        phase.duration = Some(Duration::from_nanos(duration_ns));
        phase.warm_up = Margin::Time(Duration::from_nanos(duration_ns / 2));
        phase.requests = requests.filter(|count| *count > 0).map(Requests::Count);
        let process = Process::Constant { rate: Rate::per_second(rate).unwrap() };
        phase.load = Load::open(process, most.filter(|most| *most > 0));
        proptest::prop_assert_eq!(again(&scenario), scenario);
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
        if let Err(problems) = parse("f", &bytes, Path::new("/"), &Overrides::default()) {
            proptest::prop_assert!(problems.has_errors() && !problems.render(Style::Plain).is_empty());
        }
    }

    #[test]
    fn any_damage_to_a_scenario_is_read_or_refused_and_shows_no_secret(
        cuts in proptest::collection::vec((0..FULL.len(), 0..3_usize, "[\"'=.,{}\\[\\]\n#\\\\ é0a-]{0,3}"), 1..5)
    ) {
        let mut text = FULL.to_owned();
        for (at, length, put) in cuts {
            let at = text.floor_char_boundary(at);
            let end = text.ceil_char_boundary(at + length);
            let around = text.get(at.saturating_sub(1)..(at + length + 1).min(text.len()));
            // A damaged key name is a name of its own, and a damaged secret is none.
            if around.is_some_and(|around| !around.contains(|c: char| c.is_ascii_alphanumeric() || c == '-')) {
                text.replace_range(at..end, &put);
            }
        }
        if let Err(problems) = parse("f", text.as_bytes(), Path::new("/"), &Overrides::default()) {
            let shown = problems.render(Style::Plain);
            proptest::prop_assert!(!shown.contains("hunter2"), "{}\n{}", text, shown);
        }
    }

    #[test]
    fn any_command_line_is_taken_or_refused(argument: String, path in "(phase|workload|target|p|w|load|a|\\.|\"|'){0,6}") {
        let _ = read_with(MINIMAL, &set(&[&argument, &format!("{path}={argument}")]));
    }
}

#[test]
fn depth_and_size_are_refused_and_not_followed() {
    let deep = [
        format!("{}a = 1", "a.".repeat(100_000)),
        format!("[{}a]", "a . ".repeat(100_000)),
        format!("a = {}", "[".repeat(100_000)),
        format!("a = {}", "{a=".repeat(100_000)),
        format!("a = {{ {}a = 1 }}", "\"b\".".repeat(100_000)),
        format!("{}a = 1", "..".repeat(100_000)),
        " ".repeat(2 << 20),
    ];
    for text in deep {
        assert!(read(&text).is_err());
    }
    assert!(read_with(MINIMAL, &set(&[&format!("{}a=1", "a.".repeat(100_000))])).is_err());
}

#[test]
fn of_very_many_problems_the_first_hundred_are_shown() {
    let keys = (0..50_000).map(|i| format!("a{i} = 1\n")).collect::<String>();
    assert!(read(&keys).unwrap_err().ends_with("and 49904 more problems\n"));
    let broken = read(&"a b\n".repeat(50_000)).unwrap_err();
    assert_eq!(broken.matches("error: ").count(), 100);
}

#[test]
fn a_missing_or_unreadable_file_is_an_error_that_names_it() {
    let problems = load(&PathBuf::from("/nonexistent/load.toml"), &Overrides::default()).unwrap_err();
    assert!(problems.render(Style::Plain).contains("/nonexistent/load.toml"));
    let folder = folder();
    assert!(load(folder.path(), &Overrides::default()).is_err());
    let file = folder.path().join("load.toml");
    std::fs::write(&file, [b"\xef\xbb\xbf", FULL.as_bytes()].concat()).unwrap();
    assert_eq!(load(&file, &Overrides::default()).unwrap().scenario.name, "documents");
    std::fs::write(&file, b"name = \"a\"\n\xff").unwrap();
    assert!(load(&file, &Overrides::default()).unwrap_err().render(Style::Plain).contains("load.toml:2"));
}

#[test]
fn a_model_is_read_from_its_file_and_from_keys_that_come_over_it() {
    let model = |text: &str| read(&format!("{MINIMAL}[model]\n{text}")).unwrap().model.unwrap();
    let of_file = model("path = \"config.json\"");
    let expected = ModelMemory {
        layers: 8,
        layout: KvLayout::Heads { kv_heads: 2, head_size: 64 },
        kv_type: ElementType::Bf16,
        weights: None,
        memory: None,
        utilisation: 0.9,
        tensor_parallel: 1,
    };
    assert_eq!(of_file, expected);
    let over = model(
        "path = \"config.json\"\nkv_heads = 4\nkv_type = \"fp8\"\nweights = \"1.5GB\"\nmemory = \"24GiB\"",
    );
    let expected = ModelMemory {
        layout: KvLayout::Heads { kv_heads: 4, head_size: 64 },
        kv_type: ElementType::Fp8,
        weights: Some(1_500_000_000),
        memory: Some(24 << 30),
        ..expected
    };
    assert_eq!(over, expected);
    let latent = model("path = \"config.json\"\nkv_latent = 576\ntensor_parallel = 2");
    assert_eq!((latent.layout, latent.copies()), (KvLayout::Latent { size: 576 }, 2.0));
}

#[test]
fn a_resolved_model_stands_without_its_file_and_says_what_was_from_it() {
    let folder = folder();
    let text = format!("{MINIMAL}[model]\npath = \"config.json\"\nweights = \"15GB\"\nmemory = \"24GiB\"\n");
    let loaded = parse("load.toml", text.as_bytes(), folder.path(), &Overrides::default()).unwrap();
    let explained = explained(&loaded);
    insta::assert_snapshot!(explained.split_once("[model]").unwrap().1, @r#"
layers = 8  # file of `path`
kv_heads = 2  # file of `path`
head_size = 64  # file of `path`
kv_type = "bf16"  # file of `path`
weights = "15GB"  # load.toml:14
memory = "24GiB"  # load.toml:15
utilisation = 0.9  # default
tensor_parallel = 1  # default
"#);
    assert_eq!(read(&resolved(&loaded.scenario)).unwrap().model, loaded.scenario.model);
}
