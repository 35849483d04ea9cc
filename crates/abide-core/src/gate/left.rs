//! What a provider says is left of a quota, and what is kept back of it.
//!
//! It is no plan of ours but its word: no more requests are out than it says are left, since those
//! on the wire may not be counted in it yet. Two plans are laid over it where a policy asks for
//! them: what bulk leaves to others ([`Reserve`]), and how much goes at once
//! ([`Spread`](crate::spread::Spread)).

use std::time::Duration;

use super::Gate;
use crate::policy::GatePolicy;
use crate::reserve::Reserve;
use crate::spread::Plan;
use crate::time::Instant;

/// What is left, until when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Left {
    pub(super) units: u64,
    /// The order of the request whose answer said so.
    order: u64,
    pub(super) until: Instant,
    /// Of how many: as was said, or the most that was ever left.
    limit: u64,
    plan: Plan,
}

/// Ends of one window that are told in whole seconds differ by so much.
const SAME: Duration = Duration::from_millis(1_500);

/// What one answer says is left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Said {
    pub(crate) units: u64,
    /// Of how many, where that was said.
    pub(crate) limit: Option<u64>,
    pub(crate) until: Instant,
    /// The order of the request that was answered.
    pub(crate) order: u64,
}

impl Gate {
    /// An answer said what is left.
    ///
    /// The least said of one window counts, since answers overtake each other; more than that is
    /// believed where it is more than all that is out could explain.
    pub(crate) fn told_left(&mut self, now: Instant, said: Said, policy: &GatePolicy) {
        let Said {
            units,
            limit,
            until,
            order,
        } = said;
        if until <= now {
            return;
        }
        let out = u64::from(self.inflight.count());
        let limit = limit.unwrap_or(units).max(units);
        let left = &mut self.steer.get_or_insert_default().left;
        match left {
            Some(l) if l.until > now && l.until >= until => {
                let risen = order > l.order && units > l.units.saturating_add(out);
                if l.until > until.after(SAME) && order < l.order {
                    return;
                }
                l.units = if risen { units } else { l.units.min(units) };
                l.order = order.max(l.order);
                l.limit = l.limit.max(limit);
            }
            _ => {
                // An end that moves with every answer is no new window.
                let goes_on = left.filter(|l| l.until > now);
                let plan = goes_on.map_or_else(|| Plan::new(policy.spread, units, now), |l| l.plan);
                *left = Some(Left {
                    units,
                    order,
                    until,
                    limit: goes_on.map_or(limit, |l| l.limit.max(limit)),
                    plan,
                });
            }
        }
    }

    fn left(&self, now: Instant) -> Option<&Left> {
        let left = self.steer.as_ref()?.left.as_ref()?;
        (left.until > now).then_some(left)
    }

    /// Whether the places on the wire that there are yet are kept for others.
    pub(super) fn places_are_kept(&self, kept: u32, policy: &GatePolicy) -> bool {
        let places = match &self.steer {
            Some(steer) => steer.known_places(policy),
            None => policy.concurrency,
        };
        kept > 0 && self.inflight.count() >= places - policy.reserve.of_places(places)
    }

    /// Until when a request waits since something of what is left is kept, or spread.
    pub(super) fn keeps_back(
        &self,
        now: Instant,
        (cost, kept): (u32, u32),
        policy: &GatePolicy,
    ) -> Option<Instant> {
        let reserves = kept > 0 && policy.reserve != Reserve::Unit;
        let out = self.inflight.count();
        let left = self.left(now)?;
        let kept = if reserves { left.kept(policy) } else { 0 };
        let units = left.units.saturating_sub(kept + u64::from(out));
        // The reserve stays until the window ends, whoever comes back from the wire; but what
        // costs more than the rest goes where nothing of it was used.
        let untouched = out == 0 && left.units >= left.limit;
        if reserves && units < u64::from(cost) && !untouched {
            return Some(left.until);
        }
        if !spreads(reserves, policy) {
            return None;
        }
        let at = left.plan.earliest(cost, units, left.until);
        (at > now).then_some(at)
    }

    /// A request passes: what its plan makes of that.
    pub(crate) fn spends(&mut self, now: Instant, (cost, kept): (u32, u32), policy: &GatePolicy) {
        let reserves = kept > 0 && policy.reserve != Reserve::Unit;
        if spreads(reserves, policy)
            && let Some(left) = self.steer.as_mut().and_then(|s| s.left.as_mut())
        {
            left.plan.spent(now, cost);
        }
    }
}

/// Whether a request keeps to the spread: where something is kept for the urgent, they do not.
fn spreads(reserves: bool, policy: &GatePolicy) -> bool {
    !policy.spread.is_none() && (reserves || policy.reserve == Reserve::Unit)
}

impl Left {
    fn kept(&self, policy: &GatePolicy) -> u64 {
        policy.reserve.of(self.limit)
    }
}
