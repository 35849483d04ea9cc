//! What answers and news do to the model.

use std::time::Duration;

use abide_core::breaker::Breaker;
use abide_core::control::Width;
use abide_core::{Finding, Health, Instant, Scope, Verdict};

use super::{Model, Place, Trips};

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

pub(crate) fn at(n: u64) -> Instant {
    Instant::from_nanos(n)
}

pub(crate) fn nanos(d: Duration) -> u64 {
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
                let crowd = worst == Verdict::Unavailable
                    && health == Health::Failure
                    && f.scope == Scope::Provider
                    && !f.unanswered
                    && !f.holds;
                self.conclude(
                    now,
                    c,
                    worst,
                    health,
                    f.readings.iter().find_map(|r| r.cost),
                    crowd,
                );
            }
            Ended::Cancelled { sent: true } if started => match self.calls[c].worst {
                Some(worst) if worst.is_refusal() => {
                    self.conclude(now, c, worst, Health::Neutral, None, false);
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

    pub(crate) fn take_in(&mut self, now: u64, c: usize, f: &Finding) {
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
                let far = ask.until.since(at(now)) >= self.policy.quota_from;
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

    /// A round trip took so long.
    fn came_back(&mut self, took: u64) {
        let Trips { least, most, seen } = &mut self.trip;
        *seen += 1;
        if *least == 0 {
            (*least, *most) = (took.max(1), took.max(1));
        }
        if *seen % 64 == 0 {
            let fade = (*most - *least) / 128;
            (*least, *most) = (*least + fade, *most - fade);
        }
        *least = took.max(1).min(*least);
        *most = took.max(*most);
    }

    pub(crate) fn conclude(
        &mut self,
        now: u64,
        c: usize,
        v: Verdict,
        health: Health,
        real: Option<u32>,
        crowd: bool,
    ) {
        let call = self.calls[c].clone();
        if health == Health::Success {
            self.came_back(now - call.sent);
        }
        for (p, together) in &call.paid {
            self.vacate(now, c, *p);
            let g = self.gate(*p);
            let gap = nanos(self.policy.gate(self.gates[g].scope).probe_gap);
            let nobody = self.line(g).is_empty();
            let off = self.policy.gate(self.gates[g].scope).adaptive.is_off();
            let gate = &mut self.gates[g];
            if v.is_answer() {
                let served = gate.lately.told().0;
                if let Some(gentle) = &mut gate.gentle {
                    gentle.came_back(now, *together, served);
                }
                if let Some(width) = &mut gate.width {
                    width.served(*together);
                }
            } else if crowd && gate.scope == Scope::Provider && !off {
                let width = gate.width.get_or_insert_with(|| Width::below(*together));
                width.turned_away(*together);
            }
            if gate.provisional && v == Verdict::Success {
                (gate.provisional, gate.free_at) = (false, now);
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
            if gate.control.is_none() && v.is_answer() && call.paced {
                gate.lately.add(at(call.sent));
            }
            if let Some(control) = &mut gate.control {
                if ended {
                    control.resumed(at(now));
                }
                let clean = v != Verdict::Success || health == Health::Success;
                if v.is_answer() && clean && call.paced {
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
        let Some(real) = real.map(u64::from).filter(|_| call.paced) else {
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

    pub(crate) fn lose(&mut self, now: u64, c: usize) {
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
}
