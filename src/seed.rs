//! Random streams, one for each purpose.
//!
//! A run has one seed. Each purpose (arrivals, choice of workload, row order, words) draws from a stream of its
//! own, so that changing one part of a scenario leaves every other draw where it was. ChaCha8 gives the same
//! bits on every machine; what is made of the bits is ours, never a library's distribution, whose values may
//! change between releases.

use rand::Rng as _;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;

/// The seed of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed(pub u64);

impl Seed {
    /// The stream of `purpose` (`"arrivals"`) for `owner` (the phase or workload by name).
    pub fn stream(self, purpose: &str, owner: &str) -> Stream {
        self.indexed_stream(purpose, owner, 0)
    }

    /// The stream of `purpose` for member `index` of `owner`: the words of one request, say.
    pub fn indexed_stream(self, purpose: &str, owner: &str, index: u64) -> Stream {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&self.0.to_le_bytes());
        key[8..16].copy_from_slice(&fnv1a(purpose.as_bytes()).to_le_bytes());
        key[16..24].copy_from_slice(&fnv1a(owner.as_bytes()).to_le_bytes());
        key[24..].copy_from_slice(&index.to_le_bytes());
        Stream(ChaCha8Rng::from_seed(key))
    }
}

/// A source of random draws. Its clone goes on with the same draws.
pub struct Stream(ChaCha8Rng);

impl Clone for Stream {
    fn clone(&self) -> Stream {
        Stream(ChaCha8Rng::deserialize_state(&self.0.serialize_state()))
    }
}

impl Stream {
    /// 64 uniform bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in [0, 1), in steps of 2⁻⁵³.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform in 0..n; 0 if n is 0. Lemire's multiply-shift, "Fast Random Integer Generation in an Interval"
    /// (2019), without its rejection step: the bias is below n / 2⁶⁴.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }

    /// Exponential with mean 1, by inversion.
    pub fn exponential(&mut self) -> f64 {
        -libm::log1p(-self.unit())
    }
}

/// FNV-1a, 64 bits (Fowler, Noll, Vo): names to key material, the same for ever.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_the_same_bits_for_ever() {
        let mut stream = Seed(7).stream("arrivals", "steady");
        let draws = [stream.bits(), stream.bits(), stream.bits()];
        insta::assert_compact_debug_snapshot!(draws, @"[12632470488298085308, 18347575009358640712, 7999564946176066474]");
    }

    #[test]
    fn purposes_owners_and_indices_have_streams_of_their_own() {
        let first = |purpose, owner, index| Seed(7).indexed_stream(purpose, owner, index).bits();
        let draws = [
            first("arrivals", "steady", 0),
            first("words", "steady", 0),
            first("arrivals", "burst", 0),
            first("arrivals", "steady", 1),
            Seed(8).stream("arrivals", "steady").bits(),
        ];
        for (i, a) in draws.iter().enumerate() {
            assert!(!draws[..i].contains(a), "streams {i} and an earlier one begin alike");
        }
    }

    #[test]
    fn a_clone_goes_on_with_the_same_draws() {
        let mut stream = Seed(3).stream("test", "");
        for _ in 0..40 {
            let mut clone = stream.clone();
            assert_eq!(clone.bits(), stream.bits());
            assert_eq!(clone.bits(), stream.clone().bits());
        }
    }

    #[test]
    fn exponential_draws_have_mean_one_and_never_overflow() {
        let mut stream = Seed(1).stream("test", "");
        let mean = (0..100_000).map(|_| stream.exponential()).sum::<f64>() / 1e5;
        assert!((mean - 1.0).abs() < 0.02, "mean {mean}");
        assert!((0..1000).all(|_| stream.below(3) < 3));
        assert_eq!(stream.below(0), 0);
    }
}
