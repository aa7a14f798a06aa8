//! The table of keys against the reader.

use super::*;

/// Every place of a table in a scenario with one workload `w` and one phase `p`.
fn places(table: &str) -> Vec<String> {
    let (first, rest) = table.split_once('.').map_or((table, String::new()), |(a, b)| (a, format!(".{b}")));
    match first {
        "" => vec![String::new()],
        "workload" => vec![format!("workload.w{rest}.")],
        // Members of a list that is not there; see `further_loads_and_sessions_are_read_as_written`.
        "phase" if rest == ".also" => Vec::new(),
        "objective" => Vec::new(),
        "distribution" if rest == ".mix" => Vec::new(),
        "phase" => vec![format!("phase.p{rest}.")],
        "distribution" => vec![format!("workload.w.output.max_tokens{rest}.")],
        "counts" => vec![format!("workload.w.session.turns{rest}.")],
        "times" => vec![format!("phase.p.load.closed.think{rest}.")],
        "slo" | "request" => vec![format!("{first}."), format!("workload.w.{first}.")],
        _ => vec![format!("{table}.")],
    }
}

/// The example of the table that stands at `place`, for the keys that one of it needs beside it.
fn outer_example(table: &keys::Table, place: &str) -> Option<String> {
    let mut keys = TABLES.iter().flat_map(|outer| outer.keys);
    let outer = keys.find(|outer| {
        outer.kind.table() == Some(table.path)
            && matches!(outer.kind, Kind::Parameters { .. } | Kind::Table(_))
    });
    let outer = outer.filter(|_| {
        !place.is_empty()
            && !place.starts_with("request")
            && !place.starts_with("target.sim")
            && place != "target."
    })?;
    Some(format!("{}={}", place.trim_end_matches('.'), outer.example))
}

/// What a key needs beside it that `MINIMAL` does not have.
fn needed(table: &str, key: &str) -> Vec<&'static str> {
    let mut needed = match (table, key) {
        ("workload", "score") => vec!["workload.w.prompt.dataset=problems.jsonl"],
        (table, _) if table.starts_with("workload.score") => vec!["workload.w.prompt.dataset=problems.jsonl"],
        ("target.sim", "faults") => vec!["target.sim.profile=8b-h100"],
        ("phase.requests", "per_user") => vec!["phase.p.load.closed=8"],
        ("phase.warm_up" | "phase.cool_down", "per_user") => {
            vec!["phase.p.load.closed=8", "phase.p.requests.per_user=8"]
        }
        ("phase.load.trace", "column") => vec!["phase.p.load.trace.unit=ms"],
        ("phase.load.trace", "unit") => vec!["phase.p.load.trace.column=timestamp"],
        _ => vec![],
    };
    if table == "phase.load.trace" && (key == "column" || key == "unit") {
        needed.push("phase.p.load.trace.format=jsonl");
    }
    match (table, key) {
        ("workload.prompt.dataset.columns", "time") => {
            needed.push("workload.w.prompt.dataset.columns.time_unit=ms");
        }
        ("workload.prompt.dataset.columns", "time_unit") => {
            needed.push("workload.w.prompt.dataset.columns.time=at");
        }
        _ => {}
    }
    if table.starts_with("workload.prompt.synthetic.shared_prefix") || key == "shared_prefix" {
        needed.push("workload.w.prompt.synthetic.tokens=8000");
    }
    if table == "workload.prompt.synthetic.ids" || key == "ids" {
        needed.extend(["workload.w.prompt.synthetic.tokens=8000", "target.api=completions"]);
    }
    if table == "workload.prompt.text" {
        needed.push("workload.w.prompt.text.path=book.txt");
        if key != "tokens" {
            needed.push("workload.w.prompt.text.words=2000");
        }
        needed.push("target.tokenizer.file=tokenizer.json");
    }
    let tokens = "workload.w.prompt.synthetic.shared_prefix.tokens=20";
    needed.extend(table.ends_with("popularity").then_some(tokens));
    if table.starts_with("workload.prompt.dataset.") {
        needed.push("workload.w.prompt.dataset.path=problems.jsonl");
    }
    if table.starts_with("times") {
        needed.push("phase.p.load.closed.users=8");
    }
    needed
}

#[test]
fn every_key_is_accepted_with_its_example_wherever_its_table_stands() {
    for table in TABLES {
        for key in table.keys {
            // See `merging`, and `further_loads_and_sessions_are_read_as_written`.
            let is_alone = (table.path, key.name) == ("phase.load.trace", "workload");
            let is_elsewhere = key.name == "extends" || key.name == "also" || is_of_a_sweep(table, key);
            if is_elsewhere || is_alone {
                continue;
            }
            for place in places(table.path) {
                let outer = outer_example(table, &place);
                let own = format!("{place}{}={}", key.name, key.example);
                let mut arguments = outer.iter().chain([&own]).map(String::as_str).collect::<Vec<_>>();
                arguments.extend(needed(table.path, key.name));
                // What is counted has no duration.
                let counted = MINIMAL.replace("duration = \"5m\"", "requests = 5");
                let text = if key.name == "per_user" { &counted } else { MINIMAL };
                let result = read_with(text, &set(&arguments));
                assert!(result.is_ok(), "{arguments:?}: {}", result.unwrap_err());
            }
        }
    }
}

/// Whether its example needs phases and workloads by name: see `sweep`.
fn is_of_a_sweep(table: &keys::Table, key: &keys::Key) -> bool {
    let is_top = table.path.is_empty() && ["sweep", "capacity"].contains(&key.name);
    table.path.starts_with("sweep") || table.path == "capacity" || is_top
}

#[test]
fn every_table_is_accepted_with_its_example() {
    let folder = folder();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    for table in TABLES {
        // A search measures one phase.
        let phase = if table.path == "capacity" { "steady" } else { "p" };
        write("base.toml", &MINIMAL.replace("\"p\"", &format!("\"{phase}\"")));
        let extends = if table.path.is_empty() { "" } else { "extends = \"base.toml\"\n" };
        write("load.toml", &format!("{extends}{}\n", table.example));
        let loaded = load(&folder.path().join("load.toml"), &Overrides::default());
        assert!(loaded.is_ok(), "{}: {}", table.path, loaded.unwrap_err().render(Style::Plain));
        let shown = table.keys.iter().any(|key| table.example.contains(key.name));
        assert!(shown, "the example of `{}` has none of its keys", table.path);
    }
}

#[test]
fn every_default_is_a_value_its_key_takes() {
    for table in TABLES {
        for key in table.keys {
            let Fallback::Value(default) = key.default else { continue };
            if is_of_a_sweep(table, key) {
                continue;
            }
            for place in places(table.path) {
                let own = format!("{place}{}={default}", key.name);
                let outer = outer_example(table, &place);
                let mut arguments = outer.iter().chain([&own]).map(String::as_str).collect::<Vec<_>>();
                arguments.extend(needed(table.path, key.name));
                let set = set(&arguments);
                let result = read_with(MINIMAL, &set);
                assert!(result.is_ok(), "{place}{}: {}", key.name, result.unwrap_err());
            }
        }
    }
}

#[test]
fn the_table_names_what_the_types_have_in_their_order() {
    let choices = |table: &str, key: &str| match keys::find(table).key(key).unwrap().kind {
        Kind::Choice(choices) => choices.to_vec(),
        kind => panic!("{kind:?}"),
    };
    assert_eq!(choices("target", "api"), Api::ALL.map(Api::name));
    assert_eq!(choices("workload.prompt.dataset", "format"), Format::ALL.map(Format::name));
    assert_eq!(
        choices("workload.prompt.dataset", "when_exhausted"),
        WhenExhausted::ALL.map(WhenExhausted::name)
    );
    let limits = keys::find("slo").keys.iter().map(|key| key.name).collect::<Vec<_>>();
    assert_eq!(limits, SloMetric::ALL.map(SloMetric::name));
}

#[test]
fn tables_that_keys_name_are_there() {
    for key in TABLES.iter().flat_map(|table| table.keys) {
        if let Some(path) = key.kind.table() {
            assert_eq!(keys::find(path).path, path, "{}", key.name);
        }
        if let Kind::Parameters { table, alone } = key.kind {
            assert!(keys::find(table).key(alone).is_some(), "{alone} in {table}");
        }
        assert!(key.doc.ends_with('.') && !key.kind.describe().is_empty(), "{}", key.name);
    }
    for (_, path) in keys::OTHER_NAMES {
        let (table, key) = path.rsplit_once('.').unwrap_or(("", path));
        assert!(keys::find(table).path == table && keys::find(table).key(key).is_some(), "{path}");
    }
    for table in TABLES {
        assert!(table.one_of.iter().all(|kind| table.key(kind).is_some()), "{}", table.path);
    }
}
