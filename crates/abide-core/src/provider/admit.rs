//! Coming in, starting, and leaving before anything was sent.

use super::entry::{Entry, State};
use super::{Admit, Event, Pass, Provider, Request, Start, Ticket};
use crate::breaker::Breaker;
use crate::gate::{Block, Episode, MAX_GATES};
use crate::policy::Mode;
use crate::refusal::{DecidedBy, Refusal, RefusalKind};
use crate::time::Instant;

impl Provider {
    /// May this request be sent?
    #[inline]
    pub fn admit(&mut self, now: Instant, request: &Request) -> Admit {
        self.catch_up(now);
        if self.policy.mode != Mode::Enforce {
            return Admit::Go(self.let_by(now, request));
        }
        match self.pass_at_once(now, request) {
            Some(pass) => Admit::Go(pass),
            None => self.admit_at_length(now, request),
        }
    }

    #[inline(never)]
    fn admit_at_length(&mut self, now: Instant, request: &Request) -> Admit {
        let (set, len) = self.resolve_set(&request.gates);
        let gates = &set[..len];
        let mut contended = false;
        let mut blocked = false;
        let mut closed: Option<(Instant, u32)> = None;
        let entry = Entry::new(request, set, len);
        for &g in gates {
            let gate = &self.gates[g as usize];
            let cost = self.cost_of(&entry, g);
            if entry.paced && cost > gate.pace.size() {
                let mut r = Refusal::new(RefusalKind::CostTooLarge, DecidedBy::Policy);
                r.scope = gate.scope;
                return Admit::Refuse(Box::new(r));
            }
            contended |= !gate.queue.is_empty();
            if self.block(now, &entry, g) != Block::None {
                blocked = true;
                closed = closed.max(self.closed(now, g).map(|t| (t, g)));
            }
        }
        if let Some((until, g)) = closed
            && until > request.hold_limit.min(request.expires)
        {
            return Admit::Refuse(Box::new(self.turned_away(now, g)));
        }
        if request.expires < now {
            return Admit::Refuse(Box::new(self.too_late(now, &entry)));
        }
        if request.not_before > now {
            return self.park(request, set, len);
        }
        if !blocked && !contended {
            let mut entry = entry;
            entry.rank = self.ranks.newcomer(request.urgency);
            entry.rank.paced = entry.paced;
            let slot = self.entries.insert(entry);
            self.charge(now, slot, None);
            return Admit::Go(self.entries.pass(slot));
        }
        let (urgency, fair, cost) = (request.urgency, request.fair, request.cost);
        let mut rank = self.ranks.arrive(urgency, fair, cost);
        rank.paced = entry.paced;
        let stand = gates.iter().copied().find(|g| {
            let gate = &self.gates[*g as usize];
            gate.is_behind(rank) || self.block(now, &entry, *g) != Block::None
        });
        let mut entry = entry;
        entry.rank = rank;
        let Some(g) = stand else {
            let slot = self.entries.insert(entry);
            self.served(slot);
            self.charge(now, slot, None);
            self.serve(now);
            return Admit::Go(self.entries.pass(slot));
        };
        let expected = self.expected(now, g, &entry, false);
        let refusal = if self.waiting >= self.policy.waiting_calls {
            Some(Refusal::new(RefusalKind::QueueFull, DecidedBy::Queue))
        } else if request.expires <= now || expected.is_some_and(|at| at > request.expires) {
            Some(self.too_long(now, g, expected))
        } else {
            None
        };
        if let Some(r) = refusal {
            self.ranks.leave(urgency, fair, cost);
            return Admit::Refuse(Box::new(r));
        }
        let slot = self.entries.insert(entry);
        self.enlist(slot);
        self.stand(now, slot, g);
        self.serve(now);
        Admit::Waiting(self.entries.ticket(slot))
    }

    /// Lets a request through whose gates are all untroubled; `None` leaves it to the longer way.
    /// Decides nothing of its own: it is the same way with everything left out that is not there.
    #[inline]
    fn pass_at_once(&mut self, now: Instant, request: &Request) -> Option<Pass> {
        let plain = request.paced && request.gates.is_plain() && self.offline.is_none();
        if request.not_before > now || request.expires < now || !plain {
            return None;
        }
        let ids = request.gates.ids();
        let price = (request.cost, request.urgency.leaves());
        for id in ids {
            let gate = self.gates.get(id.index as usize)?;
            if gate.generation != id.generation || !gate.lets_pass(now, price) {
                return None;
            }
        }
        let rank = self.ranks.newcomer(request.urgency);
        let len = u8::try_from(ids.len()).unwrap_or(0);
        let slot = match self.entries.renew(request, rank, len) {
            Some(slot) => slot,
            None => {
                let mut entry = Entry::new(request, [0; MAX_GATES], ids.len());
                entry.rank = rank;
                self.entries.insert(entry)
            }
        };
        let e = &mut self.entries[slot];
        e.charged = now;
        let mut store = 0_u8;
        let lag = self.trip.lag();
        for (i, id) in ids.iter().enumerate() {
            let gate = &mut self.gates[id.index as usize];
            e.set[i] = id.index;
            e.paid |= 1 << i;
            gate.users += 1;
            gate.free_at = now;
            e.together[i] = gate.inflight.enter(now);
            gate.pace.lag = lag;
            store |= u8::from(gate.pace.charge(now, now, request.cost)) << i;
        }
        if store != 0 {
            for (i, id) in ids.iter().enumerate() {
                if store & (1 << i) != 0 {
                    self.persist(id.index);
                }
            }
        }
        Some(self.entries.pass(slot))
    }

    /// The refusal of a request whose patience had ended before it asked; it says when it would
    /// have gone.
    fn too_late(&self, now: Instant, e: &Entry) -> Refusal {
        let gates = e.set[..e.len()].iter().copied();
        let at = |g| self.expected(now, g, e, false);
        let last = gates.max_by_key(|g| at(*g).unwrap_or(Instant::FAR));
        match last {
            Some(g) => {
                let expected = at(g).map(|t| t.max(e.not_before));
                self.too_long(now, g, expected)
            }
            None => Refusal::new(RefusalKind::QueueTooLong, DecidedBy::Queue),
        }
    }

    /// A request in its own backoff: it gets its rank when that is over.
    fn park(&mut self, request: &Request, set: [u32; MAX_GATES], len: usize) -> Admit {
        let mut refusal = None;
        if self.waiting >= self.policy.waiting_calls {
            refusal = Some(Refusal::new(RefusalKind::QueueFull, DecidedBy::Queue));
        } else if request.not_before > request.expires {
            let mut r = Refusal::new(RefusalKind::QueueTooLong, DecidedBy::Policy);
            r.retry_at = Some(request.not_before);
            refusal = Some(r);
        }
        if let Some(r) = refusal {
            return Admit::Refuse(Box::new(r));
        }
        let mut entry = Entry::new(request, set, len);
        entry.state = State::Parked;
        entry.rank = self.ranks.newcomer(request.urgency);
        let key = (request.not_before, entry.rank.arrival);
        let slot = self.entries.insert(entry);
        self.enlist(slot);
        self.parked.insert((key.0, key.1, slot));
        Admit::Waiting(self.entries.ticket(slot))
    }

    /// Stamps the send, just before the first byte.
    pub fn start(&mut self, now: Instant, pass: Pass) -> Start {
        self.catch_up(now);
        if !self.entries.holds(pass.slot, pass.generation) {
            return Start::Back(pass.ticket());
        }
        let slot = pass.slot;
        let e = &self.entries[slot];
        if e.state != State::Granted {
            return Start::Go(pass);
        }
        let rare = e.rare.as_deref();
        let (mut stopped, mut controlled) = (false, false);
        for i in 0..e.len() {
            if !e.paid_at(i) {
                continue;
            }
            let gate = &self.gates[self.canonical(e.set[i]) as usize];
            controlled |= gate.is_controlled();
            let held = gate.hold.as_ref().is_some_and(|h| h.is_active(now));
            let probe = |ep: &Episode| rare.is_some_and(|r| ep.is_probe(r.probes[i]));
            let trial =
                |b: &Breaker| !b.is_open() || rare.is_some_and(|r| b.is_probe(r.breakers[i]));
            stopped |= held
                || !gate.episode.as_deref().is_none_or(probe)
                || !gate.breaker.as_deref().is_none_or(trial);
        }
        let ticket = pass.ticket();
        stopped |= self.offline.is_some_and(|o| !o.lets_start(now, ticket));
        if stopped && self.policy.mode == Mode::Enforce {
            return self.send_back(now, slot);
        }
        self.order += 1;
        let order = self.order;
        let e = &mut self.entries[slot];
        e.state = State::Started;
        e.order = order;
        e.sent = now;
        if e.rare.is_some() {
            self.tell_rare(slot);
        }
        if controlled {
            self.tell_sent(now, slot);
        }
        Start::Go(pass)
    }

    /// Tells that a probe goes, or what a mode lets by.
    #[inline(never)]
    fn tell_rare(&mut self, slot: u32) {
        let e = &self.entries[slot];
        let (set, len, rare) = (e.set, e.len(), e.rare());
        for (i, &g) in set[..len].iter().enumerate() {
            let gate = &self.gates[self.canonical(g) as usize];
            let probes = |ep: &Episode| rare.probes[i] != 0 && ep.is_probe(rare.probes[i]);
            if gate.episode.as_deref().is_some_and(probes) {
                let key = gate.key;
                self.emit(Event::ProbeSent { key });
            }
        }
        if let Some((key, until)) = rare.let_by {
            self.emit(Event::LetBy { key, until });
        }
    }

    /// A pass that may not be used now: it goes back in line, unsent. One that is on the wire
    /// stays there.
    pub fn put_back(&mut self, now: Instant, pass: Pass) -> Start {
        self.catch_up(now);
        if !self.entries.holds(pass.slot, pass.generation) {
            return Start::Back(pass.ticket());
        }
        match self.entries[pass.slot].state {
            State::Granted => self.send_back(now, pass.slot),
            _ => Start::Go(pass),
        }
    }

    /// Tells the learners of a request's gates that it is sent.
    #[inline(never)]
    fn tell_sent(&mut self, now: Instant, slot: u32) {
        let e = &self.entries[slot];
        let (set, len, cost, paid, paced) = (e.set, e.len(), e.cost, e.paid, e.paced);
        for (i, &g) in set[..len].iter().enumerate() {
            let g = self.canonical(g) as usize;
            if paid & (1 << i) != 0
                && paced
                && let Some(c) = self.gates[g].controller()
            {
                c.sent(now, cost);
            }
        }
    }

    /// A caller left. Its place is free at once; after a grant this counts as not sent.
    pub fn cancel(&mut self, now: Instant, ticket: Ticket) {
        if !self.entries.holds(ticket.slot, ticket.generation) {
            return;
        }
        match self.entries[ticket.slot].state {
            State::Parked | State::Waiting { .. } => {
                self.dismiss(ticket.slot);
            }
            State::Granted => {
                self.refund(now, ticket.slot);
                self.let_in(ticket.slot);
                self.entries.remove(ticket.slot);
            }
            State::Started => return,
        }
        self.catch_up(now);
        self.serve(now);
    }

    #[inline(never)]
    pub(super) fn send_back(&mut self, now: Instant, slot: u32) -> Start {
        self.refund(now, slot);
        self.let_in(slot);
        let ticket = self.entries.ticket(slot);
        self.enlist(slot);
        self.line_up(now, slot);
        let e = &self.entries[slot];
        let (set, len, limit) = (e.set, e.len(), e.hold_limit);
        let closed = set[..len]
            .iter()
            .map(|g| self.canonical(*g))
            .filter_map(|g| self.closed(now, g).map(|t| (t, g)))
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
}
