//! Answers checked in the run: against a simulated server that is wrong as often as it is told to be.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::results::Results;
use super::sandbox::Sandbox;

/// A server without latency that takes prompts of up to 4,096 tokens; `answers` says how well it answers.
fn profile(answers: &str) -> String {
    format!(
        "[fixed]\n[engine]\nstep_overhead_us = 2000\nmax_model_len = 4096\n[answers]\nmean_tokens = 20\n{answers}\n"
    )
}

/// Word problems, so many words of something else before each.
fn problems(count: u64, length: impl Fn(u64) -> u64) -> String {
    (0..count).fold(String::new(), |mut rows, row| {
        let before = "ships go by. ".repeat(length(row) as usize / 3);
        let (a, b) = (row % 97 + 2, row % 89 + 3);
        let sum = a + b;
        let question = format!("{before}Crate {row}: {a} and {b} bolts, how many?");
        let answer =
            format!("First there are {a}, then {b} more come.\\nSo it is {a} + {b} in all.\\n#### {sum}");
        writeln!(rows, r#"{{"question": "{question}", "answer": "{answer}"}}"#).unwrap();
        rows
    })
}

fn scenario(workload: &str, phase: &str) -> String {
    format!(
        "name = \"answers\"\nseed = 5\ntarget.sim.profile = \"server.toml\"\n\
         [[workload]]\nname = \"problems\"\nprompt.dataset = \"problems.jsonl\"\n{workload}\n\
         [[phase]]\nname = \"steady\"\n{phase}\n"
    )
}

fn rehearsed(answers: &str, rows: &str, scenario: &str) -> (Sandbox, Results) {
    let sandbox = Sandbox::with(scenario);
    sandbox.write("server.toml", &profile(answers));
    sandbox.write("problems.jsonl", rows);
    sandbox.tonnage(&["rehearse", "x.toml", "--out", "out", "--quiet"]).expect(0);
    let results = Results::at(sandbox.path("out"));
    (sandbox, results)
}

/// Value and interval of a figure.
fn summary(results: &Results, metric: &str, statistic: &str) -> (f64, f64, f64) {
    let row = results.summary("steady", metric, statistic);
    let number = |cell: &str| row[cell].parse().unwrap_or(f64::NAN);
    (number("value"), number("ci_low"), number("ci_high"))
}

fn findings(results: &Results) -> Vec<String> {
    let manifest = results.manifest();
    let findings = manifest["verdict"]["findings"].as_array().unwrap();
    findings.iter().map(|finding| finding["kind"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_set_share_of_errors_is_measured_within_its_interval() {
    for (share, kind) in [(0.9, "gsm8k"), (0.6, "contains")] {
        let scenario =
            scenario(&format!("score = \"{kind}\""), "requests = \"all\"\nload.poisson = \"50/s\"");
        let (_sandbox, results) =
            rehearsed(&format!("right_share = {share}"), &problems(1_000, |_| 6), &scenario);
        let (accuracy, low, high) = summary(&results, "accuracy", "value");
        assert!(low <= share && share <= high && high - low < 0.15, "{share}: {accuracy} in {low} … {high}");
        let rows = results.rows("requests.csv");
        let right = rows.iter().filter(|row| row["verdict"] == "right").count() as f64;
        assert!((right / 1_000.0 - accuracy).abs() < 1e-6);
        assert!(rows.iter().all(|row| !row["rule"].is_empty() && !row["truth"].is_empty()));
        let (goodput, ..) = summary(&results, "correct_goodput", "value");
        let (throughput, ..) = summary(&results, "request_throughput", "value");
        assert!((goodput / throughput - accuracy).abs() < 1e-3);
    }
}

#[test]
fn an_accuracy_that_falls_with_the_context_is_found() {
    let lengths = |row| [6, 600, 1_800, 3_300][row as usize % 4];
    let scenario = scenario(
        "score = \"contains\"\noutput.max_tokens = 64",
        "requests = \"all\"\nload.poisson = \"20/s\"",
    );
    let (sandbox, results) = rehearsed("right_length_loss = 0.6", &problems(600, lengths), &scenario);
    assert_eq!(findings(&results), ["accuracy_falls_with_length"]);
    let cells = results.rows("accuracy.csv");
    let of_all = cells.iter().filter(|row| row["finish_reason"] == "all");
    let by_length = of_all.map(|row| (row["length"].as_str(), row["accuracy"].parse::<f64>().unwrap()));
    let by_length: Vec<_> = by_length.collect();
    assert_eq!(
        by_length.iter().map(|(length, _)| *length).collect::<Vec<_>>(),
        ["32", "1024", "2048", "4096"]
    );
    assert!(by_length.is_sorted_by(|a, b| a.1 > b.1), "{by_length:?}");

    // The folder alone tells the same.
    let report = |json: bool| {
        let mut arguments = vec!["report", "out"];
        arguments.extend(json.then_some("--csv"));
        sandbox.tonnage(&arguments).expect(0).out
    };
    assert!(report(false).contains("do: see accuracy.csv by length"), "{}", report(false));
    assert!(report(false).contains("  answers       accuracy "), "{}", report(false));
    assert_eq!(report(true).trim_end(), results.text("summary.csv").trim_end());
    let page = std::fs::read_to_string(sandbox.path("out/report.html")).unwrap();
    assert!(page.contains("<td>accuracy</td>"));
}

/// Accuracy of each cell of hidden sentences, with its interval: by length, then depth.
fn cells(results: &Results) -> Vec<[f64; 5]> {
    let cell = |row: &BTreeMap<String, String>| {
        ["length", "depth", "accuracy", "ci_low", "ci_high"].map(|name| row[name].parse().unwrap())
    };
    let rows = results.rows("accuracy.csv");
    rows.iter().filter(|row| row["finish_reason"] == "all").map(cell).collect()
}

#[test]
fn hidden_sentences_are_found_as_often_as_the_server_finds_them_by_length_and_depth() {
    let scenario = "name = \"needles\"\nseed = 5\ntarget.sim.profile = \"server.toml\"\n\
         [[workload]]\nname = \"needles\"\nscore = \"contains\"\noutput.max_tokens = 32\n\
         prompt.needle = { depths = [0, 0.5, 1], lengths = [800, 1600, 3600], repeats = 50 }\n\
         [[phase]]\nname = \"steady\"\nrequests = \"all\"\nload.poisson = \"20/s\"\n";
    let (_sandbox, results) = rehearsed("", "", scenario);
    let all_right = cells(&results);
    let lengths_and_depths: Vec<[f64; 2]> = all_right.iter().map(|cell| [cell[0], cell[1]]).collect();
    let every = [800.0, 1_600.0, 3_600.0].map(|length| [0.0, 0.5, 1.0].map(|depth| [length, depth]));
    assert_eq!(lengths_and_depths, every.concat());
    assert!(all_right.iter().all(|cell| cell[2] == 1.0), "{all_right:?}");
    assert_eq!(findings(&results), [""; 0]);

    let (sandbox, results) = rehearsed("needle_length_loss = 0.7\nneedle_depth_loss = 0.5", "", scenario);
    for [length, depth, accuracy, low, high] in cells(&results) {
        let by_depth = 1.0 - 0.5 * 4.0 * depth * (1.0 - depth);
        let truth = (1.0 - 0.7 * length / 4_096.0) * by_depth;
        // Intervals of 95 % for nine cells at once: a little more room than one cell needs.
        let room = (high - low) / 4.0;
        assert!(
            low - room <= truth && truth <= high + room,
            "{length} at {depth}: {accuracy} in {low} … {high}, not {truth}"
        );
    }
    assert_eq!(findings(&results), ["accuracy_falls_with_length", "accuracy_falls_with_depth"]);
    let text = sandbox.tonnage(&["report", "out"]).expect(0).out;
    assert!(text.contains("do: see accuracy.csv by length"), "{text}");
}

#[test]
fn an_accuracy_that_falls_with_the_load_is_found() {
    let scenario = "name = \"load\"\nseed = 5\n\
         target.sim = { profile = \"server.toml\", faults = \"corrupt@40%@80s..\" }\n\
         [[workload]]\nname = \"problems\"\nscore = \"gsm8k\"\n\
         prompt.dataset = { path = \"problems.jsonl\", format = \"gsm8k\" }\n\
         [[phase]]\nname = \"calm\"\nduration = \"80s\"\nload.poisson = \"5/s\"\n\
         [[phase]]\nname = \"busy\"\nduration = \"8s\"\nload.poisson = \"60/s\"\n";
    let (sandbox, results) = rehearsed("", &problems(1_200, |_| 6), scenario);
    assert!(findings(&results).contains(&"accuracy_falls_with_load".to_owned()), "{:?}", findings(&results));
    let text = sandbox.tonnage(&["report", "out"]).expect(0).out;
    assert!(text.contains("where most requests were in flight"), "{text}");

    // As many wrong answers whatever the load are not found.
    let even = scenario.replace("@80s..", "");
    let (_sandbox, results) = rehearsed("", &problems(1_200, |_| 6), &even);
    assert!(!findings(&results).contains(&"accuracy_falls_with_load".to_owned()));
}

#[test]
fn c152_answers_that_were_cut_explain_what_is_not_right() {
    let scenario = scenario(
        "score.gsm8k.marked_only = true\noutput.max_tokens.uniform = { min = 10, max = 30 }",
        "requests = \"all\"\nload.poisson = \"20/s\"",
    );
    let (sandbox, results) = rehearsed("", &problems(400, |_| 6), &scenario);
    assert_eq!(findings(&results).iter().filter(|kind| *kind == "not_right_truncated").count(), 1);
    let (whole, ..) = summary(&results, "accuracy", "stop");
    let (cut, ..) = summary(&results, "accuracy", "length");
    assert_eq!((whole, cut), (1.0, 0.0));
    let text = sandbox.tonnage(&["report", "out"]).expect(0).out;
    assert!(text.contains("% truncated;"), "{text}");
}

#[test]
fn c152_a_fall_with_length_that_a_limit_on_answers_makes_is_told_as_that() {
    // To long prompts every other answer is long as well.
    let rows = (0..600).fold(String::new(), |mut rows, row| {
        let (a, b) = (row % 97 + 2, row % 89 + 3);
        let before = "ships go by. ".repeat(if row % 2 == 0 { 2 } else { 600 });
        let steps = "This takes a while. ".repeat(if row % 4 == 1 { 20 } else { 0 });
        let sum = a + b;
        let question = format!("{before}Crate {row}: {a} and {b} bolts, how many?");
        writeln!(rows, r#"{{"question": "{question}", "answer": "{steps}It is {a} + {b}.\n#### {sum}"}}"#)
            .unwrap();
        rows
    });
    let limited = |tokens: u32| {
        scenario(
            &format!("score = \"gsm8k\"\noutput.max_tokens = {tokens}"),
            "requests = \"all\"\nload.poisson = \"20/s\"",
        )
    };
    let by_length = |results: &Results, reason: &str| -> Vec<f64> {
        let rows = results.rows("accuracy.csv");
        let cells = rows.iter().filter(|row| row["finish_reason"] == reason);
        cells.map(|row| row["accuracy"].parse().unwrap()).collect()
    };

    let (sandbox, results) = rehearsed("right_share = 0.95", &rows, &limited(40));
    assert_eq!(findings(&results), ["truncated", "no_answer", "not_right_truncated"]);
    let [all, whole, cut] = ["all", "stop", "length"].map(|reason| by_length(&results, reason));
    assert!(all[0] > 0.9 && (0.4..0.6).contains(&all[1]), "{all:?}");
    assert!(whole.iter().all(|accuracy| *accuracy > 0.9), "{whole:?}");
    assert_eq!(cut, [0.0]);
    results.read_by_python();
    let text = sandbox.tonnage(&["report", "out"]).expect(0).out;
    assert!(text.contains("ran into max_tokens") && text.contains("raise output.max_tokens"), "{text}");

    // With room to answer nothing falls; and what falls with room, by answers that are wrong or break off, is told as that.
    let (_sandbox, results) = rehearsed("right_share = 0.95", &rows, &limited(200));
    assert_eq!(findings(&results), [""; 0]);
    let (_sandbox, results) = rehearsed("right_length_loss = 0.6", &rows, &limited(200));
    assert_eq!(findings(&results), ["accuracy_falls_with_length", "no_answer_rises_with_length"]);
}

#[test]
fn answers_that_change_between_equal_requests_are_found() {
    let workload = "prompt.dataset.when_exhausted = \"repeat\"\nscore = \"gsm8k\"";
    let scenario = scenario(workload, "requests = 300\nload.poisson = \"20/s\"")
        .replace("prompt.dataset = \"problems.jsonl\"\n", "prompt.dataset.path = \"problems.jsonl\"\n");
    let (_sandbox, results) = rehearsed("", &problems(30, |_| 6), &scenario);
    let (same, low, _) = summary(&results, "consistency", "value");
    assert!(same == 1.0 && low > 0.98, "an untouched server says the same: {same}");
    assert!(!findings(&results).contains(&"inconsistent".to_owned()));

    let corrupt = scenario.replace("seed = 5\n", "seed = 5\ntarget.sim.faults = \"corrupt@10%\"\n");
    let (_sandbox, results) = rehearsed("", &problems(30, |_| 6), &corrupt);
    let rows = results.rows("requests.csv");
    let count = |value: &str| rows.iter().filter(|row| row["consistent"] == value).count();
    assert_eq!(count(""), 30, "each row's first answer");
    assert!((15..110).contains(&count("false")), "{}", count("false"));
    assert!(findings(&results).contains(&"inconsistent".to_owned()));
}

#[test]
fn c107_rows_whose_truth_cannot_be_found_are_reported_and_not_scored() {
    let rows = problems(40, |_| 6) + "{\"question\": \"Why?\", \"answer\": \"Because it is so.\"}\n";
    let sandbox =
        Sandbox::with(&scenario("score = \"gsm8k\"", "requests = \"all\"\nload.poisson = \"20/s\""));
    sandbox.write("server.toml", &profile(""));
    sandbox.write("problems.jsonl", &rows);
    let checked = sandbox.tonnage(&["check", "x.toml"]).expect(0);
    let (message, help) = ("1 of 41 rows have no truth that `gsm8k` finds", "rows 40, counted from 0");
    checked.says(&[message, help]);
    sandbox.tonnage(&["rehearse", "x.toml", "--out", "out"]).expect(0).says(&[message, help]);
    let results = Results::at(sandbox.path("out"));
    assert_eq!(summary(&results, "accuracy", "value").0, 1.0);
    assert_eq!(summary(&results, "unchecked_requests", "value").0, 1.0);
    assert!(findings(&results).contains(&"unchecked".to_owned()));
    sandbox.write("problems.jsonl", "{\"question\": \"Why?\", \"answer\": \"Because it is so.\"}\n");
    let refused = sandbox.tonnage(&["rehearse", "x.toml", "--out", "none"]).expect(2);
    refused.says(&["workload `problems` has `score` and no row has a truth that `gsm8k` finds"]);
}

#[test]
fn answers_are_checked_in_a_measured_run_too() {
    let scenario = scenario("score = \"gsm8k\"", "requests = 60\nload.closed = 4");
    let sandbox = Sandbox::with(&scenario);
    sandbox.write("server.toml", &profile("right_share = 0.5"));
    sandbox.write("problems.jsonl", &problems(60, |_| 6));
    sandbox.tonnage(&["run", "x.toml", "--out", "out", "--quiet"]).expect(0);
    let results = Results::at(sandbox.path("out"));
    let right = results.rows("requests.csv").iter().filter(|row| row["verdict"] == "right").count();
    assert!((15..=45).contains(&right), "{right} of 60");
}
