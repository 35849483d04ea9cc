//! How much came back well lately.
//!
//! A learner is made at the first refusal only, since most gates never need one; what it has to
//! know of the time before is kept in a few bytes: two counts of a second each.

use std::time::Duration;

use crate::time::Instant;

const SECOND: Duration = Duration::from_secs(1);
const NANOS: u64 = 1_000_000_000;

/// Requests that came back well in this second and the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lately {
    since: Instant,
    count: u32,
    before: u32,
}

impl Lately {
    /// One that was sent at `sent` came back well.
    #[inline]
    pub fn add(&mut self, sent: Instant) {
        if self.count == 0 && self.before == 0 {
            self.since = sent;
        }
        // In plain nanoseconds: this is on the way of every success.
        let age = sent.as_nanos().saturating_sub(self.since.as_nanos());
        if age >= NANOS {
            self.before = if age < 2 * NANOS { self.count } else { 0 };
            self.since = sent;
            self.count = 0;
        }
        self.count = self.count.saturating_add(1);
    }

    /// How many.
    #[inline]
    pub(crate) const fn count(&self) -> u32 {
        self.count.saturating_add(self.before)
    }

    /// How many, and since when.
    pub fn told(&self) -> (u32, Instant) {
        let since = if self.before > 0 {
            self.since.before(SECOND)
        } else {
            self.since
        };
        (self.count.saturating_add(self.before), since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_two_seconds_count() {
        let mut l = Lately::default();
        for ms in (0..10_000).step_by(100) {
            l.add(Instant::from_millis(ms));
        }
        assert_eq!(l.told(), (20, Instant::from_secs(8)));
        l.add(Instant::from_secs(100));
        assert_eq!(l.told(), (1, Instant::from_secs(100)));
    }
}
