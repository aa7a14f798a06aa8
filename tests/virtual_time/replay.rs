//! Traces played again: each row at its own time, as long as it was, sharing what it shared.

use tonnage::record::EndedBy;
use tonnage::sim::Profile;

use crate::answer::{Answer, ms};
use crate::server::Asked;
use crate::stage::{Play, Stage};

/// Rows out of order in the file; the ids are those of blocks of 512 tokens.
const TRACE: &str = r#"{"timestamp": 5000, "input_length": 1100, "output_length": 3, "hash_ids": [1, 2, 3]}
{"timestamp": 5100, "input_length": 600, "output_length": 4, "hash_ids": [9, 8]}
{"timestamp": 5300, "input_length": 1500, "output_length": 5, "hash_ids": [1, 2, 7]}
{"timestamp": 5200, "input_length": 700, "output_length": 6, "hash_ids": [1, 4]}
{"timestamp": 9000, "input_length": 512, "output_length": 7, "hash_ids": [9]}
"#;

fn replay(load: &str) -> Stage {
    let scenario = format!(
        r#"
name = "replay"
seed = 7
[target]
url = "http://server"
model = "m"
[[workload]]
name = "replay"
prompt.dataset = {{ path = "trace.jsonl", format = "mooncake" }}
output.max_tokens = "dataset"
{load}"#
    );
    Stage::new(&scenario).file("trace.jsonl", TRACE)
}

fn phase(name: &str, trace: &str) -> String {
    format!("[[phase]]\nname = \"{name}\"\nload.trace = {{ workload = \"replay\"{trace} }}\n")
}

fn quick(_: &Asked) -> Answer {
    Answer::tokens(ms(20), ms(1), 2)
}

fn cells(play: &Play) -> Vec<[&str; 3]> {
    let cells = ["scheduled_s", "dataset_row", "output_tokens_planned"];
    play.rows.iter().map(|row| cells.map(|name| &row[name])).collect()
}

#[test]
fn each_row_is_sent_at_its_time_with_its_lengths() {
    let play = replay(&phase("p", "")).scripted(quick);
    let expected = [
        ["0.000000", "0", "3"],
        ["0.100000", "1", "4"],
        ["0.200000", "2", "6"],
        ["0.300000", "3", "5"],
        ["4.000000", "4", "7"],
    ];
    assert_eq!(cells(&play), expected);
    assert_eq!(play.end_of(0), (4.0, EndedBy::Data));
    let words = play.asked.iter().map(|asked| asked.prompt().split(' ').count()).collect::<Vec<_>>();
    assert_eq!(words, [1096, 596, 696, 1496, 508], "and 4 tokens of the template each");
    assert_eq!(play.column("prompt_tokens_planned"), ["1100", "600", "700", "1500", "512"]);
    let most = play.asked.iter().map(|asked| asked.body["max_tokens"].as_u64().unwrap()).collect::<Vec<_>>();
    assert_eq!(most, [3, 4, 6, 5, 7]);
}

#[test]
fn phases_take_their_own_parts_at_their_own_speed() {
    let phases = phase("late", ", skip = \"200ms\", window = \"2s\", speed = 2")
        + &phase("early", ", window = \"150ms\"");
    let play = replay(&phases).scripted(quick);
    let rows = |name| play.phase(name).iter().map(|row| row["dataset_row"].to_owned()).collect::<Vec<_>>();
    // Only what lies in any of the parts has a number.
    assert_eq!(
        (rows("late"), rows("early")),
        (vec!["2".to_owned(), "3".to_owned()], vec!["0".to_owned(), "1".to_owned()])
    );
    let late = play.phase("late").iter().map(|row| row["scheduled_s"].to_owned()).collect::<Vec<_>>();
    assert_eq!(late, ["0.000000", "0.050000"]);
}

/// An oracle of its own: what a cache of blocks of 512 would know of each prompt.
#[test]
fn equal_ids_are_the_same_tokens_to_the_servers_cache() {
    let play = replay(&phase("p", "")).simulated(Profile::named("8b-h100").unwrap());
    assert_eq!(play.ended("ok"), 5);
    assert_eq!(play.column("prompt_tokens"), ["1100", "600", "700", "1500", "512"]);
    // A block of 16 of the last row holds the template's tokens.
    assert_eq!(play.column("cached_tokens"), ["0", "0", "512", "1024", "496"]);
    assert_eq!(play.column("eligible_tokens"), play.column("cached_tokens"));
}

/// Rows of a tree of blocks: each goes on from a beginning of an earlier one.
#[test]
fn what_the_server_finds_of_a_long_trace_is_what_its_ids_say() {
    let mut draw = tonnage::seed::Seed(3).stream("tree", "test");
    let mut paths: Vec<Vec<u64>> = vec![Vec::new()];
    let (mut trace, mut expected, mut next) = (String::new(), Vec::new(), 0);
    for row in 0..200 {
        let from = paths[draw.below(paths.len() as u64) as usize].clone();
        let kept = from.len().min(draw.below(5) as usize);
        let mut path = from[..kept].to_vec();
        for _ in 0..1 + draw.below(4) {
            next += 1;
            path.push(next);
        }
        // Whole blocks, and a last one that holds the template.
        let length = (path.len() as u64 - 1) * 512 + 30 + draw.below(400);
        let shared = paths.iter().map(|known| known.iter().zip(&path).take_while(|(a, b)| a == b).count());
        expected.push((shared.max().unwrap() * 512).to_string());
        let (time, ids) = (row * 20_000, &path);
        trace += &format!(
            "{{\"timestamp\": {time}, \"input_length\": {length}, \"output_length\": 2, \"hash_ids\": {ids:?}}}\n"
        );
        // A block of which this row had a part only is new to the next that has it whole.
        path.pop();
        paths.push(path);
    }
    let play =
        replay(&phase("p", "")).file("trace.jsonl", &trace).simulated(Profile::named("8b-h100").unwrap());
    assert_eq!(play.ended("ok"), 200);
    assert_eq!(play.column("prompt_tokens"), play.column("prompt_tokens_planned"));
    assert_eq!(play.column("cached_tokens"), expected);
    assert_eq!(play.column("eligible_tokens"), expected);
    assert!(expected.iter().filter(|tokens| *tokens != "0").count() > 50);
}

#[test]
fn c098_a_trace_played_again_with_another_salt_finds_nothing_of_the_first() {
    let begins = |salt| {
        let play = replay(&phase("p", "")).salt(salt).scripted(quick);
        play.asked
            .iter()
            .map(|asked| asked.prompt().split(' ').take(16).collect::<Vec<_>>().join(" "))
            .collect::<Vec<_>>()
    };
    let [one, other] = [begins(1), begins(2)];
    assert_eq!(one, begins(1));
    assert!(one.iter().all(|begin| !other.contains(begin)));
}

#[test]
fn shards_send_the_rows_of_the_whole_at_their_times() {
    let whole = replay(&phase("p", "")).scripted(quick);
    let mut parts = [0, 1].map(|index| replay(&phase("p", "")).shard(index, 2).scripted(quick));
    let mut joined = parts.iter_mut().flat_map(|play| std::mem::take(&mut play.rows)).collect::<Vec<_>>();
    joined.sort_by_key(|row| row["request"].parse::<u64>().unwrap());
    let planned = |rows: &[crate::stage::Row]| {
        let cells = ["request", "scheduled_s", "dataset_row", "output_tokens_planned"];
        rows.iter().map(|row| cells.map(|name| row[name].to_owned())).collect::<Vec<_>>()
    };
    assert_eq!(planned(&joined), planned(&whole.rows));
}
