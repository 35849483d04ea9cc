//! Coming in, starting, leaving.

use abide_core::breaker::{Breaker, ProbeLease};
use abide_core::refusal::{DecidedBy, RefusalKind};
use abide_core::{Instant, Scope};

use super::gate::Wait;
use super::ranks::NaiveRank;
use super::{Asked, Model, NaiveCall, Place, Said, Told};

impl Model {
    pub(crate) fn admit(&mut self, now: u64, a: &Asked) -> Said {
        self.catch_up(now);
        let set: Vec<usize> = a.set.iter().map(|g| self.gate(*g)).collect();
        if let Some(g) = set
            .iter()
            .find(|g| a.paced && a.cost > self.gates[**g].size())
        {
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
            paced: a.paced,
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
        (call.rank.in_line, call.rank.urgency) = (true, a.urgency);
        if a.expires < now {
            return Said::Refuse(self.too_late(now, &call));
        }
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
        if set.iter().all(|g| {
            self.line(*g).is_empty() && self.wait(now, *g, call.price(), a.paced) == Wait::Nothing
        }) {
            call.rank = self.ranks.newcomer(a.urgency);
            call.rank.paced = a.paced;
            self.calls.push(call);
            self.charge(now, self.calls.len() - 1, None);
            return Said::Go;
        }
        let undo = self.ranks.clone();
        call.rank = self.ranks.arrive(a.urgency, a.fair, a.cost);
        call.rank.paced = a.paced;
        let Some(g) = self.kept_at(now, &set, a.cost, call.rank, None) else {
            self.ranks.served(call.rank, a.fair, a.cost);
            self.calls.push(call);
            self.charge(now, self.calls.len() - 1, None);
            self.serve(now);
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

    /// Its patience was over before it asked.
    fn too_late(&self, now: u64, call: &NaiveCall) -> Told {
        let turn = |g: &usize| self.expected(now, *g, call).unwrap_or(u64::MAX);
        let Some(g) = call.set.iter().copied().max_by_key(turn) else {
            return Told::new(RefusalKind::QueueTooLong, DecidedBy::Queue, Scope::Request);
        };
        let at = self.expected(now, g, call);
        self.too_long(g, at.map(|at| at.max(call.not_before)))
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
        let (paid, cost, paced) = (call.paid.clone(), call.cost as u32, call.paced);
        for (p, _) in paid.into_iter().filter(|_| paced) {
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
}

fn is_trial(b: &Breaker, lease: ProbeLease) -> bool {
    // Giving a lease back frees the probe only if it is the probe's.
    let mut copy = b.clone();
    copy.give_back(lease);
    format!("{copy:?}") != format!("{b:?}")
}
