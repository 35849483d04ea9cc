//! What the machine wants done, gathered under the lock and carried out after it is released.

use std::sync::Arc;

use abide_core::provider::{Action, Event};
use abide_store::StoredGate;
use tokio::runtime::Handle as Runtime;
use tokio::sync::oneshot;

use super::{Grant, Shard, State};
use crate::persist;

/// What is to be carried out after the lock is released.
#[derive(Default)]
pub(super) struct Deeds {
    grants: Vec<(oneshot::Sender<Grant>, Grant)>,
    puts: Vec<StoredGate>,
    events: Vec<Event>,
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
            // The store makes holds known to the processes that share it; leases need one that
            // lends permits.
            _ => {}
        }
    }

    pub(super) fn carry_out(self: &Arc<Self>, deeds: Deeds) {
        for put in deeds.puts {
            self.shared.store.put(put);
        }
        for event in deeds.events {
            self.shared.tell(&self.name, event);
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
