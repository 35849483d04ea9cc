//! A store that ends with the process: for libraries and tests.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use abide_core::WallTime;
use abide_core::hold::HoldId;

use crate::kept::Kept;
use crate::note::NOTES;
use crate::{HoldNote, Store, StoreError, StoreKey, StoredGate};

/// Keeps everything in memory.
pub struct Memory {
    secret: [u8; 32],
    gates: Mutex<BTreeMap<StoreKey, Kept>>,
    notes: Mutex<BTreeMap<HoldId, HoldNote>>,
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
            notes: Mutex::new(BTreeMap::new()),
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

    fn note(&self, note: HoldNote, now: WallTime) -> Result<(), StoreError> {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        notes.retain(|_, n| n.until > now);
        let before = notes.remove(&note.hold);
        if notes.len() >= NOTES {
            let first = notes.values().min_by_key(|n| n.until).map(|n| n.hold);
            first.map(|first| notes.remove(&first));
        }
        notes.insert(note.hold, note.after(before));
        Ok(())
    }

    fn notes(&self, now: WallTime) -> Result<Vec<HoldNote>, StoreError> {
        let notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(notes.values().filter(|n| n.until > now).cloned().collect())
    }
}
