//! What happens between the last send of a phase and the first of the next, and at `max_in_flight`.

use std::time::Duration;

use tonnage::record::EndedBy;

use crate::answer::{Answer, ms};
use crate::stage::Stage;

#[test]
fn without_a_drain_limit_every_request_is_waited_for_and_the_next_phase_starts_then() {
    let stage = Stage::chat(
        "[[phase]]\nname = \"a\"\nduration = \"1s\"\nload.constant = \"2/s\"\n\
         [[phase]]\nname = \"b\"\nrequests = 1\nload.constant = \"2/s\"\n",
    );
    let play = stage.scripted(|asked| Answer::tokens(ms(20_000 + asked.request), ms(1), 2));
    assert_eq!(play.ended("ok"), 3);
    assert_eq!(play.end_of(0), (1.0, EndedBy::Duration));
    // Request 1 was sent at 0.5 s and its last token came 20.002 s later.
    assert_eq!(play.drained(0), 20.502);
    assert_eq!(&play.rows[2]["scheduled_s"], "20.502000");
}

#[test]
fn c084_a_drain_limit_adds_to_the_duration_and_is_not_waited_for_in_vain() {
    let phase = "[[phase]]\nname = \"p\"\nduration = \"5s\"\ndrain = \"10s\"\nload.constant = \"1/s\"\n";
    let play = Stage::chat(phase).scripted(|_| Answer::tokens(ms(1_000), ms(1_000), 2));
    assert_eq!((play.ended("ok"), play.drained(0)), (5, 6.0));
    let play = Stage::chat(phase).scripted(|_| Answer::tokens(ms(30_000), ms(10), 2));
    assert_eq!((play.ended("cut_at_end"), play.drained(0)), (5, 15.0));
    assert_eq!(play.column("ended_s"), ["15.000000"; 5]);
    assert_eq!(play.figure("p", "success", "value"), None, "none of them says anything of the server");
    assert!(play.found().contains(&"unfinished"));
}

#[test]
fn c081_a_row_that_is_cut_keeps_what_it_had() {
    let phase = "[[phase]]\nname = \"p\"\nduration = \"10s\"\ndrain = \"1s\"\nload.constant = \"10/s\"\n";
    let play = Stage::chat(phase).scripted(|asked| match asked.request % 20 {
        19 => Answer::new().role().at(ms(50)).token().at(ms(150)).token().at(ms(30_000)).token(),
        _ => Answer::tokens(ms(30), ms(20), 2),
    });
    assert_eq!((play.ended("ok"), play.ended("cut_at_end")), (95, 5));
    let cut = &play.rows[19];
    let cells = [
        "sent_s",
        "first_token_s",
        "last_token_s",
        "ended_s",
        "ttft_ms",
        "e2e_ms",
        "events",
        "output_tokens",
    ]
    .map(|column| &cut[column]);
    assert_eq!(cells, ["1.900000", "1.950000", "2.050000", "11.000000", "50.000", "", "2", ""]);
    assert_eq!((&cut["gap_max_ms"], &cut["http_status"], &cut["measured"]), ("100.000", "200", "true"));
    assert_eq!(play.figure("p", "measured_requests", "cut_at_end"), Some(5.0));
    assert_eq!(play.figure("p", "uncounted_requests", "value"), Some(5.0), "their usage never came");
}

#[test]
fn a_drain_of_no_time_cuts_at_the_phases_end() {
    let phase = "[[phase]]\nname = \"p\"\nduration = \"1s\"\ndrain = \"0s\"\nload.constant = \"4/s\"\n";
    let play = Stage::chat(phase).scripted(|_| Answer::tokens(ms(100), ms(100), 4));
    assert_eq!(play.column("outcome"), ["ok", "ok", "ok", "cut_at_end"]);
    assert_eq!(play.drained(0), 1.0);
}

#[test]
fn a_drain_counts_from_the_last_send_of_a_phase_that_ends_by_count() {
    let phase = "[[phase]]\nname = \"p\"\nrequests = 2\ndrain = \"1s\"\nload.closed = 2\n";
    let play = Stage::chat(phase).scripted(|_| Answer::tokens(ms(5_000), ms(1), 2));
    assert_eq!(play.end_of(0), (0.0, EndedBy::Requests));
    assert_eq!((play.ended("cut_at_end"), play.drained(0)), (2, 1.0));
}

#[test]
fn c080_a_backlog_never_leaks_into_the_next_phase() {
    let stage = Stage::chat(
        "[[phase]]\nname = \"a\"\nduration = \"5s\"\nload.constant = { rate = \"500/s\", max_in_flight = 20 }\n\
         [[phase]]\nname = \"b\"\nduration = \"5s\"\nload.constant = \"10/s\"\n",
    );
    let play = stage.scripted(|_| Answer::tokens(Duration::from_micros(99_500), ms(0), 1));
    let (a, b) = (play.phase("a"), play.phase("b"));
    assert_eq!((a.len(), b.len()), (2_500, 50));
    // Twenty at 0, 2, … 38 ms, then none until the first has ended at 99.5 ms: twenty every 100 ms.
    let count = |outcome: &str| a.iter().filter(|row| &row["outcome"] == outcome).count();
    assert_eq!((count("ok"), count("dropped")), (1_000, 1_500));
    assert_eq!(play.peak, 20);
    assert_eq!(play.drained(0), 5.0375);
    for (i, row) in b.iter().enumerate() {
        assert_eq!(row["sent_s"], format!("{:.6}", 5.0375 + i as f64 / 10.0));
        assert_eq!((&row["outcome"], &row["lag_ms"]), ("ok", "0.000"));
    }
}

#[test]
fn c085_what_is_due_at_the_limit_is_dropped_counted_and_warned_of_once() {
    let phase = "[[phase]]\nname = \"p\"\nduration = \"10s\"\nload.constant = { rate = \"20/s\", max_in_flight = 2 }\n";
    let play = Stage::chat(phase).scripted(|_| Answer::tokens(ms(990), ms(0), 1));
    assert_eq!(play.rows.len(), 200);
    // Two at the begin of each second.
    assert_eq!((play.ended("ok"), play.ended("dropped")), (20, 180));
    for (i, row) in play.rows.iter().enumerate() {
        assert_eq!(row["scheduled_s"], format!("{:.6}", i as f64 / 20.0));
        let is_sent = i % 20 < 2;
        assert_eq!((!row["sent_s"].is_empty(), &row["measured"]), (is_sent, "true"));
        assert_eq!(&row["outcome"], if is_sent { "ok" } else { "dropped" });
        assert_eq!(&row["lag_ms"], if is_sent { "0.000" } else { "" });
    }
    assert_eq!(play.figure("p", "offered_rate", "value"), Some(20.0));
    assert_eq!(play.figure("p", "achieved_rate", "value"), Some(2.0));
    assert_eq!(play.figure("p", "requests", "planned"), Some(200.0));
    assert_eq!(play.figure("p", "requests", "sent"), Some(20.0));
    assert_eq!(play.figure("p", "success", "value"), Some(0.1));
    assert_eq!(play.found(), ["few_answers", "dropped"]);
    assert_eq!(play.findings[1].count, 180);
    assert_eq!(play.timeline.iter().map(|second| second.dropped).sum::<u64>(), 180);
}

#[test]
fn c162_a_server_that_never_answers_fills_the_places_and_no_more() {
    let phase = "[[phase]]\nname = \"p\"\nduration = \"5s\"\ndrain = \"1s\"\n\
                 load.constant = { rate = \"1000/s\", max_in_flight = 100 }\n";
    let play = Stage::chat(phase).scripted(|_| Answer::new());
    assert_eq!((play.rows.len(), play.peak), (5_000, 100));
    assert_eq!((play.ended("cut_at_end"), play.ended("dropped")), (100, 4_900));
    assert_eq!(play.drained(0), 6.0);
    assert_eq!(play.findings.iter().find(|finding| finding.kind.name() == "dropped").unwrap().count, 4_900);
}

#[test]
fn c162_a_minute_of_a_thousand_a_second_unanswered_is_counted_to_the_last_request() {
    let phase = "[[phase]]\nname = \"p\"\nduration = \"60s\"\ndrain = \"1s\"\n\
                 load.constant = { rate = \"1000/s\", max_in_flight = 500 }\n";
    let play = Stage::chat(phase).scripted(|_| Answer::new());
    assert_eq!((play.rows.len(), play.peak), (60_000, 500));
    assert_eq!((play.ended("cut_at_end"), play.ended("dropped")), (500, 59_500));
    // Every row is whole and stands once, with the time it was due.
    for (index, row) in play.rows.iter().enumerate() {
        assert_eq!(row["request"], index.to_string());
        assert_eq!(row["scheduled_s"], format!("{}.{:03}000", index / 1_000, index % 1_000));
    }
    let dropped = play.timeline.iter().map(|second| second.dropped).collect::<Vec<_>>();
    assert_eq!(dropped[..61], [&[500][..], &[1_000; 59], &[0]].concat());
    assert_eq!(play.drained(0), 61.0);
}

#[test]
fn c073_gaps_far_below_a_millisecond_are_kept() {
    let phase = "[[phase]]\nname = \"p\"\nduration = \"1s\"\nload.constant = \"5000/s\"\n";
    let play = Stage::chat(phase).scripted(|_| Answer::tokens(Duration::from_micros(50), ms(0), 1));
    assert_eq!((play.ended("ok"), play.figure("p", "achieved_rate", "value")), (5_000, Some(5_000.0)));
    assert_eq!(&play.rows[4_999]["sent_s"], "0.999800");
    assert!(play.column("lag_ms").iter().all(|lag| *lag == "0.000"));
}
