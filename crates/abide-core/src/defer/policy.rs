//! The knobs of deferral, for one class of jobs.

use std::time::Duration;

use crate::backoff::Backoff;

/// When a job of a class comes back, and how often.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct DeferPolicy {
    /// The earliest return after a refusal. Default 30 s: whoever is refused without a word is
    /// kept away for half a minute by the providers that document it, and a job has time.
    pub floor: Duration,
    /// The longest ask that is waited for. Default 26 h: a quota of a day, counted in any time
    /// zone, and an hour of delay. What asks for more is a person's business.
    pub ceiling: Duration,
    /// Deferrals in a row; 0 fails at the first refusal. Default 3: a provider that refuses four
    /// times what it asked to be sent later will refuse the fifth.
    pub in_a_row: u32,
    /// The age beyond which a job does not come back. Default 7 days: three asks of a day fit,
    /// and what is older has been forgotten by whoever submitted it.
    pub max_age: Option<Duration>,
    /// Tries that may go wrong, the first one included. Default 4, as a call has.
    pub attempts: u32,
    /// The waits between those. Default 5 s × 3 to 10 min, drawn: a call has waited out the
    /// seconds already, so a job waits minutes.
    pub backoff: Backoff,
    /// How often a job may die with its worker. Default 3: twice may be chance.
    pub kills: u32,
}

impl Default for DeferPolicy {
    fn default() -> Self {
        Self {
            floor: Duration::from_secs(30),
            ceiling: Duration::from_secs(26 * 3600),
            in_a_row: 3,
            max_age: Some(Duration::from_secs(7 * 24 * 3600)),
            attempts: 4,
            backoff: Backoff {
                base: Duration::from_secs(5),
                factor: 3,
                max: Duration::from_secs(600),
                jitter: true,
            },
            kills: 3,
        }
    }
}

impl DeferPolicy {
    /// Sets [`floor`](Self::floor).
    #[must_use]
    pub const fn floor(mut self, floor: Duration) -> Self {
        self.floor = floor;
        self
    }

    /// Sets [`ceiling`](Self::ceiling).
    #[must_use]
    pub const fn ceiling(mut self, ceiling: Duration) -> Self {
        self.ceiling = ceiling;
        self
    }

    /// Sets [`in_a_row`](Self::in_a_row).
    #[must_use]
    pub const fn in_a_row(mut self, most: u32) -> Self {
        self.in_a_row = most;
        self
    }

    /// Sets [`max_age`](Self::max_age).
    #[must_use]
    pub const fn max_age(mut self, age: Option<Duration>) -> Self {
        self.max_age = age;
        self
    }

    /// Sets [`attempts`](Self::attempts).
    #[must_use]
    pub const fn attempts(mut self, most: u32) -> Self {
        self.attempts = most;
        self
    }

    /// Sets [`backoff`](Self::backoff).
    #[must_use]
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.backoff = backoff;
        self
    }

    /// Sets [`kills`](Self::kills).
    #[must_use]
    pub const fn kills(mut self, most: u32) -> Self {
        self.kills = most;
        self
    }
}
