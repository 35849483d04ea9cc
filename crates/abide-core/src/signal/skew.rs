//! How far the provider's clock is from ours, learned from `Date`.
//!
//! A reset told as a wall time is meant on the provider's clock. Each answer's `Date` has whole
//! seconds, so it confines the difference to an interval one second wide; over several answers
//! the intervals are intersected, and start over when they no longer meet (one of the clocks was
//! set). The smallest difference still possible is used: it makes a wait longest, and a wait must
//! never end early.
//!
//! A `Date` more than a day from our clock is taken for broken; then our clock decides.

use std::time::Duration;

use crate::time::{Instant, Moment, WallTime};

const SECOND: i64 = 1_000_000_000;
const DAY: i64 = 86_400 * SECOND;

/// What is known of the difference between one provider's clock and ours.
///
/// Keep one for every host and hand it to [`read`](super::read) with each answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Skew {
    /// Provider minus ours in nanoseconds: no less than the first, no more than the second.
    bounds: Option<(i64, i64)>,
}

impl Skew {
    /// Nothing known yet.
    pub const fn new() -> Self {
        Self { bounds: None }
    }

    /// The least difference (provider minus ours, in nanoseconds) that fits what was seen.
    pub const fn least_nanos(&self) -> Option<i64> {
        match self.bounds {
            Some((low, _)) => Some(low),
            None => None,
        }
    }

    /// Takes in one answer's `Date` and `Age`; returns the clock to read its times with.
    ///
    /// An answer from a cache (`Age` above zero) teaches nothing lasting, since both numbers are
    /// estimates of the cache; it is read by what is known already, or else by their sum.
    pub(super) fn observe(&mut self, at: Moment, date: Option<WallTime>, age: Duration) -> Clock {
        let Some(date) = date else {
            return Clock {
                at,
                ahead: self.least_nanos().unwrap_or(0),
            };
        };
        let ahead = date
            .after(age)
            .as_unix_nanos()
            .saturating_sub(at.wall.as_unix_nanos());
        if ahead.saturating_abs() > DAY {
            return Clock { at, ahead: 0 };
        }
        if !age.is_zero() {
            return Clock {
                at,
                ahead: self.least_nanos().unwrap_or(ahead),
            };
        }
        let seen = (ahead, ahead + SECOND);
        let bounds = match self.bounds {
            Some((low, high)) if low.max(seen.0) <= high.min(seen.1) => {
                (low.max(seen.0), high.min(seen.1))
            }
            _ => seen,
        };
        self.bounds = Some(bounds);
        Clock {
            at,
            ahead: bounds.0,
        }
    }
}

/// The moment of an answer, with the provider's clock beside ours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Clock {
    /// When the answer was received.
    pub(super) at: Moment,
    /// How far the provider's clock is ahead of ours, in nanoseconds.
    ahead: i64,
}

impl Clock {
    /// Our instant for a time on the provider's clock; `None` when it has passed.
    pub(super) fn instant_of(&self, theirs: WallTime) -> Option<Instant> {
        if theirs == WallTime::MAX {
            return Some(Instant::FAR);
        }
        let ours = WallTime::from_unix_nanos(theirs.as_unix_nanos().saturating_sub(self.ahead));
        (ours > self.at.wall).then(|| self.at.instant_at(ours))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(wall_nanos: i64) -> Moment {
        Moment::new(
            Instant::from_secs(1000),
            WallTime::from_unix_nanos(wall_nanos),
        )
    }

    fn secs(n: i64) -> Option<WallTime> {
        Some(WallTime::from_unix_secs(n))
    }

    const BASE: i64 = 1_773_144_000;

    #[test]
    fn dates_narrow_the_difference() {
        let mut skew = Skew::new();
        // The provider is 10.7 s ahead; its Date shows whole seconds.
        for tenth in 0..20 {
            let ours = BASE * SECOND + tenth * SECOND / 10;
            let theirs = (ours + 107 * SECOND / 10) / SECOND;
            skew.observe(moment(ours), secs(theirs), Duration::ZERO);
        }
        let least = skew.least_nanos().unwrap();
        assert!(
            least <= 107 * SECOND / 10,
            "never more than the truth: {least}"
        );
        assert!(least >= 106 * SECOND / 10, "narrowed to a tenth: {least}");
    }

    #[test]
    fn starts_over_when_a_clock_was_set() {
        let mut skew = Skew::new();
        skew.observe(moment(BASE * SECOND), secs(BASE + 300), Duration::ZERO);
        skew.observe(moment(BASE * SECOND), secs(BASE), Duration::ZERO);
        assert_eq!(skew.least_nanos(), Some(0));
    }

    #[test]
    fn an_absurd_date_is_not_believed() {
        let mut skew = Skew::new();
        let clock = skew.observe(moment(BASE * SECOND), secs(0), Duration::ZERO);
        assert_eq!(skew, Skew::new());
        let at = clock.instant_of(WallTime::from_unix_secs(BASE + 5));
        assert_eq!(at, Some(Instant::from_secs(1005)));
    }

    #[test]
    fn age_is_added_for_this_answer_and_teaches_nothing() {
        let mut skew = Skew::new();
        let age = Duration::from_secs(30);
        let clock = skew.observe(moment(BASE * SECOND), secs(BASE + 70), age);
        assert_eq!(skew, Skew::new());
        let at = clock.instant_of(WallTime::from_unix_secs(BASE + 105));
        assert_eq!(at, Some(Instant::from_secs(1005)));
    }

    #[test]
    fn what_was_learned_serves_answers_without_a_date() {
        let mut skew = Skew::new();
        skew.observe(moment(BASE * SECOND), secs(BASE + 300), Duration::ZERO);
        let clock = skew.observe(moment(BASE * SECOND), None, Duration::ZERO);
        let at = clock.instant_of(WallTime::from_unix_secs(BASE + 320));
        assert_eq!(at, Some(Instant::from_secs(1020)));
    }

    #[test]
    fn passed_is_none_and_never_is_far() {
        let clock = Skew::new().observe(moment(BASE * SECOND), None, Duration::ZERO);
        assert_eq!(clock.instant_of(WallTime::from_unix_secs(BASE)), None);
        assert_eq!(clock.instant_of(WallTime::MAX), Some(Instant::FAR));
    }
}
