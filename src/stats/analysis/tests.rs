//! Rows made by known laws, and what the analysis makes of them.

use super::*;
use crate::record::{Grade, Needle, Planned};
use crate::stats::test_rows::ok;

/// A request of phase `phase` from `sent` to `first` and `last`, in µs, of `prompt` tokens of which `cached` are
/// cached, with `output` tokens.
fn request(phase: u32, [sent, first, last]: [u64; 3], [prompt, cached, output]: [u64; 3]) -> RequestRecord {
    let mut record = ok(0, 0, 0, output);
    record.planned = Planned { phase, ..Planned::default() };
    (record.scheduled, record.sent) = (Some(Micros(sent)), Some(Micros(sent)));
    (record.first_token, record.last_token) = (Some(Micros(first)), Some(Micros(last)));
    (record.last_output, record.ended) = (Some(Micros(last)), Some(Micros(last)));
    (record.prompt_tokens, record.cached_tokens) = (Some(prompt), Some(cached));
    let usual = Micros((last - first) / output.max(1));
    (record.gaps.p50, record.gaps.max) = (Some(usual), Some(usual));
    record
}

fn rows(requests: &[RequestRecord], looks: &[ServerSample], known: &Known) -> Vec<AnalysisRow> {
    let mut analysis = Analysis::default();
    requests.iter().for_each(|record| analysis.add(record));
    looks.iter().for_each(|look| analysis.add_look(look));
    analysis.rows(known)
}

fn find<'a>(rows: &'a [AnalysisRow], analysis: &str, term: &str) -> &'a AnalysisRow {
    let found = rows.iter().find(|row| (row.analysis, row.term) == (analysis, term));
    found.unwrap_or_else(|| panic!("no {term} of {analysis}: {rows:#?}"))
}

fn steps(names: &[&str]) -> Vec<Step> {
    let step = |(phase, name): (u32, &&str)| Step {
        key: StepKey { phase, ..StepKey::default() },
        name: (*name).to_owned(),
        window: Some((Micros(u64::from(phase) * 10_000_000), Micros(u64::from(phase + 1) * 10_000_000))),
    };
    (0..).zip(names).map(step).collect()
}

fn look(at_us: u64, figures: &[(ServerFigure, f64)]) -> ServerSample {
    let mut sample = ServerSample {
        point: None,
        repeat: None,
        endpoint: 0,
        at: Micros(at_us),
        took: Micros(0),
        error: None,
        figures: Default::default(),
    };
    figures.iter().for_each(|(figure, value)| sample.figures.set(*figure, Some(*value)));
    sample
}

/// One after another, TTFT = 5 ms + 50 µs a token + 1 µs a million pairs twice.
fn prompts(sent_alone: bool) -> Vec<RequestRecord> {
    let mut at = 0;
    let of = |(u, k): (u64, u64)| 5_000 + 50 * u + u * (2 * k + u) / 1_000;
    let sizes = [
        (1_000, 0),
        (2_000, 0),
        (4_000, 0),
        (8_000, 0),
        (1_000, 8_000),
        (2_000, 16_000),
        (4_000, 4_000),
        (8_000, 1_000),
    ];
    let request = |(u, k): (u64, u64)| {
        let first = at + of((u, k));
        let record = request(0, [at, first, first + 10_000], [u + k, k, 10]);
        at = if sent_alone { first + 10_000 } else { first - 1 };
        record
    };
    sizes.into_iter().map(request).collect()
}

#[test]
fn a_prefill_by_the_law_is_found_with_its_quadratic_part() {
    let rows = rows(&prompts(true), &[], &Known::default());
    let near = |term: &str, truth: f64| {
        let value = find(&rows, "prefill", term).value.unwrap();
        assert!((value / truth - 1.0).abs() < 1e-6, "{term}: {value} is not {truth}");
    };
    near("rate", 20_000.0);
    near("fixed", 5.0);
    // 1e-3 µs a squared token: 1 ms a squared thousand.
    near("quadratic", 1.0);
    assert!(find(&rows, "prefill", "quadratic").note.contains("25000 tokens"), "{rows:#?}");
}

#[test]
fn prompts_that_share_the_server_or_have_one_length_say_nothing_of_prefill() {
    let of =
        |requests: &[RequestRecord]| find(&rows(requests, &[], &Known::default()), "prefill", "rate").clone();
    let together = of(&prompts(false));
    assert_eq!(together.value, None);
    assert!(together.note.starts_with("not identifiable: at least 6 requests"), "{}", together.note);
    let mut alike = prompts(true);
    alike
        .iter_mut()
        .for_each(|record| record.prompt_tokens = record.cached_tokens.map(|cached| cached + 500));
    assert!(of(&alike).note.contains("at least 3 prompt lengths"), "{}", of(&alike).note);
    let mut untold = prompts(true);
    untold.iter_mut().for_each(|record| record.cached_tokens = None);
    assert!(of(&untold).note.contains("tells no cached tokens"), "{}", of(&untold).note);
}

/// `users` requests that decode from 0.1 to 10 s of phase 0, each of 1,000 tokens of prompt and 99 of answer.
fn decoding(users: u64) -> Vec<RequestRecord> {
    (0..users).map(|_| request(0, [0, 100_000, 9_900_000], [1_000, 0, 99])).collect()
}

#[test]
fn a_capacity_is_found_in_the_use_that_blocks_make_and_compared_with_other_sources() {
    let requests = decoding(4);
    // A token each tenth of a second; blocks of 16 of 20,000 tokens.
    let looks: Vec<ServerSample> = (1..10)
        .map(|second| {
            let tokens = 1_000.0 + 1.0 + (second * 1_000_000 - 100_000) as f64 / 100_000.0;
            let held = 4.0 * (tokens / 16.0).ceil() * 16.0;
            let figures = [
                (ServerFigure::KvUse, held / 20_000.0),
                (ServerFigure::Waiting, 0.0),
                (ServerFigure::Running, 4.0),
                (ServerFigure::KvCapacityTokens, 20_000.0),
                (ServerFigure::BlockTokens, 16.0),
            ];
            look(second * 1_000_000, &figures)
        })
        .collect();
    let known = Known { model_tokens: Some(23_000), block_tokens: 16, ..Known::default() };
    let found = rows(&requests, &looks, &known);
    assert_eq!(find(&found, "kv_capacity", "stated").value, Some(20_000.0));
    let fitted = find(&found, "kv_capacity", "fitted");
    assert!((fitted.value.unwrap() / 20_000.0 - 1.0).abs() < 1e-3, "{fitted:?}");
    assert_eq!((fitted.count, find(&found, "kv_capacity", "model").value), (9, Some(23_000.0)));
    assert!(find(&found, "kv_capacity", "disagreement").value.unwrap() > 0.14);
    // Somebody else's requests are in the batch: what they hold is not known.
    let shared: Vec<ServerSample> = looks
        .iter()
        .cloned()
        .map(|mut look| {
            look.figures.set(ServerFigure::Running, Some(5.0));
            look
        })
        .collect();
    let found = rows(&requests, &shared, &known);
    assert!(find(&found, "kv_capacity", "fitted").note.starts_with("not identifiable"), "{found:#?}");
}

#[test]
fn a_preemption_bounds_the_capacity_from_above_and_without_a_page_the_table_is_named() {
    let looks = [
        look(1_000_000, &[(ServerFigure::Preemptions, 0.0)]),
        look(2_000_000, &[(ServerFigure::Preemptions, 2.0)]),
    ];
    let known = Known { block_tokens: 16, ..Known::default() };
    let found = rows(&decoding(3), &looks, &known);
    let bound = find(&found, "kv_capacity", "preempted");
    // 1,000 + 20 tokens of each are 64 blocks.
    assert_eq!((bound.value, bound.interval.low), (Some(3.0 * 1_024.0), None));
    assert!(find(&found, "kv_capacity", "fitted").note.contains("says nothing of the use"), "{found:#?}");
    let found = rows(&decoding(3), &[], &Known::default());
    assert!(find(&found, "kv_capacity", "fitted").note.contains("add `[server]`"), "{found:#?}");
}

#[test]
fn the_cost_of_a_token_is_split_over_batch_and_context() {
    // TPOT = 10 ms + 0.5 ms a sequence + 0.1 ms a thousand tokens of context, all users in step.
    let mut requests = Vec::new();
    let mut at = 0;
    for (users, prompt) in [(1, 1_000), (4, 1_000), (8, 2_000), (2, 30_000), (6, 8_000)] {
        let output = 101;
        let context = users as f64 * (prompt as f64 + 50.5) / 1e3;
        let tpot_us = 10_000.0 + 500.0 * users as f64 + 100.0 * context;
        let (first, last) = (at + 1_000, at + 1_000 + (tpot_us * 100.0) as u64);
        requests.extend((0..users).map(|_| request(0, [at, first, last], [prompt, 0, output])));
        at = last + 1_000;
    }
    let found = rows(&requests, &[], &Known::default());
    for (term, truth) in [("fixed", 10.0), ("sequence", 0.5), ("context", 0.1)] {
        let value = find(&found, "decode", term).value.unwrap();
        assert!((value / truth - 1.0).abs() < 1e-3, "{term}: {value} is not {truth}");
    }
    // One length only: more sequences are more context.
    let alike: Vec<RequestRecord> =
        requests.iter().filter(|record| record.prompt_tokens == Some(1_000)).cloned().collect();
    let alike = [alike.clone(), alike.clone(), alike].concat();
    assert!(find(&rows(&alike, &[], &Known::default()), "decode", "fixed").value.is_none());
}

#[test]
fn an_answer_tells_the_cost_of_a_token_unless_a_prompt_overlaps_more_than_its_very_ends() {
    // Five answers that take a second from first to last token, and a prompt beside each; how many count.
    let counted = |tokens, sent: i64, first: i64| {
        let beside = |at: i64| {
            let instant = |offset: i64| (at * 10_000_000 + offset) as u64;
            let answer = request(0, [instant(-1_000), instant(0), instant(1_000_000)], [100, 0, tokens]);
            [answer, request(0, [instant(sent), instant(first), instant(first)], [100, 0, 1])]
        };
        let requests: Vec<RequestRecord> = (1..=5).flat_map(beside).collect();
        find(&rows(&requests, &[], &Known::default()), "decode", "fixed").count
    };
    // A gap of 5 ms.
    for (sent, first, count) in [
        (-5_000, 4_900, 5),
        (-5_000, 5_100, 0),
        (995_100, 1_200_000, 5),
        (994_900, 1_200_000, 0),
        (400_000, 401_000, 0),
    ] {
        assert_eq!(counted(201, sent, first), count, "{sent} to {first}");
    }
    // One gap is the whole answer: a hundredth of it.
    for (sent, first, count) in [(-5_000, 9_900, 5), (-5_000, 10_100, 0), (400_000, 600_000, 0)] {
        assert_eq!(counted(2, sent, first), count, "{sent} to {first} of two tokens");
    }
}

#[test]
fn warm_and_cold_prompts_of_equal_length_are_compared() {
    let mut requests = Vec::new();
    for at in 0..6 {
        let sent = at * 1_000_000;
        requests.push(request(0, [sent, sent + 400_000, sent + 450_000], [8_000, 0, 5]));
        requests.push(request(0, [sent + 500_000, sent + 600_000, sent + 650_000], [8_100, 7_000, 5]));
    }
    let known = Known { steps: steps(&["both"]), ..Known::default() };
    let found = rows(&requests, &[], &known);
    assert_eq!(find(&found, "prefix", "warm_of_cold").value, Some(0.25));
    assert_eq!(find(&found, "prefix", "ttft_cold").value, Some(400.0));
    let found = rows(&requests[..4], &[], &known);
    assert!(find(&found, "prefix", "warm_of_cold").note.starts_with("not identifiable"));
}

/// Five answers of 20 ms a token, beside each a prefill of 2 s, with this longest gap.
fn disturbed(gap_ms: u64) -> Vec<RequestRecord> {
    let mut requests = Vec::new();
    for at in 0..5 {
        let sent = at * 10_000_000;
        let mut answer = request(0, [sent, sent + 50_000, sent + 9_000_000], [100, 0, 400]);
        answer.gaps.p50 = Some(Micros(20_000));
        answer.gaps.max = Some(Micros(gap_ms * 1_000));
        requests.push(answer);
        requests.push(request(0, [sent + 1_000_000, sent + 3_000_000, sent + 3_100_000], [60_000, 0, 4]));
    }
    requests
}

#[test]
fn answers_that_stand_still_beside_a_prefill_are_told_from_those_that_go_on() {
    let stopped = |gap_ms| {
        let found = rows(&disturbed(gap_ms), &[], &Known::default());
        find(&found, "interference", "stopped").clone()
    };
    assert_eq!(stopped(1_990).value, Some(1.0));
    assert!(stopped(1_990).note.starts_with("detected"));
    assert_eq!(stopped(250).value, Some(0.0));
    assert!(stopped(250).note.starts_with("absent"));
    let few = rows(&disturbed(250)[..4], &[], &Known::default());
    assert!(find(&few, "interference", "stopped").note.starts_with("not identifiable"));
}

#[test]
fn the_gap_without_is_that_of_answers_with_no_prompt_beside_them_not_even_in_part() {
    let without = |requests: &[RequestRecord]| {
        let found = rows(requests, &[], &Known::default());
        let row = find(&found, "interference", "gap_without");
        (row.value, row.count)
    };
    // The answers to the five long prompts have nothing beside them: three gaps of 25 ms each.
    assert_eq!(without(&disturbed(250)), (Some(25.0), 5));
    let prompt = |sent, first| {
        let mut prompt = request(0, [sent, first, first], [100, 0, 1]);
        (prompt.gaps.p50, prompt.gaps.max) = (None, None);
        prompt
    };
    // Beside each of those, a prompt that ends in it, one that begins in it, two around it, and one that fails.
    let mut requests = disturbed(250);
    let overlapping =
        [(-10_000, 10_000), (90_000, 200_000), (-10_000, 200_000), (-1, 101_000), (-10_000, 50_000)];
    for (at, (sent, first)) in (0..).zip(overlapping) {
        let answer = at * 10_000_000 + 3_000_000_i64;
        requests.push(prompt((answer + sent) as u64, (answer + first) as u64));
    }
    let failed = requests.last_mut().unwrap();
    (failed.outcome, failed.first_token, failed.last_token) = (Outcome::TimeoutFirstToken, None, None);
    assert_eq!(without(&requests), (None, 0));
    // One that is taken in as the answer begins, and one that is sent as it ends, are not beside it.
    let at = 60_000_000;
    requests.push(prompt(at - 5_000, at));
    requests.push(request(0, [at - 4_000, at, at + 90_000], [100, 0, 10]));
    requests.push(prompt(at + 90_000, at + 95_000));
    assert_eq!(without(&requests), (Some(9.0), 1));
}

/// The verdict over these requests: its value and note.
fn stopped(requests: &[RequestRecord]) -> (Option<f64>, String) {
    let found = rows(requests, &[], &Known::default());
    let row = find(&found, "interference", "stopped");
    (row.value, row.note.clone())
}

/// A prompt behind each of the long ones of [`disturbed`], which waits for it and is answered 6 s after its sending.
fn queued(requests: &[RequestRecord]) -> Vec<RequestRecord> {
    let long = requests.iter().filter(|record| record.prompt_tokens == Some(60_000));
    let behind = |record: &RequestRecord| {
        let sent = record.sent.unwrap().0 + 1_000;
        request(0, [sent, sent + 6_000_000, sent + 6_100_000], [60_000, 0, 4])
    };
    long.map(behind).collect()
}

#[test]
fn waiting_for_other_prompts_does_not_hide_that_answers_stand_still() {
    let mut requests = disturbed(1_990);
    requests.extend(queued(&requests));
    // A later phase has the answers with nothing beside them.
    requests.extend((0..5).map(|at| {
        request(
            1,
            [
                100_000_000 + at * 1_000_000,
                100_000_000 + at * 1_000_000 + 1_000,
                100_000_000 + at * 1_000_000 + 90_000,
            ],
            [100, 0, 10],
        )
    }));
    let (value, note) = stopped(&requests);
    assert!(value == Some(1.0) && note.starts_with("detected"), "{value:?} {note}");
}

#[test]
fn prompts_that_all_waited_tell_neither_of_stops_nor_of_their_absence() {
    let mut requests = disturbed(500);
    // Ahead of each long prompt a short one waits, so that none has its own time.
    let ahead = |at: u64| {
        request(
            0,
            [at * 10_000_000 + 999_000, at * 10_000_000 + 2_900_000, at * 10_000_000 + 2_950_000],
            [100, 0, 4],
        )
    };
    requests.extend((0..5).map(ahead));
    let (value, note) = stopped(&requests);
    assert!(value.is_none() && note.contains("is not known; add a phase with `load.closed = 1`"), "{note}");
}

#[test]
fn short_prompts_that_waited_long_are_not_long_ones() {
    let mut requests = disturbed(60);
    requests.iter_mut().for_each(|record| record.prompt_tokens = Some(600));
    // Alone it takes 25 ms: two seconds of it were waiting.
    let at = 200_000_000;
    requests.extend((0..9).map(|n| {
        request(
            1,
            [at + n * 1_000_000, at + n * 1_000_000 + 25_000, at + n * 1_000_000 + 125_000],
            [600, 0, 5],
        )
    }));
    let (value, note) = stopped(&requests);
    assert!(value.is_none() && note.contains("takes over 20 usual gaps"), "{value:?} {note}");
}

#[test]
fn stops_are_claimed_for_most_answers_only_and_against_quiet_ones() {
    let mut mixed = disturbed(1_990);
    mixed.extend(disturbed(250).into_iter().map(|mut record| {
        let later = |at: &mut Option<Micros>| *at = at.map(|at| Micros(at.0 + 100_000_000));
        let times = [&mut record.sent, &mut record.first_token, &mut record.last_token, &mut record.ended];
        times.into_iter().for_each(later);
        record
    }));
    let (value, note) = stopped(&mixed);
    assert!(value.is_none() && note.contains("some answers stand still"), "{note}");

    // The only answers with nothing beside them are those to the long prompts.
    let without_quiet = |longest_gap: Option<u64>| {
        let mut requests = disturbed(1_990);
        for record in requests.iter_mut().filter(|record| record.prompt_tokens == Some(60_000)) {
            record.gaps.max = longest_gap.map(Micros);
        }
        stopped(&requests)
    };
    let (value, note) = without_quiet(None);
    assert!(value.is_none() && note.contains("fewer than 5 have no prompt beside them"), "{note}");
    let (value, note) = without_quiet(Some(1_500_000));
    assert!(value.is_none() && note.contains("what else stops the server"), "{note}");
}

#[test]
fn prompts_that_fit_into_a_chunk_do_not_hide_that_longer_ones_are_cut() {
    let mut requests = disturbed(250);
    // Six answers beside a prompt of a thousand tokens, which is taken in whole.
    for at in 5..11 {
        let sent = at * 10_000_000;
        let mut answer = request(0, [sent, sent + 50_000, sent + 9_000_000], [100, 0, 400]);
        answer.gaps.p50 = Some(Micros(2_000));
        answer.gaps.max = Some(Micros(240_000));
        requests.push(answer);
        requests.push(request(0, [sent + 1_000_000, sent + 1_250_000, sent + 1_300_000], [1_000, 0, 4]));
    }
    let stopped = |requests: &[RequestRecord]| {
        find(&rows(requests, &[], &Known::default()), "interference", "stopped").value
    };
    assert_eq!(stopped(&requests), Some(0.0));
    assert_eq!(
        stopped(&requests[10..]),
        Some(1.0),
        "alone they cannot be told from prompts that are not cut"
    );
}

/// Phases of 10 s with so many users and output tokens.
fn ladder(rungs: &[(u32, f64)]) -> Vec<RequestRecord> {
    let mut requests = Vec::new();
    for (phase, (users, tokens)) in (0..).zip(rungs) {
        for user in 0..*users {
            let sent = u64::from(phase) * 10_000_000;
            let mut record = request(phase, [sent, sent + 10, sent + 20], [1_000, 0, 10]);
            record.user = Some(user);
            record.output_tokens_in_window = Some(tokens / f64::from(*users));
            requests.push(record);
        }
    }
    requests
}

#[test]
fn the_knee_is_the_last_step_that_pays_half() {
    let known = Known { steps: steps(&["a", "b", "c", "d"]), ..Known::default() };
    let found = rows(&ladder(&[(1, 100.0), (2, 195.0), (4, 320.0), (8, 350.0)]), &[], &known);
    let knee = find(&found, "knee", "load");
    assert_eq!((knee.value, knee.interval.high, knee.unit), (Some(4.0), Some(8.0), "users"));
    assert_eq!(knee.scope, "1000 tokens");
    let throughputs: Vec<f64> =
        found.iter().filter(|row| row.term == "output_throughput").filter_map(|row| row.value).collect();
    assert_eq!(throughputs, [10.0, 19.5, 32.0, 35.0]);
    assert_eq!(knee.interval.low, Some(4.0));
    let growing = rows(&ladder(&[(1, 100.0), (2, 195.0), (4, 320.0)]), &[], &known);
    assert!(find(&growing, "knee", "load").note.contains("still grows"));
    // A load that was tried twice is one step.
    let repeated = rows(&ladder(&[(2, 195.0), (4, 320.0), (4, 300.0), (8, 350.0)]), &[], &known);
    let knee = find(&repeated, "knee", "load");
    assert_eq!((knee.value, knee.interval.high), (Some(4.0), Some(8.0)));
    assert!(knee.note.starts_with("31 tokens/s; 100 % more load"), "{}", knee.note);
    let short = rows(&ladder(&[(1, 100.0), (2, 195.0)]), &[], &known);
    assert!(find(&short, "knee", "load").note.contains("at least 3 measured phases"));
}

#[test]
fn a_knee_at_the_lowest_load_may_lie_lower() {
    let known = Known { steps: steps(&["a", "b", "c"]), ..Known::default() };
    let found = rows(&ladder(&[(2, 100.0), (4, 110.0), (8, 115.0)]), &[], &known);
    let knee = find(&found, "knee", "load");
    assert_eq!((knee.value, knee.interval.low, knee.interval.high), (Some(2.0), None, Some(4.0)));
    assert!(knee.note.starts_with("at or below the lowest load tried; "), "{}", knee.note);
}

#[test]
fn graded_answers_are_counted_by_length_and_depth() {
    let graded = |depth, length_tokens, verdict| {
        let mut record = request(0, [0, 10, 20], [900, 0, 2]);
        record.planned.needle = Some(Needle { depth, length_tokens });
        let text = String::new;
        record.grade = Some(Grade { verdict, rule: text(), answer: text(), truth: text() });
        record
    };
    let requests = [
        graded(0.0, 1_024, Verdict::Right),
        graded(0.5, 1_024, Verdict::Right),
        graded(0.0, 4_096, Verdict::Wrong),
        graded(0.5, 4_096, Verdict::Right),
    ];
    let found = rows(&requests, &[], &Known::default());
    let shares: Vec<(&str, f64)> = found
        .iter()
        .filter(|row| row.analysis == "accuracy")
        .map(|row| (row.scope.as_str(), row.value.unwrap()))
        .collect();
    assert_eq!(shares, [("1024 tokens", 1.0), ("4096 tokens", 0.5), ("depth 0 %", 0.5), ("depth 50 %", 1.0)]);
}

#[test]
fn of_nothing_every_question_is_open_with_what_to_do() {
    let found = rows(&[], &[], &Known::default());
    assert!(found.len() >= 6);
    for row in &found {
        assert!(row.value.is_none() && row.note.starts_with("not identifiable: "), "{row:?}");
    }
}
