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
    /// The store has nothing before then.
    not_before: Instant,
    /// Until when this process may let the probe out.
    probes: Instant,
    /// How much is asked for ahead of who waits, and the most.
    ahead: u32,
    most: u32,
    /// What the lease at hand was at first.
    lent: u32,
    /// Nothing is counted at the gate: only its probe is the store's.
    uncounted: bool,
}

/// The least that is worth being asked for ahead: below that a request can as well ask itself.
const LEAST: u32 = 4;

impl Lease {
    /// Of a gate of which so much may be asked for ahead, and that has a limit at all.
    pub(crate) fn new(most: u32, counted: bool) -> Self {
        Self {
            most: if most < LEAST { 0 } else { most },
            uncounted: !counted,
            ..Self::default()
        }
    }

    /// The same, as configured now; what is at hand stays.
    pub(crate) fn change(&mut self, most: u32, counted: bool) {
        let new = Self::new(most, counted);
        (self.most, self.uncounted) = (new.most, new.uncounted);
        self.ahead = self.ahead.min(self.most);
    }

    #[inline]
    pub(crate) fn covers(&self, now: Instant, cost: u32) -> bool {
        self.uncounted || (self.permits >= cost && now < self.until)
    }

    /// Whether the store leaves the probe to this process.
    #[inline]
    pub(crate) fn may_probe(&self, now: Instant) -> bool {
        now < self.probes
    }

    /// The probe goes out.
    pub(crate) const fn probed(&mut self) {
        self.probes = Instant::ORIGIN;
    }

    /// When what is at hand lapses; `None` when nothing is. What costs nothing is covered by a
    /// lease that is spent, too.
    pub(crate) fn lapses(&self, now: Instant) -> Option<Instant> {
        let lent = (now < self.until && !self.uncounted).then_some(self.until);
        let probe = (now < self.probes).then_some(self.probes);
        lent.into_iter().chain(probe).min()
    }

    /// Before when there is no point in asking.
    pub(crate) const fn not_before(&self) -> Instant {
        self.not_before
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

    /// How much to ask for ahead of who waits: twice as much each time that a lease was used up
    /// while it lasted, half as much when most of it lapsed. So it follows what is sent, and who
    /// sends little asks each time.
    pub(crate) fn asks_ahead(&mut self, now: Instant) -> u32 {
        let lasts = now < self.until;
        if self.lent > 0 && lasts && self.permits <= self.lent / 2 {
            self.ahead = (self.ahead * 2).max(LEAST).min(self.most);
        } else if self.lent > 0 && !lasts && self.permits > self.lent / 2 {
            self.ahead /= 2;
            if self.ahead < LEAST {
                self.ahead = 0;
            }
        }
        self.ahead
    }

    /// Whether it is time to ask for more, so that nobody waits for it: half of what was lent ahead
    /// is spent.
    #[inline]
    pub(crate) fn runs_low(&self, now: Instant) -> bool {
        self.ahead > 0
            && self.asked.is_none()
            && self.permits <= self.lent / 2
            && now < self.until
            && now >= self.not_before
    }

    /// Whether the store was asked, and has not answered.
    pub(crate) const fn asks(&self) -> bool {
        self.asked.is_some()
    }

    /// Notes that permits are being asked for; `false` if that is already under way.
    pub(crate) const fn ask(&mut self, id: LeaseId) -> bool {
        if self.asked.is_some() {
            return false;
        }
        self.asked = Some(id);
        true
    }

    /// What was lent. Where it was asked for ahead, what is left of the lease before goes with it: it
    /// was to lapse a moment later anyway, and not beyond the same window.
    pub(crate) fn granted(
        &mut self,
        now: Instant,
        id: LeaseId,
        permits: u32,
        until: Instant,
        probes: Instant,
    ) {
        let left = match self.ahead > 0 && now < self.until {
            true => self.permits,
            false => 0,
        };
        if self.asked == Some(id) {
            self.asked = None;
        }
        self.id = Some(id);
        self.generation = self.generation.wrapping_add(1).max(1);
        self.permits = permits.saturating_add(left);
        self.lent = self.permits;
        self.until = until;
        self.probes = self.probes.max(probes);
        // The first use tells whether more is of use: one that is spent at once is.
        if self.ahead == 0 && self.most > 0 {
            self.lent = self.lent.max(1);
        }
    }

    /// The store refused the request until `not_before`, or took back what it lent.
    pub(crate) fn lost(&mut self, id: LeaseId, not_before: Instant) {
        if self.asked == Some(id) {
            self.asked = None;
            self.not_before = not_before;
        }
        if self.id == Some(id) {
            self.permits = 0;
            self.generation = self.generation.wrapping_add(1).max(1);
        }
    }

    /// What is left of a lease that lapsed, and whether its probe was not used: to be given back.
    /// Nothing where another is at hand.
    pub(crate) fn unspent(&mut self, id: LeaseId) -> (u32, bool) {
        if self.id != Some(id) {
            return (0, false);
        }
        self.id = None;
        self.generation = self.generation.wrapping_add(1).max(1);
        let probes = self.probes != Instant::ORIGIN;
        self.probes = Instant::ORIGIN;
        (std::mem::take(&mut self.permits), probes)
    }
}
