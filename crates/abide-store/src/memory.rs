//! A store that ends with the process: for libraries and tests.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use abide_core::WallTime;

use crate::kept::Kept;
use crate::{Store, StoreError, StoreKey, StoredGate};

/// Keeps everything in memory.
pub struct Memory {
    secret: [u8; 32],
    gates: Mutex<BTreeMap<StoreKey, Kept>>,
}

/// Without the secret.
impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").finish_non_exhaustive()
    }
}

impl Memory {
    /// An empty store with this secret, which the caller draws.
    pub const fn new(secret: [u8; 32]) -> Self {
        Self {
            secret,
            gates: Mutex::new(BTreeMap::new()),
        }
    }
}

impl Store for Memory {
    fn secret(&self) -> [u8; 32] {
        self.secret
    }

    fn load(&self, now: WallTime) -> Result<Vec<StoredGate>, StoreError> {
        let gates = self.gates.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(gates.iter().flat_map(|(k, g)| g.told(k, now)).collect())
    }

    fn put(&self, gate: StoredGate) {
        let (key, word) = Kept::of(gate);
        let mut gates = self.gates.lock().unwrap_or_else(PoisonError::into_inner);
        match gates.get_mut(&key) {
            Some(kept) => {
                let latest = word.revision >= kept.revision;
                kept.absorb(word, latest);
            }
            None => {
                gates.insert(key, word);
            }
        }
    }

    fn changes(&self, _now: WallTime) -> Result<Vec<StoredGate>, StoreError> {
        Ok(Vec::new())
    }

    fn flush(&self) -> Result<(), StoreError> {
        Ok(())
    }
}
