//! Maps whose keys are seeded hashes already: hashing them again would only take time.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map from what is a hash.
pub(crate) type HashedMap<K, V> = HashMap<K, V, BuildHasherDefault<Hashed>>;

/// Passes a hash through.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Hashed(u64);

impl Hasher for Hashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for b in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*b);
        }
    }

    fn write_u64(&mut self, n: u64) {
        self.0 = n;
    }

    fn write_u128(&mut self, n: u128) {
        self.0 = (n >> 64) as u64;
    }
}
