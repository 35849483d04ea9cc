//! The system's clock, hurried: each look adds a second, so that no pace is in the way of what is
//! timed, and reading the time costs what it always does.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use abide::clock::{Clock, System};
use abide::core::{Instant, WallTime};

#[derive(Debug, Default)]
pub(crate) struct Hurried(AtomicU64);

impl Clock for Hurried {
    fn now(&self) -> Instant {
        let ahead = self.0.fetch_add(1, Ordering::Relaxed);
        System.now().after(Duration::from_secs(ahead))
    }

    fn wall(&self) -> WallTime {
        System.wall()
    }
}
