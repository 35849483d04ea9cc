//! Windows as logs of what was paid, added up anew for every question.

use std::time::Duration;

use abide_core::Instant;
use abide_core::pace::{Fixed, Gcra, Sliding, Window};

/// A window by its figures, from which both the machine's and the model's are made.
#[derive(Clone, Debug)]
pub(crate) enum Limit {
    Bucket { interval: u64, burst: u64 },
    Fixed { limit: u64, period: u64, phase: u64 },
    Sliding { limit: u64, period: u64 },
}

impl Limit {
    pub(crate) fn real(&self) -> Window {
        match *self {
            Self::Bucket { interval, burst } => {
                Window::Gcra(Gcra::new(Duration::from_nanos(interval), burst as u32))
            }
            Self::Fixed {
                limit,
                period,
                phase,
            } => Window::from(Fixed::new(
                limit as u32,
                Duration::from_nanos(period),
                Instant::from_nanos(phase),
            )),
            Self::Sliding { limit, period } => {
                Window::from(Sliding::new(limit as u32, Duration::from_nanos(period)))
            }
        }
    }

    pub(crate) fn size(&self) -> u64 {
        match *self {
            Self::Bucket { burst, .. } => burst,
            Self::Fixed { limit, .. } | Self::Sliding { limit, .. } => limit,
        }
    }

    pub(crate) fn unit(&self) -> u64 {
        match *self {
            Self::Bucket { interval, .. } => interval,
            Self::Fixed { limit, period, .. } | Self::Sliding { limit, period } => {
                period.div_ceil(limit)
            }
        }
    }
}

/// What happened to a bucket.
#[derive(Clone, Copy, Debug)]
enum Happening {
    Paid {
        call: u64,
        now: u64,
        at: u64,
        cost: u64,
    },
    Back {
        call: u64,
        paid_at: u64,
        cost: u64,
    },
    Owed {
        at: u64,
        nanos: u64,
    },
}

/// A token bucket as the list of everything that happened to it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bucket {
    log: Vec<Happening>,
}

impl Bucket {
    /// Adds the log up: when it will be full, since when it is busy, and what was owed at each
    /// later payment of that stretch.
    fn replay(&self, interval: u64) -> (u64, u64, Vec<u64>) {
        let (mut full, mut busy, mut last, mut owed) = (0_u64, 0, u64::MAX, Vec::new());
        for h in &self.log {
            match *h {
                Happening::Paid { now, at, cost, .. } => {
                    if full > at {
                        owed.push(full - at);
                    } else {
                        (busy, owed) = (now, Vec::new());
                        if last == now {
                            owed.push(0);
                        }
                    }
                    last = now;
                    full = full.max(at) + cost * interval;
                }
                Happening::Back { paid_at, cost, .. } => {
                    if paid_at >= busy {
                        let least = owed.iter().copied().min().unwrap_or(u64::MAX);
                        let give = least.min(cost * interval);
                        full = full.saturating_sub(give);
                        for o in &mut owed {
                            *o -= give;
                        }
                    }
                }
                Happening::Owed { at, nanos } => {
                    // Who owes nothing leaves the bucket as full as it was.
                    if nanos > 0 {
                        full = full.max(at) + nanos;
                    }
                    owed.push(0);
                }
            }
        }
        (full, busy, owed)
    }

    /// As if what was given back had never been paid: no refund may hand out more than this.
    fn without_refunded(&self, interval: u64) -> u64 {
        let mut full = 0_u64;
        for (i, h) in self.log.iter().enumerate() {
            match *h {
                Happening::Paid { call, at, cost, .. } => {
                    let back: u64 = self.log[i..]
                        .iter()
                        .map(|h| match *h {
                            Happening::Back { call: c, cost, .. } if c == call => cost,
                            _ => 0,
                        })
                        .sum();
                    let cost = cost.saturating_sub(back);
                    if cost > 0 {
                        full = full.max(at) + cost * interval;
                    }
                }
                Happening::Owed { at, nanos } if nanos > 0 => full = full.max(at) + nanos,
                Happening::Owed { .. } => {}
                Happening::Back { .. } => {}
            }
        }
        full
    }
}

/// One limit of one gate.
#[derive(Clone, Debug)]
pub(crate) struct NaiveWindow {
    limit: Limit,
    bucket: Bucket,
    /// (which payment, when, units), for the counting windows.
    counted: Vec<(u64, u64, u64)>,
    /// When something was paid last, given back or not: a boundary that was passed once is past.
    reached: u64,
}

impl NaiveWindow {
    pub(crate) fn new(limit: Limit) -> Self {
        Self {
            limit,
            bucket: Bucket::default(),
            counted: Vec::new(),
            reached: 0,
        }
    }

    /// Where a sliding window counts a send: long logs are kept in sixty-fourths of the period.
    fn stamp(limit: u64, period: u64, at: u64) -> u64 {
        let width = if limit <= 64 { 1 } else { period.div_ceil(64) };
        at.div_ceil(width) * width
    }

    fn index(period: u64, phase: u64, at: u64) -> u64 {
        (at + period - phase % period) / period
    }

    /// The first instant at which `cost` fits, had nothing else been paid; may be in the past.
    pub(crate) fn earliest(&self, cost: u64) -> u64 {
        match self.limit {
            Limit::Bucket { interval, burst } => {
                let (full, ..) = self.bucket.replay(interval);
                full.saturating_sub(burst.saturating_sub(cost) * interval)
            }
            Limit::Fixed {
                limit,
                period,
                phase,
            } => {
                let index = |t: u64| Self::index(period, phase, t);
                let paid = self.counted.iter().map(|(_, t, _)| index(*t)).max();
                let Some(last) = paid.map(|p| p.max(index(self.reached))) else {
                    return 0;
                };
                let current = self.counted.iter().filter(|(_, t, _)| index(*t) == last);
                let used: u64 = current.map(|(.., units)| units).sum();
                if used == 0 || used + cost <= limit {
                    return 0;
                }
                (last + 1) * period + phase % period - period
            }
            Limit::Sliding { limit, period } => {
                let gone = |t: u64| Self::stamp(limit, period, t) + period;
                let mut moments: Vec<u64> = self.counted.iter().map(|(_, t, _)| gone(*t)).collect();
                moments.push(0);
                moments.sort_unstable();
                let fits = |at: u64| {
                    let inside = self.counted.iter().filter(|(_, t, _)| gone(*t) > at);
                    let used: u64 = inside.map(|(.., units)| units).sum();
                    used == 0 || used + cost <= limit
                };
                moments.into_iter().find(|t| fits(*t)).expect("all leave")
            }
        }
    }

    /// As `earliest`, where arrivals vary by `lag`: what was filled is kept that much longer.
    pub(crate) fn earliest_late(&self, cost: u64, lag: u64) -> u64 {
        let at = self.earliest(cost);
        at + match self.limit {
            Limit::Bucket { interval, burst } => lag.min(interval).min((burst - 1) * interval),
            Limit::Fixed { period, .. } | Limit::Sliding { period, .. } if at > 0 => {
                lag.min(period / 20)
            }
            _ => 0,
        }
    }

    /// `at` is the instant the slot was due, as buckets count; the others count `now`.
    pub(crate) fn pay(&mut self, call: u64, now: u64, at: u64, cost: u64) {
        if cost == 0 {
            return;
        }
        self.bucket.log.push(Happening::Paid {
            call,
            now,
            at,
            cost,
        });
        self.counted.push((call, now, cost));
        self.reached = self.reached.max(now);
    }

    pub(crate) fn give_back(&mut self, call: u64, paid_at: u64, cost: u64) {
        if let Limit::Bucket { interval, .. } = self.limit {
            let before = self.bucket.replay(interval).0;
            let back = Happening::Back {
                call,
                paid_at,
                cost,
            };
            self.bucket.log.push(back);
            let after = self.bucket.replay(interval).0;
            let exact = self.bucket.without_refunded(interval);
            assert!(after <= before, "a refund never costs");
            assert!(
                after >= exact,
                "handed out {} ns: {:?}",
                exact - after,
                self.bucket.log
            );
        }
        let mut left = cost;
        for (c, _, units) in self.counted.iter_mut().rev().filter(|(c, ..)| *c == call) {
            let take = left.min(*units);
            (*units, left) = (*units - take, left - take);
            debug_assert_eq!(*c, call);
        }
        self.counted.retain(|(.., units)| *units > 0);
    }

    /// What a gate that turned out to be the same bucket has counted.
    pub(crate) fn absorb(&mut self, now: u64, other: &Self) {
        if let Limit::Bucket { interval, .. } = self.limit {
            let nanos = other.bucket.replay(interval).0.saturating_sub(now);
            self.bucket.log.push(Happening::Owed { at: now, nanos });
        }
        self.counted.extend(other.counted.iter().copied());
    }

    /// A count remembered over a restart.
    pub(crate) fn restore(&mut self, now: u64, used: u64, end: u64) {
        let Limit::Fixed { period, phase, .. } = self.limit else {
            return;
        };
        if end <= now {
            return;
        }
        let index = Self::index(period, phase, now);
        let current = self
            .counted
            .iter()
            .filter(|(_, t, _)| Self::index(period, phase, *t) == index);
        let counted: u64 = current.map(|(.., units)| units).sum();
        if used > counted {
            self.counted.push((u64::MAX, now, used - counted));
        }
    }

    pub(crate) fn limit(&self) -> &Limit {
        &self.limit
    }
}

/// The adaptive interval: one request an interval, none saved up.
#[derive(Clone, Debug)]
pub(crate) struct Spacing {
    pub(crate) interval: u64,
    next: u64,
    busy: u64,
    last: u64,
    owed: Vec<u64>,
}

impl Spacing {
    pub(crate) fn new(now: u64, interval: u64) -> Self {
        Self {
            interval: interval.max(1),
            next: now,
            busy: 0,
            last: u64::MAX,
            owed: vec![0],
        }
    }

    /// What costs nothing needs no slot of its own.
    pub(crate) fn earliest(&self, cost: u64) -> u64 {
        let free = if cost == 0 { self.interval } else { 0 };
        self.next.saturating_sub(free)
    }

    pub(crate) fn pay(&mut self, now: u64, at: u64) {
        if self.next > at {
            self.owed.push(self.next - at);
        } else {
            (self.busy, self.owed) = (now, Vec::new());
            if self.last == now {
                self.owed.push(0);
            }
        }
        self.last = now;
        self.next = self.next.max(at) + self.interval;
    }

    pub(crate) fn give_back(&mut self, paid_at: u64) {
        if paid_at >= self.busy {
            let least = self.owed.iter().copied().min().unwrap_or(u64::MAX);
            let give = least.min(self.interval);
            self.next = self.next.saturating_sub(give);
            self.owed.iter_mut().for_each(|o| *o -= give);
        }
    }

    /// Nothing goes before a whole interval is over.
    pub(crate) fn rest(&mut self, now: u64) {
        self.next = self.next.max(now + self.interval);
        self.owed.push(0);
    }

    pub(crate) fn change(&mut self, now: u64, interval: u64) {
        let interval = interval.max(1);
        let owed = u128::from(self.next.saturating_sub(now));
        let scaled = owed * u128::from(interval) / u128::from(self.interval);
        self.next = now + u64::try_from(scaled).expect("small");
        self.owed.push(0);
        self.interval = interval;
    }
}
