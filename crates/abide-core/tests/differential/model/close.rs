//! How a gate is closed.

use std::time::Duration;

use abide_core::control::{Adaptive, Aimd, Controller, Interval};
use abide_core::hold::HoldId;
use abide_core::{Ask, Instant, Scope, Verdict};

use super::gate::{NaiveEpisode, NaiveHold};
use super::settle::{at, nanos};
use super::window::Spacing;
use super::{Model, Place};

/// The controller that a policy names, new.
pub(crate) fn controller(
    adaptive: &Adaptive,
    accepted: u32,
    began: Instant,
) -> Option<Box<dyn Controller>> {
    match adaptive {
        Adaptive::Aimd => Some(Box::new(Aimd::after(accepted, began))),
        Adaptive::Interval(policy) => Some(Box::new(Interval::new(policy.clone()))),
        _ => None,
    }
}

impl Model {
    /// The gate of that scope; else the next wider; else the next narrower.
    pub(crate) fn meant(&self, c: usize, scope: Scope) -> Option<usize> {
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

    pub(crate) fn refused(
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
        if again && gate.held(now).is_none() {
            return;
        }
        let opens = gate.episode.is_none();
        let rung = match &gate.episode {
            None => 0,
            Some(e) if gate.held(now).is_none() && order > e.since => e.rung + 1,
            Some(e) => e.rung,
        };
        if cause != Verdict::Unavailable && !again && gate.control.is_none() {
            let (count, since) = gate.lately.told();
            gate.control = controller(&policy.adaptive, count, since);
        }
        if let Some(control) = gate.control.as_mut()
            && !policy.adaptive.is_off()
            && cause != Verdict::Unavailable
            && !again
        {
            control.refused(at(now), at(sent), opens);
            let (interval, rests) = (control.interval(), control.rests());
            if interval.map(nanos) != gate.spacing.as_ref().map(|s| s.interval) {
                self.adapt(now, g, interval);
            }
            if let Some(spacing) = &mut self.gates[g].spacing
                && rests
            {
                spacing.rest(now);
            }
        }
        if opens {
            let gate = &mut self.gates[g];
            if let Some(gentle) = &mut gate.gentle {
                gentle.allowed = (gentle.allowed / 2).max(2);
            }
        }
        let until = match ask {
            Some(a) if again => a.until.as_nanos(),
            Some(a) => a.until.as_nanos().max(now + nanos(policy.floor)),
            None => {
                let ban = match cause {
                    Verdict::Banned => policy.ban * (1 << rung.min(4)),
                    _ => Duration::ZERO,
                };
                now + nanos(policy.ladder.wait(rung).max(policy.floor).max(ban))
            }
        };
        self.close(now, g, None, until, cause, ask, true, Some(rung));
    }

    pub(crate) fn adapt(&mut self, now: u64, g: usize, interval: Option<Duration>) {
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
    pub(crate) fn close(
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
    pub(crate) fn turn_away(&mut self, now: u64, g: usize) {
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
}
