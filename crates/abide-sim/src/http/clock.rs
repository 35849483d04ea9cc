//! The one place in this crate where a real clock is read.

use std::time::{SystemTime, UNIX_EPOCH};

use abide_core::{Instant, Moment, WallTime};

/// Counts from its own beginning, which is the origin of a server's scale of instants.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    origin: std::time::Instant,
}

impl Clock {
    #[allow(
        clippy::disallowed_methods,
        reason = "a server on a real socket lives in real time"
    )]
    pub(super) fn start() -> Self {
        Self {
            origin: std::time::Instant::now(),
        }
    }

    #[allow(
        clippy::disallowed_methods,
        reason = "a server on a real socket lives in real time"
    )]
    pub(super) fn read(self) -> Moment {
        let now = Instant::ORIGIN.after(std::time::Instant::now().duration_since(self.origin));
        let wall = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Moment::new(now, WallTime::default().after(wall))
    }
}
