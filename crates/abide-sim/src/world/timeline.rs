//! What happened when: the marks of a run.

use abide_core::Instant;
use abide_core::control::Limit;

use crate::reply::Fate;

/// Something that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mark {
    /// When.
    pub at: Instant,
    /// What.
    pub seen: Seen,
}

impl Mark {
    /// Something that happened at `at`.
    pub const fn new(at: Instant, seen: Seen) -> Self {
        Self { at, seen }
    }
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Seen {
    /// A request reached its provider, which made this of it.
    Answered(Fate),
    /// A gate was closed, or its closing got longer.
    Held {
        /// Until when.
        until: Instant,
    },
    /// The limit of a gate was found, or turned out to be another.
    Learned {
        /// The limit.
        limit: Limit,
    },
    /// What was thought to be the limit of a gate is not.
    Forgotten,
    /// A gate is open again.
    Open,
}
