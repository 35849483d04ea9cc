//! What goes past the gates: sends that a mode lets by, and outcomes met elsewhere.
//!
//! Both are sends all the same. They are paid for and judged like any other, so that whoever
//! does wait knows what they did to the provider.

use super::entry::{Entry, State};
use super::{Outcome, Pass, Provider, Request};
use crate::finding::Finding;
use crate::gate::{Block, GateKey, GateSet, MAX_GATES};
use crate::policy::Mode;
use crate::time::Instant;

impl Provider {
    /// Lets a request go at once, whatever its gates say. In [`Mode::Shadow`] what it would have
    /// waited for is told when it starts: a pass may be given back before.
    #[inline(never)]
    pub(super) fn let_by(&mut self, now: Instant, request: &Request) -> Pass {
        let (set, len) = self.resolve_set(&request.gates);
        let mut entry = Entry::new(request, set, len);
        if self.policy.mode == Mode::Shadow
            && let Some(would_wait) = self.would_wait(now, &entry)
        {
            entry.rare.get_or_insert_default().let_by = Some(would_wait);
        }
        entry.rank = self.ranks.newcomer(entry.urgency);
        let slot = self.entries.insert(entry);
        self.let_by_at_gates(now, slot);
        self.entries.pass(slot)
    }

    /// Takes in an outcome that was met elsewhere: by a library of its own, by another program.
    ///
    /// When its request was sent is not known, so it counts as sent before everything: it opens
    /// and lengthens holds, and ends none. How many were on the wire with it is not known either,
    /// so it proves nothing about how many may be.
    pub fn report(&mut self, now: Instant, gates: &GateSet, finding: &Finding) {
        self.catch_up(now);
        let (set, len) = self.resolve_set(gates);
        let mut entry = Entry::new(&Request::new(*gates), set, len);
        entry.rank = self.ranks.newcomer(entry.urgency);
        let slot = self.entries.insert(entry);
        self.pay_at_gates(now, slot);
        let e = &mut self.entries[slot];
        e.state = State::Started;
        (e.sent, e.together) = (now, [0; MAX_GATES]);
        let pass = self.entries.pass(slot);
        self.settle(now, pass, &Outcome::Answered(finding.clone()));
    }

    /// A request that is let by pays; where a breaker is half open and nobody tries it, it is the
    /// one that does, or a breaker that was opened would be open for ever.
    fn let_by_at_gates(&mut self, now: Instant, slot: u32) {
        self.pay_at_gates(now, slot);
        for i in 0..self.entries[slot].len() {
            let e = &self.entries[slot];
            let g = self.canonical(e.set[i]) as usize;
            let lease = match &mut self.gates[g].breaker {
                Some(b) if e.paid_at(i) && b.is_open() => b.lease(now),
                _ => None,
            };
            if let Some(lease) = lease {
                let e = &mut self.entries[slot];
                e.rare.get_or_insert_default().breakers[i] = lease.0;
            }
        }
    }

    /// Pays for a request at all its gates, whether they would let it pass or not.
    fn pay_at_gates(&mut self, now: Instant, slot: u32) {
        self.entries[slot].charged = now;
        let mut seen = Vec::new();
        for i in 0..self.entries[slot].len() {
            let g = self.claim(self.entries[slot].set[i]);
            if seen.contains(&g) {
                continue;
            }
            seen.push(g);
            let cost = self.cost_of(&self.entries[slot], g);
            let gate = &mut self.gates[g as usize];
            let together = gate.inflight.enter(now);
            let e = &mut self.entries[slot];
            e.paid |= 1 << i;
            e.together[i] = together;
            let paced = e.paced;
            if paced && self.gates[g as usize].pace.charge(now, now, cost) {
                self.persist(g);
            }
        }
    }

    /// The gate at which a request would wait longest.
    fn would_wait(&self, now: Instant, entry: &Entry) -> Option<(GateKey, Option<Instant>)> {
        let gates = entry.set[..entry.len()].iter();
        let blocks = gates.filter_map(|g| {
            let gate = &self.gates[*g as usize];
            let until = match self.would_block(now, entry, *g) {
                Block::None => return None,
                Block::Until(at) | Block::Probe(at) => Some(at),
                Block::Return | Block::Lease => None,
            };
            Some((gate.key, until))
        });
        blocks.max_by_key(|(_, until)| *until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::breaker::BreakerPolicy;
    use crate::finding::{Ask, AskSource};
    use crate::gate::GateSpec;
    use crate::policy::ProviderPolicy;
    use crate::provider::{Action, Admit, Event, Start};
    use crate::verdict::{GateClass, Scope, Verdict};

    fn at(secs: u64) -> Instant {
        Instant::from_secs(secs)
    }

    fn refused(until: Instant) -> Finding {
        let mut f = Finding::of(Verdict::RateLimited);
        (f.scope, f.holds) = (Scope::Provider, true);
        f.asks.push(Ask {
            until,
            source: AskSource::RetryAfter,
            scope: Scope::Provider,
            class: GateClass::PLAIN,
        });
        f
    }

    fn provider(mode: Mode) -> (Provider, GateSet) {
        let policy = ProviderPolicy {
            mode,
            ..ProviderPolicy::default()
        };
        let mut p = Provider::new(policy, 7);
        let spec = GateSpec::new(GateKey(1), Scope::Provider);
        let set = p.gates(at(1), [&spec]);
        (p, set)
    }

    fn sent(p: &mut Provider, now: Instant, set: GateSet) -> Pass {
        let Admit::Go(pass) = p.admit(now, &Request::new(set)) else {
            panic!("it waits");
        };
        let Start::Go(pass) = p.start(now, pass) else {
            panic!("it is sent back");
        };
        pass
    }

    fn failed() -> Finding {
        let mut f = Finding::of(Verdict::Unavailable);
        f.health = crate::verdict::Health::Failure;
        f
    }

    fn events(p: &mut Provider) -> Vec<Event> {
        let mut all = Vec::new();
        while let Some(action) = p.poll() {
            if let Action::Emit(event) = action {
                all.push(event);
            }
        }
        all
    }

    #[test]
    fn what_is_reported_holds_and_ends_nothing() {
        let (mut p, set) = provider(Mode::Enforce);
        p.report(at(1), &set, &refused(at(10)));
        assert_eq!(p.closed_until(at(2), &set), Some(at(10)));
        p.report(at(2), &set, &Finding::success());
        assert_eq!(p.closed_until(at(3), &set), Some(at(10)));
        p.report(at(11), &set, &Finding::success());
        assert!(p.view(at(11))[0].in_episode, "a probe is still to go");
        assert_eq!(p.view(at(11))[0].in_flight, 0);
    }

    #[test]
    fn a_ban_of_unknown_length_holds_for_a_day() {
        let (mut p, set) = provider(Mode::Enforce);
        let mut f = Finding::of(Verdict::Banned);
        (f.scope, f.holds) = (Scope::Provider, true);
        p.report(at(1), &set, &f);
        assert_eq!(p.closed_until(at(2), &set), Some(at(1 + 24 * 3600)));
        let (mut p, set) = provider(Mode::Enforce);
        f.wait = Some(std::time::Duration::from_secs(600));
        p.report(at(1), &set, &f);
        assert_eq!(p.closed_until(at(2), &set), Some(at(601)));
    }

    #[test]
    fn observe_holds_nobody_back_and_keeps_the_hold() {
        let (mut p, set) = provider(Mode::Observe);
        p.report(at(1), &set, &refused(at(10)));
        events(&mut p);
        let pass = sent(&mut p, at(2), set);
        assert_eq!(events(&mut p), []);
        p.settle(at(3), pass, &Outcome::Answered(refused(at(20))));
        assert_eq!(p.closed_until(at(3), &set), Some(at(20)));
    }

    #[test]
    fn shadow_tells_what_would_have_waited() {
        let (mut p, set) = provider(Mode::Shadow);
        p.report(at(1), &set, &refused(at(10)));
        events(&mut p);
        // Leave that is given back is no send, and nothing was let by.
        let Admit::Go(pass) = p.admit(at(2), &Request::new(set)) else {
            panic!("it waits");
        };
        p.settle(at(2), pass, &Outcome::NotSent);
        assert_eq!(events(&mut p), []);
        let _pass = sent(&mut p, at(2), set);
        let until = Some(at(10));
        assert_eq!(
            events(&mut p),
            [Event::LetBy {
                key: GateKey(1),
                until
            }]
        );
    }

    #[test]
    fn a_mode_that_changes_frees_who_waits_and_holds_again() {
        let (mut p, set) = provider(Mode::Enforce);
        p.report(at(1), &set, &refused(at(100)));
        let Admit::Waiting(ticket) = p.admit(at(2), &Request::new(set)) else {
            panic!("it goes");
        };
        let mut policy = p.policy().clone();
        policy.mode = Mode::Observe;
        p.change_policy(at(3), policy);
        let mut granted = None;
        while let Some(action) = p.poll() {
            if let Action::Grant(t, pass) = action {
                assert_eq!(t, ticket);
                granted = Some(pass);
            }
        }
        let pass = granted.expect("it waits on");
        assert!(matches!(p.start(at(3), pass), Start::Go(_)));
        let mut policy = p.policy().clone();
        policy.mode = Mode::Enforce;
        p.change_policy(at(4), policy);
        assert!(matches!(
            p.admit(at(5), &Request::new(set)),
            Admit::Waiting(_)
        ));
        assert_eq!(p.closed_until(at(5), &set), Some(at(100)));
    }

    #[test]
    fn a_changed_breaker_and_budget_are_in_force_at_once() {
        let (mut p, set) = provider(Mode::Enforce);
        let mut policy = p.policy().clone();
        policy.breaker = None;
        p.change_policy(at(2), policy);
        for n in 0..20 {
            p.report(at(2 + n), &set, &failed());
        }
        assert_eq!(p.closed_until(at(30), &set), None);
    }

    #[test]
    fn a_breaker_that_a_rehearsal_opened_closes_again() {
        let (mut p, set) = provider(Mode::Shadow);
        for n in 1..=5 {
            let pass = sent(&mut p, at(n), set);
            p.settle(at(n), pass, &Outcome::Answered(failed()));
        }
        assert_eq!(p.closed_until(at(6), &set), Some(at(35)));
        let pass = sent(&mut p, at(40), set);
        p.settle(at(40), pass, &Outcome::Answered(Finding::success()));
        events(&mut p);
        let _pass = sent(&mut p, at(41), set);
        assert_eq!(events(&mut p), [], "nothing would have waited");
        for n in 41..=45 {
            let pass = sent(&mut p, at(n), set);
            p.settle(at(n), pass, &Outcome::Answered(failed()));
        }
        assert_eq!(p.closed_until(at(46), &set), Some(at(75)), "it opens anew");
    }

    #[test]
    fn what_is_reported_proves_nothing_about_how_many_may_be_out() {
        let (mut p, set) = provider(Mode::Enforce);
        let _one = sent(&mut p, at(1), set);
        let _two = sent(&mut p, at(1), set);
        for n in 2..20 {
            p.report(at(n), &set, &Finding::success());
        }
        let third = p.admit(at(30), &Request::new(set));
        assert!(matches!(third, Admit::Waiting(_)), "none came back");
    }

    #[test]
    fn a_probe_of_the_old_policy_is_not_the_new_ones() {
        let (mut p, set) = provider(Mode::Enforce);
        for n in 1..=5 {
            let pass = sent(&mut p, at(n), set);
            p.settle(at(n), pass, &Outcome::Answered(failed()));
        }
        let old = sent(&mut p, at(40), set);
        let mut policy = p.policy().clone();
        policy.breaker = None;
        p.change_policy(at(41), policy.clone());
        policy.breaker = Some(BreakerPolicy::default());
        p.change_policy(at(42), policy.clone());
        for n in 42..47 {
            let pass = sent(&mut p, at(n), set);
            p.settle(at(n), pass, &Outcome::Answered(failed()));
        }
        let _new = sent(&mut p, at(80), set);
        p.settle(at(81), old, &Outcome::Answered(Finding::success()));
        let next = p.admit(at(82), &Request::new(set));
        assert!(matches!(next, Admit::Waiting(_)), "the new probe is out");
        // What only changes goes on as it was.
        let mut changed = policy;
        changed.breaker.as_mut().unwrap().in_a_row = 9;
        let (mut p, set) = provider(Mode::Enforce);
        for n in 1..=5 {
            let pass = sent(&mut p, at(n), set);
            p.settle(at(n), pass, &Outcome::Answered(failed()));
        }
        p.change_policy(at(6), changed);
        assert_eq!(p.closed_until(at(7), &set), Some(at(35)));
    }
}
