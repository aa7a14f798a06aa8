//! Closed loops: as many requests in flight as users, each due when its user was free.

use tonnage::record::EndedBy;

use crate::answer::{Answer, ms};
use crate::stage::Stage;

#[test]
fn c155_every_user_has_a_request_in_flight_all_the_time() {
    let stage = Stage::chat("[[phase]]\nname = \"p\"\nduration = \"10s\"\nload.closed = 300\n");
    let play = stage.scripted(|_| Answer::tokens(ms(990), ms(10), 2));
    assert_eq!((play.peak, play.rows.len(), play.ended("ok")), (300, 3_000, 3_000));
    assert_eq!(play.timeline[..10].iter().map(|second| second.in_flight).min(), Some(300));
    for user in 0..300 {
        let user = user.to_string();
        let sent: Vec<_> =
            play.rows.iter().filter(|row| row["user"] == user).map(|row| &row["sent_s"]).collect();
        assert_eq!(sent.len(), 10);
        assert!(sent.iter().enumerate().all(|(i, at)| **at == format!("{i}.000000")));
    }
}

#[test]
fn a_request_is_due_when_its_user_was_free_and_none_is_sent_after_the_duration() {
    let stage =
        Stage::chat("[[phase]]\nname = \"p\"\nduration = \"1s\"\nwarm_up = \"200ms\"\nload.closed = 2\n");
    let play = stage.scripted(|asked| Answer::tokens(ms(100 * (1 + asked.request % 3)), ms(50), 2));
    // User 0: 150 → 350 → …; user 1: 250 → …
    let table: Vec<_> = play
        .rows
        .iter()
        .map(|row| (&row["user"], &row["scheduled_s"], &row["sent_s"], &row["ended_s"], &row["measured"]))
        .collect();
    let expected = [
        ("0", "0.000000", "0.000000", "0.150000", "false"),
        ("1", "0.000000", "0.000000", "0.250000", "false"),
        ("0", "0.150000", "0.150000", "0.500000", "false"),
        ("1", "0.250000", "0.250000", "0.400000", "true"),
        ("1", "0.400000", "0.400000", "0.650000", "true"),
        ("0", "0.500000", "0.500000", "0.850000", "true"),
        ("1", "0.650000", "0.650000", "0.800000", "true"),
        ("1", "0.800000", "0.800000", "1.050000", "true"),
        ("0", "0.850000", "0.850000", "1.200000", "true"),
    ];
    assert_eq!(table, expected);
    assert_eq!((play.end_of(0), play.drained(0)), ((1.0, EndedBy::Duration), 1.2));
}

#[test]
fn a_count_is_exact_and_numbers_run_on_where_a_phase_took_fewer_than_were_at_hand() {
    let stage = Stage::chat(
        "[[phase]]\nname = \"a\"\nrequests = 7\nload.closed = 3\n\
         [[phase]]\nname = \"b\"\nduration = \"250ms\"\nload.closed = 3\n\
         [[phase]]\nname = \"c\"\nrequests = 2\nload.closed = 3\n",
    );
    let play = stage.scripted(|_| Answer::tokens(ms(90), ms(10), 2));
    let count = |phase| play.phase(phase).len();
    assert_eq!((count("a"), count("b"), count("c")), (7, 9, 2));
    let numbers: Vec<_> = (0..18).map(|number| number.to_string()).collect();
    assert_eq!(play.column("request"), numbers);
    assert_eq!(play.end_of(0), (0.2, EndedBy::Requests), "the seventh was sent then");
    assert_eq!(play.drained(0), 0.3);
    assert_eq!(play.end_of(1), (0.55, EndedBy::Duration));
}

#[test]
fn fewer_requests_than_users_leave_the_others_idle() {
    let stage = Stage::chat("[[phase]]\nname = \"p\"\nrequests = 2\nload.closed = 5\n");
    let play = stage.scripted(|_| Answer::tokens(ms(90), ms(10), 2));
    assert_eq!(play.column("user"), ["0", "1"]);
    assert_eq!((play.peak, play.drained(0)), (2, 0.1));
}

#[test]
fn users_whose_requests_are_refused_at_once_come_back_after_a_pause() {
    let stage =
        Stage::chat("[[phase]]\nname = \"p\"\nduration = \"1s\"\nload.closed = 2\n[stop]\nerror_share = 1\n");
    let play = stage.scripted(|_| Answer::status(400, ms(0)));
    assert_eq!((play.rows.len(), play.ended("http_error")), (200, 200));
    assert_eq!(&play.rows[3]["scheduled_s"], "0.010000");
    // A failure that took its time is pause enough.
    let stage = Stage::chat("[[phase]]\nname = \"p\"\nduration = \"1s\"\nload.closed = 2\n");
    let play = stage.scripted(|_| Answer::status(400, ms(250)));
    assert_eq!(play.rows.len(), 8);
}
