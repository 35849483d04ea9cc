//! A clock that follows tokio's.

use std::time::Duration;

use abide_core::{Instant, WallTime};

use crate::clock::Clock;

/// The wall clock where a test begins: an even second.
const EPOCH: i64 = 1_773_144_000;

/// Virtual time never begins at nothing, so that "a moment ago" exists; soon enough for simulated
/// providers whose outages have their time.
const BEGIN: Instant = Instant::from_secs(2);

/// A clock that follows tokio's: paused with it, advanced with it.
#[derive(Debug)]
pub struct Virtual {
    origin: tokio::time::Instant,
}

impl Virtual {
    #[expect(
        clippy::disallowed_methods,
        reason = "tokio's clock is this one's, and stands still in tests"
    )]
    pub(super) fn start() -> Self {
        Self {
            origin: tokio::time::Instant::now(),
        }
    }

    /// How long it has been running.
    pub fn elapsed(&self) -> Duration {
        self.origin.elapsed()
    }
}

impl Clock for Virtual {
    fn now(&self) -> Instant {
        BEGIN.after(self.elapsed())
    }

    fn wall(&self) -> WallTime {
        WallTime::from_unix_secs(EPOCH).after(self.elapsed())
    }
}
