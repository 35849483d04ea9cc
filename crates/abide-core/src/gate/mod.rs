//! A gate: all state of one limit.
//!
//! Hold, pace, ladder, in-flight count and waiting queue of one key live together, and one
//! question is asked of them: may a request of this cost pass now, and if not, what is it waiting
//! for. Everything about several gates at once (all or none, moving on to the next blocking
//! gate) is the provider's business.

mod episode;
mod key;
mod lately;
mod left;
mod steer;

use std::collections::BTreeSet;
use std::time::Duration;

pub(crate) use episode::Episode;
pub use key::{GateId, GateKey, GateSet, GateSpec, Hashed, HashedMap, KeyHasher, MAX_GATES};
pub use lately::Lately;
pub(crate) use left::Said;
pub(crate) use steer::Steer;

use crate::breaker::{Admits, Breaker, ProbeLease};
use crate::hold::Hold;
use crate::inflight::InFlight;
use crate::lease::Lease;
use crate::pace::{CATCH_UP, Pace};
use crate::policy::GatePolicy;
use crate::queue::{Queue, Rank};
use crate::reserve::Reserve;
use crate::time::Instant;
use crate::verdict::{GateClass, Health, Scope};

/// What a request waits for at a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Block {
    /// Nothing: it may pass.
    None,
    /// An instant.
    Until(Instant),
    /// Somebody coming back from the wire.
    Return,
    /// The verdict of a probe, at the latest this instant.
    Probe(Instant),
    /// Permits from the shared store.
    Lease,
}

/// What became of a gate's health.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Noted {
    /// Nothing new.
    Nothing,
    /// One more failure.
    Failed,
    /// The first success after failures.
    Healed,
}

/// The gate that a slot turned out to be, if it did: half the size of an `Option`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Alias(u32);

impl Alias {
    pub(crate) const NONE: Self = Self(u32::MAX);

    pub(crate) const fn to(gate: u32) -> Self {
        Self(gate)
    }

    #[inline]
    pub(crate) const fn get(self) -> Option<u32> {
        if self.0 == u32::MAX {
            None
        } else {
            Some(self.0)
        }
    }

    #[inline]
    pub(crate) const fn is_none(self) -> bool {
        self.0 == u32::MAX
    }
}

/// All state of one limit.
///
/// What every plain request touches comes first and fills four lines of memory: with many
/// accounts, fetching those is what a decision costs.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Gate {
    pub(crate) generation: u32,
    /// Passes and waiters that name this slot.
    pub(crate) users: u32,
    /// The gate this one turned out to be.
    pub(crate) alias: Alias,
    pub(crate) inflight: InFlight,
    pub(crate) scope: Scope,
    pub(crate) class: GateClass,
    pub(crate) provisional: bool,
    /// Whether its policy has a plan that the short way does not know.
    pub(crate) planned: bool,
    pub(crate) hold: Option<Box<Hold>>,
    pub(crate) episode: Option<Box<Episode>>,
    pub(crate) breaker: Option<Box<Breaker>>,
    pub(crate) queue: Queue,
    pub(crate) pace: Pace,
    pub(crate) lease: Option<Box<Lease>>,
    /// When this gate was last freed by something other than the passing of time, or let
    /// somebody pass: the next slot was not due before.
    pub(crate) free_at: Instant,
    /// What came back well lately, for the learner that a refusal brings in.
    pub(crate) lately: Lately,
    /// What was learned from answers.
    pub(crate) steer: Option<Box<Steer>>,
    /// Failures since the last success; 0 while healthy.
    pub(crate) failures: u32,
    /// When an answer last proved the provider well.
    pub(crate) last_success: Option<Instant>,
    /// The instant this gate is registered to be looked at; `FAR` when it is not.
    pub(crate) due: Instant,
    pub(crate) key: GateKey,
    /// How many slots turned out to be this one.
    pub(crate) aliased: u32,
    pub(crate) revision: u64,
    /// Within what a bucket's name means one bucket.
    pub(crate) family: u64,
    /// Every waiter whose set has this gate, by the latest end of a closing it will wait for.
    pub(crate) watch: BTreeSet<(Instant, u32)>,
}

/// What a gate is lent by a shared store, where there is one.
pub(crate) fn lease(policy: &GatePolicy) -> Option<Box<Lease>> {
    let lease = || Box::new(Lease::new(policy.lease_ahead, policy.leased));
    (policy.leased || policy.probe_leased).then(lease)
}

impl Gate {
    pub(crate) fn new(spec: GateSpec, generation: u32, policy: &GatePolicy) -> Self {
        Self {
            generation,
            scope: spec.scope,
            class: spec.class,
            provisional: spec.provisional,
            planned: policy.plans(),
            key: spec.key,
            family: spec.family,
            users: 0,
            alias: Alias::NONE,
            aliased: 0,
            revision: 0,
            hold: None,
            episode: None,
            pace: Pace::new(&policy.windows),
            inflight: InFlight::new(policy.concurrency, policy.gentle),
            queue: Queue::default(),
            watch: BTreeSet::new(),
            steer: None,
            failures: 0,
            last_success: None,
            lease: lease(policy),
            breaker: None,
            lately: Lately::default(),
            free_at: Instant::ORIGIN,
            due: Instant::FAR,
        }
    }

    /// Until when the gate is closed by a word or a failure (not by its plan): what patience is
    /// compared with.
    #[inline]
    pub(crate) fn closed_until(&self, now: Instant) -> Option<Instant> {
        let held = self
            .hold
            .as_ref()
            .filter(|h| h.is_active(now))
            .map(|h| h.until);
        held.max(self.breaker.as_ref().and_then(|b| b.open_until(now)))
    }

    /// What a request of `cost` waits for, were it first in line, that leaves `kept` units to
    /// others; one that is not `paced` waits for nothing that is our plan.
    #[inline]
    pub(crate) fn block(
        &self,
        now: Instant,
        (cost, kept): (u32, u32),
        paced: bool,
        policy: &GatePolicy,
    ) -> Block {
        if let Some(h) = &self.hold
            && h.is_active(now)
        {
            return Block::Until(h.until);
        }
        if let Some(b) = &self.breaker
            && let Admits::NotBefore(t) = b.admits(now)
        {
            return match b.open_until(now) {
                Some(_) => Block::Until(t),
                None => Block::Probe(t),
            };
        }
        if let Some(e) = &self.episode
            && let Some(t) = e.blocks(now)
        {
            return Block::Probe(t);
        }
        let kept_back = self.planned && paced && self.places_are_kept(kept, policy);
        if !self.has_room(now, policy)
            || (self.provisional && self.inflight.count() > 0)
            || kept_back
        {
            return Block::Return;
        }
        if self.episode.is_some()
            && let Some(l) = &self.lease
            && !l.may_probe(now)
        {
            return Block::Lease;
        }
        if !paced {
            return Block::None;
        }
        if let Some(l) = &self.lease
            && !l.covers(now, cost)
        {
            return Block::Lease;
        }
        if self.planned
            && let Some(until) = self.keeps_back(now, (cost, kept), policy)
        {
            return Block::Until(until);
        }
        let at = self.earliest((cost, kept), policy);
        if at > now {
            Block::Until(at)
        } else {
            Block::None
        }
    }

    /// The earliest instant at which its windows have room for `cost`, and for what is left to
    /// others.
    #[inline]
    fn earliest(&self, (cost, kept): (u32, u32), policy: &GatePolicy) -> Instant {
        if self.planned && policy.reserve != Reserve::Unit {
            // What costs nothing leaves nothing.
            return match kept > 0 && cost > 0 {
                true => self.pace.earliest_beside(cost, policy.reserve),
                false => self.pace.earliest(cost),
            };
        }
        self.pace.earliest_leaving(cost, kept)
    }

    /// Whether a request of `cost` may pass and there is nothing here to be minded but the pace.
    #[inline]
    pub(crate) fn lets_pass(&self, now: Instant, (cost, kept): (u32, u32)) -> bool {
        self.alias.is_none()
            && self.inflight.has_room()
            // One look for both: they lie side by side.
            && !(self.provisional | self.planned)
            && self.hold.as_ref().is_none_or(|h| !h.is_active(now))
            && self.episode.is_none()
            && self.breaker.as_ref().is_none_or(|b| !b.is_open())
            && self.lease.is_none()
            && self.queue.is_empty()
            && cost <= self.pace.size()
            && self.pace.earliest_leaving(cost, kept) <= now
    }

    /// When the slot that is free at `now` for somebody who stands here `since` was due: a wake
    /// may be late, and then the pace catches up, but nobody is owed a slot that a hold, the
    /// wire or an empty lease kept shut.
    #[inline]
    pub(crate) fn slot(
        &self,
        now: Instant,
        price: (u32, u32),
        since: Instant,
        policy: &GatePolicy,
    ) -> Instant {
        let held = self.hold.as_ref().map_or(Instant::ORIGIN, |h| h.until);
        let due = self.earliest(price, policy).max(since).max(self.free_at);
        due.max(held).max(now.before(CATCH_UP)).min(now)
    }

    /// Takes a success back at a gate that nothing has happened to; `false` leaves it to the
    /// longer way, of which this is what remains then.
    #[inline]
    pub(crate) fn came_back_well(
        &mut self,
        now: Instant,
        sent: Instant,
        health: Health,
        together: u32,
    ) -> bool {
        let untroubled = self.alias.is_none()
            && !self.provisional
            && self.episode.is_none()
            && self.steer.is_none()
            && self.failures == 0
            && self.queue.is_empty()
            && self.breaker.as_ref().is_none_or(|b| !b.is_open());
        if !untroubled || health == Health::Failure {
            return false;
        }
        self.users = self.users.saturating_sub(1);
        self.leave(now);
        self.inflight.came_back(now, together, &self.lately);
        self.lately.add(sent);
        if health == Health::Success {
            self.last_success = Some(now);
        }
        if let Some(b) = &mut self.breaker {
            // A closed breaker does not open on a success.
            b.record(now, health, None);
        }
        true
    }

    /// Takes note of what became of a request of this order, as far as the provider's health
    /// goes. Failures that a hold found on the wire are one, and a success among them heals
    /// nothing: it was sent before.
    pub(crate) fn note_health(&mut self, now: Instant, health: Health, order: u64) -> Noted {
        if self.class == GateClass::HOST {
            // Its breaker is all there is to it, and that is of this process alone.
            return Noted::Nothing;
        }
        let episode = self.episode.as_deref_mut();
        match health {
            Health::Failure => {
                if episode.is_some_and(|ep| !ep.counts(order)) {
                    return Noted::Nothing;
                }
                self.failures = self.failures.saturating_add(1);
                Noted::Failed
            }
            Health::Success if episode.is_some_and(|ep| order <= ep.since) => Noted::Nothing,
            Health::Success => {
                self.last_success = Some(now);
                match std::mem::take(&mut self.failures) {
                    0 => Noted::Nothing,
                    _ => Noted::Healed,
                }
            }
            Health::Neutral => Noted::Nothing,
        }
    }

    /// What the breaker of this gate hears. With several hosts a failure is that of the host that
    /// was asked, and opens no breaker of the whole provider; but who was let out as the probe of
    /// that one speaks for it.
    pub(crate) fn heard(&self, health: Health, lease: Option<ProbeLease>, hosted: bool) -> Health {
        let elsewhere = hosted && self.class != GateClass::HOST && lease.is_none();
        match health {
            Health::Failure if elsewhere => Health::Neutral,
            health => health,
        }
    }

    /// Whether what was noted is worth remembering: where failures hold, each of them.
    pub(crate) const fn is_worth_keeping(&self, noted: Noted) -> bool {
        match noted {
            Noted::Nothing => false,
            Noted::Healed => true,
            Noted::Failed => self.failures == 1 || self.episode.is_some(),
        }
    }

    /// Frees a place on the wire.
    pub(crate) fn leave(&mut self, now: Instant) {
        if !self.inflight.has_room() || self.provisional {
            self.free_at = now;
        }
        self.inflight.leave();
    }

    /// Whether a request of this rank has to stand behind somebody here.
    #[inline]
    pub(crate) fn is_behind(&self, rank: Rank) -> bool {
        self.queue.is_behind(rank)
    }

    /// Whether forgetting this gate would change a decision.
    pub(crate) fn is_idle(&self, now: Instant) -> bool {
        self.users == 0
            && self.hold.as_ref().is_none_or(|h| !h.is_active(now))
            && self.episode.is_none()
            && self.queue.is_empty()
            && self.pace.is_idle(now)
            && self.breaker.as_ref().is_none_or(|b| !b.is_open())
    }

    /// Whether nobody uses this gate, nothing closes it and its limits have all their room.
    pub(crate) fn is_spent(&self, now: Instant) -> bool {
        // The overflow gate counts as used by itself.
        self.inflight.count() == 0
            && self.queue.is_empty()
            && self.closed_until(now).is_none()
            && self.pace.is_spent(now)
    }

    /// The adaptive interval in force, for the store and for people.
    pub(crate) fn learned(&self) -> Option<Duration> {
        self.pace.adaptive_interval()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_plain_request_touches_fills_four_lines_of_memory() {
        assert!(std::mem::offset_of!(Gate, key) <= 256);
        assert_eq!(size_of::<Gate>(), 320);
    }
}
