//! Tokenizers against ids that the reference implementations give, for real tokenizer files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;
use tonnage::dataset::tokenizer::{Specials, Tokenizer};
use tonnage::prompt::TokenModel;
use tonnage::seed::Seed;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/tokenizers")
}

/// The file of each name in the table of expected ids.
fn file_of(name: &str) -> String {
    for ending in ["", ".gz", ".tokenizer.json", ".tokenizer.json.gz", ".tiktoken"] {
        let file = format!("{name}{ending}");
        if folder().join(&file).exists() {
            return file;
        }
    }
    panic!("no file for tokenizer {name}");
}

#[test]
fn every_expected_id_is_right() {
    let table = std::fs::read_to_string(folder().join("expected-ids.jsonl")).unwrap();
    let mut tokenizers: BTreeMap<String, Tokenizer> = BTreeMap::new();
    let mut wrong = Vec::new();
    let mut rows = 0;
    for line in table.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let name = row["tokenizer"].as_str().unwrap();
        let tokenizer = tokenizers
            .entry(name.to_owned())
            .or_insert_with(|| Tokenizer::load(&folder().join(file_of(name))).unwrap());
        let specials =
            if row["add_special_tokens"] == Value::Bool(true) { Specials::Added } else { Specials::Without };
        let text = row["text"].as_str().unwrap();
        let expected: Vec<u32> =
            row["ids"].as_array().unwrap().iter().map(|id| id.as_u64().unwrap() as u32).collect();
        rows += 1;
        match tokenizer.encode(text, specials) {
            Ok(ids) if ids == expected => {}
            other => wrong.push(format!("{name} {text:?}: {other:?}, expected {expected:?}")),
        }
    }
    assert_eq!(rows, 250);
    assert!(wrong.is_empty(), "{} of {rows} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// Every tokenizer there is.
const FILES: [&str; 6] = [
    "anthropic-claude2.tokenizer.json",
    "bert-base-uncased.tokenizer.json",
    "cl100k_base.tiktoken",
    "gpt2.tokenizer.json",
    "p50k_base.tiktoken",
    "qwen3.tokenizer.json.gz",
];

/// A thousand lengths from 1 to 128Ki, each so many times the one before. Ten of them are long: those cost as much as
/// all others.
fn lengths() -> Vec<u64> {
    let short = (0..990).map(|i| 12.0 * f64::from(i) / 989.0);
    let long = (1..=10).map(|i| 12.0 + 5.0 * f64::from(i) / 10.0);
    short.chain(long).map(|power| 2_f64.powf(power).round() as u64).collect()
}

#[test]
fn c090_prompts_of_every_length_encode_to_exactly_it_and_share_no_first_block() {
    for file in FILES {
        let tokenizer = Tokenizer::load(&folder().join(file)).unwrap();
        let count = |text: &str| Some(tokenizer.count(text, Specials::Without).ok()? as u64);
        let model = TokenModel::counted(count).unwrap_or_else(|| panic!("{file} makes no model"));
        let mut blocks = BTreeSet::new();
        let lengths = lengths();
        assert_eq!((lengths.len(), lengths[0], lengths[999]), (1_000, 1, 131_072));
        for (number, length) in lengths.into_iter().enumerate() {
            let mut text = String::new();
            let mut stream = Seed(9).indexed_stream("words", file, number as u64);
            model.extend(&mut text, length, Some(number as u64), &mut stream);
            let ids = tokenizer.encode(&text, Specials::Without).unwrap();
            assert_eq!(ids.len() as u64, length, "{file}");
            assert!(length < 16 || blocks.insert(ids[..16].to_vec()), "{file}: a block twice");
        }
    }
}

#[test]
fn words_that_are_common_need_no_tokenizer() {
    for file in FILES {
        let tokenizer = Tokenizer::load(&folder().join(file)).unwrap();
        for number in 0..200 {
            let mut text = String::new();
            let mut stream = Seed(9).indexed_stream("words", file, number);
            TokenModel::common().extend(&mut text, 500, Some(number), &mut stream);
            assert_eq!(tokenizer.count(&text, Specials::Without), Ok(500), "{file}");
        }
    }
}
