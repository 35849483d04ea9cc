//! What goes past the gates: sends that a mode lets by, and outcomes met elsewhere.
//!
//! Both are sends all the same. They are paid for and judged like any other, so that whoever
//! does wait knows what they did to the provider.

use super::entry::{Entry, State};
use super::{Event, Outcome, Pass, Provider, Request};
use crate::finding::Finding;
use crate::gate::{Block, GateSet};
use crate::policy::Mode;
use crate::time::Instant;

impl Provider {
    /// Lets a request go at once, whatever its gates say; it has been stamped as sent. In
    /// [`Mode::Shadow`] what it would have waited for is told.
    #[inline(never)]
    pub(super) fn let_by(&mut self, now: Instant, request: &Request) -> Pass {
        let (set, len) = self.resolve_set(&request.gates);
        let entry = Entry::new(request, set, len);
        if self.policy.mode == Mode::Shadow
            && let Some(event) = self.would_wait(now, &entry)
        {
            self.emit(event);
        }
        self.order += 1;
        let order = self.order;
        self.on_the_wire(now, entry, order)
    }

    /// Takes in an outcome that was met elsewhere: by a library of its own, by another program.
    ///
    /// When its request was sent is not known, so it counts as sent before everything: it opens
    /// and lengthens holds, and ends none.
    pub fn report(&mut self, now: Instant, gates: &GateSet, finding: &Finding) {
        self.catch_up(now);
        let (set, len) = self.resolve_set(gates);
        let entry = Entry::new(&Request::new(*gates), set, len);
        let pass = self.on_the_wire(now, entry, 0);
        self.settle(now, pass, &Outcome::Answered(finding.clone()));
    }

    /// Puts a request on the wire: it pays, and is nobody's probe.
    fn on_the_wire(&mut self, now: Instant, mut entry: Entry, order: u64) -> Pass {
        entry.state = State::Started;
        entry.charged = now;
        entry.sent = now;
        entry.order = order;
        entry.rank = self.ranks.newcomer(entry.urgency);
        let slot = self.entries.insert(entry);
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
            let store = gate.pace.charge(now, now, cost);
            let e = &mut self.entries[slot];
            e.paid |= 1 << i;
            e.together[i] = together;
            if store {
                self.persist(g);
            }
        }
        self.entries.pass(slot)
    }

    /// The gate at which a request would wait longest.
    fn would_wait(&self, now: Instant, entry: &Entry) -> Option<Event> {
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
        let (key, until) = blocks.max_by_key(|(_, until)| *until)?;
        Some(Event::LetBy { key, until })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{Ask, AskSource};
    use crate::gate::{GateKey, GateSpec};
    use crate::policy::ProviderPolicy;
    use crate::provider::{Action, Admit};
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
        let Admit::Go(pass) = p.admit(at(2), &Request::new(set)) else {
            panic!("it waits");
        };
        assert_eq!(events(&mut p), []);
        p.settle(at(3), pass, &Outcome::Answered(refused(at(20))));
        assert_eq!(p.closed_until(at(3), &set), Some(at(20)));
    }

    #[test]
    fn shadow_tells_what_would_have_waited() {
        let (mut p, set) = provider(Mode::Shadow);
        p.report(at(1), &set, &refused(at(10)));
        events(&mut p);
        assert!(matches!(p.admit(at(2), &Request::new(set)), Admit::Go(_)));
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
        assert!(matches!(
            p.start(at(3), pass),
            crate::provider::Start::Go(_)
        ));
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
            let mut f = Finding::of(Verdict::Unavailable);
            f.health = crate::verdict::Health::Failure;
            p.report(at(2 + n), &set, &f);
        }
        assert_eq!(p.closed_until(at(30), &set), None);
    }
}
