//! Checks of whole responses: cases that users reported, forms in dispute, and laws.

use super::*;

mod cases;
mod forms;
mod hostile;
mod responses;

fn verdict(kind: &str, prediction: &str, truth: &str) -> Verdict {
    Rule::new(Kind::named(kind).unwrap()).unwrap().check(prediction, truth).verdict
}

/// Asserts verdicts, one row a check: prediction, truth, whether it is right.
#[track_caller]
fn assert_verdicts(kind: &str, rows: &[(&str, &str, bool)]) {
    let rule = Rule::new(Kind::named(kind).unwrap()).unwrap();
    let mut wrong = Vec::new();
    for (prediction, truth, right) in rows {
        let check = rule.check(prediction, truth);
        if (check.verdict == Verdict::Right) != *right {
            wrong.push(format!("{prediction:?} for {truth:?} should be {right}: {check:?}"));
        }
    }
    assert!(wrong.is_empty(), "{kind}:\n{}", wrong.join("\n"));
}
