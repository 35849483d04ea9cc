//! Windows as a store counts them: in microseconds of its own clock, in the arithmetic of doubles,
//! which is what a script in Redis has. A double tells microseconds apart for 285 years.

use std::time::Duration;

use abide_core::WallTime;

/// The most entries a sliding window keeps: of larger limits, what is lent is counted at the end
/// of its sixty-fourth of the period, which errs on the safe side.
const ENTRIES: f64 = 64.0;
/// What the arithmetic of doubles may be off by, in units.
const CRUMB: f64 = 1e-6;

/// A limit, as it is configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One unit an interval, at most `burst` saved up.
    Bucket {
        /// What a unit takes.
        interval: Duration,
        /// At most so many at once, at least 1.
        burst: u32,
    },
    /// So many units until each boundary.
    Fixed {
        /// Units.
        limit: u64,
        /// From boundary to boundary.
        period: Duration,
        /// One of the boundaries.
        boundary: WallTime,
    },
    /// At most so many units in any stretch of the period.
    Sliding {
        /// Units.
        limit: u64,
        /// The stretch.
        period: Duration,
    },
}

/// What was counted of one limit.
#[derive(Clone, Debug, PartialEq)]
pub enum Window {
    /// When the bucket will be full again.
    Bucket(f64),
    /// The end of the window, and what is used of it.
    Fixed(f64, f64),
    /// What was lent, and when.
    Sliding(Vec<(f64, f64)>),
}

/// Microseconds.
pub(super) fn micros(d: Duration) -> f64 {
    d.as_nanos() as f64 / 1000.0
}

impl Shape {
    /// Nothing counted.
    pub(super) const fn fresh(&self) -> Window {
        match self {
            Self::Bucket { .. } => Window::Bucket(0.0),
            Self::Fixed { .. } => Window::Fixed(0.0, 0.0),
            Self::Sliding { .. } => Window::Sliding(Vec::new()),
        }
    }
}

impl Window {
    /// Forgets what is over at `now`. What was counted in another way is nothing.
    pub(super) fn roll(&mut self, shape: &Shape, now: f64) {
        match (&mut *self, shape) {
            (Self::Bucket(full), Shape::Bucket { .. }) => *full = full.max(now),
            (
                Self::Fixed(end, used),
                Shape::Fixed {
                    period, boundary, ..
                },
            ) => {
                let next = boundary_after(now, *period, *boundary);
                if *end != next {
                    (*end, *used) = (next, 0.0);
                }
            }
            (Self::Sliding(sent), Shape::Sliding { period, .. }) => {
                sent.retain(|(at, _)| at + micros(*period) > now);
            }
            _ => {
                *self = shape.fresh();
                self.roll(shape, now);
            }
        }
    }

    /// How many units it has, rolled to `now`.
    pub(super) fn left(&self, shape: &Shape, now: f64) -> f64 {
        match (self, shape) {
            (Self::Bucket(full), Shape::Bucket { interval, burst }) => {
                let interval = micros(*interval);
                let brim = now + f64::from(*burst) * interval;
                ((brim - full) / interval + CRUMB).floor()
            }
            (Self::Fixed(_, used), Shape::Fixed { limit, .. }) => *limit as f64 - used,
            (Self::Sliding(sent), Shape::Sliding { limit, .. }) => {
                *limit as f64 - sent.iter().map(|(_, units)| units).sum::<f64>()
            }
            _ => 0.0,
        }
    }

    /// In how many microseconds `cost` fits, rolled to `now`; never 0, since it was asked when it
    /// did not.
    pub(super) fn wait(&self, shape: &Shape, now: f64, cost: f64) -> f64 {
        let at = match (self, shape) {
            (Self::Bucket(full), Shape::Bucket { interval, burst }) => {
                full + (cost - f64::from(*burst)) * micros(*interval)
            }
            (Self::Fixed(end, _), _) => *end,
            (Self::Sliding(sent), Shape::Sliding { limit, period }) => {
                let mut used: f64 = sent.iter().map(|(_, units)| units).sum();
                let mut at = now;
                for (stamp, units) in sent {
                    if used + cost <= *limit as f64 {
                        break;
                    }
                    used -= units;
                    at = stamp + micros(*period);
                }
                at
            }
            _ => now,
        };
        (at - now).ceil().max(1.0)
    }

    /// Until when what is lent at `now` may be spent at most.
    pub(super) fn lapses(&self, now: f64, life: f64) -> f64 {
        match self {
            Self::Fixed(end, _) => end.min(now + life),
            _ => now + life,
        }
    }

    /// Pays for what is lent at `now`, and spent by `until`.
    pub(super) fn pay(&mut self, shape: &Shape, now: f64, until: f64, units: f64) {
        match (self, shape) {
            (Self::Bucket(full), Shape::Bucket { interval, .. }) => {
                *full = full.max(now) + units * micros(*interval);
            }
            (Self::Fixed(_, used), _) => *used += units,
            (Self::Sliding(sent), Shape::Sliding { limit, period }) => {
                let at = stamp(*limit, *period, until);
                match sent.last_mut() {
                    Some((last, more)) if *last >= at => *more += units,
                    _ => sent.push((at, units)),
                }
            }
            _ => {}
        }
    }

    /// Takes back units that were lent at `lent` to be spent by `until`. What time has made good
    /// since is owed by nobody any more.
    pub(super) fn take_back(&mut self, shape: &Shape, now: f64, lent: f64, until: f64, units: f64) {
        match (self, shape) {
            (Self::Bucket(full), Shape::Bucket { interval, .. }) => {
                let owed = units * micros(*interval) - (now - lent).max(0.0);
                *full = (*full - owed.max(0.0)).max(now);
            }
            (
                Self::Fixed(end, used),
                Shape::Fixed {
                    period, boundary, ..
                },
            ) if boundary_after(lent, *period, *boundary) == *end => {
                *used = (*used - units).max(0.0);
            }
            (Self::Sliding(sent), Shape::Sliding { limit, period }) => {
                let at = stamp(*limit, *period, until);
                let mut left = units;
                // Never from a later entry: what stays would leave the window too soon.
                for (_, more) in sent.iter_mut().rev().filter(|(s, _)| *s <= at) {
                    let take = left.min(*more);
                    *more -= take;
                    left -= take;
                }
                sent.retain(|(_, more)| *more > 0.0);
            }
            _ => {}
        }
    }
}

/// The first boundary after `now`.
fn boundary_after(now: f64, period: Duration, boundary: WallTime) -> f64 {
    let (period, boundary) = (micros(period), boundary.as_unix_nanos() as f64 / 1000.0);
    let phase = boundary - (boundary / period).floor() * period;
    (((now - phase) / period).floor() + 1.0) * period + phase
}

/// At which instant what is spent by `until` is counted.
fn stamp(limit: u64, period: Duration, until: f64) -> f64 {
    if limit as f64 <= ENTRIES {
        return until;
    }
    let width = micros(period) / ENTRIES;
    (until / width).ceil() * width
}
