//! Public data sets as they are: every format is told by its content, and what is left out is known.

use tonnage::dataset::{Dataset, Format, SkipReason, Source};

use super::shared;

fn scanned(file: &str) -> Dataset {
    let (folder, name) = file.rsplit_once('/').unwrap();
    Dataset::scan(&Source::of(shared(&format!("data/{folder}")).join(name))).unwrap()
}

/// Format, rows, turns, mended rows.
fn found(set: &Dataset) -> (Format, u32, u64, u64) {
    (set.format(), set.rows(), set.all_turns(), set.mended())
}

fn skipped(set: &Dataset) -> Vec<(SkipReason, u64)> {
    set.skipped().iter().map(|skipped| (skipped.reason, skipped.count)).collect()
}

#[test]
fn questions_have_one_turn_and_a_truth() {
    for (file, format, rows) in [
        ("gsm8k/test.jsonl", Format::Gsm8k, 1_319),
        ("gsm8k/train-first1000.jsonl", Format::Gsm8k, 1_000),
        ("gsm8k/test-socratic-first100.jsonl", Format::Gsm8k, 100),
        ("math/test.jsonl", Format::Math, 5_000),
        ("math/math500.jsonl", Format::Math, 500),
        ("longcontext/longbench-v2-sample.jsonl", Format::LongBenchV2, 12),
    ] {
        let set = scanned(file);
        assert_eq!(found(&set), (format, rows, u64::from(rows), 0), "{file}");
        assert_eq!(skipped(&set), [], "{file}");
        for index in 0..rows {
            let row = set.row(index).unwrap();
            assert!(row.truth.is_some() && row.turns[0].asked().all(|asked| !asked.trim().is_empty()));
        }
    }
}

#[test]
fn conversations_have_the_turns_of_the_file() {
    // As counted by a program of its own.
    assert_eq!(found(&scanned("sharegpt/sharegpt-v3-sample.json")), (Format::ShareGpt, 254, 798, 48));
    assert_eq!(found(&scanned("sharegpt/fastchat-dummy.json")), (Format::ShareGpt, 500, 1_000, 0));
    assert_eq!(found(&scanned("sharegpt/sharegpt-zh-sample.jsonl")), (Format::ShareGpt, 200, 688, 0));
    let set = scanned("sharegpt/mt-bench-questions.jsonl");
    assert_eq!(found(&set), (Format::Turns, 80, 160, 0));
}

/// Rows are read by their offsets, and each is the conversation that a whole reading of the file finds there.
#[test]
fn a_row_by_its_offset_is_the_row_of_the_whole_file() {
    let text = std::fs::read_to_string(shared("data/sharegpt").join("sharegpt-v3-sample.json")).unwrap();
    let all: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
    let asks = |row: &&serde_json::Value| {
        let mut said = row["conversations"].as_array().unwrap().iter();
        said.any(|said| {
            ["human", "user"].contains(&said["from"].as_str().unwrap())
                && !said["value"].as_str().unwrap().trim().is_empty()
        })
    };
    let expected: Vec<_> = all.iter().filter(asks).collect();
    let set = scanned("sharegpt/sharegpt-v3-sample.json");
    assert_eq!(set.rows() as usize, expected.len());
    assert_eq!(skipped(&set), [(SkipReason::NoQuestion, (all.len() - expected.len()) as u64)]);
    for (index, row) in expected.iter().enumerate() {
        let read = set.row(index as u32).unwrap();
        let first = read.turns[0].asked().next().unwrap().to_owned();
        let text = row.to_string();
        let quoted = serde_json::to_string(first.split("\n\n").next().unwrap()).unwrap();
        assert!(text.contains(quoted.trim_matches('"')), "row {index}");
    }
}

/// Rows kept, those out of order, and how far the last is from the first, in seconds.
fn trace(file: &str) -> (Format, u32, u64, u64) {
    let set = scanned(file);
    assert!(set.is_sized() && set.times().is_sorted(), "{file}");
    (set.format(), set.rows(), set.unsorted(), set.times().last().unwrap().as_secs())
}

#[test]
fn traces_are_known_with_their_units() {
    // As counted by a program of its own.
    assert_eq!(trace("traces/mooncake-conversation-first4000.jsonl"), (Format::Mooncake, 4000, 0, 1301));
    assert_eq!(trace("traces/mooncake-synthetic.jsonl"), (Format::Mooncake, 3993, 0, 1022));
    assert_eq!(trace("traces/azure-2023-code.csv"), (Format::Azure, 8819, 0, 3435));
    assert_eq!(trace("traces/azure-2023-conv.csv"), (Format::Azure, 19366, 0, 3501));
    assert_eq!(trace("traces/azure-2024-format-sample.csv"), (Format::Azure, 600, 96, 23975));
    assert_eq!(trace("traces/burstgpt-format-sample.csv"), (Format::BurstGpt, 51, 0, 3293));
    assert_eq!(trace("traces/burstgpt-v2-first4.csv"), (Format::BurstGpt, 4, 0, 144));
    assert_eq!(trace("traces/handmade-bailian.jsonl"), (Format::Bailian, 6, 0, 80));
}

/// Every id of every row is kept, and there is one for each block.
#[test]
fn all_rows_of_mooncake_have_an_id_for_each_block() {
    let set = scanned("traces/mooncake-synthetic.jsonl");
    for index in 0..set.rows() {
        let size = set.row(index).unwrap().size.unwrap();
        assert_eq!(size.blocks.len(), size.prompt_tokens.div_ceil(512) as usize);
    }
}
