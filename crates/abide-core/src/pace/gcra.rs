//! The generic cell rate algorithm: a token bucket in one number.
//!
//! `tat` is the theoretical arrival time: the instant at which the bucket will be full again. A
//! cost fits when paying for it moves `tat` at most a whole burst ahead of now. One comparison
//! and one store a decision, and no drift: while senders wait, `tat` moves by whole intervals,
//! whatever the lateness of a wake.
//!
//! A refund must not hand out what time has already given: a cost that was paid while the bucket
//! ran idle later is owed by nobody any more. So the bucket remembers since when it has been busy
//! without a pause, and by how little it once escaped a pause; a refund moves `tat` back by at
//! most that.

use std::time::Duration;

use crate::time::{Instant, nanos};

/// How much lateness of a wake is made good.
///
/// A timer fires a little late and a busy machine later still; without catching up, every late
/// wake would lower the rate for good. Fifty milliseconds cover that; what is later is a
/// suspended process, whose slots must not all come out together.
pub const CATCH_UP: Duration = Duration::from_millis(50);

/// A byte with one value only. The compiler tells the kinds of windows apart by its other values,
/// so that a window is no larger than a bucket and a gate of two windows fills four lines of
/// memory: with many accounts, that is what a decision costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Room {
    Here,
}

/// A token bucket: one unit an interval, at most `burst` units saved up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gcra {
    tat: u64,
    interval: u64,
    /// How far ahead of now `tat` may be for a cost of 1 to fit: all of the burst but one unit.
    spare: u64,
    /// When the first cost was paid of those since when something has been owed without a pause.
    busy: u64,
    /// The least that was still owed when a later cost was paid since then.
    slack: u64,
    /// When the last cost was paid, in its low bits: enough to tell whether it was just now, and
    /// to be wrong about it only gives less back.
    last: u32,
    room: Room,
}

impl Gcra {
    /// One unit per `interval`, at most `burst` (at least 1) at once.
    pub fn new(interval: Duration, burst: u32) -> Self {
        let interval = nanos(interval).max(1);
        Self {
            tat: 0,
            interval,
            spare: spare(burst, interval),
            busy: 0,
            slack: u64::MAX,
            last: u32::MAX,
            room: Room::Here,
        }
    }

    /// `count` units per `period`, at most `burst` at once. The interval is rounded up, so the
    /// pace errs on the safe side.
    pub fn per(count: u32, period: Duration, burst: u32) -> Self {
        let interval = nanos(period).div_ceil(u64::from(count.max(1)));
        Self::new(Duration::from_nanos(interval), burst)
    }

    /// The largest cost that ever fits.
    pub(crate) const fn size(&self) -> u64 {
        self.spare / self.interval + 1
    }

    /// Nanoseconds a unit takes.
    pub(crate) const fn interval(&self) -> u64 {
        self.interval
    }

    /// The earliest instant at which `cost` fits; may be in the past.
    #[inline]
    pub(crate) const fn earliest(&self, cost: u32) -> Instant {
        // Plain requests cost 1: their room is at hand without a multiplication.
        let spare = if cost == 1 {
            self.spare
        } else {
            self.spare
                .saturating_add(self.interval)
                .saturating_sub(self.interval.saturating_mul(cost as u64))
        };
        Instant::from_nanos(self.tat.saturating_sub(spare))
    }

    /// As [`earliest`](Self::earliest), where arrivals vary by `lag` nanoseconds: as much of the
    /// burst is kept back. An interval without a burst is a plan and not a bucket, and is kept as
    /// it is.
    #[inline]
    pub(crate) const fn earliest_late(&self, cost: u32, lag: u32) -> Instant {
        let at = self.earliest(cost).as_nanos();
        let lag = lag as u64;
        let most = if self.spare < self.interval {
            self.spare
        } else {
            self.interval
        };
        Instant::from_nanos(at.saturating_add(if lag < most { lag } else { most }))
    }

    /// Pays `cost` at `now` for a slot that was due `at`.
    #[inline]
    pub(crate) const fn charge(&mut self, now: Instant, at: Instant, cost: u32) {
        if cost == 0 {
            return;
        }
        let (now, at) = (now.as_nanos(), at.as_nanos());
        let base = if self.tat > at {
            let owed = self.tat - at;
            if owed < self.slack {
                self.slack = owed;
            }
            self.tat
        } else {
            self.busy = now;
            // What was paid at the same instant cannot be told from what belongs here.
            self.slack = if self.last == low(now) { 0 } else { u64::MAX };
            at
        };
        self.last = low(now);
        let paid = if cost == 1 {
            self.interval
        } else {
            self.interval.saturating_mul(cost as u64)
        };
        self.tat = base.saturating_add(paid);
    }

    /// Gives back `cost` paid at `at` and unused, as far as it is still owed.
    pub(crate) fn refund(&mut self, at: Instant, cost: u32) {
        if at.as_nanos() < self.busy {
            return;
        }
        let paid = self.interval.saturating_mul(u64::from(cost));
        let give = paid.min(self.slack);
        self.tat = self.tat.saturating_sub(give);
        if self.slack != u64::MAX {
            self.slack -= give;
        }
    }

    /// Adds what another bucket of the same limit still owes.
    pub(crate) fn absorb(&mut self, now: Instant, other: &Self) {
        let owed = other.tat.saturating_sub(now.as_nanos());
        if owed > 0 {
            self.tat = self.tat.max(now.as_nanos()).saturating_add(owed);
        }
        // What was paid there and is given back here cannot be told from what time has given.
        self.slack = 0;
    }

    /// Changes the rate without a burst: what is owed is scaled, what was saved up is not grown.
    pub(crate) fn change(&mut self, now: Instant, interval: Duration, burst: u32) {
        let now = now.as_nanos();
        let interval = nanos(interval).max(1);
        let owed = self.tat.saturating_sub(now);
        let units = u128::from(owed) * u128::from(interval) / u128::from(self.interval);
        self.tat = now.saturating_add(u64::try_from(units).unwrap_or(u64::MAX));
        self.slack = 0;
        self.interval = interval;
        self.spare = spare(burst, interval);
    }

    /// Lets no more than `units` of saved-up burst remain at `now`.
    pub(crate) fn drain(&mut self, now: Instant, units: u64) {
        let full = self
            .size()
            .saturating_sub(units)
            .saturating_mul(self.interval);
        self.tat = self.tat.max(now.as_nanos().saturating_add(full));
        self.slack = 0;
    }

    /// Whether forgetting this bucket would change a decision at `now`.
    pub(crate) const fn is_idle(&self, now: Instant) -> bool {
        self.tat <= now.as_nanos()
    }
}

/// What all units of a burst (at least 1) but one take together.
fn spare(burst: u32, interval: u64) -> u64 {
    // A burst that takes longer than can be told is cut.
    let most = (u64::MAX / interval).max(1);
    (u64::from(burst.max(1)).min(most) - 1) * interval
}

const fn low(nanos: u64) -> u32 {
    (nanos & u32::MAX as u64) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    #[test]
    fn a_burst_and_then_the_pace() {
        let mut g = Gcra::per(10, Duration::from_secs(1), 3);
        for _ in 0..3 {
            assert!(g.earliest(1) <= at(1000));
            g.charge(at(1000), at(1000), 1);
        }
        assert_eq!(g.earliest(1), at(1100));
        assert_eq!(g.earliest(3), at(1300));
    }

    #[test]
    fn late_wakes_do_not_drift() {
        let mut g = Gcra::new(Duration::from_millis(5), 1);
        g.charge(at(0), at(0), 1);
        for n in 1..100 {
            let slot = g.earliest(1);
            assert_eq!(slot, at(5 * n));
            g.charge(slot, slot, 1);
        }
    }

    #[test]
    fn a_refund_gives_back_only_what_is_still_owed() {
        let mut g = Gcra::new(Duration::from_millis(10), 1);
        g.charge(at(0), at(0), 1);
        g.charge(at(10), at(10), 1);
        g.refund(at(0), 1);
        assert_eq!(g.earliest(1), at(20), "the first slot has passed unused");
        g.refund(at(10), 1);
        assert_eq!(g.earliest(1), at(10));

        let mut g = Gcra::new(Duration::from_millis(10), 2);
        g.charge(at(0), at(0), 1);
        g.charge(at(9), at(9), 1);
        g.refund(at(0), 1);
        // Without the first, the second would have found an idle bucket at 9.
        assert_eq!(g.earliest(2), at(19));
    }

    #[test]
    fn a_burst_beyond_all_time_is_cut() {
        let g = Gcra::new(Duration::MAX, u32::MAX);
        assert_eq!(g.size(), 1);
        assert_eq!(g.earliest(1), at(0));
        let g = Gcra::new(Duration::from_secs(3600), u32::MAX);
        assert_eq!(g.size(), u64::MAX / 3_600_000_000_000);
        assert_eq!(g.earliest(1), at(0));
    }

    #[test]
    fn ra_19_a_change_at_run_time_brings_no_burst() {
        let mut g = Gcra::per(10, Duration::from_secs(1), 5);
        for _ in 0..5 {
            g.charge(at(0), at(0), 1);
        }
        g.change(at(0), Duration::from_millis(50), 10);
        // Five units owed at the old rate are five units owed at the new one.
        assert_eq!(g.earliest(10), at(250));
    }
}
