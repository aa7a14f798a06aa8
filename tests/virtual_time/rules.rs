//! Rules that stop a run, and what a stopped run leaves.

use tonnage::record::EndedBy;
use tonnage::run::Ending;
use tonnage::run::stop::Stop;

use crate::answer::{Answer, ms};
use crate::stage::{Play, Stage};

fn reason(play: &Play) -> String {
    match &play.ending {
        Ending::Stopped(Stop::Rule(reason)) => reason.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_run_in_which_more_than_half_of_the_last_hundred_fail_is_stopped() {
    let phase = "[[phase]]\nname = \"p\"\nduration = \"1m\"\nload.constant = \"100/s\"\n";
    // Fifty answers, then nothing but failures: the hundred and first request makes it 51 of the last hundred.
    let play = Stage::chat(phase).scripted(|asked| match asked.request {
        0..50 => Answer::tokens(ms(0), ms(0), 1),
        _ => Answer::status(500, ms(0)),
    });
    assert_eq!((play.rows.len(), play.ended("ok"), play.ended("http_error")), (101, 50, 51));
    assert_eq!(play.end_of(0), (1.0, EndedBy::Stop));
    assert_eq!(play.courses[0].unwrap().not_planned, 5_899);
    assert!(reason(&play).starts_with("51.0 % of the last 100 requests failed (limit 50.0 %)"));
    assert_eq!(play.found()[0], "stopped_by_errors");
    assert_eq!(play.findings[0].severity.name(), "invalid");
    assert_eq!(play.figure("p", "requests", "planned"), Some(101.0), "what was measured is kept");
}

#[test]
fn half_of_the_last_hundred_is_not_more_than_half() {
    let phase = "[[phase]]\nname = \"p\"\nduration = \"5s\"\nload.constant = \"100/s\"\n";
    let play = Stage::chat(phase).scripted(|asked| match asked.request % 2 {
        0 => Answer::tokens(ms(0), ms(0), 1),
        _ => Answer::status(500, ms(0)),
    });
    assert_eq!((play.ending, play.rows.len()), (Ending::Complete, 500));
}

#[test]
fn errors_in_a_row_stop_a_run_and_an_answer_between_them_does_not_count_on() {
    let phase =
        "[[phase]]\nname = \"p\"\nduration = \"9s\"\nload.constant = \"10/s\"\n[stop]\nerrors_in_a_row = 5\n";
    let play = Stage::chat(phase).scripted(|asked| match asked.request {
        4 | 30 => Answer::tokens(ms(0), ms(0), 1),
        0..30 if asked.request % 5 == 4 => Answer::tokens(ms(0), ms(0), 1),
        _ => Answer::status(503, ms(0)),
    });
    assert_eq!(play.rows.len(), 36);
    assert!(reason(&play).starts_with("5 requests failed one after another"));
    assert_eq!(play.end_of(0), (3.5, EndedBy::Stop));
}

#[test]
fn each_phase_is_judged_by_its_own_requests_and_no_other_begins_after_a_stop() {
    let phase = |name: &str| format!("[[phase]]\nname = \"{name}\"\nrequests = 60\nload.closed = 1\n");
    let phases = ["a", "b", "c"].map(phase).concat();
    // Sixty failures in each of the first two: never a hundred of one phase.
    let play = Stage::chat(&phases).scripted(|_| Answer::status(500, ms(0)));
    assert_eq!((&play.ending, play.rows.len()), (&Ending::Complete, 180));
    let rules = "[stop]\nerrors_in_a_row = 61\n";
    let play = Stage::chat(&format!("{phases}{rules}")).scripted(|_| Answer::status(500, ms(0)));
    assert_eq!(play.ending, Ending::Complete);
    let rules = "[stop]\nerrors_in_a_row = 60\n";
    let play = Stage::chat(&format!("{phases}{rules}")).scripted(|_| Answer::status(500, ms(0)));
    assert!(play.courses[1].is_none());
}

#[test]
fn a_server_that_does_not_keep_up_is_told_from_one_that_does() {
    let load = |rate: u32| {
        let phase = format!(
            "[[phase]]\nname = \"p\"\nduration = \"5m\"\nload.poisson = \"{rate}/s\"\n[stop]\nover_saturated = true\n"
        );
        // One request after another, 100 ms each: ten a second is all it can do.
        let free_at = std::cell::Cell::new(0_u64);
        Stage::chat(&phase).scripted(move |asked| {
            let begin = free_at.get().max(asked.at.0);
            free_at.set(begin + 100_000_000);
            Answer::tokens(std::time::Duration::from_nanos(begin + 90_000_000 - asked.at.0), ms(10), 2)
        })
    };
    let over = load(13);
    assert!(
        reason(&over).starts_with("requests in flight and times to first token grew"),
        "{}",
        reason(&over)
    );
    let (at, by) = over.end_of(0);
    assert!((at, by) == (at.round(), EndedBy::Stop) || at < 90.0, "stopped at {at} s");
    assert_eq!(load(7).ending, Ending::Complete);
}
