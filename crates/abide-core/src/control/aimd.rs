//! Additive increase, multiplicative decrease, with a slow start and a measurement.
//!
//! Inert until the first refusal: an account that was never refused is never slowed. The first
//! refusal says how large a burst the provider took; what is sustained is not known yet, so the
//! rate starts low and doubles until the second refusal. From then on every refusal is measured:
//! whatever the provider accepted in some stretch beyond one burst, it accepts in the long run,
//! and the stretch that proves most is believed. The rate returns to a little under it and grows
//! by small steps.

use std::collections::VecDeque;
use std::time::Duration;

use crate::time::Instant;

use super::Controller;

/// The lowest rate, in units a second: a controller without a floor can reach zero and never
/// come back.
const FLOOR: f64 = 1.0 / 60.0;
/// No interval is kept above this rate: the wire is the limit there.
const CEILING: f64 = 100_000.0;
/// How far the rate falls when a refusal says nothing better.
const DECREASE: f64 = 0.7;
/// The part of a measured rate that is gone back to: a rate hit exactly is refused at the next
/// hiccup.
const MARGIN: f64 = 0.95;
/// Growth a second once a rate was measured, as a part of it: one refusal costs a whole hold, so
/// probing upward is slow.
const GROWTH: f64 = 0.005;
/// After so long without a refusal the growth has doubled, after twice that tripled: a limit that
/// was raised is found in a minute.
const BOLDER: f64 = 30.0;
/// No more than this many bursts in a second looks like a window of a second, not a bucket.
const WINDOW: f64 = 1.1;
/// How long a rate is tried before it is doubled in the slow start.
const DOUBLING: Duration = Duration::from_millis(250);
/// Stretches shorter than this prove nothing: jitter on the way would be taken for a rate.
const PROOF: f64 = 0.1;
/// What came back well so long before a refused request was sent is no part of its burst: the
/// time between is idleness, and read as a slow rate it would pace a quiet client to the floor.
const STALE: Duration = Duration::from_secs(2);
/// How many accepted requests are remembered: they must span more than a burst.
const REMEMBERED: usize = 256;

/// The AIMD controller.
#[derive(Debug, Default)]
pub struct Aimd {
    rate: Option<f64>,
    /// Whether the rate still doubles.
    starting: bool,
    /// Accepted since sending began or resumed, and since when.
    accepted: f64,
    began: Option<Instant>,
    /// Accepted before the first refusal: the burst the provider grants, and what it refilled in
    /// that time.
    burst: f64,
    /// When the first of them was sent, when the last, and when the refusal came back.
    burst_sent: (Instant, Instant),
    burst_end: Instant,
    /// When the last accepted ones were sent.
    sent: VecDeque<Instant>,
    /// When the rate was last doubled or grown.
    stepped: Instant,
    refused: Instant,
}

impl Aimd {
    /// A controller that comes in at a refusal: `accepted` requests came back well since `began`.
    pub fn after(accepted: u32, began: Instant) -> Self {
        Self {
            accepted: f64::from(accepted),
            // With nothing accepted nothing has begun, whatever instant the count starts from.
            began: (accepted > 0).then_some(began),
            ..Self::default()
        }
    }

    fn set(&mut self, rate: f64) {
        self.rate = Some(rate.clamp(FLOOR, CEILING));
    }

    fn burst_took(&self) -> f64 {
        let (first, last) = self.burst_sent;
        last.since(first).as_secs_f64()
    }

    /// The rate proven by what was accepted beyond one burst up to `end`, if anything was.
    fn proven(&self, end: Instant) -> Option<f64> {
        let before = self.sent.iter().filter(|t| **t <= end);
        let count = before.clone().count();
        let took = self.burst_took();
        let rates = before.enumerate().filter_map(|(i, start)| {
            let beyond = (count - i) as f64 - self.burst;
            let span = end.since(*start).as_secs_f64() - took;
            (beyond > 0.0 && span >= PROOF).then(|| beyond / span)
        });
        rates.max_by(f64::total_cmp)
    }

    /// The rate to return to after a refusal of a request sent at `sent`.
    fn measured(&self, sent: Instant, rate: f64) -> f64 {
        let second = sent.before(Duration::from_secs(1));
        let lately = self.sent.iter().filter(|t| **t > second && **t <= sent);
        let lately = lately.count() as f64;
        if lately > 0.0 && lately <= WINDOW * self.burst {
            return MARGIN * lately;
        }
        self.proven(sent).map_or(rate * DECREASE, |r| MARGIN * r)
    }
}

impl Controller for Aimd {
    fn sent(&mut self, now: Instant, _cost: u32) {
        if self.began.is_none() {
            self.began = Some(now);
        }
    }

    fn answered(&mut self, now: Instant, sent: Instant, app_limited: bool) {
        self.accepted += 1.0;
        if sent < self.burst_end {
            // It was on the wire together with the one refused.
            self.burst += 1.0;
            self.burst_sent.1 = self.burst_sent.1.max(sent);
            if self.starting {
                self.set(self.burst / self.burst_took().max(1.0));
            }
        }
        if self.sent.len() >= REMEMBERED {
            self.sent.pop_front();
        }
        self.sent.push_back(sent);
        let Some(rate) = self.rate else { return };
        if app_limited {
            self.stepped = now;
            return;
        }
        let step = now.since(self.stepped);
        if self.starting {
            if step >= DOUBLING && step.as_secs_f64() * rate >= 4.0 {
                self.set(rate * 2.0);
                self.stepped = now;
            }
        } else if step >= Duration::from_millis(100) {
            let calm = now.since(self.refused).as_secs_f64();
            let growth = GROWTH * (1.0 + calm / BOLDER);
            self.set(rate * (1.0 + growth * step.as_secs_f64()));
            self.stepped = now;
        }
    }

    fn refused(&mut self, now: Instant, sent: Instant, opens: bool) {
        if !opens {
            return;
        }
        self.refused = now;
        let Some(rate) = self.rate else {
            // The burst, spread over a second: low enough to be surely sustained by any provider
            // that grants such a burst at all.
            self.burst = self.accepted;
            let began = self.began.filter(|at| sent.since(*at) <= STALE);
            self.burst_sent = (began.unwrap_or(sent), sent);
            self.burst_end = now;
            self.starting = true;
            return self.set(self.accepted.max(1.0) / self.burst_took().max(1.0));
        };
        self.starting = false;
        self.set(self.measured(sent, rate).min(rate).max(rate / 8.0));
    }

    fn resumed(&mut self, now: Instant) {
        self.accepted = 0.0;
        self.began = Some(now);
        self.stepped = now;
    }

    fn interval(&self) -> Option<Duration> {
        self.rate.map(|r| Duration::from_secs_f64(1.0 / r))
    }

    fn restore(&mut self, now: Instant, interval: Duration) {
        let rate = 1.0 / interval.as_secs_f64().max(1.0 / CEILING);
        self.set(rate);
        self.starting = false;
        self.resumed(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inert_until_the_first_refusal() {
        let mut a = Aimd::default();
        for ms in 0..1000 {
            a.sent(Instant::from_millis(ms), 1);
            a.answered(Instant::from_millis(ms), Instant::from_millis(ms), false);
        }
        assert_eq!(a.interval(), None);
    }

    #[test]
    fn neither_the_age_of_the_clock_nor_an_idle_hour_is_a_slow_rate() {
        let refused = Instant::from_secs(1_000_000);
        let last = refused.before(Duration::from_secs(3_600));
        for mut a in [Aimd::after(0, Instant::ORIGIN), Aimd::after(1, last)] {
            a.refused(refused.after(Duration::from_millis(20)), refused, true);
            assert_eq!(a.interval(), Some(Duration::from_secs(1)));
        }
    }

    #[test]
    fn sc_j09_refusals_without_end_keep_a_floor() {
        let mut a = Aimd::default();
        for s in 0..100 {
            a.refused(Instant::from_secs(s), Instant::from_secs(s), true);
            a.resumed(Instant::from_secs(s));
        }
        assert_eq!(a.interval(), Some(Duration::from_secs(60)));
    }

    #[test]
    fn ra_26_an_idle_stretch_leaves_the_rate_unchanged() {
        let mut a = Aimd::default();
        a.restore(Instant::ORIGIN, Duration::from_millis(100));
        for s in 1..100 {
            a.answered(Instant::from_secs(s), Instant::from_secs(s), true);
        }
        assert_eq!(a.interval(), Some(Duration::from_millis(100)));
    }
}
