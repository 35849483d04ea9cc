//! Windows counted as providers count them: sliding ("at most N in any T") and fixed ("N until
//! the boundary").

use std::collections::VecDeque;
use std::time::Duration;

use crate::time::{Instant, nanos};

/// The most sub-buckets a sliding window keeps; beyond that, sends are counted at the end of
/// their sub-bucket, which errs on the safe side by at most a sixty-fourth of the window.
const SUB_BUCKETS: u64 = 64;

/// At most `limit` units in any stretch of `period`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sliding {
    limit: u64,
    period: u64,
    width: u64,
    used: u64,
    sent: VecDeque<(u64, u64)>,
}

impl Sliding {
    /// At most `limit` units (at least 1) in any stretch of `period`.
    pub fn new(limit: u32, period: Duration) -> Self {
        let limit = u64::from(limit.max(1));
        let period = nanos(period).max(1);
        // Few sends are remembered exactly; many are gathered in sub-buckets.
        let width = if limit <= SUB_BUCKETS {
            1
        } else {
            period.div_ceil(SUB_BUCKETS)
        };
        Self {
            limit,
            period,
            width,
            used: 0,
            sent: VecDeque::new(),
        }
    }

    /// Limit and period.
    pub(crate) const fn told(&self) -> (u64, Duration) {
        (self.limit, Duration::from_nanos(self.period))
    }

    pub(crate) const fn size(&self) -> u64 {
        self.limit
    }

    pub(crate) const fn interval(&self) -> u64 {
        self.period.div_ceil(self.limit)
    }

    /// The earliest instant at which `cost` fits; may be in the past.
    pub(crate) fn earliest(&self, cost: u32) -> Instant {
        let mut used = self.used;
        let mut at = 0;
        for (stamp, units) in &self.sent {
            if used + u64::from(cost) <= self.limit {
                break;
            }
            used -= units;
            at = stamp.saturating_add(self.period);
        }
        Instant::from_nanos(at)
    }

    /// As [`earliest`](Self::earliest), where arrivals vary by `lag` nanoseconds: the window is
    /// that much longer, by no more than a twentieth.
    pub(crate) fn earliest_late(&self, cost: u32, lag: u32) -> Instant {
        let at = self.earliest(cost);
        if at == Instant::ORIGIN {
            return at;
        }
        at.after(self.late(lag))
    }

    fn late(&self, lag: u32) -> Duration {
        Duration::from_nanos(u64::from(lag).min(self.period / 20))
    }

    /// As [`charge`](Self::charge), where arrivals vary by `lag` nanoseconds.
    pub(crate) fn charge_late(&mut self, now: Instant, at: Instant, cost: u32, lag: u32) {
        self.charge(now, at.before(self.late(lag)), cost);
    }

    /// Pays `cost` at `now` for a slot that was due `at`; what has left by then is forgotten.
    pub(crate) fn charge(&mut self, now: Instant, at: Instant, cost: u32) {
        let (now, at) = (now.as_nanos(), at.as_nanos());
        while let Some((stamp, units)) = self.sent.front().copied()
            && stamp.saturating_add(self.period) <= at
        {
            self.used -= units;
            self.sent.pop_front();
        }
        let stamp = now.div_ceil(self.width).saturating_mul(self.width);
        self.used += u64::from(cost);
        match self.sent.back_mut() {
            Some((last, units)) if *last >= stamp => *units += u64::from(cost),
            _ => self.sent.push_back((stamp, u64::from(cost))),
        }
    }

    pub(crate) fn refund(&mut self, at: Instant, cost: u32) {
        let mut left = u64::from(cost);
        let stamp = at
            .as_nanos()
            .div_ceil(self.width)
            .saturating_mul(self.width);
        // Never from a later entry: what stays would then leave the window too soon.
        for (_, units) in self.sent.iter_mut().rev().skip_while(|(s, _)| *s > stamp) {
            let take = left.min(*units);
            *units -= take;
            self.used -= take;
            left -= take;
            if left == 0 {
                break;
            }
        }
        self.sent.retain(|(_, units)| *units > 0);
    }

    /// Adds what another window of the same limit has counted.
    pub(crate) fn absorb(&mut self, other: &Self) {
        let mut all: Vec<(u64, u64)> = self.sent.iter().chain(&other.sent).copied().collect();
        all.sort_unstable();
        self.sent.clear();
        for (stamp, units) in all {
            let stamp = stamp.div_ceil(self.width).saturating_mul(self.width);
            match self.sent.back_mut() {
                Some((last, more)) if *last == stamp => *more += units,
                _ => self.sent.push_back((stamp, units)),
            }
        }
        self.used = self.sent.iter().map(|(_, units)| units).sum();
    }

    pub(crate) fn is_idle(&self, now: Instant) -> bool {
        self.sent
            .back()
            .is_none_or(|(s, _)| s.saturating_add(self.period) <= now.as_nanos())
    }
}

/// `limit` units until the next boundary; boundaries lie `phase + k × period`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fixed {
    limit: u64,
    period: u64,
    phase: u64,
    index: u64,
    used: u64,
    /// What the store was told is used; runs ahead of `used` by up to a block.
    ahead: u64,
}

impl Fixed {
    /// `limit` units (at least 1) in each `period`, a boundary lying at `phase`.
    pub fn new(limit: u32, period: Duration, phase: Instant) -> Self {
        let period = nanos(period).max(1);
        let phase = phase.as_nanos() % period;
        Self {
            limit: u64::from(limit.max(1)),
            period,
            phase,
            index: 0,
            used: 0,
            ahead: 0,
        }
    }

    /// Limit, period, and a boundary.
    pub(crate) const fn told(&self) -> (u64, Duration, Instant) {
        let period = Duration::from_nanos(self.period);
        (self.limit, period, Instant::from_nanos(self.phase))
    }

    pub(crate) const fn size(&self) -> u64 {
        self.limit
    }

    pub(crate) const fn interval(&self) -> u64 {
        self.period.div_ceil(self.limit)
    }

    const fn index_at(&self, now: Instant) -> u64 {
        // One period is added so that instants before the first boundary have an index too.
        now.as_nanos().saturating_add(self.period - self.phase) / self.period
    }

    const fn start_of(&self, index: u64) -> Instant {
        Instant::from_nanos(
            index
                .saturating_mul(self.period)
                .saturating_add(self.phase)
                .saturating_sub(self.period),
        )
    }

    /// The earliest instant at which `cost` fits; may be in the past.
    pub(crate) fn earliest(&self, cost: u32) -> Instant {
        if self.used + u64::from(cost) <= self.limit {
            return Instant::ORIGIN;
        }
        self.start_of(self.index + 1)
    }

    /// As [`earliest`](Self::earliest), where arrivals vary by `lag` nanoseconds: what is sent at
    /// a boundary may arrive before it.
    pub(crate) fn earliest_late(&self, cost: u32, lag: u32) -> Instant {
        let at = self.earliest(cost);
        if at == Instant::ORIGIN {
            return at;
        }
        at.after(Duration::from_nanos(u64::from(lag).min(self.period / 20)))
    }

    /// Pays; returns whether the store must be told, since the block told last is spent.
    pub(crate) fn charge(&mut self, now: Instant, cost: u32) -> bool {
        // What costs nothing opens no new window: arrivals may not be there yet.
        if cost == 0 {
            return false;
        }
        let index = self.index_at(now);
        if index > self.index {
            self.index = index;
            self.used = 0;
            self.ahead = 0;
        }
        self.used += u64::from(cost);
        self.tell()
    }

    fn tell(&mut self) -> bool {
        if self.used > self.ahead {
            self.ahead = (self.used + self.block()).min(self.limit.max(self.used));
            return self.is_long();
        }
        false
    }

    /// Adds what another window of the same limit has counted; returns whether the store must be
    /// told.
    pub(crate) fn absorb(&mut self, other: &Self) -> bool {
        if other.index < self.index || other.used == 0 {
            return false;
        }
        if other.index > self.index {
            self.index = other.index;
            self.used = 0;
            self.ahead = 0;
        }
        self.used += other.used;
        self.tell()
    }

    /// Takes over what a window with another limit has counted.
    pub(crate) fn take_over(&mut self, now: Instant, old: &Self) {
        if old.is_idle(now) {
            return;
        }
        self.index = self.index_at(now);
        self.used = old.used;
        self.ahead = old.ahead.max(old.used);
    }

    pub(crate) fn refund(&mut self, at: Instant, cost: u32) {
        if self.index_at(at) == self.index {
            self.used = self.used.saturating_sub(u64::from(cost));
        }
    }

    /// Counts are told to the store a hundredth of the limit ahead: a crash over-counts by at
    /// most that, and never under-counts.
    const fn block(&self) -> u64 {
        self.limit / 100
    }

    /// Windows under a minute are over before a restart is, and are not stored.
    const fn is_long(&self) -> bool {
        self.period >= 60_000_000_000
    }

    /// The count to store and the end of the window it belongs to.
    pub(crate) fn stored(&self) -> Option<(u64, Instant)> {
        (self.is_long() && self.ahead > 0).then(|| (self.ahead, self.start_of(self.index + 1)))
    }

    /// Takes a stored count back, when its window is still the current one.
    pub(crate) fn restore(&mut self, now: Instant, used: u64, end: Instant) {
        if end <= now {
            return;
        }
        let index = self.index_at(now);
        if index > self.index {
            self.index = index;
            self.used = 0;
            self.ahead = 0;
        }
        self.used = self.used.max(used);
        self.ahead = self.ahead.max(used);
    }

    pub(crate) fn is_idle(&self, now: Instant) -> bool {
        self.used == 0 || self.index_at(now) > self.index
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sc_j05_never_more_than_the_limit_in_any_window() {
        let period = Duration::from_secs(1);
        for limit in [1_u32, 5, 64, 100, 1000] {
            let mut w = Sliding::new(limit, period);
            let mut rng = fastrand::Rng::with_seed(u64::from(limit));
            let (mut now, mut log) = (0_u64, Vec::new());
            for _ in 0..3 * limit {
                now += rng.u64(0..2_000_000_000 / u64::from(limit));
                let at = w.earliest(1).as_nanos();
                now = now.max(at);
                assert!(w.earliest(1).as_nanos() <= now);
                w.charge(Instant::from_nanos(now), Instant::from_nanos(now), 1);
                log.push(now);
            }
            for (i, t) in log.iter().enumerate() {
                let inside = log[i..]
                    .iter()
                    .take_while(|u| **u < t + 1_000_000_000)
                    .count();
                assert!(inside <= limit as usize, "{inside} in a window of {limit}");
            }
            assert!(w.sent.len() <= SUB_BUCKETS as usize + 1);
        }
    }

    #[test]
    fn a_fixed_window_opens_at_its_boundary() {
        let mut w = Fixed::new(2, Duration::from_secs(10), Instant::from_secs(3));
        let now = Instant::from_secs(5);
        w.charge(now, 1);
        w.charge(now, 1);
        assert_eq!(w.earliest(1), Instant::from_secs(13));
        assert!(w.earliest(1) <= Instant::from_secs(13));
    }

    #[test]
    fn sc_h23_a_stored_count_never_under_counts() {
        let mut w = Fixed::new(1000, Duration::from_secs(3600), Instant::ORIGIN);
        let now = Instant::from_secs(10);
        let mut told = 0;
        for n in 1..=500_u64 {
            if w.charge(now, 1) {
                told = w.stored().map_or(0, |s| s.0);
            }
            assert!(told >= n && told <= n + 10, "{told} stored after {n}");
        }
        let mut again = Fixed::new(1000, Duration::from_secs(3600), Instant::ORIGIN);
        again.restore(now, told, Instant::from_secs(3600));
        assert!(again.used >= 500);
    }

    #[test]
    fn a_refund_frees_the_place() {
        let mut s = Sliding::new(1, Duration::from_secs(1));
        s.charge(Instant::from_secs(1), Instant::from_secs(1), 1);
        s.refund(Instant::from_secs(1), 1);
        assert!(s.earliest(1) <= Instant::from_secs(1));
    }
}
