//! From the first refusal that opens a hold to the first answer to a request sent after it.
//!
//! While an episode lasts, at most one request that was sent after the hold is out: the probe.
//! Thirty-two workers waking together at the end of a hold are what a penalty box bans. A probe
//! that ends without a verdict passes to the next waiter; one that is refused climbs one rung.

use std::time::Duration;

use crate::time::Instant;

/// A probe that was let out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Probe {
    pub(crate) generation: u32,
    lapses: Instant,
}

/// The state between a refusal and the proof that it is over.
#[derive(Clone, Debug)]
pub(crate) struct Episode {
    /// The order stamp of the hold that is in force: what was sent before it proves nothing.
    pub(crate) since: u64,
    /// How many probes were refused.
    pub(crate) rung: u32,
    /// How many of its last holds in a row were opened by failures without an answer: an outage
    /// of our own network takes them back.
    pub(crate) unanswered: u32,
    /// A failure of a request that was on the wire when the hold began has been counted.
    counted: bool,
    probe: Option<Probe>,
    not_before: Instant,
}

impl Episode {
    pub(crate) const fn new(since: u64, rung: u32) -> Self {
        Self {
            since,
            rung,
            unanswered: 0,
            counted: false,
            probe: None,
            not_before: Instant::ORIGIN,
        }
    }

    /// Whether a failure of a request of this order is news: of those that were on the wire when
    /// the hold began the first one is.
    pub(crate) const fn counts(&mut self, order: u64) -> bool {
        order > self.since || !std::mem::replace(&mut self.counted, true)
    }

    /// Until when nobody may go, although the hold is over; `None` when a probe may.
    #[inline]
    pub(crate) fn blocks(&self, now: Instant) -> Option<Instant> {
        if let Some(p) = &self.probe
            && now < p.lapses
        {
            return Some(p.lapses);
        }
        (now < self.not_before).then_some(self.not_before)
    }

    /// Lets a probe out.
    pub(crate) fn let_out(&mut self, now: Instant, lease: Duration, generation: u32) {
        self.probe = Some(Probe {
            generation,
            lapses: now.after(lease),
        });
    }

    pub(crate) fn is_probe(&self, generation: u32) -> bool {
        self.probe.is_some_and(|p| p.generation == generation)
    }

    /// A probe ended without a verdict. If its first byte went out, the next one waits a gap.
    pub(crate) fn probe_lost(&mut self, generation: u32, not_before: Instant) {
        if self.is_probe(generation) {
            self.probe = None;
            self.not_before = self.not_before.max(not_before);
        }
    }

    /// A new hold is in force.
    pub(crate) const fn held_again(&mut self, since: u64, rung: u32) {
        self.since = since;
        self.rung = rung;
        self.counted = false;
        self.probe = None;
    }

    /// Another gate of the same bucket had an episode too.
    pub(crate) fn absorb(&mut self, other: Self) {
        self.since = self.since.max(other.since);
        self.rung = self.rung.max(other.rung);
        self.not_before = self.not_before.max(other.not_before);
        if self.probe.is_none() {
            self.probe = other.probe;
        }
    }
}
