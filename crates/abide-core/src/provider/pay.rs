//! What a request pays when it is let through, and gets back when it is not sent.
//!
//! It pays at all the gates of its set at once, and once only where two names of its set turned
//! out to be one gate. Claims keep a gate from being forgotten while anyone names it.

use super::Provider;
use super::entry::{Rare, State};
use super::settle::lease;
use crate::gate::MAX_GATES;
use crate::queue::Urgency;
use crate::reserve::Reserve;
use crate::time::Instant;

impl Provider {
    /// Pays for a request at all its gates. `stood` is where it waited and since when.
    #[inline]
    pub(super) fn charge(&mut self, now: Instant, slot: u32, stood: Option<(u32, Instant)>) {
        let e = &self.entries[slot];
        let (set, len, paced) = (e.set, e.len(), e.paced);
        let (kept, urgency) = (e.leaves(), e.urgency);
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
                let policy = self.policy.of(gate.scope, gate.class);
                let due = match stood {
                    Some((at, since)) if at == g => gate.slot(now, (cost, kept), since, policy),
                    _ => now,
                };
                if gate.planned {
                    gate.spends(now, (cost, kept), policy);
                }
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
                if let Some(l) = &mut gate.lease {
                    l.probed();
                }
                rare.get_or_insert_default().probes[i] = generation;
            }
            let turned = paced && !gate.queue.is_empty() && {
                let stood = stood.is_some_and(|(at, _)| at == g);
                self.pass_over(g, urgency, cost, stood)
            };
            if other || turned {
                // Who waits here was told when to wake.
                self.mark(g);
            }
            if store {
                self.persist(g);
            }
            if rare.as_ref().is_some_and(|r| r.leases[i] != 0) {
                // Whoever stands here may have to ask for more by now.
                self.mark(g);
                let lease = self.gates[g as usize].lease.as_ref();
                if lease.is_some_and(|l| l.runs_low(now)) {
                    self.top_up(now, g);
                }
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

    /// A request was let through past those who stand at `g`; whether somebody's turn has come by
    /// that. Who goes by what was kept for it takes nothing of theirs, unless it stood there too.
    #[inline(never)]
    fn pass_over(&mut self, g: u32, urgency: Urgency, cost: u32, stood: bool) -> bool {
        let gate = &mut self.gates[g as usize];
        let reserve = self.policy.of(gate.scope, gate.class).reserve;
        let past = stood || reserve == Reserve::Unit;
        gate.queue.let_through(urgency, cost, past);
        let mut turned = false;
        while let Some((slot, rank)) = self.gates[g as usize].queue.take_turn(urgency) {
            self.entries[slot].rank = rank;
            turned = true;
        }
        turned
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
