//! Waiters who leave, and what they are told.
//!
//! A waiter is listed by the end of its patience and, in every gate of its set, by the latest end
//! of a closing it will wait for: so a hold that grows turns away at once whoever cannot outlast
//! it, without looking at the others.

use super::entry::{Entry, State};
use super::{Action, Provider};
use crate::gate::Block;
use crate::queue::most_before;
use crate::refusal::{DecidedBy, Refusal, RefusalKind};
use crate::time::Instant;

impl Provider {
    /// Enters a waiter in the indices by which it can be turned away.
    pub(super) fn enlist(&mut self, slot: u32) {
        self.waiting += 1;
        let e = &self.entries[slot];
        self.ranks.enlist(e.urgency, e.fair);
        let (set, len, limit, expires) = (e.set, e.len(), e.hold_limit, e.expires);
        for &g in &set[..len] {
            let g = self.claim(g) as usize;
            if limit != Instant::FAR {
                self.gates[g].watch.insert((limit, slot));
            }
        }
        if expires != Instant::FAR {
            self.expiries.insert((expires, slot));
        }
    }

    pub(super) fn delist(&mut self, slot: u32) {
        self.waiting -= 1;
        let e = &self.entries[slot];
        self.ranks.delist(e.urgency, e.fair);
        let (set, len, limit, expires) = (e.set, e.len(), e.hold_limit, e.expires);
        for &g in &set[..len] {
            let c = self.canonical(g) as usize;
            self.gates[c].watch.remove(&(limit, slot));
            self.release(g);
        }
        if expires != Instant::FAR {
            self.expiries.remove(&(expires, slot));
        }
        if self.waiting == 0 {
            self.ranks.clear();
        }
    }

    /// Takes a waiter out of its line and out of the machine.
    pub(super) fn dismiss(&mut self, slot: u32) {
        let e = &self.entries[slot];
        let (rank, at) = (e.rank, e.not_before);
        match e.state {
            State::Waiting { gate, .. } => {
                let g = self.canonical(gate);
                self.gates[g as usize].queue.remove(rank);
                self.mark(g);
            }
            State::Parked => {
                self.parked.remove(&(at, rank.arrival, slot));
            }
            State::Granted | State::Started => return,
        }
        self.delist(slot);
        self.entries.remove(slot);
    }

    pub(super) fn refuse(&mut self, slot: u32, refusal: Refusal) {
        let ticket = self.entries.ticket(slot);
        self.dismiss(slot);
        self.actions
            .push_back(Action::Refuse(ticket, Box::new(refusal)));
    }

    /// Turns away everyone for whom gate `g` is now closed too long.
    pub(super) fn turn_away(&mut self, now: Instant, g: u32) {
        let Some(until) = self.closed(now, g) else {
            return;
        };
        while let Some(&(limit, slot)) = self.gates[g as usize].watch.first()
            && limit < until
        {
            let refusal = self.turned_away(now, g);
            self.refuse(slot, refusal);
        }
    }

    /// Turns away everyone who waits, telling when they could have been served: whoever runs this
    /// machine ends. What is on the wire goes on.
    pub fn turn_all_away(&mut self, now: Instant) {
        for slot in self.entries.waiting() {
            let mut refusal = self.expired(now, slot);
            (refusal.kind, refusal.decided_by) = (RefusalKind::Closed, DecidedBy::Policy);
            self.refuse(slot, refusal);
        }
    }

    pub(super) fn expired(&self, now: Instant, slot: u32) -> Refusal {
        match self.entries[slot].state {
            State::Waiting { gate, .. } => {
                let g = self.canonical(gate);
                let at = self.expected(now, g, &self.entries[slot], true);
                self.too_long(now, g, at)
            }
            _ => {
                let mut r = Refusal::new(RefusalKind::QueueTooLong, DecidedBy::Policy);
                r.retry_at = Some(self.entries[slot].not_before);
                r
            }
        }
    }

    /// When a waiter may expect to start at gate `g`, as far as anyone can tell.
    /// `stands` tells whether it is counted in the line there.
    pub(super) fn expected(
        &self,
        now: Instant,
        g: u32,
        e: &Entry,
        stands: bool,
    ) -> Option<Instant> {
        let gate = &self.gates[g as usize];
        let base = match self.block(now, e, g) {
            Block::Until(t) => t,
            Block::None => now,
            Block::Probe(_) | Block::Return | Block::Lease => return None,
        };
        if !e.paced || !e.rank.in_line {
            return Some(base);
        }
        let (above, same) = gate.queue.cost_ahead(e.urgency);
        let cost = u64::from(self.cost_of(e, g));
        let own = if stands { cost } else { 0 };
        let keys = self.ranks.keys(e.urgency);
        let fair = keys.saturating_mul(self.ranks.backlog(e.rank));
        let same = same.saturating_sub(own).min(fair);
        // However much more urgent work stands here, turns come.
        let above = above.min(most_before(same.saturating_add(cost)));
        Some(base.after(gate.pace.time_for(above.saturating_add(same))))
    }

    /// The refusal of somebody who is not willing to wait for a closing of gate `g`.
    pub(super) fn turned_away(&self, now: Instant, g: u32) -> Refusal {
        let gate = &self.gates[g as usize];
        let held = gate.hold.as_ref().filter(|h| h.is_active(now));
        let open = gate.closed_until(now);
        let closed = self.closed(now, g);
        if closed > open
            && let Some(r) = self.offline_refusal(now, g)
        {
            return r;
        }
        let mut r = match held {
            Some(h) if open.is_none_or(|t| t <= h.until) => {
                let mut r = Refusal::new(RefusalKind::Held, DecidedBy::Provider);
                r.cause = Some(h.cause);
                r.ask = h.ask;
                r.retry_at = Some(h.retry_at());
                r
            }
            _ => {
                let mut r = Refusal::new(RefusalKind::BreakerOpen, DecidedBy::Breaker);
                r.cause = Some(crate::verdict::Verdict::Unavailable);
                r.retry_at = open;
                r
            }
        };
        r.scope = gate.scope;
        r
    }

    /// The refusal of somebody whom the line at gate `g` keeps too long; `at` is when its turn
    /// would have come, if anyone can tell.
    pub(super) fn too_long(&self, now: Instant, g: u32, at: Option<Instant>) -> Refusal {
        if let Some(r) = self.offline_refusal(now, g) {
            return r;
        }
        let mut r = Refusal::new(RefusalKind::QueueTooLong, DecidedBy::Queue);
        r.scope = self.gates[g as usize].scope;
        r.retry_at = at;
        r
    }
}
