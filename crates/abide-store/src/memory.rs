//! A store that ends with the process: for libraries and tests.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use abide_core::WallTime;

use crate::{Store, StoreError, StoreKey, StoredGate};

/// Keeps everything in memory.
#[derive(Debug)]
pub struct Memory {
    secret: [u8; 32],
    gates: Mutex<BTreeMap<StoreKey, StoredGate>>,
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

    fn load(&self, _now: WallTime) -> Result<Vec<StoredGate>, StoreError> {
        let gates = self.gates.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(gates.values().cloned().collect())
    }

    fn put(&self, gate: StoredGate) {
        let mut gates = self.gates.lock().unwrap_or_else(PoisonError::into_inner);
        let merged = match gates.get(&gate.key) {
            Some(old) => gate.merged(old),
            None => gate,
        };
        gates.insert(merged.key.clone(), merged);
    }

    fn changes(&self) -> Result<Vec<StoredGate>, StoreError> {
        Ok(Vec::new())
    }

    fn flush(&self) -> Result<(), StoreError> {
        Ok(())
    }
}
