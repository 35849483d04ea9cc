//! What answers and news do to the model.

use std::time::Duration;

use abide_core::breaker::Breaker;
use abide_core::control::{Aimd, Controller};
use abide_core::hold::HoldId;
use abide_core::{Ask, Finding, Health, Instant, Scope, Verdict};

use super::gate::{NaiveEpisode, NaiveHold};
use super::window::Spacing;
use super::{Model, Place};

/// How an attempt ended.
#[derive(Clone, Debug)]
pub(crate) enum Ended {
    Answered(Finding),
    Cancelled { sent: bool },
    NotSent,
}

fn severity(v: Verdict) -> usize {
    [
        Verdict::Success,
        Verdict::NotFound,
        Verdict::ClientError,
        Verdict::AuthError,
        Verdict::Offline,
        Verdict::Unavailable,
        Verdict::RateLimited,
        Verdict::QuotaExhausted,
        Verdict::Banned,
    ]
    .iter()
    .position(|o| *o == v)
    .expect("all are listed")
}

fn at(n: u64) -> Instant {
    Instant::from_nanos(n)
}

fn nanos(d: Duration) -> u64 {
    u64::try_from(d.as_nanos()).expect("small")
}

impl Model {
    pub(crate) fn observe(&mut self, now: u64, c: usize, f: &Finding) {
        if self.calls[c].place == Place::Started {
            self.take_in(now, c, f);
            self.catch_up(now);
            self.serve(now);
        }
    }

    pub(crate) fn settle(&mut self, now: u64, c: usize, ended: &Ended) {
        let started = self.calls[c].place == Place::Started;
        match ended {
            Ended::Answered(f) if started => {
                self.take_in(now, c, f);
                let worst = self.calls[c].worst.expect("just set");
                let health = if worst == f.verdict {
                    f.health
                } else {
                    worst.health()
                };
                self.conclude(
                    now,
                    c,
                    worst,
                    health,
                    f.readings.iter().find_map(|r| r.cost),
                );
            }
            Ended::Cancelled { sent: true } if started => match self.calls[c].worst {
                Some(worst) if worst.is_refusal() => {
                    self.conclude(now, c, worst, Health::Neutral, None);
                }
                _ => self.lose(now, c),
            },
            _ => {
                self.refund(now, c);
                self.calls[c].place = Place::Over;
            }
        }
        self.calls[c].place = Place::Over;
        self.catch_up(now);
        self.serve(now);
    }

    fn take_in(&mut self, now: u64, c: usize, f: &Finding) {
        for r in &f.readings {
            if let Some(bucket) = r.bucket {
                self.name_bucket(now, c, bucket.0);
            }
        }
        let call = &mut self.calls[c];
        let again = call.worst == Some(f.verdict);
        if call.worst.is_none_or(|w| severity(w) < severity(f.verdict)) {
            call.worst = Some(f.verdict);
        }
        if !f.holds {
            return;
        }
        let refuses = f.verdict.is_refusal() || f.verdict == Verdict::Unavailable;
        if f.asks.is_empty() {
            if refuses
                && !again
                && f.scope != Scope::Request
                && let Some(g) = self.meant(c, f.scope)
            {
                self.refused(now, c, g, f.verdict, None, false);
            }
            return;
        }
        for ask in f.asks.iter().filter(|a| a.scope != Scope::Request) {
            let Some(g) = self.meant(c, ask.scope) else {
                return;
            };
            if refuses {
                self.refused(now, c, g, f.verdict, Some(*ask), again);
            } else if ask.until.as_nanos() > now {
                let far = ask.until.since(at(now)) >= Duration::from_secs(6 * 3600);
                let cause = if far {
                    Verdict::QuotaExhausted
                } else {
                    Verdict::RateLimited
                };
                self.close(
                    now,
                    g,
                    None,
                    ask.until.as_nanos(),
                    cause,
                    Some(*ask),
                    false,
                    None,
                );
            }
        }
    }

    /// The gate of that scope; else the next wider; else the next narrower.
    fn meant(&self, c: usize, scope: Scope) -> Option<usize> {
        let gates: Vec<usize> = self.calls[c].set.iter().map(|g| self.gate(*g)).collect();
        let scopes = [
            Scope::Request,
            Scope::Route,
            Scope::Account,
            Scope::Provider,
        ];
        let wider = scopes.iter().filter(|s| **s >= scope);
        let narrower = scopes.iter().rev().filter(|s| **s < scope);
        wider
            .chain(narrower)
            .find_map(|s| gates.iter().copied().find(|g| self.gates[*g].scope == *s))
    }

    fn refused(
        &mut self,
        now: u64,
        c: usize,
        g: usize,
        cause: Verdict,
        ask: Option<Ask>,
        again: bool,
    ) {
        let policy = self.policy.gate(self.gates[g].scope).clone();
        let (order, sent) = (self.calls[c].order, self.calls[c].sent);
        let gate = &mut self.gates[g];
        let opens = gate.episode.is_none();
        let rung = match &gate.episode {
            None => 0,
            Some(e) if gate.held(now).is_none() && order > e.since => e.rung + 1,
            Some(e) => e.rung,
        };
        if policy.adaptive && cause != Verdict::Unavailable && !again {
            let (count, since) = gate.lately.told();
            let control = gate
                .control
                .get_or_insert_with(|| Box::new(Aimd::after(count, since)));
            control.refused(at(now), at(sent), opens);
            let interval = control.interval();
            self.adapt(now, g, interval);
        }
        if opens {
            let gate = &mut self.gates[g];
            gate.well = gate.well.map(|w| w / 2);
        }
        let until = match ask {
            Some(a) if again => a.until.as_nanos(),
            Some(a) => a.until.as_nanos().max(now + nanos(policy.floor)),
            None => now + nanos(policy.ladder.wait(rung).max(policy.floor)),
        };
        self.close(now, g, None, until, cause, ask, true, Some(rung));
    }

    fn adapt(&mut self, now: u64, g: usize, interval: Option<Duration>) {
        let spacing = &mut self.gates[g].spacing;
        match (interval.map(nanos), &mut *spacing) {
            (Some(i), Some(s)) => s.change(now, i),
            (Some(i), None) => *spacing = Some(Spacing::new(now, i)),
            (None, _) => *spacing = None,
        }
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "one place where every kind of hold comes in"
    )]
    fn close(
        &mut self,
        now: u64,
        g: usize,
        id: Option<HoldId>,
        until: u64,
        cause: Verdict,
        ask: Option<Ask>,
        probes: bool,
        rung: Option<u32>,
    ) {
        let most = now + nanos(self.policy.gate(self.gates[g].scope).hold_max);
        let until = until.min(most);
        if until <= now {
            return;
        }
        self.order += 1;
        let order = self.order;
        let gate = &mut self.gates[g];
        if gate.held(now).is_some()
            && let Some(h) = &mut gate.hold
        {
            h.probes |= probes;
            h.lengthen(until, cause, ask);
            if probes && gate.episode.is_none() {
                gate.episode = Some(NaiveEpisode::new(order, rung.unwrap_or(0)));
            }
        } else {
            gate.hold = Some(NaiveHold {
                id,
                cause,
                until,
                ask,
                probes,
            });
            if probes {
                match &mut gate.episode {
                    Some(e) => {
                        e.since = order;
                        e.rung = rung.unwrap_or(e.rung);
                        e.probe = None;
                    }
                    none => *none = Some(NaiveEpisode::new(order, rung.unwrap_or(0))),
                }
            }
        }
        self.turn_away(now, g);
    }

    /// Turns away every waiter that `g` is closed to for too long.
    fn turn_away(&mut self, now: u64, g: usize) {
        let Some(until) = self.gates[g].closed_until(now) else {
            return;
        };
        for c in 0..self.calls.len() {
            let call = &self.calls[c];
            let waits = matches!(call.place, Place::Parked | Place::Waiting { .. });
            let passes = call.set.iter().any(|s| self.gate(*s) == g);
            if waits && passes && call.limit < until {
                let told = self.turned_away(now, g);
                self.refuse(c, told);
            }
        }
    }

    fn conclude(&mut self, now: u64, c: usize, v: Verdict, health: Health, real: Option<u32>) {
        let call = self.calls[c].clone();
        for (p, together) in &call.paid {
            self.vacate(now, c, *p);
            let g = self.gate(*p);
            let gap = nanos(self.policy.gate(self.gates[g].scope).probe_gap);
            let nobody = self.line(g).is_empty();
            let gate = &mut self.gates[g];
            if v.is_answer() {
                gate.well = gate.well.map(|w| w.max(*together));
            }
            let mut ended = false;
            if let Some(e) = &mut gate.episode {
                gate.free_at = now;
                if v.is_answer() && call.order > e.since {
                    ended = true;
                } else if call.probes.contains(p) {
                    let next = if v.is_refusal() { 0 } else { call.sent + gap };
                    e.lost(call.grant, next);
                }
            }
            if ended {
                gate.episode = None;
            }
            if gate.control.is_none() && v.is_answer() {
                gate.lately.add(at(call.sent));
            }
            if let Some(control) = &mut gate.control {
                if ended {
                    control.resumed(at(now));
                }
                if v.is_answer() {
                    control.answered(at(now), at(call.sent), nobody);
                }
                let interval = control.interval();
                if interval.map(nanos) != gate.spacing.as_ref().map(|s| s.interval) {
                    self.adapt(now, g, interval);
                }
            }
            let trial = call
                .trials
                .iter()
                .find(|(q, _)| q == p)
                .map(|(_, lease)| *lease);
            let gate = &mut self.gates[g];
            if gate.breaker.as_ref().is_some_and(Breaker::is_open) {
                gate.free_at = now;
            }
            if let Some(b) = &mut gate.breaker
                && let Some(until) = b.record(at(now), health, trial)
            {
                gate.opened_until = until.as_nanos();
                self.turn_away(now, g);
            }
        }
        let Some(real) = real.map(u64::from) else {
            return;
        };
        for (p, _) in &call.paid {
            let g = self.gate(*p);
            for w in &mut self.gates[g].windows {
                if real > call.cost {
                    w.pay(call.grant, now, now, real - call.cost);
                } else if real < call.cost {
                    w.give_back(call.grant, call.charged, call.cost - real);
                }
            }
        }
    }

    fn lose(&mut self, now: u64, c: usize) {
        let call = self.calls[c].clone();
        for (p, _) in &call.paid {
            self.vacate(now, c, *p);
            let g = self.gate(*p);
            let gap = nanos(self.policy.gate(self.gates[g].scope).probe_gap);
            let gate = &mut self.gates[g];
            if let Some(e) = &mut gate.episode {
                gate.free_at = now;
                if call.probes.contains(p) {
                    e.lost(call.grant, (call.sent + gap).max(now));
                }
            }
            if let Some(b) = &mut gate.breaker
                && let Some((_, lease)) = call.trials.iter().find(|(q, _)| q == p)
            {
                gate.free_at = now;
                b.give_back(*lease);
            }
        }
    }

    fn name_bucket(&mut self, now: u64, c: usize, bucket: u64) {
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

    fn merge(&mut self, now: u64, from: usize, into: usize) {
        let old_hold = self.gates[from].hold.take().filter(|h| h.until > now);
        let old_episode = self.gates[from].episode.take();
        let old_control = self.gates[from].control.take();
        let (well, windows) = (self.gates[from].well, self.gates[from].windows.clone());
        self.gates[from].alias = Some(into);
        let gate = &mut self.gates[into];
        gate.provisional = false;
        gate.free_at = now;
        gate.well = gate.well.min(well);
        for (w, other) in gate.windows.iter_mut().zip(&windows) {
            w.absorb(now, other);
        }
        if gate.control.is_none() {
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

    pub(crate) fn leased(&mut self, now: u64, g: usize, id: u64, permits: u64, until: u64) {
        let g = self.gate(g);
        if let Some(l) = &mut self.gates[g].lease {
            if l.asked == Some(Some(id)) {
                l.asked = None;
            }
            l.generation += 1;
            (l.id, l.permits, l.until) = (Some(id), permits, until);
        }
        self.gates[g].free_at = now;
        self.wake(now);
    }

    pub(crate) fn lease_lost(&mut self, now: u64, g: usize, id: u64) {
        let g = self.gate(g);
        if let Some(l) = &mut self.gates[g].lease {
            if l.asked == Some(Some(id)) {
                l.asked = None;
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
        let gate = &mut self.gates[g];
        if let Some(rung) = rung {
            gate.episode
                .get_or_insert_with(|| NaiveEpisode::new(order, rung));
        }
        if let Some(i) = interval
            && gate.control.is_none()
        {
            let mut control: Box<dyn Controller> = Box::new(Aimd::default());
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
}
