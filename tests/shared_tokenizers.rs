//! Tokenizers against ids that the reference implementations give, for real tokenizer files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use tonnage::dataset::tokenizer::{Specials, Tokenizer};
use tonnage::dataset::{Dataset, Source};
use tonnage::plan::Turn;
use tonnage::plan::compose::{Form, Measure, Prompts, Salt, System};
use tonnage::plan::needle::{Filler, Hay};
use tonnage::plan::passage::Passage;
use tonnage::prompt::TokenModel;
use tonnage::protocol::BodyOptions;
use tonnage::record::{Needle, Planned};
use tonnage::scenario::{CachePolicy, History};
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

/// What requests of `prompts` have in common, made of words that `tokenizer` knows.
fn form(tokenizer: &Tokenizer, prompts: Prompts) -> Form {
    let count = |text: &str| Some(tokenizer.count(text, Specials::Without).ok()? as u64);
    let model = TokenModel::counted(count).expect("a tokenizer that knows our words");
    Form {
        workload: "w".to_owned(),
        prompts,
        system: System::None,
        measure: Some(Measure::of(model)),
        cache: CachePolicy::Natural,
        history: History::None,
        context: None,
        tokenizer: None,
        options: BodyOptions::default(),
        checks: false,
        compares: false,
    }
}

#[test]
fn rows_of_a_real_trace_have_their_tokens_and_share_those_of_their_common_ids() {
    let trace = folder().join("../traces/mooncake-conversation-first4000.jsonl");
    let dataset = Arc::new(Dataset::scan(&Source::of(trace)).unwrap());
    let rows = (0..dataset.rows()).filter_map(|row| Some((row, dataset.row(row).ok()?.size?)));
    // Of those that fit into a test, some that share more than the first block.
    let rows = rows.filter(|(_, size)| size.prompt_tokens < 6_000).take(60).collect::<Vec<_>>();
    let mut shared_most = 0;
    for file in FILES {
        let tokenizer = Tokenizer::load(&folder().join(file)).unwrap();
        let form = form(&tokenizer, Prompts::Rows(Arc::clone(&dataset)));
        let encode = |(row, size): &(u32, tonnage::dataset::Size)| {
            let request = u64::from(*row);
            let planned =
                Planned { request, session: request, dataset_row: Some(request), ..Planned::default() };
            let think = std::time::Duration::ZERO;
            let turn = Turn { planned, think, prompt_tokens: Some(size.prompt_tokens) };
            let messages = form.opening(Salt(5), &turn).unwrap().messages;
            tokenizer.encode(&messages[0].content, Specials::Without).unwrap()
        };
        let encoded = rows.iter().map(encode).collect::<Vec<_>>();
        for (i, (_, size)) in rows.iter().enumerate() {
            assert_eq!(encoded[i].len(), size.prompt_tokens as usize, "{file}");
            for (j, (_, other)) in rows[..i].iter().enumerate() {
                let blocks = size.blocks.iter().zip(&other.blocks).take_while(|(one, other)| one == other);
                let ids = blocks.count();
                let least = (ids * 512).min(encoded[i].len()).min(encoded[j].len());
                let common = encoded[i].iter().zip(&encoded[j]).take_while(|(one, other)| one == other);
                let common = common.count();
                // Ids that are some hundreds apart may begin with the same word.
                assert!(common >= least && common < least + 4, "{file}: {common} of {ids} ids");
                shared_most = shared_most.max(ids);
            }
        }
    }
    assert!(shared_most > 1, "no rows share more than the first block");
}

/// Texts as people have them: essays, code with indents, questions, conversations.
fn texts() -> Vec<String> {
    let read = |path: &str| std::fs::read_to_string(folder().join(path)).expect("a file of texts");
    let rows = |path: &str| read(path).lines().take(300).collect::<Vec<_>>().join("\n");
    let unicode = "Früh am Morgen — 早上好,世界! 🚢🚢 naïve\u{a0}façade\r\n\r\n\tif x != 10_000 {\n\t\treturn;\n\t}\n\n\n… ".repeat(40);
    let code = include_str!("../src/plan/passage.rs").to_owned();
    vec![include_str!("../datasets/filler.txt").to_owned(), code, unicode, rows("../gsm8k/test.jsonl")]
}

#[test]
fn texts_cut_or_repeated_have_their_tokens() {
    for file in FILES {
        let tokenizer = Tokenizer::load(&folder().join(file)).unwrap();
        let count = |text: &str| Some(tokenizer.count(text, Specials::Without).ok()? as u64);
        let model = TokenModel::counted(count).unwrap();
        for (number, text) in (0..).zip(texts()) {
            let passage =
                Passage::counted(&text, u64::MAX, count).unwrap_or_else(|why| panic!("{file}: {why}"));
            let whole = count(text.trim()).unwrap();
            let lengths = (1..40).chain((1..16).map(|i| i * whole / 5)).chain([whole, 131_072]);
            for length in lengths.filter(|length| *length > 0) {
                for lead in [None, Some((16, number))] {
                    let mut stream = Seed(9).indexed_stream("words", file, length);
                    let made = passage.compose(length, lead, &model, &mut stream);
                    assert_eq!(count(&made), Some(length), "{file}, text {number}");
                }
            }
        }
    }
}

#[test]
fn prompts_that_hide_needles_have_their_tokens() {
    let hay = Hay { needles: 3, distractors: 4 };
    for file in FILES {
        let tokenizer = Arc::new(Tokenizer::load(&folder().join(file)).unwrap());
        let counted = Filler::counted(Arc::clone(&tokenizer)).expect("sentences that add up");
        let plain = form(&tokenizer, Prompts::Needle(hay));
        let measure = plain.measure.clone().unwrap();
        let tokens = |filler: &Filler, request: u64, length_tokens: u32| {
            let measure = Some(Measure { filler: filler.clone(), ..measure.clone() });
            let form = Form { measure, ..plain.clone() };
            let needle = Some(Needle { depth: request as f64 / 10.0, length_tokens });
            let planned = Planned { request, session: request, needle, ..Planned::default() };
            let think = std::time::Duration::ZERO;
            let turn = Turn { planned, think, prompt_tokens: Some(length_tokens) };
            let messages = form.opening(Salt(5), &turn).unwrap().messages;
            tokenizer.count(&messages[0].content, Specials::Without).unwrap() as u32
        };
        for (request, length) in (0..10).zip([200, 201, 333, 512, 1_000, 2_047, 4_096, 8_192, 20_000, 32_768])
        {
            assert_eq!(tokens(&counted, request, length), length, "{file}");
        }
        // Without the tokenizer all deviate by about as much, which a probe tells: numbers are not all alike.
        let marks = Filler::of_words(1);
        let off = (0..10).map(|request| tokens(&marks, request, 300 + 500 * request as u32));
        let off = off.zip(0..).map(|(counted, request)| counted - (300 + 500 * request)).collect::<Vec<_>>();
        let (least, most) = (off.iter().min().unwrap(), off.iter().max().unwrap());
        assert!(most - least <= 10, "{file}: {off:?}");
        println!("{file}: {off:?}");
    }
}
