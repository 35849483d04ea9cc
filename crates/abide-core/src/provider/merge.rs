//! Buckets that are named late.
//!
//! A route's gate is provisional until an answer names its bucket, or a good one names none:
//! meanwhile it lets one request out at a time. When two routes turn out to be one bucket, their gates become one: queues
//! merge by rank, holds by the later end, counts add; whoever still names the old slot finds the
//! new one.

use super::entry::State;
use super::{Event, Provider};
use crate::finding::BucketId;
use crate::pace::Pace;
use crate::time::Instant;
use crate::verdict::{GateClass, Scope};

impl Provider {
    /// The bucket's gate is the one that is meant, whatever its scope, or else the route's.
    pub(super) fn name_bucket(
        &mut self,
        now: Instant,
        slot: u32,
        bucket: BucketId,
        class: GateClass,
    ) {
        let e = &self.entries[slot];
        let mut gates = e.set[..e.len()].iter().map(|g| self.canonical(*g));
        let meant = |g: &u32| match class {
            GateClass::PLAIN => self.gates[*g as usize].scope == Scope::Route,
            own => self.gates[*g as usize].class == own,
        };
        let route = gates.find(meant);
        let Some(g) = route else { return };
        let bucket = (self.gates[g as usize].family, bucket);
        match self.buckets.get(&bucket).copied() {
            None => {
                self.buckets.insert(bucket, g);
                self.gates[g as usize].provisional = false;
                self.gates[g as usize].free_at = now;
                self.mark(g);
            }
            Some(known) => {
                let into = self.canonical(known);
                if into != g {
                    self.merge(now, g, into);
                }
            }
        }
    }

    fn merge(&mut self, now: Instant, from: u32, into: u32) {
        self.set_due(from, Instant::FAR);
        let (f, i) = (from as usize, into as usize);
        let waiters: Vec<_> = self.gates[f].queue.waiters().collect();
        for (rank, slot, cost) in waiters {
            self.gates[f].queue.remove(rank);
            self.gates[i].queue.push(rank, slot, cost);
            if let State::Waiting { since, .. } = self.entries[slot].state {
                self.entries[slot].state = State::Waiting { gate: into, since };
            }
        }
        let watch = std::mem::take(&mut self.gates[f].watch);
        self.gates[i].watch.extend(watch);

        let hold = self.gates[f].hold.take().filter(|h| h.is_active(now));
        let episode = self.gates[f].episode.take();
        let control = self.gates[f].steer.take().and_then(|s| s.control);
        let (inflight, users) = (self.gates[f].inflight.clone(), self.gates[f].users);
        let pace = std::mem::replace(&mut self.gates[f].pace, Pace::new(&[]));
        self.gates[f].alias = crate::gate::Alias::to(into);

        let gate = &mut self.gates[i];
        gate.aliased += 1;
        gate.users += users;
        gate.provisional = false;
        gate.free_at = now;
        gate.inflight.absorb(&inflight);
        let mut told = gate.pace.absorb(now, &pace);
        if !gate.is_controlled() && control.is_some() {
            gate.steer.get_or_insert_default().control = control;
            let policy = self.policy.of(gate.scope, gate.class);
            gate.follow(now, policy);
        }
        let had_hold = gate.hold.as_ref().is_some_and(|h| h.is_active(now));
        match (&mut gate.episode, episode) {
            (Some(a), Some(b)) => a.absorb(*b),
            (slot @ None, Some(b)) => *slot = Some(b),
            _ => {}
        }
        let (key, scope) = (gate.key, gate.scope);
        if let Some(h) = hold {
            told = true;
            match &mut gate.hold {
                Some(mine) if had_hold => {
                    mine.probes |= h.probes;
                    let longer = mine.lengthen(h.until, h.cause, h.ask);
                    let hold = **mine;
                    if longer {
                        self.emit(Event::HoldLengthened { key, scope, hold });
                    }
                }
                slot => {
                    let hold = *h;
                    *slot = Some(h);
                    self.emit(Event::HoldOpened { key, scope, hold });
                }
            }
            self.announce(into);
        }
        if told {
            self.persist(into);
        }
        self.turn_away(now, into);
        self.mark(into);
    }
}
