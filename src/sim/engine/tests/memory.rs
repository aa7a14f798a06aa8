//! KV memory and prefix cache under the engine: where preemption begins, what is found again, and that no block is
//! ever lost.

use std::collections::BTreeSet;

use super::*;
use crate::sim::BlockHasher;

/// As [`profile`], with 4 tokens a block.
fn paged(kv_blocks: u64, chunked_prefill: bool) -> Profile {
    let parameters = Parameters {
        kv_blocks,
        block_tokens: 4,
        max_num_seqs: 8,
        max_model_len: 4 * kv_blocks.min(100),
        max_batched_tokens: if chunked_prefill { 100 } else { 400 },
        chunked_prefill,
        ..profile(8).parameters().clone()
    };
    Profile::new("paged", parameters).unwrap()
}

/// A request over these prompt tokens, and an answer of tokens that follow from the last of them.
fn over(prompt: &[u32], max_tokens: u64) -> Request {
    let mut hasher = BlockHasher::new(4);
    hasher.extend(prompt.iter().copied());
    let last = prompt.last().copied().unwrap_or_default();
    hasher.extend((0..max_tokens as u32).map(|place| last ^ (place << 16)));
    Request { blocks: hasher.finish(), ..request(prompt.len() as u64, max_tokens) }
}

/// The course of each request in the order of its end.
fn courses(engine: &mut Engine) -> Vec<(u64, Course)> {
    let mut courses = Vec::new();
    while let Some(at) = engine.next() {
        let step = engine.step(at).unwrap();
        courses.extend(step.emissions.iter().filter(|e| e.finish.is_some()).map(|e| (e.id.0, e.course)));
    }
    assert_eq!(engine.kv_blocks().0, 0, "all blocks are free at the end");
    courses
}

#[test]
fn preemption_begins_exactly_where_contexts_outgrow_the_memory() {
    // Four sequences of 40 tokens when they end, of which the last is never stored: ten blocks each.
    let preemptions = |kv_blocks| {
        let mut engine = Engine::new(paged(kv_blocks, true));
        (0..4).for_each(|i| assert_eq!(engine.submit(Nanos(i), request(20, 20)), Ok(Id(i))));
        courses(&mut engine);
        engine.totals().preemptions
    };
    assert_eq!(preemptions(40), 0);
    assert!(preemptions(39) > 0);
}

#[test]
fn the_last_to_arrive_gives_way_computes_everything_anew_and_repeats_no_token() {
    // Two prompts of two blocks in five: both decode in a third block until the first needs a fourth.
    let mut engine = Engine::new(paged(5, true));
    engine.submit(Nanos(0), request(8, 8)).unwrap();
    engine.submit(Nanos(0), request(7, 4)).unwrap();
    let mut log = Vec::new();
    while let Some(at) = engine.next() {
        let step = engine.step(at).unwrap();
        log.extend(step.emissions.iter().map(|e| (e.at.0, e.id.0, e.token, e.course.preemptions)));
    }
    let t1 = step(2, 15);
    // The first takes the last block for its ninth token; the second has room for its eighth, not for a ninth.
    let t2 = t1 + step(2, 0);
    let mut expected = vec![(t1 - 101, 0, 0, 0), (t1, 1, 0, 0), (t2 - 101, 0, 1, 0), (t2, 1, 1, 0)];
    // Alone until its end, while the other waits for the three blocks of its nine tokens.
    expected.extend((2..8).map(|token| (t2 + (token - 1) * step(1, 0), 0, token, 0)));
    let free = t2 + 6 * step(1, 0);
    expected.push((free + step(1, 9), 1, 2, 1));
    expected.push((free + step(1, 9) + step(1, 0), 1, 3, 1));
    assert_eq!(log, expected);
    assert_eq!((engine.totals().preemptions, engine.kv_blocks()), (1, (0, 5)));
    let totals = engine.totals();
    assert_eq!((totals.prompt_tokens, totals.generated_tokens), (15, 12));
}

#[test]
fn a_prompt_seen_before_costs_only_what_is_new_of_it() {
    let mut engine = Engine::new(paged(100, true));
    let prompt = (1..=41).collect::<Vec<u32>>();
    engine.submit(Nanos(0), over(&prompt, 1)).unwrap();
    assert_eq!(drain(&mut engine).last().unwrap().0, step(1, 41));
    // 41 tokens: ten whole blocks are found. 40: nine, for the last token is computed in any case.
    for (tokens, cached) in [(41, 40), (40, 36), (4, 0), (5, 4)] {
        let at = Nanos(engine.taken * 1_000_000_000);
        engine.submit(at, over(&prompt[..tokens], 1)).unwrap();
        assert_eq!(engine.next(), Some(Nanos(at.0 + step(1, tokens as u64 - cached) - 101)));
        let ended = engine.step(Nanos::MAX).unwrap();
        assert_eq!(ended.emissions[0].course, Course { admitted: at, cached_tokens: cached, preemptions: 0 });
    }
    assert_eq!((engine.totals().queried_tokens, engine.totals().hit_tokens), (41 + 90, 80));
    engine.reset_prefix_cache();
    engine.submit(Nanos(u64::MAX / 2), over(&prompt, 1)).unwrap();
    assert_eq!(courses(&mut engine)[0].1.cached_tokens, 0);
}

#[test]
fn a_conversation_finds_its_own_answers_again() {
    let mut engine = Engine::new(paged(100, true));
    let first = (1..=10).collect::<Vec<u32>>();
    engine.submit(Nanos(0), over(&first, 8)).unwrap();
    courses(&mut engine);
    let mut next = first;
    let last = 10;
    next.extend((0..8).map(|place| last ^ (place << 16)));
    next.extend([70, 71, 72]);
    engine.submit(Nanos(1_000_000_000), over(&next, 1)).unwrap();
    // Ten and eight tokens were there, of which the last was never computed: four whole blocks.
    assert_eq!(courses(&mut engine)[0].1.cached_tokens, 16);
}

#[test]
fn without_prefix_caching_nothing_is_found() {
    let parameters = Parameters { prefix_caching: false, ..paged(100, true).parameters().clone() };
    let mut engine = Engine::new(Profile::new("cold", parameters).unwrap());
    let prompt = (1..=41).collect::<Vec<u32>>();
    for at in [0, 1_000_000_000] {
        engine.submit(Nanos(at), over(&prompt, 1)).unwrap();
        assert_eq!(courses(&mut engine)[0].1.cached_tokens, 0);
    }
}

#[test]
fn blocks_are_found_from_the_end_of_the_step_that_fills_them() {
    let mut engine = Engine::new(paged(100, true));
    let prompt = (1..=20).collect::<Vec<u32>>();
    for at in [0, 0, 1] {
        engine.submit(Nanos(at), over(&prompt, 3)).unwrap();
    }
    let cached = courses(&mut engine).iter().map(|(_, course)| course.cached_tokens).collect::<Vec<_>>();
    assert_eq!(cached, [0, 0, 16], "the first two are computed side by side");
}

#[test]
fn without_chunks_whole_prompts_and_decodes_take_turns() {
    let mut engine = Engine::new(paged(400, false));
    engine.submit(Nanos(0), request(10, 4)).unwrap();
    engine.submit(Nanos(1), request(300, 2)).unwrap();
    engine.submit(Nanos(2), request(200, 1)).unwrap();
    let log = drain(&mut engine);
    let t1 = step(1, 10);
    // 300 and 200 exceed the budget of 400 together: two steps, in which the first gets nothing.
    let t2 = t1 + step(1, 300);
    let t3 = t2 + step(1, 200);
    let t4 = t3 + step(2, 0);
    let t5 = t4 + step(1, 0);
    let expected = [
        (t1, 0, 0),
        (t2, 1, 0),
        (t3, 2, 0),
        (t4 - 101, 0, 1),
        (t4, 1, 1),
        (t5, 0, 2),
        (t5 + step(1, 0), 0, 3),
    ];
    assert_eq!(log.iter().map(|(at, id, token, _)| (*at, *id, *token)).collect::<Vec<_>>(), expected);
}

/// What happens to an engine whose prompts share beginnings.
#[derive(Clone, Debug)]
enum Event {
    Arrival { after: u64, prompt: Vec<u32>, max_tokens: u64 },
    Cancellation { after: u64, which: usize },
}

/// Prompts branch twice: from one of three roots to one of three stems.
fn events(cancellations: bool) -> impl Strategy<Value = Vec<Event>> {
    let after = prop_oneof![Just(0), 0..6_000_000u64];
    let arrival = (after.clone(), 0..3u32, 0..3u32, 1..30usize, 1..30usize, 1..12u64).prop_map(
        |(after, root, stem, shared, own, max_tokens)| {
            let shared = (0..shared).map(|place| 1 + root * 100 + place as u32);
            let own = (0..own).map(|place| 1000 + (root * 3 + stem) * 100 + place as u32);
            Event::Arrival { after, prompt: shared.chain(own).collect(), max_tokens }
        },
    );
    let cancellation =
        (after, any::<usize>()).prop_map(|(after, which)| Event::Cancellation { after, which });
    let event =
        if cancellations { prop_oneof![3 => arrival, 1 => cancellation].boxed() } else { arrival.boxed() };
    proptest::collection::vec(event, 1..40)
}

/// One request as the outside sees it.
#[derive(Default)]
struct Seen {
    tokens: u64,
    done: bool,
    cancelled: bool,
}

proptest! {
    #[test]
    fn blocks_are_never_lost_nor_overdrawn_and_tokens_are_conserved(
        events in events(true),
        kv_blocks in 18..60u64,
        chunked in any::<bool>(),
    ) {
        let parameters = Parameters { max_model_len: 72, ..paged(kv_blocks, chunked).parameters().clone() };
        let mut engine = Engine::new(Profile::new("small", parameters).unwrap());
        let mut seen: Vec<(Seen, u64, u64)> = Vec::new();
        let mut now = 0;
        let take = |engine: &mut Engine, until: u64, seen: &mut Vec<(Seen, u64, u64)>| {
            let mut steps = 0;
            while let Some(step) = engine.step(Nanos(until)) {
                for emission in step.emissions {
                    let (request, _, _) = &mut seen[emission.id.0 as usize];
                    assert!(!request.done && !request.cancelled);
                    assert_eq!(emission.token, request.tokens, "no token twice, none left out");
                    request.tokens += 1;
                    request.done = emission.finish.is_some();
                }
                let (used, all) = engine.kv_blocks();
                assert!(used <= all);
                let held = engine.running.iter().map(|s| &s.blocks).chain(engine.waiting.iter().map(|s| &s.blocks));
                let held = held.flatten().copied().collect::<BTreeSet<_>>();
                assert_eq!(held.len() as u64, used, "a block is in use exactly if a sequence holds it");
                assert!(engine.waiting.iter().all(|sequence| sequence.blocks.is_empty()));
                steps += 1;
                assert!(steps < 100_000, "it comes to an end");
            }
        };
        for event in &events {
            let (Event::Arrival { after, .. } | Event::Cancellation { after, .. }) = event;
            now += after;
            take(&mut engine, now, &mut seen);
            match event {
                Event::Arrival { prompt, max_tokens, .. } => {
                    engine.submit(Nanos(now), over(prompt, *max_tokens)).unwrap();
                    seen.push((Seen::default(), prompt.len() as u64, *max_tokens));
                }
                Event::Cancellation { which, .. } if !seen.is_empty() => {
                    let which = which % seen.len();
                    let (request, _, _) = &mut seen[which];
                    prop_assert_eq!(engine.cancel(Nanos(now), Id(which as u64)), !request.done && !request.cancelled);
                    request.cancelled |= !request.done;
                }
                Event::Cancellation { .. } => {}
            }
        }
        take(&mut engine, u64::MAX, &mut seen);
        prop_assert_eq!((engine.running(), engine.waiting(), engine.next()), (0, 0, None));
        prop_assert_eq!(engine.kv_blocks().0, 0, "all free at the end");
        let totals = engine.totals();
        prop_assert_eq!(totals.generated_tokens, seen.iter().map(|(request, _, _)| request.tokens).sum::<u64>());
        let answered = seen.iter().filter(|(request, _, _)| request.tokens > 0).map(|(_, prompt, _)| prompt);
        prop_assert_eq!(totals.prompt_tokens, answered.sum::<u64>());
        for (request, _, max_tokens) in &seen {
            prop_assert!(request.cancelled != request.done);
            prop_assert!(request.cancelled || request.tokens == *max_tokens);
        }
    }

    /// With memory enough for everything, a block is found exactly if its tokens and all before them were computed
    /// in a step that has ended: the oracle knows all beginnings ever computed, as plain lists of tokens.
    #[test]
    fn hits_are_those_of_a_memory_of_all_beginnings(events in events(false)) {
        let mut engine = Engine::new(paged(10_000, true));
        let mut known: BTreeSet<Vec<u32>> = BTreeSet::new();
        let mut texts: Vec<(Vec<u32>, u64)> = Vec::new();
        let mut expected: Vec<Option<u64>> = Vec::new();
        let mut now = 0;
        // Admissions happen at the beginning of steps: follow them by looking at who is new in the batch.
        let admit = |engine: &Engine, known: &BTreeSet<Vec<u32>>, texts: &[(Vec<u32>, u64)], expected: &mut Vec<Option<u64>>| {
            for sequence in &engine.running {
                let place = sequence.id.0 as usize;
                if expected[place].is_none() {
                    let (text, prompt) = &texts[place];
                    let whole = (prompt - 1) / 4;
                    let hits = (1..=whole).take_while(|blocks| known.contains(&text[..*blocks as usize * 4])).count();
                    expected[place] = Some(hits as u64 * 4);
                }
            }
        };
        let mut courses = BTreeMap::new();
        for event in events.iter().map(Some).chain([None]) {
            let until = match event {
                Some(Event::Arrival { after, .. }) => now + after,
                _ => u64::MAX,
            };
            while engine.next().is_some_and(|at| at.0 <= until) {
                // What the running step computes is found from its end on, by those admitted then.
                let computed = engine.running.iter().map(|sequence| {
                    (sequence.id.0 as usize, (sequence.computed + sequence.scheduled) / 4 * 4)
                }).collect::<Vec<_>>();
                for (place, tokens) in computed {
                    (4..=tokens).step_by(4).for_each(|end| {
                        known.insert(texts[place].0[..end as usize].to_vec());
                    });
                }
                for emission in engine.step(Nanos(until)).unwrap().emissions {
                    courses.insert(emission.id.0, emission.course.cached_tokens);
                }
                admit(&engine, &known, &texts, &mut expected);
            }
            let Some(Event::Arrival { prompt, max_tokens, .. }) = event else { break };
            now = until;
            let mut text = prompt.clone();
            let last = *prompt.last().unwrap();
            text.extend((0..*max_tokens as u32).map(|place| last ^ (place << 16)));
            texts.push((text, prompt.len() as u64));
            expected.push(None);
            engine.submit(Nanos(now), over(prompt, *max_tokens)).unwrap();
            admit(&engine, &known, &texts, &mut expected);
        }
        prop_assert_eq!(engine.totals().preemptions, 0);
        prop_assert_eq!(courses.len(), texts.len());
        for (id, cached) in courses {
            prop_assert_eq!(Some(cached), expected[id as usize], "request {}", id);
        }
    }
}
