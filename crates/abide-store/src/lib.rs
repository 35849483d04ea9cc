//! Where what must outlive a process is kept: holds, ladders, counts, what was learned, and the
//! ledgers of bulk runs.
//!
//! What lives here: the shape of what is stored ([`StoredGate`]), the [`Store`] trait, and its
//! keepers: [`Memory`], SQLite (`Sqlite`) behind the feature `sqlite` (so that a library user compiles
//! no C by default), and Redis (`RedisStore`) behind the feature `redis`, which several machines share and
//! which lends leave to send ([`lend`]). What never lives here: a decision. A store says what it was told and merges
//! only as the words demand: a hold only lengthens within its id, a lift outlives its hold.
//!
//! Stores hold wall time; the shell converts at the edge. Accounts are named by an HMAC whose key
//! lives with the store, so that a stolen state file names no credential.

mod kept;
pub mod lend;
mod memory;
mod note;
mod record;
#[cfg(feature = "redis")]
pub mod redis;
#[cfg(feature = "sqlite")]
pub mod sqlite;
#[cfg(any(feature = "redis", feature = "sqlite"))]
mod words;

use std::fmt;

use abide_core::WallTime;

#[cfg(feature = "redis")]
pub use self::redis::RedisStore;
pub use memory::Memory;
pub use note::HoldNote;
pub use record::{StoreKey, StoredGate, StoredHold};
#[cfg(feature = "sqlite")]
pub use sqlite::Sqlite;

/// What is called when there is something to hear.
pub type Changed = dyn Fn() + Send + Sync;

/// Keeps gates' state beyond a process and between processes.
///
/// Shaped as messages: [`put`](Self::put) never waits for the disk, and nothing here is called
/// with a machine's lock held.
pub trait Store: fmt::Debug + Send + Sync {
    /// The key under which accounts are named here; made once in the store.
    fn secret(&self) -> [u8; 32];

    /// Everything remembered whose hold has not ended at `now` on the wall clock, or that was
    /// learned. What a jump of that clock made absurd is clamped: no hold ends more than 31 days
    /// from `now`, and none was opened after it.
    ///
    /// A gate comes back more than once when holds of it were lifted: every lift first, then the
    /// hold in force.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn load(&self, now: WallTime) -> Result<Vec<StoredGate>, StoreError>;

    /// Remembers a gate's state. Queued, and never waits; what cannot be written is kept and
    /// tried again.
    fn put(&self, gate: StoredGate);

    /// What other processes have written since the last call (or [`load`](Self::load)), in the
    /// form in which `load` tells it; cheap when nothing was. It may tell again what this process
    /// already knows, never less.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn changes(&self, now: WallTime) -> Result<Vec<StoredGate>, StoreError>;

    /// Calls this whenever [`changes`](Self::changes) has something to tell, from a thread of the
    /// store's: it must not wait, nor ask the store for anything. `false` where a store cannot
    /// know, as this: then somebody has to look.
    fn on_change(&self, hook: Box<Changed>) -> bool {
        drop(hook);
        false
    }

    /// Waits until everything put so far is written.
    ///
    /// # Errors
    /// When something could not be written; it is kept and tried again with the next write.
    fn flush(&self) -> Result<(), StoreError>;

    /// Remembers what a person said of a hold, and waits until it is written. Keeping notes is a
    /// courtesy to people, so a store may keep none, as this does.
    ///
    /// # Errors
    /// When the store cannot be written.
    fn note(&self, note: HoldNote, now: WallTime) -> Result<(), StoreError> {
        let _ = (note, now);
        Ok(())
    }

    /// The notes whose holds have not ended at `now`.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn notes(&self, now: WallTime) -> Result<Vec<HoldNote>, StoreError> {
        let _ = now;
        Ok(Vec::new())
    }
}

/// A store cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The file is not a state file of abide, or is damaged. Move it away to start afresh.
    #[error("the state file {path} is damaged or not abide's: {why}; move it away to start afresh")]
    Corrupt {
        /// The file.
        path: String,
        /// What was found.
        why: String,
    },
    /// The file cannot be opened, read or written: permissions, a full disk, a missing folder.
    #[error("the state file {path} cannot be used: {why}")]
    Io {
        /// The file.
        path: String,
        /// What the system said.
        why: String,
    },
    /// The file was written by a newer abide. Use that one, or another state folder.
    #[error(
        "the state file {path} has schema version {found}, this abide knows up to {known}; \
         use a newer abide, or another folder with --state"
    )]
    Newer {
        /// The file.
        path: String,
        /// Its schema version.
        found: i64,
        /// The newest this program knows.
        known: i64,
    },
    /// A store that several machines share cannot be used.
    #[error("the shared store {store} cannot be used: {why}")]
    Shared {
        /// Where it is, without what it is secured by.
        store: String,
        /// What was met.
        why: String,
    },
}
