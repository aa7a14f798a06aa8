//! A run split over several processes, none of which speaks to another.
//!
//! Every shard walks the whole plan and takes its share by number, so that all shards together send what one
//! process would have.

/// One of several parts of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    index: u32,
    count: u32,
}

impl Shard {
    /// The whole run.
    pub const WHOLE: Shard = Shard { index: 0, count: 1 };

    /// Part `index` of `count`, counted from 0; `None` where there is no such part.
    pub fn new(index: u32, count: u32) -> Option<Shard> {
        (index < count).then_some(Shard { index, count })
    }

    /// Its number, from 0.
    pub fn index(self) -> u32 {
        self.index
    }

    /// How many there are.
    pub fn count(self) -> u32 {
        self.count
    }

    /// Whether there are others.
    pub fn is_part(self) -> bool {
        self.count > 1
    }

    /// `k/n`, where it is a part.
    pub fn to_text(self) -> Option<String> {
        self.is_part().then(|| format!("{}/{}", self.index, self.count))
    }

    /// Reads what [`Shard::to_text`] wrote.
    pub fn from_text(text: &str) -> Option<Shard> {
        let (index, count) = text.split_once('/')?;
        Shard::new(index.parse().ok()?, count.parse().ok()?)
    }

    /// Whether session or user `number` is its own: every `count`-th is.
    pub fn owns(self, number: u64) -> bool {
        number % u64::from(self.count) == u64::from(self.index)
    }

    /// Its part of a limit. The parts of all shards add up to it.
    pub fn share_of(self, limit: u32) -> u32 {
        limit / self.count + u32::from(self.index < limit % self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_and_every_number_has_one_owner() {
        for count in 1..7 {
            let shards: Vec<Shard> = (0..count).map(|index| Shard::new(index, count).unwrap()).collect();
            for number in 0..20 {
                assert_eq!(shards.iter().map(|shard| shard.share_of(number)).sum::<u32>(), number);
                assert_eq!(shards.iter().filter(|shard| shard.owns(number.into())).count(), 1);
            }
        }
        assert_eq!(Shard::new(3, 3), None);
        assert!(!Shard::WHOLE.is_part() && Shard::WHOLE.owns(5));
    }
}
