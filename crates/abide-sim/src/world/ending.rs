//! How an item ends.

use abide_core::{Instant, Verdict};

/// How one item ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ending {
    /// Answered as asked.
    Done,
    /// There is no such thing, which is an answer.
    NotFound,
    /// Not asked, or not answered, because the provider refuses.
    Skipped {
        /// What it kept saying.
        cause: Verdict,
        /// When to come back.
        retry_at: Option<Instant>,
    },
    /// An answer that will not do, or none.
    Failed,
}
