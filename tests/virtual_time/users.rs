//! Users who pause, keep a pace, begin one after another, and send so many requests each.

use tonnage::record::EndedBy;

use crate::answer::{Answer, ms};
use crate::stage::{Play, Stage};

fn table(play: &Play) -> Vec<[&str; 4]> {
    play.rows.iter().map(|row| ["user", "scheduled_s", "sent_s", "held_ms"].map(|name| &row[name])).collect()
}

#[test]
fn a_user_pauses_after_each_answer_and_takes_no_request_it_would_send_after_the_phase() {
    let phase =
        "[[phase]]\nname = \"p\"\nduration = \"1s\"\nload.closed = { users = 1, think = \"200ms\" }\n";
    let play = Stage::chat(phase).scripted(|_| Answer::tokens(ms(90), ms(10), 2));
    let sent = ["0.000000", "0.300000", "0.600000", "0.900000"];
    assert_eq!((play.column("scheduled_s"), play.column("sent_s")), (sent.to_vec(), sent.to_vec()));
    assert_eq!(play.column("outcome"), ["ok"; 4]);
    assert_eq!((play.end_of(0), play.drained(0)), ((1.0, EndedBy::Duration), 1.0));
}

#[test]
fn pauses_of_a_user_are_its_own_whatever_the_server_does() {
    let pauses = |length: u64| {
        let phase = "[[phase]]\nname = \"p\"\nrequests.per_user = 9\n\
                     load.closed = { users = 2, think.exponential = \"100ms\" }\n";
        let play = Stage::chat(phase)
            .scripted(move |asked| Answer::tokens(ms(1 + length * (asked.request % 3)), ms(1), 2));
        let of = |user: &str| {
            let rows: Vec<_> = play.rows.iter().filter(|row| &row["user"] == user).collect();
            let pauses = rows.windows(2).map(|pair| {
                let pause = pair[1].number("scheduled_s").unwrap() - pair[0].number("ended_s").unwrap();
                (pause * 1e6).round()
            });
            pauses.collect::<Vec<_>>()
        };
        [of("0"), of("1")]
    };
    let quick = pauses(0);
    assert_eq!(quick, pauses(50));
    assert_eq!(quick[0].len(), 8);
    assert_ne!(quick[0], quick[1]);
}

#[test]
fn a_pace_has_its_slots_and_a_late_user_catches_up_with_its_time_held() {
    let phase = "[[phase]]\nname = \"p\"\nduration = \"1s\"\nload.closed = { users = 1, pace = \"200ms\" }\n";
    let play = Stage::chat(phase).scripted(|asked| {
        let first = if asked.request == 1 { 450 } else { 90 };
        Answer::tokens(ms(first), ms(10), 2)
    });
    let expected = [
        ["0", "0.000000", "0.000000", ""],
        ["0", "0.200000", "0.200000", ""],
        // Its slot was at 0.4 s, and the answer before came until 0.66 s.
        ["0", "0.400000", "0.660000", "260.000"],
        ["0", "0.600000", "0.760000", "160.000"],
        ["0", "0.800000", "0.860000", "60.000"],
    ];
    assert_eq!(table(&play), expected);
    assert_eq!(play.column("lag_ms"), ["0.000", "0.000", "260.000", "160.000", "60.000"]);
    assert_eq!(play.courses[0].unwrap().not_planned, 0);
}

#[test]
fn slots_that_a_user_never_reached_are_counted() {
    let phase = "[[phase]]\nname = \"p\"\nduration = \"1s\"\nload.closed = { users = 2, pace = \"200ms\" }\n";
    let play = Stage::chat(phase).scripted(|_| Answer::tokens(ms(700), ms(10), 2));
    assert_eq!(play.rows.len(), 4);
    // Five slots each, at 0, 0.2, 0.4, 0.6 and 0.8 s, of which each took two.
    assert_eq!(play.courses[0].unwrap().not_planned, 6);
}

#[test]
fn users_begin_one_after_another_at_equal_distances() {
    let phase = "[[phase]]\nname = \"p\"\nrequests = 4\nload.closed = { users = 4, ramp_up = \"2s\" }\n";
    let play = Stage::chat(phase).scripted(|_| Answer::tokens(ms(9_000), ms(10), 2));
    assert_eq!(play.column("sent_s"), ["0.000000", "0.500000", "1.000000", "1.500000"]);
    assert_eq!(play.column("user"), ["0", "1", "2", "3"]);
}

#[test]
fn each_user_sends_its_number_and_the_first_and_last_of_each_do_not_count() {
    let phase = "[[phase]]\nname = \"p\"\nrequests.per_user = 4\nwarm_up.per_user = 1\ncool_down.per_user = 1\n\
                 load.closed = 2\n";
    // User 0 is three times as quick.
    let play = Stage::chat(phase).scripted(|asked| {
        let slow = asked.request == 1 || asked.at.0 % 7 == 3;
        Answer::tokens(ms(if slow { 290 } else { 90 }), ms(10), 2)
    });
    for user in ["0", "1"] {
        let of: Vec<_> = play.rows.iter().filter(|row| &row["user"] == user).collect();
        let measured: Vec<_> = of.iter().map(|row| &row["measured"]).collect();
        assert_eq!(measured, ["false", "true", "true", "false"], "user {user}");
    }
    assert_eq!(play.rows.len(), 8);
    // The window begins with the first request that counts: user 0's second, due at 0.1 s.
    let course = play.courses[0].unwrap();
    assert_eq!(course.window_start.unwrap().as_s(), 0.1);
    assert_eq!(course.ended.unwrap().1, EndedBy::Requests);
    assert_eq!(play.figure("p", "measured_requests", "planned"), Some(4.0));
    // The last send of all: user 1's fourth.
    assert_eq!(play.end_of(0).0, 0.5);
}

#[test]
fn c087_c089_a_warm_up_phase_keeps_its_users_and_is_over_before_what_counts_begins() {
    let stage = Stage::chat(
        "[[phase]]\nname = \"warm\"\nrequests = 100\nmeasure = false\nload.closed = 8\n\
         [[phase]]\nname = \"main\"\nrequests = 20\nload.closed = 8\n",
    );
    let play =
        stage.scripted(|asked| Answer::tokens(ms(if asked.request < 3 { 2_990 } else { 90 }), ms(10), 2));
    assert_eq!(play.peak, 8);
    let last_warm = play.phase("warm").iter().map(|row| row.number("ended_s").unwrap()).fold(0.0, f64::max);
    let main = play.phase("main");
    assert!(main.iter().all(|row| row.number("sent_s").unwrap() >= last_warm));
    assert!(main.iter().all(|row| &row["e2e_ms"] == "100.000" && &row["measured"] == "true"));
    assert_eq!(play.figure("main", "requests", "planned"), Some(20.0));
    assert_eq!(play.figure("all", "requests", "planned"), Some(20.0));
}

#[test]
fn a_warm_up_of_each_user_is_no_part_of_the_figures() {
    let phase = "[[phase]]\nname = \"p\"\nrequests.per_user = 3\nwarm_up.per_user = 1\nload.closed = 1\n";
    let play = Stage::chat(phase)
        .scripted(|asked| Answer::tokens(ms(if asked.request == 0 { 2_990 } else { 90 }), ms(10), 2));
    assert_eq!(play.column("measured"), ["false", "true", "true"]);
    assert_eq!(play.figure("p", "e2e", "max"), Some(100.0));
    // Four tokens from 3 s, where the first that counts was due, to 3.2 s.
    assert_eq!(play.figure("p", "output_throughput", "value"), Some(4.0 / 0.2));
}
