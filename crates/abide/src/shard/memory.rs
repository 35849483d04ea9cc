//! What the store knows of a provider's gates: taken in when a gate is first met, or when another
//! process wrote it, and given back on the way out.

use std::sync::Arc;

use abide_core::gate::{GateSet, GateSpec, MAX_GATES};
use abide_core::provider::News;
use abide_core::{Instant, Scope};
use abide_store::{StoreKey, StoredGate};

use super::{Shard, State};
use crate::names::{Credential, GateName};
use crate::persist;
use crate::target::Target;

impl Shard {
    /// What the store knew of gates that were never met.
    pub(crate) fn unmet(&self) -> Vec<StoredGate> {
        let stored = std::mem::take(&mut self.state.lock().stored);
        stored.into_values().collect()
    }

    /// Resolves the gates of a target, restoring what the store remembers of new ones.
    pub(crate) fn gates(&self, s: &mut State, now: Instant, target: &Target) -> GateSet {
        let own = Arc::ptr_eq(&target.provider, &self.name) || target.provider == self.name;
        let gates = target.gates.iter().map(|g| (g.key, g.scope, g.cost));
        let (set, known) = s.machine.known_gates(gates);
        match known && own {
            true => set,
            false => self.new_gates(s, now, target),
        }
    }

    #[cold]
    fn new_gates(&self, s: &mut State, now: Instant, target: &Target) -> GateSet {
        let mut specs = [None; MAX_GATES];
        for (slot, gate) in specs.iter_mut().zip(&target.gates) {
            let spec = self.spec(target, gate);
            if !s.machine.knows(spec.key) {
                let stored = self.remember(s, spec, gate.part);
                self.restore(s, now, spec, &stored);
            }
            *slot = Some(spec);
        }
        s.machine.gates(now, specs.iter().flatten())
    }

    /// Takes in what the store remembers of the provider as a whole, so that its state is known
    /// before anything is sent, and keeps the rest until its gates are met.
    pub(crate) fn recall(self: &Arc<Self>, stored: Vec<StoredGate>) {
        self.with(|s, now| {
            s.stored.extend(stored.into_iter().map(|g| (g.key.gate, g)));
            let part = Credential::default();
            let names = &self.shared.names;
            let spec = names.spec(Scope::Provider, &self.name, part.bytes());
            let stored = self.remember(s, spec, part);
            self.restore(s, now, spec, &stored);
        });
    }

    /// Keeps a gate's name for the store, and drops those of gates that were forgotten.
    fn remember(&self, s: &mut State, spec: GateSpec, part: Credential) -> StoreKey {
        let stored = self
            .shared
            .names
            .stored(spec.scope, &self.name, part.bytes());
        if s.names.len() > 2 * s.machine.remembered() + 64 {
            let machine = &s.machine;
            s.names.retain(|key, _| machine.knows(*key));
        }
        let name = GateName {
            spec,
            stored: stored.clone(),
        };
        s.names.insert(spec.key, name);
        stored
    }

    fn restore(&self, s: &mut State, now: Instant, spec: GateSpec, key: &StoreKey) {
        let Some(stored) = s.stored.remove(&key.gate) else {
            return;
        };
        for news in persist::news(&stored, self.shared.clock.moment(), true) {
            s.machine.learn(now, spec, news);
        }
    }

    /// Takes in what another process wrote.
    pub(crate) fn learn(self: &Arc<Self>, stored: &StoredGate) {
        let moment = self.shared.clock.moment();
        self.with(|s, now| {
            let found = s.names.values().find(|n| n.stored.gate == stored.key.gate);
            let Some(spec) = found.map(|n| n.spec) else {
                s.stored.insert(stored.key.gate, stored.clone());
                return;
            };
            for news in persist::news(stored, moment, false) {
                s.machine.learn(now, spec, news);
            }
        });
    }

    /// Tells news of the whole provider: a hold that a person places or lifts, an outage.
    pub(crate) fn tell(self: &Arc<Self>, news: News) {
        self.with(|s, now| self.learn_all(s, now, news));
    }

    pub(crate) fn learn_all(&self, s: &mut State, now: Instant, news: News) {
        let provider = Credential::default();
        let names = &self.shared.names;
        let spec = names.spec(Scope::Provider, &self.name, provider.bytes());
        if !s.machine.knows(spec.key) {
            self.remember(s, spec, provider);
        }
        s.machine.learn(now, spec, news);
    }

    /// Everything to remember, for the store on the way out.
    pub(crate) fn records(&self) -> Vec<StoredGate> {
        let moment = self.shared.clock.moment();
        let state = self.state.lock();
        let records = state.machine.records(moment.now);
        records
            .iter()
            .filter_map(|r| {
                let n = state.names.get(&r.key)?;
                let key = n.stored.clone();
                Some(persist::record(key, r, u64::MAX, moment))
            })
            .collect()
    }
}
