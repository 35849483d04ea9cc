//! What can be seen of the gates: for status, progress and tests.

use std::time::Duration;

use super::Provider;
use crate::control::Learned;
use crate::gate::{GateKey, GateSet};
use crate::hold::Hold;
use crate::time::Instant;
use crate::verdict::Scope;

/// One gate as it stands.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct GateView {
    /// Its name.
    pub key: GateKey,
    /// What it stands for.
    pub scope: Scope,
    /// The hold in force.
    pub hold: Option<Hold>,
    /// Whether an episode is under way: a hold, or the probe after it.
    pub in_episode: bool,
    /// The end of whatever closes it, the breaker and our own outage included.
    pub closed_until: Option<Instant>,
    /// Requests on the wire.
    pub in_flight: u32,
    /// Requests waiting at it.
    pub waiting: usize,
    /// The interval between requests it has learned to keep.
    pub interval: Option<Duration>,
    /// The limit that was learned.
    pub learned: Option<Learned>,
    /// No failure since the last success.
    pub healthy: bool,
    /// Failures since the last success.
    pub failures: u32,
    /// When an answer last proved the provider well.
    pub last_success: Option<Instant>,
}

impl Provider {
    /// All gates as they stand.
    pub fn view(&self, now: Instant) -> Vec<GateView> {
        let known = |(_, g): &(u32, &crate::gate::Gate)| g.alias.is_none();
        (0..)
            .zip(&self.gates)
            .filter(known)
            .map(|(n, g)| GateView {
                key: g.key,
                scope: g.scope,
                hold: g.hold.as_deref().copied().filter(|h| h.is_active(now)),
                in_episode: g.episode.is_some(),
                closed_until: self.closed(now, n),
                in_flight: g.inflight.count(),
                waiting: g.queue.len(),
                interval: g.learned(),
                learned: g.limit(),
                healthy: g.failures == 0,
                failures: g.failures,
                last_success: g.last_success,
            })
            .collect()
    }

    /// The hold that closes a request's gates longest, if any is in force.
    pub fn held(&self, now: Instant, set: &GateSet) -> Option<Hold> {
        let gates = set.ids().iter().filter_map(|id| {
            let gate = self.gates.get(id.index as usize)?;
            (gate.generation == id.generation).then(|| self.canonical(id.index))
        });
        gates
            .filter_map(|g| self.gates[g as usize].hold.as_deref().copied())
            .filter(|h| h.is_active(now))
            .max_by_key(|h| h.until)
    }

    /// Until when a request's gates are closed by a word or a failure of the provider.
    pub fn closed_until(&self, now: Instant, set: &GateSet) -> Option<Instant> {
        let gates = set.ids().iter().filter_map(|id| {
            let gate = self.gates.get(id.index as usize)?;
            (gate.generation == id.generation).then(|| self.canonical(id.index))
        });
        gates
            .filter_map(|g| self.gates[g as usize].closed_until(now))
            .max()
    }

    /// How many calls wait.
    pub const fn waiting(&self) -> usize {
        self.waiting
    }
}
