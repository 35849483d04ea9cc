//! An adaptive interval: doubled by each refusal, halved by a row of answers, then off.
//!
//! Where AIMD looks for the highest rate a provider bears, this controller only backs away: what
//! it keeps after a refusal is known beforehand, in whole steps that a person can follow in a
//! log. It suits providers that punish the second refusal, and accounts that are seldom refused
//! at all. Inert until the first refusal: an account that was never refused is never slowed.
//!
//! One event is one step. Requests that were on the wire together with a refused one say nothing
//! new, whether they are refused or answered; a refused probe does, since it was sent after the
//! hold. A refusal begins a whole interval, however short its hold is.

use std::time::Duration;

use super::Controller;
use crate::time::Instant;

/// How an adaptive interval grows and goes.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct IntervalPolicy {
    /// The interval after the first refusal. Default 1 s: what most providers mean when they
    /// refuse without saying how often is too often.
    pub start: Duration,
    /// What each further refusal multiplies it by; below 1 reads as 1. Default 2: doubling finds
    /// any limit in a few refusals.
    pub factor: f64,
    /// The longest interval. Default 8 s: beyond it callers run out of patience, and what was a
    /// pace turns into timeouts.
    pub max: Duration,
    /// Answers in a row that shorten it; 0 reads as 1. Default 20: fewer would come back to the
    /// refused rate within the very window that refused it.
    pub decay_after: u32,
    /// What they multiply it by, from 0 to 1. Default 0.5: the way back takes as many steps as
    /// the way there.
    pub decay: f64,
    /// An interval below this is taken off at the end of its row, in place of being shortened
    /// once more. Default 0.5 s: a shorter interval slows nobody who waits for answers.
    pub off_below: Duration,
}

impl Default for IntervalPolicy {
    fn default() -> Self {
        Self {
            start: Duration::from_secs(1),
            factor: 2.0,
            max: Duration::from_secs(8),
            decay_after: 20,
            decay: 0.5,
            off_below: Duration::from_millis(500),
        }
    }
}

impl IntervalPolicy {
    fn longer(&self, interval: Duration) -> Duration {
        scaled(interval, self.factor.max(1.0))
            .unwrap_or(self.max)
            .min(self.max)
    }

    /// One row of answers later; `None` when that is off.
    fn shorter(&self, interval: Duration) -> Option<Duration> {
        if interval < self.off_below {
            return None;
        }
        let next = scaled(interval, self.decay.clamp(0.0, 1.0))?;
        (next >= SHORTEST).then_some(next)
    }
}

/// What is shorter paces nobody.
const SHORTEST: Duration = Duration::from_millis(1);

/// `None` where the product is no length of time.
fn scaled(d: Duration, by: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(d.as_secs_f64() * by).ok()
}

/// The controller.
#[derive(Debug)]
pub struct Interval {
    policy: IntervalPolicy,
    interval: Option<Duration>,
    /// Answers in a row since the last step.
    answered: u32,
    /// When the last refusal that counted came back.
    refused: Option<Instant>,
}

impl Interval {
    /// A controller that keeps no interval yet.
    pub const fn new(policy: IntervalPolicy) -> Self {
        Self {
            policy,
            interval: None,
            answered: 0,
            refused: None,
        }
    }

    /// Whether a request sent at `sent` was on the wire when the last refusal came back.
    fn is_sibling(&self, sent: Instant) -> bool {
        self.refused.is_some_and(|at| sent < at)
    }
}

impl Controller for Interval {
    fn sent(&mut self, _now: Instant, _cost: u32) {}

    fn answered(&mut self, _now: Instant, sent: Instant, _app_limited: bool) {
        if self.is_sibling(sent) {
            return;
        }
        let Some(interval) = self.interval else {
            return;
        };
        self.answered += 1;
        if self.answered >= self.policy.decay_after.max(1) {
            self.answered = 0;
            self.interval = self.policy.shorter(interval);
        }
    }

    fn refused(&mut self, now: Instant, sent: Instant, opens: bool) {
        // Within an event, what was sent in the very instant of its refusal was sent before it.
        let at_once = !opens && self.refused == Some(sent);
        if self.is_sibling(sent) || at_once {
            return;
        }
        self.refused = Some(now);
        self.answered = 0;
        self.interval = Some(match self.interval {
            None => self.policy.start.min(self.policy.max),
            Some(i) => self.policy.longer(i),
        });
    }

    fn resumed(&mut self, _now: Instant) {}

    fn interval(&self) -> Option<Duration> {
        self.interval
    }

    fn rests(&self) -> bool {
        true
    }

    fn restore(&mut self, _now: Instant, interval: Duration) {
        self.answered = 0;
        // What another controller had learned is taken over within what this one may keep.
        let kept = interval.min(self.policy.max);
        self.interval = (kept >= self.policy.off_below && kept >= SHORTEST).then_some(kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(s: u64) -> Instant {
        Instant::from_secs(s)
    }

    fn refuse(i: &mut Interval, s: u64) -> Option<Duration> {
        i.refused(at(s), at(s), true);
        i.interval()
    }

    fn answer(i: &mut Interval, from: u64, count: u64) -> Option<Duration> {
        for s in from..from + count {
            i.answered(at(s), at(s), false);
        }
        i.interval()
    }

    const fn ms(n: u64) -> Option<Duration> {
        Some(Duration::from_millis(n))
    }

    #[test]
    fn inert_until_the_first_refusal() {
        let mut i = Interval::new(IntervalPolicy::default());
        assert_eq!(answer(&mut i, 0, 1000), None);
    }

    #[test]
    fn a_second_doubled_by_each_refusal_up_to_eight() {
        let mut i = Interval::new(IntervalPolicy::default());
        let kept: Vec<_> = (1..=5).map(|s| refuse(&mut i, 10 * s)).collect();
        assert_eq!(kept, [ms(1000), ms(2000), ms(4000), ms(8000), ms(8000)]);
    }

    #[test]
    fn twenty_answers_in_a_row_halve_it_and_from_a_second_sixty_take_it_off() {
        let mut i = Interval::new(IntervalPolicy::default());
        refuse(&mut i, 1);
        assert_eq!(answer(&mut i, 10, 19), ms(1000));
        assert_eq!(answer(&mut i, 30, 1), ms(500));
        assert_eq!(answer(&mut i, 40, 20), ms(250));
        assert_eq!(answer(&mut i, 70, 19), ms(250));
        assert_eq!(answer(&mut i, 90, 1), None, "three rounds of twenty");
        assert_eq!(refuse(&mut i, 100), ms(1000), "and it begins anew");
    }

    #[test]
    fn a_refusal_begins_the_row_anew() {
        let mut i = Interval::new(IntervalPolicy::default());
        refuse(&mut i, 1);
        answer(&mut i, 10, 19);
        assert_eq!(refuse(&mut i, 50), ms(2000));
        assert_eq!(answer(&mut i, 60, 19), ms(2000));
        assert_eq!(answer(&mut i, 80, 1), ms(1000));
    }

    #[test]
    fn siblings_on_the_wire_are_one_refusal_and_a_refused_probe_is_another() {
        let mut i = Interval::new(IntervalPolicy::default());
        i.refused(at(2), at(1), true);
        for _ in 0..6 {
            i.refused(at(3), at(1), false);
            i.refused(at(3), at(2), false);
            i.answered(at(3), at(1), false);
        }
        // The episode was over before the last of them came back.
        i.refused(at(4), at(1), true);
        assert_eq!(i.interval(), ms(1000));
        i.refused(at(9), at(8), false);
        assert_eq!(i.interval(), ms(2000));
    }

    #[test]
    fn a_rate_halved_by_each_refusal_down_to_one_in_ten_seconds() {
        let policy = IntervalPolicy {
            max: Duration::from_secs(10),
            ..IntervalPolicy::default()
        };
        let mut i = Interval::new(policy);
        let kept: Vec<_> = (1..=6).map(|s| refuse(&mut i, 10 * s)).collect();
        let wanted = [1, 2, 4, 8, 10, 10].map(|s| ms(s * 1000));
        assert_eq!(kept, wanted);
    }

    #[test]
    fn no_number_makes_it_panic_or_lose_its_bound() {
        for factor in [f64::NAN, f64::INFINITY, -1.0, 0.0, 1e300] {
            for decay in [f64::NAN, f64::INFINITY, -1.0, 0.0, 2.0] {
                let mut i = Interval::new(IntervalPolicy {
                    factor,
                    decay,
                    start: Duration::MAX,
                    decay_after: 0,
                    ..IntervalPolicy::default()
                });
                for s in 0..10 {
                    refuse(&mut i, 10 * s + 1);
                    assert!(i.interval() <= ms(8000));
                    answer(&mut i, 10 * s + 5, 2);
                }
            }
        }
    }

    #[test]
    fn what_was_learned_before_a_restart_is_kept_within_its_bounds() {
        let mut i = Interval::new(IntervalPolicy::default());
        i.restore(at(0), Duration::from_secs(60));
        assert_eq!(i.interval(), ms(8000));
        i.restore(at(0), Duration::from_millis(100));
        assert_eq!(i.interval(), None);
    }
}
