//! When the last requests were sent that came back well: what a learner that a refusal brings in
//! has to know of the time before. One ring a provider, since the gates that are refused are few.

use crate::time::Instant;

/// How many are remembered, 2 KiB: more than any burst granted to a client nobody has refused yet
/// takes to find its limit.
const REMEMBERED: usize = 256;

#[derive(Clone, Debug, Default)]
pub(super) struct Recent {
    ring: Option<Box<[u64; REMEMBERED]>>,
    next: u8,
    /// Whether the ring has been gone round once.
    full: bool,
}

impl Recent {
    #[inline]
    pub(super) fn add(&mut self, sent: Instant) {
        let ring = self.ring.get_or_insert_with(|| Box::new([0; REMEMBERED]));
        ring[usize::from(self.next)] = sent.as_nanos();
        self.next = self.next.wrapping_add(1);
        self.full |= self.next == 0;
    }

    /// Up to `count` of them sent since `since`, the oldest first.
    pub(super) fn since(&self, since: Instant, count: u32) -> Vec<Instant> {
        let Some(ring) = &self.ring else {
            return Vec::new();
        };
        let len = if self.full {
            REMEMBERED
        } else {
            usize::from(self.next)
        };
        let last = (1..=len).map(|back| {
            let i = (usize::from(self.next) + REMEMBERED - back) % REMEMBERED;
            Instant::from_nanos(ring[i])
        });
        let kept = last.filter(|t| *t >= since).take(count as usize);
        let mut all: Vec<Instant> = kept.collect();
        all.sort_unstable();
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_ones_in_order() {
        let mut r = Recent::default();
        assert_eq!(r.since(Instant::ORIGIN, 10), []);
        for ms in 0..1_000 {
            r.add(Instant::from_millis(ms));
        }
        let ms = |all: Vec<Instant>| all.iter().map(|t| t.as_nanos() / 1_000_000).collect::<Vec<_>>();
        assert_eq!(ms(r.since(Instant::from_millis(998), 10)), [998, 999]);
        assert_eq!(ms(r.since(Instant::ORIGIN, 3)), [997, 998, 999]);
        assert_eq!(r.since(Instant::ORIGIN, 10_000).len(), REMEMBERED);
    }
}
