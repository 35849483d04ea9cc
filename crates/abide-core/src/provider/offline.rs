//! While our own network is down.
//!
//! That it is is found elsewhere, from all providers together ([`Outage`](crate::outage::Outage));
//! here is what follows for one. All its gates wait as at a hold, each waiter within its patience.
//! When the next probe is due one request is let out to be it, and asks there for leave, since
//! other providers have let one out too. Nothing that fails meanwhile is held against the
//! provider, and what failed in the time before is taken back. Back online its gates begin as
//! gently as new ones: everybody who waits has waited for the same instant.

use std::collections::{BTreeMap, VecDeque};

use super::entry::Entry;
use super::{Event, Provider, Ticket};
use crate::gate::Block;
use crate::outage::{Network, OutageNews};
use crate::policy::Mode;
use crate::refusal::{DecidedBy, Refusal, RefusalKind};
use crate::time::Instant;
use crate::verdict::Verdict;

/// The most failures that can be taken back: more do not happen in one window without a breaker
/// having stopped them.
const LOST: usize = 256;

/// What a machine knows of the outage.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offline {
    not_before: Instant,
    /// A probe is out, of this provider or another: `not_before` is when it is given up.
    probing: bool,
    /// The request let out here to be the probe, and when it is given up.
    candidate: Option<(Ticket, Instant)>,
}

impl Offline {
    fn blocks(&self, now: Instant) -> Option<Block> {
        if now < self.not_before {
            return Some(match self.probing {
                true => Block::Probe(self.not_before),
                false => Block::Until(self.not_before),
            });
        }
        let out = self.candidate.filter(|(_, lapses)| now < *lapses);
        out.map(|(_, lapses)| Block::Probe(lapses))
    }

    /// Until when nobody goes: what patience is compared with. While a probe is out that is not
    /// known.
    fn closed_until(&self, now: Instant) -> Option<Instant> {
        (now < self.not_before && !self.probing).then_some(self.not_before)
    }

    /// Whether a request that was let out may still be the probe.
    pub(super) fn lets_start(&self, now: Instant, ticket: Ticket) -> bool {
        now >= self.not_before && self.candidate.is_some_and(|(t, _)| t == ticket)
    }

    /// When the next probe goes, as far as anyone can tell.
    fn next_probe(&self, now: Instant) -> Instant {
        let out = self.candidate.filter(|(_, lapses)| now < *lapses);
        out.map_or(self.not_before, |(_, lapses)| lapses.max(self.not_before))
    }
}

/// Failures without an answer, at which gates: what an outage takes back.
pub(super) type Lost = VecDeque<(Instant, u32, u32)>;

impl Provider {
    /// Whether this machine takes our network to be down: then a pass is sent only with leave to
    /// be the probe ([`Outage::lease`](crate::outage::Outage::lease)).
    pub const fn is_offline(&self) -> bool {
        self.offline.is_some()
    }

    /// What a request waits for at a gate, were it first in line: nothing, where what is decided
    /// is not done.
    pub(super) fn block(&self, now: Instant, e: &Entry, g: u32) -> Block {
        match self.policy.mode {
            Mode::Enforce => self.would_block(now, e, g),
            Mode::Observe | Mode::Shadow => Block::None,
        }
    }

    /// As [`block`](Self::block), whatever is done about it.
    pub(super) fn would_block(&self, now: Instant, e: &Entry, g: u32) -> Block {
        let offline = self.offline.as_ref().and_then(|o| o.blocks(now));
        offline.unwrap_or_else(|| {
            let cost = self.cost_of(e, g);
            let gate = &self.gates[g as usize];
            let policy = self.policy.of(gate.scope, gate.class);
            gate.block(now, (cost, e.leaves()), e.paced, policy)
        })
    }

    /// Until when a gate is closed by a word, a failure, or our own outage.
    pub(super) fn closed(&self, now: Instant, g: u32) -> Option<Instant> {
        let offline = self.offline.as_ref().and_then(|o| o.closed_until(now));
        self.gates[g as usize].closed_until(now).max(offline)
    }

    pub(super) fn hear(&mut self, now: Instant, news: OutageNews) {
        if self.policy.local || news.revision < self.outage {
            return;
        }
        self.outage = news.revision;
        match news.network {
            Network::Online => self.come_online(now),
            Network::Offline {
                since,
                not_before,
                probing,
            } => {
                let old = self.offline;
                self.offline = Some(Offline {
                    not_before,
                    probing,
                    candidate: old.and_then(|o| o.candidate),
                });
                if old.is_none() {
                    self.take_back(now, since);
                    self.emit(Event::WentOffline { until: not_before });
                }
                for g in 0..u32::try_from(self.gates.len()).unwrap_or(u32::MAX) {
                    self.turn_away(now, g);
                    self.mark(g);
                }
            }
        }
    }

    pub(super) fn come_online(&mut self, now: Instant) {
        if self.offline.take().is_none() {
            return;
        }
        for g in 0..u32::try_from(self.gates.len()).unwrap_or(u32::MAX) {
            let gate = &mut self.gates[g as usize];
            gate.inflight.begin_anew();
            gate.free_at = now;
            self.mark(g);
        }
        self.emit(Event::CameOnline);
    }

    /// A request is let out to be the probe.
    pub(super) fn let_out(&mut self, now: Instant, slot: u32) {
        let ticket = self.entries.ticket(slot);
        let lapses = now.after(self.policy.provider.probe_lease);
        if let Some(o) = &mut self.offline {
            o.candidate = Some((ticket, lapses));
        }
    }

    /// It is over with a request; if it was let out to be the probe, the next one may be.
    pub(super) fn let_in(&mut self, slot: u32) {
        let ticket = self.entries.ticket(slot);
        if let Some(o) = &mut self.offline
            && o.candidate.is_some_and(|(t, _)| t == ticket)
        {
            o.candidate = None;
            for g in 0..u32::try_from(self.gates.len()).unwrap_or(u32::MAX) {
                self.mark(g);
            }
        }
    }

    /// Remembers a failure without an answer, in case that it was ours.
    pub(super) fn note_lost(&mut self, now: Instant, g: u32) {
        if self.lost.len() >= LOST {
            self.lost.pop_front();
        }
        let generation = self.gates[g as usize].generation;
        self.lost.push_back((now, g, generation));
    }

    /// Takes back what failed without an answer since an instant.
    fn take_back(&mut self, now: Instant, since: Instant) {
        let mut taken: BTreeMap<u32, u32> = BTreeMap::new();
        for (at, g, generation) in std::mem::take(&mut self.lost) {
            let gate = &mut self.gates[g as usize];
            if at >= since && gate.generation == generation && gate.failures > 0 {
                gate.failures -= 1;
                *taken.entry(g).or_default() += 1;
            }
        }
        for (g, failures) in taken {
            self.reopen(now, g, failures);
        }
        for gate in &mut self.gates {
            if let Some(b) = &mut gate.breaker {
                b.forget(since);
                gate.free_at = now;
            }
        }
    }

    /// Takes back the holds that so many failures without an answer opened, and their rungs. A
    /// hold that the provider has lengthened since is its word, and stays.
    fn reopen(&mut self, now: Instant, g: u32, failures: u32) {
        let gate = &mut self.gates[g as usize];
        let hold = gate.hold.as_deref().copied().filter(|h| h.is_active(now));
        let word = hold.is_some_and(|h| h.cause != Verdict::Unavailable || h.ask.is_some());
        let rungs = gate.episode.as_ref().map_or(0, |ep| ep.unanswered);
        if rungs == 0 || word {
            self.persist(g);
            return;
        }
        self.order += 1;
        let order = self.order;
        let gate = &mut self.gates[g as usize];
        gate.hold = None;
        gate.free_at = now;
        let back = rungs.min(failures);
        gate.episode = match gate.episode.take() {
            Some(mut ep) if ep.rung >= back => {
                ep.held_again(order, ep.rung - back);
                ep.unanswered -= back;
                Some(ep)
            }
            _ => None,
        };
        let key = gate.key;
        match hold {
            Some(hold) => {
                self.emit(Event::HoldLifted { key, id: hold.id });
                self.lifted_here(now, g, hold);
            }
            None => self.persist(g),
        }
    }

    /// The refusal of somebody who is not willing to wait until we are online.
    pub(super) fn offline_refusal(&self, now: Instant, g: u32) -> Option<Refusal> {
        let offline = self.offline.as_ref()?;
        let mut r = Refusal::new(RefusalKind::Offline, DecidedBy::Outage);
        r.cause = Some(Verdict::Offline);
        r.scope = self.gates[g as usize].scope;
        r.retry_at = Some(offline.next_probe(now));
        Some(r)
    }
}
