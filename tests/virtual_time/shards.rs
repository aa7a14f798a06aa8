//! A run split over processes: together they send what one would have.

use std::collections::BTreeMap;

use crate::answer::{Answer, ms};
use crate::server::Asked;
use crate::stage::{Play, Row, Stage};

fn quick(asked: &Asked) -> Answer {
    Answer::tokens(ms(5 + asked.request % 7), ms(2), 2)
}

const PLANNED: [&str; 7] =
    ["request", "phase", "workload", "session", "turn", "scheduled_s", "output_tokens_planned"];

/// The plan's columns, by request. Due times of later turns depend on the server.
fn planned<'a>(rows: impl Iterator<Item = &'a Row>) -> BTreeMap<u64, Vec<String>> {
    let cells = |row: &Row| PLANNED.iter().map(|name| row[name].to_owned()).collect::<Vec<_>>();
    rows.map(|row| (row["request"].parse().unwrap(), cells(row))).collect()
}

fn scenario(phases: &str) -> Stage {
    Stage::chat(&format!(
        "output.max_tokens.uniform = {{ min = 1, max = 500 }}\n\
         session = {{ turns.uniform = {{ min = 1, max = 3 }}, think.exponential = \"20ms\" }}\n\
         [[workload]]\nname = \"rows\"\nprompt.dataset = {{ path = \"rows.jsonl\", shuffle = true, when_exhausted = \"repeat\" }}\n\
         {phases}"
    ))
    .file("rows.jsonl", &(0..50).map(|row| format!("{{\"prompt\": \"row {row}\"}}\n")).collect::<String>())
}

fn parts(phases: &str, count: u32) -> Vec<Play> {
    (0..count).map(|index| scenario(phases).shard(index, count).scripted(quick)).collect()
}

const OPEN: &str = "[[phase]]\nname = \"a\"\nduration = \"4s\"\nload.poisson = \"40/s\"\n\
                    [[phase]]\nname = \"b\"\nrequests = 70\nload.gamma = { rate = \"60/s\", cv = 2 }\n";

#[test]
fn the_union_of_shards_is_the_plan_whatever_their_number() {
    let whole = scenario(OPEN).scripted(quick);
    let drained = whole.drained(0);
    let expected = planned(whole.rows.iter());
    assert!(expected.len() > 200);
    for count in [2, 3, 5] {
        let parts = parts(OPEN, count);
        let union = planned(parts.iter().flat_map(|part| &part.rows));
        assert_eq!(union.len(), parts.iter().map(|part| part.rows.len()).sum::<usize>(), "no row twice");
        assert_eq!(union.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
        for (request, row) in &union {
            let expected = &expected[request];
            assert_eq!(row[..5], expected[..5]);
            assert_eq!(row[6], expected[6]);
            // Each shard's second phase begins when its own first has drained.
            if row[1] == "a" && row[4] == "0" {
                assert_eq!(row[5], expected[5]);
            }
        }
        for (index, part) in parts.iter().enumerate() {
            assert!(part.rows.iter().all(|row| row["shard"] == index.to_string()));
            let of_shard = |row: &Row| row["session"].parse::<usize>().unwrap() % count as usize == index;
            assert!(part.rows.iter().all(of_shard));
            assert!(part.drained(0) <= drained + 1.0);
        }
        let rows = |play: &Play| play.column("dataset_row").iter().filter(|row| !row.is_empty()).count();
        assert_eq!(parts.iter().map(rows).sum::<usize>(), rows(&whole));
    }
    assert!(whole.rows.iter().all(|row| row["shard"].is_empty()));
}

#[test]
fn arrivals_of_the_union_are_again_as_random_as_poisson() {
    let phase = "[[phase]]\nname = \"p\"\nduration = \"500s\"\nload.poisson = \"20/s\"\n";
    let mut counts = vec![0.0; 500];
    for index in 0..4 {
        let play = Stage::chat(phase).shard(index, 4).scripted(|_| Answer::tokens(ms(1), ms(0), 1));
        for row in &play.rows {
            counts[row.number("scheduled_s").unwrap() as usize] += 1.0;
        }
    }
    let mean = counts.iter().sum::<f64>() / 500.0;
    let variance = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / 500.0;
    assert!((mean / 20.0 - 1.0).abs() < 0.05, "mean {mean}");
    assert!((variance / mean - 1.0).abs() < 0.2, "dispersion {}", variance / mean);
}

#[test]
fn users_are_split_and_keep_their_numbers() {
    let phase = "[[phase]]\nname = \"a\"\nrequests = 20\nload.closed = { users = 5, ramp_up = \"1s\" }\n";
    let slow = |_: &Asked| Answer::tokens(ms(990), ms(10), 2);
    let whole = Stage::chat(phase).scripted(slow);
    let parts: Vec<Play> = (0..2).map(|index| Stage::chat(phase).shard(index, 2).scripted(slow)).collect();
    let users = |play: &Play| {
        let mut users: Vec<u32> = play.column("user").iter().map(|user| user.parse().unwrap()).collect();
        users.sort_unstable();
        users.dedup();
        users
    };
    assert_eq!([users(&parts[0]), users(&parts[1])], [vec![0, 2, 4], vec![1, 3]]);
    let numbers = |plays: &[&Play]| {
        let mut all: Vec<u32> =
            plays.iter().flat_map(|play| play.column("request")).map(|cell| cell.parse().unwrap()).collect();
        all.sort_unstable();
        all
    };
    assert_eq!(numbers(&[&parts[0], &parts[1]]), numbers(&[&whole]));
    let first = |play: &Play, user: &str| {
        play.rows.iter().find(|row| &row["user"] == user).map(|row| row["scheduled_s"].to_owned())
    };
    assert_eq!(first(&parts[1], "3"), Some("0.600000".to_owned()), "three fifths of the ramp");
}

#[test]
fn after_a_phase_whose_number_is_for_the_server_to_decide_shards_number_alike() {
    let phases = "[[phase]]\nname = \"a\"\nduration = \"1s\"\nload.closed = 4\n\
                  [[phase]]\nname = \"b\"\nduration = \"1s\"\nload.constant = \"10/s\"\n";
    let part = |index: u64| {
        let play = Stage::chat(phases).shard(index as u32, 2);
        play.scripted(move |_| Answer::tokens(ms(20 + 50 * index), ms(10), 2))
    };
    let (even, odd) = (part(0), part(1));
    let of = |play: &Play, phase: &str| {
        play.phase(phase).iter().map(|row| row["session"].parse::<u64>().unwrap()).collect::<Vec<_>>()
    };
    assert!(of(&even, "a").len() > 2 * of(&odd, "a").len());
    let base = 2_000_000_000;
    assert_eq!(of(&even, "b"), [0, 2, 4, 6, 8].map(|session| base + session));
    assert_eq!(of(&odd, "b"), [1, 3, 5, 7, 9].map(|session| base + session));
    // A run that is not split goes on counting.
    let whole = Stage::chat(phases).scripted(|_| Answer::tokens(ms(90), ms(10), 2));
    assert_eq!(of(&whole, "b")[0], 40);
}

#[test]
fn places_in_flight_are_divided() {
    let phase = "[[phase]]\nname = \"p\"\nduration = \"1s\"\nload.constant = { rate = \"100/s\", max_in_flight = 5 }\n";
    let peaks = [0, 1].map(|index| {
        Stage::chat(phase).shard(index, 2).scripted(|_| Answer::tokens(ms(5_000), ms(0), 1)).peak
    });
    assert_eq!(peaks, [3, 2]);
}
