//! Answers against shared data: labelled cases, real outputs with labels, and the truths of the data sets.
//!
//! The data is not part of this repository; it is expected beside it, in `../shared/data`.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use std::fs;
use std::path::Path;

use serde_json::Value;
use tonnage::score::{Kind, Rule, Verdict, self_check};

fn rows(file: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data").join(file);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn text<'a>(row: &'a Value, field: &str) -> &'a str {
    row[field].as_str().unwrap_or_else(|| panic!("no text `{field}`"))
}

fn rule(kind: &str) -> Rule {
    Rule::new(Kind::named(kind).unwrap()).unwrap()
}

fn assert_none(disagreements: &[String], rows: usize) {
    assert!(disagreements.is_empty(), "{} of {rows}:\n{}", disagreements.len(), disagreements.join("\n"));
}

#[test]
fn every_case_gets_the_verdict_of_a_careful_human() {
    let rows = rows("scoring-cases.jsonl");
    assert_eq!(rows.len(), 275);
    let mut disagreements = Vec::new();
    for row in &rows {
        let check = rule(text(row, "kind")).check(text(row, "prediction"), text(row, "truth"));
        if (check.verdict == Verdict::Right) != row["expected"].as_bool().unwrap() {
            disagreements.push(format!("{} ({}): {check:?}", text(row, "id"), text(row, "why")));
        }
    }
    assert_none(&disagreements, rows.len());
}

#[test]
fn labels_of_grade_school_solutions_agree() {
    let rows = rows("model-outputs/gsm8k-openai-labelled.jsonl");
    let rule = rule("gsm8k");
    let (mut labels, mut disagreements) = (0, Vec::new());
    for row in &rows {
        let truth = text(row, "ground_truth");
        for model in ["6b_finetuning", "6b_verification", "175b_finetuning", "175b_verification"] {
            labels += 1;
            let check = rule.check(text(&row[model], "solution"), truth);
            if (check.verdict == Verdict::Right) != row[model]["is_correct"].as_bool().unwrap() {
                disagreements.push(format!("{model}: {check:?}"));
            }
        }
    }
    assert_eq!(labels, 2640);
    assert_none(&disagreements, labels);
}

#[test]
fn labels_of_competition_solutions_agree_but_for_the_one_known_to_be_wrong() {
    let rows = rows("model-outputs/math-qwen-labelled.jsonl");
    let rule = rule("math");
    let (mut labels, mut disagreements) = (0, Vec::new());
    for row in &rows {
        let responses = row["code"].as_array().unwrap();
        for (response, label) in responses.iter().zip(row["score"].as_array().unwrap()) {
            labels += 1;
            let check = rule.check(response.as_str().unwrap(), text(row, "gt"));
            if (check.verdict == Verdict::Right) != label.as_bool().unwrap() {
                disagreements.push((row["idx"].as_u64().unwrap(), check));
            }
        }
    }
    assert_eq!(labels, 400);
    let [(72, check)] = disagreements.as_slice() else { panic!("{disagreements:#?}") };
    assert_eq!((check.verdict, check.answer.as_str()), (Verdict::Right, "10000"));
}

#[test]
fn boxed_answers_of_programs_are_read() {
    let rows = rows("model-outputs/gsm8k-tora-boxed.jsonl");
    let rule = rule("gsm8k");
    let mut disagreements = Vec::new();
    for row in &rows {
        let number = |text: &str| text.replace(',', "").parse::<f64>().ok();
        let prediction = row["pred"][0].as_str().unwrap();
        let truth = text(row, "gt");
        let same = number(prediction).is_some() && number(prediction) == number(truth);
        let check = rule.check(row["code"][0].as_str().unwrap(), truth);
        if (check.verdict == Verdict::Right) != same {
            disagreements.push(format!("{prediction} for {truth}: {check:?}"));
        }
    }
    assert_eq!(rows.len(), 300);
    assert_none(&disagreements, rows.len());
}

#[test]
fn every_truth_of_the_data_sets_has_a_value_and_equals_itself() {
    for (file, kind, fields, count) in [
        ("gsm8k/test.jsonl", Kind::Gsm8k, &["answer"][..], 1319),
        ("gsm8k/train-first1000.jsonl", Kind::Gsm8k, &["answer"], 1000),
        ("gsm8k/test-socratic-first100.jsonl", Kind::Gsm8k, &["answer"], 100),
        ("math/test.jsonl", Kind::Math, &["solution"], 5000),
        ("math/math500.jsonl", Kind::Math, &["solution", "answer"], 500),
    ] {
        let rows = rows(file);
        assert_eq!(rows.len(), count, "{file}");
        let rule = Rule::new(kind.clone()).unwrap();
        let mut disagreements = Vec::new();
        for (at, row) in rows.iter().enumerate() {
            for field in fields {
                let truth = text(row, field);
                if !self_check(kind.clone(), truth).unwrap() {
                    disagreements.push(format!("{file}:{} {field}: {:?}", at + 1, rule.truth(truth)));
                }
                // A response that boxes the truth is right too.
                let boxed = format!("So it is $\\boxed{{{}}}$.", rule.truth(truth).unwrap_or_default());
                let check = rule.check(&boxed, truth);
                if check.verdict != Verdict::Right {
                    disagreements.push(format!("{file}:{} {field}, boxed: {check:?}", at + 1));
                }
            }
        }
        assert_none(&disagreements, rows.len());
    }
}

#[test]
fn the_two_forms_of_a_competition_truth_agree() {
    let rows = rows("math/math500.jsonl");
    let rule = rule("math");
    let mut disagreements = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        let check = rule.check(text(row, "solution"), text(row, "answer"));
        if check.verdict != Verdict::Right {
            disagreements.push(format!("row {at}: {check:?}"));
        }
    }
    assert_none(&disagreements, rows.len());
}
