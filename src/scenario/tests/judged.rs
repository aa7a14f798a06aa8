//! Objectives: bounds in the unit of their metric, and what they refer to.

use super::*;
use crate::stats::objective::{Bound, Over};
use crate::stats::{Objective, Thresholds};

const OBJECTIVES: &str = r#"
[slo]
ttft = "2s"
[[objective]]
metric = "ttft"
percentile = 99.9
at_most = "3s"
phase = "p"
workload = "w"
over = "ok"
[[objective]]
metric = "e2e"
percentile = 50
at_most = "1500ms"
[[objective]]
metric = "attainment"
at_least = "99.5%"
[[objective]]
metric = "output_throughput"
at_least = "30000/min"
[[objective]]
metric = "output_tokens"
percentile = 90
at_least = "1Ki"
[[objective]]
metric = "reconnects"
at_most = 3
"#;

fn objectives(text: &str) -> Vec<Objective> {
    read(&format!("{MINIMAL}{text}")).unwrap().objectives
}

#[test]
fn objectives_are_read_in_the_unit_of_their_metric() {
    let new = |tag, statistic, bound, over| Objective::new(tag, statistic, bound, over).unwrap();
    let all = |tag, statistic, bound| new(tag, statistic, bound, Over::All);
    let expected = [
        new("ttft", "p99.9", Bound::AtMost(3_000.0), Over::Ok).in_phase("p").for_workload("w"),
        all("e2e", "p50", Bound::AtMost(1_500.0)),
        all("attainment", "value", Bound::AtLeast(0.995)),
        all("output_throughput", "value", Bound::AtLeast(500.0)),
        all("output_tokens", "p90", Bound::AtLeast(1_024.0)),
        all("reconnects", "value", Bound::AtMost(3.0)),
    ];
    assert_eq!(objectives(OBJECTIVES), expected);
    assert_eq!(objectives(""), []);
}

#[test]
fn every_metric_can_be_bounded_in_its_unit() {
    use crate::stats::metrics::{Source, Unit, metric};
    for tag in Objective::METRICS {
        let metric = metric(tag).unwrap();
        let bound = match metric.unit {
            Unit::Ms => "\"5ms\"",
            Unit::Share => "0.5",
            Unit::TokensPerSecond | Unit::RequestsPerSecond => "\"5/s\"",
            Unit::Tokens | Unit::Requests => "5",
        };
        let percentile = if matches!(metric.source, Source::Row(..)) { "percentile = 90\n" } else { "" };
        let text = format!(
            "[slo]\nttft = \"2s\"\n[[objective]]\nmetric = \"{tag}\"\n{percentile}at_most = {bound}\n"
        );
        // Answers of made-up prompts cannot be checked.
        if matches!(metric.needs, "score" | "consistency") {
            continue;
        }
        assert_eq!(objectives(&text)[0].tag(), *tag);
    }
}

#[test]
fn objectives_written_out_are_read_again_as_they_were() {
    let scenario = read(&format!("{MINIMAL}{OBJECTIVES}")).unwrap();
    let written = resolved(&scenario);
    assert_eq!(read(&written).unwrap(), scenario, "{written}");
    let objectives = &written[written.find("[[objective]]").unwrap()..written.find("[stop]").unwrap()];
    insta::assert_snapshot!(objectives, @r#"
    [[objective]]
    metric = "ttft"
    percentile = 99.9
    at_most = "3s"
    phase = "p"
    workload = "w"
    over = "ok"
    points = "none"

    [[objective]]
    metric = "e2e"
    percentile = 50
    at_most = "1s500ms"
    over = "all"
    points = "none"

    [[objective]]
    metric = "attainment"
    at_least = 0.995
    over = "all"
    points = "none"

    [[objective]]
    metric = "output_throughput"
    at_least = "500/s"
    over = "all"
    points = "none"

    [[objective]]
    metric = "output_tokens"
    percentile = 90
    at_least = 1024
    over = "all"
    points = "none"

    [[objective]]
    metric = "reconnects"
    at_most = 3
    over = "all"
    points = "none"
    "#);
}

#[test]
fn limits_of_the_verdict_have_defaults_and_can_be_set() {
    assert_eq!(read(MINIMAL).unwrap().thresholds, Thresholds::default());
    let set =
        "[verdict]\nfailed = \"0.1%\"\nfew_answers = 300\ndelay_invalid = \"2500us\"\nshort_window = 20\n";
    let scenario = read(&format!("{MINIMAL}{set}")).unwrap();
    let expected = Thresholds {
        failed: 0.001,
        few_answers: 300,
        delay_invalid_ms: 2.5,
        short_window: 20.0,
        ..Thresholds::default()
    };
    assert_eq!(scenario.thresholds, expected);
    assert_eq!(read(&resolved(&scenario)).unwrap().thresholds, expected);
}

/// Each limit of the manifest is a key: no finding goes by one that cannot be set.
#[test]
fn every_limit_of_the_verdict_is_a_key() {
    let limits = serde_json::to_value(Thresholds::default()).unwrap();
    let limits: Vec<&str> = limits
        .as_object()
        .unwrap()
        .keys()
        .map(|name| name.trim_end_matches("_ms").trim_end_matches("_bytes"))
        .collect();
    let mut keys: Vec<&str> = keys::find("verdict").keys.iter().map(|key| key.name).collect();
    keys.sort_unstable();
    assert_eq!(
        {
            let mut limits = limits;
            limits.sort_unstable();
            limits
        },
        keys
    );
}
