//! Conversations: turns follow one another, carry what was said, and end with the first that fails.

use tonnage::record::EndedBy;
use tonnage::run::stop::Stop;

use crate::answer::{Answer, ms};
use crate::server::Asked;
use crate::stage::{Play, Stage};

fn talk(session: &str, phase: &str) -> Stage {
    Stage::chat(&format!("session = {session}\n[[phase]]\nname = \"p\"\n{phase}"))
}

fn quick(_: &Asked) -> Answer {
    Answer::tokens(ms(90), ms(10), 2)
}

fn table(play: &Play) -> Vec<[&str; 5]> {
    let cells = ["request", "session", "turn", "scheduled_s", "outcome"];
    play.rows.iter().map(|row| cells.map(|name| &row[name])).collect()
}

#[test]
fn c105_turn_k_carries_all_earlier_messages_with_the_servers_answers() {
    let stage = talk("{ turns = 5, think = \"1s\" }", "requests = 5\nload.closed = 1\n");
    let play = stage.scripted(|asked| Answer::tokens(ms(90), ms(10), 1 + asked.request as u32));
    assert_eq!(play.ended("ok"), 5);
    let mut said: Vec<serde_json::Value> = Vec::new();
    for (turn, asked) in play.asked.iter().enumerate() {
        let messages = asked.body["messages"].as_array().unwrap();
        assert_eq!(messages.len(), 2 * turn + 1);
        assert_eq!(messages[..said.len()], said, "what was said before, in order");
        assert_eq!(messages[2 * turn]["role"], "user");
        if turn > 0 {
            let answer = &messages[2 * turn - 1];
            assert_eq!(answer["role"], "assistant");
            let text = answer["content"].as_str().unwrap();
            let token = messages[1]["content"].as_str().unwrap();
            assert_eq!(text, token.repeat(turn), "the real answer had {turn} tokens");
        }
        said = messages.clone();
    }
    // Each turn is due one second after the end of the last: 100, 110, 120 and 130 ms after its send.
    let due = ["0.000000", "1.090000", "2.190000", "3.300000", "4.420000"];
    assert_eq!(play.column("scheduled_s"), due);
    assert_eq!(play.column("lag_ms"), ["0.000"; 5]);
    assert_eq!(play.end_of(0), (4.42, EndedBy::Requests), "the last was sent then");
}

#[test]
fn without_history_each_turn_stands_alone() {
    let stage = talk("{ turns = 3, history = \"none\" }", "requests = 3\nload.closed = 1\n");
    let play = stage.scripted(quick);
    assert!(play.asked.iter().all(|asked| asked.body["messages"].as_array().unwrap().len() == 1));
    assert_ne!(play.asked[0].prompt(), play.asked[1].prompt());
}

#[test]
fn in_an_open_loop_sessions_begin_at_their_times_and_turns_are_numbered_in_their_order() {
    let stage = talk("{ turns = 2, think = \"300ms\" }", "duration = \"1s\"\nload.constant = \"2/s\"\n");
    let play = stage.scripted(quick);
    let expected = [
        ["0", "0", "0", "0.000000", "ok"],
        ["1", "0", "1", "0.400000", "ok"],
        ["2", "1", "0", "0.500000", "ok"],
        ["3", "1", "1", "0.900000", "ok"],
    ];
    assert_eq!(table(&play), expected);
}

#[test]
fn a_turn_due_at_the_end_of_the_phase_or_later_is_skipped() {
    let stage = talk("{ turns = 4, think = \"300ms\" }", "duration = \"800ms\"\nload.constant = \"1/s\"\n");
    let play = stage.scripted(quick);
    let expected = [
        ["0", "0", "0", "0.000000", "ok"],
        ["1", "0", "1", "0.400000", "ok"],
        // Due at the end itself; the last never had a due time.
        ["2", "0", "2", "0.800000", "skipped"],
        ["3", "0", "3", "", "skipped"],
    ];
    assert_eq!(table(&play), expected);
    assert_eq!(play.column("measured"), ["true", "true", "false", "false"]);
    assert_eq!((play.end_of(0), play.drained(0)), ((0.8, EndedBy::Duration), 0.8));
    let count = |outcome| play.figure("p", "requests", outcome).unwrap();
    assert_eq!([count("planned"), count("sent"), count("skipped")], [4.0, 2.0, 2.0]);
}

#[test]
fn a_turn_that_fails_ends_its_session_and_no_other() {
    let stage = talk("{ turns = 3 }", "requests = 6\nload.constant = \"10/s\"\n");
    let play = stage.scripted(|asked| match asked.request {
        1 => Answer::status(500, ms(10)),
        _ => Answer::tokens(ms(90), ms(10), 2),
    });
    assert_eq!(play.column("outcome"), ["ok", "http_error", "skipped", "ok", "ok", "ok"]);
    assert_eq!((&play.rows[2]["scheduled_s"], &play.rows[2]["measured"]), ("", "false"));
    assert_eq!(play.figure("p", "success", "value"), Some(0.8), "four of five; the skipped one is undecided");
}

#[test]
fn a_user_goes_on_with_another_session_when_one_is_over() {
    let stage = talk(
        "{ turns = 2, think = \"100ms\" }",
        "requests = 6\nload.closed = { users = 2, think = \"500ms\" }\n",
    );
    let play = stage.scripted(quick);
    let cells = ["user", "session", "turn", "scheduled_s"];
    let rows: Vec<_> = play.rows.iter().map(|row| cells.map(|name| &row[name])).collect();
    let expected = [
        ["0", "0", "0", "0.000000"],
        ["0", "0", "1", "0.200000"],
        ["1", "1", "0", "0.000000"],
        ["1", "1", "1", "0.200000"],
        ["0", "2", "0", "0.800000"],
        ["0", "2", "1", "1.000000"],
    ];
    assert_eq!(rows, expected);
}

#[test]
fn the_last_session_of_a_count_is_cut_to_it() {
    let play = talk("{ turns = 4 }", "requests = 6\nload.closed = 1\n").scripted(quick);
    assert_eq!(play.column("session"), ["0", "0", "0", "0", "1", "1"]);
    assert_eq!(play.ended("ok"), 6);
}

#[test]
fn turns_keep_the_pace_of_their_user() {
    let stage = talk(
        "{ turns = 3, think = \"5s\" }",
        "duration = \"900ms\"\nload.closed = { users = 1, pace = \"200ms\" }\n",
    );
    let play =
        stage.scripted(|asked| Answer::tokens(ms(if asked.request == 1 { 440 } else { 90 }), ms(10), 2));
    let cells = ["turn", "scheduled_s", "sent_s", "held_ms", "outcome"];
    let rows: Vec<_> = play.rows.iter().map(|row| cells.map(|name| &row[name])).collect();
    let expected = [
        ["0", "0.000000", "0.000000", "", "ok"],
        ["1", "0.200000", "0.200000", "", "ok"],
        ["2", "0.400000", "0.650000", "250.000", "ok"],
        ["0", "0.600000", "0.750000", "150.000", "ok"],
        ["1", "0.800000", "0.850000", "50.000", "ok"],
        ["2", "1.000000", "", "", "skipped"],
    ];
    assert_eq!(rows, expected);
}

#[test]
fn a_later_turn_finds_the_places_full_or_waits_for_one() {
    let session = "{ turns = 2, think = \"150ms\" }";
    let phase = |when_full: &str| {
        format!(
            "requests = 4\nload.constant = {{ rate = \"5/s\", max_in_flight = 1, when_full = \"{when_full}\" }}\n"
        )
    };
    // The second session begins at 0.2 s and holds the place to 0.3 s; the first's second turn is due at 0.25 s.
    let play = talk(session, &phase("drop")).scripted(quick);
    assert_eq!(play.column("outcome"), ["ok", "dropped", "ok", "ok"]);
    assert_eq!(&play.rows[1]["scheduled_s"], "0.250000");
    let play = talk(session, &phase("wait")).scripted(quick);
    assert_eq!(play.column("outcome"), ["ok"; 4]);
    assert_eq!((&play.rows[1]["sent_s"], &play.rows[1]["held_ms"]), ("0.300000", "50.000"));
}

#[test]
fn after_a_stop_the_turns_of_sessions_that_had_begun_are_skipped() {
    let stage = talk("{ turns = 3, think = \"1s\" }", "duration = \"9s\"\nload.constant = \"1/s\"\n");
    let play = stage.stop(ms(1_500), Stop::Drain).scripted(quick);
    assert_eq!(play.column("outcome"), ["ok", "ok", "skipped", "ok", "skipped", "skipped"]);
    assert_eq!(play.drained(0), 1.5);
    assert_eq!(play.courses[0].unwrap().not_planned, 7 * 3, "sessions due at 2 to 8 s");
}

#[test]
fn lengths_of_sessions_and_pauses_follow_the_seed_alone() {
    let columns = |delay: u64, words: &str| {
        let text = format!(
            "session = {{ turns.uniform = {{ min = 1, max = 6 }}, think.exponential = \"1s\" }}\n\
             {words}[[phase]]\nname = \"p\"\nrequests = 60\nload.poisson = \"5/s\"\n"
        );
        let play = Stage::chat(&text).scripted(move |_| Answer::tokens(ms(delay), ms(1), 2));
        let rows = play.rows.windows(2).map(|pair| {
            let due = |row: &crate::stage::Row| row.number("scheduled_s").unwrap();
            let think = match &pair[1]["turn"] {
                "0" => due(&pair[1]),
                _ => due(&pair[1]) - pair[0].number("ended_s").unwrap(),
            };
            (pair[1]["session"].to_owned(), pair[1]["turn"].to_owned(), (think * 1e6).round())
        });
        rows.collect::<Vec<_>>()
    };
    let plan = columns(5, "");
    assert_eq!(plan, columns(700, ""));
    assert_eq!(plan, columns(5, "output.max_tokens.uniform = { min = 1, max = 900 }\n"));
}
