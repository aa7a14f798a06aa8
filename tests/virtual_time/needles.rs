//! Retrieval: every length with every depth, and a server that really finds what is hidden.

use tonnage::record::EndedBy;
use tonnage::sim::Profile;

use crate::answer::{Answer, ms};
use crate::stage::{Play, Stage};

fn needles(keys: &str, phase: &str) -> Stage {
    let scenario = format!(
        r#"
name = "needles"
seed = 7
[target]
url = "http://server"
model = "m"
[[workload]]
name = "needles"
prompt.needle = {{ depths = [0, 0.5, 1], lengths = [100, 400]{keys} }}
output.max_tokens = 16
[[phase]]
name = "p"
{phase}"#
    );
    Stage::new(&scenario)
}

fn cells(play: &Play) -> Vec<[&str; 2]> {
    play.rows.iter().map(|row| ["needle_depth", "needle_length"].map(|name| &row[name])).collect()
}

const GRID: [[&str; 2]; 6] =
    [["0", "100"], ["0.5", "100"], ["1", "100"], ["0", "400"], ["0.5", "400"], ["1", "400"]];

#[test]
fn all_cells_are_sent_once_a_repeat_with_their_lengths() {
    let stage = needles(", repeats = 2, distractors = 1", "requests = \"all\"\nload.closed = 2");
    let play = stage.scripted(|_| Answer::tokens(ms(10), ms(1), 1));
    assert_eq!(cells(&play), GRID.repeat(2));
    assert_eq!(play.end_of(0).1, EndedBy::Requests);
    for (row, asked) in play.rows.iter().zip(0..) {
        let asked = play.asked.iter().find(|seen| seen.request == asked).unwrap();
        let words = asked.prompt().split_whitespace().count();
        assert_eq!((words + 4).to_string(), row["needle_length"], "with the template");
    }
    assert!(play.rows.iter().all(|row| row["dataset_row"].is_empty()));
}

#[test]
fn without_a_count_the_phase_ends_with_its_cells() {
    let play = needles("", "load.constant = \"10/s\"").scripted(|_| Answer::tokens(ms(10), ms(1), 1));
    assert_eq!((cells(&play), play.end_of(0).1), (GRID.to_vec(), EndedBy::Data));
}

#[test]
fn the_simulated_server_finds_what_is_hidden() {
    let phase = "requests = \"all\"\nload.closed = 1";
    let play = needles(", distractors = 2", phase).simulated(Profile::named("8b-h100").unwrap());
    assert_eq!(play.ended("ok"), 6);
    assert_eq!(play.column("prompt_tokens"), play.column("needle_length"));
    assert_eq!(play.column("prompt_tokens_planned"), play.column("needle_length"));
    let ends = play
        .rows
        .iter()
        .all(|row| &row["finish_reason"] == "stop" && row.number("output_tokens") == Some(7.0));
    assert!(ends, "an answer that found it has the seven words of the needle");
}
