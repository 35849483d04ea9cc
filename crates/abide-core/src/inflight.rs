//! How many requests a gate has on the wire, and how many it may have.
//!
//! Into the unknown a gate starts gently, whatever the worker count. A provider that bans for the
//! third request inside a hold counts the siblings on the wire, and a hidden limit refuses as
//! many requests as are out when it is met; most such limits are small, and met early. So for a
//! quarter of a second two are out and no more (at any round trip of 20 ms or more that is less
//! than any limit above a hundred a second bears), then three times as many as have come
//! back well together: no more than fourteen until a hundred were served, since few hidden limits are
//! larger, and then as many as there are places.
//!
//! The time lost by that is 0.3 s at a round trip of 20 ms, and three round trips where they are
//! long: nothing in a run of minutes.

use crate::gate::Lately;
use crate::time::Instant;

/// How many may be out at first.
const FIRST: u32 = 2;
/// How long no more than that are.
const CAREFUL: u32 = ticks(245);
/// By how much more may be out than came back well together.
const GROWTH: u32 = 3;
/// How many may be out until so many were served, or so long has passed.
const FEW: u32 = 14;
const USUAL: u32 = 100;
const MODEST: u32 = ticks(800);

/// Ticks of about a millisecond: a shift is all they cost on the path of every request.
const fn ticks(millis: u32) -> u32 {
    ((millis as u64 * 1_000_000) >> 20) as u32
}

/// The low bits of an instant in ticks: differences are right for seven weeks.
#[inline]
const fn tick(now: Instant) -> u32 {
    (now.as_nanos() >> 20) as u32
}

/// The places on the wire of one gate.
#[derive(Clone, Debug)]
pub(crate) struct InFlight {
    count: u32,
    most: u32,
    /// How many the gentle start allows by now; `u32::MAX` switches it off.
    gentle: u32,
    /// When the first went out, in ticks.
    began: u32,
}

impl InFlight {
    pub(crate) const fn new(most: u32, gentle: bool) -> Self {
        Self {
            count: 0,
            most,
            gentle: if gentle { FIRST } else { u32::MAX },
            began: 0,
        }
    }

    #[inline]
    pub(crate) const fn has_room(&self) -> bool {
        self.count < self.most && self.count < self.gentle
    }

    /// Whether there would be a place if there were `most`.
    pub(crate) const fn would_have_room(&self, most: u32) -> bool {
        self.count < most && self.count < self.gentle
    }

    /// Takes a place; returns how many are out, this one included.
    #[inline]
    pub(crate) const fn enter(&mut self, now: Instant) -> u32 {
        if self.count == 0 && self.gentle == FIRST {
            self.begin(now);
        }
        self.count += 1;
        self.count
    }

    const fn begin(&mut self, now: Instant) {
        // What began is never told by a zero.
        if self.began == 0 {
            self.began = tick(now) | 1;
        }
    }

    #[inline]
    pub(crate) const fn leave(&mut self) {
        self.count = self.count.saturating_sub(1);
    }

    /// A request that was one of `together` on the wire came back well at `now`, as others did
    /// `lately`.
    #[inline]
    pub(crate) const fn came_back(&mut self, now: Instant, together: u32, lately: &Lately) {
        if together.saturating_mul(GROWTH) > self.gentle {
            self.widen(now, together, lately.count());
        }
    }

    const fn widen(&mut self, now: Instant, together: u32, served: u32) {
        let age = tick(now).wrapping_sub(self.began);
        if age < CAREFUL {
            return;
        }
        let next = together.saturating_mul(GROWTH);
        let few = age < MODEST && served < USUAL;
        let next = if few && next > FEW { FEW } else { next };
        // The last number stands for no gentle start at all.
        let next = if next == u32::MAX { next - 1 } else { next };
        if next > self.gentle {
            self.gentle = next;
        }
    }

    /// A refusal opened an episode: half as many may be out.
    pub(crate) const fn refused(&mut self) {
        if self.gentle != u32::MAX {
            let half = self.gentle / 2;
            self.gentle = if half < FIRST { FIRST } else { half };
        }
    }

    /// Nothing could come back for a while: what came back well together before counts no more.
    pub(crate) const fn begin_anew(&mut self) {
        if self.gentle != u32::MAX {
            self.gentle = FIRST;
            self.began = 0;
        }
    }

    pub(crate) const fn count(&self) -> u32 {
        self.count
    }

    /// Counts add when gates merge; the smaller proof of harmlessness stays.
    pub(crate) fn absorb(&mut self, other: &Self) {
        self.count += other.count;
        if other.gentle < self.gentle {
            self.gentle = other.gentle;
            self.began = other.began;
        }
    }

    pub(crate) const fn change(&mut self, most: u32) {
        self.most = most;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    fn lately(served: u32) -> Lately {
        let mut lately = Lately::default();
        (0..served).for_each(|_| lately.add(at(0)));
        lately
    }

    #[test]
    fn two_at_first_then_three_times_as_many_as_came_back_well_together() {
        let mut f = InFlight::new(32, true);
        assert_eq!((f.enter(at(0)), f.enter(at(0))), (1, 2));
        assert!(!f.has_room());
        f.leave();
        f.came_back(at(20), 2, &lately(1));
        f.enter(at(20));
        assert!(!f.has_room(), "a quarter of a second is not over");
        f.leave();
        f.came_back(at(260), 2, &lately(20));
        for _ in 0..5 {
            assert!(f.has_room());
            f.enter(at(260));
        }
        assert!(!f.has_room(), "six are out: two came back well together");
    }

    #[test]
    fn fourteen_until_a_hundred_were_served() {
        let mut f = InFlight::new(64, true);
        f.enter(at(0));
        f.came_back(at(300), 5, &lately(60));
        let room = |f: &mut InFlight| {
            let before = f.count();
            while f.has_room() {
                f.enter(at(400));
            }
            f.count() - before
        };
        assert_eq!(room(&mut f), 13);
        f.came_back(at(400), 14, &lately(99));
        assert_eq!(room(&mut f), 0);
        f.came_back(at(400), 14, &lately(100));
        assert_eq!(room(&mut f), 28);
    }
}
