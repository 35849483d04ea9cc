//! How long a caller is willing to wait.

use std::time::Duration;

use abide_core::call::CallPolicy;
use abide_core::{Moment, WallTime};

/// How long a caller is willing to wait, all waiting together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Patience {
    /// Not at all: what cannot go now is turned away, saying when it could.
    FailFast,
    /// So long.
    UpTo(Duration),
    /// Until then.
    Until(WallTime),
    /// Not at all, since the work will be put off: the refusal says so
    /// ([`TurnedAway::should_defer`](crate::TurnedAway::should_defer)).
    Defer,
}

impl Patience {
    /// Puts it into the knobs of a call that begins at `at`.
    pub(crate) fn apply(self, call: &mut CallPolicy, at: impl FnOnce() -> Moment) {
        call.defer = self == Self::Defer;
        call.patience = match self {
            Self::FailFast | Self::Defer => Duration::ZERO,
            Self::UpTo(patience) => patience,
            Self::Until(wall) => wall.since(at().wall),
        };
    }
}

/// So long.
impl From<Duration> for Patience {
    fn from(patience: Duration) -> Self {
        Self::UpTo(patience)
    }
}
