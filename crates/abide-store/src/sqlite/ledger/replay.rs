//! What a ledger amounts to: one byte an item, the times of those put off, and open intents.

use std::collections::{BTreeMap, BTreeSet};

use abide_core::WallTime;

use super::record::{self, Record};
use super::{Counts, Finished, Outcome, Progress, RunError};

/// The sum of a ledger, kept by the process that owns the run.
#[derive(Debug, Default)]
pub(super) struct Sum {
    outcomes: Vec<u8>,
    retry_at: BTreeMap<u32, WallTime>,
    intents: BTreeSet<u32>,
    counts: Counts,
    pub(super) progress: Progress,
    pub(super) sealed: bool,
    /// The position of the next group.
    pub(super) next: u32,
}

impl Sum {
    pub(super) fn new(items: u32, sealed: bool, progress: Progress) -> Self {
        Self {
            outcomes: vec![0; items as usize],
            sealed,
            progress,
            ..Self::default()
        }
    }

    pub(super) fn items(&self) -> u32 {
        u32::try_from(self.outcomes.len()).unwrap_or(u32::MAX)
    }

    pub(super) fn grow(&mut self, items: u32) {
        self.outcomes.resize(items as usize, 0);
    }

    /// Whether there is such an item.
    pub(super) fn check(&self, index: u32) -> Result<(), RunError> {
        let items = self.items();
        if index < items {
            Ok(())
        } else {
            Err(RunError::NoSuchItem { index, items })
        }
    }

    /// Takes a record in; one about an item that does not exist says nothing.
    pub(super) fn apply(&mut self, record: Record) {
        match record {
            Record::Intent(index) => {
                if self.check(index).is_ok() {
                    self.intents.insert(index);
                }
            }
            Record::End(f) => self.end(&f),
            Record::Reopen(index) => self.reopen(index),
        }
    }

    fn end(&mut self, f: &Finished) {
        let Some(slot) = self.outcomes.get_mut(f.index as usize) else {
            return;
        };
        if let Some(before) = record::outcome(*slot) {
            *self.counts.slot(before) -= 1;
        }
        *slot = record::code(f.outcome);
        *self.counts.slot(f.outcome) += 1;
        match f.retry_at {
            Some(at) => self.retry_at.insert(f.index, at),
            None => self.retry_at.remove(&f.index),
        };
        self.intents.remove(&f.index);
    }

    fn reopen(&mut self, index: u32) {
        let Some(slot) = self.outcomes.get_mut(index as usize) else {
            return;
        };
        if let Some(before) = record::outcome(std::mem::take(slot)) {
            *self.counts.slot(before) -= 1;
        }
        self.retry_at.remove(&index);
        self.intents.remove(&index);
    }

    pub(super) const fn counts(&self) -> Counts {
        self.counts
    }

    pub(super) fn outcome(&self, index: u32) -> Option<Outcome> {
        record::outcome(*self.outcomes.get(index as usize)?)
    }

    pub(super) fn outcomes(&self) -> Vec<Option<Outcome>> {
        let all = self.outcomes.iter();
        all.map(|code| record::outcome(*code)).collect()
    }

    pub(super) fn retry_at(&self, index: u32) -> Option<WallTime> {
        self.retry_at.get(&index).copied()
    }

    pub(super) fn earliest_retry(&self) -> Option<WallTime> {
        self.retry_at.values().min().copied()
    }

    pub(super) fn intents(&self) -> Vec<u32> {
        self.intents.iter().copied().collect()
    }
}
