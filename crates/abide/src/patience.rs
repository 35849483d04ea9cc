//! How long a caller is willing to wait.

use std::time::Duration;

use abide_core::call::{CallPolicy, Queueing};
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
        // Whoever says so means all waiting, also where a run's own knobs leave queueing free.
        call.queueing = Queueing::Counts;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patience_that_was_told_bounds_queueing_too() {
        let mut call = CallPolicy::default();
        call.queueing = Queueing::Free;
        Patience::FailFast.apply(&mut call, Moment::default);
        assert_eq!(
            (call.patience, call.queueing),
            (Duration::ZERO, Queueing::Counts)
        );
    }
}
