//! Waiters: standing in line, moving on, being let through.

use super::entry::State;
use super::{Action, Provider};
use crate::gate::Block;
use crate::lease::LeaseId;
use crate::time::Instant;

impl Provider {
    /// Takes note of everything whose time has come, and serves it.
    #[inline]
    pub(super) fn catch_up(&mut self, now: Instant) {
        // Whatever can be due is due to somebody who waits.
        if self.waiting > 0 && self.next_wake().is_some_and(|at| at <= now) {
            self.do_due(now);
        }
    }

    /// First everybody whose time has come gets a place, then the best rank moves first: who was
    /// looked at first must not matter.
    pub(super) fn do_due(&mut self, now: Instant) {
        while let Some(&(at, g)) = self.due.first()
            && at <= now
        {
            self.due.remove(&(at, g));
            self.gates[g as usize].due = Instant::FAR;
            self.mark(g);
        }
        while let Some(&(at, order, slot)) = self.parked.first()
            && at <= now
        {
            self.parked.remove(&(at, order, slot));
            let e = &self.entries[slot];
            let (urgency, fair, cost, paced) = (e.urgency, e.fair, e.cost, e.paced);
            let mut rank = self.ranks.arrive(urgency, fair, cost);
            rank.paced = paced;
            self.entries[slot].rank = rank;
            self.line_up(now, slot);
        }
        self.serve(now);
        while let Some(&(at, slot)) = self.expiries.first()
            && at <= now
        {
            let refusal = self.expired(now, slot);
            self.refuse(slot, refusal);
        }
        self.serve(now);
    }

    /// Lets everyone through who can be, best rank first.
    pub(super) fn serve(&mut self, now: Instant) {
        loop {
            while let Some((rank, g)) = self.ready.pop_first() {
                let Some((head, slot)) = self.gates[g as usize].queue.head() else {
                    self.set_due(g, Instant::FAR);
                    continue;
                };
                if head != rank {
                    self.ready.insert((head, g));
                    continue;
                }
                self.move_on(now, g, slot);
            }
            if self.asking.is_empty() {
                return;
            }
            self.ask_for_all(now);
        }
    }

    pub(super) fn move_on(&mut self, now: Instant, g: u32, slot: u32) {
        match self.block(now, &self.entries[slot], g) {
            Block::None => {}
            Block::Until(at) | Block::Probe(at) => {
                // A lease that lapses while its spender waits is asked for anew at once.
                let lease = self.gates[g as usize].lease.as_ref();
                let lapses = lease.and_then(|l| l.lapses(now)).unwrap_or(Instant::FAR);
                return self.set_due(g, at.min(lapses));
            }
            Block::Return => return self.set_due(g, Instant::FAR),
            Block::Lease => {
                // Asked for once everybody stands where he stands.
                self.asking.push(g);
                return self.set_due(g, Instant::FAR);
            }
        }
        let next = self.blocking(now, slot, Some(g));
        let rank = self.entries[slot].rank;
        match next {
            Some(other) => {
                self.gates[g as usize].queue.remove(rank);
                self.stand(now, slot, other);
            }
            None => {
                let since = match self.entries[slot].state {
                    State::Waiting { since, .. } => since,
                    _ => now,
                };
                self.gates[g as usize].queue.remove(rank);
                self.grant(now, slot, Some((g, since)));
            }
        }
        self.mark(g);
    }

    /// The first gate of a waiter's set that blocks it, apart from the one it comes from.
    pub(super) fn blocking(&self, now: Instant, slot: u32, from: Option<u32>) -> Option<u32> {
        let e = &self.entries[slot];
        e.set[..e.len()]
            .iter()
            .map(|g| self.canonical(*g))
            .find(|g| {
                let gate = &self.gates[*g as usize];
                Some(*g) != from
                    && (gate.is_behind(e.rank) || self.block(now, e, *g) != Block::None)
            })
    }

    /// Puts a listed waiter at its first gate; serving moves it on from there in its turn.
    pub(super) fn line_up(&mut self, now: Instant, slot: u32) {
        let e = &self.entries[slot];
        match e.set[..e.len()].first().map(|g| self.canonical(*g)) {
            Some(g) => self.stand(now, slot, g),
            None => self.grant(now, slot, None),
        }
    }

    /// Lets a listed waiter through.
    pub(super) fn grant(&mut self, now: Instant, slot: u32, stood: Option<(u32, Instant)>) {
        self.served(slot);
        self.delist(slot);
        self.charge(now, slot, stood);
        let (ticket, pass) = (self.entries.ticket(slot), self.entries.pass(slot));
        self.actions.push_back(Action::Grant(ticket, pass));
    }

    pub(super) fn served(&mut self, slot: u32) {
        let e = &self.entries[slot];
        self.ranks.served(e.rank, e.fair, e.cost);
    }

    pub(super) fn stand(&mut self, now: Instant, slot: u32, g: u32) {
        let e = &mut self.entries[slot];
        e.state = State::Waiting {
            gate: g,
            since: now,
        };
        let rank = e.rank;
        let cost = self.cost_of(&self.entries[slot], g);
        self.gates[g as usize].queue.push(rank, slot, cost);
        self.mark(g);
    }

    /// Notes that the head of `g` may be able to move.
    #[inline]
    pub(super) fn mark(&mut self, g: u32) {
        match self.gates[g as usize].queue.head() {
            Some((rank, _)) => {
                self.ready.insert((rank, g));
            }
            None if self.gates[g as usize].due != Instant::FAR => self.set_due(g, Instant::FAR),
            None => {}
        }
    }

    pub(super) fn set_due(&mut self, g: u32, at: Instant) {
        let old = std::mem::replace(&mut self.gates[g as usize].due, at);
        if old == at {
            return;
        }
        if old != Instant::FAR {
            self.due.remove(&(old, g));
        }
        if at != Instant::FAR {
            self.due.insert((at, g));
        }
    }

    /// Asks the store for what the first of each gate lacks that waits for nothing else.
    fn ask_for_all(&mut self, now: Instant) {
        let mut asking = std::mem::take(&mut self.asking);
        asking.sort_unstable();
        asking.dedup();
        for g in asking.drain(..) {
            let head = self.gates[g as usize].queue.head();
            let Some((_, slot)) = head else {
                continue;
            };
            if self.block(now, &self.entries[slot], g) != Block::Lease {
                // Whoever went meanwhile left it something else to wait for.
                self.mark(g);
                continue;
            }
            let lease = self.gates[g as usize].lease.as_ref();
            let (from, asks) = lease.map_or((now, true), |l| (l.not_before(), l.asks()));
            if from > now {
                self.set_due(g, from);
            } else if !asks {
                // Until the answer is there, nothing else of its set is asked for.
                self.ask_for_leases(now, slot);
            }
        }
        self.asking = asking;
    }

    /// Asks the store for all that a waiter's gates lack, under one id.
    fn ask_for_leases(&mut self, now: Instant, slot: u32) {
        let id = LeaseId(self.next_id());
        let e = &self.entries[slot];
        let (set, len) = (e.set, e.len());
        for (i, g) in set[..len].iter().enumerate() {
            let g = self.canonical(*g);
            let twice = set[..i].iter().any(|o| self.canonical(*o) == g);
            let (paced, cost) = (
                self.entries[slot].paced,
                self.cost_of(&self.entries[slot], g),
            );
            let gate = &mut self.gates[g as usize];
            let Some(l) = &mut gate.lease else {
                continue;
            };
            let probes = gate.episode.is_none() || l.may_probe(now);
            let covered = probes && (!paced || l.covers(now, cost));
            if covered || twice || !l.ask(id) {
                continue;
            }
            let (key, ahead) = (gate.key, l.asks_ahead(now));
            let cost = if paced { cost } else { 0 };
            self.actions.push_back(Action::Acquire {
                key,
                cost,
                ahead,
                id,
            });
        }
    }

    /// Asks the store for more before anybody has to wait for it.
    #[inline(never)]
    pub(super) fn top_up(&mut self, now: Instant, g: u32) {
        let id = LeaseId(self.next_id());
        let gate = &mut self.gates[g as usize];
        if let Some(l) = &mut gate.lease
            && l.runs_low(now)
            && l.ask(id)
        {
            let (key, ahead) = (gate.key, l.asks_ahead(now));
            self.actions.push_back(Action::Acquire {
                key,
                cost: 0,
                ahead,
                id,
            });
        }
    }
}
