//! Names for the blocks of a sequence: a hash of the tokens of a block and of all before it.
//!
//! Two sequences share a block's hash exactly when they agree from the first token to the block's last, as in
//! vLLM's prefix cache; so a cache is a set of hashes, and a hit the longest beginning all of whose blocks it holds.

/// The hash of one whole block and of everything before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BlockHash(pub u64);

/// Hashes a sequence of tokens, block by block.
#[derive(Clone, Debug)]
pub struct BlockHasher {
    block_tokens: u64,
    in_block: u64,
    state: u64,
    hashes: Vec<BlockHash>,
}

impl BlockHasher {
    /// For blocks of `block_tokens`, at least 1.
    pub fn new(block_tokens: u64) -> BlockHasher {
        BlockHasher { block_tokens: block_tokens.max(1), in_block: 0, state: 0, hashes: Vec::new() }
    }

    /// Takes the next token.
    pub fn push(&mut self, id: u32) {
        self.state = fold(self.state, u64::from(id) + 1);
        self.in_block += 1;
        if self.in_block == self.block_tokens {
            self.in_block = 0;
            self.hashes.push(BlockHash(self.state));
        }
    }

    /// The hashes of the whole blocks, in order.
    pub fn finish(self) -> Vec<BlockHash> {
        self.hashes
    }
}

impl Extend<u32> for BlockHasher {
    fn extend<T: IntoIterator<Item = u32>>(&mut self, ids: T) {
        ids.into_iter().for_each(|id| self.push(id));
    }
}

/// Mixes `value` into `hash`: the finaliser of SplitMix64 (Steele, Lea and Flood, 2014) over their sum. Not for
/// use against an adversary.
pub(super) fn fold(hash: u64, value: u64) -> u64 {
    let mut bits = hash.wrapping_add(value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// Mixes `bytes` into `hash`, and how many they are, so that pieces do not run together.
pub(super) fn fold_bytes(hash: u64, bytes: &[u8]) -> u64 {
    let (chunks, rest) = bytes.as_chunks::<8>();
    let hash = chunks
        .iter()
        .fold(fold(hash, bytes.len() as u64), |hash, chunk| fold(hash, u64::from_le_bytes(*chunk)));
    let last = rest.iter().rfold(0, |value, byte| value << 8 | u64::from(*byte));
    if rest.is_empty() { hash } else { fold(hash, last) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hashes(ids: &[u32], block_tokens: u64) -> Vec<BlockHash> {
        let mut hasher = BlockHasher::new(block_tokens);
        hasher.extend(ids.iter().copied());
        hasher.finish()
    }

    #[test]
    fn only_whole_blocks_have_a_hash_and_it_covers_all_before_it() {
        let base = hashes(&[1, 2, 3, 4, 5, 6, 7], 3);
        assert_eq!(base.len(), 2);
        assert_eq!(hashes(&[1, 2, 3, 4, 5, 6, 9], 3), base);
        assert_eq!(hashes(&[1, 2, 3, 4, 5, 9], 3)[0], base[0]);
        assert_ne!(hashes(&[1, 2, 3, 4, 5, 9], 3)[1], base[1]);
        assert_ne!(hashes(&[9, 2, 3, 4, 5, 6], 3)[1], base[1], "equal blocks after unequal ones differ");
        assert_ne!(hashes(&[0, 0, 0, 0], 2)[0], hashes(&[0, 0, 0, 0], 2)[1]);
    }

    #[test]
    fn tokens_do_not_cancel_each_other_out() {
        assert_ne!(hashes(&[1, 2], 2), hashes(&[2, 1], 2));
        assert_ne!(hashes(&[0, 3], 2), hashes(&[3, 0], 2));
        assert_ne!(hashes(&[u32::MAX, 0], 2), hashes(&[0, u32::MAX], 2));
    }
}
