//! One limit of the model: plain fields, and one question.

use abide_core::breaker::{Admits, Breaker};
use abide_core::control::{Controller, Width};
use abide_core::gate::Lately;
use abide_core::hold::HoldId;
use abide_core::reserve::Reserve;
use abide_core::{Ask, Instant, Scope, Verdict};

use super::Price;
use super::window::{Limit, NaiveWindow, Spacing};

/// A closing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NaiveHold {
    /// The machine's name for it, once the harness has read it.
    pub(crate) id: Option<HoldId>,
    pub(crate) cause: Verdict,
    pub(crate) until: u64,
    pub(crate) ask: Option<Ask>,
    pub(crate) probes: bool,
}

impl NaiveHold {
    pub(crate) fn lengthen(&mut self, until: u64, cause: Verdict, ask: Option<Ask>) {
        if let Some(new) = ask
            && self.ask.is_none_or(|old| old.until < new.until)
        {
            self.ask = Some(new);
        }
        if until > self.until {
            self.until = until;
            self.cause = cause;
        }
    }

    pub(crate) fn retry_at(&self) -> Instant {
        let until = Instant::from_nanos(self.until);
        self.ask.map_or(until, |a| a.until.max(until))
    }
}

/// From a refusal to the proof that it is over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NaiveEpisode {
    pub(crate) since: u64,
    pub(crate) rung: u32,
    /// The grant that is the probe, and when it lapses.
    pub(crate) probe: Option<(u64, u64)>,
    pub(crate) not_before: u64,
}

impl NaiveEpisode {
    pub(crate) fn new(since: u64, rung: u32) -> Self {
        Self {
            since,
            rung,
            probe: None,
            not_before: 0,
        }
    }

    pub(crate) fn is_probe(&self, grant: u64) -> bool {
        self.probe.is_some_and(|(g, _)| g == grant)
    }

    pub(crate) fn lost(&mut self, grant: u64, not_before: u64) {
        if self.is_probe(grant) {
            self.probe = None;
            self.not_before = self.not_before.max(not_before);
        }
    }
}

/// Permits of a shared store.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NaiveLease {
    pub(crate) id: Option<u64>,
    pub(crate) generation: u64,
    pub(crate) permits: u64,
    pub(crate) until: u64,
    /// The store has nothing before then.
    pub(crate) not_before: u64,
    /// Until when the probe may be let out.
    pub(crate) probes: u64,
    /// The gate has no limit: only its probe is the store's.
    pub(crate) uncounted: bool,
    /// The request under way; `Some(None)` until the harness has read the machine's name for it.
    pub(crate) asked: Option<Option<u64>>,
}

/// What a request waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    Nothing,
    Until(u64),
    Probe(u64),
    Return,
    Lease,
}

/// The gentle start: how many it allows, and when it began, in ticks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gentle {
    pub(crate) allowed: u32,
    began: Option<u32>,
}

const fn tick(now: u64) -> u32 {
    (now >> 20) as u32
}

impl Gentle {
    pub(crate) const fn new() -> Self {
        Self {
            allowed: 2,
            began: None,
        }
    }

    pub(crate) fn begin(&mut self, now: u64) {
        if self.began.is_none() {
            self.began = Some(tick(now) | 1);
        }
    }

    pub(crate) fn came_back(&mut self, now: u64, together: u32, served: u32) {
        let ticks = |ms: u64| ((ms * 1_000_000) >> 20) as u32;
        let age = tick(now).wrapping_sub(self.began.unwrap_or(0));
        if age < ticks(245) {
            return;
        }
        let most = if age < ticks(800) && served < 100 {
            14
        } else {
            u32::MAX - 1
        };
        self.allowed = self.allowed.max((together * 3).min(most));
    }
}

/// One limit.
#[derive(Debug)]
pub(crate) struct NaiveGate {
    pub(crate) scope: Scope,
    pub(crate) provisional: bool,
    pub(crate) alias: Option<usize>,
    pub(crate) hold: Option<NaiveHold>,
    pub(crate) episode: Option<NaiveEpisode>,
    pub(crate) windows: Vec<NaiveWindow>,
    pub(crate) spacing: Option<Spacing>,
    pub(crate) most: u32,
    pub(crate) gentle: Option<Gentle>,
    /// By how much arrivals varied when somebody last passed.
    pub(crate) lag: u64,
    pub(crate) width: Option<Width>,
    pub(crate) lease: Option<NaiveLease>,
    pub(crate) breaker: Option<Breaker>,
    /// Until when the breaker was last opened.
    pub(crate) opened_until: u64,
    pub(crate) control: Option<Box<dyn Controller>>,
    pub(crate) lately: Lately,
    /// Not before then was the next slot due.
    pub(crate) free_at: u64,
    pub(crate) reserve: Reserve,
    /// By urgency: units of the more urgent that went past those who stand here, since one of
    /// them was let through.
    pub(crate) passed: [u64; 8],
}

impl NaiveGate {
    pub(crate) fn held(&self, now: u64) -> Option<&NaiveHold> {
        self.hold.as_ref().filter(|h| h.until > now)
    }

    pub(crate) fn closed_until(&self, now: u64) -> Option<u64> {
        let open = self.breaker.as_ref().is_some_and(Breaker::is_open);
        let breaker = (open && self.opened_until > now).then_some(self.opened_until);
        self.held(now).map(|h| h.until).max(breaker)
    }

    pub(crate) fn size(&self) -> u64 {
        let sizes = self.windows.iter().map(|w| w.limit().size());
        sizes.min().unwrap_or(u64::MAX)
    }

    pub(crate) fn time_for(&self, cost: u64) -> u64 {
        let units = self.windows.iter().map(|w| w.limit().unit());
        let unit = units.chain(self.spacing.iter().map(|s| s.interval)).max();
        unit.unwrap_or(0) * cost
    }

    pub(crate) fn earliest(&self, cost: u64) -> u64 {
        let spacing = self.spacing.as_ref().map_or(0, |s| s.earliest(cost));
        let windows = self.windows.iter().map(|w| w.earliest_late(cost, self.lag));
        windows.max().unwrap_or(0).max(spacing)
    }

    /// As [`earliest`](Self::earliest), where something of each limit is left: as much as the
    /// policy says, but no more than there is beside the cost.
    fn earliest_leaving(&self, (cost, leaves): Price) -> u64 {
        let leaving = self.windows.iter().filter(|_| leaves).map(|w| {
            let size = w.limit().size();
            let kept = match (self.reserve, w.limit()) {
                (Reserve::Unit, Limit::Bucket { .. }) => 1,
                (Reserve::Unit, _) => 0,
                _ if cost == 0 => 0,
                _ => self.kept(size),
            };
            w.earliest_late((cost + kept).min(size).max(cost), self.lag)
        });
        leaving.max().unwrap_or(0).max(self.earliest(cost))
    }

    /// What is left of so many units.
    fn kept(&self, size: u64) -> u64 {
        let kept = match self.reserve {
            Reserve::Share(percent) => (size * u64::from(percent)).div_ceil(100),
            Reserve::Units(n) => u64::from(n),
            _ => 0,
        };
        kept.min(size - 1)
    }

    /// When the slot now free was due, for somebody who stands here `since`.
    pub(crate) fn slot(&self, now: u64, price: Price, since: u64) -> u64 {
        let held = self.hold.map_or(0, |h| h.until);
        let due = [self.earliest_leaving(price), since, self.free_at, held];
        let due = due.into_iter().max().unwrap_or(0);
        due.max(now.saturating_sub(50_000_000)).min(now)
    }

    /// How many may be out.
    pub(crate) fn places(&self) -> u32 {
        let gentle = self.gentle.map_or(u32::MAX, |g| g.allowed);
        let width = self.width.as_ref().map_or(u32::MAX, Width::most);
        self.most.min(gentle).min(width)
    }

    /// Whether the places that are left are kept for others.
    fn is_kept(&self, out: u32, (_, leaves): Price, paced: bool) -> bool {
        let width = self.width.as_ref().map_or(u32::MAX, Width::most);
        let places = self.most.min(width);
        let bounded = places < u32::MAX && matches!(self.reserve, Reserve::Share(_));
        leaves && paced && bounded && u64::from(out) + self.kept(places.into()) >= places.into()
    }

    fn is_crowded(&self, out: u32) -> bool {
        out >= self.places() || (self.provisional && out > 0)
    }

    fn is_unlent(&self, now: u64, cost: u64) -> bool {
        self.lease
            .is_some_and(|l| !l.uncounted && (l.permits < cost || now >= l.until))
    }

    /// Whether the next would be a probe that the store does not leave to us.
    fn is_unprobed(&self, now: u64) -> bool {
        self.episode.is_some() && self.lease.is_some_and(|l| now >= l.probes)
    }

    /// Whether the store is to be asked.
    pub(crate) fn lacks(&self, now: u64, cost: u64, paced: bool) -> bool {
        self.is_unprobed(now) || (paced && self.is_unlent(now, cost))
    }

    /// When time alone will let a request of that price pass; `None` if it takes an event.
    pub(crate) fn opens(&self, now: u64, price: Price, out: u32, paced: bool) -> Option<u64> {
        let kept = self.is_kept(out, price, paced);
        if self.is_crowded(out) || kept {
            return None;
        }
        let asks = match self.lease {
            Some(l) if self.lacks(now, price.0, paced) => match l.not_before > now {
                true => l.not_before,
                false => return None,
            },
            _ => 0,
        };
        let breaker = self
            .breaker
            .as_ref()
            .map(|b| b.admits(Instant::from_nanos(now)));
        let trial = match breaker {
            Some(Admits::NotBefore(t)) => t.as_nanos(),
            _ => 0,
        };
        let probe = self.episode.map_or(0, |e| {
            let lapses = e.probe.map_or(0, |(_, lapses)| lapses);
            lapses.max(e.not_before)
        });
        let held = self.hold.map_or(0, |h| h.until);
        let pace = if paced {
            self.earliest_leaving(price)
        } else {
            0
        };
        Some(held.max(trial).max(probe).max(pace).max(asks))
    }

    /// What a request of that price waits for with `out` requests on the wire.
    pub(crate) fn wait(&self, now: u64, price: Price, out: u32, paced: bool) -> Wait {
        if let Some(until) = self.closed_until(now) {
            let held = self.held(now).map(|h| h.until);
            return Wait::Until(held.unwrap_or(until));
        }
        if let Some(b) = &self.breaker
            && let Admits::NotBefore(t) = b.admits(Instant::from_nanos(now))
        {
            return Wait::Probe(t.as_nanos());
        }
        if let Some(e) = &self.episode {
            match e.probe {
                Some((_, lapses)) if now < lapses => return Wait::Probe(lapses),
                _ if now < e.not_before => return Wait::Probe(e.not_before),
                _ => {}
            }
        }
        if self.is_crowded(out) || self.is_kept(out, price, paced) {
            return Wait::Return;
        }
        if self.lacks(now, price.0, paced) {
            return Wait::Lease;
        }
        if !paced {
            return Wait::Nothing;
        }
        let at = self.earliest_leaving(price);
        if at > now {
            Wait::Until(at)
        } else {
            Wait::Nothing
        }
    }
}
