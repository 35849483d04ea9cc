//! A breaker: our own inference that a provider is broken.
//!
//! It is a machine of its own beside the hold (the provider's word) and the pace (our plan).
//! Three outcomes feed it. Failures count; a success closes it; a neutral answer — a 429, a
//! 404 — says nothing and gives a probe's lease back, since a breaker that keeps the lease of a
//! probe without a verdict stays open for ever, and one that counts 429 opens on a provider that
//! is well. Others do count 429, because they have many endpoints to choose from; abide holds
//! the only one there is, and the hold already stops the traffic.
//!
//! Breakers are local to a process: one process with a broken route must not stop the others.

use std::collections::VecDeque;
use std::time::Duration;

use crate::time::Instant;
use crate::verdict::Health;

/// The most failures that can be forgotten: far more than open a breaker.
const UNANSWERED: usize = 256;
/// The most openings in a row that can be undone: more do not fit into an outage's window, since
/// each is at least a second, and a quarter as long as all before.
const OPENINGS: usize = 16;

/// When a breaker opens and for how long.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct BreakerPolicy {
    /// Failures in a row that open it. Default 5: fewer is bad luck, more is a habit.
    pub in_a_row: u32,
    /// The failed part of a window that opens it. Default 0.5.
    pub ratio: f64,
    /// The fewest outcomes a window must have for `ratio` to mean anything. Default 20.
    pub at_least: u32,
    /// The window of `ratio`. Default 30 s: longer than a deploy's hiccup.
    pub window: Duration,
    /// How long it opens first. Default 30 s.
    pub open: Duration,
    /// How much longer it opens each time. Default 2.
    pub growth: f64,
    /// The longest it opens. Default 300 s: nobody wants to find a provider
    /// healed for longer than five minutes and not be told.
    pub open_max: Duration,
    /// How long a probe may be out before its lease lapses. Default 60 s.
    pub probe_lease: Duration,
}

impl Default for BreakerPolicy {
    fn default() -> Self {
        Self {
            in_a_row: 5,
            ratio: 0.5,
            at_least: 20,
            window: Duration::from_secs(30),
            open: Duration::from_secs(30),
            growth: 2.0,
            open_max: Duration::from_secs(300),
            probe_lease: Duration::from_secs(60),
        }
    }
}

impl BreakerPolicy {
    /// A bulk run's: opens 1 s, a quarter longer each time, up to 60 s. A run would rather wait
    /// than fail items, and it has nothing else to do: found healed within a quarter of the time
    /// it was down, an outage costs a run little more than itself.
    pub fn for_run() -> Self {
        Self {
            open: Duration::from_secs(1),
            growth: 1.25,
            open_max: Duration::from_secs(60),
            ..Self::default()
        }
    }
}

/// What a breaker says to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admits {
    /// Closed: everybody may go.
    Anyone,
    /// Half open: one probe may go.
    Probe,
    /// Nobody before this instant.
    NotBefore(Instant),
}

/// A lease to be the probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeLease(pub(crate) u32);

/// The breaker.
#[derive(Clone, Debug)]
pub struct Breaker {
    policy: BreakerPolicy,
    in_a_row: u32,
    window_began: Instant,
    failed: u32,
    seen: u32,
    open_until: Option<Instant>,
    opened: u32,
    generation: u32,
    probe: Option<(u32, Instant)>,
    /// When the failures without an answer came that count now.
    unanswered: VecDeque<Instant>,
    /// The openings since it was closed last.
    openings: Vec<Opening>,
}

/// How it was before it opened.
#[derive(Clone, Copy, Debug)]
struct Opening {
    at: Instant,
    /// It was a failure without an answer that opened it.
    unanswered: bool,
    open_until: Option<Instant>,
    opened: u32,
    /// With the failure that opened it.
    in_a_row: u32,
}

impl Breaker {
    /// A closed breaker.
    pub const fn new(policy: BreakerPolicy) -> Self {
        Self {
            policy,
            in_a_row: 0,
            window_began: Instant::ORIGIN,
            failed: 0,
            seen: 0,
            open_until: None,
            opened: 0,
            generation: 0,
            probe: None,
            unanswered: VecDeque::new(),
            openings: Vec::new(),
        }
    }

    /// A closed breaker whose leases are counted from `first`.
    pub(crate) const fn starting(policy: BreakerPolicy, first: u32) -> Self {
        let mut b = Self::new(policy);
        b.generation = first;
        b
    }

    /// Puts a new policy in force; what was counted and what is open stays.
    pub(crate) fn change(&mut self, policy: BreakerPolicy) {
        self.policy = policy;
    }

    /// What a request arriving now may do.
    #[inline]
    pub fn admits(&self, now: Instant) -> Admits {
        let Some(until) = self.open_until else {
            return Admits::Anyone;
        };
        if now < until {
            return Admits::NotBefore(until);
        }
        match self.probe {
            Some((_, lapses)) if now < lapses => Admits::NotBefore(lapses),
            _ => Admits::Probe,
        }
    }

    /// Leases the probe to one request; `None` unless the breaker is half open and its probe
    /// is free.
    pub fn lease(&mut self, now: Instant) -> Option<ProbeLease> {
        if self.admits(now) != Admits::Probe {
            return None;
        }
        self.generation = self.generation.wrapping_add(1).max(1);
        self.probe = Some((self.generation, now.after(self.policy.probe_lease)));
        Some(ProbeLease(self.generation))
    }

    /// Takes in an outcome. `lease` is what the request held, if it was a probe. Returns the
    /// instant until which the breaker has just opened, if it did.
    pub fn record(
        &mut self,
        now: Instant,
        health: Health,
        lease: Option<ProbeLease>,
    ) -> Option<Instant> {
        self.record_as(now, health, lease, false)
    }

    /// As [`record`](Self::record), telling failures that got no answer from others: those may
    /// turn out to have been ours, and are [forgotten](Self::forget) then.
    pub fn record_as(
        &mut self,
        now: Instant,
        health: Health,
        lease: Option<ProbeLease>,
        unanswered: bool,
    ) -> Option<Instant> {
        let probing = lease.is_some_and(|l| self.probe.is_some_and(|(g, _)| g == l.0));
        if probing {
            self.probe = None;
        }
        if self.open_until.is_some() {
            // Only the probe speaks while it is open: late answers to requests from before it
            // opened tell nothing new.
            if probing {
                match health {
                    Health::Success => self.close(now),
                    Health::Failure => return Some(self.open(now, unanswered)),
                    Health::Neutral => {}
                }
            }
            return None;
        }
        if now > self.window_began.after(self.policy.window) {
            self.window_began = now;
            self.failed = 0;
            self.seen = 0;
        }
        match health {
            Health::Neutral => None,
            Health::Success => {
                self.in_a_row = 0;
                self.seen += 1;
                None
            }
            Health::Failure => {
                self.in_a_row += 1;
                self.seen += 1;
                self.failed += 1;
                if unanswered {
                    bounded(&mut self.unanswered, now);
                }
                let trips = self.in_a_row >= self.policy.in_a_row
                    || (self.seen >= self.policy.at_least
                        && f64::from(self.failed) >= self.policy.ratio * f64::from(self.seen));
                trips.then(|| self.open(now, unanswered))
            }
        }
    }

    /// The failures without an answer since an instant were none of the provider's: it is as if
    /// they had not been, and so are the openings that they led to.
    pub fn forget(&mut self, since: Instant) {
        let ours = |o: &Opening| o.at >= since && o.unanswered;
        if let Some(i) = self.openings.iter().position(ours) {
            let before = self.openings[i];
            self.openings.truncate(i);
            self.open_until = before.open_until;
            self.opened = before.opened;
            self.in_a_row = before.in_a_row;
            self.probe = None;
        }
        let counted = |from| self.unanswered.iter().filter(|at| **at >= from).count();
        let (all, window) = (counted(since), counted(since.max(self.window_began)));
        let (all, window) = (saturated(all), saturated(window));
        self.in_a_row = self.in_a_row.saturating_sub(all);
        self.failed = self.failed.saturating_sub(window);
        self.seen = self.seen.saturating_sub(window);
        self.unanswered.retain(|at| *at < since);
    }

    /// The probe never was sent, or its caller left: the next request may be it.
    pub fn give_back(&mut self, lease: ProbeLease) {
        if self.probe.is_some_and(|(g, _)| g == lease.0) {
            self.probe = None;
        }
    }

    /// Until when it is closed to everybody; `None` once a probe may go or is out.
    #[inline]
    pub(crate) fn open_until(&self, now: Instant) -> Option<Instant> {
        self.open_until.filter(|until| now < *until)
    }

    /// Whether this lease is still the probe's.
    pub(crate) fn is_probe(&self, lease: u32) -> bool {
        self.probe.is_some_and(|(g, _)| g == lease)
    }

    /// Whether it is open or half open.
    pub const fn is_open(&self) -> bool {
        self.open_until.is_some()
    }

    fn open(&mut self, now: Instant, unanswered: bool) -> Instant {
        if self.openings.len() >= OPENINGS {
            self.openings.remove(0);
        }
        self.openings.push(Opening {
            at: now,
            unanswered,
            open_until: self.open_until,
            opened: self.opened,
            in_a_row: self.in_a_row,
        });
        let times = self.policy.growth.max(1.0).powi(self.opened.min(1_000).cast_signed());
        let open = self.policy.open.as_secs_f64() * times;
        let most = self.policy.open_max;
        let open = Duration::try_from_secs_f64(open).map_or(most, |d| d.min(most));
        let until = now.after(open);
        self.opened += 1;
        self.open_until = Some(until);
        self.in_a_row = 0;
        until
    }

    fn close(&mut self, now: Instant) {
        self.unanswered.clear();
        self.openings.clear();
        self.open_until = None;
        self.opened = 0;
        self.in_a_row = 0;
        self.failed = 0;
        self.seen = 0;
        self.window_began = now;
    }
}

fn bounded(all: &mut VecDeque<Instant>, now: Instant) {
    if all.len() >= UNANSWERED {
        all.pop_front();
    }
    all.push_back(now);
}

fn saturated(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(s: u64) -> Instant {
        Instant::from_secs(s)
    }

    fn opened() -> Breaker {
        let mut b = Breaker::new(BreakerPolicy::default());
        for _ in 0..5 {
            b.record(at(0), Health::Failure, None);
        }
        b
    }

    #[test]
    fn sc_b01_a_refusal_never_counts() {
        let mut b = Breaker::new(BreakerPolicy::default());
        for _ in 0..1000 {
            assert_eq!(b.record(at(0), Health::Neutral, None), None);
        }
        assert_eq!(b.admits(at(0)), Admits::Anyone);
    }

    #[test]
    fn sc_b05_a_neutral_outcome_gives_the_probe_back() {
        let mut b = opened();
        assert_eq!(b.admits(at(29)), Admits::NotBefore(at(30)));
        let lease = b.lease(at(30));
        assert_eq!(b.admits(at(30)), Admits::NotBefore(at(90)));
        b.record(at(31), Health::Neutral, lease);
        assert_eq!(b.admits(at(31)), Admits::Probe);
    }

    #[test]
    fn ra_34_a_late_completion_does_not_free_the_new_probe() {
        let mut b = opened();
        let old = b.lease(at(30));
        let new = b.lease(at(91));
        assert!(new.is_some(), "the first lease lapsed");
        b.record(at(92), Health::Success, old);
        assert!(b.is_open());
        b.record(at(93), Health::Success, new);
        assert!(!b.is_open());
    }

    #[test]
    fn sc_b06_exactly_one_probe_and_longer_openings() {
        let mut b = opened();
        let lease = b.lease(at(30));
        assert_eq!(b.lease(at(30)), None);
        assert_eq!(b.record(at(30), Health::Failure, lease), Some(at(90)));
    }

    fn unanswered(b: &mut Breaker, s: u64, lease: Option<ProbeLease>) -> Option<Instant> {
        b.record_as(at(s), Health::Failure, lease, true)
    }

    #[test]
    fn inv09_an_opening_by_failures_of_ours_is_undone() {
        let mut b = Breaker::new(BreakerPolicy::default());
        b.record(at(1), Health::Failure, None);
        for s in 10..14 {
            unanswered(&mut b, s, None);
        }
        assert!(b.is_open(), "five in a row");
        b.forget(at(5));
        assert_eq!(b.admits(at(14)), Admits::Anyone);
        for s in 20..23 {
            assert_eq!(b.record(at(s), Health::Failure, None), None);
        }
        let opened = b.record(at(23), Health::Failure, None);
        assert_eq!(
            opened,
            Some(at(53)),
            "the first one still counts, and no rung was climbed"
        );
    }

    #[test]
    fn inv09_a_probe_of_ours_that_failed_climbs_no_rung() {
        let mut b = opened();
        let lease = b.lease(at(30));
        assert_eq!(unanswered(&mut b, 31, lease), Some(at(91)));
        b.forget(at(25));
        assert_eq!(b.admits(at(31)), Admits::Probe);
        let lease = b.lease(at(31));
        assert_eq!(b.record(at(32), Health::Failure, lease), Some(at(92)));
    }

    #[test]
    fn inv09_what_the_provider_itself_failed_at_is_not_forgotten() {
        let mut b = opened();
        b.forget(at(0));
        assert_eq!(b.admits(at(1)), Admits::NotBefore(at(30)));
    }

    #[test]
    fn a_window_that_fails_by_half_opens_it() {
        let mut b = Breaker::new(BreakerPolicy::default());
        let mut opened = None;
        for n in 0..20 {
            let h = if n % 2 == 0 {
                Health::Success
            } else {
                Health::Failure
            };
            let now_open = b.record(at(n), h, None);
            opened = opened.or(now_open);
        }
        assert!(opened.is_some());
    }
}
