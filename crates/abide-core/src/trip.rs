//! How long the way to a provider and back takes, and by how much that varies.
//!
//! Limits are counted where requests arrive. Two that leave at the right distance may arrive
//! closer together, by as much as the way varies; a window that is filled to the brim is kept
//! that much longer, or the provider counts one too many.

use std::time::Duration;

use crate::time::Instant;

/// After so many answers something of the extremes is forgotten, since routes change; most answers
/// lie between them, and cost two comparisons.
const EVERY: u32 = 64;
/// How much: ten thousand answers forget a route that was left, and the extremes come often enough
/// to be remembered.
const FADES: u64 = 128;

/// The round trips of one provider.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Trip {
    /// In nanoseconds; 0 while nothing came back.
    least: u64,
    most: u64,
    seen: u32,
    lag: u32,
}

impl Trip {
    /// One that was sent at `sent` came back.
    #[inline]
    pub(crate) fn add(&mut self, now: Instant, sent: Instant) {
        let took = now.as_nanos().saturating_sub(sent.as_nanos()).max(1);
        self.seen = self.seen.wrapping_add(1);
        if took < self.least || took > self.most || self.seen.is_multiple_of(EVERY) {
            self.widen(took);
        }
    }

    #[inline(never)]
    fn widen(&mut self, took: u64) {
        if self.least == 0 {
            (self.least, self.most) = (took, took);
        }
        if self.seen.is_multiple_of(EVERY) {
            let fade = (self.most - self.least) / FADES;
            (self.least, self.most) = (self.least + fade, self.most - fade);
        }
        self.least = took.min(self.least);
        self.most = took.max(self.most);
        let varies = (self.most - self.least) / 4 * 3;
        self.lag = u32::try_from(varies.min(self.least / 2)).unwrap_or(u32::MAX);
    }

    /// How much later than meant one request may arrive, another being early. Three quarters of
    /// what round trips were seen to vary by: half of it is the way back, and the extremes come
    /// after a thousand answers rather than forty. No more than half the shortest: beyond that it
    /// is the answer that takes its time, not the way.
    #[inline]
    pub(crate) const fn lag(&self) -> u32 {
        self.lag
    }

    /// The middle of what was seen; `None` while nothing came back.
    pub(crate) fn middle(&self) -> Option<Duration> {
        (self.least > 0).then(|| Duration::from_nanos(u64::midpoint(self.least, self.most)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_quarters_of_what_round_trips_vary_by() {
        let mut t = Trip::default();
        for (sent, back) in [(0, 100), (20, 132), (40, 146)] {
            t.add(Instant::from_millis(back), Instant::from_millis(sent));
        }
        let lag = Duration::from_nanos(t.lag().into());
        let millis = lag.as_secs_f64() * 1_000.0;
        assert!((8.9..=9.0).contains(&millis), "{lag:?}");
    }

    #[test]
    fn a_slow_answer_is_no_long_way() {
        let mut t = Trip::default();
        for (sent, back) in [(0, 20), (20, 5_000)] {
            t.add(Instant::from_millis(back), Instant::from_millis(sent));
        }
        assert_eq!(t.lag(), 10_000_000);
    }
}
