//! What is known by the driver's handles and by the addresses of objects.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map by addresses. Nobody picks these so that they collide, so one multiplication spreads them well enough.
pub(super) type ByAddress<T> = HashMap<usize, T, BuildHasherDefault<Spread>>;

/// Spreads an address over all bits of a hash.
#[derive(Default)]
pub(super) struct Spread(u64);

impl Hasher for Spread {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_usize(usize::from(*byte)));
    }

    #[inline]
    fn write_usize(&mut self, address: usize) {
        // The lowest bits of a product are as poor as those of an address; the map takes both ends of the hash.
        self.0 = (self.0 ^ address as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(26);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn neighbours_do_not_collide_at_either_end_of_the_hash() {
        for step in [8, 16, 64, 176, 4096] {
            let hashes: Vec<u64> = (0..1024_usize)
                .map(|index| {
                    let mut spread = Spread::default();
                    spread.write_usize(0x7f00_0000_0000 + index * step);
                    spread.finish()
                })
                .collect();
            let buckets: HashSet<u64> = hashes.iter().map(|hash| hash & 0x7ff).collect();
            let tags: HashSet<u64> = hashes.iter().map(|hash| hash >> 57).collect();
            assert!(buckets.len() > 600 && tags.len() > 100, "{step}: {} {}", buckets.len(), tags.len());
        }
    }
}
