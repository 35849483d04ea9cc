//! How far the process's wall clock is from the server's.
//!
//! Each reply bounds it: the server read its clock between the moment at which it was asked and
//! the one at which the answer came. The offset is moved only as far as those bounds demand, so
//! that two clocks that cannot be told apart are taken to be one, and what was said comes back as it
//! was said. It is off by at most a round trip.

use std::sync::atomic::{AtomicI64, Ordering};

use abide_core::WallTime;

/// Nanoseconds to add to the process's time for the server's.
#[derive(Debug, Default)]
pub(super) struct Offset(AtomicI64);

impl Offset {
    pub(super) fn get(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }

    /// The server said `server`, in microseconds, between two moments of the process.
    pub(super) fn meets(&self, asked: WallTime, server: f64, answered: WallTime) {
        let server = (server as i64).saturating_mul(1000);
        // What it said is cut off to a microsecond.
        let crumb = 1_000;
        let least = server.saturating_sub(answered.as_unix_nanos()) - crumb;
        let most = server.saturating_sub(asked.as_unix_nanos()) + crumb;
        // A clock that was set back meanwhile tells nothing.
        if least <= most {
            self.0
                .store(self.get().clamp(least, most), Ordering::Relaxed);
        }
    }
}

/// A time, moved.
pub(super) const fn moved(at: WallTime, by: i64) -> WallTime {
    WallTime::from_unix_nanos(at.as_unix_nanos().saturating_add(by))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(ns: i64) -> WallTime {
        WallTime::from_unix_nanos(1_800_000_000_000_000_000 + ns)
    }

    fn server(ns: i64) -> f64 {
        (at(ns).as_unix_nanos() / 1000) as f64
    }

    #[test]
    fn clocks_that_cannot_be_told_apart_are_one() {
        let offset = Offset::default();
        for n in 0..100 {
            let asked = n * 1_000_000;
            offset.meets(at(asked), server(asked + 30_000), at(asked + 100_000));
        }
        assert_eq!(offset.get(), 0);
    }

    #[test]
    fn a_wrong_clock_is_found_and_stays_found() {
        let offset = Offset::default();
        let hour = 3_600_000_000_000;
        offset.meets(at(0), server(hour + 50_000), at(100_000));
        let found = offset.get();
        assert!((found - hour).abs() <= 60_000, "{found}");
        offset.meets(
            at(1_000_000),
            server(1_000_000 + hour + 50_000),
            at(1_100_000),
        );
        assert_eq!(offset.get(), found, "nothing new was learned");
        offset.meets(at(2_000_000), server(2_000_000 + hour), at(2_000_100));
        assert!(
            (offset.get() - hour).abs() <= 3_000,
            "a quicker reply tells more"
        );
    }
}
