//! What this process knows of the gates in the store: what it said, and what it heard.
//!
//! Others' words come by themselves, so that nobody asks the server for them; and a server that
//! has lost everything is told again from here.

use std::collections::HashMap;

use abide_core::WallTime;

use crate::kept::Kept;
use crate::{StoreKey, StoredGate};

/// So many gates are known before those of which nothing is in force any more are forgotten.
const MANY: usize = 4_096;

#[derive(Debug, Default)]
pub(super) struct Mirror {
    gates: HashMap<StoreKey, Known>,
    /// Gates of which there is something to tell.
    changed: Vec<StoreKey>,
    /// How many there may be before it is tidied.
    room: usize,
}

#[derive(Debug)]
struct Known {
    kept: Kept,
    /// The latest word of this process.
    revision: u64,
    changed: bool,
}

impl Mirror {
    /// This process says something: what the server is to be told.
    pub(super) fn says(&mut self, gate: StoredGate, now: WallTime) -> (StoreKey, Kept) {
        let (key, word) = Kept::of(gate);
        let Some(known) = self.gates.get_mut(&key) else {
            self.tidy(now);
            self.insert(&key, word.clone(), word.revision);
            return (key, word);
        };
        let latest = word.revision >= known.revision;
        known.revision = known.revision.max(word.revision);
        known.kept.absorb(word.clone(), latest);
        // A word that comes late adds its holds to what was said later.
        let word = if latest { word } else { known.kept.clone() };
        (key, word)
    }

    /// The server tells what it knows of a gate. Whether that is news.
    pub(super) fn hears(&mut self, key: &StoreKey, truth: Kept, now: WallTime) -> bool {
        let Some(known) = self.gates.get_mut(key) else {
            self.tidy(now);
            self.insert(key, truth, 0);
            self.change(key);
            return true;
        };
        let before = known.kept.clone();
        known.kept.absorb(truth, true);
        let news = !is_same(&before, &known.kept);
        if news {
            self.change(key);
        }
        news
    }

    /// The server tells all it knows, and this process what it knows beyond that: what to say again.
    pub(super) fn meets(
        &mut self,
        truth: Vec<(StoreKey, Kept)>,
        now: WallTime,
    ) -> Vec<(StoreKey, Kept)> {
        let mut lost = Vec::new();
        let mut there = HashMap::with_capacity(truth.len());
        for (key, kept) in truth {
            there.insert(key, kept);
        }
        for (key, known) in &self.gates {
            if known.kept.told(key, now).is_empty() {
                continue;
            }
            let is_known = there.get(key).is_some_and(|truth| {
                let mut both = truth.clone();
                both.absorb(known.kept.clone(), false);
                is_same(&both, truth)
            });
            if !is_known {
                lost.push((key.clone(), known.kept.clone()));
            }
        }
        for (key, truth) in there {
            self.hears(&key, truth, now);
        }
        lost
    }

    pub(super) const fn has_news(&self) -> bool {
        !self.changed.is_empty()
    }

    /// What there is to tell since the last time.
    pub(super) fn changes(&mut self, now: WallTime) -> Vec<StoredGate> {
        let changed = std::mem::take(&mut self.changed);
        let mut told = Vec::new();
        for key in changed {
            if let Some(known) = self.gates.get_mut(&key) {
                known.changed = false;
                told.extend(known.kept.told(&key, now));
            }
        }
        told
    }

    /// All there is to tell.
    pub(super) fn all(&mut self, now: WallTime) -> Vec<StoredGate> {
        self.changed.clear();
        let mut told = Vec::new();
        for (key, known) in &mut self.gates {
            known.changed = false;
            told.extend(known.kept.told(key, now));
        }
        told
    }

    fn insert(&mut self, key: &StoreKey, kept: Kept, revision: u64) {
        let known = Known {
            kept,
            revision,
            changed: false,
        };
        self.gates.insert(key.clone(), known);
    }

    fn change(&mut self, key: &StoreKey) {
        if let Some(known) = self.gates.get_mut(key).filter(|k| !k.changed) {
            known.changed = true;
            self.changed.push(key.clone());
        }
    }

    /// Forgets gates of which nothing is in force any more, before one more comes.
    fn tidy(&mut self, now: WallTime) {
        if self.gates.len() < self.room.max(MANY) {
            return;
        }
        self.gates
            .retain(|key, known| known.changed || !known.kept.told(key, now).is_empty());
        self.room = 2 * self.gates.len();
    }
}

/// All but revisions, which are a process's own affair.
fn is_same(a: &Kept, b: &Kept) -> bool {
    let plain = |kept: &Kept| Kept {
        revision: 0,
        ..kept.clone()
    };
    plain(a) == plain(b)
}
