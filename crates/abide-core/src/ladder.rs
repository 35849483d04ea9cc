//! A ladder: growing waits where nobody said how long.
//!
//! One rung is climbed per refused probe, never per sibling that was on the wire when the first
//! refusal came: thirty-two workers refused together are one event, and climbing thirty-two
//! rungs for it would wait an hour for what asked for a second.

use std::time::Duration;

/// The waits, rung by rung; the last one repeats.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ladder {
    /// `base × factor^rung`, at most `cap`.
    Growing {
        /// The first rung.
        base: Duration,
        /// What each rung multiplies the last one by; at least 1.
        factor: u32,
        /// The longest rung.
        cap: Duration,
    },
    /// Explicit waits.
    Steps(Vec<Duration>),
}

impl Default for Ladder {
    /// 1 s × 2 up to 60 s: a second is what most providers mean when they say nothing, and a
    /// minute is the longest window in common use.
    fn default() -> Self {
        Self::Growing {
            base: Duration::from_secs(1),
            factor: 2,
            cap: Duration::from_secs(60),
        }
    }
}

impl Ladder {
    /// The wait of a rung, counted from 0.
    pub fn wait(&self, rung: u32) -> Duration {
        match self {
            Self::Growing { base, factor, cap } => {
                let grown = factor
                    .checked_pow(rung)
                    .and_then(|f| base.checked_mul(f))
                    .unwrap_or(*cap);
                grown.min(*cap)
            }
            Self::Steps(steps) => {
                let last = steps.len().saturating_sub(1);
                steps
                    .get((rung as usize).min(last))
                    .copied()
                    .unwrap_or_default()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grows_to_its_cap_and_never_overflows() {
        let l = Ladder::default();
        let waits: Vec<u64> = (0..8).map(|r| l.wait(r).as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(l.wait(u32::MAX), Duration::from_secs(60));
    }

    #[test]
    fn the_last_step_repeats() {
        let l = Ladder::Steps([5, 10, 300].map(Duration::from_secs).to_vec());
        assert_eq!(l.wait(1), Duration::from_secs(10));
        assert_eq!(l.wait(99), Duration::from_secs(300));
        assert_eq!(Ladder::Steps(Vec::new()).wait(3), Duration::ZERO);
    }
}
