//! Paged KV memory: blocks with reference counts, and the prefix cache that lives in the free ones.
//!
//! As in vLLM, a block keeps what it holds after its last reference is gone and can be hit until it is taken for
//! something else; blocks never used are taken first, then the one free for longest. Of equal blocks filled at the
//! same time only the first can be hit.

use std::collections::BTreeMap;

use super::prefix::BlockHash;

/// A block by its place in memory.
pub(super) type BlockId = u32;

/// End of the list of free blocks.
const NONE: BlockId = BlockId::MAX;

/// All blocks of a server.
#[derive(Debug)]
pub(super) struct KvCache {
    capacity: u64,
    /// Whether blocks are found again by what they hold.
    caching: bool,
    /// Those ever used; the others need no memory of ours.
    blocks: Vec<Block>,
    used: u64,
    /// The free blocks among `blocks`, the one free for longest first.
    oldest: BlockId,
    newest: BlockId,
    cached: BTreeMap<BlockHash, BlockId>,
}

#[derive(Debug)]
struct Block {
    references: u32,
    hash: Option<BlockHash>,
    /// Neighbours in the list of free blocks.
    older: BlockId,
    newer: BlockId,
}

impl KvCache {
    /// Memory for `capacity` blocks, below 2³² − 1.
    pub(super) fn new(capacity: u64, caching: bool) -> KvCache {
        KvCache {
            capacity,
            caching,
            blocks: Vec::new(),
            used: 0,
            oldest: NONE,
            newest: NONE,
            cached: BTreeMap::new(),
        }
    }

    /// Blocks that a sequence holds.
    pub(super) fn used(&self) -> u64 {
        self.used
    }

    pub(super) fn capacity(&self) -> u64 {
        self.capacity
    }

    /// How many of `hashes`, from the first on without a gap, are cached.
    pub(super) fn hits(&self, hashes: &[BlockHash]) -> usize {
        if !self.caching {
            return 0;
        }
        hashes.iter().take_while(|hash| self.cached.contains_key(hash)).count()
    }

    /// Gives `own` the cached blocks of `hits` and `more` new ones; if there are not so many free, gives nothing and
    /// says so.
    pub(super) fn admit(&mut self, hits: &[BlockHash], more: u64, own: &mut Vec<BlockId>) -> bool {
        let is_free = |hash: &&BlockHash| self.blocks[self.cached[*hash] as usize].references == 0;
        let taken = hits.iter().filter(is_free).count() as u64;
        if self.used + taken + more > self.capacity {
            return false;
        }
        for hash in hits {
            let id = self.cached[hash];
            self.hold(id);
            own.push(id);
        }
        self.extend(own, more)
    }

    /// Gives `own` so many new blocks; if there are not so many free, gives nothing and says so.
    pub(super) fn extend(&mut self, own: &mut Vec<BlockId>, more: u64) -> bool {
        if self.used + more > self.capacity {
            return false;
        }
        own.extend((0..more).map(|_| self.take()));
        true
    }

    /// Block `id` is full and holds what `hash` says.
    pub(super) fn register(&mut self, id: BlockId, hash: BlockHash) {
        if !self.caching || self.cached.contains_key(&hash) {
            return;
        }
        self.cached.insert(hash, id);
        self.blocks[id as usize].hash = Some(hash);
    }

    /// Takes all blocks of `own` back, the last first: of a sequence, its end is forgotten first.
    pub(super) fn release(&mut self, own: &mut Vec<BlockId>) {
        while let Some(id) = own.pop() {
            let block = &mut self.blocks[id as usize];
            block.references -= 1;
            if block.references == 0 {
                self.used -= 1;
                self.append(id);
            }
        }
    }

    /// Forgets what blocks hold, also those in use.
    pub(super) fn forget(&mut self) {
        self.cached.clear();
        self.blocks.iter_mut().for_each(|block| block.hash = None);
    }

    /// A block for new tokens; one is free.
    fn take(&mut self) -> BlockId {
        if (self.blocks.len() as u64) < self.capacity {
            self.blocks.push(Block { references: 1, hash: None, older: NONE, newer: NONE });
            self.used += 1;
            return (self.blocks.len() - 1) as BlockId;
        }
        let id = self.oldest;
        if let Some(hash) = self.blocks[id as usize].hash.take() {
            self.cached.remove(&hash);
        }
        self.hold(id);
        id
    }

    /// One reference more.
    fn hold(&mut self, id: BlockId) {
        if self.blocks[id as usize].references == 0 {
            self.unlink(id);
            self.used += 1;
        }
        self.blocks[id as usize].references += 1;
    }

    fn append(&mut self, id: BlockId) {
        let newest = std::mem::replace(&mut self.newest, id);
        let block = &mut self.blocks[id as usize];
        (block.older, block.newer) = (newest, NONE);
        match newest {
            NONE => self.oldest = id,
            before => self.blocks[before as usize].newer = id,
        }
    }

    fn unlink(&mut self, id: BlockId) {
        let Block { older, newer, .. } = self.blocks[id as usize];
        match older {
            NONE => self.oldest = newer,
            before => self.blocks[before as usize].newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            after => self.blocks[after as usize].older = older,
        }
    }
}

#[cfg(test)]
mod tests;
