//! `score` and `consistency` of workloads.

use std::path::Path;

use super::{MINIMAL, read_with, set};
use crate::scenario::{Overrides, parse, resolved};
use crate::score::{self, Rule};

#[test]
fn a_kind_of_score_is_named_alone_or_with_what_it_is_set_to() {
    let scored = |score: &str| {
        let with = ["workload.w.prompt.dataset=problems.jsonl", score];
        read_with(MINIMAL, &set(&with)).map(|scenario| scenario.workloads[0].score.clone())
    };
    let rule = |kind| Rule::new(kind).unwrap();
    let cases = [
        ("workload.w.score=gsm8k", rule(score::Kind::Gsm8k)),
        ("workload.w.score=exact", rule(score::Kind::Exact)),
        ("workload.w.score.contains={}", rule(score::Kind::Contains)),
        ("workload.w.score.choice.last=E", rule(score::Kind::Choice { last: 'E' })),
        ("workload.w.score.regex='(a)'", rule(score::Kind::Regex { pattern: "(a)".to_owned() })),
        (
            "workload.w.score.math={ tolerance = '1%', marked_only = true }",
            rule(score::Kind::Math).marked_only().tolerance(0.01).unwrap(),
        ),
    ];
    for (written, rule) in cases {
        assert_eq!(scored(written).unwrap(), Some(rule.clone()), "{written}");
        // Written out, it is read as the same.
        let scenario =
            read_with(MINIMAL, &set(&["workload.w.prompt.dataset=problems.jsonl", written])).unwrap();
        let again = parse("x.toml", resolved(&scenario).as_bytes(), Path::new("/"), &Overrides::default());
        let again = again.map(|loaded| loaded.scenario.workloads[0].score.clone());
        assert!(again.is_err() || again.unwrap() == Some(rule), "{written}");
    }
    let scenario = |more: &[&str]| {
        let with = [&["workload.w.prompt.dataset=problems.jsonl"], more].concat();
        read_with(MINIMAL, &set(&with)).unwrap().workloads[0].consistency
    };
    assert!(!scenario(&[]));
    assert!(scenario(&["workload.w.score=gsm8k"]), "temperature is 0");
    assert!(!scenario(&["workload.w.score=gsm8k", "workload.w.request.temperature=1"]));
    assert!(!scenario(&["workload.w.score=gsm8k", "workload.w.consistency=false"]));
    assert!(scenario(&["workload.w.consistency=true"]));
}
