//! Maps by number, of which no two are given out alike: no attack is to be feared, so that hashing costs a multiplication.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map by number.
pub(super) type Numbered<T> = HashMap<u64, T, BuildHasherDefault<Spread>>;

/// Spreads neighbours over all bits.
#[derive(Default)]
pub(super) struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write_u64(&mut self, number: u64) {
        let spread = u128::from(number ^ self.0) * 0x9e37_79b9_7f4a_7c15;
        self.0 = spread as u64 ^ (spread >> 64) as u64;
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }
}
