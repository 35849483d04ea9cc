//! What answers do to gates.
//!
//! A refusing head holds at once ([`Provider::observe`]); a success counts only when nothing can
//! overturn it any more ([`Provider::settle`]). Of all that is found about one request the worst
//! wins.

use super::close::Told;
use super::entry::State;
use super::{Event, Pass, Provider};
use crate::breaker::ProbeLease;
use crate::finding::{Ask, AskSource, Finding, Reading};
use crate::gate::{Noted, Said};
use crate::hold::SetBy;
use crate::time::Instant;
use crate::verdict::{GateClass, Health, Scope, Verdict};

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// With an answer, or with a failure of the transport.
    Answered(Finding),
    /// The caller left. `sent` tells whether a byte went out: then it counts at the provider.
    Cancelled {
        /// Whether a byte went out.
        sent: bool,
    },
    /// Nothing was sent: what was paid is given back.
    NotSent,
    /// Nothing was sent, since there was no way to the provider: what was paid is given back, and
    /// its breaker hears of it.
    Unreached(Finding),
}

impl Provider {
    /// Something was found about a request on the wire; any number of times.
    pub fn observe(&mut self, now: Instant, pass: &Pass, finding: &Finding) {
        if !self.entries.holds(pass.slot, pass.generation)
            || self.entries[pass.slot].state != State::Started
        {
            return;
        }
        self.take_in(now, pass.slot, finding);
        self.catch_up(now);
        self.serve(now);
    }

    /// The attempt is over; its place is free.
    pub fn settle(&mut self, now: Instant, pass: Pass, outcome: &Outcome) {
        if !self.entries.holds(pass.slot, pass.generation) {
            return;
        }
        let slot = pass.slot;
        let started = self.entries[slot].state == State::Started;
        match outcome {
            Outcome::Answered(finding) if started => self.answered(now, slot, finding),
            Outcome::Cancelled { sent: true } if started => {
                let worst = self.entries[slot].worst;
                if worst.is_some_and(Verdict::is_refusal) {
                    self.conclude(
                        now,
                        slot,
                        worst.unwrap_or(Verdict::Offline),
                        Health::Neutral,
                        &Finding::of(Verdict::Offline),
                    );
                } else {
                    self.lose(now, slot);
                }
            }
            Outcome::Unreached(finding) if started => {
                let health = self.blamed(finding, finding.health);
                self.unreached(now, slot, health);
                self.refund(now, slot);
            }
            _ => self.refund(now, slot),
        }
        self.depart(now, slot);
    }

    /// [`settle`](Self::settle) with an answer.
    pub fn settle_answer(&mut self, now: Instant, pass: Pass, finding: &Finding) {
        if !self.entries.holds(pass.slot, pass.generation) {
            return;
        }
        match self.entries[pass.slot].state {
            State::Started => self.answered(now, pass.slot, finding),
            _ => self.refund(now, pass.slot),
        }
        self.depart(now, pass.slot);
    }

    #[inline]
    fn answered(&mut self, now: Instant, slot: u32, finding: &Finding) {
        if finding.holds || !finding.readings.is_empty() || self.entries[slot].worst.is_some() {
            self.take_in(now, slot, finding);
        }
        let worst = self.entries[slot].worst.unwrap_or(finding.verdict);
        let health = if worst == finding.verdict {
            finding.health
        } else {
            worst.health()
        };
        let health = self.blamed(finding, health);
        self.conclude(now, slot, worst, health, finding);
        if finding.counted {
            self.spend_allowance(now, slot);
        }
    }

    /// Its place is free.
    #[inline]
    fn depart(&mut self, now: Instant, slot: u32) {
        self.let_in(slot);
        self.entries.remove(slot);
        self.catch_up(now);
        if !self.ready.is_empty() {
            self.serve(now);
        }
    }

    /// What an ending says of the provider's health: while we are offline, what got no answer
    /// says nothing.
    fn blamed(&self, finding: &Finding, health: Health) -> Health {
        match finding.unanswered && self.offline.is_some() {
            true => Health::Neutral,
            false => health,
        }
    }

    /// The effects that must not wait: holds, and buckets named.
    #[inline(never)]
    pub(super) fn take_in(&mut self, now: Instant, slot: u32, finding: &Finding) {
        for r in &finding.readings {
            if let Some(bucket) = r.bucket {
                self.name_bucket(now, slot, bucket, r.class);
            }
            self.take_note(now, slot, r);
        }
        let e = &mut self.entries[slot];
        let again = e.worst == Some(finding.verdict);
        if e.worst
            .is_none_or(|w| w.severity() < finding.verdict.severity())
        {
            e.worst = Some(finding.verdict);
        }
        if !finding.holds {
            return;
        }
        let refuses = finding.verdict.is_refusal() || finding.verdict == Verdict::Unavailable;
        if finding.asks.is_empty() {
            if refuses && !again && finding.scope != Scope::Request {
                let Some(g) = self.gate_for(slot, finding.scope, finding.class) else {
                    return;
                };
                self.refused_at(
                    now,
                    slot,
                    g,
                    finding.verdict,
                    Told::Nothing {
                        known: finding.wait,
                        unanswered: finding.unanswered,
                    },
                    false,
                );
            }
            return;
        }
        for ask in &finding.asks {
            if ask.scope == Scope::Request {
                continue;
            }
            let Some(g) = self.gate_for(slot, ask.scope, ask.class) else {
                return;
            };
            if refuses {
                self.refused_at(now, slot, g, finding.verdict, Told::Ask(*ask), again);
            } else if ask.until > now {
                let until = ask.until.after(self.policy_of(g).margin);
                let far = ask.until.since(now) >= self.policy.quota_from;
                let cause = if far {
                    Verdict::QuotaExhausted
                } else {
                    Verdict::RateLimited
                };
                self.close(now, g, until, cause, Some(*ask), false, SetBy::Answer, None);
            }
        }
    }

    /// What is left of a quota bounds how many may be out: those on the wire may not be counted
    /// in it yet.
    fn take_note(&mut self, now: Instant, slot: u32, r: &Reading) {
        let Some(left) = r.remaining else { return };
        let Some(until) = r.reset.or_else(|| Some(now.after(r.window?))) else {
            return;
        };
        let scope = r.scope.unwrap_or(Scope::Account);
        let Some(g) = self.gate_for(slot, scope, r.class) else {
            return;
        };
        let order = self.entries[slot].order;
        let (scope, class) = (self.gates[g as usize].scope, self.gates[g as usize].class);
        let policy = self.policy.of(scope, class);
        let gate = &mut self.gates[g as usize];
        let said = Said {
            units: left,
            limit: r.limit,
            until,
            order,
        };
        gate.told_left(now, said, policy);
        gate.bound(now, policy);
    }

    /// A verdict is final: places, probes, breaker, budget, pace.
    pub(super) fn conclude(
        &mut self,
        now: Instant,
        slot: u32,
        v: Verdict,
        health: Health,
        f: &Finding,
    ) {
        let e = &self.entries[slot];
        let (len, sent, paid) = (e.len(), e.sent, e.paid);
        if health == Health::Success {
            self.budget.succeeded();
            self.trip.add(now, sent);
            self.recent.add(sent);
        }
        for i in 0..len {
            let e = &self.entries[slot];
            let (g, together) = (e.set[i], e.together[i]);
            let plain = v == Verdict::Success && e.paced && paid & (1 << i) != 0;
            if !plain || !self.gates[g as usize].came_back_well(now, sent, health, together) {
                self.conclude_at(now, slot, i, v, health, f);
            }
        }
        // A real cost told by the answer is charged or refunded against what was reserved.
        if self.entries[slot].paced && f.readings.iter().any(|r| r.cost.is_some()) {
            self.correct_costs(now, slot, &f.readings);
        }
    }

    /// One more answer that leads to a ban: with the allowance spent, nothing more is sent.
    #[inline(never)]
    fn spend_allowance(&mut self, now: Instant, slot: u32) {
        let spent = self.allowance.as_mut().and_then(|a| a.spend(now));
        let gate = self.gate_for(slot, Scope::Provider, GateClass::PLAIN);
        if let (Some(until), Some(g)) = (spent, gate) {
            let ask = Ask {
                until,
                source: AskSource::Policy,
                scope: Scope::Provider,
                class: GateClass::PLAIN,
            };
            let cause = Verdict::RateLimited;
            self.close(now, g, until, cause, Some(ask), false, SetBy::Answer, None);
        }
    }

    /// There was no way to the provider: its breaker and its next probe hear of it.
    #[inline(never)]
    fn unreached(&mut self, now: Instant, slot: u32, health: Health) {
        let hosted = self.names_host(slot);
        for i in 0..self.entries[slot].len() {
            let e = &self.entries[slot];
            if !e.paid_at(i) {
                continue;
            }
            let (rare, order, c) = (e.rare(), e.order, self.canonical(e.set[i]));
            let gap = self.policy_of(c).probe_gap;
            let gate = &mut self.gates[c as usize];
            if let Some(ep) = &mut gate.episode {
                ep.probe_lost(rare.probes[i], now.after(gap));
            }
            let noted = gate.note_health(now, health, order);
            let lease = lease(rare.breakers[i]);
            let heard = gate.heard(health, lease, hosted);
            if let Some(b) = &mut gate.breaker
                && let Some(until) = b.record_as(now, heard, lease, true)
            {
                let key = gate.key;
                self.emit(Event::BreakerOpened { key, until });
                self.turn_away(now, c);
            }
            if noted == Noted::Failed {
                self.note_lost(now, c);
            }
            self.note(now, c, noted);
        }
    }

    /// Whether a request passes the gate of a host: then its failures are that host's.
    fn names_host(&self, slot: u32) -> bool {
        let e = &self.entries[slot];
        let mut gates = e.set[..e.len()].iter();
        gates.any(|g| self.gates[*g as usize].class == GateClass::HOST)
    }

    /// A verdict at one gate of the set.
    #[inline(never)]
    fn conclude_at(
        &mut self,
        now: Instant,
        slot: u32,
        i: usize,
        v: Verdict,
        health: Health,
        f: &Finding,
    ) {
        let e = &self.entries[slot];
        let (g, together, order, sent) = (e.set[i], e.together[i], e.order, e.sent);
        let (paid, rare, paced) = (e.paid_at(i), e.rare(), e.paced);
        self.leave_gate(now, g, paid);
        if !paid {
            return;
        }
        let hosted = self.names_host(slot);
        let c = self.canonical(g);
        let policy = {
            let gate = &self.gates[c as usize];
            self.policy.of(gate.scope, gate.class)
        };
        let unanswered = f.unanswered;
        let gate = &mut self.gates[c as usize];
        let noted = gate.note_health(now, health, order);
        if v.is_answer() {
            gate.inflight.came_back(now, together, &gate.lately);
            gate.served(together);
        } else if gate.scope == Scope::Provider && is_crowd(v, health, f) {
            gate.crowded(policy, together);
        }
        if gate.provisional && v == Verdict::Success {
            // It would have been named by now.
            gate.provisional = false;
            gate.free_at = now;
        }
        let mut ended = false;
        if let Some(ep) = &mut gate.episode {
            gate.free_at = now;
            if v.is_answer() && order > ep.since {
                gate.episode = None;
                ended = true;
            } else if !v.is_refusal() {
                ep.probe_lost(rare.probes[i], sent.after(policy.probe_gap));
            } else {
                ep.probe_lost(rare.probes[i], Instant::ORIGIN);
            }
        }
        // What is exempt from the pace proves nothing about it.
        if !gate.is_controlled() && v.is_answer() && paced {
            gate.lately.add(sent);
        }
        // A good head with errors in its body is an answer, and proves nothing.
        let clean = v != Verdict::Success || health == Health::Success;
        let app_limited = gate.queue.is_empty();
        if let Some(ctl) = gate.controller() {
            if ended {
                ctl.resumed(now);
            }
            if v.is_answer() && clean && paced {
                ctl.answered(now, sent, app_limited);
            }
        }
        if gate.steer.is_some() {
            gate.follow(now, policy);
            gate.bound(now, policy);
            self.tell_limit(c);
        }
        let gate = &mut self.gates[c as usize];
        if gate.breaker.as_ref().is_some_and(|b| b.is_open()) {
            gate.free_at = now;
        }
        let lease = lease(rare.breakers[i]);
        let heard = gate.heard(health, lease, hosted);
        if let Some(b) = &mut gate.breaker
            && let Some(until) = b.record_as(now, heard, lease, unanswered)
        {
            let key = gate.key;
            self.emit(Event::BreakerOpened { key, until });
            self.turn_away(now, c);
        }
        if unanswered && noted == Noted::Failed {
            self.note_lost(now, c);
        }
        if ended {
            let key = self.gates[c as usize].key;
            self.emit(Event::EpisodeEnded { key });
            self.persist(c);
        }
        self.note(now, c, noted);
        self.mark(c);
    }

    /// Tells what was learned of a gate's limit, once each time that it is another.
    pub(super) fn tell_limit(&mut self, g: u32) {
        let gate = &mut self.gates[g as usize];
        let (key, scope) = (gate.key, gate.scope);
        match gate.limit_news() {
            Some((Some(learned), was)) => self.emit(Event::LimitLearned {
                key,
                scope,
                learned,
                was,
            }),
            Some((None, Some(was))) => self.emit(Event::LimitForgotten { key, scope, was }),
            _ => {}
        }
    }

    /// Tells and remembers what became of a gate's health.
    fn note(&mut self, now: Instant, c: u32, noted: Noted) {
        let gate = &self.gates[c as usize];
        if !gate.is_worth_keeping(noted) {
            return;
        }
        if noted == Noted::Failed && gate.episode.is_some() {
            let (key, scope, failures) = (gate.key, gate.scope, gate.failures);
            let until = gate.hold.as_ref().filter(|h| h.is_active(now));
            let until = until.map(|h| h.until);
            self.emit(Event::Failed {
                key,
                scope,
                failures,
                until,
            });
        }
        self.persist(c);
    }

    /// A cost told of one of the provider's own gates is that gate's; any other is told in units
    /// of the request.
    #[inline(never)]
    fn correct_costs(&mut self, now: Instant, slot: u32, told: &[Reading]) {
        let e = &self.entries[slot];
        let (set, len, charged, paid) = (e.set, e.len(), e.charged, e.paid);
        for (i, &g) in set[..len].iter().enumerate() {
            if paid & (1 << i) == 0 {
                continue;
            }
            let c = self.canonical(g);
            let class = self.gates[c as usize].class;
            let of = |class| {
                told.iter()
                    .find_map(|r| r.cost.filter(|_| r.class == class))
            };
            let own = of(class).filter(|_| class != GateClass::PLAIN);
            let weight = self.entries[slot].weight(i);
            let real = own.or_else(|| Some(of(GateClass::PLAIN)?.saturating_mul(weight)));
            let cost = self.paid_at(&self.entries[slot], i);
            if let Some(real) = real
                && self.gates[c as usize]
                    .pace
                    .correct(now, charged, cost, real)
            {
                self.persist(c);
            }
        }
    }

    /// A caller left after the first byte and nobody will read the answer.
    #[inline(never)]
    pub(super) fn lose(&mut self, now: Instant, slot: u32) {
        let e = &self.entries[slot];
        let (set, len, sent, paid) = (e.set, e.len(), e.sent, e.paid);
        let rare = e.rare();
        for (i, &g) in set[..len].iter().enumerate() {
            self.leave_gate(now, g, paid & (1 << i) != 0);
            let c = self.canonical(g);
            let gap = self.policy_of(c).probe_gap;
            let gate = &mut self.gates[c as usize];
            if let Some(ep) = &mut gate.episode {
                gate.free_at = now;
                ep.probe_lost(rare.probes[i], sent.after(gap).max(now));
            }
            if let (Some(b), Some(l)) = (&mut gate.breaker, lease(rare.breakers[i])) {
                gate.free_at = now;
                b.give_back(l);
            }
            self.mark(c);
        }
    }
}

/// Whether an answer may mean that there were too many at once: a bare outage of the whole.
fn is_crowd(v: Verdict, health: Health, f: &Finding) -> bool {
    v == Verdict::Unavailable
        && health == Health::Failure
        && f.scope == Scope::Provider
        && !f.unanswered
        && !f.holds
}

/// The breaker's lease a number stands for.
pub(super) fn lease(n: u32) -> Option<ProbeLease> {
    (n != 0).then_some(ProbeLease(n))
}
