//! News from outside: other processes, the store, a person.
//!
//! Holds merge by the later end within one id. A lift is remembered for as long as the hold
//! would have lasted, so that an echo of it from another process does not bring it back.

use super::{Action, Event, GateRecord, News, Provider};
use crate::allowance::Allowance;
use crate::breaker::Breaker;
use crate::budget::Budget;
use crate::gate::{Episode, GateKey, GateSpec};
use crate::hold::{Hold, HoldId, SetBy};
use crate::lease::LeaseId;
use crate::policy::ProviderPolicy;
use crate::time::Instant;
use crate::verdict::{GateClass, Scope};

/// The most lifts remembered: more echoes than that are never under way.
const LIFTED: usize = 1024;

impl Provider {
    /// Takes in news about a gate, making it if it is not known yet.
    pub fn learn(&mut self, now: Instant, spec: GateSpec, news: News) {
        let g = self.gate(now, spec);
        match news {
            News::Held {
                id,
                until,
                cause,
                ask,
                set_by,
                probes,
            } => {
                if !id.is_some_and(|id| self.is_lifted(now, id)) {
                    let id = id.unwrap_or_else(|| HoldId(self.next_id()));
                    self.close_as(now, g, id, until, cause, ask, probes, set_by, None);
                }
            }
            News::Health {
                rung,
                failures,
                last_success,
            } => self.learn_health(now, g, rung, failures, last_success),
            News::Outage(news) => self.hear(now, news),
            News::Lifted { id } => self.lift(now, g, id),
            News::Leased {
                id,
                permits,
                until,
                probes,
            } => self.lent(now, g, id, permits, until, probes),
            News::LeaseLost { id, not_before } => {
                if let Some(l) = &mut self.gates[g as usize].lease {
                    l.lost(id, not_before);
                }
            }
            News::Restored {
                rung,
                interval,
                learned,
                failures,
                last_success,
                counts,
            } => {
                self.order += 1;
                let order = self.order;
                let policy = self.policy_of(g).clone();
                let gate = &mut self.gates[g as usize];
                gate.failures = gate.failures.max(failures);
                gate.last_success = gate.last_success.max(last_success);
                if let Some(rung) = rung {
                    // The hold itself may have been told before its rung.
                    let new = || Box::new(Episode::new(order, rung));
                    let episode = gate.episode.get_or_insert_with(new);
                    episode.rung = episode.rung.max(rung);
                }
                gate.remember(now, &policy, self.clock, interval, learned);
                for (window, used, end) in counts {
                    gate.pace.restore(now, window, used, end);
                }
            }
        }
        self.gates[g as usize].free_at = now;
        self.mark(g);
        self.catch_up(now);
        self.serve(now);
    }

    fn lent(
        &mut self,
        now: Instant,
        g: u32,
        id: LeaseId,
        permits: u32,
        until: Instant,
        probes: Option<Instant>,
    ) {
        self.order += 1;
        let order = self.order;
        let gate = &mut self.gates[g as usize];
        let Some(l) = &mut gate.lease else {
            return;
        };
        // Where an episode is under way that only others know of, our next request is its probe all
        // the same. Where only we know of one, it is ours to probe as well.
        if probes.is_some() {
            let new = || Box::new(Episode::new(order, 0));
            gate.episode.get_or_insert_with(new);
        }
        l.granted(now, id, permits, until, probes.unwrap_or(until));
    }

    /// What is left of a lease that lapsed: permits, and whether its probe was not let out. They are
    /// the store's again.
    pub fn unspent(&mut self, key: GateKey, id: LeaseId) -> (u32, bool) {
        let Some(&g) = self.index.get(&key) else {
            return (0, false);
        };
        let g = self.canonical(g);
        let lease = self.gates[g as usize].lease.as_mut();
        lease.map_or((0, false), |l| l.unspent(id))
    }

    /// Failures in a row are those of all processes, and so is the success that ends the row.
    fn learn_health(
        &mut self,
        now: Instant,
        g: u32,
        rung: Option<u32>,
        failures: u32,
        last_success: Option<Instant>,
    ) {
        let gate = &mut self.gates[g as usize];
        let held = gate.hold.as_ref().is_some_and(|h| h.is_active(now));
        if failures > 0 {
            // A hold in force is younger than any success.
            if held || last_success >= gate.last_success {
                gate.failures = gate.failures.max(failures);
                if let (Some(ep), Some(rung)) = (&mut gate.episode, rung) {
                    ep.rung = ep.rung.max(rung);
                }
            }
        } else if last_success > gate.last_success && !held {
            let opened = gate.hold.as_ref().map(|h| h.since);
            if opened < last_success {
                gate.failures = 0;
                gate.episode = None;
            }
        }
        gate.last_success = gate.last_success.max(last_success);
    }

    /// Puts a new policy in force: limits that did not change keep their balance, changed ones
    /// scale, holds stay.
    pub fn change_policy(&mut self, now: Instant, policy: ProviderPolicy) {
        let old = std::mem::replace(&mut self.policy, policy);
        if old.budget != self.policy.budget {
            self.budget = Budget::new(self.policy.budget.clone());
        }
        if old.allowance != self.policy.allowance {
            self.allowance = self.policy.allowance.map(Allowance::new);
        }
        let freed = old.mode != self.policy.mode;
        if self.policy.local {
            self.come_online(now);
        }
        for g in 0..self.gates.len() {
            let (scope, class) = (self.gates[g].scope, self.gates[g].class);
            let p = self.policy.of(scope, class);
            let changed = p != old.of(scope, class);
            if changed {
                self.gates[g].pace.change(now, &p.windows);
                match (crate::gate::lease(p), &mut self.gates[g].lease) {
                    (Some(_), Some(l)) => l.change(p.lease_ahead, p.leased),
                    (new, old) => *old = new,
                }
                self.gates[g].planned = p.plans();
                self.gates[g].bound(now, p);
            }
            // Gates of hosts are the provider's too.
            let broken = scope == Scope::Provider && old.breaker != self.policy.breaker;
            if broken {
                self.change_breaker(g);
            }
            if changed || freed || broken {
                self.gates[g].free_at = now;
                self.mark(u32::try_from(g).unwrap_or(u32::MAX));
            }
        }
        self.catch_up(now);
        self.serve(now);
    }

    /// A breaker whose policy changes goes on where it was; one that comes anew begins its leases
    /// where none of an earlier one's is under way.
    fn change_breaker(&mut self, g: usize) {
        let policy = self.policy.breaker.clone();
        let first = self.next_id() as u32;
        let breaker = &mut self.gates[g].breaker;
        match (policy, breaker.as_deref_mut()) {
            (Some(policy), Some(b)) => b.change(policy),
            (Some(policy), None) => *breaker = Some(Box::new(Breaker::starting(policy, first))),
            (None, _) => *breaker = None,
        }
    }

    fn lift(&mut self, now: Instant, g: u32, id: Option<HoldId>) {
        let gate = &mut self.gates[g as usize];
        let key = gate.key;
        let Some(hold) = gate.hold.as_deref().copied().filter(|h| h.is_active(now)) else {
            if let Some(id) = id {
                // The hold may still be on its way here.
                self.bury(now, id, now.after(self.policy.provider.hold_max));
            }
            return;
        };
        if let Some(id) = id
            && id != hold.id
        {
            return self.bury(now, id, now.after(self.policy.provider.hold_max));
        }
        gate.hold = None;
        self.order += 1;
        let order = self.order;
        // What a person lifts is tried by one request first, whoever had closed it.
        let rung = gate.episode.as_ref().map_or(0, |e| e.rung);
        match &mut gate.episode {
            Some(ep) => ep.held_again(order, rung),
            slot => *slot = Some(Box::new(Episode::new(order, rung))),
        }
        self.emit(Event::HoldLifted { key, id: hold.id });
        self.lifted_here(now, g, hold);
    }

    /// Sees to it that no echo of a hold that was lifted here brings it back.
    pub(super) fn lifted_here(&mut self, now: Instant, g: u32, hold: Hold) {
        self.bury(now, hold.id, hold.until);
        self.persist_hold(
            g,
            Some(Hold {
                lifted: true,
                ..hold
            }),
        );
        self.announce(g);
    }

    fn is_lifted(&self, now: Instant, id: HoldId) -> bool {
        self.lifted.iter().any(|(l, end)| *l == id && *end > now)
    }

    /// Remembers that a hold was lifted, for as long as it would have lasted.
    fn bury(&mut self, now: Instant, id: HoldId, end: Instant) {
        self.lifted.retain(|(_, e)| *e > now);
        if let Some((_, e)) = self.lifted.iter_mut().find(|(l, _)| *l == id) {
            *e = end.max(*e);
            return;
        }
        if self.lifted.len() >= LIFTED {
            // The one that would be forgotten first goes first.
            let soonest = self.lifted.iter().enumerate().min_by_key(|(_, (_, e))| *e);
            if let Some((i, _)) = soonest {
                self.lifted.swap_remove(i);
            }
        }
        self.lifted.push((id, end));
    }

    /// Wants a gate's state written.
    pub(super) fn persist(&mut self, g: u32) {
        let hold = self.gates[g as usize].hold.as_deref().copied();
        self.persist_hold(g, hold);
    }

    fn persist_hold(&mut self, g: u32, hold: Option<Hold>) {
        let gate = &mut self.gates[g as usize];
        gate.revision += 1;
        let revision = gate.revision;
        let record = Box::new(GateRecord {
            key: gate.key,
            scope: gate.scope,
            hold,
            rung: gate.episode.as_ref().map(|e| e.rung),
            interval: gate.learned(),
            learned: gate.limit(),
            failures: gate.failures,
            last_success: gate.last_success,
            counts: gate.pace.stored().collect(),
        });
        self.actions.push_back(Action::Persist { record, revision });
    }

    /// Wants the other processes told of a gate's hold.
    pub(super) fn announce(&mut self, g: u32) {
        let gate = &self.gates[g as usize];
        let (key, hold, revision) = (gate.key, gate.hold.as_deref().copied(), gate.revision);
        self.actions.push_back(Action::Announce {
            key,
            hold,
            revision,
        });
    }

    /// What is to be remembered of every gate that has something to remember: for the store, on
    /// the way out.
    pub fn records(&self, now: Instant) -> Vec<GateRecord> {
        let all = self
            .gates
            .iter()
            .filter(|g| g.alias.is_none() && self.index.contains_key(&g.key))
            // A breaker is this process's own.
            .filter(|g| g.class != GateClass::HOST);
        all.map(|gate| GateRecord {
            key: gate.key,
            scope: gate.scope,
            hold: gate.hold.as_deref().copied().filter(|h| h.is_active(now)),
            rung: gate.episode.as_ref().map(|e| e.rung),
            interval: gate.learned(),
            learned: gate.limit(),
            failures: gate.failures,
            last_success: gate.last_success,
            counts: gate.pace.stored().collect(),
        })
        .filter(|r| {
            r.hold.is_some()
                || r.rung.is_some()
                || r.interval.is_some()
                || r.learned.is_some()
                || r.failures > 0
                || r.last_success.is_some()
                || !r.counts.is_empty()
        })
        .collect()
    }

    /// A hold placed by a person: closes the gate until `until`.
    pub fn place_hold(&mut self, now: Instant, spec: GateSpec, until: Instant) {
        self.learn(
            now,
            spec,
            News::Held {
                id: None,
                until,
                cause: crate::verdict::Verdict::Unavailable,
                ask: None,
                set_by: SetBy::Operator,
                probes: true,
            },
        );
    }

    /// The key of the gate that `key` turned out to be.
    pub fn resolved(&self, key: GateKey) -> Option<GateKey> {
        self.index
            .get(&key)
            .map(|g| self.gates[self.canonical(*g) as usize].key)
    }
}
