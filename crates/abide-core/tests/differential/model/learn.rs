//! News from outside, and buckets that are named late.

use std::time::Duration;

use abide_core::hold::HoldId;
use abide_core::{Instant, Scope, Verdict};

use super::Model;
use super::close::controller;
use super::gate::{Gentle, NaiveEpisode};
use super::settle::{at, nanos};

impl Model {
    /// A hold seen elsewhere, or placed by a person.
    pub(crate) fn held(
        &mut self,
        now: u64,
        g: usize,
        id: Option<HoldId>,
        until: u64,
        cause: Verdict,
        probes: bool,
    ) {
        let g = self.gate(g);
        let known = id.is_some_and(|id| self.lifted.iter().any(|(l, e)| *l == id.0 && *e > now));
        if !known {
            self.close(now, g, id, until, cause, None, probes, None);
        }
        self.gates[g].free_at = now;
        self.wake(now);
    }

    pub(crate) fn lift(&mut self, now: u64, g: usize, id: Option<HoldId>) {
        let g = self.gate(g);
        let most = now + nanos(self.policy.provider.hold_max);
        let held = self.gates[g].held(now).copied();
        match (held, id) {
            (None, Some(id)) => self.lifted.push((id.0, most)),
            (Some(h), Some(id)) if h.id != Some(id) => self.lifted.push((id.0, most)),
            (Some(h), _) => {
                self.order += 1;
                let order = self.order;
                let gate = &mut self.gates[g];
                gate.hold = None;
                let e = gate
                    .episode
                    .get_or_insert_with(|| NaiveEpisode::new(order, 0));
                e.since = order;
                e.probe = None;
                if let Some(id) = h.id {
                    self.lifted.push((id.0, h.until));
                }
            }
            (None, None) => {}
        }
        self.gates[g].free_at = now;
        self.wake(now);
    }

    pub(crate) fn leased(
        &mut self,
        now: u64,
        g: usize,
        id: u64,
        (permits, until): (u64, u64),
        probes: Option<u64>,
    ) {
        let g = self.gate(g);
        self.order += 1;
        let order = self.order;
        if self.gates[g].lease.is_some() && probes.is_some() && self.gates[g].episode.is_none() {
            self.gates[g].episode = Some(NaiveEpisode::new(order, 0));
        }
        if let Some(l) = &mut self.gates[g].lease {
            if l.asked == Some(Some(id)) {
                l.asked = None;
            }
            l.generation += 1;
            (l.id, l.permits, l.until) = (Some(id), permits, until);
            l.probes = l.probes.max(probes.unwrap_or(until));
        }
        self.gates[g].free_at = now;
        self.wake(now);
    }

    pub(crate) fn lease_lost(&mut self, now: u64, g: usize, id: u64, not_before: u64) {
        let g = self.gate(g);
        if let Some(l) = &mut self.gates[g].lease {
            if l.asked == Some(Some(id)) {
                l.asked = None;
                l.not_before = not_before;
            }
            if l.id == Some(id) {
                l.generation += 1;
                l.permits = 0;
            }
        }
        self.gates[g].free_at = now;
        self.wake(now);
    }

    pub(crate) fn restored(
        &mut self,
        now: u64,
        g: usize,
        rung: Option<u32>,
        interval: Option<Duration>,
        counts: &[(u8, u64, u64)],
    ) {
        let g = self.gate(g);
        self.order += 1;
        let order = self.order;
        let adaptive = self.policy.gate(self.gates[g].scope).adaptive.clone();
        let gate = &mut self.gates[g];
        if let Some(rung) = rung {
            let new = || NaiveEpisode::new(order, rung);
            let episode = gate.episode.get_or_insert_with(new);
            episode.rung = episode.rung.max(rung);
        }
        if let Some(i) = interval
            && gate.control.is_none()
            && let Some(mut control) = controller(&adaptive, 0, Instant::ORIGIN)
        {
            control.restore(at(now), i);
            let interval = control.interval();
            gate.control = Some(control);
            self.adapt(now, g, interval);
        }
        for (window, used, end) in counts {
            if let Some(w) = self.gates[g].windows.get_mut(*window as usize) {
                w.restore(now, *used, *end);
            }
        }
        self.gates[g].free_at = now;
        self.wake(now);
    }

    pub(crate) fn name_bucket(&mut self, now: u64, c: usize, bucket: u64) {
        let gates = self.calls[c].set.iter().map(|g| self.gate(*g));
        let Some(g) = gates
            .into_iter()
            .find(|g| self.gates[*g].scope == Scope::Route)
        else {
            return;
        };
        match self.buckets.iter().find(|(b, _)| *b == bucket) {
            None => {
                self.buckets.push((bucket, g));
                self.gates[g].provisional = false;
                self.gates[g].free_at = now;
            }
            Some((_, known)) => {
                let into = self.gate(*known);
                if into != g {
                    self.merge(now, g, into);
                }
            }
        }
    }

    pub(crate) fn merge(&mut self, now: u64, from: usize, into: usize) {
        let old_hold = self.gates[from].hold.take().filter(|h| h.until > now);
        let old_episode = self.gates[from].episode.take();
        let old_control = self.gates[from].control.take();
        let (gentle, windows) = (self.gates[from].gentle, self.gates[from].windows.clone());
        self.gates[from].alias = Some(into);
        let gate = &mut self.gates[into];
        gate.provisional = false;
        gate.free_at = now;
        let allowed = |g: Option<Gentle>| g.map_or(u32::MAX, |g| g.allowed);
        if allowed(gentle) < allowed(gate.gentle) {
            gate.gentle = gentle;
        }
        for (w, other) in gate.windows.iter_mut().zip(&windows) {
            w.absorb(now, other);
        }
        if gate.control.is_none() && old_control.is_some() {
            let interval = old_control.as_ref().and_then(|c| c.interval());
            gate.control = old_control;
            self.adapt(now, into, interval);
        }
        let gate = &mut self.gates[into];
        match (&mut gate.episode, old_episode) {
            (Some(a), Some(b)) => {
                a.since = a.since.max(b.since);
                a.rung = a.rung.max(b.rung);
                a.not_before = a.not_before.max(b.not_before);
                a.probe = a.probe.or(b.probe);
            }
            (none @ None, Some(b)) => *none = Some(b),
            _ => {}
        }
        if let Some(h) = old_hold {
            let held = gate.held(now).is_some();
            match &mut gate.hold {
                Some(mine) if held => {
                    mine.probes |= h.probes;
                    mine.lengthen(h.until, h.cause, h.ask);
                }
                hold => *hold = Some(h),
            }
        }
        self.turn_away(now, into);
    }
}
