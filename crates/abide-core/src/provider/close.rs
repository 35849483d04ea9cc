//! How a gate is closed.
//!
//! Every kind of hold comes in here, from an answer, a store or a person. One closing only
//! lengthens; what a refusal opens is an episode, which ends with a probe.

use std::time::Duration;

use super::{Event, Provider};
use crate::control::Before;
use crate::finding::{Ask, AskSource};
use crate::gate::Episode;
use crate::hold::{Hold, HoldId, SetBy};
use crate::time::Instant;
use crate::verdict::{GateClass, Scope, Verdict};

/// How often a wait that a profile knows is doubled while probes are refused: sixteen times a
/// documented penalty is beyond any that is imposed twice.
const KNOWN_WAIT_DOUBLES: u32 = 4;

/// What a refusal says about when to come back.
#[derive(Clone, Copy, Debug)]
pub(super) enum Told {
    /// This.
    Ask(Ask),
    /// Nothing.
    Nothing {
        /// How long it takes at the least, where the provider's profile knows.
        known: Option<Duration>,
        /// There was no answer at all.
        unanswered: bool,
    },
}

impl Provider {
    /// The gate of a request that a scope means; an unknown one is read as the next wider.
    /// One of the provider's own gates that the request does not pass is read as its scope.
    pub(super) fn gate_for(&self, slot: u32, scope: Scope, class: GateClass) -> Option<u32> {
        let e = &self.entries[slot];
        let gates = e.set[..e.len()].iter().map(|g| self.canonical(*g));
        let mut best: Option<(bool, Scope, u32)> = None;
        for g in gates {
            let gate = &self.gates[g as usize];
            if gate.class == GateClass::HOST {
                continue;
            }
            let s = gate.scope;
            if class != GateClass::PLAIN && gate.class == class {
                return Some(g);
            }
            let narrower = s < scope;
            let better = match best {
                None => true,
                // Not narrower beats narrower; then the nearest to what was meant.
                Some((bn, bs, _)) => {
                    (bn && !narrower) || (bn == narrower && if narrower { s > bs } else { s < bs })
                }
            };
            if better {
                best = Some((narrower, s, g));
            }
        }
        best.map(|(_, _, g)| g)
    }

    /// A refusal's effect on the gate it covers. `again` tells that an earlier finding about the
    /// same request said as much: then only a longer ask is news.
    pub(super) fn refused_at(
        &mut self,
        now: Instant,
        slot: u32,
        g: u32,
        cause: Verdict,
        told: Told,
        again: bool,
    ) {
        let (sent_order, sent) = (self.entries[slot].order, self.entries[slot].sent);
        let policy = self.policy_of(g).clone();
        let gate = &mut self.gates[g as usize];
        let held = gate.hold.as_ref().is_some_and(|h| h.is_active(now));
        if again && !held {
            // Said once already: what has ended since, or was lifted, is not opened again.
            return;
        }
        let opens = gate.episode.is_none();
        let mut learned = None;
        let rung = match &gate.episode {
            None => 0,
            Some(ep) if !held && sent_order > ep.since => ep.rung.saturating_add(1),
            Some(ep) => ep.rung,
        };
        let (clock, recent) = (self.clock, &self.recent);
        let before = |accepted, began| Before {
            accepted,
            began,
            sends: recent.since(began, accepted),
            clock,
        };
        if cause != Verdict::Unavailable
            && !again
            && let Some(c) = gate.control(&policy, before)
        {
            c.refused(now, sent, opens);
            let rests = c.rests();
            learned = c.back_at(now);
            gate.follow(now, &policy);
            if rests {
                gate.pace.rest(now);
            }
            self.tell_limit(g);
        }
        let gate = &mut self.gates[g as usize];
        if opens {
            gate.inflight.refused();
        }
        let (until, ask) = match told {
            Told::Ask(a) if again => (a.until.after(policy.margin), Some(a)),
            Told::Ask(a) => {
                let until = a.until.after(policy.margin);
                (until.max(now.after(policy.floor)), Some(a))
            }
            Told::Nothing { known: None, .. }
                if rung == 0
                    && cause == Verdict::RateLimited
                    && let Some(at) = learned =>
            {
                let until = at.max(now.after(policy.floor));
                let (scope, class) = (gate.scope, gate.class);
                let source = AskSource::Learned;
                (
                    until,
                    Some(Ask {
                        until,
                        source,
                        scope,
                        class,
                    }),
                )
            }
            Told::Nothing { known, .. } => {
                let ban = match cause {
                    Verdict::Banned => policy.ban,
                    _ => Duration::ZERO,
                };
                let first = known.unwrap_or(ban);
                let grown = first.saturating_mul(1 << rung.min(KNOWN_WAIT_DOUBLES));
                let wait = policy.ladder.wait(rung).max(policy.floor).max(grown);
                (now.after(wait), None)
            }
        };
        self.close(now, g, until, cause, ask, true, SetBy::Answer, Some(rung));
        if !held && let Some(ep) = &mut self.gates[g as usize].episode {
            ep.unanswered = match told {
                Told::Nothing {
                    unanswered: true, ..
                } => ep.unanswered.saturating_add(1),
                _ => 0,
            };
        }
    }

    /// Closes a gate, or lengthens the closing in force.
    #[expect(
        clippy::too_many_arguments,
        reason = "one place where every kind of hold comes in"
    )]
    pub(super) fn close(
        &mut self,
        now: Instant,
        g: u32,
        until: Instant,
        cause: Verdict,
        ask: Option<Ask>,
        probes: bool,
        set_by: SetBy,
        rung: Option<u32>,
    ) {
        let id = HoldId(self.next_id());
        self.close_as(now, g, id, until, cause, ask, probes, set_by, rung);
    }

    /// As [`close`](Self::close), with the name another process gave the hold.
    #[expect(
        clippy::too_many_arguments,
        reason = "one place where every kind of hold comes in"
    )]
    pub(super) fn close_as(
        &mut self,
        now: Instant,
        g: u32,
        id: HoldId,
        until: Instant,
        cause: Verdict,
        ask: Option<Ask>,
        probes: bool,
        set_by: SetBy,
        rung: Option<u32>,
    ) {
        let most = now.after(self.policy_of(g).hold_max);
        let until = until.min(most);
        if until <= now {
            return;
        }
        self.order += 1;
        let order = self.order;
        let gate = &mut self.gates[g as usize];
        let (key, scope) = (gate.key, gate.scope);
        let opened = match &mut gate.hold {
            Some(h) if h.is_active(now) => {
                h.probes |= probes;
                let longer = h.lengthen(until, cause, ask);
                let hold = **h;
                if probes && gate.episode.is_none() {
                    gate.episode = Some(Box::new(Episode::new(order, rung.unwrap_or(0))));
                }
                if longer {
                    self.emit(Event::HoldLengthened { key, scope, hold });
                }
                longer
            }
            _ => {
                let hold = Hold {
                    id,
                    cause,
                    until,
                    ask,
                    since: now,
                    set_by,
                    probes,
                    lifted: false,
                };
                gate.hold = Some(Box::new(hold));
                if probes {
                    let rung = rung.unwrap_or_else(|| gate.episode.as_ref().map_or(0, |e| e.rung));
                    match &mut gate.episode {
                        Some(ep) => ep.held_again(order, rung),
                        None => gate.episode = Some(Box::new(Episode::new(order, rung))),
                    }
                }
                self.emit(Event::HoldOpened { key, scope, hold });
                true
            }
        };
        if opened {
            if set_by != SetBy::Restored && set_by != SetBy::Shared {
                self.persist(g);
                self.announce(g);
            }
            self.turn_away(now, g);
            self.mark(g);
        }
    }
}
