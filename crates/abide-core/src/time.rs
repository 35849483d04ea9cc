//! Time as the core sees it: numbers handed in by the caller.
//!
//! Waiting is measured on a monotonic scale that keeps counting while the machine sleeps
//! ([`Instant`]); dates in answers and in stores are wall time ([`WallTime`]). The two meet only
//! in a [`Moment`], taken once at the edge when an answer is received, so that a step of the wall
//! clock can never shorten a wait that is already running.
//!
//! All arithmetic saturates: a provider that asks for 10^20 seconds must not panic anyone, and
//! "too large" must never wrap into "at once".

use std::fmt;
use std::time::Duration;

/// A point on the monotonic scale, in nanoseconds since an origin the shell chose.
///
/// The range is 584 years; arithmetic saturates at both ends.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

impl Instant {
    /// The origin of the scale.
    pub const ORIGIN: Self = Self(0);
    /// Later than anything that happens: "no bound".
    pub const FAR: Self = Self(u64::MAX);

    /// The point `nanos` nanoseconds after the origin.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// The point `millis` milliseconds after the origin.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// The point `secs` seconds after the origin.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1_000_000_000))
    }

    /// Nanoseconds since the origin.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// `self + d`, at most [`Instant::FAR`].
    #[must_use]
    pub const fn after(self, d: Duration) -> Self {
        Self(self.0.saturating_add(nanos(d)))
    }

    /// `self - d`, at least [`Instant::ORIGIN`].
    #[must_use]
    pub const fn before(self, d: Duration) -> Self {
        Self(self.0.saturating_sub(nanos(d)))
    }

    /// The time from `earlier` to `self`; zero when `earlier` is later.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::FAR {
            return f.write_str("FAR");
        }
        write!(
            f,
            "{}.{:09}s",
            self.0 / 1_000_000_000,
            self.0 % 1_000_000_000
        )
    }
}

/// A duration as whole nanoseconds, saturating at `u64::MAX` (584 years).
pub const fn nanos(d: Duration) -> u64 {
    let n = d.as_nanos();
    if n > u64::MAX as u128 {
        u64::MAX
    } else {
        n as u64
    }
}

/// A wall-clock time, in nanoseconds since the Unix epoch (range: the years 1677 to 2262,
/// saturating).
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WallTime(i64);

impl WallTime {
    /// The latest time that can be written down.
    pub const MAX: Self = Self(i64::MAX);

    /// `nanos` nanoseconds after the Unix epoch.
    pub const fn from_unix_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// `secs` seconds after the Unix epoch, saturating.
    pub const fn from_unix_secs(secs: i64) -> Self {
        Self(secs.saturating_mul(1_000_000_000))
    }

    /// Nanoseconds since the Unix epoch.
    pub const fn as_unix_nanos(self) -> i64 {
        self.0
    }

    /// Whole seconds since the Unix epoch, rounded up: a time told to others is never early.
    pub const fn as_unix_secs_ceil(self) -> i64 {
        let whole = self.0.div_euclid(1_000_000_000);
        if self.0.rem_euclid(1_000_000_000) > 0 {
            whole + 1
        } else {
            whole
        }
    }

    /// `self + d`, saturating.
    #[must_use]
    pub const fn after(self, d: Duration) -> Self {
        Self(self.0.saturating_add_unsigned(nanos(d)))
    }

    /// `self - d`, saturating.
    #[must_use]
    pub const fn before(self, d: Duration) -> Self {
        Self(self.0.saturating_sub_unsigned(nanos(d)))
    }

    /// The time from `earlier` to `self`; zero when `earlier` is later.
    pub const fn since(self, earlier: Self) -> Duration {
        if self.0 <= earlier.0 {
            Duration::ZERO
        } else {
            Duration::from_nanos(self.0.abs_diff(earlier.0))
        }
    }
}

impl fmt::Debug for WallTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// RFC 3339 in UTC with whole seconds, rounded up: `2026-03-10T12:05:00Z`.
impl fmt::Display for WallTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_second(self.as_unix_secs_ceil()) {
            Ok(t) => write!(f, "{t}"),
            Err(_) => write!(f, "@{}", self.as_unix_secs_ceil()),
        }
    }
}

/// One moment on both scales, taken together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// The monotonic side: what waiting is measured on.
    pub now: Instant,
    /// The wall side: what dates are read against.
    pub wall: WallTime,
}

impl Moment {
    /// Both scales at one moment.
    pub const fn new(now: Instant, wall: WallTime) -> Self {
        Self { now, wall }
    }

    /// The wall time of a monotonic instant, as this moment relates the two.
    pub fn wall_at(&self, at: Instant) -> WallTime {
        if at == Instant::FAR {
            return WallTime::MAX;
        }
        if at >= self.now {
            self.wall.after(at.since(self.now))
        } else {
            self.wall.before(self.now.since(at))
        }
    }

    /// The monotonic instant of a wall time, as this moment relates the two.
    pub fn instant_at(&self, wall: WallTime) -> Instant {
        if wall >= self.wall {
            self.now.after(wall.since(self.wall))
        } else {
            self.now.before(self.wall.since(wall))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates_at_both_ends() {
        assert_eq!(Instant::FAR.after(Duration::MAX), Instant::FAR);
        assert_eq!(Instant::ORIGIN.before(Duration::MAX), Instant::ORIGIN);
        assert_eq!(Instant::ORIGIN.since(Instant::FAR), Duration::ZERO);
        assert_eq!(WallTime::MAX.after(Duration::MAX), WallTime::MAX);
    }

    #[test]
    fn spans_longer_than_half_the_range_are_exact() {
        let first = WallTime::from_unix_nanos(i64::MIN);
        let late = WallTime::from_unix_secs(1_773_144_000);
        assert_eq!(first.after(late.since(first)), late);
        assert_eq!(late.before(late.since(first)), first);
        let m = Moment::new(Instant::from_secs(100), first);
        assert_eq!(m.wall_at(m.instant_at(late)), late);
    }

    #[test]
    fn a_time_told_to_others_is_never_early() {
        let t = WallTime::from_unix_nanos(1_773_144_000_000_000_001);
        assert_eq!(t.to_string(), "2026-03-10T12:00:01Z");
    }

    #[test]
    fn a_moment_converts_both_ways() {
        let m = Moment::new(Instant::from_secs(100), WallTime::from_unix_secs(1_000));
        assert_eq!(
            m.wall_at(Instant::from_secs(130)),
            WallTime::from_unix_secs(1_030)
        );
        assert_eq!(
            m.instant_at(WallTime::from_unix_secs(970)),
            Instant::from_secs(70)
        );
    }
}
