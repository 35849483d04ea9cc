//! What the writer is told: words about gates, and jobs.

use rusqlite::Connection;

use super::fault::Fault;
use crate::kept::Kept;
use crate::{StoreError, StoreKey};

pub(super) type Reply = Box<dyn FnOnce(Result<(), StoreError>) + Send>;
pub(super) type Work = Box<dyn FnOnce(&Connection) -> Result<(), Fault> + Send>;

/// Work to be done in a transaction, and whom to tell once it is committed.
pub(super) struct Job {
    pub(super) work: Work,
    pub(super) reply: Reply,
}

/// What is to be written of one gate.
pub(super) struct Word {
    pub(super) kept: Kept,
    /// No later revision of it was written before.
    pub(super) latest: bool,
}

impl Word {
    pub(super) fn absorb(&mut self, later: Self) {
        self.kept.absorb(later.kept, later.latest);
        self.latest |= later.latest;
    }
}

/// Words about several gates.
pub(super) type Words = Vec<(StoreKey, Word)>;
