//! What steers a gate beside its policy: made when there is first something to steer, since most
//! gates are never refused.
//!
//! Three things are learned from answers: how fast (a [`Controller`]), how many at once
//! ([`Width`]), and what the provider says is left of a quota. The last is no plan of ours but
//! its word: no more requests are out than it says are left, since those on the wire may not be
//! counted in it yet.

use super::Gate;
use crate::control::{Before, Controller, Width};
use crate::policy::GatePolicy;
use crate::time::Instant;

/// What a provider says is left of a quota, until when.
#[derive(Clone, Copy, Debug)]
struct Left {
    units: u64,
    /// The order of the request whose answer said so.
    order: u64,
    until: Instant,
}

/// What was learned of one gate.
#[derive(Debug, Default)]
pub(crate) struct Steer {
    pub(crate) control: Option<Box<dyn Controller>>,
    width: Option<Box<Width>>,
    left: Option<Left>,
}

impl Gate {
    /// The controller, if there is one.
    pub(crate) fn controller(&mut self) -> Option<&mut Box<dyn Controller>> {
        self.steer.as_mut()?.control.as_mut()
    }

    /// Whether a controller steers the pace.
    pub(crate) fn is_controlled(&self) -> bool {
        self.steer.as_ref().is_some_and(|s| s.control.is_some())
    }

    /// The controller, made at the first refusal; `before` tells what there was before that, by
    /// how many came back well lately and since when.
    pub(crate) fn control(
        &mut self,
        policy: &GatePolicy,
        before: impl FnOnce(u32, Instant) -> Before,
    ) -> Option<&mut Box<dyn Controller>> {
        if policy.adaptive.is_off() {
            return None;
        }
        let (count, since) = self.lately.told();
        let steer = self.steer.get_or_insert_default();
        if steer.control.is_none() {
            steer.control = policy.adaptive.controller(before(count, since));
        }
        steer.control.as_mut()
    }

    /// Puts in force what the controller wants kept now.
    pub(crate) fn follow(&mut self, now: Instant, policy: &GatePolicy) {
        let Some(control) = self.steer.as_mut().and_then(|s| s.control.as_mut()) else {
            return;
        };
        match control.window(now) {
            Some(window) => self.pace.follow(window),
            None if !control.has_window() => {
                let interval = control.interval();
                if interval != self.pace.adaptive_interval() {
                    self.pace.adapt(now, interval);
                }
            }
            None => {}
        }
        self.bound(now, policy);
    }

    /// A request that was one of `together` came back well.
    pub(crate) fn served(&mut self, together: u32) {
        if let Some(w) = self.steer.as_mut().and_then(|s| s.width.as_mut()) {
            w.served(together);
        }
    }

    /// A request that was one of `together` was turned away at once, others being served.
    pub(crate) fn crowded(&mut self, policy: &GatePolicy, together: u32) {
        if !policy.adaptive.is_off() {
            let steer = self.steer.get_or_insert_default();
            let new = || Box::new(Width::below(together));
            steer.width.get_or_insert_with(new).turned_away(together);
        }
    }

    /// An answer to the request of this order said that so many units are left until then.
    ///
    /// The least said of one window counts, since answers overtake each other; more than that is
    /// believed where it is more than all that is out could explain.
    pub(crate) fn told_left(&mut self, now: Instant, units: u64, until: Instant, order: u64) {
        if until <= now {
            return;
        }
        let out = u64::from(self.inflight.count());
        let left = &mut self.steer.get_or_insert_default().left;
        match left {
            Some(l) if l.until > now && l.until >= until => {
                let risen = order > l.order && units > l.units.saturating_add(out);
                if l.until > until.after(SAME) && order < l.order {
                    return;
                }
                l.units = if risen { units } else { l.units.min(units) };
                l.order = order.max(l.order);
            }
            _ => *left = Some(Left { units, order, until }),
        }
    }

    /// Whether there is a place on the wire: what was said to be left counts until its window
    /// ends, and no longer.
    pub(crate) fn has_room(&self, now: Instant, policy: &GatePolicy) -> bool {
        self.inflight.has_room()
            || self.steer.as_ref().is_some_and(|s| {
                s.left.is_some_and(|l| l.until <= now)
                    && self.inflight.would_have_room(s.places(now, policy))
            })
    }

    /// Puts the number of places in force.
    pub(crate) fn bound(&mut self, now: Instant, policy: &GatePolicy) {
        let places = match &self.steer {
            Some(s) => s.places(now, policy),
            None => policy.concurrency,
        };
        self.inflight.change(places);
    }
}

/// Ends of one window that are told in whole seconds differ by so much.
const SAME: std::time::Duration = std::time::Duration::from_millis(1_500);

impl Steer {
    fn places(&self, now: Instant, policy: &GatePolicy) -> u32 {
        let width = self.width.as_ref().map_or(u32::MAX, |w| w.most());
        let control = self.control.as_ref().map_or(u32::MAX, |c| c.places());
        let left = self.left.filter(|l| l.until > now);
        let left = left.map_or(u32::MAX, |l| u32::try_from(l.units).unwrap_or(u32::MAX));
        // With nothing left there is a hold; one place stays, so that whoever comes after finds
        // out.
        policy.concurrency.min(width).min(control).min(left.max(1))
    }
}
