//! When to come back, as told: a span from now, a point in time, or both by several lines.
//!
//! Spans need no clock and points do, and the `Date` that sets the clock may follow in a later
//! header line. So values are first gathered (the longest of each kind) and turned into one
//! instant at the end.

use std::time::Duration;

use super::number::Number;
use super::skew::Clock;
use crate::time::{Instant, WallTime};

const SECOND: u128 = 1_000_000_000;
/// A number is taken for a date only when it is this near to now.
const NEAR: u64 = 366 * 86_400 * 1_000_000_000;

/// The longest of the values gathered so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Told {
    after: Option<Duration>,
    at: Option<WallTime>,
}

impl Told {
    /// Nothing valid was told.
    pub(super) const fn is_silent(&self) -> bool {
        self.after.is_none() && self.at.is_none()
    }

    pub(super) fn after(&mut self, span: Duration) {
        self.after = self.after.max(Some(span));
    }

    pub(super) fn at(&mut self, point: WallTime) {
        self.at = self.at.max(Some(point));
    }

    /// The latest instant told that has not passed.
    pub(super) fn until(&self, clock: &Clock) -> Option<Instant> {
        let span = self
            .after
            .filter(|d| !d.is_zero())
            .map(|d| clock.at.now.after(d));
        span.max(self.at.and_then(|t| clock.instant_of(t)))
    }

    /// As a hint: an elapsed point instructs nothing, a zero span is told apart from silence.
    pub(super) fn hint(&self, clock: &Clock) -> Hint {
        match self.until(clock) {
            Some(t) => Hint::Until(t),
            None if self.after == Some(Duration::ZERO) => Hint::Zero,
            None => Hint::Absent,
        }
    }
}

/// What an answer says about when to come back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hint {
    /// Nothing usable: no header, a malformed one, or a date that has passed.
    #[default]
    Absent,
    /// Zero: an instruction, yet one that every other source outranks.
    Zero,
    /// Not before this instant.
    Until(Instant),
}

impl Hint {
    /// The first of two sources that says when; a zero yields to it.
    #[must_use]
    pub const fn or(self, next: Self) -> Self {
        match (self, next) {
            (Self::Until(_), _) => self,
            (_, Self::Until(_)) => next,
            (Self::Absent, _) => next,
            (Self::Zero, _) => self,
        }
    }
}

/// The instant a number means when read as an epoch in seconds, milli-, micro- or nanoseconds,
/// if one of these is within 366 days of `now`.
pub(super) fn near_epoch(n: Number, now: WallTime) -> Option<WallTime> {
    [1, 1_000, 1_000_000, 1_000_000_000]
        .into_iter()
        .find_map(|per_second| {
            let nanos = n.nanos(per_second);
            // A clock that starts at 1970 (no battery) must not turn small spans into dates.
            let then = i64::try_from(nanos)
                .ok()
                .filter(|_| nanos >= SECOND * SECOND)?;
            let near = then.abs_diff(now.as_unix_nanos()) <= NEAR;
            near.then_some(WallTime::from_unix_nanos(then))
        })
}

/// The instant a number of ten digits or more means, judged by its size alone; a span of more
/// than thirty years is nobody's reset.
pub(super) fn epoch_by_size(n: Number) -> Option<WallTime> {
    let per_second = match n.whole() {
        0..1_000_000_000 => return None,
        1_000_000_000..100_000_000_000 => 1,
        100_000_000_000..100_000_000_000_000 => 1_000,
        100_000_000_000_000..100_000_000_000_000_000 => 1_000_000,
        _ => 1_000_000_000,
    };
    Some(WallTime::from_unix_nanos(
        i64::try_from(n.nanos(per_second)).unwrap_or(i64::MAX),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: WallTime = WallTime::from_unix_secs(1_773_144_000);

    fn near(v: &str) -> Option<i64> {
        let n = Number::parse(v.as_bytes())?;
        near_epoch(n, NOW).map(WallTime::as_unix_nanos)
    }

    fn sized(v: &str) -> Option<i64> {
        let n = Number::parse(v.as_bytes())?;
        epoch_by_size(n).map(WallTime::as_unix_nanos)
    }

    #[test]
    fn epochs_in_four_units() {
        let t = Some(1_773_144_045_000_000_000);
        for v in [
            "1773144045",
            "1773144045000",
            "1773144045000000",
            "1773144045000000000",
        ] {
            assert_eq!(near(v), t, "{v}");
            assert_eq!(sized(v), t, "{v}");
        }
        assert_eq!(near("1773144012.250"), Some(1_773_144_012_250_000_000));
    }

    #[test]
    fn near_means_a_year() {
        let year = 366 * 86_400;
        assert!(near(&(1_773_144_000 + year).to_string()).is_some());
        assert!(near(&(1_773_144_000 - year).to_string()).is_some());
        assert_eq!(near(&(1_773_144_001 + year).to_string()), None);
        assert_eq!(near("2147483648"), None);
        assert_eq!(near("3600000"), None);
    }

    #[test]
    fn a_clock_at_1970_does_not_turn_spans_into_dates() {
        let n = Number::parse(b"120").unwrap();
        assert_eq!(near_epoch(n, WallTime::from_unix_secs(0)), None);
    }

    #[test]
    fn zero_yields_and_silence_is_not_zero() {
        let t = Hint::Until(Instant::from_secs(5));
        assert_eq!(Hint::Zero.or(t), t);
        assert_eq!(t.or(Hint::Zero), t);
        assert_eq!(Hint::Absent.or(Hint::Zero), Hint::Zero);
        assert_eq!(Hint::Zero.or(Hint::Absent), Hint::Zero);
        assert_eq!(Hint::Absent.or(Hint::Absent), Hint::Absent);
    }
}
