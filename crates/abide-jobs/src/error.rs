//! What the caller of a queue is told when something cannot be done.

use crate::record::{JobId, State};

/// Why a queue did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QueueError {
    /// The database cannot be opened, read or written.
    #[error("the queue in {place} cannot be used: {why}")]
    Database {
        /// The file or server.
        place: String,
        /// What it said.
        why: String,
    },
    /// What the database holds makes no sense.
    #[error("the queue in {place} is damaged or not abide's: {why}; move it away to start afresh")]
    Damaged {
        /// The file or server.
        place: String,
        /// What was found.
        why: String,
    },
    /// A later abide wrote it.
    #[error(
        "the queue in {place} has schema version {found}, this abide knows up to {known}; use a \
         newer abide, or another place"
    )]
    Newer {
        /// The file or server.
        place: String,
        /// Its version.
        found: i64,
        /// The newest this program knows.
        known: i64,
    },
    /// There is no job of that number.
    #[error("there is no job {0}; it may have been purged")]
    NoSuchJob(JobId),
    /// What is asked for makes no sense for a job in that state.
    #[error("job {id} is {state}: it cannot be {what}")]
    NotNow {
        /// The job.
        id: JobId,
        /// Its state.
        state: State,
        /// What was asked for.
        what: &'static str,
    },
    /// What was submitted is no job.
    #[error("this is no job: {0}")]
    Spec(String),
    /// A stored request cannot be read: the install key is another.
    #[error("what is stored of job {0} cannot be read: it was sealed with another install key")]
    Sealed(JobId),
    /// The queue's writer has ended.
    #[error("the queue in {0} is closed")]
    Closed(String),
}
