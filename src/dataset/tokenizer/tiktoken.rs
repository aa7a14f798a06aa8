//! tiktoken rank files: a token in base64 and its rank, a line.
//!
//! A rank file holds the tokens of a byte-pair encoding and not the merges that make them. They follow from the
//! ranks: encode a token with nothing but tokens of lower rank, and the two parts that are left are the merge that
//! made it.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::json;

/// A family of rank files, which says how text is split before ranks apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// `r50k_base`, `p50k_base`, `gpt2`.
    P50k,
    /// `cl100k_base`.
    Cl100k,
    /// `o200k_base`.
    O200k,
}

impl Encoding {
    /// The encoding that the name of `path` stands for.
    ///
    /// # Errors
    /// When it stands for none.
    pub fn of_file(path: &Path) -> Result<Encoding, String> {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        [
            ("p50k", Encoding::P50k),
            ("r50k", Encoding::P50k),
            ("cl100k", Encoding::Cl100k),
            ("o200k", Encoding::O200k),
        ]
        .into_iter()
        .find_map(|(prefix, encoding)| name.starts_with(prefix).then_some(encoding))
        .ok_or_else(|| {
            "a rank file is told by its name, which must begin with p50k, r50k, cl100k or o200k".to_owned()
        })
    }

    /// How text is split, in the first form that each was published in; later ones match the same faster.
    fn pattern(self) -> &'static str {
        match self {
            Encoding::P50k => r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
            Encoding::Cl100k => concat!(
                r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|",
                r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
            ),
            Encoding::O200k => concat!(
                r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|",
                r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|",
                r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
            ),
        }
    }
}

/// The `tokenizer.json` that a rank file stands for.
///
/// # Errors
/// When a line is not a token and a rank, with its number.
pub(super) fn to_json(ranks: &str, encoding: Encoding) -> Result<String, String> {
    let ranks = parse(ranks)?;
    let alphabet = byte_alphabet();
    let spell = |bytes: &[u8]| bytes.iter().map(|byte| alphabet[usize::from(*byte)]).collect::<String>();
    let mut vocabulary = serde_json::Map::new();
    let mut merges = Vec::new();
    let mut by_rank: Vec<(&Vec<u8>, u32)> = ranks.iter().map(|(token, rank)| (token, *rank)).collect();
    by_rank.sort_unstable_by_key(|(_, rank)| *rank);
    for (token, rank) in by_rank {
        vocabulary.insert(spell(token), rank.into());
        if token.len() > 1
            && let Some((left, right)) = last_merge(token, rank, &ranks)
        {
            merges.push(json!([spell(left), spell(right)]));
        }
    }
    Ok(json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        // A rank file has none: what looks like a special token is ordinary text.
        "added_tokens": [],
        "normalizer": null,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": encoding.pattern()}, "behavior": "Isolated", "invert": false},
            {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false},
        ]},
        "post_processor": null,
        "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
        "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
                  "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false,
                  "ignore_merges": false, "vocab": vocabulary, "merges": merges},
    })
    .to_string())
}

fn parse(text: &str) -> Result<BTreeMap<Vec<u8>, u32>, String> {
    let mut ranks = BTreeMap::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let entry =
            line.split_once(' ').and_then(|(token, rank)| Some((base64(token)?, rank.trim().parse().ok()?)));
        let Some((token, rank)) = entry else {
            return Err(format!("line {} is no token in base64 and its rank", index + 1));
        };
        ranks.insert(token, rank);
    }
    if ranks.is_empty() {
        return Err("it holds no token".into());
    }
    Ok(ranks)
}

/// The two parts left of `token` when only tokens below `rank` may be merged, lowest rank first.
fn last_merge<'t>(
    token: &'t [u8],
    rank: u32,
    ranks: &BTreeMap<Vec<u8>, u32>,
) -> Option<(&'t [u8], &'t [u8])> {
    let mut ends: Vec<usize> = (0..=token.len()).collect();
    while ends.len() > 3 {
        let rank_at = |i: usize| ranks.get(&token[ends[i]..ends[i + 2]]).copied();
        let lowest = (0..ends.len() - 2).filter_map(|i| Some((rank_at(i)?, i))).min()?;
        if lowest.0 >= rank {
            return None;
        }
        ends.remove(lowest.1 + 1);
    }
    Some((&token[..ends[1]], &token[ends[1]..]))
}

/// GPT-2's letter for each byte: itself where it can be printed, else the next letter from U+0100 on.
fn byte_alphabet() -> [char; 256] {
    let mut next = 256;
    std::array::from_fn(|byte| {
        let printable = matches!(byte, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff);
        let code = if printable {
            byte as u32
        } else {
            next += 1;
            next - 1
        };
        char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
    })
}

/// Standard base64 (RFC 4648) with its padding.
fn base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut held) = (0u32, 0);
    for letter in text.trim_end_matches('=').bytes() {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
        }
    }
    Some(bytes)
}
