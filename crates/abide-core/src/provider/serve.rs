//! Waiters: standing in line, moving on, being let through or turned away.

use super::entry::State;
use super::settle::lease;
use super::{Action, Event, Provider, Start};
use crate::gate::{Block, MAX_GATES};
use crate::refusal::{DecidedBy, Refusal, RefusalKind};
use crate::time::Instant;

impl Provider {
    /// Takes note of everything whose time has come, and serves it.
    #[inline]
    pub(super) fn catch_up(&mut self, now: Instant) {
        if self.next_wake().is_some_and(|at| at <= now) {
            self.do_due(now);
        }
    }

    /// First everybody whose time has come gets a place, then the best rank moves first: who was
    /// looked at first must not matter.
    fn do_due(&mut self, now: Instant) {
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
            let (urgency, fair, cost) = (e.urgency, e.fair, e.cost);
            let rank = self.ranks.arrive(urgency, fair, cost);
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
        while let Some((rank, g)) = self.ready.pop_first() {
            let Some((head, slot)) = self.gates[g as usize].waiting.queue.head() else {
                self.set_due(g, Instant::FAR);
                continue;
            };
            if head != rank {
                self.ready.insert((head, g));
                continue;
            }
            self.move_on(now, g, slot);
        }
    }

    fn move_on(&mut self, now: Instant, g: u32, slot: u32) {
        let cost = self.entries[slot].cost;
        match self.gates[g as usize].block(now, cost) {
            Block::None => {}
            Block::Until(at) | Block::Probe(at) => {
                // A lease that lapses while its spender waits is asked for anew at once.
                let lease = self.gates[g as usize].lease.as_ref();
                let lapses = lease.and_then(|l| l.lapses(now)).unwrap_or(Instant::FAR);
                return self.set_due(g, at.min(lapses));
            }
            Block::Return => return self.set_due(g, Instant::FAR),
            Block::Lease => {
                self.ask_for_lease(g, cost);
                return self.set_due(g, Instant::FAR);
            }
        }
        let next = self.blocking(now, slot, Some(g));
        let rank = self.entries[slot].rank;
        match next {
            Some(other) => {
                self.gates[g as usize].waiting.queue.remove(rank);
                self.stand(now, slot, other);
            }
            None => {
                let since = match self.entries[slot].state {
                    State::Waiting { since, .. } => since,
                    _ => now,
                };
                self.gates[g as usize].waiting.queue.remove(rank);
                self.grant(now, slot, Some((g, since)));
            }
        }
        self.mark(g);
    }

    /// The first gate of a waiter's set that blocks it, apart from the one it comes from.
    fn blocking(&self, now: Instant, slot: u32, from: Option<u32>) -> Option<u32> {
        let e = &self.entries[slot];
        e.set[..e.len()]
            .iter()
            .map(|g| self.canonical(*g))
            .find(|g| {
                let gate = &self.gates[*g as usize];
                Some(*g) != from
                    && (gate.is_behind(e.rank) || gate.block(now, e.cost) != Block::None)
            })
    }

    /// Puts a listed waiter at its first gate; serving moves it on from there in its turn.
    fn line_up(&mut self, now: Instant, slot: u32) {
        let e = &self.entries[slot];
        match e.set[..e.len()].first().map(|g| self.canonical(*g)) {
            Some(g) => self.stand(now, slot, g),
            None => self.grant(now, slot, None),
        }
    }

    /// Lets a listed waiter through.
    fn grant(&mut self, now: Instant, slot: u32, stood: Option<(u32, Instant)>) {
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
        let (rank, cost) = (e.rank, e.cost);
        self.gates[g as usize].waiting.queue.push(rank, slot, cost);
        self.mark(g);
    }

    /// Notes that the head of `g` may be able to move.
    #[inline]
    pub(super) fn mark(&mut self, g: u32) {
        match self.gates[g as usize].waiting.queue.head() {
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

    /// Pays for a request at all its gates. `stood` is where it waited and since when.
    #[inline]
    pub(super) fn charge(&mut self, now: Instant, slot: u32, stood: Option<(u32, Instant)>) {
        let e = &self.entries[slot];
        let (set, len, cost) = (e.set, e.len(), e.cost);
        let (mut together, mut probes) = ([0; MAX_GATES], [0; MAX_GATES]);
        let (mut breakers, mut leases) = ([0; MAX_GATES], [0; MAX_GATES]);
        let (mut seen, mut paid, mut generation) = ([0; MAX_GATES], 0, 0);
        for (i, &g) in set[..len].iter().enumerate() {
            let g = self.claim(g);
            seen[i] = g;
            if seen[..i].contains(&g) {
                continue;
            }
            paid |= 1 << i;
            let gate = &mut self.gates[g as usize];
            together[i] = gate.inflight.enter();
            let due = match stood {
                Some((at, since)) if at == g => gate.slot(now, cost, since),
                _ => now,
            };
            gate.free_at = due;
            let store = gate.pace.charge(now, due, cost);
            if let Some(l) = &mut gate.lease {
                leases[i] = l.spend(cost);
            }
            if let Some(b) = &mut gate.breaker
                && b.is_open()
            {
                breakers[i] = b.lease(now).map_or(0, |l| l.0);
            }
            let lease_time = self.policy.gate(gate.scope).probe_lease;
            if let Some(ep) = &mut gate.episode {
                // One number for all gates: two that turn out to be one have one probe.
                if generation == 0 {
                    self.ids += 1;
                    generation = (self.ids as u32).max(1);
                }
                ep.let_out(now, lease_time, generation);
                probes[i] = generation;
                let key = gate.key;
                self.actions
                    .push_back(Action::Emit(Event::ProbeSent { key }));
            }
            if store {
                self.persist(g);
            }
            if leases[i] != 0 {
                // Whoever stands here may have to ask for more by now.
                self.mark(g);
            }
        }
        let e = &mut self.entries[slot];
        e.state = State::Granted;
        e.charged = now;
        e.together = together;
        e.probes = probes;
        e.breakers = breakers;
        e.leases = leases;
        e.paid = paid;
    }

    /// Gives back what an unsent request paid, at all its gates.
    pub(super) fn refund(&mut self, now: Instant, slot: u32) {
        let e = &self.entries[slot];
        let (set, len, cost, at, paid) = (e.set, e.len(), e.cost, e.charged, e.paid);
        let (probes, breakers, leases) = (e.probes, e.breakers, e.leases);
        for (i, &g) in set[..len].iter().enumerate() {
            self.leave_gate(now, g, paid & (1 << i) != 0);
            if paid & (1 << i) == 0 {
                continue;
            }
            let c = self.canonical(g);
            let gate = &mut self.gates[c as usize];
            gate.pace.refund(at, cost);
            if let Some(l) = &mut gate.lease {
                l.give_back(leases[i], cost);
            }
            if let (Some(b), Some(l)) = (&mut gate.breaker, lease(breakers[i])) {
                b.give_back(l);
                gate.free_at = now;
            }
            if let Some(ep) = &mut gate.episode {
                gate.free_at = now;
                ep.probe_lost(probes[i], Instant::ORIGIN);
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
    fn claim(&mut self, mut g: u32) -> u32 {
        loop {
            let gate = &mut self.gates[g as usize];
            gate.users += 1;
            match gate.alias {
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
            match gate.alias {
                Some(next) => g = next,
                None => return,
            }
        }
    }

    pub(super) fn send_back(&mut self, now: Instant, slot: u32) -> Start {
        self.refund(now, slot);
        let ticket = self.entries.ticket(slot);
        self.enlist(slot);
        self.line_up(now, slot);
        let e = &self.entries[slot];
        let (set, len, limit) = (e.set, e.len(), e.hold_limit);
        let closed = set[..len]
            .iter()
            .map(|g| self.canonical(*g))
            .filter_map(|g| self.gates[g as usize].closed_until(now).map(|t| (t, g)))
            .max();
        if let Some((until, g)) = closed
            && until > limit
        {
            let refusal = self.turned_away(now, g);
            self.refuse(slot, refusal);
        }
        // Its patience may have ended on the way.
        self.catch_up(now);
        self.serve(now);
        Start::Back(ticket)
    }

    /// Enters a waiter in the indices by which it can be turned away.
    pub(super) fn enlist(&mut self, slot: u32) {
        self.waiting += 1;
        let e = &self.entries[slot];
        self.ranks.enlist(e.urgency, e.fair);
        let (set, len, limit, expires) = (e.set, e.len(), e.hold_limit, e.expires);
        for &g in &set[..len] {
            let g = self.claim(g) as usize;
            if limit != Instant::FAR {
                self.gates[g].waiting.watch.insert((limit, slot));
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
            self.gates[c].waiting.watch.remove(&(limit, slot));
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
                self.gates[g as usize].waiting.queue.remove(rank);
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
        let Some(until) = self.gates[g as usize].closed_until(now) else {
            return;
        };
        while let Some(&(limit, slot)) = self.gates[g as usize].waiting.watch.first()
            && limit < until
        {
            let refusal = self.turned_away(now, g);
            self.refuse(slot, refusal);
        }
    }

    fn expired(&self, now: Instant, slot: u32) -> Refusal {
        match self.entries[slot].state {
            State::Waiting { gate, .. } => {
                let g = self.canonical(gate);
                let at = self.expected(now, g, &self.entries[slot], true);
                self.too_long(g, at)
            }
            _ => {
                let mut r = Refusal::new(RefusalKind::QueueTooLong, DecidedBy::Policy);
                r.retry_at = Some(self.entries[slot].not_before);
                r
            }
        }
    }

    fn ask_for_lease(&mut self, g: u32, cost: u32) {
        let id = crate::lease::LeaseId(self.next_id());
        let gate = &mut self.gates[g as usize];
        if let Some(l) = &mut gate.lease
            && l.ask(id)
        {
            let key = gate.key;
            self.actions.push_back(Action::Acquire { key, cost, id });
        }
    }
}
