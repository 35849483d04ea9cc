//! The ledger of a bulk run: which items are finished, and how.
//!
//! A run belongs to one process at a time. Everything it does is appended: groups of finished
//! items, each together with the length of the output that holds their lines, and the intents of
//! writes before they are sent. A commit costs the same at the first item and at the millionth.
//! What is true of an item is what was said of it last, so that a skipped item may be tried again.
//!
//! Finished means that the item's line is in the output: the caller writes the lines first, then
//! commits the group with the new length, and a resumed run cuts the output back to that length.
//! An intent without an end, found when a run is claimed, is a write whose effect nobody knows.
//!
//! Ownership is a file lock of the system, not a lease of time: it dies with its process and is
//! never taken from a process that is only slow.

mod claim;
mod handle;
mod record;
mod replay;
mod rows;
mod runs;

use std::fmt;
use std::time::Duration;

use abide_core::WallTime;

use crate::StoreError;
pub use handle::Ledger;

/// Names an item's content in 16 bytes: eight of its identity, eight of what is asked for. How
/// they are hashed is the caller's affair; it compares them when a run is resumed.
pub type Fingerprint = [u8; 16];

/// How an item ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Outcome {
    /// The answer is in the output.
    Done,
    /// No answer, for a reason that is this item's alone.
    Failed,
    /// The provider says that there is no such thing: an answer.
    NotFound,
    /// Put off: may be tried again, at best after its `retry_at`.
    Skipped,
}

impl Outcome {
    /// The word used in output and lists.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::NotFound => "not_found",
            Self::Skipped => "skipped",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An item that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finished {
    /// Its position in the input, counted from 0.
    pub index: u32,
    /// How it ended.
    pub outcome: Outcome,
    /// When it may be tried again, where anyone knows.
    pub retry_at: Option<WallTime>,
}

/// A run to be made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewRun {
    /// Its name: 1 to 128 characters, none of them a control character.
    pub name: String,
    /// Where its items come from, in words for people. Must name no secret: paths and URLs
    /// without user info and query.
    pub input: String,
    /// The form of its input (`list`, `jsonl`, `csv`), as the caller names it.
    pub kind: String,
    /// The caller's options, as JSON; without secrets.
    pub options: String,
    /// The file its output goes to; `None` for standard output.
    pub output: Option<String>,
    /// When it was made.
    pub created: WallTime,
    /// One fingerprint an item, in the order of the input.
    pub fingerprints: Vec<Fingerprint>,
    /// The fingerprints are all; otherwise more come by [`Ledger::store_items`], up to
    /// [`Ledger::seal`].
    pub sealed: bool,
}

/// Who owns a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The process, in words for people, as `process 4711`.
    pub who: String,
    /// When it claimed the run.
    pub since: WallTime,
}

/// What a run has cost so far, over all processes that owned it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Requests sent.
    pub sent: u64,
    /// Refusals met.
    pub refused: u64,
    /// Wall time that holds blocked it.
    pub held: Duration,
}

/// What is committed together with a group of finished items. Both are absolute: a resumed run
/// goes on from what [`Ledger::progress`] told it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Bytes of the output up to which all lines are of finished items.
    pub committed: u64,
    /// What it has cost.
    pub totals: Totals,
}

/// Items by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Items with an answer.
    pub done: u32,
    /// Items that failed.
    pub failed: u32,
    /// Items that do not exist.
    pub not_found: u32,
    /// Items put off.
    pub skipped: u32,
}

impl Counts {
    /// Items that are over.
    pub const fn finished(&self) -> u32 {
        self.done + self.failed + self.not_found + self.skipped
    }

    pub(super) const fn slot(&mut self, outcome: Outcome) -> &mut u32 {
        match outcome {
            Outcome::Done => &mut self.done,
            Outcome::Failed => &mut self.failed,
            Outcome::NotFound => &mut self.not_found,
            Outcome::Skipped => &mut self.skipped,
        }
    }
}

/// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunState {
    /// Every item is over.
    Finished,
    /// Nobody works on it, and items are left.
    Interrupted,
    /// A live process owns it.
    Running,
}

impl RunState {
    /// The word used in lists.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Interrupted => "interrupted",
            Self::Running => "running",
        }
    }
}

impl fmt::Display for RunState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What is known of a run without owning it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunInfo {
    /// Its name.
    pub name: String,
    /// Where its items come from.
    pub input: String,
    /// The form of its input.
    pub kind: String,
    /// The options of the process that made it, as JSON.
    pub options: String,
    /// The file its output goes to; `None` for standard output.
    pub output: Option<String>,
    /// When it was made.
    pub created: WallTime,
    /// How many items it has.
    pub items: u32,
    /// Whether those are all.
    pub sealed: bool,
    /// Where it stands.
    pub state: RunState,
    /// Who owns it, or did last.
    pub owner: Owner,
    /// Items by outcome.
    pub counts: Counts,
    /// What is committed of its output, and what it has cost.
    pub progress: Progress,
}

/// A run cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// A run of this name exists. Resume it, remove it, or choose another name.
    #[error("there is a run named {0:?} already; resume it, remove it, or choose another name")]
    Exists(String),
    /// An index beyond the run's items: a mistake of the caller's.
    #[error("item {index} of a run of {items} items")]
    NoSuchItem {
        /// The index.
        index: u32,
        /// How many items there are.
        items: u32,
    },
    /// A live process owns the run. Wait for it or stop it.
    #[error("run {name:?} is in the hands of {} since {}", owner.who, owner.since)]
    Owned {
        /// The run.
        name: String,
        /// Who owns it, since when.
        owner: Owner,
    },
    /// The state file cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The name cannot be a run's.
    #[error("{0:?} cannot name a run: 1 to 128 characters, none of them a control character")]
    UnfitName(String),
    /// No run of this name.
    #[error("there is no run named {0:?}")]
    Unknown(String),
}
