//! What steers a gate beside its policy: made when there is first something to steer, since most
//! gates are never refused.
//!
//! Three things are learned from answers: how fast (a [`Controller`]), how many at once
//! ([`Width`]), and what the provider says is left of a quota. The last is no plan of ours but
//! its word: no more requests are out than it says are left, since those on the wire may not be
//! counted in it yet.

use std::time::Duration;

use super::Gate;
use super::left::Left;
use crate::control::{Before, Controller, Learned, Limit, Width};
use crate::policy::GatePolicy;
use crate::time::{Instant, Moment};

/// What was learned of one gate.
#[derive(Debug, Default)]
pub(crate) struct Steer {
    pub(crate) control: Option<Box<dyn Controller>>,
    width: Option<Box<Width>>,
    pub(super) left: Option<Left>,
    /// The limit that people were told last.
    told: Option<Limit>,
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

    /// The limit that was learned, for the store and for people.
    pub(crate) fn limit(&self) -> Option<Learned> {
        let steer = self.steer.as_ref()?;
        if let Some(learned) = steer.control.as_ref().and_then(|c| c.learned()) {
            return Some(learned);
        }
        let width = steer.width.as_ref().filter(|w| w.most() < u32::MAX)?;
        Some(Learned {
            limit: Limit::AtOnce {
                count: width.most(),
            },
            refusals: width.refusals(),
            at: None,
        })
    }

    /// What people are to be told of the limit, where it is another than they were told last: what
    /// it is now, and what it was.
    pub(crate) fn limit_news(&mut self) -> Option<(Option<Learned>, Option<Limit>)> {
        let now = self.limit();
        let told = &mut self.steer.as_mut()?.told;
        let same = match (&now, &*told) {
            (Some(now), Some(told)) => now.limit.says_the_same(told),
            (now, told) => now.is_none() && told.is_none(),
        };
        if same {
            return None;
        }
        let was = std::mem::replace(told, now.map(|l| l.limit));
        Some((now, was))
    }

    /// Takes over what was learned earlier.
    pub(crate) fn remember(
        &mut self,
        now: Instant,
        policy: &GatePolicy,
        clock: Option<Moment>,
        interval: Option<Duration>,
        learned: Option<Learned>,
    ) {
        if policy.adaptive.is_off() || self.is_controlled() {
            return;
        }
        if let Some(Limit::AtOnce { count }) = learned.map(|l| l.limit) {
            let width = Box::new(Width::remembered(count));
            self.steer.get_or_insert_default().width = Some(width);
        } else if interval.is_some() || learned.is_some() {
            let mut control = policy.adaptive.controller(Before::nothing(clock));
            if let Some(c) = &mut control {
                if let Some(interval) = interval {
                    c.restore(now, interval);
                }
                if let Some(learned) = &learned {
                    c.remember(now, learned);
                }
            }
            self.steer.get_or_insert_default().control = control;
            self.follow(now, policy);
        }
        self.bound(now, policy);
        // It was told when it was learned.
        let known = self.limit().map(|l| l.limit);
        if let Some(steer) = &mut self.steer {
            steer.told = known;
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

impl Steer {
    /// How many places there are by policy and by what was learned.
    pub(super) fn known_places(&self, policy: &GatePolicy) -> u32 {
        let width = self.width.as_ref().map_or(u32::MAX, |w| w.most());
        let control = self.control.as_ref().map_or(u32::MAX, |c| c.places());
        policy.concurrency.min(width).min(control)
    }

    fn places(&self, now: Instant, policy: &GatePolicy) -> u32 {
        let left = self.left.filter(|l| l.until > now);
        let left = left.map_or(u32::MAX, |l| u32::try_from(l.units).unwrap_or(u32::MAX));
        // With nothing left there is a hold; one place stays, so that whoever comes after finds
        // out.
        self.known_places(policy).min(left.max(1))
    }
}
