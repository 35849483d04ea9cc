//! Our own waits between attempts: full jitter.
//!
//! A wait is drawn evenly between nothing and a ceiling that doubles, so that callers that failed
//! together do not come back together. It is for waits of our own only: what a provider asked for
//! is never shortened by dice.

use std::time::Duration;

/// How long to wait before a repeat where nobody said.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Backoff {
    /// The first ceiling. Default 250 ms: longer than a hiccup, shorter than a person notices.
    pub base: Duration,
    /// What each attempt multiplies the ceiling by. Default 2.
    pub factor: u32,
    /// The highest ceiling. Default 8 s: what is broken longer is the breaker's business.
    pub max: Duration,
    /// Whether a wait is drawn. Default yes; without it a wait is its ceiling, for a program that
    /// is one caller and wants to know when it comes back.
    pub jitter: bool,
}

impl Default for Backoff {
    fn default() -> Self {
        Self {
            base: Duration::from_millis(250),
            factor: 2,
            max: Duration::from_secs(8),
            jitter: true,
        }
    }
}

impl Backoff {
    /// The ceiling after `attempts` sends (at least 1).
    pub fn ceiling(&self, attempts: u32) -> Duration {
        let grown = self.factor.checked_pow(attempts.saturating_sub(1));
        grown
            .and_then(|f| self.base.checked_mul(f))
            .map_or(self.max, |d| d.min(self.max))
    }

    /// The wait after `attempts` sends; `dice` is thrown evenly in [0, 1).
    pub fn wait(&self, attempts: u32, dice: f64) -> Duration {
        let dice = if self.jitter && dice.is_finite() {
            dice.clamp(0.0, 1.0)
        } else {
            1.0
        };
        self.ceiling(attempts).mul_f64(dice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_jitter_a_wait_is_its_ceiling() {
        let backoff = Backoff {
            base: Duration::from_secs(1),
            jitter: false,
            ..Backoff::default()
        };
        for dice in [0.0, 0.5, 0.99] {
            let waits = [1, 2, 3].map(|n| backoff.wait(n, dice).as_secs());
            assert_eq!(waits, [1, 2, 4]);
        }
    }

    #[test]
    fn doubles_to_its_ceiling() {
        let b = Backoff::default();
        assert_eq!(b.wait(1, 1.0), Duration::from_millis(250));
        assert_eq!(b.wait(3, 0.5), Duration::from_millis(500));
        assert_eq!(b.wait(u32::MAX, 1.0), Duration::from_secs(8));
        assert_eq!(b.wait(9, 0.0), Duration::ZERO);
        assert_eq!(b.wait(1, f64::NAN), Duration::from_millis(250));
    }
}
