//! Standing in line, moving on, paying and getting back.

use abide_core::refusal::{DecidedBy, RefusalKind};
use abide_core::reserve::Reserve;
use abide_core::{Instant, Scope};

use super::gate::{NaiveLease, Wait};
use super::{Model, NaiveCall, Out, Place, Told};

impl Model {
    pub(crate) fn catch_up(&mut self, now: u64) {
        let mut parked: Vec<usize> = (0..self.calls.len())
            .filter(|i| self.calls[*i].place == Place::Parked && self.calls[*i].not_before <= now)
            .collect();
        parked.sort_by_key(|i| (self.calls[*i].not_before, self.calls[*i].parked));
        for c in parked {
            let call = &self.calls[c];
            let mut rank = self.ranks.arrive(call.urgency, call.fair, call.cost);
            rank.paced = call.paced;
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
    pub(crate) fn line_up(&mut self, now: u64, c: usize) {
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
            let movable = heads.filter(|(g, c)| {
                let call = &self.calls[*c];
                self.wait(now, *g, call.price(), call.paced) == Wait::Nothing
            });
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
            let call = &self.calls[head];
            if self.wait(now, g, call.price(), call.paced) != Wait::Lease {
                continue;
            }
            let early = |l: &NaiveLease| l.not_before > now || l.asked.is_some();
            if self.gates[g].lease.as_ref().is_some_and(early) {
                continue;
            }
            // All that its gates lack.
            let (set, cost, paced) = (call.set.clone(), call.cost, call.paced);
            for g in set {
                let g = self.gate(g);
                let lacks = self.gates[g].lacks(now, cost, paced);
                if lacks
                    && let Some(l) = &mut self.gates[g].lease
                    && l.asked.is_none()
                {
                    l.asked = Some(None);
                    self.out.push(Out::Acquire(g));
                }
            }
        }
    }

    pub(crate) fn grant(&mut self, now: u64, c: usize, stood: Option<(usize, u64)>) {
        let (rank, fair, cost) = (self.calls[c].rank, self.calls[c].fair, self.calls[c].cost);
        self.ranks.served(rank, fair, cost);
        self.calls[c].place = Place::Granted;
        self.left_line(c);
        self.charge(now, c, stood);
        self.out.push(Out::Grant(c));
    }

    pub(crate) fn charge(&mut self, now: u64, c: usize, stood: Option<(usize, u64)>) {
        self.grants += 1;
        let grant = self.grants;
        let (cost, paced) = (self.calls[c].cost, self.calls[c].paced);
        let (mut paid, mut probes, mut trials, mut lent) = (vec![], vec![], vec![], vec![]);
        for g in self.calls[c].set.clone() {
            let g = self.gate(g);
            if paid.iter().any(|(p, _)| *p == g) {
                continue;
            }
            let out = self.out_at(g);
            paid.push((g, out + 1));
            let trip = self.trip;
            let lag = ((trip.most - trip.least) / 4 * 3).min(trip.least / 2);
            self.gates[g].lag = lag;
            if let Some(gentle) = &mut self.gates[g].gentle
                && out == 0
                && gentle.allowed == 2
            {
                gentle.begin(now);
            }
            if paced {
                let due = match stood {
                    Some((at, since)) if at == g => {
                        self.gates[g].slot(now, self.calls[c].price(), since)
                    }
                    _ => now,
                };
                lent.extend(self.pay_pace(g, grant, now, due, cost));
            }
            if paced {
                let stood = stood.is_some_and(|(at, _)| at == g);
                self.pass_over(g, self.calls[c].urgency, cost, stood);
            }
            let lapses = {
                let policy = self.policy.gate(self.gates[g].scope);
                now + policy.probe_lease.as_nanos() as u64
            };
            let gate = &mut self.gates[g];
            if let Some(b) = &mut gate.breaker
                && let Some(lease) = b.lease(Instant::from_nanos(now))
            {
                trials.push((g, lease));
            }
            if let Some(e) = &mut gate.episode {
                e.probe = Some((grant, lapses));
                probes.push(g);
                if let Some(l) = &mut gate.lease {
                    l.probes = 0;
                }
            }
        }
        let call = &mut self.calls[c];
        call.place = Place::Granted;
        (call.grant, call.charged) = (grant, now);
        (call.paid, call.probes, call.trials, call.lent) = (paid, probes, trials, lent);
    }

    /// A call of this urgency goes past those who stand at `g`. At nine units for each that the
    /// first of a less urgent kind costs, that one is next. What was kept for the urgent is
    /// nobody's share.
    fn pass_over(&mut self, g: usize, urgency: u8, cost: u64, stood: bool) {
        if self.line(g).is_empty() {
            return;
        }
        self.gates[g].passed[usize::from(urgency)] = 0;
        for u in urgency + 1..8 {
            let stands = |i: &usize| {
                let call = &self.calls[*i];
                call.urgency == u && call.paced && call.rank.in_line
            };
            let first = self.line(g).into_iter().find(stands);
            let past = stood || self.gates[g].reserve == Reserve::Unit;
            let passed = &mut self.gates[g].passed[usize::from(u)];
            match first {
                None => *passed = 0,
                Some(_) if past => *passed += cost,
                Some(_) => {}
            }
            if let Some(first) = first
                && *passed >= 9 * self.calls[first].cost.max(1)
            {
                *passed = 0;
                self.calls[first].rank.in_line = false;
            }
        }
    }

    /// What keeps to the pace pays for it; with the lease it was paid from.
    fn pay_pace(
        &mut self,
        g: usize,
        grant: u64,
        now: u64,
        due: u64,
        cost: u64,
    ) -> Option<(usize, u64)> {
        let gate = &mut self.gates[g];
        gate.free_at = due;
        for w in &mut gate.windows {
            w.pay(grant, now, due, cost);
        }
        if let Some(s) = &mut gate.spacing
            && cost > 0
        {
            s.pay(now, due);
        }
        let l = gate.lease.as_mut()?;
        l.permits = l.permits.saturating_sub(cost);
        Some((g, l.generation))
    }

    /// One request less is out at `g`.
    pub(crate) fn vacate(&mut self, now: u64, c: usize, paid: usize) {
        let g = self.gate(paid);
        let (out, gate) = (self.out_at(g), &self.gates[g]);
        if out >= gate.places() || gate.provisional {
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
            for w in gate.windows.iter_mut().filter(|_| call.paced) {
                w.give_back(call.grant, call.charged, call.cost);
            }
            if let Some(s) = &mut gate.spacing
                && call.cost > 0
                && call.paced
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

    /// A key without waiters owes only what was let through; without any waiter all is forgotten.
    pub(crate) fn left_line(&mut self, c: usize) {
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

    pub(crate) fn leave(&mut self, c: usize) {
        self.calls[c].place = Place::Over;
        self.left_line(c);
    }

    pub(crate) fn refuse(&mut self, c: usize, told: Told) {
        self.leave(c);
        self.out.push(Out::Refuse(c, told));
    }
}
