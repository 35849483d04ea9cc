//! What the machine wants done, gathered under the lock and carried out after it is released.

use std::sync::Arc;

use abide_core::gate::GateKey;
use abide_core::lease::LeaseId;
use abide_core::pace::Window;
use abide_core::provider::{Action, Event};
use abide_store::StoredGate;
use abide_store::lend::Ask;
use tokio::runtime::Handle as Runtime;
use tokio::sync::oneshot;

use super::{Grant, Shard, State};
use crate::lending::{Lack, gate_ask};
use crate::persist;

/// What is to be carried out after the lock is released.
#[derive(Default)]
pub(super) struct Deeds {
    grants: Vec<(oneshot::Sender<Grant>, Grant)>,
    puts: Vec<StoredGate>,
    events: Vec<Event>,
    lacks: Vec<Lack>,
    /// Where the store is asked from.
    runtime: Option<Runtime>,
    pub(super) wake_timer: bool,
    pub(super) start_timer: Option<Runtime>,
}

impl Shard {
    pub(super) fn note(&self, state: &mut State, deeds: &mut Deeds, action: Action) {
        match action {
            Action::Grant(ticket, pass) => {
                if let Some(tx) = state.waiters.remove(&ticket) {
                    deeds.grants.push((tx, Ok(pass)));
                }
            }
            Action::Refuse(ticket, refusal) => {
                if let Some(tx) = state.waiters.remove(&ticket) {
                    deeds.grants.push((tx, Err(refusal)));
                }
            }
            Action::Emit(event) => deeds.events.push(event),
            Action::Persist { record, revision } => {
                if let Some(n) = state.names.get(&record.key) {
                    let key = n.stored.clone();
                    let moment = self.shared.clock.moment();
                    deeds
                        .puts
                        .push(persist::record(key, &record, revision, moment));
                }
            }
            Action::Acquire {
                key,
                cost,
                ahead,
                id,
            } => self.lacks(state, deeds, key, (cost, ahead), id),
            // The store makes holds known to the processes that share it.
            _ => {}
        }
    }

    /// Gathers what one request's gates lack: they are asked for together.
    fn lacks(
        &self,
        state: &State,
        deeds: &mut Deeds,
        key: GateKey,
        price: (u32, u32),
        id: LeaseId,
    ) {
        let Some(name) = state.names.get(&key) else {
            return;
        };
        let moment = self.shared.clock.moment();
        let spec = name.spec;
        let policy = state.machine.policy().of(spec.scope, spec.class);
        let windows = policy.windows.iter().map(Window::shape);
        let probe = policy.probe_lease;
        let gate = gate_ask(name.stored.gate, windows, price, probe, moment);
        let lack = match deeds.lacks.last_mut() {
            Some(lack) if lack.id == id => lack,
            _ => {
                deeds.lacks.push(Lack {
                    id,
                    keys: Vec::new(),
                    ask: Ask {
                        provider: self.name.to_string(),
                        gates: Vec::new(),
                    },
                });
                match deeds.lacks.last_mut() {
                    Some(lack) => lack,
                    None => return,
                }
            }
        };
        lack.keys.push((key, spec));
        lack.ask.gates.push(gate);
        deeds.runtime = deeds.runtime.take().or_else(|| state.runtime.clone());
    }

    pub(super) fn carry_out(self: &Arc<Self>, deeds: Deeds) {
        for put in deeds.puts {
            self.shared.store.put(put);
        }
        for event in deeds.events {
            self.shared.tell(&self.name, event);
        }
        if let (Some(lending), Some(runtime)) = (&self.shared.lending, &deeds.runtime) {
            for lack in deeds.lacks {
                runtime.spawn(Arc::clone(lending).ask(Arc::clone(self), lack));
            }
        }
        for (tx, grant) in deeds.grants {
            // A waiter that left meanwhile has cancelled its ticket; the pass is stale.
            let _ = tx.send(grant);
        }
        if deeds.wake_timer {
            self.timer.notify_one();
        }
        if let Some(runtime) = deeds.start_timer {
            runtime.spawn(Self::time(Arc::clone(self)));
        }
    }
}
