//! Conversations out of a data set: a row is a session, and its turns are those of the file.

use serde_json::{Value, json};
use tonnage::record::EndedBy;

use crate::answer::{Answer, ms};
use crate::server::Asked;
use crate::stage::{Play, Stage};

const ROWS: &str = r#"[
{"conversations": [{"from": "system", "value": "be brief"}, {"from": "human", "value": "a"}, {"from": "gpt", "value": "A"},
  {"from": "human", "value": "b"}, {"from": "gpt", "value": "B"}, {"from": "human", "value": "c"}]},
{"conversations": [{"from": "human", "value": "d"}, {"from": "gpt", "value": "D"}]},
{"conversations": [{"from": "human", "value": "e"}, {"from": "gpt", "value": "E"}, {"from": "human", "value": "f"}]}
]"#;

fn talk(session: &str, phase: &str) -> Stage {
    let scenario = format!(
        r#"
name = "virtual"
seed = 7
[target]
url = "http://virtual.test"
[[workload]]
name = "talk"
prompt.dataset.path = "talk.json"
{session}
[[phase]]
name = "p"
{phase}
"#
    );
    Stage::new(&scenario).file("talk.json", ROWS)
}

fn quick(_: &Asked) -> Answer {
    Answer::tokens(ms(90), ms(10), 2)
}

fn table(play: &Play) -> Vec<[&str; 4]> {
    let cells = ["session", "turn", "dataset_row", "outcome"];
    play.rows.iter().map(|row| cells.map(|name| &row[name])).collect()
}

/// Who said what in each request.
fn said(play: &Play) -> Vec<Vec<(String, String)>> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let message = |message: &Value| (text(&message["role"]), text(&message["content"]));
    play.asked
        .iter()
        .map(|asked| asked.body["messages"].as_array().unwrap().iter().map(message).collect())
        .collect()
}

#[test]
fn each_row_is_a_session_of_its_turns() {
    let play = talk("", "requests = \"all\"\nload.closed = 1").scripted(quick);
    let expected = [
        ["0", "0", "0", "ok"],
        ["0", "1", "0", "ok"],
        ["0", "2", "0", "ok"],
        ["1", "0", "1", "ok"],
        ["2", "0", "2", "ok"],
        ["2", "1", "2", "ok"],
    ];
    assert_eq!(table(&play), expected);
    assert_eq!(play.end_of(0).1, EndedBy::Requests);
}

#[test]
fn turns_carry_the_servers_answers_unless_recorded_ones_are_asked_for() {
    let phase = "requests = 3\nload.closed = 1";
    let messages = |session: &str| said(&talk(session, phase).scripted(quick)).remove(2);
    let pair = |role: &str, content: &str| (role.to_owned(), content.to_owned());
    let asked = ["be brief", "a", "b", "c"];
    let real = messages("");
    assert_eq!(
        real.iter().filter(|(role, _)| role != "assistant").map(|(_, text)| text).collect::<Vec<_>>(),
        asked
    );
    assert!(real.iter().all(|(_, text)| text != "A" && text != "B"), "{real:?}");
    let recorded = messages("session.history = \"recorded\"");
    let expected = [
        pair("system", "be brief"),
        pair("user", "a"),
        pair("assistant", "A"),
        pair("user", "b"),
        pair("assistant", "B"),
        pair("user", "c"),
    ];
    assert_eq!(recorded, expected);
    let alone = messages("session.history = \"none\"");
    assert_eq!(alone, [pair("system", "be brief"), pair("user", "c")]);
}

#[test]
fn bodies_with_recorded_answers_do_not_depend_on_the_server() {
    let bodies = |tokens| {
        let stage = talk("session.history = \"recorded\"", "requests = \"all\"\nload.closed = 2");
        let play = stage.scripted(move |_| Answer::tokens(ms(90), ms(10), tokens));
        let mut bodies =
            play.asked.iter().map(|asked| (asked.request, asked.body.clone())).collect::<Vec<_>>();
        bodies.sort_by_key(|(request, _)| *request);
        bodies
    };
    assert_eq!(bodies(1), bodies(9));
    assert_ne!(bodies(1)[0].1, json!(null));
}

#[test]
fn a_session_has_at_most_the_turns_asked_for() {
    let play = talk("session = { turns = 2, think = \"1s\" }", "requests = \"all\"\nload.closed = 1")
        .scripted(quick);
    let turns = play
        .rows
        .iter()
        .map(|row| [&row["dataset_row"], &row["turn"]].map(str::to_owned))
        .collect::<Vec<_>>();
    let expected = [["0", "0"], ["0", "1"], ["1", "0"], ["2", "0"], ["2", "1"]];
    assert_eq!(turns, expected.map(|pair| pair.map(str::to_owned)));
}

#[test]
fn a_count_of_requests_cuts_a_conversation_short() {
    let play = talk("", "requests = 2\nload.closed = 1").scripted(quick);
    assert_eq!(table(&play), [["0", "0", "0", "ok"], ["0", "1", "0", "ok"]]);
}

#[test]
fn a_turn_that_fails_ends_its_conversation() {
    let play = talk("", "requests = \"all\"\nload.closed = 1").scripted(|asked| match asked.request {
        1 => Answer::status(500, ms(10)),
        _ => Answer::tokens(ms(90), ms(10), 2),
    });
    assert_eq!(play.column("outcome"), ["ok", "http_error", "skipped", "ok", "ok", "ok"]);
}

#[test]
fn turns_of_one_row_repeat_nothing_and_a_second_session_of_it_does() {
    let found = |requests: u32| {
        let phase = format!("requests = {requests}\nload.closed = 1");
        let again = "prompt.dataset.when_exhausted = \"repeat\"";
        let scenario = talk(again, &phase).scripted(quick);
        scenario.found().contains(&"repeated_rows")
    };
    assert!(!found(6));
    assert!(found(12));
}
