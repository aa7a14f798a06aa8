//! Tokenizers against ids that the reference implementations give, for real tokenizer files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tonnage::dataset::tokenizer::{Specials, Tokenizer};

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
