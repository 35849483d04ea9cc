//! Which gates exist: made on demand, forgotten when forgetting changes nothing.
//!
//! A gate with a hold, an episode, a waiter, a pass or an unspent window is never evicted. When
//! the table is full of such gates, newcomers share one overflow gate a scope: too strict for
//! some, never too lax.

use super::Provider;
use crate::breaker::Breaker;
use crate::gate::{Alias, Gate, GateId, GateKey, GateSet, GateSpec};
use crate::time::Instant;
use crate::verdict::Scope;

/// How many gates are looked at for one to forget, before the overflow gate is taken: bounds the
/// cost of a newcomer.
const LOOKS: usize = 64;

impl Provider {
    /// Resolves the gates of a request, making those that are new. At most
    /// [`MAX_GATES`](crate::gate::MAX_GATES); further ones are ignored.
    pub fn gates<'a>(
        &mut self,
        now: Instant,
        specs: impl IntoIterator<Item = &'a GateSpec>,
    ) -> GateSet {
        let mut set = GateSet::empty();
        for spec in specs {
            let g = self.gate(now, *spec);
            set.push(GateId {
                index: g,
                generation: self.gates[g as usize].generation,
                scope: spec.scope,
                weight: spec.weight.max(1),
            });
        }
        set
    }

    /// The same of gates that were met before, by key, scope and weight: none is made. Tells
    /// whether all of them are known; else the set lacks some.
    #[inline]
    pub fn known_gates(
        &self,
        gates: impl IntoIterator<Item = (GateKey, Scope, u32)>,
    ) -> (GateSet, bool) {
        let mut set = GateSet::empty();
        for (key, scope, weight) in gates {
            let Some(g) = self.index.get(&key) else {
                return (set, false);
            };
            let g = self.canonical(*g);
            set.push(GateId {
                index: g,
                generation: self.gates[g as usize].generation,
                scope,
                weight: weight.max(1),
            });
        }
        (set, true)
    }

    /// Whether forgetting this provider would change nothing.
    pub fn is_idle(&self, now: Instant) -> bool {
        let idle = |g: &Gate| !g.alias.is_none() || g.is_idle(now) && g.learned().is_none();
        self.waiting == 0 && self.gates.iter().all(idle)
    }

    /// Whether forgetting this provider would let nobody through who is kept waiting now: nobody
    /// is on the wire or in line, nothing is closed, and every limit has all its room. What an
    /// episode that is over or a learner knows would be lost; it begins as gently as a new one.
    pub fn is_spent(&self, now: Instant) -> bool {
        let spent = |g: &Gate| !g.alias.is_none() || g.is_spent(now);
        self.waiting == 0 && self.gates.iter().all(spent)
    }

    /// How many gates are remembered.
    pub fn remembered(&self) -> usize {
        self.index.len()
    }

    /// Whether this gate is known already.
    pub fn knows(&self, key: GateKey) -> bool {
        self.index.contains_key(&key)
    }

    #[inline]
    pub(super) fn gate(&mut self, now: Instant, spec: GateSpec) -> u32 {
        if let Some(g) = self.index.get(&spec.key) {
            return self.canonical(*g);
        }
        self.new_gate(now, spec)
    }

    fn new_gate(&mut self, now: Instant, spec: GateSpec) -> u32 {
        if self.index.len() >= self.policy.remembered_gates && !self.forget_one(now) {
            return self.overflow_gate(spec.scope);
        }
        let g = self.place(spec);
        self.index.insert(spec.key, g);
        g
    }

    fn place(&mut self, spec: GateSpec) -> u32 {
        let policy = self.policy.of(spec.scope, spec.class);
        let breaker = match spec.scope {
            Scope::Provider => self
                .policy
                .breaker
                .clone()
                .map(|p| Box::new(Breaker::new(p))),
            _ => None,
        };
        let generation = |old: u32| old.wrapping_add(1);
        if let Some(i) = self.free_gates.pop() {
            let old = self.gates[i as usize].generation;
            self.gates[i as usize] = Gate::new(spec, generation(old), policy);
            self.gates[i as usize].breaker = breaker;
            return i;
        }
        let mut gate = Gate::new(spec, 1, policy);
        gate.breaker = breaker;
        self.gates.push(gate);
        u32::try_from(self.gates.len() - 1).unwrap_or(u32::MAX)
    }

    /// The gate that newcomers share when the table is full.
    pub(super) fn overflow_gate(&mut self, scope: Scope) -> u32 {
        if let Some(g) = self.overflow[scope as usize] {
            return g;
        }
        let key = GateKey(crate::dice::mix(self.instance ^ scope as u64));
        let g = self.place(GateSpec::new(key, scope));
        self.gates[g as usize].users = 1;
        self.overflow[scope as usize] = Some(g);
        g
    }

    /// Looks, from where it stopped last, for a gate that can be forgotten.
    fn forget_one(&mut self, now: Instant) -> bool {
        let len = self.gates.len();
        for _ in 0..LOOKS.min(len) {
            self.hand = (self.hand + 1) % len;
            let gate = &self.gates[self.hand];
            let unused = match gate.alias.get() {
                Some(_) => gate.users == 0,
                None => gate.is_idle(now),
            };
            if unused && self.index.contains_key(&gate.key) && !self.is_target(self.hand) {
                self.forget(self.hand);
                return true;
            }
        }
        false
    }

    /// Whether another slot turned out to be this one.
    fn is_target(&self, g: usize) -> bool {
        self.gates[g].aliased > 0
    }

    fn forget(&mut self, g: usize) {
        let slot = u32::try_from(g).unwrap_or(u32::MAX);
        let (key, alias) = (self.gates[g].key, self.gates[g].alias.get());
        if let Some(into) = alias {
            let into = &mut self.gates[into as usize];
            into.aliased = into.aliased.saturating_sub(1);
        }
        self.index.remove(&key);
        self.buckets.retain(|_, target| *target != slot);
        let gate = &mut self.gates[g];
        gate.generation = gate.generation.wrapping_add(1);
        gate.alias = Alias::NONE;
        self.free_gates.push(slot);
    }
}
