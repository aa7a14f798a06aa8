//! The engine against times worked out by hand, and laws that hold for any schedule.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::sim::{CostModel, FixedCost, Parameters};

/// 1,000,003 ns a step, 101 ns a sequence, 7 ns a prompt token (1e9 / 7 a second), in steps of at most 100
/// tokens.
fn profile(max_num_seqs: usize) -> Profile {
    let cost = CostModel::Fixed(FixedCost {
        step_overhead: Duration::from_nanos(1_000_003),
        sequence_cost: Duration::from_nanos(101),
        prefill_tokens_per_s: Some(1e9 / 7.0),
    });
    let parameters = Parameters {
        cost,
        max_batched_tokens: 100,
        max_num_seqs,
        max_model_len: 1000,
        mean_answer_tokens: 8,
        ..Parameters::default()
    };
    Profile::new("test", parameters).unwrap()
}

const fn request(prompt_tokens: u64, max_tokens: u64) -> Request {
    Request { prompt_tokens, max_tokens: Some(max_tokens), stop_after: None, blocks: Vec::new() }
}

/// Step time of `sequences` with `prefill` prompt tokens among them.
const fn step(sequences: u64, prefill: u64) -> u64 {
    1_000_003 + 101 * sequences + 7 * prefill
}

/// Runs the engine dry: (time, request, token, finish) of all that is left.
fn drain(engine: &mut Engine) -> Vec<(u64, u64, u64, Option<Finish>)> {
    let mut log = Vec::new();
    while let Some(at) = engine.next() {
        let step = engine.step(at).unwrap();
        assert_eq!(step.computed, at);
        log.extend(step.emissions.iter().map(|e| (e.at.0, e.id.0, e.token, e.finish)));
    }
    log
}

#[test]
fn one_request_gets_its_first_token_after_its_prefill_and_one_more_each_step() {
    let mut engine = Engine::new(profile(4));
    assert_eq!(engine.next(), None);
    engine.submit(Nanos(500), request(30, 3)).unwrap();
    let first = 500 + 1_000_003 + 101 + 210;
    assert_eq!(
        drain(&mut engine),
        [
            (first, 0, 0, None),
            (first + 1_000_104, 0, 1, None),
            (first + 2_000_208, 0, 2, Some(Finish::Length)),
        ]
    );
    assert_eq!((engine.running(), engine.waiting(), engine.next()), (0, 0, None));
}

#[test]
fn a_long_prompt_is_prefilled_in_chunks_of_the_budget() {
    let mut engine = Engine::new(profile(4));
    engine.submit(Nanos(0), request(250, 1)).unwrap();
    let first = 2 * step(1, 100) + step(1, 50);
    assert_eq!(drain(&mut engine), [(first, 0, 0, Some(Finish::Length))]);
}

#[test]
fn overlapping_requests_share_the_budget_and_each_token_has_its_exact_time() {
    let mut engine = Engine::new(profile(4));
    // The first is alone in its first step; the others arrive during it. In the second step it decodes (1),
    // the second prefills wholly (60) and the third gets the 39 tokens left, in the third step the other 41.
    engine.submit(Nanos(0), request(10, 4)).unwrap();
    engine.submit(Nanos(7), request(60, 2)).unwrap();
    engine.submit(Nanos(9), request(80, 2)).unwrap();
    assert_eq!((engine.running(), engine.waiting()), (1, 2));
    let t1 = step(1, 10);
    let t2 = t1 + step(3, 99);
    let t3 = t2 + step(3, 41);
    let t4 = t3 + step(2, 0);
    let log = drain(&mut engine);
    assert_eq!(
        log,
        [
            (t1, 0, 0, None),
            (t2 - 202, 0, 1, None),
            (t2 - 101, 1, 0, None),
            (t3 - 202, 0, 2, None),
            (t3 - 101, 1, 1, Some(Finish::Length)),
            (t3, 2, 0, None),
            (t4 - 101, 0, 3, Some(Finish::Length)),
            (t4, 2, 1, Some(Finish::Length)),
        ]
    );
    assert_eq!((t1, t2, t3, t4), (1_000_174, 2_001_173, 3_001_766, 4_001_971));
}

#[test]
fn requests_beyond_the_places_wait_in_order_of_arrival() {
    let mut engine = Engine::new(profile(2));
    for arrival in 0..4 {
        engine.submit(Nanos(arrival), request(10, 1 + arrival)).unwrap();
    }
    assert_eq!((engine.running(), engine.waiting()), (1, 3));
    let t1 = step(1, 10);
    let t2 = t1 + step(2, 20);
    let t3 = t2 + step(2, 0);
    let t4 = t3 + step(2, 10);
    let t5 = t4 + step(1, 0);
    let times = drain(&mut engine).into_iter().map(|(at, id, token, _)| (at, id, token)).collect::<Vec<_>>();
    let t = [t2, t3, t4, t5, t5 + step(1, 0), t5 + 2 * step(1, 0)];
    assert_eq!(
        times,
        [
            (t1, 0, 0),
            (t[0] - 101, 1, 0),
            (t[0], 2, 0),
            (t[1] - 101, 1, 1),
            (t[1], 2, 1),
            (t[2] - 101, 2, 2),
            (t[2], 3, 0),
            (t[3], 3, 1),
            (t[4], 3, 2),
            (t[5], 3, 3),
        ]
    );
}

#[test]
fn arrivals_of_one_instant_are_batched_together_and_an_arrival_at_a_steps_end_joins_the_next() {
    let mut engine = Engine::new(profile(4));
    engine.submit(Nanos(5), request(10, 1)).unwrap();
    engine.submit(Nanos(5), request(20, 1)).unwrap();
    let end = 5 + step(2, 30);
    assert_eq!(engine.next(), Some(Nanos(end - 2 * 101)), "then it has computed");
    for before in [true, false] {
        let mut engine = Engine::new(profile(4));
        engine.submit(Nanos(0), request(10, 2)).unwrap();
        let end = Nanos(step(1, 10));
        if before {
            engine.submit(end, request(20, 1)).unwrap();
        }
        assert_eq!(engine.step(end).unwrap().emissions.len(), 1);
        if !before {
            engine.submit(end, request(20, 1)).unwrap();
        }
        assert_eq!(
            engine.next(),
            Some(Nanos(end.0 + step(2, 20) - 2 * 101)),
            "told before the step was taken: {before}"
        );
    }
}

#[test]
fn tokens_leave_one_after_the_other_and_the_next_step_begins_when_the_last_has_left() {
    let mut engine = Engine::new(profile(4));
    engine.submit(Nanos(0), request(10, 1)).unwrap();
    engine.submit(Nanos(0), request(10, 1)).unwrap();
    let end = step(2, 20);
    let first = engine.step(Nanos(end - 202)).unwrap();
    assert_eq!(first.emissions.iter().map(|e| e.at.0).collect::<Vec<_>>(), [end - 101, end]);
    // Both have ended, but the last token has not left yet.
    engine.submit(Nanos(end - 150), request(20, 1)).unwrap();
    engine.submit(Nanos(end - 50), request(30, 1)).unwrap();
    let log = drain(&mut engine);
    let next = end + step(2, 50);
    assert_eq!(log.iter().map(|entry| entry.0).collect::<Vec<_>>(), [next - 101, next]);
}

#[test]
fn a_request_given_up_before_the_step_it_waits_for_has_no_part_in_it() {
    let mut engine = Engine::new(profile(4));
    engine.submit(Nanos(0), request(10, 2)).unwrap();
    let end = step(1, 10);
    engine.step(Nanos(end - 101)).unwrap();
    let second = engine.submit(Nanos(end - 60), request(50, 2)).unwrap();
    assert!(engine.cancel(Nanos(end - 30), second));
    assert_eq!(drain(&mut engine), [(end + step(1, 0), 0, 1, Some(Finish::Length))]);
}

#[test]
fn a_late_caller_changes_no_time() {
    let mut engine = Engine::new(profile(4));
    engine.submit(Nanos(0), request(10, 2)).unwrap();
    // Told of this one only after the first step has ended, and nobody has asked for that step yet.
    engine.submit(Nanos(step(1, 10) + 50), request(20, 1)).unwrap();
    let t2 = step(1, 10) + step(1, 0);
    let log = drain(&mut engine);
    assert_eq!(log.iter().map(|entry| entry.0).collect::<Vec<_>>(), [step(1, 10), t2, t2 + step(1, 20)]);

    let mut engine = Engine::new(profile(4));
    engine.submit(Nanos(0), request(10, 1)).unwrap();
    engine.submit(Nanos(9_000_000), request(10, 1)).unwrap();
    assert_eq!(engine.step(Nanos(20_000_000)).unwrap().ends, Nanos(step(1, 10)));
    assert_eq!(
        engine.step(Nanos(20_000_000)).unwrap().ends,
        Nanos(9_000_000 + step(1, 10)),
        "idle until it came"
    );
    assert_eq!(engine.step(Nanos(20_000_000)), None);
}

#[test]
fn a_cancelled_request_leaves_its_place_to_the_next_step_and_says_nothing_more() {
    let mut engine = Engine::new(profile(1));
    let first = engine.submit(Nanos(0), request(10, 100)).unwrap();
    engine.submit(Nanos(1), request(10, 1)).unwrap();
    assert!(engine.cancel(Nanos(2), first));
    assert!(!engine.cancel(Nanos(2), first), "it has ended");
    assert_eq!((engine.running(), engine.waiting()), (0, 1));
    let end = step(1, 10);
    assert_eq!(drain(&mut engine), [(2 * end, 1, 0, Some(Finish::Length))]);
}

#[test]
fn a_request_cancelled_at_the_instant_its_step_begins_costs_nothing() {
    let mut engine = Engine::new(profile(4));
    let first = engine.submit(Nanos(3), request(10, 5)).unwrap();
    engine.submit(Nanos(3), request(20, 1)).unwrap();
    assert!(engine.cancel(Nanos(3), first));
    assert_eq!(engine.next(), Some(Nanos(3 + step(1, 20) - 101)));
    assert!(engine.cancel(Nanos(3), Id(1)));
    assert_eq!(engine.next(), None);
    engine.submit(Nanos(4), request(1, 1)).unwrap();
    assert_eq!(engine.next(), Some(Nanos(4 + step(1, 1) - 101)));
}

#[test]
fn an_answer_ends_by_itself_or_at_the_limit() {
    let end = |max_tokens, stop_after| {
        let mut engine = Engine::new(profile(1));
        engine
            .submit(Nanos(0), Request { prompt_tokens: 990, max_tokens, stop_after, blocks: Vec::new() })
            .unwrap();
        let (_, _, token, finish) = *drain(&mut engine).last().unwrap();
        (token + 1, finish.unwrap())
    };
    assert_eq!(end(Some(9), Some(3)), (3, Finish::Stop));
    assert_eq!(end(Some(3), Some(3)), (3, Finish::Stop));
    assert_eq!(end(Some(3), Some(9)), (3, Finish::Length));
    assert_eq!(end(Some(3), None), (3, Finish::Length));
    assert_eq!(end(None, Some(99)), (10, Finish::Length), "the context is full");
    assert_eq!(end(None, None), (10, Finish::Length));
}

#[test]
fn what_does_not_fit_the_context_is_refused_with_the_numbers() {
    let mut engine = Engine::new(profile(1));
    let mut refusal = |prompt_tokens, max_tokens| {
        let request = Request { prompt_tokens, max_tokens, stop_after: None, blocks: Vec::new() };
        engine.submit(Nanos(0), request).map_err(|refusal| refusal.to_string())
    };
    assert_eq!(refusal(999, None), Ok(Id(0)));
    assert_eq!(refusal(900, Some(100)), Ok(Id(1)));
    insta::assert_snapshot!(refusal(1000, None).unwrap_err(), @"This model's maximum context length is 1000 tokens. However, your prompt contains 1000 input tokens, which leaves no room for any output token. Please reduce the length of the input prompt.");
    insta::assert_snapshot!(refusal(900, Some(101)).unwrap_err(), @"This model's maximum context length is 1000 tokens. However, you requested 101 output tokens and your prompt contains 900 input tokens. Please reduce the length of the input prompt or the number of requested output tokens.");
    insta::assert_snapshot!(refusal(0, None).unwrap_err(), @"The prompt must have at least one token.");
    insta::assert_snapshot!(refusal(1, Some(0)).unwrap_err(), @"max_tokens must be at least 1, got 0.");
    assert_eq!(
        engine.submit(Nanos(0), request(u64::MAX, u64::MAX)),
        Err(Refusal::PromptTooLong { prompt_tokens: u64::MAX, max_model_len: 1000 })
    );
}

#[test]
fn without_latency_everything_happens_at_the_arrival() {
    let mut engine = Engine::new(Profile::new("instant", Parameters::default()).unwrap());
    engine.submit(Nanos(7), request(20_000, 1000)).unwrap();
    let log = drain(&mut engine);
    assert_eq!(log.len(), 1000);
    assert!(log.iter().all(|entry| entry.0 == 7));
}

/// What happens to the engine, and the time since the last happening.
#[derive(Clone, Debug)]
enum Happening {
    Arrival { after: u64, request: Request },
    Cancellation { after: u64, which: usize },
}

fn happenings(cancellations: bool) -> impl Strategy<Value = Vec<Happening>> {
    let after = prop_oneof![Just(0), 0..3_000_000u64];
    let stop_after = prop_oneof![Just(None), (1..40u64).prop_map(Some)];
    let arrival =
        (after.clone(), 1..400u64, 1..40u64, stop_after).prop_map(|(after, prompt, max, stop_after)| {
            let request =
                Request { prompt_tokens: prompt, max_tokens: Some(max), stop_after, blocks: Vec::new() };
            Happening::Arrival { after, request }
        });
    let cancellation =
        (after, any::<usize>()).prop_map(|(after, which)| Happening::Cancellation { after, which });
    proptest::collection::vec(
        if cancellations { prop_oneof![3 => arrival, 1 => cancellation].boxed() } else { arrival.boxed() },
        1..40,
    )
}

/// What became of one request.
#[derive(Debug, Default, PartialEq)]
struct Fate {
    tokens: Vec<Nanos>,
    finish: Option<Finish>,
    cancelled: bool,
}

/// Lets everything happen and runs dry. `punctual`: each step is taken at its end, else all of them at the
/// last.
fn play(happenings: &[Happening], max_num_seqs: usize, punctual: bool) -> BTreeMap<Id, Fate> {
    fn take(engine: &mut Engine, until: Nanos, fates: &mut BTreeMap<Id, Fate>, max_num_seqs: usize) {
        while let Some(step) = engine.step(until) {
            assert!(step.emissions.len() <= max_num_seqs);
            for emission in step.emissions {
                let fate = fates.get_mut(&emission.id).expect("only submitted requests get tokens");
                assert!(!fate.cancelled && fate.finish.is_none(), "a token after the end");
                assert_eq!(emission.token, fate.tokens.len() as u64);
                assert!(step.computed <= emission.at && emission.at <= step.ends);
                assert!(fate.tokens.last().is_none_or(|last| *last < emission.at));
                fate.tokens.push(emission.at);
                fate.finish = emission.finish;
            }
            assert!(engine.running() <= max_num_seqs);
        }
    }
    let mut engine = Engine::new(profile(max_num_seqs));
    let mut fates = BTreeMap::new();
    let mut now = Nanos(0);
    for happening in happenings {
        let (Happening::Arrival { after, .. } | Happening::Cancellation { after, .. }) = happening;
        now.0 += after;
        if punctual {
            take(&mut engine, now, &mut fates, max_num_seqs);
        }
        match happening {
            Happening::Arrival { request, .. } => {
                fates.insert(engine.submit(now, request.clone()).unwrap(), Fate::default());
            }
            Happening::Cancellation { which, .. } if !fates.is_empty() => {
                let id = Id((which % fates.len()) as u64);
                let fate = fates.get_mut(&id).unwrap();
                assert_eq!(engine.cancel(now, id), fate.finish.is_none() && !fate.cancelled);
                fate.cancelled |= fate.finish.is_none();
            }
            Happening::Cancellation { .. } => {}
        }
    }
    take(&mut engine, Nanos::MAX, &mut fates, max_num_seqs);
    assert_eq!((engine.running(), engine.waiting(), engine.next()), (0, 0, None));
    fates
}

proptest! {
    #[test]
    fn every_request_ends_exactly_once_with_the_tokens_asked_for(
        happenings in happenings(true),
        max_num_seqs in 1..6usize,
    ) {
        let fates = play(&happenings, max_num_seqs, true);
        let mut now = 0;
        let mut arrivals = Vec::new();
        for happening in &happenings {
            let (Happening::Arrival { after, .. } | Happening::Cancellation { after, .. }) = happening;
            now += after;
            if let Happening::Arrival { request, .. } = happening {
                arrivals.push((now, request));
            }
        }
        prop_assert_eq!(fates.len(), arrivals.len());
        for (fate, (arrived, request)) in fates.values().zip(arrivals) {
            prop_assert!(fate.cancelled != fate.finish.is_some(), "ended once: {:?}", fate);
            let max = request.max_tokens.unwrap();
            let asked = request.stop_after.map_or(max, |stop| stop.min(max));
            if fate.cancelled {
                prop_assert!((fate.tokens.len() as u64) < asked);
            } else {
                prop_assert_eq!(fate.tokens.len() as u64, asked);
                let stops = request.stop_after.is_some_and(|stop| stop <= max);
                prop_assert_eq!(fate.finish, Some(if stops { Finish::Stop } else { Finish::Length }));
            }
            if let Some(first) = fate.tokens.first() {
                let chunks = request.prompt_tokens.div_ceil(100);
                let alone = arrived + chunks * step(1, 0) + 7 * request.prompt_tokens;
                prop_assert!(first.0 >= alone, "first token at {} before {}", first.0, alone);
            }
        }
    }

    #[test]
    fn first_tokens_come_in_order_of_arrival(happenings in happenings(false), max_num_seqs in 1..6usize) {
        let fates = play(&happenings, max_num_seqs, true);
        let first = fates.values().map(|fate| fate.tokens[0]).collect::<Vec<_>>();
        prop_assert!(first.is_sorted());
    }

    #[test]
    fn taking_the_steps_late_changes_nothing(happenings in happenings(false), max_num_seqs in 1..6usize) {
        prop_assert_eq!(play(&happenings, max_num_seqs, true), play(&happenings, max_num_seqs, false));
    }
}

mod memory;
