//! From a planned turn to the bytes of its request.
//!
//! Composing is a pure function of the turn, the run's salt and the data-set row. It costs too much for the
//! moment a request is due, so it is done ahead of need.

use std::sync::LazyLock;

use crate::dataset::Size;
use crate::prompt::Message;
use crate::seed::{Seed, Stream};

/// Common short English words.
static WORDS: LazyLock<Vec<&str>> = LazyLock::new(|| include_str!("words.txt").lines().collect());

/// What makes the prompts of one run differ from those of every other, so that no server answers the second
/// from a cache that the first one filled. No part of the plan: drawn for each run and recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Salt(pub u64);

/// A prompt of exactly `count` words, its words drawn for `request` alone.
pub(super) fn synthetic(salt: Salt, workload: &str, request: u64, count: u64) -> Vec<Message> {
    let mut stream = Seed(salt.0).indexed_stream("words", workload, request);
    let mut text = String::with_capacity(count as usize * 6);
    append(&mut text, &mut stream, count);
    vec![Message::user(text)]
}

/// A prompt of the length that a trace states: each of its blocks by its id alone, so that equal ids are equal
/// words in every request, process and machine; without ids it is like no other.
pub(super) fn sized(salt: Salt, workload: &str, request: u64, size: &Size) -> Vec<Message> {
    if size.blocks.is_empty() {
        return synthetic(salt, workload, request, size.prompt_tokens.into());
    }
    let mut left = size.prompt_tokens;
    let mut text = String::with_capacity(left as usize * 6);
    for id in &size.blocks {
        let count = left.min(size.block_tokens);
        append(&mut text, &mut Seed(salt.0).indexed_stream("blocks", workload, *id), count.into());
        left -= count;
    }
    vec![Message::user(text)]
}

/// Adds `count` words to `text`.
fn append(text: &mut String, stream: &mut Stream, count: u64) {
    for _ in 0..count {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(word(stream));
    }
}

/// One word.
pub(super) fn word(stream: &mut Stream) -> &'static str {
    let words = &*WORDS;
    words[stream.below(words.len() as u64) as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(salt: u64, request: u64, count: u64) -> String {
        synthetic(Salt(salt), "chat", request, count).remove(0).content
    }

    #[test]
    fn a_prompt_has_exactly_its_words() {
        for count in [1, 2, 500] {
            assert_eq!(text(1, 0, count).split_whitespace().count(), count as usize);
        }
    }

    #[test]
    fn prompts_of_a_trace_share_the_words_of_equal_leading_ids_and_no_more() {
        let words = |salt, request, prompt_tokens, blocks: &[u64]| -> Vec<String> {
            let size = Size { prompt_tokens, blocks: blocks.to_vec(), block_tokens: 512 };
            let text = sized(Salt(salt), "replay", request, &size).remove(0).content;
            text.split(' ').map(str::to_owned).collect()
        };
        let shared = |a: &[String], b: &[String]| a.iter().zip(b).take_while(|(a, b)| a == b).count();
        let long = words(1, 0, 1_300, &[7, u64::from(u32::MAX) + 8, 9]);
        assert_eq!(long.len(), 1_300);
        // The second id differs above the 32nd bit only.
        let other = words(1, 5, 1_300, &[7, 7, 9]);
        assert!((512..512 + 16).contains(&shared(&long, &other)), "{}", shared(&long, &other));
        assert_eq!(long[1_024..], other[1_024..]);
        // A last block that is shorter begins as the whole one does.
        assert_eq!(shared(&long, &words(1, 9, 600, &[7, u64::from(u32::MAX) + 8])), 600);
        assert!(shared(&long, &words(2, 0, 1_300, &[7, 8, 9])) < 16);
    }

    #[test]
    fn prompts_differ_from_the_first_words_between_requests_and_between_runs() {
        let begins = |text: String| text.split(' ').take(4).map(str::to_owned).collect::<Vec<_>>();
        assert_ne!(begins(text(1, 0, 50)), begins(text(1, 1, 50)));
        assert_ne!(begins(text(1, 0, 50)), begins(text(2, 0, 50)));
        assert_eq!(text(1, 0, 50), text(1, 0, 50));
    }

    #[test]
    fn the_word_list_is_clean() {
        assert!(WORDS.len() > 800);
        assert!(
            WORDS.iter().all(|word| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase()))
        );
        assert!(WORDS.is_sorted());
    }
}
