//! The one place where time is read.
//!
//! Waiting is measured on a clock that counts suspended time (`CLOCK_BOOTTIME` where there is
//! one): a provider that said "in an hour" means an hour of its time, not of our uptime.

use std::fmt;

use abide_core::{Instant, Moment, WallTime};

/// Where a governor takes the time from.
pub trait Clock: fmt::Debug + Send + Sync {
    /// The monotonic time.
    fn now(&self) -> Instant;

    /// The wall time.
    fn wall(&self) -> WallTime;

    /// Both, taken together.
    fn moment(&self) -> Moment {
        Moment::new(self.now(), self.wall())
    }
}

/// The system's clocks.
#[derive(Clone, Copy, Debug, Default)]
pub struct System;

impl Clock for System {
    #[cfg(target_os = "linux")]
    #[inline]
    fn now(&self) -> Instant {
        let t = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        let secs = u64::try_from(t.tv_sec).unwrap_or(0);
        let nanos = u64::try_from(t.tv_nsec).unwrap_or(0);
        Instant::from_nanos(secs.saturating_mul(1_000_000_000).saturating_add(nanos))
    }

    #[cfg(not(target_os = "linux"))]
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place where time is read"
    )]
    fn now(&self) -> Instant {
        use std::sync::OnceLock;
        static ORIGIN: OnceLock<std::time::Instant> = OnceLock::new();
        // A second is added so that "a moment ago" exists right after the start.
        let origin = ORIGIN.get_or_init(std::time::Instant::now);
        Instant::from_secs(1).after(origin.elapsed())
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place where time is read"
    )]
    fn wall(&self) -> WallTime {
        let now = std::time::SystemTime::now();
        match now.duration_since(std::time::UNIX_EPOCH) {
            Ok(d) => WallTime::default().after(d),
            Err(e) => WallTime::default().before(e.duration()),
        }
    }
}
