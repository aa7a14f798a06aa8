//! The cache against one so simple that it is plainly right.

use proptest::prelude::*;

use super::*;

/// The same memory as lists without any index: the oracle.
struct Plain {
    /// Free blocks in the order in which they are taken, each with what it holds.
    free: Vec<Option<BlockHash>>,
    /// What sequences hold: contents and references.
    held: Vec<(Option<BlockHash>, u32)>,
}

impl Plain {
    fn position(&self, hash: BlockHash) -> Option<usize> {
        self.held.iter().position(|(content, _)| *content == Some(hash))
    }

    fn knows(&self, hash: BlockHash) -> bool {
        self.free.contains(&Some(hash)) || self.position(hash).is_some()
    }
}

/// Admits a sequence of `total` blocks: how many of `hashes` were hit, if it fits.
fn admit(cache: &mut KvCache, hashes: &[BlockHash], total: u64, own: &mut Vec<BlockId>) -> Option<usize> {
    let hits = cache.hits(hashes);
    cache.admit(&hashes[..hits], total - hits as u64, own).then_some(hits)
}

#[test]
fn the_block_free_for_longest_is_taken_first_and_of_a_sequence_its_end() {
    let hash = |n: u64| BlockHash(n);
    let mut cache = KvCache::new(4, true);
    let (mut a, mut b) = (Vec::new(), Vec::new());
    assert_eq!(admit(&mut cache, &[hash(1), hash(2)], 2, &mut a), Some(0));
    assert_eq!(admit(&mut cache, &[hash(7), hash(8)], 2, &mut b), Some(0));
    for (blocks, hashes) in [(&a, [1, 2]), (&b, [7, 8])] {
        blocks.iter().zip(hashes).for_each(|(block, n)| cache.register(*block, hash(n)));
    }
    assert_eq!((cache.used(), cache.extend(&mut a, 1)), (4, false));
    cache.release(&mut a);
    cache.release(&mut b);
    assert_eq!(cache.used(), 0);
    // Two new blocks: taken are 2 (the end of the first to be released) and 1.
    assert!(cache.extend(&mut a, 2));
    assert_eq!(admit(&mut cache, &[hash(1)], 1, &mut b), Some(0), "1 is forgotten; its block came from 8");
    cache.release(&mut b);
    assert_eq!(admit(&mut cache, &[hash(7), hash(8)], 2, &mut b), Some(1));
    assert_eq!(cache.used(), 4);
}

#[test]
fn a_cached_block_that_is_free_counts_as_taken_when_it_is_hit() {
    let hash = BlockHash(5);
    let mut cache = KvCache::new(2, true);
    let mut own = Vec::new();
    assert_eq!(admit(&mut cache, &[hash], 1, &mut own), Some(0));
    cache.register(own[0], hash);
    let mut other = Vec::new();
    assert!(cache.extend(&mut other, 1));
    assert_eq!(
        admit(&mut cache, &[hash], 2, &mut Vec::new()),
        None,
        "the hit is shared, the new block is missing"
    );
    cache.release(&mut own);
    assert_eq!(admit(&mut cache, &[hash], 2, &mut Vec::new()), None, "the only free block is the hit itself");
    cache.release(&mut other);
    assert_eq!(admit(&mut cache, &[hash], 2, &mut own), Some(1));
    assert_eq!(cache.used(), 2);
}

#[test]
fn a_shared_block_stays_until_its_last_reference_goes_and_nothing_is_found_once_forgotten() {
    let hash = BlockHash(5);
    let mut cache = KvCache::new(8, true);
    let (mut a, mut b) = (Vec::new(), Vec::new());
    admit(&mut cache, &[hash], 1, &mut a).unwrap();
    cache.register(a[0], hash);
    assert_eq!(admit(&mut cache, &[hash], 1, &mut b), Some(1));
    assert_eq!((a[0], cache.used()), (b[0], 1));
    cache.release(&mut a);
    assert_eq!(cache.used(), 1);
    cache.forget();
    assert_eq!(admit(&mut cache, &[hash], 1, &mut a), Some(0));
    cache.release(&mut b);
    cache.release(&mut a);
    assert_eq!(cache.used(), 0);
}

#[test]
fn without_caching_nothing_is_found() {
    let hash = BlockHash(5);
    let mut cache = KvCache::new(8, false);
    let mut own = Vec::new();
    admit(&mut cache, &[hash], 1, &mut own).unwrap();
    cache.register(own[0], hash);
    assert_eq!(admit(&mut cache, &[hash], 1, &mut Vec::new()), Some(0));
}

proptest! {
    /// Sequences of few distinct blocks come and go; hits and room are those of the oracle at every moment.
    #[test]
    fn hits_and_room_are_those_of_the_plain_cache(
        capacity in 1..12u64,
        doings in proptest::collection::vec((any::<bool>(), any::<usize>(), proptest::collection::vec(0..3u64, 0..6)), 0..60),
    ) {
        let mut cache = KvCache::new(capacity, true);
        let mut plain = Plain { free: vec![None; capacity as usize], held: Vec::new() };
        // Sequences with their hashes; the oracle's blocks by content, unnamed ones counted.
        let mut live: Vec<(Vec<BlockId>, Vec<Option<BlockHash>>)> = Vec::new();
        for (arrives, which, path) in doings {
            if arrives {
                let hashes = path.iter().scan(0, |state, step| {
                    *state = *state * 4 + step + 1;
                    Some(BlockHash(*state))
                }).collect::<Vec<_>>();
                let total = hashes.len() as u64 + 1;
                let hits = hashes.iter().take_while(|hash| plain.knows(**hash)).count();
                let taken = hashes[..hits].iter().filter(|hash| plain.position(**hash).is_none()).count();
                let more = total as usize - hits;
                let fits = taken + more <= plain.free.len();
                let mut own = Vec::new();
                let admitted = admit(&mut cache, &hashes, total, &mut own);
                prop_assert_eq!(admitted, fits.then_some(hits));
                if !fits {
                    continue;
                }
                let mut mine = Vec::new();
                for hash in &hashes[..hits] {
                    match plain.position(*hash) {
                        Some(place) => plain.held[place].1 += 1,
                        None => {
                            let place = plain.free.iter().position(|content| *content == Some(*hash)).unwrap();
                            plain.free.remove(place);
                            plain.held.push((Some(*hash), 1));
                        }
                    }
                    mine.push(Some(*hash));
                }
                for (place, block) in own.iter().enumerate().skip(hits) {
                    plain.free.remove(0);
                    // All but the last block are full; of equal ones only the first is named.
                    let name = hashes.get(place).copied().filter(|hash| !plain.knows(*hash));
                    if let Some(hash) = name {
                        cache.register(*block, hash);
                        plain.held.push((Some(hash), 1));
                    }
                    mine.push(name);
                }
                live.push((own, mine));
            } else if !live.is_empty() {
                let (mut own, mine) = live.swap_remove(which % live.len());
                cache.release(&mut own);
                for content in mine.into_iter().rev() {
                    let Some(hash) = content else {
                        plain.free.push(None);
                        continue;
                    };
                    let place = plain.position(hash).unwrap();
                    plain.held[place].1 -= 1;
                    if plain.held[place].1 == 0 {
                        plain.held.remove(place);
                        plain.free.push(Some(hash));
                    }
                }
            }
            prop_assert_eq!(cache.used(), capacity - plain.free.len() as u64);
        }
        for (mut own, _) in live {
            cache.release(&mut own);
        }
        prop_assert_eq!(cache.used(), 0);
    }
}
