//! What the simulated model says: words that follow from the prompt alone.

use crate::seed::Seed;

/// Every token of an answer is one of these; none needs escaping in JSON.
const WORDS: [&str; 64] = [
    "about", "above", "after", "air", "along", "answer", "arrive", "balance", "barge", "bay", "before",
    "below", "bridge", "cargo", "carry", "channel", "clear", "coast", "count", "course", "crane", "day",
    "deck", "depth", "dock", "draft", "each", "fair", "fleet", "freight", "gauge", "harbour", "heavy",
    "hold", "hull", "keel", "lantern", "level", "light", "line", "load", "long", "mark", "measure", "moor",
    "north", "pilot", "port", "quay", "ready", "river", "rope", "sail", "sea", "ship", "slow", "steady",
    "stern", "tide", "tonne", "vessel", "wave", "weight", "wind",
];

/// One answer, as long as it may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    key: u64,
}

impl Answer {
    /// The answer to a prompt whose pieces (roles and texts, in order) are these.
    pub(super) fn to<'a>(pieces: impl IntoIterator<Item = &'a str>) -> Answer {
        // FNV-1a (Fowler, Noll, Vo), with a byte that no text contains between the pieces.
        let mut key = 0xcbf2_9ce4_8422_2325_u64;
        let mut mix = |byte: u8| key = (key ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        for piece in pieces {
            piece.bytes().for_each(&mut mix);
            mix(0xff);
        }
        Answer { key }
    }

    /// Tokens after which the answer ends by itself: uniform over mean ± half of it, at least 1.
    pub(super) fn tokens(self, mean: u64) -> u64 {
        let half = mean / 2;
        let more = Seed(self.key).stream("answer length", "").below(2 * half + 1);
        (mean - half).saturating_add(more).max(1)
    }

    /// The word that is token `index`. Any is to be had without those before it: the draws are SplitMix64
    /// (Steele, Lea and Flood, 2014), whose state is a counter.
    pub(super) fn word(self, index: u64) -> &'static str {
        let mut bits = self.key.wrapping_add((index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
        WORDS[(bits % WORDS.len() as u64) as usize]
    }

    /// The text of the first `tokens` tokens, a blank between words.
    pub(super) fn text(self, tokens: u64) -> String {
        (0..tokens).map(|index| self.word(index)).collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_follows_from_its_prompt_for_ever() {
        let answer = Answer::to(["user", "How heavy is a tonne?"]);
        insta::assert_snapshot!(answer.text(8), @"before pilot deck day course sea ready balance");
        assert_eq!(answer.tokens(100), 81);
        assert_ne!(answer, Answer::to(["user", "How heavy is a tonne", "?"]));
        assert_ne!(answer, Answer::to(["system", "How heavy is a tonne?"]));
    }

    #[test]
    fn lengths_lie_around_the_mean() {
        let lengths = (0..4000).map(|i| Answer { key: i }.tokens(100)).collect::<Vec<_>>();
        let mean = lengths.iter().sum::<u64>() as f64 / 4000.0;
        assert!(lengths.iter().all(|length| (50..=150).contains(length)));
        assert!((mean - 100.0).abs() < 2.0, "mean {mean}");
        assert!((0..100).all(|i| Answer { key: i }.tokens(1) == 1));
        assert!((0..100).all(|i| Answer { key: i }.tokens(u64::MAX) > 0));
    }

    #[test]
    fn every_word_occurs_and_each_is_one_plain_word() {
        let answer = Answer::to(["user", "x"]);
        let text = answer.text(2000);
        assert_eq!(text.split_whitespace().count(), 2000);
        for word in WORDS {
            assert!(word.bytes().all(|byte| byte.is_ascii_lowercase()));
            assert!(text.contains(word), "{word}");
        }
    }
}
