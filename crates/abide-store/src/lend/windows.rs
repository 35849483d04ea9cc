//! Windows as a store counts them: in microseconds of its own clock, in the arithmetic of doubles,
//! which is what a script in Redis has. A double tells microseconds apart for 285 years.
//!
//! Processes may be configured differently for a while, and a clock may step back when another
//! server takes over. Neither makes a budget come back before its time, and neither keeps a window
//! closed for longer than it lasts.

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

/// The kinds of windows: processes that count one limit in two ways count each for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Bucket,
    Fixed,
    Sliding,
}

/// Microseconds.
pub(crate) fn micros(d: Duration) -> f64 {
    d.as_nanos() as f64 / 1000.0
}

/// A wall time in microseconds: whole ones exactly, which the quotient of doubles would not be.
pub(crate) fn instant(wall: WallTime) -> f64 {
    let nanos = wall.as_unix_nanos();
    (nanos / 1000) as f64 + (nanos % 1000) as f64 / 1000.0
}

impl Shape {
    pub(super) const fn kind(&self) -> Kind {
        match self {
            Self::Bucket { .. } => Kind::Bucket,
            Self::Fixed { .. } => Kind::Fixed,
            Self::Sliding { .. } => Kind::Sliding,
        }
    }

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
    /// Forgets what is over at `now`. What was counted in another way is nothing. Says whether it
    /// had to be shortened: that must be kept also where nothing is paid, or it would be shortened
    /// anew each time, and never end.
    pub(super) fn roll(&mut self, shape: &Shape, now: f64) -> bool {
        match (&mut *self, shape) {
            (Self::Bucket(full), Shape::Bucket { interval, burst }) => {
                // Never emptier than empty.
                let empty = now + f64::from(*burst) * micros(*interval);
                let shortened = *full > empty;
                *full = full.max(now).min(empty);
                shortened
            }
            (
                Self::Fixed(end, used),
                Shape::Fixed {
                    period, boundary, ..
                },
            ) => {
                let next = boundary_after(now, *period, *boundary);
                let shortened = *end > now + micros(*period);
                if now >= *end {
                    (*end, *used) = (next, 0.0);
                } else if shortened {
                    *end = next;
                }
                shortened
            }
            (Self::Sliding(sent), Shape::Sliding { limit, period }) => {
                sent.retain(|(at, _)| at + micros(*period) > now);
                let latest = stamp(*limit, *period, now + micros(*period));
                let shortened = sent.iter().any(|(at, _)| *at > latest);
                sent.iter_mut().for_each(|(at, _)| *at = at.min(latest));
                shortened
            }
            _ => {
                *self = shape.fresh();
                self.roll(shape, now)
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
    pub(super) fn lapses(&self, shape: &Shape, now: f64, life: f64) -> f64 {
        match (self, shape) {
            (Self::Fixed(end, _), _) => end.min(now + life),
            // It is counted at the end of its life, which must not be out of the window's reach.
            (_, Shape::Sliding { period, .. }) => now + life.min(micros(*period)),
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
                    // What costs nothing is no entry: nothing would bound their number.
                    _ if units > 0.0 => sent.push((at, units)),
                    _ => {}
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
    let (period, boundary) = (micros(period), instant(boundary));
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

#[cfg(test)]
mod tests {
    use super::*;

    const S: f64 = 1e6;
    /// Far from the beginning of time, as clocks are.
    const T: f64 = 1.8e15;

    const fn secs(s: u64) -> Duration {
        Duration::from_secs(s)
    }

    const BUCKET: Shape = Shape::Bucket {
        interval: secs(1),
        burst: 3,
    };

    fn fixed(period: u64, phase: i64) -> Shape {
        Shape::Fixed {
            limit: 5,
            period: secs(period),
            boundary: WallTime::from_unix_secs(phase),
        }
    }

    fn sliding(limit: u64) -> Shape {
        Shape::Sliding {
            limit,
            period: secs(10),
        }
    }

    /// Lends all it can at `now`, and says how much that was.
    fn drain(window: &mut Window, shape: &Shape, now: f64) -> f64 {
        window.roll(shape, now);
        let left = window.left(shape, now).max(0.0);
        window.pay(shape, now, now, left);
        left
    }

    #[test]
    fn a_bucket_fills_one_by_one() {
        let mut w = BUCKET.fresh();
        assert_eq!(drain(&mut w, &BUCKET, T), 3.0);
        assert_eq!(drain(&mut w, &BUCKET, T + 0.9 * S), 0.0);
        assert_eq!(w.wait(&BUCKET, T + 0.9 * S, 1.0), 0.1 * S);
        assert_eq!(drain(&mut w, &BUCKET, T + S), 1.0);
        assert_eq!(drain(&mut w, &BUCKET, T + 100.0 * S), 3.0);
    }

    #[test]
    fn a_bucket_is_never_emptier_than_empty() {
        let mut w = BUCKET.fresh();
        drain(&mut w, &BUCKET, T);
        // The clock steps back by an hour.
        let back = T - 3600.0 * S;
        assert_eq!(drain(&mut w, &BUCKET, back), 0.0);
        assert_eq!(drain(&mut w, &BUCKET, back + S), 1.0);
    }

    #[test]
    fn a_bucket_takes_back_no_more_than_is_owed() {
        let mut w = BUCKET.fresh();
        drain(&mut w, &BUCKET, T);
        w.roll(&BUCKET, T + S);
        w.take_back(&BUCKET, T + S, T, T, 3.0);
        assert_eq!(w.left(&BUCKET, T + S), 3.0);
        w.take_back(&BUCKET, T + S, T, T, 3.0);
        assert_eq!(w.left(&BUCKET, T + S), 3.0, "no more than it holds");
    }

    #[test]
    fn a_fixed_window_begins_anew_at_its_boundary() {
        let shape = fixed(60, 0);
        let mut w = shape.fresh();
        let end = (T / (60.0 * S)).floor() * 60.0 * S + 60.0 * S;
        assert_eq!(drain(&mut w, &shape, end - S), 5.0);
        assert_eq!(drain(&mut w, &shape, end - 1.0), 0.0);
        assert_eq!(w.wait(&shape, end - 1.0, 1.0), 1.0);
        assert_eq!(w.lapses(&shape, end - S, 5.0 * S), end);
        assert_eq!(drain(&mut w, &shape, end), 5.0);
    }

    #[test]
    fn two_ideas_of_a_boundary_do_not_multiply_a_budget() {
        let (one, other) = (fixed(60, 0), fixed(60, 30));
        let mut w = one.fresh();
        let start = (T / (60.0 * S)).floor() * 60.0 * S;
        let lent: f64 = (0..60)
            .map(|s| {
                let shape = if s % 2 == 0 { &one } else { &other };
                drain(&mut w, shape, start + f64::from(s) * S)
            })
            .sum();
        assert!(lent <= 10.0, "{lent} of 5 a minute");
    }

    #[test]
    fn a_fixed_window_outlasts_no_period() {
        let (day, minute) = (fixed(86_400, 0), fixed(60, 0));
        let mut w = day.fresh();
        assert_eq!(drain(&mut w, &day, T), 5.0);
        assert_eq!(drain(&mut w, &minute, T), 0.0, "what is spent stays spent");
        assert_eq!(drain(&mut w, &minute, T + 60.0 * S), 5.0);
    }

    #[test]
    fn what_another_window_lent_is_not_taken_back() {
        let shape = fixed(60, 0);
        let mut w = shape.fresh();
        drain(&mut w, &shape, T);
        drain(&mut w, &shape, T + 60.0 * S);
        w.take_back(&shape, T + 60.0 * S, T, T, 5.0);
        assert_eq!(w.left(&shape, T + 60.0 * S), 0.0);
        w.take_back(&shape, T + 60.0 * S, T + 60.0 * S, T + 60.0 * S, 2.0);
        assert_eq!(w.left(&shape, T + 60.0 * S), 2.0);
    }

    #[test]
    fn a_sliding_window_lends_no_more_in_any_stretch() {
        let shape = sliding(4);
        let mut w = shape.fresh();
        w.roll(&shape, T);
        w.pay(&shape, T, T + S, 3.0);
        assert_eq!(drain(&mut w, &shape, T + 5.0 * S), 1.0);
        assert_eq!(drain(&mut w, &shape, T + 10.9 * S), 0.0);
        assert_eq!(w.wait(&shape, T + 5.0 * S, 1.0), 6.0 * S);
        assert_eq!(drain(&mut w, &shape, T + 11.0 * S), 3.0);
        assert_eq!(drain(&mut w, &shape, T + 15.0 * S), 1.0);
    }

    #[test]
    fn a_large_sliding_window_keeps_few_entries() {
        let shape = sliding(100_000);
        let mut w = shape.fresh();
        for n in 0..20_000 {
            let now = T + f64::from(n) * 1000.0;
            w.roll(&shape, now);
            w.pay(&shape, now, now, 1.0);
        }
        let Window::Sliding(entries) = &w else {
            panic!("{w:?}")
        };
        assert!(entries.len() <= 66, "{}", entries.len());
    }

    #[test]
    fn what_costs_nothing_is_not_kept() {
        let shape = sliding(4);
        let mut w = shape.fresh();
        w.pay(&shape, T, T, 0.0);
        assert_eq!(w, Window::Sliding(Vec::new()));
    }

    #[test]
    fn a_sliding_window_takes_back_from_what_leaves_first() {
        let shape = sliding(9);
        let mut w = shape.fresh();
        w.pay(&shape, T, T, 3.0);
        w.pay(&shape, T, T + 2.0 * S, 3.0);
        w.take_back(&shape, T + S, T, T, 4.0);
        assert_eq!(w, Window::Sliding(vec![(T + 2.0 * S, 3.0)]));
    }

    #[test]
    fn a_sliding_window_is_lent_for_no_longer_than_it_lasts() {
        let shape = sliding(9);
        let w = shape.fresh();
        assert_eq!(w.lapses(&shape, T, 60.0 * S), T + 10.0 * S);
        assert_eq!(w.lapses(&shape, T, S), T + S);
    }

    #[test]
    fn a_step_back_of_the_clock_closes_no_sliding_window_for_long() {
        let shape = sliding(4);
        let mut w = shape.fresh();
        drain(&mut w, &shape, T);
        let back = T - 3600.0 * S;
        assert_eq!(drain(&mut w, &shape, back), 0.0);
        assert_eq!(drain(&mut w, &shape, back + 20.0 * S), 4.0);
    }
}
