//! How much work a comparison may cost.
//!
//! What a model wrote is hostile until compared: `9^{9^{9^9}}` is ten characters. Every loop whose length does not
//! follow from the bounded length of the text pays here, and a comparison that cannot pay ends as "not equal".

/// Steps that one comparison may take. A step is a token looked at, a node evaluated, or a product of two machine
/// words: a few milliseconds in all.
pub(super) const LIMIT: u64 = 400_000;

/// The longest answer that is looked at, in bytes.
pub(super) const MAX_ANSWER: usize = 4096;

/// The deepest nesting that is followed.
pub(super) const MAX_DEPTH: u32 = 64;

/// The largest exact number, in bits of numerator or denominator.
pub(super) const MAX_BITS: u64 = 65_536;

/// Steps spent, and the limit on them.
#[derive(Debug, Default)]
pub(super) struct Work {
    spent: u64,
}

impl Work {
    /// Pays for `steps`.
    ///
    /// Returns `None` when the limit is reached; the caller gives up.
    pub(super) fn spend(&mut self, steps: u64) -> Option<()> {
        self.spent = self.spent.saturating_add(steps);
        (self.spent <= LIMIT).then_some(())
    }

    /// Pays for the product of numbers of so many bits.
    pub(super) fn spend_product(&mut self, a: u64, b: u64) -> Option<()> {
        self.spend(1 + (a / 64 + 1) * (b / 64 + 1))
    }

    /// Pays for the greatest common divisor of numbers of so many bits, which takes a subtraction a bit.
    pub(super) fn spend_divisor(&mut self, bits: u64) -> Option<()> {
        self.spend(1 + bits * (bits / 64 + 1))
    }

    /// Steps spent so far.
    #[cfg(test)]
    pub(super) fn spent(&self) -> u64 {
        self.spent
    }
}
