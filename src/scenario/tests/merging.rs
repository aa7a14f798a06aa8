//! Scenarios that extend others: what is laid over what, what is refused, and that every value knows its source.

use super::*;

/// Files in a folder of their own, and the scenario `load.toml` among them.
struct Files(tempfile::TempDir);

impl Files {
    fn new(files: &[(&str, &str)]) -> Files {
        let folder = folder();
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        Files(folder)
    }

    fn load(&self, arguments: &[&str]) -> Result<Loaded, String> {
        let loaded = load(&self.0.path().join("load.toml"), &set(arguments));
        loaded.map_err(|problems| self.plain(&problems.render(Style::Plain)))
    }

    fn scenario(&self, arguments: &[&str]) -> Scenario {
        self.load(arguments).unwrap_or_else(|problems| panic!("{problems}")).scenario
    }

    /// A text without the name of the folder.
    fn plain(&self, text: &str) -> String {
        text.replace(&format!("{}/", self.0.path().display()), "")
    }
}

#[test]
fn what_a_file_says_comes_over_what_it_extends_and_the_command_line_over_both() {
    let files = Files::new(&[
        ("base.toml", FULL),
        (
            "load.toml",
            r#"
extends = "base.toml"
name = "changed"
target.timeouts.idle = "9s"
slo.tpot = "90ms"
request.extra.top_k = 5
[[workload]]
name = "problems"
weight = 2
[[phase]]
name = "steady"
duration = "1m"
load.poisson.rate = "2/s"
[[phase]]
name = "new"
requests = 3
load.closed = 1
"#,
        ),
    ]);
    let scenario = files.scenario(&["phase.steady.duration=2m"]);
    assert_eq!((scenario.name.as_str(), scenario.seed), ("changed", Some(7)));
    let timeouts = scenario.target.timeouts;
    assert_eq!((timeouts.idle, timeouts.connect), (Duration::from_secs(9), Duration::from_secs(1)));
    let names = scenario.phases.iter().map(|phase| phase.name.as_str()).collect::<Vec<_>>();
    assert_eq!(names, ["warm", "steady", "even", "new"]);
    assert_eq!(scenario.phases[1].duration, Some(Duration::from_secs(120)));
    let process = Process::Poisson { rate: Rate::per_second(2.0).unwrap() };
    assert_eq!(scenario.phases[1].load, Load::open(process, Some(512)));
    let [documents, problems] = &scenario.workloads[..] else { panic!() };
    assert_eq!((documents.weight, problems.weight), (3.0, 2.0));
    assert_eq!((&documents.request.extra["top_k"], &problems.request.extra["top_k"]), (&5.into(), &2.into()));
    assert!(documents.request.extra.contains_key("chat_template_kwargs"));
    assert!(documents.slo.limits.contains(&(SloMetric::Tpot, Duration::from_millis(90))));
    assert_eq!(scenario.about["hardware"], "4 × 80 GB");
}

#[test]
fn naming_another_kind_in_a_file_replaces_the_kind_of_its_base_whole() {
    let over = r#"
extends = "base.toml"
target.sim.profile = "8b-h100"
[[workload]]
name = "problems"
prompt.synthetic = 5
[[workload]]
name = "documents"
output.max_tokens = 7
[[phase]]
name = "steady"
load.closed.users = 8
"#;
    let scenario = Files::new(&[("base.toml", FULL), ("load.toml", over)]).scenario(&[]);
    assert_eq!(
        scenario.target.endpoint,
        Endpoint::Sim { profile: ProfileSource::BuiltIn("8b-h100".to_owned()), faults: FaultPlan::default() }
    );
    assert_eq!(scenario.workloads[1].prompt, PromptSource::Synthetic { words: 5, text: None });
    assert_eq!(scenario.workloads[0].max_tokens, Distribution::Fixed(7));
    assert_eq!(scenario.phases[1].load, Load::closed(8));
}

#[test]
fn a_lone_parameter_and_its_table_mean_the_same_when_laid_over_each_other() {
    let with = |base: &str, over: &str| {
        let base = MINIMAL.replace("load.poisson = \"6/s\"", base);
        let over = format!("extends = \"base.toml\"\n[[phase]]\nname = \"p\"\n{over}");
        Files::new(&[("base.toml", &base), ("load.toml", &over)]).scenario(&[]).phases[0].load.clone()
    };
    let poisson = |rate, max_in_flight| {
        let process = Process::Poisson { rate: Rate::per_second(rate).unwrap() };
        Load::open(process, max_in_flight)
    };
    let table = "load.poisson = { rate = \"6/s\", max_in_flight = 9 }";
    assert_eq!(with(table, "load.poisson = \"2/s\""), poisson(2.0, Some(9)));
    assert_eq!(with(table, "load.poisson.rate = \"2/s\""), poisson(2.0, Some(9)));
    assert_eq!(with("load.poisson = \"6/s\"", "load.poisson.max_in_flight = 4"), poisson(6.0, Some(4)));
    assert_eq!(with("load.poisson = \"6/s\"", "load.poisson = \"2/s\""), poisson(2.0, None));
    let constant = Process::Constant { rate: Rate::per_second(2.0).unwrap() };
    assert_eq!(with(table, "load.constant = \"2/s\""), Load::open(constant, None));
}

#[test]
fn arguments_merge_as_files_do() {
    let files = Files::new(&[("load.toml", FULL)]);
    let scenario = files.scenario(&[
        "phase.steady.load.poisson=2/s",
        "target.timeouts={ idle = \"9s\" }",
        "target.headers.X-Tenant=new",
        "request.extra={ seed = 1 }",
        "phase=[{ name = \"even\", requests = 5 }, { name = \"more\", requests = 6, load.closed = 1 }]",
    ]);
    let process = Process::Poisson { rate: Rate::per_second(2.0).unwrap() };
    assert_eq!(scenario.phases[1].load, Load::open(process, Some(512)));
    let timeouts = scenario.target.timeouts;
    assert_eq!((timeouts.idle, timeouts.connect), (Duration::from_secs(9), Duration::from_secs(1)));
    let headers = scenario.target.headers.iter().map(|(name, value)| (name.as_str(), value.reveal()));
    assert_eq!(headers.collect::<Vec<_>>(), [("authorization", "Bearer hunter2"), ("x-tenant", "new")]);
    let extra = &scenario.workloads[0].request.extra;
    assert_eq!((&extra["seed"], &extra["top_k"]), (&1.into(), &1.into()));
    assert_eq!(scenario.phases.len(), 4);
    assert_eq!(scenario.phases[2].requests, Some(Requests::Count(5)));
}

#[test]
fn headers_are_laid_over_each_other_whatever_their_case() {
    let over = "extends = \"base.toml\"\ntarget.headers = { X-Tenant = \"other\", X-More = \"1\" }";
    let scenario = Files::new(&[("base.toml", FULL), ("load.toml", over)]).scenario(&[]);
    let names = scenario.target.headers.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>();
    assert_eq!(names, ["authorization", "x-tenant", "x-more"]);
    let twice = "extends = \"base.toml\"\ntarget.headers = { X-Tenant = \"a\", x-tenant = \"b\" }";
    let problems = Files::new(&[("base.toml", FULL), ("load.toml", twice)]).load(&[]).unwrap_err();
    assert!(problems.contains("the header `x-tenant` is given twice"), "{problems}");
}

#[test]
fn lists_without_names_are_replaced_and_members_of_extra_whole() {
    let base = FULL.replace("extra = { top_k = 1,", "extra = { stop = [\"a\", \"b\"], top_k = 1,");
    let over =
        "extends = \"base.toml\"\nrequest.extra = { stop = [\"c\"], chat_template_kwargs = { x = 1 } }";
    let scenario = Files::new(&[("base.toml", &base), ("load.toml", over)]).scenario(&[]);
    let extra = &scenario.workloads[0].request.extra;
    assert_eq!(extra["stop"], serde_json::json!(["c"]));
    assert_eq!(extra["chat_template_kwargs"], serde_json::json!({ "x": 1 }));
    assert_eq!(extra["top_k"], 1);
}

#[test]
fn files_named_in_a_base_are_relative_to_the_base() {
    let base = MINIMAL.replace("prompt.synthetic.words = 200", "prompt.dataset = \"rows.jsonl\"");
    let files = Files::new(&[
        ("shared/base.toml", "extends = \"../shared/root.toml\"\nseed = 2"),
        ("shared/root.toml", &base),
        ("shared/rows.jsonl", "\"other\"\n"),
        ("load.toml", "extends = \"shared/base.toml\""),
    ]);
    let path = |arguments: &[&str]| match files.scenario(arguments).workloads.remove(0).prompt {
        PromptSource::Dataset(set) => set.path.canonicalize().unwrap(),
        other => panic!("{other:?}"),
    };
    let folder = files.0.path().canonicalize().unwrap();
    assert_eq!(path(&[]), folder.join("shared/rows.jsonl"));
    // An argument is relative to the scenario, as if it stood there.
    assert_eq!(path(&["workload.w.prompt.dataset=problems.jsonl"]), folder.join("problems.jsonl"));
    assert_eq!(files.scenario(&[]).seed, Some(2));
}

#[test]
fn a_scenario_that_extends_itself_is_refused_with_the_round_it_makes() {
    let files = Files::new(&[
        ("load.toml", "extends = \"a.toml\"\nname = 3"),
        ("a.toml", "extends = \"sub/b.toml\""),
        ("sub/b.toml", "extends = \"../a.toml\""),
    ]);
    insta::assert_snapshot!(files.load(&[]).unwrap_err(), @r#"
error: `name` takes text, not a whole number
 --> load.toml:2:8
  |
2 | name = 3
  |        ^
  |
  = help: write it like `name = "documents"`

error: the scenario extends itself
 --> sub/b.toml:1:11
  |
1 | extends = "../a.toml"
  |           ^^^^^^^^^^^
  |
  = help: a.toml → sub/b.toml → sub/../a.toml: remove one `extends`
"#);
    let alone = Files::new(&[("load.toml", "extends = \"./load.toml\"")]).load(&[]).unwrap_err();
    assert!(alone.contains("load.toml → ./load.toml"), "{alone}");
}

#[test]
fn a_chain_of_files_ends_somewhere() {
    let names = (0..40).map(|i| format!("f{i}.toml")).collect::<Vec<_>>();
    let texts = (1..=40).map(|i| format!("extends = \"f{i}.toml\"")).collect::<Vec<_>>();
    let mut files = names.iter().zip(&texts).map(|(n, t)| (n.as_str(), t.as_str())).collect::<Vec<_>>();
    files.push(("load.toml", "extends = \"f0.toml\""));
    let problems = Files::new(&files).load(&[]).unwrap_err();
    assert!(problems.contains("more than 16 files extend one another"), "{problems}");
}

#[test]
fn problems_name_the_file_or_argument_that_a_value_came_from() {
    let base = MINIMAL.replace("prompt.synthetic.words = 200", "prompt.dataset = \"gone.jsonl\"");
    let files = Files::new(&[
        ("base.toml", &format!("{base}warm_up = \"1m\"\nmesure = true\n")),
        ("load.toml", "extends = \"base.toml\"\n[[phase]]\nname = \"p\"\nload.closed.users = \"many\""),
    ]);
    insta::assert_snapshot!(files.load(&["phase.p.duration=30s", "seed=-1"]).unwrap_err(), @r#"
error: `seed` must be from 0 to 18446744073709551615
 --> --set:1:6
  |
1 | seed=-1
  |      ^^
  |
  = help: write it like `seed = 7`

error: the file of `dataset` does not exist
 --> base.toml:7:18
  |
7 | prompt.dataset = "gone.jsonl"
  |                  ^^^^^^^^^^^^
  |
  = help: paths are relative to the file that names them; looked for `gone.jsonl`

error: `warm_up` leaves nothing of `duration`
  --> base.toml:12:1
   |
12 | warm_up = "1m"
   | ^^^^^^^
   |
   = help: `warm_up` is the first part of `duration` (at `--set`): make it shorter, or `duration` longer

error: `mesure` is no key of `[[phase]]`
  --> base.toml:13:1
   |
13 | mesure = true
   | ^^^^^^
   |
   = help: did you mean `measure`?

error: `users` takes a whole number, not text
 --> load.toml:4:21
  |
4 | load.closed.users = "many"
  |                     ^^^^^^
  |
  = help: write it like `users = 8`
"#);
}

#[test]
fn what_is_missing_is_not_asked_for_while_a_base_cannot_be_had() {
    let over = "extends = \"gone.toml\"\nsed = 1\n[[phase]]\nname = \"p\"\nload.poisson = {}";
    insta::assert_snapshot!(Files::new(&[("load.toml", over)]).load(&[]).unwrap_err(), @r#"
error: the file of `extends` does not exist
 --> load.toml:1:11
  |
1 | extends = "gone.toml"
  |           ^^^^^^^^^^^
  |
  = help: paths are relative to the file that names them; looked for `gone.toml`

error: `sed` is no key of the top level
 --> load.toml:2:1
  |
2 | sed = 1
  | ^^^
  |
  = help: did you mean `seed`?
"#);
    let broken =
        Files::new(&[("load.toml", "extends = \"base.toml\"\nsed = 1"), ("base.toml", "name = a\n")]);
    insta::assert_snapshot!(broken.load(&[]).unwrap_err(), @r#"
error: not valid TOML: string values must be quoted, expected literal string
 --> base.toml:1:8
  |
1 | name = a
  |        ^
  |
  = help: texts stand in quotes, durations, rates and sizes too: `duration = "30s"`

error: `sed` is no key of the top level
 --> load.toml:2:1
  |
2 | sed = 1
  | ^^^
  |
  = help: did you mean `seed`?
"#);
}

#[test]
fn names_twice_in_one_file_are_not_merged_away() {
    let over = "extends = \"base.toml\"\n[[phase]]\nname = \"steady\"\n[[phase]]\nname = \"steady\"\nrequests = 1\nload.closed = 1";
    let problems = Files::new(&[("base.toml", FULL), ("load.toml", over)]).load(&[]).unwrap_err();
    assert!(problems.contains("the name `steady` is used twice"), "{problems}");
    let both =
        "extends = \"base.toml\"\n[[phase]]\nname = \"steady\"\nload = { closed = 1, poisson = \"1/s\" }";
    let problems = Files::new(&[("base.toml", FULL), ("load.toml", both)]).load(&[]).unwrap_err();
    assert!(problems.contains("has both `closed` and `poisson`"), "{problems}");
}

#[test]
fn every_resolved_value_says_where_it_came_from() {
    let files = Files::new(&[
        ("base.toml", MINIMAL),
        (
            "load.toml",
            "extends = \"base.toml\"\nslo = { ttft = \"2s\" }\nrequest.max_tokens = 50\n[[phase]]\nname = \"p\"\nwarm_up = \"3s\"",
        ),
    ]);
    let loaded = files.load(&["phase.p.load.poisson.max_in_flight=5"]).unwrap();
    insta::assert_snapshot!(files.plain(&explained(&loaded)), @r#"
    name = "load"  # base.toml:2

    [target]
    url = "http://127.0.0.1:8000"  # base.toml:4
    api = "chat"  # default
    length_member = "max_tokens"  # default
    timeouts.connect = "5s"  # default
    timeouts.first_token = "2m"  # default
    timeouts.idle = "1m"  # default
    reset_cache = false  # default
    ready_within = "30s"  # default
    connections = "reuse"  # default
    tls.insecure = false  # default
    http = "auto"  # default
    stamps = "kernel"  # default

    [[workload]]
    name = "w"  # base.toml:6
    weight = 1  # default
    prompt.synthetic.words = 200  # base.toml:7
    cache = "cold"  # default
    output.max_tokens = 50  # load.toml:3
    output.exact = false  # default
    slo.ttft = "2s"  # load.toml:2
    request.stream = true  # default
    request.temperature = 0  # default

    [[phase]]
    name = "p"  # load.toml:5
    duration = "5m"  # base.toml:10
    warm_up = "3s"  # load.toml:6
    cool_down = "0s"  # default
    measure = true  # default
    load.poisson.rate = "6/s"  # base.toml:11
    load.poisson.max_in_flight = 5  # --set
    load.poisson.when_full = "drop"  # default

    [stop]
    error_share = 0.5  # default
    over_saturated = false  # default

    [verdict]
    delay = "1ms"  # default
    delay_share = 0.05  # default
    delay_invalid = "10ms"  # default
    delay_invalid_share = 0.1  # default
    shared_reads = 0.2  # default
    sender_cpu = 0.8  # default
    clock_step = "10ms"  # default
    backlog = "16MiB"  # default
    memory = 0.5  # default
    client_errors = 0.001  # default
    rate_not_reached = 0.02  # default
    few_answers = 36  # default
    growing = 0.5  # default
    short_window = 5  # default
    unfinished = 0.01  # default
    unfinished_insufficient = 0.1  # default
    failed = 0.01  # default
    failed_insufficient = 0.1  # default
    prompt_length = 0.05  # default
    output_length = 0.05  # default
    truncated = 0.1  # default
    repeated_rows = 0.01  # default
    strange_hits = 0.05  # default
    cache_unused = 0.05  # default
    bursts = 0.5  # default
    no_answer = 0.05  # default
    not_right_truncated = 0.5  # default
    accuracy_falls = 0.02  # default

    [results]
    chunks = false  # default
    responses = false  # default
    "#);
    let text = explained(&loaded);
    let again = parse("resolved.toml", text.as_bytes(), Path::new("/"), &Overrides::default()).unwrap();
    assert_eq!(again.scenario, loaded.scenario);
    assert_eq!(loaded.origins.location("phase.p.warm_up").unwrap().line, Some(6));
}

#[test]
fn secrets_of_a_base_are_not_shown() {
    let base =
        MINIMAL.replace("[target]", "[target]\nheaders = { a = \"hunter2\\u0001\" }\napi_key = \"hunter2\"");
    let files = Files::new(&[("base.toml", &base), ("load.toml", "extends = \"base.toml\"")]);
    let problems = files.load(&[]).unwrap_err();
    assert!(problems.contains("base.toml") && !problems.contains("hunter2"), "{problems}");
}

proptest::proptest! {
    #[test]
    fn a_scenario_laid_over_nothing_or_over_itself_is_itself(full: bool, twice: bool) {
        let text = if full { FULL } else { MINIMAL };
        let base = if twice { text } else { "" };
        let files = Files::new(&[("base.toml", base), ("load.toml", &format!("extends = \"base.toml\"\n{text}"))]);
        let alone = Files::new(&[("load.toml", text)]);
        let names = |scenario: &Scenario| files.plain(&alone.plain(&resolved(scenario)));
        proptest::prop_assert_eq!(names(&files.scenario(&[])), names(&alone.scenario(&[])));
    }

    #[test]
    fn any_two_texts_are_laid_over_each_other_or_refused(
        pieces in proptest::collection::vec((0..11_usize, proptest::bool::ANY), 0..20)
    ) {
        // Whole lines in any order: much of it is nonsense, some of it a scenario.
        const LINES: [&str; 11] = [
            "[target]", "[[phase]]", "[[workload]]", "name = \"p\"", "name = \"q\"", "load.closed = 1",
            "load.poisson.rate = \"1/s\"", "url = \"http://h\"", "phase = 1", "duration = \"1s\"",
            "prompt = { synthetic = 5, dataset = \"rows.jsonl\" }",
        ];
        let text = |of: bool| {
            let lines = pieces.iter().filter(|(_, base)| *base == of).map(|(line, _)| LINES[*line]);
            lines.collect::<Vec<_>>().join("\n")
        };
        let over = format!("extends = \"base.toml\"\n{}", text(false));
        let files = Files::new(&[("base.toml", &text(true)), ("load.toml", &over)]);
        if let Err(problems) = files.load(&[]) {
            proptest::prop_assert!(!problems.is_empty());
        }
    }
}
