//! Permits a shared store lent to this process.
//!
//! Where several processes share one limit, a gate sends only what it was lent. A lease names
//! the window it may be spent in and lapses with it: permits of a past window would be sent
//! against the next one's budget. The machine never waits for the store: it spends what it has
//! and asks for more in the meantime.

use crate::time::Instant;

/// Names one request for permits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LeaseId(pub u64);

/// What a gate was lent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lease {
    id: Option<LeaseId>,
    /// Which lease is at hand: what was paid from an older one is not given back to it.
    generation: u32,
    permits: u32,
    until: Instant,
    asked: Option<LeaseId>,
}

impl Lease {
    #[inline]
    pub(crate) fn covers(&self, now: Instant, cost: u32) -> bool {
        self.permits >= cost && now < self.until
    }

    /// When what is at hand lapses; `None` when nothing is. What costs nothing is covered by a
    /// lease that is spent, too.
    pub(crate) fn lapses(&self, now: Instant) -> Option<Instant> {
        (now < self.until).then_some(self.until)
    }

    /// Spends permits; returns the generation of the lease they are from.
    pub(crate) const fn spend(&mut self, cost: u32) -> u32 {
        self.permits = self.permits.saturating_sub(cost);
        self.generation
    }

    /// Takes back permits that were not used, if their lease is still the one at hand.
    pub(crate) const fn give_back(&mut self, generation: u32, cost: u32) {
        if self.generation == generation {
            self.permits = self.permits.saturating_add(cost);
        }
    }

    /// Notes that permits are being asked for; `false` if that is already under way.
    pub(crate) const fn ask(&mut self, id: LeaseId) -> bool {
        if self.asked.is_some() {
            return false;
        }
        self.asked = Some(id);
        true
    }

    pub(crate) fn granted(&mut self, id: LeaseId, permits: u32, until: Instant) {
        if self.asked == Some(id) {
            self.asked = None;
        }
        self.id = Some(id);
        self.generation = self.generation.wrapping_add(1);
        self.permits = permits;
        self.until = until;
    }

    /// The store refused the request, or took back what it lent.
    pub(crate) fn lost(&mut self, id: LeaseId) {
        if self.asked == Some(id) {
            self.asked = None;
        }
        if self.id == Some(id) {
            self.permits = 0;
            self.generation = self.generation.wrapping_add(1);
        }
    }
}
