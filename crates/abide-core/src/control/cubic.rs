//! CUBIC (RFC 9438) on a rate instead of a window: a yardstick beside [`Aimd`](super::Aimd).
//!
//! Inert until the first refusal. A refusal says that the rate in force was too high, so it falls
//! to seven tenths of that; from there it grows by the cubic function of the time since: fast at
//! first, hardly at all near the rate that was refused, then ever faster beyond it. It knows of no
//! burst and no window: whatever came back well lately, a second, is its first rate.

use std::collections::VecDeque;
use std::time::Duration;

use super::{Before, Controller};
use crate::time::Instant;

/// The lowest rate, in units a second: without a floor a controller never comes back.
const FLOOR: f64 = 1.0 / 60.0;
/// No interval is kept above this rate: the wire is the limit there.
const CEILING: f64 = 100_000.0;
/// What a refusal leaves of the rate: β of RFC 9438.
const KEPT: f64 = 0.7;
/// How steep the cubic is, in units a second a second cubed: C of RFC 9438, which is for windows
/// of segments and serves rates of as many units a second.
const STEEP: f64 = 0.4;
/// Over so long what was sent is taken for a rate, at the first refusal.
const LATELY: Duration = Duration::from_secs(1);

/// The CUBIC controller.
#[derive(Debug, Default)]
pub struct Cubic {
    rate: Option<f64>,
    /// The rate that was refused last: the plateau.
    refused: f64,
    /// The rate that growth began at.
    from: f64,
    /// How long it has grown, without the time in which nothing was learned.
    grown: Duration,
    stepped: Instant,
    /// When the last requests that came back well were sent, until the first refusal.
    good: VecDeque<Instant>,
}

impl Cubic {
    /// A controller that comes in at a refusal.
    pub fn after(before: Before) -> Self {
        Self {
            good: before.sends.into(),
            ..Self::default()
        }
    }

    fn set(&mut self, rate: f64) {
        self.rate = Some(rate.clamp(FLOOR, CEILING));
    }

    /// `C (t - K)³ + plateau`, where `K` is when the plateau is reached.
    fn at(&self, grown: Duration) -> f64 {
        let plateau = ((self.refused - self.from).max(0.0) / STEEP).cbrt();
        STEEP * (grown.as_secs_f64() - plateau).powi(3) + self.refused
    }

    fn first_rate(&self, sent: Instant) -> f64 {
        let begin = sent.before(LATELY);
        let lately = self.good.iter().filter(|t| **t >= begin && **t <= sent);
        (lately.count() as f64 / LATELY.as_secs_f64()).max(1.0)
    }
}

impl Controller for Cubic {
    fn sent(&mut self, _now: Instant, _cost: u32) {}

    fn answered(&mut self, now: Instant, sent: Instant, app_limited: bool) {
        if self.rate.is_none() {
            let begin = sent.before(LATELY);
            while self.good.front().is_some_and(|t| *t < begin) {
                self.good.pop_front();
            }
            self.good.push_back(sent);
            return;
        }
        // A stretch in which less was sent than allowed proves nothing, and is left out of it.
        if !app_limited {
            self.grown += now.since(self.stepped);
            self.set(self.at(self.grown));
        }
        self.stepped = now;
    }

    fn refused(&mut self, now: Instant, sent: Instant, opens: bool) {
        if !opens {
            return;
        }
        let rate = self.rate.unwrap_or_else(|| self.first_rate(sent));
        // Refused below the last plateau: there is less to have than there was, so aim lower.
        self.refused = match rate < self.refused {
            true => rate * (1.0 + KEPT) / 2.0,
            false => rate,
        };
        self.set(rate * KEPT);
        self.from = self.rate.unwrap_or(FLOOR);
        self.grown = Duration::ZERO;
        self.stepped = now;
    }

    fn resumed(&mut self, now: Instant) {
        self.stepped = now;
    }

    fn interval(&self) -> Option<Duration> {
        self.rate.map(|r| Duration::from_secs_f64(1.0 / r))
    }

    fn restore(&mut self, now: Instant, interval: Duration) {
        self.set(1.0 / interval.as_secs_f64().max(1.0 / CEILING));
        self.from = self.rate.unwrap_or(FLOOR);
        self.refused = self.from;
        self.grown = Duration::ZERO;
        self.stepped = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(n: u64) -> Instant {
        Instant::from_millis(n)
    }

    fn rate(c: &Cubic) -> f64 {
        1.0 / c.interval().map_or(f64::NAN, |i| i.as_secs_f64())
    }

    /// One that was refused at `rate`, at the origin.
    fn refused_at(rate: f64) -> Cubic {
        let mut c = Cubic::default();
        c.restore(Instant::ORIGIN, Duration::from_secs_f64(1.0 / rate));
        c.refused(Instant::ORIGIN, Instant::ORIGIN, true);
        c.resumed(Instant::ORIGIN);
        c
    }

    fn answer(c: &mut Cubic, from: u64, to: u64, app_limited: bool) {
        for t in (from..to).step_by(10) {
            c.answered(ms(t + 10), ms(t), app_limited);
        }
    }

    #[test]
    fn inert_until_the_first_refusal() {
        let mut c = Cubic::default();
        answer(&mut c, 0, 10_000, false);
        assert_eq!(c.interval(), None);
        assert!(c.good.len() <= 101, "{} remembered", c.good.len());
    }

    #[test]
    fn the_first_rate_is_what_came_back_well_in_a_second() {
        let mut c = Cubic::default();
        answer(&mut c, 0, 10_000, false);
        c.refused(ms(10_010), ms(9_990), true);
        assert!((69.0..72.0).contains(&rate(&c)), "{}", rate(&c));
    }

    #[test]
    fn it_is_back_at_the_refused_rate_when_the_cubic_says() {
        let mut c = refused_at(100.0);
        assert!((rate(&c) - 70.0).abs() < 1e-3);
        // K = cbrt(30 / 0.4) = 4.217 s.
        answer(&mut c, 0, 2_100, false);
        let half = rate(&c);
        assert!((95.0..98.0).contains(&half), "fast at first: {half}");
        answer(&mut c, 2_100, 4_220, false);
        assert!((rate(&c) - 100.0).abs() < 0.1, "{}", rate(&c));
        answer(&mut c, 4_220, 10_000, false);
        assert!(rate(&c) > 170.0, "ever faster beyond: {}", rate(&c));
    }

    #[test]
    fn siblings_on_the_wire_count_once() {
        let mut c = refused_at(100.0);
        c.refused(ms(1), Instant::ORIGIN, false);
        assert!((rate(&c) - 70.0).abs() < 1e-3);
    }

    #[test]
    fn a_refusal_below_the_plateau_lowers_it() {
        let mut c = refused_at(100.0);
        c.refused(ms(10), ms(5), true);
        assert!((c.refused - 59.5).abs() < 1e-3, "{}", c.refused);
    }

    #[test]
    fn an_idle_stretch_leaves_the_rate_unchanged() {
        let mut c = refused_at(100.0);
        answer(&mut c, 0, 60_000, true);
        assert!((rate(&c) - 70.0).abs() < 1e-3);
        answer(&mut c, 60_000, 60_100, false);
        assert!(rate(&c) < 73.0, "{}", rate(&c));
    }

    #[test]
    fn refusals_without_end_keep_a_floor() {
        let mut c = Cubic::default();
        for s in 0..100 {
            c.refused(Instant::from_secs(s), Instant::from_secs(s), true);
            c.resumed(Instant::from_secs(s));
        }
        assert_eq!(c.interval(), Some(Duration::from_secs(60)));
    }
}
