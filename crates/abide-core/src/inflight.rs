//! How many requests a gate has on the wire, and how many it may have.
//!
//! Into the unknown a gate starts gently, whatever the worker count: it lets out at most two
//! unanswered requests more than have come back well together before. A provider that bans for
//! the third request inside a hold counts the siblings on the wire, so thirty-two workers must
//! not all be out when the first refusal comes.

/// How many unanswered requests more than have come back well together may be out.
const STEP: u32 = 2;

/// The places on the wire of one gate.
#[derive(Clone, Debug)]
pub(crate) struct InFlight {
    count: u32,
    most: u32,
    /// The most that came back well together; `u32::MAX` switches the gentle start off.
    well: u32,
}

impl InFlight {
    pub(crate) const fn new(most: u32, gentle: bool) -> Self {
        Self {
            count: 0,
            most,
            well: if gentle { 0 } else { u32::MAX },
        }
    }

    #[inline]
    pub(crate) const fn has_room(&self) -> bool {
        self.count < self.most && self.count < self.well.saturating_add(STEP)
    }

    /// Takes a place; returns how many are out, this one included.
    #[inline]
    pub(crate) const fn enter(&mut self) -> u32 {
        self.count += 1;
        self.count
    }

    #[inline]
    pub(crate) const fn leave(&mut self) {
        self.count = self.count.saturating_sub(1);
    }

    /// A request that was one of `together` on the wire came back well.
    #[inline]
    pub(crate) const fn came_back(&mut self, together: u32) {
        if together > self.well {
            self.well = together;
        }
    }

    /// A refusal opened an episode: what came back well together counts half.
    pub(crate) const fn refused(&mut self) {
        if self.well != u32::MAX {
            self.well /= 2;
        }
    }

    /// Nothing could come back for a while: what came back well together before counts no more.
    pub(crate) const fn begin_anew(&mut self) {
        if self.well != u32::MAX {
            self.well = 0;
        }
    }

    pub(crate) const fn count(&self) -> u32 {
        self.count
    }

    /// Counts add when gates merge; the smaller proof of harmlessness stays.
    pub(crate) fn absorb(&mut self, other: &Self) {
        self.count += other.count;
        self.well = self.well.min(other.well);
    }

    pub(crate) const fn change(&mut self, most: u32) {
        self.most = most;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_most_two_more_than_came_back_well_together() {
        let mut f = InFlight::new(32, true);
        assert_eq!((f.enter(), f.enter()), (1, 2));
        assert!(!f.has_room());
        f.leave();
        f.came_back(2);
        f.enter();
        f.enter();
        f.enter();
        assert!(
            !f.has_room(),
            "four are out: two came back well together, and two more"
        );
    }
}
