//! The state machine of one provider: all its gates, behind one lock of the shell.
//!
//! Everything that happens is a call with `now`; everything it wants done comes out of
//! [`Provider::poll`] as data. One machine serves a library, a gateway, a worker and a
//! simulation.
//!
//! The rules, in short:
//!
//! * A request passes all the gates of its set or none. It waits at the first gate that blocks
//!   it, in rank order, and stays there until that gate no longer blocks it.
//! * At a gate, nobody passes a waiter of a better rank that stands there.
//! * Among all waiters that could move on, the best rank moves first.
//! * A gate closed beyond what a waiter is willing to wait turns it away at once, also when the
//!   closing grows while it waits; being queued past its patience turns it away when that is
//!   known.
//! * Waking early or for nothing is harmless; waking late catches up.

mod action;
mod entry;
mod learn;
mod merge;
mod serve;
mod settle;
mod table;
mod view;

use std::collections::{BTreeSet, HashMap, VecDeque};

pub use action::{Action, Admit, Event, GateRecord, News, Pass, Start, Ticket};
pub use settle::Outcome;
pub use view::GateView;

use entry::{Entries, Entry, State};

use crate::breaker::Breaker;
use crate::budget::Budget;
use crate::finding::BucketId;
use crate::gate::{Block, Episode, Gate, GateKey, GateSet, HashedMap, MAX_GATES};
use crate::policy::ProviderPolicy;
use crate::queue::{Rank, Ranks, Urgency};
use crate::refusal::{DecidedBy, Refusal, RefusalKind};
use crate::time::Instant;

/// One request, as the machine sees it.
#[derive(Clone, Debug)]
pub struct Request {
    /// The gates it passes, from [`Provider::gates`].
    pub gates: GateSet,
    /// How many units it costs; 1 for a plain request.
    pub cost: u32,
    /// How urgent it is.
    pub urgency: Urgency,
    /// Whom to be fair to: requests of one key share one place. 0 for everybody else.
    pub fair: u64,
    /// Not before this instant (its own backoff).
    pub not_before: Instant,
    /// The end of its patience: later than this it is turned away.
    pub expires: Instant,
    /// The latest end of a closing (hold, open breaker) it is willing to wait for.
    pub hold_limit: Instant,
}

impl Request {
    /// A plain request that waits as long as it takes.
    pub const fn new(gates: GateSet) -> Self {
        Self {
            gates,
            cost: 1,
            urgency: Urgency::NORMAL,
            fair: 0,
            not_before: Instant::ORIGIN,
            expires: Instant::FAR,
            hold_limit: Instant::FAR,
        }
    }
}

/// The gates of one provider and everything that waits at them.
#[derive(Debug)]
pub struct Provider {
    policy: ProviderPolicy,
    gates: Vec<Gate>,
    free_gates: Vec<u32>,
    index: HashedMap<GateKey, u32>,
    buckets: HashMap<BucketId, u32>,
    overflow: [Option<u32>; 4],
    hand: usize,
    entries: Entries,
    ranks: Ranks,
    /// Gates whose head has an instant.
    due: BTreeSet<(Instant, u32)>,
    /// Waiters in their own backoff, by its end and then by arrival.
    parked: BTreeSet<(Instant, u64, u32)>,
    /// Waiters by the end of their patience.
    expiries: BTreeSet<(Instant, u32)>,
    /// Gates whose head may be able to move, by the head's rank.
    ready: BTreeSet<(Rank, u32)>,
    waiting: usize,
    actions: VecDeque<Action>,
    /// Orders starts and holds among each other, finer than any clock.
    order: u64,
    ids: u64,
    instance: u64,
    lifted: Vec<(crate::hold::HoldId, Instant)>,
    budget: Budget,
}

impl Provider {
    /// A provider without state. `instance` is random: it keeps the ids of holds and leases of
    /// different processes apart.
    pub fn new(policy: ProviderPolicy, instance: u64) -> Self {
        let budget = Budget::new(policy.budget.clone());
        Self {
            policy,
            gates: Vec::new(),
            free_gates: Vec::new(),
            index: HashedMap::default(),
            buckets: HashMap::new(),
            overflow: [None; 4],
            hand: 0,
            entries: Entries::default(),
            ranks: Ranks::default(),
            due: BTreeSet::new(),
            parked: BTreeSet::new(),
            expiries: BTreeSet::new(),
            ready: BTreeSet::new(),
            waiting: 0,
            actions: VecDeque::new(),
            order: 0,
            ids: 0,
            instance,
            lifted: Vec::new(),
            budget,
        }
    }

    /// The policy in force.
    pub const fn policy(&self) -> &ProviderPolicy {
        &self.policy
    }

    /// The bound on re-sends that all calls to this provider share.
    pub const fn budget(&mut self) -> &mut Budget {
        &mut self.budget
    }

    /// May this request be sent?
    pub fn admit(&mut self, now: Instant, request: &Request) -> Admit {
        self.catch_up(now);
        let (set, len) = self.resolve_set(&request.gates);
        let gates = &set[..len];
        let mut contended = false;
        let mut blocked = false;
        let mut closed: Option<(Instant, u32)> = None;
        for &g in gates {
            let gate = &self.gates[g as usize];
            if u64::from(request.cost) > gate.pace.size() {
                let mut r = Refusal::new(RefusalKind::CostTooLarge, DecidedBy::Policy);
                r.scope = gate.scope;
                return Admit::Refuse(Box::new(r));
            }
            contended |= !gate.waiting.queue.is_empty();
            if gate.block(now, request.cost) != Block::None {
                blocked = true;
                closed = closed.max(gate.closed_until(now).map(|t| (t, g)));
            }
        }
        if let Some((until, g)) = closed
            && until > request.hold_limit.min(request.expires)
        {
            return Admit::Refuse(Box::new(self.turned_away(now, g)));
        }
        if request.not_before > now {
            return self.park(request, set, len);
        }
        if !blocked && !contended {
            let mut entry = Entry::new(request, set, len);
            entry.rank = self.ranks.newcomer(request.urgency);
            let slot = self.entries.insert(entry);
            self.charge(now, slot, None);
            return Admit::Go(self.entries.pass(slot));
        }
        let (urgency, fair, cost) = (request.urgency, request.fair, request.cost);
        let rank = self.ranks.arrive(urgency, fair, cost);
        let stand = gates.iter().copied().find(|g| {
            let gate = &self.gates[*g as usize];
            gate.is_behind(rank) || gate.block(now, cost) != Block::None
        });
        let mut entry = Entry::new(request, set, len);
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
            Some(self.too_long(g, expected))
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
        let stopped = (0..e.len()).filter(|i| e.paid_at(*i)).any(|i| {
            let gate = &self.gates[self.canonical(e.set[i]) as usize];
            let held = gate.hold.as_ref().is_some_and(|h| h.is_active(now));
            let probe = |ep: &Episode| ep.is_probe(e.probes[i]);
            let trial = |b: &Breaker| !b.is_open() || b.is_probe(e.breakers[i]);
            held || !gate.episode.as_ref().is_none_or(probe)
                || !gate.breaker.as_deref().is_none_or(trial)
        });
        if stopped {
            return self.send_back(now, slot);
        }
        self.order += 1;
        let order = self.order;
        let e = &mut self.entries[slot];
        e.state = State::Started;
        e.order = order;
        e.sent = now;
        let (set, len, cost, paid) = (e.set, e.len(), e.cost, e.paid);
        for (i, &g) in set[..len].iter().enumerate() {
            let g = self.canonical(g) as usize;
            if paid & (1 << i) == 0 {
                continue;
            }
            if let Some(c) = &mut self.gates[g].control {
                c.sent(now, cost);
            }
        }
        Start::Go(pass)
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
                self.entries.remove(ticket.slot);
            }
            State::Started => return,
        }
        self.catch_up(now);
        self.serve(now);
    }

    /// Does what is due. Harmless when early or for nothing.
    pub fn wake(&mut self, now: Instant) {
        self.catch_up(now);
        self.serve(now);
    }

    /// When [`wake`](Self::wake) has something to do; `None` while nobody waits.
    pub fn next_wake(&self) -> Option<Instant> {
        let due = self.due.first().map(|(at, _)| *at);
        let parked = self.parked.first().map(|(at, ..)| *at);
        let expiry = self.expiries.first().map(|(at, _)| *at);
        let at = [due, parked, expiry].into_iter().flatten().min();
        at.filter(|at| *at != Instant::FAR)
    }

    /// The next thing to be done in the world.
    #[must_use]
    pub fn poll(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    fn emit(&mut self, event: Event) {
        self.actions.push_back(Action::Emit(event));
    }

    fn next_id(&mut self) -> u64 {
        self.ids += 1;
        crate::dice::mix(self.instance ^ self.ids)
    }

    /// When a waiter may expect to start at gate `g`, as far as anyone can tell.
    /// `stands` tells whether it is counted in the line there.
    fn expected(&self, now: Instant, g: u32, e: &Entry, stands: bool) -> Option<Instant> {
        let gate = &self.gates[g as usize];
        let base = match gate.block(now, e.cost) {
            Block::Until(t) => t,
            Block::None => now,
            Block::Probe(_) | Block::Return | Block::Lease => return None,
        };
        let (above, same) = gate.waiting.queue.cost_ahead(e.urgency);
        let own = if stands { u64::from(e.cost) } else { 0 };
        let keys = self.ranks.keys(e.urgency);
        let fair = keys.saturating_mul(self.ranks.backlog(e.rank));
        let ahead = above.saturating_add(same.saturating_sub(own).min(fair));
        Some(base.after(gate.pace.time_for(ahead)))
    }

    /// The refusal of somebody who is not willing to wait for a closing of gate `g`.
    fn turned_away(&self, now: Instant, g: u32) -> Refusal {
        let gate = &self.gates[g as usize];
        let held = gate.hold.as_ref().filter(|h| h.is_active(now));
        let open = gate.closed_until(now);
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
    fn too_long(&self, g: u32, at: Option<Instant>) -> Refusal {
        let mut r = Refusal::new(RefusalKind::QueueTooLong, DecidedBy::Queue);
        r.scope = self.gates[g as usize].scope;
        r.retry_at = at;
        r
    }

    /// The gate a slot turned out to be.
    #[inline]
    fn canonical(&self, mut g: u32) -> u32 {
        while let Some(next) = self.gates[g as usize].alias {
            g = next;
        }
        g
    }

    #[inline]
    fn resolve_set(&mut self, set: &GateSet) -> ([u32; MAX_GATES], usize) {
        let mut out = [0; MAX_GATES];
        let ids = set.ids();
        for (o, id) in out.iter_mut().zip(ids) {
            let known = self
                .gates
                .get(id.index as usize)
                .is_some_and(|g| g.generation == id.generation);
            *o = if known {
                self.canonical(id.index)
            } else {
                self.overflow_gate(id.scope)
            };
        }
        (out, ids.len())
    }
}
