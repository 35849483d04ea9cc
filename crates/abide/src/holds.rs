//! Holds as a person sees, sets and lifts them.
//!
//! All that stand are listed: of gates that are in use, and of those that only the store remembers
//! until somebody passes them again. A person places a hold on a provider as a whole, with a reason
//! for whoever finds it later; lengthens any; and lifts any, after which one probe goes. The reason
//! is kept beside the hold (`abide_store::HoldNote`): losing one opens and closes nothing.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use abide_core::hold::{Hold, HoldId, SetBy};
use abide_core::provider::News;
use abide_core::{AskSource, Moment, Scope, Verdict, WallTime};
use abide_store::{HoldNote, StoredGate, StoredHold};

use crate::governor::Governor;
use crate::hosts::is_part;
use crate::shard::{Handle, Shard, State};

/// A hold as it stands, on the wall clock.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HoldState {
    /// Names it.
    pub id: HoldId,
    /// The provider.
    pub provider: Arc<str>,
    /// What it covers.
    pub scope: Scope,
    /// Why: what was last heard that made it longer.
    pub cause: Verdict,
    /// Until when the provider asked to stay away, and where it said so.
    pub ask: Option<(WallTime, AskSource)>,
    /// When it began.
    pub since: WallTime,
    /// Closed until then.
    pub until: WallTime,
    /// Who set it.
    pub set_by: SetBy,
    /// What the person said who set or lengthened it.
    pub reason: Option<String>,
}

impl Governor {
    /// Every hold that stands, in the order of providers and ends.
    pub fn holds(&self) -> Vec<HoldState> {
        self.meet_held();
        let mut holds: Vec<_> = self.all().iter().flat_map(Shard::holds).collect();
        let notes = self.notes();
        for hold in &mut holds {
            if let Some(note) = notes.get(&hold.id) {
                note.clone_into(&mut hold.reason);
                // What the store told of it, somebody had told the store.
                if matches!(hold.set_by, SetBy::Restored | SetBy::Shared) {
                    hold.set_by = SetBy::Operator;
                }
            }
        }
        holds.sort_by(|a, b| (&a.provider, a.until).cmp(&(&b.provider, b.until)));
        holds
    }

    /// Closes a provider for a while, as a person wants it, who may say why. One that is held
    /// already is held for as long as the longer of the two lasts. `None` where no hold comes of it:
    /// of no length, or `hold.max` allows none.
    ///
    /// Waits until the reason is written; a hold whose reason cannot be kept stands all the same.
    pub fn place_hold(
        &self,
        provider: &str,
        length: Duration,
        reason: Option<&str>,
    ) -> Option<HoldState> {
        self.meet_held();
        self.hold(provider, length);
        let shard = self.provider(provider);
        let held = |hold: &HoldState| hold.scope == Scope::Provider;
        let hold = shard
            .holds()
            .into_iter()
            .filter(held)
            .max_by_key(|h| h.until)?;
        Some(self.noted(hold, reason))
    }

    /// Makes a hold longer, of whatever gate it is; never shorter. `None` where no such hold stands.
    ///
    /// Waits until the reason is written.
    pub fn extend_hold(
        &self,
        id: HoldId,
        until: WallTime,
        reason: Option<&str>,
    ) -> Option<HoldState> {
        self.meet_held();
        let shards = self.with_hold(id);
        for shard in &shards {
            shard.extend_hold(id, until);
        }
        let hold = shards.first()?.holds().into_iter().find(|h| h.id == id)?;
        Some(self.noted(hold, reason))
    }

    /// Lifts a hold, of whatever gate it is; one probe goes first. Returns the provider it was of,
    /// `None` where no such hold stands.
    pub fn lift_hold(&self, id: HoldId) -> Option<Arc<str>> {
        self.meet_held();
        let shards = self.with_hold(id);
        for shard in &shards {
            shard.lift_hold(id);
        }
        Some(Arc::clone(shards.first()?.name()))
    }

    /// Who has a hold: one provider, or one and its parts, the provider first.
    fn with_hold(&self, id: HoldId) -> Vec<Handle> {
        let mut shards = self.all();
        shards.retain(|s| s.has_hold(id));
        shards.sort_by_key(|s| s.name().len());
        shards
    }

    /// Lifts every hold of a provider, its accounts' and its parts' included; at each gate one probe
    /// goes first. Returns what was lifted.
    pub fn lift_all(&self, provider: &str) -> Vec<HoldId> {
        self.meet_held();
        let mut ids = Vec::new();
        let whole = self.provider(provider);
        for shard in self.parts_of(provider).iter().chain([&whole]) {
            for hold in shard.holds() {
                shard.lift_hold(hold.id);
                if !ids.contains(&hold.id) {
                    ids.push(hold.id);
                }
            }
        }
        ids
    }

    /// Whether something was asked of a provider or a part of it, or is remembered of it.
    pub fn knows(&self, provider: &str) -> bool {
        let is = |name: &str| name == provider || is_part(name, provider);
        self.all().iter().any(|s| is(s.name()))
            || self.shared().remembered.lock().keys().any(|name| is(name))
    }

    /// Providers of which the store remembers a hold are met: what holds is to be seen before
    /// somebody runs into it.
    fn meet_held(&self) {
        let now = self.clock().wall();
        let held: Vec<String> = {
            let remembered = self.shared().remembered.lock();
            let held = remembered
                .iter()
                .filter(|(_, gates)| gates.iter().any(|g| stands(g, now).is_some()));
            held.map(|(name, _)| name.clone()).collect()
        };
        for name in held {
            self.provider(&name);
        }
    }

    fn noted(&self, mut hold: HoldState, reason: Option<&str>) -> HoldState {
        let note = HoldNote {
            hold: hold.id,
            until: hold.until,
            reason: reason.map(str::to_owned),
        };
        let shared = self.shared();
        if let Err(e) = shared.store.note(note, shared.clock.wall()) {
            tracing::warn!(error = %e, "the reason of a hold cannot be kept; the hold stands");
        }
        hold.reason = reason.map(str::to_owned);
        if hold.reason.is_none() {
            hold.reason = self.notes().remove(&hold.id).flatten();
        }
        hold
    }

    fn notes(&self) -> HashMap<HoldId, Option<String>> {
        let shared = self.shared();
        let notes = shared.store.notes(shared.clock.wall());
        let notes = notes.unwrap_or_else(|e| {
            tracing::warn!(error = %e, "the reasons of holds cannot be read");
            Vec::new()
        });
        notes.into_iter().map(|n| (n.hold, n.reason)).collect()
    }
}

impl Shard {
    /// Every hold of it that stands.
    fn holds(self: &Handle) -> Vec<HoldState> {
        let at = self.shared().clock.moment();
        self.with(|s, now| {
            let met = s.machine.view(now);
            let met = met.iter().filter_map(|g| {
                Some(self.hold_state(g.scope, &told(&g.hold?, at), g.hold?.set_by))
            });
            let unmet = s.stored.values().filter_map(|g| {
                Some(self.hold_state(g.scope, stands(g, at.wall)?, SetBy::Restored))
            });
            met.chain(unmet).collect()
        })
    }

    fn hold_state(&self, scope: Scope, hold: &StoredHold, set_by: SetBy) -> HoldState {
        HoldState {
            id: hold.id,
            provider: Arc::clone(self.name()),
            scope,
            cause: hold.cause,
            ask: hold.ask,
            since: hold.since,
            until: hold.until,
            set_by,
            reason: None,
        }
    }

    fn has_hold(self: &Handle, id: HoldId) -> bool {
        self.holds().iter().any(|h| h.id == id)
    }

    fn extend_hold(self: &Handle, id: HoldId, until: WallTime) {
        let at = self.shared().clock.moment();
        let longer = |hold: &Hold| News::Held {
            id: Some(id),
            until: at.instant_at(until),
            cause: hold.cause,
            ask: None,
            set_by: SetBy::Operator,
            probes: hold.probes,
        };
        self.change_hold(id, longer, |hold| hold.until = hold.until.max(until));
    }

    fn lift_hold(self: &Handle, id: HoldId) {
        let lifted = |_: &Hold| News::Lifted { id: Some(id) };
        self.change_hold(id, lifted, |hold| hold.lifted = true);
    }

    /// Tells the machine of a hold of a gate in use; changes one that is only remembered where it is
    /// remembered.
    fn change_hold(
        self: &Handle,
        id: HoldId,
        news: impl FnOnce(&Hold) -> News,
        change: impl FnOnce(&mut StoredHold),
    ) {
        let put = self.with(|s, now| {
            let met = s.machine.view(now);
            let met = met
                .iter()
                .find_map(|g| Some((g.key, g.hold.filter(|h| h.id == id)?)));
            if let Some((key, hold)) = met {
                let State { machine, names, .. } = s;
                if let Some(name) = names.get(&key) {
                    machine.learn(now, name.spec, news(&hold));
                }
                return None;
            }
            let of = |g: &&mut StoredGate| g.hold.is_some_and(|h| h.id == id);
            let gate = s.stored.values_mut().find(of)?;
            gate.hold.as_mut().map(change);
            Some(gate.clone())
        });
        if let Some(gate) = put {
            self.shared().store.put(gate);
        }
    }
}

/// The hold of a remembered gate, where it is in force.
fn stands(gate: &StoredGate, now: WallTime) -> Option<&StoredHold> {
    let hold = gate.hold.as_ref()?;
    (!hold.lifted && hold.until > now).then_some(hold)
}

fn told(hold: &Hold, at: Moment) -> StoredHold {
    crate::persist::stored_hold(hold, at)
}
