//! A naive model of the provider machine.
//!
//! Everything is a plain list and everything is added up anew whenever it is asked for. It shares
//! words and small public machines with the core (breaker, ladder, controller), and none of its
//! queues, indices or windows.
#![allow(dead_code, reason = "each test binary uses its own part")]

pub(crate) mod gate;
pub(crate) mod ranks;
pub(crate) mod script;
pub(crate) mod settle;
pub(crate) mod window;

use abide_core::breaker::ProbeLease;
use abide_core::policy::ProviderPolicy;
use abide_core::refusal::{DecidedBy, RefusalKind};
use abide_core::{Instant, Scope, Verdict};

use gate::{NaiveGate, Wait};
use ranks::{NaiveRank, NaiveRanks};

/// What a caller is told, without what only a caller knows.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Told {
    pub(crate) kind: String,
    pub(crate) retry_at: Option<u64>,
    pub(crate) scope: Scope,
    pub(crate) cause: String,
    pub(crate) by: String,
}

impl Told {
    fn new(kind: RefusalKind, by: DecidedBy, scope: Scope) -> Self {
        Self {
            kind: format!("{kind:?}"),
            retry_at: None,
            scope,
            cause: "None".to_owned(),
            by: format!("{by:?}"),
        }
    }
}

/// Where a call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Parked,
    Waiting { gate: usize, since: u64 },
    Granted,
    Started,
    Over,
}

/// One call, kept for ever.
#[derive(Clone, Debug)]
pub(crate) struct NaiveCall {
    pub(crate) place: Place,
    pub(crate) set: Vec<usize>,
    pub(crate) cost: u64,
    pub(crate) urgency: u8,
    pub(crate) fair: u64,
    pub(crate) not_before: u64,
    pub(crate) expires: u64,
    pub(crate) limit: u64,
    pub(crate) rank: NaiveRank,
    /// When it was parked, in the order of arrivals.
    pub(crate) parked: u64,
    pub(crate) grant: u64,
    /// The gates it was charged at (as they were called then), with the number out.
    pub(crate) paid: Vec<(usize, u32)>,
    pub(crate) charged: u64,
    pub(crate) sent: u64,
    pub(crate) order: u64,
    pub(crate) probes: Vec<usize>,
    pub(crate) trials: Vec<(usize, ProbeLease)>,
    pub(crate) lent: Vec<(usize, u64)>,
    pub(crate) worst: Option<Verdict>,
}

/// What the model says it did, in order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Out {
    Grant(usize),
    Refuse(usize, Told),
    Acquire(usize),
}

/// The answer to an admission.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Said {
    Go,
    Waiting,
    Refuse(Told),
}

/// One request.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) set: Vec<usize>,
    pub(crate) cost: u64,
    pub(crate) urgency: u8,
    pub(crate) fair: u64,
    pub(crate) not_before: u64,
    pub(crate) expires: u64,
    pub(crate) hold_limit: u64,
}

/// The model.
#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) policy: ProviderPolicy,
    pub(crate) gates: Vec<NaiveGate>,
    pub(crate) calls: Vec<NaiveCall>,
    pub(crate) out: Vec<Out>,
    pub(crate) ranks: NaiveRanks,
    pub(crate) buckets: Vec<(u64, usize)>,
    pub(crate) order: u64,
    pub(crate) grants: u64,
    pub(crate) lifted: Vec<(u64, u64)>,
}

impl Model {
    pub(crate) fn gate(&self, mut g: usize) -> usize {
        while let Some(next) = self.gates[g].alias {
            g = next;
        }
        g
    }

    /// Requests on the wire through `g`.
    pub(crate) fn out_at(&self, g: usize) -> u32 {
        let on_wire = |c: &&NaiveCall| matches!(c.place, Place::Granted | Place::Started);
        let calls = self.calls.iter().filter(on_wire);
        let paid = calls.flat_map(|c| c.paid.iter().map(|(p, _)| self.gate(*p)));
        paid.filter(|p| *p == g).count() as u32
    }

    pub(crate) fn wait(&self, now: u64, g: usize, cost: u64) -> Wait {
        self.gates[g].wait(now, cost, self.out_at(g))
    }

    fn waits(&self, c: &NaiveCall) -> Option<usize> {
        match c.place {
            Place::Waiting { gate, .. } => Some(self.gate(gate)),
            _ => None,
        }
    }

    pub(crate) fn line(&self, g: usize) -> Vec<usize> {
        let mut line: Vec<usize> = (0..self.calls.len())
            .filter(|i| self.waits(&self.calls[*i]) == Some(g))
            .collect();
        line.sort_by_key(|i| self.calls[*i].rank);
        line
    }

    fn is_behind(&self, g: usize, rank: NaiveRank) -> bool {
        self.line(g).iter().any(|i| self.calls[*i].rank < rank)
    }

    pub(crate) fn waiting(&self) -> usize {
        let waits = |c: &&NaiveCall| matches!(c.place, Place::Parked | Place::Waiting { .. });
        self.calls.iter().filter(waits).count()
    }

    /// The first gate of a set that keeps a call of this rank.
    fn kept_at(
        &self,
        now: u64,
        set: &[usize],
        cost: u64,
        rank: NaiveRank,
        from: Option<usize>,
    ) -> Option<usize> {
        set.iter().map(|g| self.gate(*g)).find(|g| {
            Some(*g) != from
                && (self.is_behind(*g, rank) || self.wait(now, *g, cost) != Wait::Nothing)
        })
    }

    pub(crate) fn admit(&mut self, now: u64, a: &Asked) -> Said {
        self.catch_up(now);
        let set: Vec<usize> = a.set.iter().map(|g| self.gate(*g)).collect();
        if let Some(g) = set.iter().find(|g| a.cost > self.gates[**g].size()) {
            let scope = self.gates[*g].scope;
            return Said::Refuse(Told::new(
                RefusalKind::CostTooLarge,
                DecidedBy::Policy,
                scope,
            ));
        }
        let closed = set
            .iter()
            .filter_map(|g| self.gates[*g].closed_until(now).map(|t| (t, *g)));
        let limit = a.hold_limit.min(a.expires);
        if let Some((until, g)) = closed.max()
            && until > limit
        {
            return Said::Refuse(self.turned_away(now, g));
        }
        let full = self.waiting() >= self.policy.waiting_calls;
        let full =
            full.then(|| Told::new(RefusalKind::QueueFull, DecidedBy::Queue, Scope::Request));
        let mut call = NaiveCall {
            place: Place::Over,
            set: set.clone(),
            cost: a.cost,
            urgency: a.urgency,
            fair: a.fair,
            not_before: a.not_before,
            expires: a.expires,
            limit,
            rank: NaiveRank::default(),
            parked: 0,
            grant: 0,
            paid: Vec::new(),
            charged: 0,
            sent: 0,
            order: 0,
            probes: Vec::new(),
            trials: Vec::new(),
            lent: Vec::new(),
            worst: None,
        };
        if a.not_before > now {
            if let Some(told) = full {
                return Said::Refuse(told);
            }
            if a.not_before > a.expires {
                let mut told =
                    Told::new(RefusalKind::QueueTooLong, DecidedBy::Policy, Scope::Request);
                told.retry_at = Some(a.not_before);
                return Said::Refuse(told);
            }
            call.place = Place::Parked;
            call.parked = self.ranks.next();
            self.calls.push(call);
            return Said::Waiting;
        }
        if set
            .iter()
            .all(|g| self.line(*g).is_empty() && self.wait(now, *g, a.cost) == Wait::Nothing)
        {
            call.rank = self.ranks.newcomer(a.urgency);
            self.calls.push(call);
            self.charge(now, self.calls.len() - 1, None);
            return Said::Go;
        }
        let undo = self.ranks.clone();
        call.rank = self.ranks.arrive(a.urgency, a.fair, a.cost);
        let Some(g) = self.kept_at(now, &set, a.cost, call.rank, None) else {
            self.ranks.served(call.rank, a.fair, a.cost);
            self.calls.push(call);
            self.charge(now, self.calls.len() - 1, None);
            return Said::Go;
        };
        let expected = self.expected(now, g, &call);
        let told = full.or_else(|| {
            let late = a.expires <= now || expected.is_some_and(|at| at > a.expires);
            late.then(|| self.too_long(g, expected))
        });
        if let Some(told) = told {
            self.ranks.undo(undo);
            return Said::Refuse(told);
        }
        call.place = Place::Waiting {
            gate: g,
            since: now,
        };
        self.calls.push(call);
        self.serve(now);
        Said::Waiting
    }

    pub(crate) fn start(&mut self, now: u64, c: usize) -> bool {
        self.catch_up(now);
        let call = &self.calls[c];
        let stopped = call.paid.iter().any(|(p, _)| {
            let g = self.gate(*p);
            let gate = &self.gates[g];
            let trial = call.trials.iter().any(|(t, lease)| {
                t == p
                    && self.gates[g]
                        .breaker
                        .as_ref()
                        .is_some_and(|b| is_trial(b, *lease))
            });
            gate.held(now).is_some()
                || gate
                    .episode
                    .is_some_and(|e| !(call.probes.contains(p) && e.is_probe(call.grant)))
                || gate.breaker.as_ref().is_some_and(|b| b.is_open() && !trial)
        });
        if stopped {
            self.refund(now, c);
            self.line_up(now, c);
            let call = &self.calls[c];
            let gates = call.set.iter().map(|g| self.gate(*g));
            let closed = gates.filter_map(|g| self.gates[g].closed_until(now).map(|t| (t, g)));
            if let Some((until, g)) = closed.max()
                && until > call.limit
            {
                let told = self.turned_away(now, g);
                self.refuse(c, told);
            }
            self.wake(now);
            return false;
        }
        self.order += 1;
        let call = &mut self.calls[c];
        (call.place, call.order, call.sent) = (Place::Started, self.order, now);
        let (paid, cost) = (call.paid.clone(), call.cost as u32);
        for (p, _) in paid {
            let g = self.gate(p);
            if let Some(control) = &mut self.gates[g].control {
                control.sent(Instant::from_nanos(now), cost);
            }
        }
        true
    }

    pub(crate) fn cancel(&mut self, now: u64, c: usize) {
        match self.calls[c].place {
            Place::Parked | Place::Waiting { .. } => self.leave(c),
            Place::Granted => {
                self.refund(now, c);
                self.calls[c].place = Place::Over;
            }
            Place::Started | Place::Over => return,
        }
        self.catch_up(now);
        self.serve(now);
    }

    pub(crate) fn wake(&mut self, now: u64) {
        self.catch_up(now);
        self.serve(now);
    }

    /// The next instant at which anything can happen by itself.
    pub(crate) fn next_wake(&self, now: u64) -> Option<u64> {
        let heads = (0..self.gates.len()).filter_map(|g| {
            let head = *self.line(g).first()?;
            let cost = self.calls[head].cost;
            self.gates[g].opens(now, cost, self.out_at(g))
        });
        let calls = self.calls.iter().flat_map(|c| match c.place {
            Place::Parked => vec![c.not_before, c.expires],
            Place::Waiting { .. } => vec![c.expires],
            _ => Vec::new(),
        });
        heads.chain(calls).filter(|t| *t != u64::MAX).min()
    }

    pub(crate) fn catch_up(&mut self, now: u64) {
        let mut parked: Vec<usize> = (0..self.calls.len())
            .filter(|i| self.calls[*i].place == Place::Parked && self.calls[*i].not_before <= now)
            .collect();
        parked.sort_by_key(|i| (self.calls[*i].not_before, self.calls[*i].parked));
        for c in parked {
            let call = &self.calls[c];
            let rank = self.ranks.arrive(call.urgency, call.fair, call.cost);
            self.calls[c].rank = rank;
            self.line_up(now, c);
        }
        self.serve(now);
        let waits = |c: &NaiveCall| matches!(c.place, Place::Parked | Place::Waiting { .. });
        let mut over: Vec<usize> = (0..self.calls.len())
            .filter(|i| waits(&self.calls[*i]) && self.calls[*i].expires <= now)
            .collect();
        over.sort_by_key(|i| self.calls[*i].expires);
        for c in over {
            let told = match self.waits(&self.calls[c]) {
                Some(g) => self.too_long(g, self.expected(now, g, &self.calls[c])),
                None => {
                    let mut told =
                        Told::new(RefusalKind::QueueTooLong, DecidedBy::Policy, Scope::Request);
                    told.retry_at = Some(self.calls[c].not_before);
                    told
                }
            };
            self.refuse(c, told);
        }
        self.serve(now);
    }

    /// Puts a call at its first gate, from where serving moves it on.
    fn line_up(&mut self, now: u64, c: usize) {
        match self.calls[c].set.first() {
            Some(g) => {
                let gate = self.gate(*g);
                self.calls[c].place = Place::Waiting { gate, since: now };
            }
            None => self.grant(now, c, None),
        }
    }

    /// Moves whoever can move, best rank first, until nobody can.
    pub(crate) fn serve(&mut self, now: u64) {
        loop {
            let heads = (0..self.gates.len()).filter_map(|g| Some((g, *self.line(g).first()?)));
            let movable =
                heads.filter(|(g, c)| self.wait(now, *g, self.calls[*c].cost) == Wait::Nothing);
            let Some((g, c)) = movable.min_by_key(|(_, c)| self.calls[*c].rank) else {
                break;
            };
            let call = &self.calls[c];
            match self.kept_at(now, &call.set, call.cost, call.rank, Some(g)) {
                Some(other) => {
                    self.calls[c].place = Place::Waiting {
                        gate: other,
                        since: now,
                    }
                }
                None => {
                    let Place::Waiting { since, .. } = call.place else {
                        unreachable!()
                    };
                    self.grant(now, c, Some((g, since)));
                }
            }
        }
        for g in 0..self.gates.len() {
            let Some(head) = self.line(g).first().copied() else {
                continue;
            };
            if self.wait(now, g, self.calls[head].cost) == Wait::Lease
                && let Some(l) = &mut self.gates[g].lease
                && l.asked.is_none()
            {
                l.asked = Some(None);
                self.out.push(Out::Acquire(g));
            }
        }
    }

    fn grant(&mut self, now: u64, c: usize, stood: Option<(usize, u64)>) {
        let (rank, fair, cost) = (self.calls[c].rank, self.calls[c].fair, self.calls[c].cost);
        self.ranks.served(rank, fair, cost);
        self.calls[c].place = Place::Granted;
        self.left_line(c);
        self.charge(now, c, stood);
        self.out.push(Out::Grant(c));
    }

    fn charge(&mut self, now: u64, c: usize, stood: Option<(usize, u64)>) {
        self.grants += 1;
        let grant = self.grants;
        let cost = self.calls[c].cost;
        let (mut paid, mut probes, mut trials, mut lent) = (vec![], vec![], vec![], vec![]);
        for g in self.calls[c].set.clone() {
            let g = self.gate(g);
            if paid.iter().any(|(p, _)| *p == g) {
                continue;
            }
            paid.push((g, self.out_at(g) + 1));
            let due = match stood {
                Some((at, since)) if at == g => self.gates[g].slot(now, cost, since),
                _ => now,
            };
            self.gates[g].free_at = due;
            let lapses = {
                let policy = self.policy.gate(self.gates[g].scope);
                now + policy.probe_lease.as_nanos() as u64
            };
            let gate = &mut self.gates[g];
            for w in &mut gate.windows {
                w.pay(grant, now, due, cost);
            }
            if let Some(s) = &mut gate.spacing
                && cost > 0
            {
                s.pay(now, due);
            }
            if let Some(l) = &mut gate.lease {
                l.permits = l.permits.saturating_sub(cost);
                lent.push((g, l.generation));
            }
            if let Some(b) = &mut gate.breaker
                && let Some(lease) = b.lease(Instant::from_nanos(now))
            {
                trials.push((g, lease));
            }
            if let Some(e) = &mut gate.episode {
                e.probe = Some((grant, lapses));
                probes.push(g);
            }
        }
        let call = &mut self.calls[c];
        call.place = Place::Granted;
        (call.grant, call.charged) = (grant, now);
        (call.paid, call.probes, call.trials, call.lent) = (paid, probes, trials, lent);
    }

    /// One request less is out at `g`.
    pub(crate) fn vacate(&mut self, now: u64, c: usize, paid: usize) {
        let g = self.gate(paid);
        let (out, gate) = (self.out_at(g), &self.gates[g]);
        let gentle = gate.well.map_or(u32::MAX, |w| w.saturating_add(2));
        if out >= gate.most.min(gentle) || gate.provisional {
            self.gates[g].free_at = now;
        }
        self.calls[c].paid.retain(|(p, _)| *p != paid);
    }

    pub(crate) fn refund(&mut self, now: u64, c: usize) {
        let call = self.calls[c].clone();
        for (p, _) in &call.paid {
            self.vacate(now, c, *p);
            let g = self.gate(*p);
            let gate = &mut self.gates[g];
            for w in &mut gate.windows {
                w.give_back(call.grant, call.charged, call.cost);
            }
            if let Some(s) = &mut gate.spacing
                && call.cost > 0
            {
                s.give_back(call.charged);
            }
            if let Some(l) = &mut gate.lease
                && call
                    .lent
                    .iter()
                    .any(|(at, generation)| at == p && *generation == l.generation)
            {
                l.permits += call.cost;
            }
            if let Some(b) = &mut gate.breaker
                && let Some((_, lease)) = call.trials.iter().find(|(at, _)| at == p)
            {
                gate.free_at = now;
                b.give_back(*lease);
            }
            if let Some(e) = &mut gate.episode {
                gate.free_at = now;
                if call.probes.contains(p) {
                    e.lost(call.grant, 0);
                }
            }
        }
    }

    /// When a call may expect its turn at `g`.
    fn expected(&self, now: u64, g: usize, call: &NaiveCall) -> Option<u64> {
        let base = match self.wait(now, g, call.cost) {
            Wait::Nothing => now,
            Wait::Until(t) => t,
            _ => return None,
        };
        let others = self.line(g).into_iter().map(|i| &self.calls[i]);
        let others = others.filter(|o| o.rank != call.rank);
        let (mut above, mut same) = (0, 0);
        for o in others {
            above += if o.urgency < call.urgency { o.cost } else { 0 };
            same += if o.urgency == call.urgency { o.cost } else { 0 };
        }
        let waits = |c: &&NaiveCall| matches!(c.place, Place::Parked | Place::Waiting { .. });
        let mut keys: Vec<u64> = self
            .calls
            .iter()
            .filter(waits)
            .filter(|c| c.urgency == call.urgency)
            .map(|c| c.fair)
            .collect();
        keys.sort_unstable();
        keys.dedup();
        let fair = keys.len() as u64 * self.ranks.backlog(call.rank);
        Some(base + self.gates[g].time_for(above + same.min(fair)))
    }

    pub(crate) fn turned_away(&self, now: u64, g: usize) -> Told {
        let gate = &self.gates[g];
        let until = gate.closed_until(now);
        match gate.held(now) {
            Some(h) if Some(h.until) == until => {
                let mut told = Told::new(RefusalKind::Held, DecidedBy::Provider, gate.scope);
                told.cause = format!("{:?}", Some(h.cause));
                told.retry_at = Some(h.retry_at().as_nanos());
                told
            }
            _ => {
                let mut told = Told::new(RefusalKind::BreakerOpen, DecidedBy::Breaker, gate.scope);
                told.cause = format!("{:?}", Some(Verdict::Unavailable));
                told.retry_at = until;
                told
            }
        }
    }

    fn too_long(&self, g: usize, at: Option<u64>) -> Told {
        let mut told = Told::new(
            RefusalKind::QueueTooLong,
            DecidedBy::Queue,
            self.gates[g].scope,
        );
        told.retry_at = at;
        told
    }

    pub(crate) fn refuse(&mut self, c: usize, told: Told) {
        self.leave(c);
        self.out.push(Out::Refuse(c, told));
    }

    fn leave(&mut self, c: usize) {
        self.calls[c].place = Place::Over;
        self.left_line(c);
    }

    /// A key without waiters owes only what was let through; without any waiter all is forgotten.
    fn left_line(&mut self, c: usize) {
        let (urgency, fair) = (self.calls[c].urgency, self.calls[c].fair);
        let waits = |c: &NaiveCall| matches!(c.place, Place::Parked | Place::Waiting { .. });
        let same = |c: &&NaiveCall| waits(c) && (c.urgency, c.fair) == (urgency, fair);
        if !self.calls.iter().any(|c| same(&c)) {
            self.ranks.nobody_of(urgency, fair);
        }
        if !self.calls.iter().any(waits) {
            self.ranks.nobody();
        }
    }
}

fn is_trial(b: &abide_core::breaker::Breaker, lease: ProbeLease) -> bool {
    // Giving a lease back frees the probe only if it is the probe's.
    let mut copy = b.clone();
    copy.give_back(lease);
    format!("{copy:?}") != format!("{b:?}")
}
