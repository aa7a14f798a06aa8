//! Times and counts that the figures of a row are made of.

use serde_json::json;
use tonnage::record::Outcome;

use crate::support::bench::{BODY, ask, gaps, ms, row, tell, tpot_ms};
use crate::support::frames::{DONE, content, counts, delta, event, finish, reasoning, role, usage};
use crate::support::script::{Reply, stream};

/// Ten events of reasoning and two of the answer, 20 ms apart, from 100 ms on.
fn thinking(piece: impl Fn(&str) -> String) -> Reply {
    let thought = (0..10).fold(stream().at(5, role()), |reply, k| reply.at(100 + 20 * k, piece("t")));
    let answered = thought.at(300, content("a")).at(320, content("b"));
    answered.at(320, finish("stop")).at(320, usage(9, 12)).at(320, DONE)
}

#[test]
fn c044_reasoning_is_generated_text_and_the_answer_comes_after() {
    let timeline = ask(thinking(reasoning));
    assert_eq!(
        tell(&timeline),
        "ok: token 100 answer 300 last 320 output 320 ended 320; 12 events, 1 ignored; usage 9+12; stop"
    );
    assert_eq!(tpot_ms(&timeline), Some(20.0));
}

#[test]
fn c046_both_names_of_reasoning_mean_the_same() {
    let (long, short) =
        (ask(thinking(reasoning)), ask(thinking(|text| delta(&json!({ "reasoning": text })))));
    assert_eq!(tell(&short), tell(&long));
    assert_eq!(short.stamps, long.stamps);
}

#[test]
fn c048_reasoning_tokens_are_part_of_the_completion() {
    let usage = json!({
        "prompt_tokens": 9,
        "completion_tokens": 100,
        "prompt_tokens_details": { "cached_tokens": 4 },
        "completion_tokens_details": { "reasoning_tokens": 80 },
    });
    let usage = event(&json!({ "choices": [], "usage": usage }));
    let timeline = ask(stream().at(1, content("x")).at(2, finish("stop")).at(2, usage).at(2, DONE));
    assert_eq!(timeline.usage.completion, Some(100));
    assert_eq!(timeline.usage.reasoning, Some(80));
    assert_eq!(timeline.usage.cached, Some(4));
}

#[test]
fn c049_a_stream_without_usage_states_no_count() {
    let tokens = (1..=24).fold(stream(), |reply, k| reply.at(5 * k, content("x")));
    let silent = ask(tokens.clone().at(120, finish("stop")).at(120, DONE));
    assert_eq!((silent.outcome, silent.events, silent.usage.completion), (Outcome::Ok, 24, None));
    assert_eq!(tpot_ms(&silent), None);

    let counted = ask(tokens.at(120, finish("stop")).at(120, usage(10, 24)).at(120, DONE));
    assert_eq!(counted.usage.completion, Some(24));
    assert_eq!(tpot_ms(&counted), Some(5.0));
}

#[test]
fn c050_an_event_of_several_tokens_is_one_event() {
    let events = (0..20).fold(stream(), |reply, k| reply.at(30 + 30 * k, content("one two three")));
    let timeline = ask(events.at(600, finish("stop")).at(600, usage(5, 60)).at(600, DONE));
    assert_eq!(timeline.events, 20);
    assert_eq!(gaps(&timeline), [ms(30); 19]);
    assert!(timeline.stamps.iter().all(|stamp| stamp.tokens.is_none()));
    assert_eq!(tpot_ms(&timeline), Some(570.0 / 59.0));
}

#[test]
fn c050_token_counts_stated_with_each_event_are_kept_with_its_time() {
    let counted = |k: u64| {
        let choice = json!({ "index": 0, "delta": { "content": "one two three" } });
        event(&json!({ "choices": [choice], "usage": counts(5, 3 * k) }))
    };
    let events = (1..=20).fold(stream(), |reply, k| reply.at(30 * k, counted(k)));
    let timeline = ask(events.at(600, finish("stop")).at(600, DONE));
    assert!(timeline.stamps.iter().all(|stamp| stamp.tokens == Some(3)));
    assert_eq!(timeline.usage.completion, Some(60));
}

#[test]
fn c052_time_per_token_divides_by_tokens_and_not_by_events() {
    let events = (1..=10).fold(stream(), |reply, k| reply.at(100 * k, content("a b c d")));
    let timeline = ask(events.at(1_000, finish("stop")).at(1_000, usage(5, 40)).at(1_000, DONE));
    assert_eq!(timeline.events, 10);
    assert_eq!(tpot_ms(&timeline), Some(900.0 / 39.0));
}

#[test]
fn c054_one_token_has_no_time_per_token_and_no_gap() {
    let end = [&content("x"), &finish("length"), &usage(3, 1), DONE].concat();
    let timeline = ask(stream().at(5, role()).at(50, end));
    assert_eq!(
        tell(&timeline),
        "ok: token 50 answer 50 last 50 output 50 ended 50; 1 events, 1 ignored; usage 3+1; length"
    );
    assert_eq!((tpot_ms(&timeline), gaps(&timeline)), (None, vec![]));
}

#[test]
fn c055_all_text_in_one_event_has_no_time_per_token() {
    let end = [&content("many words"), &finish("stop"), &usage(5, 100), DONE].concat();
    let timeline = ask(stream().at(10, role()).at(900, end));
    assert_eq!(
        tell(&timeline),
        "ok: token 900 answer 900 last 900 output 900 ended 900; 1 events, 1 ignored; usage 5+100; stop"
    );
    assert_eq!(tpot_ms(&timeline), None);
}

#[test]
fn c067_usage_end_marker_and_close_after_the_last_token_do_not_stretch_the_answer() {
    let tokens = (0..50).fold(stream(), |reply, k| reply.at(2_000 + 10 * k, content("x")));
    let timeline =
        ask(tokens.at(2_490, finish("stop")).at(4_000, usage(5, 50)).at(4_000, DONE).ending(4_500));
    assert_eq!(
        tell(&timeline),
        "ok: token 2000 answer 2000 last 2490 output 2490 ended 4000; 50 events, 0 ignored; usage 5+50; stop"
    );
    assert_eq!(row(&timeline).e2e().unwrap().as_ms(), 2_490.0);
    assert_eq!(tpot_ms(&timeline), Some(10.0));
}

#[test]
fn c070_the_name_and_the_arguments_of_a_tool_are_generated_text() {
    let call =
        |function: serde_json::Value| delta(&json!({ "tool_calls": [{ "index": 0, "function": function }] }));
    let name = delta(&json!({
        "tool_calls": [{ "index": 0, "id": "c1", "function": { "name": "f", "arguments": "" } }]
    }));
    let arguments = (0..5).fold(stream().at(5, role()).at(100, name), |reply, k| {
        reply.at(120 + 20 * k, call(json!({ "arguments": "{" })))
    });
    let timeline = ask(arguments.at(200, finish("tool_calls")).at(200, usage(30, 12)).at(200, DONE));
    assert_eq!(
        tell(&timeline),
        "ok: token 100 answer - last 200 output 200 ended 200; 6 events, 1 ignored; usage 30+12; tool_calls"
    );
}

#[test]
fn a_long_stream_hands_its_stamps_over_before_the_end() {
    use std::cell::RefCell;
    use tonnage::clock::Clock;
    use tonnage::record::Timeline;

    use crate::support::bench::{Bench, outgoing};

    const EVENTS: u64 = 20_000;
    let tokens = (1..=EVENTS).fold(stream(), |reply, k| reply.at(k, content("x")));
    let (timeline, lots) = Clock::run_virtual(|clock| async move {
        let bench = Bench::new(&clock, [tokens.at(EVENTS, finish("stop")).at(EVENTS, DONE)]);
        let mut timeline = Timeline::begin(clock.now(), bench.client.stamp_source());
        let lots = RefCell::new(Vec::new());
        let mut hand_over = |lot: Vec<_>| lots.borrow_mut().push(lot);
        bench.client.exchange(&outgoing(BODY), &mut timeline, &mut hand_over).await;
        (timeline, lots.into_inner())
    })
    .unwrap();
    assert_eq!(timeline.events, EVENTS);
    assert!(lots.len() >= 2 && timeline.stamps.len() < 10_000);
    let stamps: Vec<_> = lots.into_iter().flatten().chain(timeline.stamps).collect();
    let times: Vec<u64> = stamps.iter().map(|stamp| stamp.at.0 / 1_000_000).collect();
    assert_eq!(times, (1..=EVENTS).collect::<Vec<_>>());
}

#[test]
fn a_usage_that_no_answer_can_have_counts_nothing() {
    for absurd in [1_000_000_001, 4_294_967_297, i64::MAX as u64] {
        let reply = stream().at(1, content("a")).at(2, content("b")).at(2, finish("stop"));
        let timeline = ask(reply.at(2, usage(absurd, absurd)).at(2, DONE));
        assert_eq!(
            tell(&timeline),
            "ok: token 1 answer 1 last 2 output 2 ended 2; 2 events, 1 ignored; usage -+-; stop",
            "{absurd}"
        );
    }
}
