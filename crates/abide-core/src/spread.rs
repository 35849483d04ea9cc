//! How what is announced to be left is spent until its window ends.
//!
//! An answer that says "40 left until 12:00" names a bound and no rate: a provider that says
//! 10,000 in 10 s may mean 10 a second, or all of it now. Spreading it is a plan of ours, made for
//! whoever would rather be slow now than shut out later. So nothing learned comes of it, no more
//! is ever out than is left, and each answer makes the plan anew from what it says: what others
//! spend of the same quota widens the gaps.

use std::time::Duration;

use crate::time::Instant;

/// How many percent of what is left when a window is first announced may go at once; the rest is
/// spread evenly until it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread(u8);

impl Spread {
    /// Everything may go at once, and the rest of the window is waited out. The default: for a job
    /// that is the fastest, and whoever pauses loses nothing of it.
    pub const NONE: Self = Self(100);
    /// Nothing goes ahead of time.
    pub const EVEN: Self = Self(0);

    /// So many percent may go at once; above 100 reads as 100.
    pub const fn at_once(percent: u8) -> Self {
        Self(if percent > 100 { 100 } else { percent })
    }

    /// Whether nothing is spread.
    pub const fn is_none(self) -> bool {
        self.0 == 100
    }
}

impl Default for Spread {
    fn default() -> Self {
        Self::NONE
    }
}

/// The plan for one window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// Units that may still go at once.
    at_once: u64,
    /// When the last one went.
    last: Instant,
}

impl Plan {
    /// For a window of which so many units were left when it was first announced.
    pub(crate) const fn new(spread: Spread, units: u64, now: Instant) -> Self {
        Self {
            at_once: (units / 100).saturating_mul(spread.0 as u64)
                + units % 100 * spread.0 as u64 / 100,
            last: now,
        }
    }

    /// When `cost` units may go, of `units` that are left until `until`.
    pub(crate) fn earliest(&self, cost: u32, units: u64, until: Instant) -> Instant {
        let cost = u64::from(cost.max(1));
        if units == 0 {
            return until;
        }
        if self.at_once.min(units) >= cost {
            return Instant::ORIGIN;
        }
        let span = until.since(self.last).as_nanos();
        let gap = span * u128::from(cost) / u128::from(units.saturating_add(cost));
        self.last
            .after(Duration::from_nanos(u64::try_from(gap).unwrap_or(u64::MAX)))
    }

    /// `cost` units went.
    pub(crate) fn spent(&mut self, now: Instant, cost: u32) {
        self.at_once = self.at_once.saturating_sub(u64::from(cost));
        self.last = self.last.max(now);
    }
}
