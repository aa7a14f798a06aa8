//! Whether the right thing is told of answers: stories of phases, and what is found.

use super::*;
use crate::record::{Grade, Needle, RequestRecord};
use crate::stats::test_rows::ok;
use crate::stats::{PhaseSetup, RowEvents, Slo, SummaryRow, Window, WorkloadSetup};
use crate::units::Micros;

/// A fold of phases that count, each 1,000 s long, one after another.
fn fold(phases: &[&str]) -> Fold {
    fold_of(phases, &["problems"])
}

fn fold_of(phases: &[&str], workloads: &[&str]) -> Fold {
    let setup = |name: &&str| PhaseSetup { name: (*name).to_owned(), counts: true, open_loop: true };
    let workload = |name: &&str| WorkloadSetup {
        name: (*name).to_owned(),
        slo: Slo::default(),
        exact_output: false,
        scored: true,
        cold: false,
    };
    let mut fold =
        Fold::new(None, None, phases.iter().map(setup).collect(), workloads.iter().map(workload).collect());
    for (phase, _) in (0..).zip(phases) {
        let start = u64::from(phase) * 1_000_000_000;
        fold.set_window(
            phase,
            Window { start: Some(Micros(start)), end: Some(Micros(start + 1_000_000_000)) },
        );
    }
    fold
}

/// A checked answer to request `number`, one a second, each a tenth of a second long.
fn answer(number: u64, verdict: Verdict, prompt_tokens: u64) -> RequestRecord {
    let sent_ms = number * 1_000;
    let mut record = ok(sent_ms, sent_ms + 50, sent_ms + 100, 20);
    record.planned.request = number;
    record.prompt_tokens = Some(prompt_tokens);
    record.grade =
        Some(Grade { verdict, rule: "hashes".to_owned(), answer: "72".to_owned(), truth: "72".to_owned() });
    record
}

/// An even mix: `hits` of ten are hits, spread over time.
fn among_ten(number: u64, hits: u64) -> bool {
    number * 7 % 10 < hits
}

fn verdict(is_right: bool) -> Verdict {
    if is_right { Verdict::Right } else { Verdict::Wrong }
}

fn kinds(fold: &Fold) -> Vec<&'static str> {
    fold.answer_findings(&Thresholds::default()).iter().map(|finding| finding.kind.name()).collect()
}

fn figure(rows: &[SummaryRow], metric: &str, statistic: &str) -> SummaryRow {
    let is_it = |row: &&SummaryRow| {
        (row.phase.as_str(), row.workload.as_str(), row.metric, row.statistic)
            == (ALL, ALL, metric, statistic)
    };
    rows.iter().find(is_it).unwrap().clone()
}

#[test]
fn c152_accuracy_is_told_by_finish_reason_beside_the_truncated_share() {
    let mut fold = fold(&["steady"]);
    for number in 0..200 {
        let cut = number % 2 == 1;
        let mut record = answer(number, if cut { Verdict::NoAnswer } else { Verdict::Right }, 100);
        record.finish_reason = Some(if cut { "length" } else { "stop" }.to_owned());
        fold.add(&record, RowEvents::default());
    }
    let summary = fold.summary();
    let of = |metric, statistic| figure(&summary, metric, statistic).value;
    assert_eq!(
        (of("accuracy", "value"), of("accuracy", "stop"), of("accuracy", "length")),
        (Some(0.5), Some(1.0), Some(0.0))
    );
    assert_eq!(
        (of("verdicts", "right"), of("verdicts", "wrong"), of("verdicts", "no_answer")),
        (Some(100.0), Some(0.0), Some(100.0))
    );
    assert_eq!(of("no_answer_share", "value"), Some(0.5));
    assert_eq!(of("finish_reason_share", "length"), Some(0.5));
    assert_eq!(of("correct_goodput", "value"), Some(0.1), "100 right answers in 1,000 s");
    let accuracy = figure(&summary, "accuracy", "value");
    assert!(
        accuracy.ci_low.is_some_and(|low| low > 0.40) && accuracy.ci_high.is_some_and(|high| high < 0.60)
    );
    assert_eq!(kinds(&fold), ["no_answer", "not_right_truncated"]);
    let cells: Vec<_> = fold
        .accuracy()
        .into_iter()
        .map(|row| (row.finish_reason, row.right, row.no_answer, row.truncated, row.accuracy))
        .collect();
    assert_eq!(cells, [(ALL, 100, 100, 100, 0.5), ("stop", 100, 0, 0, 1.0), ("length", 0, 100, 100, 0.0)]);
}

#[test]
fn what_was_not_checked_has_no_accuracy_and_is_counted() {
    let mut fold = fold(&["steady"]);
    for number in 0..30 {
        fold.add(&RequestRecord { grade: None, ..answer(number, Verdict::Right, 100) }, RowEvents::default());
    }
    let summary = fold.summary();
    assert_eq!(figure(&summary, "accuracy", "value").value, None);
    assert_eq!(figure(&summary, "correct_goodput", "value").value, Some(0.0));
    assert_eq!(figure(&summary, "unchecked_requests", "value").value, Some(30.0));
    assert_eq!((fold.accuracy(), kinds(&fold)), (Vec::new(), vec!["unchecked"]));
}

#[test]
fn a_right_answer_that_missed_a_limit_is_no_correct_goodput() {
    let mut fold = fold(&["steady"]);
    for number in 0..100 {
        let slo_met = Some(number % 4 != 0);
        fold.add(&RequestRecord { slo_met, ..answer(number, Verdict::Right, 100) }, RowEvents::default());
    }
    assert_eq!(figure(&fold.summary(), "correct_goodput", "value").value, Some(0.075));
}

#[test]
fn accuracy_is_kept_by_length_and_depth() {
    let mut fold = fold(&["steady"]);
    for number in 0..400 {
        let (length_tokens, depth) =
            ([4_096, 8_192][number as usize % 2], [0.0, 0.5][number as usize / 2 % 2]);
        let mut record = answer(number, verdict(depth == 0.0 || number % 3 > 0), 5_000);
        record.planned.needle = Some(Needle { depth, length_tokens });
        fold.add(&record, RowEvents::default());
    }
    fold.add(&answer(400, Verdict::NoAnswer, 300), RowEvents::default());
    let rows: Vec<_> = fold.accuracy().into_iter().filter(|row| row.finish_reason == ALL).collect();
    let cells: Vec<_> =
        rows.iter().map(|row| (row.length, row.depth, row.right, row.wrong, row.no_answer)).collect();
    assert_eq!(
        cells,
        [
            (Some(512), None, 0, 0, 1),
            (Some(4_096), Some(0.0), 100, 0, 0),
            (Some(4_096), Some(0.5), 67, 33, 0),
            (Some(8_192), Some(0.0), 100, 0, 0),
            (Some(8_192), Some(0.5), 66, 34, 0),
        ]
    );
    assert_eq!(rows[0].interval, Interval { low: Some(0.0), high: rows[0].interval.high });
    assert!(rows[2].interval.low < Some(0.67) && rows[2].interval.high > Some(0.67));
}

#[test]
fn a_fall_with_length_is_found() {
    let mut fold = fold(&["steady"]);
    for number in 0..600 {
        let long = number % 2 == 1;
        let hits = if long { 6 } else { 9 };
        fold.add(
            &answer(number, verdict(among_ten(number / 2, hits)), if long { 8_000 } else { 500 }),
            RowEvents::default(),
        );
    }
    let findings = fold.answer_findings(&Thresholds::default());
    assert_eq!(kinds(&fold), ["accuracy_falls_with_length"]);
    let shown = findings[0].to_string();
    assert!(
        shown.starts_with("60.0 % of answers to the longest third of prompts are right, 90.0 %"),
        "{shown}"
    );
}

#[test]
fn what_falls_because_answers_were_cut_is_told_as_that() {
    let mut fold = fold(&["steady"]);
    for number in 0..600 {
        let long = number % 2 == 1;
        let cut = long && among_ten(number / 2, 4);
        let is_right = !cut && among_ten(number / 2, 9);
        let mut record = answer(number, verdict(is_right), if long { 8_000 } else { 500 });
        record.finish_reason = Some(if cut { "length" } else { "stop" }.to_owned());
        fold.add(&record, RowEvents::default());
    }
    assert_eq!(kinds(&fold), ["not_right_truncated"]);
}

#[test]
fn a_fall_with_load_is_found_across_phases() {
    let mut fold = fold(&["one", "many"]);
    for number in 0..2_000 {
        let busy = number >= 1_000;
        let mut record = answer(number, verdict(among_ten(number, if busy { 7 } else { 9 })), 100);
        record.planned.phase = u32::from(busy);
        if busy {
            record.ended = record.sent.map(|sent| Micros(sent.0 + 20_000_000));
        }
        fold.add(&record, RowEvents::default());
    }
    assert_eq!(kinds(&fold), ["accuracy_falls_with_load"]);
    assert_eq!(fold.answer_findings(&Thresholds::default())[0].phase, ALL);
}

#[test]
fn answers_that_stop_answering_in_long_prompts_are_found() {
    let mut fold = fold(&["steady"]);
    for number in 0..600 {
        let long = number % 2 == 1;
        let is_right = !long || among_ten(number / 2, 7);
        let verdict = if is_right { Verdict::Right } else { Verdict::NoAnswer };
        fold.add(&answer(number, verdict, if long { 8_000 } else { 500 }), RowEvents::default());
    }
    assert_eq!(kinds(&fold), ["no_answer", "accuracy_falls_with_length", "no_answer_rises_with_length"]);
}

/// Three phases, of 300 answers each, in which ever more is in flight; `verdict` of a phase and a number.
fn rising(mut verdict: impl FnMut(u32, u64) -> Verdict) -> Fold {
    let mut fold = fold(&["one", "two", "three"]);
    for phase in 0..3 {
        for of_phase in 0..300 {
            let mut record = answer(u64::from(phase) * 1_000 + of_phase, verdict(phase, of_phase), 100);
            record.planned.phase = phase;
            // Each fifth comes while nothing else is open, whatever the phase.
            let long = if of_phase % 30 < 24 { phase * 6 } else { 0 };
            record.ended = record.sent.map(|sent| Micros(sent.0 + u64::from(long) * 1_000_000 + 100_000));
            fold.add(&record, RowEvents::default());
        }
    }
    fold
}

#[test]
fn a_step_from_phase_to_phase_does_not_count_as_likeness_of_neighbours() {
    let fall = rising(|phase, number| verdict(among_ten(number, 10 - 2 * u64::from(phase))));
    assert_eq!(kinds(&fall), ["accuracy_falls_with_load"]);
    let silence =
        rising(
            |phase, number| {
                if among_ten(number, 9 - 2 * u64::from(phase)) { Verdict::Right } else { Verdict::NoAnswer }
            },
        );
    assert_eq!(
        kinds(&silence),
        ["no_answer", "no_answer", "no_answer", "accuracy_falls_with_load", "no_answer_rises_with_load"]
    );
}

/// A server that is wrong for spells of 20 answers, as often at any load: 300 of them are worth few.
#[test]
fn spells_of_wrong_answers_are_not_taken_for_a_fall_with_load() {
    let mut found = 0;
    for seed in 0..300 {
        let mut stream = crate::seed::Seed(seed).stream("answers", "");
        let mut is_right = true;
        let fold = rising(|_, number| {
            if number % 20 == 0 {
                is_right = stream.unit() < 0.5;
            }
            verdict(is_right)
        });
        found += kinds(&fold).len();
    }
    assert!(found <= 3, "{found} of 300");
}

/// At a level accuracy one run in a thousand is told to fall with load, at most.
#[test]
fn chance_is_not_taken_for_a_fall_with_load() {
    let mut found = 0;
    for seed in 0..600 {
        let mut stream = crate::seed::Seed(seed).stream("answers", "");
        found += kinds(&rising(|_, _| verdict(stream.unit() < 0.7))).len();
    }
    assert!(found <= 3, "{found} of 600");
}

#[test]
fn hard_workloads_of_long_prompts_are_no_fall_with_length() {
    let mut fold = fold_of(&["steady"], &["problems", "documents"]);
    for number in 0..800 {
        let is_hard = number % 2 == 1;
        let length = if is_hard { 8_000 } else { 500 } + number % 7;
        let mut record = answer(number, verdict(among_ten(number / 2, if is_hard { 4 } else { 9 })), length);
        record.planned.workload = u32::from(is_hard);
        fold.add(&record, RowEvents::default());
    }
    assert_eq!(kinds(&fold), [""; 0]);
}

/// Needles at eleven depths, so many of ten found at each.
fn needles(hits: impl Fn(u64) -> u64) -> Fold {
    let mut fold = fold(&["steady"]);
    for number in 0..660 {
        let depth = number % 11;
        let mut record = answer(number, verdict(among_ten(number / 11, hits(depth))), 4_000);
        record.planned.needle = Some(Needle { depth: depth as f64 / 10.0, length_tokens: 4_096 });
        fold.add(&record, RowEvents::default());
    }
    fold
}

#[test]
fn needles_lost_at_one_depth_are_found() {
    assert_eq!(kinds(&needles(|_| 8)), [""; 0]);
    let lost = needles(|depth| if depth == 5 { 4 } else { 9 });
    assert_eq!(kinds(&lost), ["accuracy_falls_with_depth"]);
    let shown = lost.answer_findings(&Thresholds::default())[0].to_string();
    assert!(
        shown.starts_with(
            "40.0 % of answers are right where the needle lay at the worst depth, 90.0 % elsewhere"
        ),
        "{shown}"
    );
}

/// The worst of many depths is bad by chance: the more depths, the more it takes.
#[test]
fn the_worst_of_many_depths_by_chance_is_not_taken_for_a_fall() {
    let mut found = 0;
    for seed in 0..600 {
        let mut stream = crate::seed::Seed(seed).stream("answers", "");
        let mut fold = fold(&["steady"]);
        for number in 0..660 {
            let mut record = answer(number, verdict(stream.unit() < 0.7), 4_000);
            record.planned.needle = Some(Needle { depth: (number % 11) as f64 / 10.0, length_tokens: 4_096 });
            fold.add(&record, RowEvents::default());
        }
        found += kinds(&fold).len();
    }
    assert!(found <= 3, "{found} of 600");
}

/// A fall is told of one in a thousand runs without any.
#[test]
fn chance_is_not_taken_for_a_fall() {
    let mut found = 0;
    for seed in 0..400 {
        let mut stream = crate::seed::Seed(seed).stream("answers", "");
        let mut fold = fold(&["steady"]);
        for number in 0..300 {
            let (is_right, length) = (stream.unit() < 0.8, 50 + stream.below(10_000));
            fold.add(&answer(number, verdict(is_right), length), RowEvents::default());
        }
        found += kinds(&fold).len();
    }
    assert!(found <= 3, "{found} of 400");
}

#[test]
fn answers_that_differ_from_the_first_are_found() {
    let mut fold = fold(&["steady"]);
    for number in 0..100 {
        let consistent = (number >= 50).then_some(number != 77);
        fold.add(&RequestRecord { consistent, ..answer(number, Verdict::Right, 100) }, RowEvents::default());
    }
    let consistency = figure(&fold.summary(), "consistency", "value");
    assert_eq!((consistency.value, consistency.count), (Some(0.98), 50));
    assert_eq!(kinds(&fold), ["inconsistent"]);
}
