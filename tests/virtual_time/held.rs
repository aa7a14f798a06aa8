//! What is due while `max_in_flight` are open, under `when_full = "wait"`.

use tonnage::record::EndedBy;
use tonnage::run::stop::Stop;

use crate::answer::{Answer, ms};
use crate::stage::{Play, Stage};

fn held(bounds: &str) -> Stage {
    Stage::chat(&format!(
        "[[phase]]\nname = \"p\"\n{bounds}\n\
         load.constant = {{ rate = \"10/s\", max_in_flight = 1, when_full = \"wait\" }}\n"
    ))
}

fn table(play: &Play) -> Vec<[&str; 5]> {
    let cells = ["scheduled_s", "sent_s", "lag_ms", "held_ms", "outcome"];
    play.rows.iter().map(|row| cells.map(|name| &row[name])).collect()
}

#[test]
fn a_request_waits_for_a_place_and_its_latency_counts_from_its_due_time_too() {
    let play = held("requests = 3").scripted(|_| Answer::tokens(ms(240), ms(10), 2));
    let expected = [
        ["0.000000", "0.000000", "0.000", "", "ok"],
        ["0.100000", "0.250000", "150.000", "150.000", "ok"],
        ["0.200000", "0.500000", "300.000", "300.000", "ok"],
    ];
    assert_eq!(table(&play), expected);
    assert_eq!(play.column("e2e_scheduled_ms"), ["250.000", "400.000", "550.000"]);
    assert_eq!((play.peak, play.end_of(0), play.drained(0)), (1, (0.5, EndedBy::Requests), 0.75));
}

#[test]
fn what_was_held_at_the_end_goes_out_in_the_drain() {
    let play = held("duration = \"500ms\"").scripted(|_| Answer::tokens(ms(240), ms(10), 2));
    assert_eq!(play.column("scheduled_s"), ["0.000000", "0.100000", "0.200000", "0.300000", "0.400000"]);
    assert_eq!(play.column("sent_s"), ["0.000000", "0.250000", "0.500000", "0.750000", "1.000000"]);
    assert_eq!(play.column("measured"), ["true"; 5]);
    assert_eq!((play.end_of(0), play.drained(0)), ((0.5, EndedBy::Duration), 1.25));
}

#[test]
fn what_is_still_held_when_the_drain_ends_was_not_sent() {
    let play =
        held("duration = \"500ms\"\ndrain = \"400ms\"").scripted(|_| Answer::tokens(ms(240), ms(10), 2));
    assert_eq!(play.column("outcome"), ["ok", "ok", "ok", "cut_at_end", "not_sent"]);
    assert_eq!(&play.rows[4]["scheduled_s"], "0.400000");
    assert_eq!((&play.rows[4]["sent_s"], &play.rows[4]["lag_ms"]), ("", ""));
    assert_eq!(play.drained(0), 0.9);
    let count = |outcome| play.figure("p", "requests", outcome).unwrap();
    assert_eq!([count("planned"), count("sent"), count("not_sent")], [5.0, 4.0, 1.0]);
    // Three of four: the one that was not sent failed, the one that was cut is undecided.
    assert_eq!(play.figure("p", "success", "value"), Some(0.75));
}

#[test]
fn after_a_stop_what_was_due_and_held_was_not_sent_and_what_was_not_due_is_counted() {
    let stage = held("duration = \"1s\"").stop(ms(420), Stop::Drain);
    let play = stage.scripted(|_| Answer::tokens(ms(240), ms(10), 2));
    assert_eq!(play.column("outcome"), ["ok", "ok", "not_sent", "not_sent", "not_sent"]);
    assert_eq!((play.end_of(0), play.drained(0)), ((0.42, EndedBy::Signal), 0.5));
    assert_eq!(play.courses[0].unwrap().not_planned, 5, "due at 0.5 to 0.9 s");
    assert_eq!(play.figure("p", "success", "value"), Some(1.0), "undecided after a stop");
}

#[test]
fn c074_a_schedule_that_the_server_cannot_keep_shows_in_both_latencies() {
    let phase = "[[phase]]\nname = \"p\"\nduration = \"10s\"\n\
                 load.constant = { rate = \"50/s\", max_in_flight = 5, when_full = \"wait\" }\n";
    let play = Stage::chat(phase).scripted(|_| Answer::tokens(ms(190), ms(10), 2));
    assert_eq!((play.rows.len(), play.ended("ok"), play.peak), (500, 500, 5));
    assert_eq!(play.figure("p", "e2e", "max"), Some(200.0));
    // Twenty-five a second: the last, due at 9.98 s, goes out at 19.8 s and is over 0.2 s later.
    assert!(play.figure("p", "e2e_scheduled", "max").unwrap() > 9_000.0);
    assert!(play.found().contains(&"rate_not_reached"), "{:?}", play.found());
}

#[test]
fn after_a_stop_in_an_open_loop_later_arrivals_are_counted_and_not_planned() {
    let phase = "[[phase]]\nname = \"p\"\nduration = \"10s\"\nload.constant = \"10/s\"\n";
    let play =
        Stage::chat(phase).stop(ms(1_050), Stop::Drain).scripted(|_| Answer::tokens(ms(10), ms(10), 2));
    assert_eq!((play.rows.len(), play.courses[0].unwrap().not_planned), (11, 89));
    let phase = "[[phase]]\nname = \"p\"\nrequests = 40\nload.closed = 2\n";
    let play = Stage::chat(phase).stop(ms(1_050), Stop::Now).scripted(|_| Answer::tokens(ms(90), ms(10), 2));
    assert_eq!((play.rows.len() as u64, play.courses[0].unwrap().not_planned), (22, 18));
    // A closed loop without a number: what would have come was for the server to decide.
    let phase = "[[phase]]\nname = \"p\"\nduration = \"9s\"\nload.closed = 2\n";
    let play = Stage::chat(phase).stop(ms(1_050), Stop::Now).scripted(|_| Answer::tokens(ms(90), ms(10), 2));
    assert_eq!(play.courses[0].unwrap().not_planned, 0);
}
