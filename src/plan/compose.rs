//! From a planned turn to the bytes of its request.
//!
//! Composing is a pure function of the turn, the run's salt and the data-set row. It costs too much for the
//! moment a request is due, so it is done ahead of need.

use std::sync::LazyLock;

use crate::prompt::Message;
use crate::seed::Seed;

/// Common short English words.
static WORDS: LazyLock<Vec<&str>> = LazyLock::new(|| include_str!("words.txt").lines().collect());

/// What makes the prompts of one run differ from those of every other, so that no server answers the second
/// from a cache that the first one filled. No part of the plan: drawn for each run and recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Salt(pub u64);

/// A prompt of exactly `count` words, its words drawn for `request` alone.
pub(super) fn synthetic(salt: Salt, workload: &str, request: u64, count: u64) -> Vec<Message> {
    let mut stream = Seed(salt.0).indexed_stream("words", workload, request);
    let words = &*WORDS;
    let mut text = String::with_capacity(count as usize * 6);
    for i in 0..count {
        if i > 0 {
            text.push(' ');
        }
        text.push_str(words[stream.below(words.len() as u64) as usize]);
    }
    vec![Message::user(text)]
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
