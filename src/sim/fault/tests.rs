//! The text form, and when faults happen.

use std::time::Duration;

use super::*;

fn manner(text: &str) -> Manner {
    FaultPlan::parse(text).unwrap().request(1, Nanos::ZERO)
}

#[test]
fn every_form_of_the_list_is_read() {
    let examples = [
        "status=429:1s",
        "status=503",
        "delay=20ms",
        "slow-read=1000",
        "hang",
        "hang=3",
        "hang=head",
        "reset=bytes:100",
        "cut=2",
        "truncate",
        "truncate=4",
        "missing=done",
        "missing=finish",
        "missing=both",
        "malformed",
        "malformed=2",
        "error",
        "error=text",
        "error=choices:3",
        "error=event:1",
        "error=field",
        "error=detail",
        "error=object:9",
        "stall=2:1s",
        "role=early",
        "role=null",
        "role=bare",
        "role=none",
        "empty=2",
        "join=3",
        "batch=5",
        "split=1",
        "split=7:1ms",
        "lines=crlf",
        "lines=cr",
        "no-blank",
        "comments",
        "ping=500ms",
        "usage=none",
        "usage=zero",
        "usage=finish",
        "usage=late:2s",
        "buffer",
        "buffer=4096",
        "document",
        "corrupt",
        "accept-delay=1s",
        "refuse",
        "idle-close=5s",
    ];
    for example in examples {
        let plan = FaultPlan::parse(example).unwrap();
        assert_eq!(plan.rules.len(), 1, "{example}");
        let changed = manner(example) != Manner::default()
            || plan.connection(1, Nanos::ZERO) != ConnectionManner::default();
        assert!(changed, "{example} changes something");
    }
    for (form, _) in FAULTS {
        for name in form.split(", ").map(|form| form.split(['=', '[']).next().unwrap()) {
            assert!(examples.iter().any(|example| example.split('=').next() == Some(name)), "{name}");
        }
    }
}

#[test]
fn several_rules_add_up_and_the_later_of_two_alike_holds() {
    let seen = manner(" status=429 , status=503:2s,join=2 ,, hang=3");
    assert_eq!(seen.status, Some((503, Some(Duration::from_secs(2)))));
    assert_eq!(seen.tokens_an_event, 2);
    assert_eq!(seen.end, Some((Stage::Tokens(3), Ending::Hang)));
    let mut under = manner("join=2,ping=1s");
    under.overlay(&manner("join=5,comments"));
    assert_eq!(under, manner("join=5,ping=1s,comments"));
    assert!(FaultPlan::parse(" ,").unwrap().is_empty());
}

#[test]
fn a_schedule_a_window_and_a_single_request_are_exact() {
    let plan = FaultPlan::parse("status=500@1/3, delay=1s@#4, comments@2s..3s, ping=1s@1/2@5s..").unwrap();
    let at = |number, seconds: u64| plan.request(number, Nanos(seconds * 1_000_000_000));
    let failed = (1..10).filter(|number| at(*number, 0).status.is_some()).collect::<Vec<_>>();
    assert_eq!(failed, [3, 6, 9]);
    let delayed = (1..10).filter(|number| !at(*number, 0).delay.is_zero()).collect::<Vec<_>>();
    assert_eq!(delayed, [4]);
    assert_eq!([1, 2, 3].map(|seconds| at(1, seconds).comments), [false, true, false]);
    assert_eq!([(1, 9), (2, 4), (2, 5)].map(|(n, s)| at(n, s).ping.is_some()), [false, false, true]);
}

#[test]
fn a_share_is_met_and_the_same_in_every_run_of_one_seed() {
    let hit = |plan: &FaultPlan| {
        (1..=10_000).filter(|n| plan.request(*n, Nanos::ZERO).status.is_some()).collect::<Vec<_>>()
    };
    let plan = FaultPlan::parse("status=503@10%").unwrap();
    assert!((900..1100).contains(&hit(&plan).len()));
    assert_eq!(hit(&plan), hit(&FaultPlan::parse("status=503@10%").unwrap()));
    assert_ne!(hit(&plan), hit(&plan.clone().with_seed(Seed(1))));
    assert_eq!(hit(&FaultPlan::parse("status=503@100%").unwrap()).len(), 10_000);
    assert_eq!(hit(&FaultPlan::parse("status=503@0%").unwrap()).len(), 0);
}

#[test]
fn what_is_no_rule_is_refused_with_what_is_allowed() {
    let refusal = |text: &str| FaultPlan::parse(text).unwrap_err().to_string();
    insta::assert_snapshot!(refusal("join=2, status"), @"fault `status`: write `status=CODE[:TIME]`, with TIME like 250ms");
    insta::assert_snapshot!(refusal("status=200"), @"fault `status=200`: a status is from 400 to 599");
    insta::assert_snapshot!(refusal("split=0"), @"fault `split=0`: write `split=BYTES[:TIME]`, with TIME like 250ms");
    insta::assert_snapshot!(refusal("ping=0s"), @"fault `ping=0s`: write `ping=TIME`, with TIME like 250ms");
    insta::assert_snapshot!(refusal("delay=5"), @"fault `delay=5`: write `delay=TIME`, with TIME like 250ms");
    insta::assert_snapshot!(refusal("delay=25h"), @"fault `delay=25h`: a time is at most a day");
    insta::assert_snapshot!(refusal("usage=late"), @"fault `usage=late`: write `usage=none|zero|finish|late:TIME`, with TIME like 250ms");
    insta::assert_snapshot!(refusal("document=1"), @"fault `document=1`: write `document`");
    insta::assert_snapshot!(refusal("hang@often"), @"fault `hang@often`: `@often` is no time: write `@10%`, `@1/7`, `@#7` or `@30s..60s`");
    insta::assert_snapshot!(refusal("hang@1/0"), @"fault `hang@1/0`: `@1/0` is no time: write `@10%`, `@1/7`, `@#7` or `@30s..60s`");
    insta::assert_snapshot!(refusal("explode"), @"fault `explode`: there is no such fault; there are status, delay, slow-read, hang, reset, cut, truncate, missing, malformed, error, stall, role, empty, join, batch, split, lines, no-blank, comments, ping, usage, buffer, document, corrupt, accept-delay, refuse, idle-close");
    let of_header = |text: &str| FaultPlan::of_header(text).unwrap_err().to_string();
    insta::assert_snapshot!(of_header("idle-close=1s"), @"fault `idle-close=1s`: a header cannot ask for a fault of the connection");
    insta::assert_snapshot!(of_header("hang@10%"), @"fault `hang@10%`: a header is about its own request: leave out the `@`");
    assert!(refusal(&"x".repeat(10_000)).len() < 1_000);
}

#[test]
fn every_fault_stands_in_the_documentation() {
    let docs = include_str!("../../../docs/simulator.md");
    for (form, _) in FAULTS {
        for name in form.split(", ").map(|form| form.split(['=', '[']).next().unwrap()) {
            assert!(docs.contains(&format!("`{name}")), "{name}");
        }
    }
}
