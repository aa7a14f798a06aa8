//! Tokenizers read from files, whole and broken.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::*;

/// A tokenizer of a few words, with special tokens, and with settings for training.
const WORDS: &str = r#"{
    "version": "1.0",
    "truncation": { "direction": "Right", "max_length": 3, "strategy": "LongestFirst", "stride": 0 },
    "padding": { "strategy": { "Fixed": 8 }, "direction": "Right", "pad_to_multiple_of": null,
                 "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]" },
    "added_tokens": [{ "id": 0, "content": "[PAD]", "single_word": false, "lstrip": false, "rstrip": false,
                       "normalized": false, "special": true }],
    "normalizer": null,
    "pre_tokenizer": { "type": "Whitespace" },
    "post_processor": { "type": "TemplateProcessing",
        "single": [{ "SpecialToken": { "id": "[PAD]", "type_id": 0 } }, { "Sequence": { "id": "A", "type_id": 0 } }],
        "pair": [{ "Sequence": { "id": "A", "type_id": 0 } }, { "Sequence": { "id": "B", "type_id": 1 } }],
        "special_tokens": { "[PAD]": { "id": "[PAD]", "ids": [0], "tokens": ["[PAD]"] } } },
    "decoder": null,
    "model": { "type": "WordLevel", "unk_token": "?",
               "vocab": { "[PAD]": 0, "?": 1, "one": 2, "two": 3, "three": 4 } }
}"#;

fn file(name: &str, bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    (folder, path)
}

#[test]
fn text_is_counted_whole_whatever_the_file_says_of_truncation_and_padding() {
    let tokenizer = Tokenizer::parse(WORDS).unwrap();
    let ids = tokenizer.encode("one two three four one", Specials::Without).unwrap();
    assert_eq!(ids, [2, 3, 4, 1, 2]);
    assert_eq!(tokenizer.encode("one", Specials::Without).unwrap(), [2]);
}

#[test]
fn c092_a_token_that_the_tokenizer_adds_by_itself_is_counted_only_where_it_is_wanted() {
    let tokenizer = Tokenizer::parse(WORDS).unwrap();
    assert_eq!(tokenizer.count("one two", Specials::Without), Ok(2));
    assert_eq!(tokenizer.count("one two", Specials::Added), Ok(3));
}

#[test]
fn a_file_may_be_packed() {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(WORDS.as_bytes()).unwrap();
    let (_folder, path) = file("tokenizer.json.gz", &gzip.finish().unwrap());
    assert_eq!(Tokenizer::load(&path).unwrap().count("one two", Specials::Without), Ok(2));
}

#[test]
fn a_rank_file_is_a_tokenizer() {
    // All bytes, then " a", "ab", " ab".
    let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".as_bytes();
    let base64 = |bytes: &[u8]| {
        let mut text = String::new();
        for chunk in bytes.chunks(3) {
            let bits = chunk.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte))
                << (8 * (3 - chunk.len()));
            for i in 0..4 {
                let letter = alphabet[(bits >> (18 - 6 * i) & 63) as usize];
                text.push(if i <= chunk.len() { letter.into() } else { '=' });
            }
        }
        text
    };
    let singles = (0..=255_u8).map(|byte| vec![byte]);
    let tokens = singles.chain([b" a".to_vec(), b"ab".to_vec(), b" ab".to_vec()]).enumerate();
    let ranks = tokens.map(|(rank, token)| format!("{} {rank}\n", base64(&token))).collect::<String>();
    let (_folder, path) = file("cl100k_base.tiktoken", ranks.as_bytes());
    let tokenizer = Tokenizer::load(&path).unwrap();
    assert_eq!(tokenizer.encode("ab ab aa", Specials::Without), Ok(vec![257, 258, 256, 97]));
    assert_eq!(tokenizer.decode(&[257, 258]).as_deref(), Ok("ab ab"));
    let (_folder, other) = file("mine.tiktoken", ranks.as_bytes());
    let why = Tokenizer::load(&other).err().map(|error| error.to_string()).unwrap_or_default();
    assert!(why.contains("must begin with p50k, r50k, cl100k or o200k"), "{why}");
}

#[test]
fn what_is_no_tokenizer_is_refused_with_its_name() {
    for bytes in [&b"{}"[..], b"", b"IQ== x", b"\xff\xfe", b"{\"model\":{\"type\":\"Magic\"}}"] {
        let (_folder, path) = file("cl100k.tiktoken", bytes);
        let error = Tokenizer::load(&path).err().unwrap_or_else(|| panic!("{bytes:?} is taken"));
        assert!(matches!(error, TokenizerError::NoTokenizer { .. }), "{error}");
        assert!(error.to_string().contains("cl100k.tiktoken is no tokenizer file: "), "{error}");
    }
    let missing = Tokenizer::load(Path::new("/nowhere/tokenizer.json")).err().map(|error| error.to_string());
    assert!(missing.is_some_and(|text| text.starts_with("cannot read /nowhere/tokenizer.json: ")));
}
