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
const GROWTH: f64 = 0.01;
/// How long a rate is tried before it is doubled in the slow start.
const DOUBLING: Duration = Duration::from_millis(250);
/// Stretches shorter than this prove nothing: jitter on the way would be taken for a rate.
const PROOF: f64 = 0.1;
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
    /// Accepted before the first refusal: the burst the provider grants.
    burst: f64,
    /// When the last accepted ones were sent.
    sent: VecDeque<Instant>,
    /// When the rate was last doubled or grown.
    stepped: Instant,
}

impl Aimd {
    /// A controller that comes in at a refusal: `accepted` requests came back well since `began`.
    pub fn after(accepted: u32, began: Instant) -> Self {
        Self {
            accepted: f64::from(accepted),
            began: Some(began),
            ..Self::default()
        }
    }

    fn elapsed(&self, now: Instant) -> f64 {
        self.began.map_or(0.0, |b| now.since(b).as_secs_f64())
    }

    fn set(&mut self, rate: f64) {
        self.rate = Some(rate.clamp(FLOOR, CEILING));
    }

    /// The rate proven by what was accepted beyond one burst up to `end`, if anything was.
    fn proven(&self, end: Instant) -> Option<f64> {
        let before = self.sent.iter().filter(|t| **t <= end);
        let count = before.clone().count();
        let rates = before.enumerate().filter_map(|(i, start)| {
            let beyond = (count - i) as f64 - self.burst;
            let span = end.since(*start).as_secs_f64();
            (beyond > 0.0 && span >= PROOF).then(|| beyond / span)
        });
        rates.max_by(f64::total_cmp)
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
            self.set(rate * (1.0 + GROWTH * step.as_secs_f64()));
            self.stepped = now;
        }
    }

    fn refused(&mut self, now: Instant, sent: Instant, opens: bool) {
        if !opens {
            return;
        }
        let elapsed = self.elapsed(now).max(1.0);
        let Some(rate) = self.rate else {
            // The burst, spread over a second: low enough to be surely sustained by any provider
            // that grants such a burst at all.
            self.burst = self.accepted;
            self.starting = true;
            return self.set(self.accepted.max(1.0) / elapsed);
        };
        self.starting = false;
        let measured = match self.proven(sent) {
            Some(proven) => MARGIN * proven,
            // Not more than a burst since the last one: a window rather than a bucket.
            None => (MARGIN * self.accepted / elapsed).min(rate * DECREASE),
        };
        self.set(measured.min(rate).max(rate / 4.0));
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
