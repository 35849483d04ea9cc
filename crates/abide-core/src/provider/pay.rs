//! What a request pays when it is let through, and gets back when it is not sent.
//!
//! It pays at all the gates of its set at once, and once only where two names of its set turned
//! out to be one gate. Claims keep a gate from being forgotten while anyone names it.

use super::Provider;
use super::entry::{Rare, State};
use super::settle::lease;
use crate::gate::MAX_GATES;
use crate::time::Instant;

impl Provider {
    /// Pays for a request at all its gates. `stood` is where it waited and since when.
    #[inline]
    pub(super) fn charge(&mut self, now: Instant, slot: u32, stood: Option<(u32, Instant)>) {
        let e = &self.entries[slot];
        let (set, len, paced) = (e.set, e.len(), e.paced);
        let kept = e.urgency.leaves();
        let mut together = [0; MAX_GATES];
        let mut rare: Option<Box<Rare>> = None;
        let lag = self.trip.lag();
        let (mut seen, mut paid, mut generation) = ([0; MAX_GATES], 0, 0);
        for (i, &g) in set[..len].iter().enumerate() {
            let g = self.claim(g);
            seen[i] = g;
            if seen[..i].contains(&g) {
                continue;
            }
            paid |= 1 << i;
            let cost = self.cost_of(&self.entries[slot], g);
            let gate = &mut self.gates[g as usize];
            together[i] = gate.inflight.enter(now);
            let other = std::mem::replace(&mut gate.pace.lag, lag) != lag;
            let mut store = false;
            if paced {
                let due = match stood {
                    Some((at, since)) if at == g => gate.slot(now, (cost, kept), since),
                    _ => now,
                };
                gate.free_at = due;
                store = gate.pace.charge(now, due, cost);
                if let Some(l) = &mut gate.lease {
                    rare.get_or_insert_default().leases[i] = l.spend(cost);
                }
            }
            if let Some(b) = &mut gate.breaker
                && b.is_open()
            {
                rare.get_or_insert_default().breakers[i] = b.lease(now).map_or(0, |l| l.0);
            }
            if let Some(ep) = &mut gate.episode {
                // One number for all gates: two that turn out to be one have one probe.
                if generation == 0 {
                    self.ids += 1;
                    generation = (self.ids as u32).max(1);
                }
                let lease_time = self.policy.of(gate.scope, gate.class).probe_lease;
                ep.let_out(now, lease_time, generation);
                rare.get_or_insert_default().probes[i] = generation;
            }
            if other {
                // Who waits here was told when to wake.
                self.mark(g);
            }
            if store {
                self.persist(g);
            }
            if rare.as_ref().is_some_and(|r| r.leases[i] != 0) {
                // Whoever stands here may have to ask for more by now.
                self.mark(g);
            }
        }
        if self.offline.is_some() {
            self.let_out(now, slot);
        }
        let e = &mut self.entries[slot];
        e.state = State::Granted;
        e.charged = now;
        e.together = together;
        e.rare = rare;
        e.paid = paid;
    }

    /// Gives back what an unsent request paid, at all its gates.
    pub(super) fn refund(&mut self, now: Instant, slot: u32) {
        let e = &self.entries[slot];
        let (set, len, at, paid) = (e.set, e.len(), e.charged, e.paid);
        let (rare, paced) = (e.rare(), e.paced);
        for (i, &g) in set[..len].iter().enumerate() {
            self.leave_gate(now, g, paid & (1 << i) != 0);
            if paid & (1 << i) == 0 {
                continue;
            }
            let c = self.canonical(g);
            let cost = self.paid_at(&self.entries[slot], i);
            let gate = &mut self.gates[c as usize];
            if paced {
                gate.pace.refund(at, cost);
                if let Some(l) = &mut gate.lease {
                    l.give_back(rare.leases[i], cost);
                }
            }
            if let (Some(b), Some(l)) = (&mut gate.breaker, lease(rare.breakers[i])) {
                b.give_back(l);
                gate.free_at = now;
            }
            if let Some(ep) = &mut gate.episode {
                gate.free_at = now;
                ep.probe_lost(rare.probes[i], Instant::ORIGIN);
            }
            self.mark(c);
        }
    }

    /// Frees the place on the wire, if one was taken under this name, and the claim on the slot.
    #[inline]
    pub(super) fn leave_gate(&mut self, now: Instant, g: u32, paid: bool) {
        if paid {
            let c = self.canonical(g);
            self.gates[c as usize].leave(now);
        }
        self.release(g);
    }

    /// Claims a slot and whatever it turned out to be, so that neither is forgotten; returns the
    /// latter.
    #[inline]
    pub(super) fn claim(&mut self, mut g: u32) -> u32 {
        loop {
            let gate = &mut self.gates[g as usize];
            gate.users += 1;
            match gate.alias.get() {
                Some(next) => g = next,
                None => return g,
            }
        }
    }

    /// Drops a claim on a slot and on whatever it turned out to be.
    pub(super) fn release(&mut self, mut g: u32) {
        loop {
            let gate = &mut self.gates[g as usize];
            gate.users = gate.users.saturating_sub(1);
            match gate.alias.get() {
                Some(next) => g = next,
                None => return,
            }
        }
    }
}
