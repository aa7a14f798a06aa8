//! Stops: what runs on, what is cut, and what is never begun.

use tonnage::record::EndedBy;
use tonnage::run::Ending;
use tonnage::run::stop::Stop;

use crate::answer::{Answer, ms};
use crate::stage::Stage;

const TWO_PHASES: &str = "[[phase]]\nname = \"a\"\nduration = \"1m\"\nload.constant = \"1/s\"\n\
                          [[phase]]\nname = \"b\"\nduration = \"1m\"\nload.constant = \"1/s\"\n";

#[test]
fn a_first_stop_offers_no_more_and_lets_what_runs_go_on_for_two_seconds() {
    let stage = Stage::chat(TWO_PHASES).stop(ms(4_500), Stop::Drain);
    // Requests 0 to 4 at 0 to 4 s; request 3 ends 1.6 s after the stop, request 4 would 2.6 s after it.
    let play = stage.scripted(|_| Answer::tokens(ms(1_000), ms(2_100), 2));
    assert_eq!(play.column("outcome"), ["ok", "ok", "ok", "ok", "cancelled"]);
    assert_eq!(&play.rows[3]["ended_s"], "6.100000");
    assert_eq!(&play.rows[4]["ended_s"], "6.500000");
    assert_eq!(&play.rows[4]["first_token_s"], "5.000000");
    assert_eq!(play.ending, Ending::Stopped(Stop::Drain));
    assert_eq!((play.end_of(0), play.drained(0)), ((4.5, EndedBy::Signal), 6.5));
    assert_eq!(play.courses[0].unwrap().window_end.unwrap().as_s(), 4.5, "the window is cut");
    assert!(play.courses[1].is_none());
    assert_eq!(play.figure("a", "success", "value"), Some(1.0), "a cancelled row is undecided");
    assert_eq!(play.figure("a", "offered_rate", "value"), Some(5.0 / 4.5));
}

#[test]
fn a_stop_with_nothing_in_flight_ends_at_once() {
    let stage = Stage::chat(TWO_PHASES).stop(ms(4_500), Stop::Drain);
    let play = stage.scripted(|_| Answer::tokens(ms(100), ms(10), 2));
    assert_eq!((play.ended("ok"), play.rows.len(), play.drained(0)), (5, 5, 4.5));
}

#[test]
fn a_stop_now_cuts_at_once() {
    let stage = Stage::chat(TWO_PHASES).stop(ms(4_500), Stop::Now);
    let play = stage.scripted(|_| Answer::tokens(ms(2_000), ms(10), 2));
    assert_eq!(play.column("outcome"), ["ok", "ok", "ok", "cancelled", "cancelled"]);
    assert_eq!((play.drained(0), &play.ending), (4.5, &Ending::Stopped(Stop::Now)));
}

#[test]
fn a_second_stop_ends_the_patience_of_the_first() {
    let stage = Stage::chat(TWO_PHASES).stop(ms(4_500), Stop::Drain).stop(ms(5_250), Stop::Now);
    let play = stage.scripted(|_| Answer::tokens(ms(30_000), ms(10), 2));
    assert_eq!((play.ended("cancelled"), play.drained(0)), (5, 5.25));
}

#[test]
fn a_stop_while_a_phase_drains_keeps_its_end_and_begins_no_other() {
    let phases = TWO_PHASES.replace("1m", "3s");
    let stage = Stage::chat(&phases).stop(ms(10_000), Stop::Drain);
    let play = stage.scripted(|_| Answer::tokens(ms(30_000), ms(10), 2));
    assert_eq!((play.end_of(0), play.drained(0)), ((3.0, EndedBy::Duration), 12.0));
    assert_eq!(play.ended("cancelled"), 3);
    assert!(play.courses[1].is_none());
}

#[test]
fn a_stop_in_a_closed_loop_takes_no_further_session() {
    let phases = "[[phase]]\nname = \"a\"\nduration = \"1m\"\nload.closed = 3\n";
    let stage = Stage::chat(phases).stop(ms(950), Stop::Failed("the disk is full".into()));
    let play = stage.scripted(|_| Answer::tokens(ms(200), ms(100), 2));
    assert_eq!((play.rows.len(), play.ended("ok")), (12, 12));
    assert_eq!((play.end_of(0), play.drained(0)), ((0.95, EndedBy::Stop), 1.2));
    assert_eq!(play.ending, Ending::Stopped(Stop::Failed("the disk is full".into())));
}

#[test]
fn a_stop_before_the_window_leaves_figures_empty_and_rows_whole() {
    let phases = "[[phase]]\nname = \"a\"\nwarm_up = \"30s\"\nduration = \"1m\"\nload.constant = \"1/s\"\n";
    let stage = Stage::chat(phases).stop(ms(4_500), Stop::Drain);
    let play = stage.scripted(|_| Answer::tokens(ms(200), ms(100), 2));
    assert_eq!(play.column("measured"), ["false"; 5]);
    for metric in ["offered_rate", "achieved_rate", "output_throughput", "request_throughput", "success"] {
        assert_eq!(play.figure("a", metric, "value"), None, "{metric}");
    }
    assert_eq!(play.figure("a", "requests", "ok"), Some(5.0));
}
