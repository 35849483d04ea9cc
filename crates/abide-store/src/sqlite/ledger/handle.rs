//! A run in hand.

use std::fmt;
use std::sync::Mutex;

use abide_core::WallTime;

use super::claim::Claim;
use super::record::{self, Record};
use super::replay::Sum;
use super::{Counts, Fingerprint, Finished, Outcome, Progress, RunError, rows};
use crate::sqlite::{Sqlite, lock};

/// A run that this process owns, until the handle is dropped.
///
/// Every method that writes returns once its transaction is committed, and may be called from
/// several threads: what they write meanwhile is committed together. After an error nothing is
/// lost: the same call may be made again.
pub struct Ledger {
    store: Sqlite,
    run: i64,
    name: String,
    sum: Mutex<Sum>,
    // Last, so that the claim outlives everything the handle still writes.
    _claim: Claim,
}

impl fmt::Debug for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ledger")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Ledger {
    pub(super) const fn new(store: Sqlite, run: i64, name: String, claim: Claim, sum: Sum) -> Self {
        Self {
            store,
            run,
            name,
            sum: Mutex::new(sum),
            _claim: claim,
        }
    }

    /// The run's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Records items that are over, together with the length of the output that holds their
    /// lines. An item may be recorded again: its last outcome counts.
    ///
    /// # Errors
    /// [`RunError::NoSuchItem`] (then nothing is recorded), [`RunError::Unknown`] when the run
    /// was removed, or [`RunError::Store`].
    pub fn finish(&self, group: &[Finished], progress: Progress) -> Result<(), RunError> {
        self.append(group.iter().map(|f| Record::End(*f)), Some(progress))
    }

    /// Records that writes are about to be sent; only once this has returned may they be. Saying
    /// it twice changes nothing.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub fn intend(&self, writes: &[u32]) -> Result<(), RunError> {
        self.append(writes.iter().map(|i| Record::Intent(*i)), None)
    }

    /// Takes back that items are over, together with the length of the output that no longer
    /// holds their lines. Of these, `sent` are writes that must not be sent again: they are left
    /// as intents, so that a process that ends before their lines are written asks nothing twice.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub fn reopen(&self, items: &[u32], sent: &[u32], progress: Progress) -> Result<(), RunError> {
        let again = items.iter().chain(sent).map(|i| Record::Reopen(*i));
        let intents = sent.iter().map(|i| Record::Intent(*i));
        self.append(again.chain(intents), Some(progress))
    }

    fn append(
        &self,
        records: impl Iterator<Item = Record> + Clone,
        progress: Option<Progress>,
    ) -> Result<(), RunError> {
        let mut sum = lock(&self.sum);
        for record in records.clone() {
            sum.check(match record {
                Record::Intent(index) | Record::Reopen(index) => index,
                Record::End(f) => f.index,
            })?;
        }
        let mut bytes = Vec::new();
        for record in records {
            record::encode(record, &mut bytes);
            sum.apply(record);
        }
        if let Some(progress) = progress {
            sum.progress = progress;
        }
        if bytes.is_empty() && progress.is_none() {
            return Ok(());
        }
        let (run, at) = (self.run, rows::key(self.run, sum.next));
        let (counts, progress) = (sum.counts(), sum.progress);
        sum.next = sum.next.saturating_add(1);
        // Queued under the lock, so that counts and lengths reach the file in their order;
        // waited for without it, so that others may join the group.
        let inner = &self.store.inner;
        let told =
            inner.begin_write(move |conn| rows::append(conn, at, &bytes, run, counts, progress));
        drop(sum);
        self.known(inner.wait(&told)?)
    }

    fn known(&self, found: bool) -> Result<(), RunError> {
        if found {
            Ok(())
        } else {
            Err(RunError::Unknown(self.name.clone()))
        }
    }

    /// Appends items with their raw lines, for an input that cannot be read again. They belong
    /// to the run before it is [sealed](Self::seal). Returns how many items there are now.
    ///
    /// # Errors
    /// [`RunError::Store`].
    pub fn store_items(&self, items: Vec<(Fingerprint, Vec<u8>)>) -> Result<u32, RunError> {
        let mut sum = lock(&self.sum);
        let (run, first) = (self.run, sum.items());
        if items.is_empty() {
            return Ok(first);
        }
        let (prints, lines): (Vec<_>, Vec<_>) = items.into_iter().unzip();
        let items = self.store.inner.write(move |conn| {
            rows::add_lines(conn, run, first, &lines)?;
            rows::add_prints(conn, run, first, &prints)
        })?;
        sum.grow(items);
        Ok(items)
    }

    /// The items added are all.
    ///
    /// # Errors
    /// [`RunError::Unknown`] when the run was removed, or [`RunError::Store`].
    pub fn seal(&self) -> Result<(), RunError> {
        let run = self.run;
        let found = self.store.inner.write(move |conn| {
            Ok(conn.execute("UPDATE runs SET sealed = 1 WHERE id = ?1", [run])? == 1)
        })?;
        lock(&self.sum).sealed = true;
        self.known(found)
    }

    /// The output is another from now on.
    ///
    /// # Errors
    /// [`RunError::Unknown`] when the run was removed, or [`RunError::Store`].
    pub fn moves_to(&self, output: Option<String>) -> Result<(), RunError> {
        let run = self.run;
        let found = self.store.inner.write(move |conn| {
            let set = "UPDATE runs SET output = ?2 WHERE id = ?1";
            Ok(conn.execute(set, rusqlite::params![run, output])? == 1)
        })?;
        self.known(found)
    }

    /// Whether the items are all. A run whose owner died before cannot be resumed.
    pub fn is_sealed(&self) -> bool {
        lock(&self.sum).sealed
    }

    /// At most `most` raw lines of items from position `from` on, as they were added.
    ///
    /// # Errors
    /// [`RunError::Store`].
    pub fn stored_items(&self, from: u32, most: usize) -> Result<Vec<Vec<u8>>, RunError> {
        let run = self.run;
        let read = |conn: &_| rows::lines(conn, run, from, most);
        Ok(self.store.inner.read(read)?)
    }

    /// All fingerprints, in the order of the items.
    ///
    /// # Errors
    /// [`RunError::Store`].
    pub fn fingerprints(&self) -> Result<Vec<Fingerprint>, RunError> {
        let run = self.run;
        Ok(self.store.inner.read(|conn| rows::prints(conn, run))?)
    }

    /// How many items the run has.
    pub fn items(&self) -> u32 {
        lock(&self.sum).items()
    }

    /// Items by outcome.
    pub fn counts(&self) -> Counts {
        lock(&self.sum).counts()
    }

    /// The output's committed length and what the run has cost, as recorded last.
    pub fn progress(&self) -> Progress {
        lock(&self.sum).progress
    }

    /// How an item ended; `None` while it has not.
    pub fn outcome(&self, index: u32) -> Option<Outcome> {
        lock(&self.sum).outcome(index)
    }

    /// How every item ended.
    pub fn outcomes(&self) -> Vec<Option<Outcome>> {
        lock(&self.sum).outcomes()
    }

    /// When an item may be tried again, where anyone knows.
    pub fn retry_at(&self, index: u32) -> Option<WallTime> {
        lock(&self.sum).retry_at(index)
    }

    /// The earliest time at which any item may be tried again.
    pub fn earliest_retry(&self) -> Option<WallTime> {
        lock(&self.sum).earliest_retry()
    }

    /// Writes that were intended and are not over. Right after a claim: those whose effect
    /// nobody knows.
    pub fn open_intents(&self) -> Vec<u32> {
        lock(&self.sum).intents()
    }
}
