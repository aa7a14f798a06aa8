//! What a prompt begins with, where its tokens are known: the hashes of its blocks.
//!
//! A block's hash covers the block and all before it, so two prompts agree as far as their hashes do.

use std::hash::{DefaultHasher, Hasher as _};
use std::sync::Arc;

/// A prompt whose tokens are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownPrompt {
    /// Hashes of the whole blocks it begins with; of a later turn, those of its session's first prompt.
    pub blocks: Arc<[u64]>,
    /// What it repeats of its session.
    pub carried: Carried,
    /// Whether a later turn may repeat it.
    pub goes_on: bool,
}

/// What a turn repeats of the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carried {
    /// Nothing: it is the first, or carries none.
    Nothing,
    /// The prompt; the answer is another.
    Prompt,
    /// The prompt and the answer that the server gave.
    PromptAndAnswer,
}

/// Hashes tokens, block by block.
pub struct BlockHasher {
    block_tokens: u64,
    in_block: u64,
    hasher: DefaultHasher,
    blocks: Vec<u64>,
}

impl BlockHasher {
    /// For blocks of `block_tokens`, at least 1.
    pub fn new(block_tokens: u64) -> BlockHasher {
        BlockHasher {
            block_tokens: block_tokens.max(1),
            in_block: 0,
            hasher: DefaultHasher::new(),
            blocks: Vec::new(),
        }
    }

    /// Takes a token that is a whole word.
    pub fn push_word(&mut self, word: &str) {
        self.hasher.write(word.as_bytes());
        // No byte of UTF-8, so that words do not run together.
        self.hasher.write_u8(0xff);
        self.advance();
    }

    /// Takes a token by its id.
    pub fn push_id(&mut self, id: u32) {
        self.hasher.write_u32(id);
        self.advance();
    }

    /// Takes `count` tokens of a template, which are alike in all prompts.
    pub fn push_template(&mut self, count: u64) {
        for _ in 0..count {
            self.hasher.write_u8(0xfe);
            self.advance();
        }
    }

    fn advance(&mut self) {
        self.in_block += 1;
        if self.in_block == self.block_tokens {
            self.in_block = 0;
            self.blocks.push(self.hasher.finish());
        }
    }

    /// The hashes of the whole blocks, in order.
    pub fn finish(self) -> Arc<[u64]> {
        self.blocks.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(words: &str, template: u64) -> Arc<[u64]> {
        let mut hasher = BlockHasher::new(3);
        words.split(' ').for_each(|word| hasher.push_word(word));
        hasher.push_template(template);
        hasher.finish()
    }

    #[test]
    fn prompts_share_the_blocks_up_to_their_first_difference() {
        let base = blocks("a b c d e f g", 0);
        assert_eq!(base.len(), 2);
        assert_eq!(blocks("a b c d e f h", 0), base);
        assert_eq!(blocks("a b c d e h g", 0)[0], base[0]);
        assert_ne!(blocks("a b c d e h g", 0)[1], base[1]);
        assert_ne!(blocks("x b c d e f g", 0)[1], base[1], "equal blocks after unequal ones differ");
        assert_ne!(blocks("ab c d", 0)[0], blocks("a bc d", 0)[0]);
        assert_eq!(blocks("a b", 1).len(), 1);
        assert_ne!(blocks("a b", 1)[0], base[0]);
        let ids = |ids: &[u32]| {
            let mut hasher = BlockHasher::new(2);
            ids.iter().for_each(|id| hasher.push_id(*id));
            hasher.finish()
        };
        assert_eq!((ids(&[1, 2, 3, 4])[0], ids(&[1, 2, 3]).len()), (ids(&[1, 2])[0], 1));
        assert_ne!(ids(&[2, 1])[0], ids(&[1, 2])[0]);
    }
}
