//! A shared bound on re-sends.
//!
//! Repeats multiply load on a provider that is already failing. The budget lets a fifth of the
//! traffic be repeats, plus a small floor so that a quiet program may repeat at all. It is
//! reserved when the repeat is decided, so that a hundred callers failing together cannot all
//! find the last token.
//!
//! Waiting at a hold costs nothing: the provider asked for it, and the hold already bounds it.

use std::time::Duration;

use crate::time::Instant;

/// The size of a retry budget.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct BudgetPolicy {
    /// Repeats allowed per success. Default 0.2: a fifth more load is what a recovering provider
    /// bears.
    pub ratio: f64,
    /// Repeats allowed a second whatever the traffic. Default 3: a program that sends one
    /// request a minute must be able to repeat it.
    pub per_second: f64,
    /// The most that is saved up. Default 100.
    pub cap: f64,
    /// What a repeat after a failure costs. Default 1.
    pub failure_cost: f64,
    /// What a repeat after a timeout costs. Default 2: a timeout has already cost the provider
    /// the whole work.
    pub timeout_cost: f64,
}

impl Default for BudgetPolicy {
    fn default() -> Self {
        Self {
            ratio: 0.2,
            per_second: 3.0,
            cap: 100.0,
            failure_cost: 1.0,
            timeout_cost: 2.0,
        }
    }
}

/// Why something is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RepeatCause {
    /// The provider failed or the connection broke.
    Failure,
    /// The provider refused: the hold bounds the repeat.
    Refusal,
    /// No answer came in time.
    Timeout,
}

/// The budget.
#[derive(Clone, Debug)]
pub struct Budget {
    policy: BudgetPolicy,
    tokens: f64,
    filled: Option<Instant>,
}

impl Budget {
    /// A budget with ten seconds' worth of its floor saved up.
    pub fn new(policy: BudgetPolicy) -> Self {
        let tokens = (policy.per_second * 10.0).min(policy.cap);
        Self {
            policy,
            tokens,
            filled: None,
        }
    }

    /// A success refills.
    #[inline]
    pub const fn succeeded(&mut self) {
        self.tokens += self.policy.ratio;
        if self.tokens > self.policy.cap {
            self.tokens = self.policy.cap;
        }
    }

    /// Reserves a repeat, or says when one can be had.
    ///
    /// # Errors
    /// The instant at which the floor will have refilled enough.
    pub fn reserve(&mut self, now: Instant, cause: RepeatCause) -> Result<(), Instant> {
        let cost = match cause {
            RepeatCause::Refusal => return Ok(()),
            RepeatCause::Failure => self.policy.failure_cost,
            RepeatCause::Timeout => self.policy.timeout_cost,
        };
        let gained = self.filled.map_or(0.0, |f| now.since(f).as_secs_f64());
        self.tokens = (self.tokens + gained * self.policy.per_second).min(self.policy.cap);
        self.filled = self.filled.max(Some(now));
        if self.tokens >= cost {
            self.tokens -= cost;
            return Ok(());
        }
        let lacking = (cost - self.tokens) / self.policy.per_second.max(1e-9);
        // A microsecond more than the sum says: rounding goes up.
        let wait = Duration::try_from_secs_f64(lacking + 1e-6).unwrap_or(Duration::MAX);
        Err(now.after(wait))
    }

    /// What is left, in repeats after a failure.
    pub const fn available(&self) -> f64 {
        self.tokens
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sc_s08_never_negative_and_bounded_by_traffic() {
        let mut b = Budget::new(BudgetPolicy::default());
        let now = Instant::from_secs(1);
        let granted = (0..10_000)
            .filter(|_| b.reserve(now, RepeatCause::Failure).is_ok())
            .count();
        assert!((30..=30).contains(&granted), "{granted}");
        assert!(b.available() >= 0.0);
        for _ in 0..50 {
            b.succeeded();
        }
        let granted = (0..10_000)
            .filter(|_| b.reserve(now, RepeatCause::Failure).is_ok())
            .count();
        assert!((9..=10).contains(&granted), "{granted}");
    }

    #[test]
    fn sc_s09_low_traffic_may_repeat_after_a_moment() {
        let mut b = Budget::new(BudgetPolicy::default());
        let now = Instant::from_secs(1);
        while b.reserve(now, RepeatCause::Failure).is_ok() {}
        let when = b.reserve(now, RepeatCause::Failure).unwrap_err();
        assert!(b.reserve(when, RepeatCause::Failure).is_ok());
    }

    #[test]
    fn sc_h02_waiting_at_a_hold_costs_nothing() {
        let mut b = Budget::new(BudgetPolicy::default());
        let before = b.available();
        assert!(b.reserve(Instant::ORIGIN, RepeatCause::Refusal).is_ok());
        assert!((b.available() - before).abs() < 1e-9);
    }
}
