//! What may be set about classification.

use std::time::Duration;

use http::StatusCode;

use super::retry::RetryOn;
use crate::time::Instant;

/// How answers are judged where the protocol leaves a choice.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClassifyPolicy {
    /// Which answers are tried again. Default: [`RetryOn::default`], what waiting can heal.
    pub retry_on: RetryOn,
    /// Which outages hold a gate though nobody said until when. Default: none, since one broken
    /// server behind a balancer must not stop everybody.
    pub hold_on: HoldOn,
    /// What `Retry-After: 0` means when nothing else says more. Default: a floor of one second,
    /// since taken at its word it makes a hot loop.
    pub hint_zero: HintZero,
    /// An ask this long is a quota rather than a limit. Default: 6 h, longer than any burst
    /// window in use and than anyone waits in a call.
    pub quota_from: Duration,
    /// An ask longer than this is no quota but a mistake (milliseconds taken for seconds, a date
    /// in the next century), and stays a rate limit. Default: 31 days, since nobody counts a
    /// quota over more than a month.
    pub quota_to: Duration,
    /// Answers of these statuses count against the provider's allowance. Default none.
    pub counted: Vec<StatusCode>,
    /// Redirects to these places (`host/path`, subdomains included) are bans. Default: the one
    /// well-known captcha wall, since following it only proves us a robot.
    pub ban_redirects: Vec<String>,
    /// How much of an answer's body is looked at, in bytes. Default 64 KiB: errors are short, and
    /// memory is shared.
    pub body_sample: u64,
}

impl Default for ClassifyPolicy {
    fn default() -> Self {
        Self {
            retry_on: RetryOn::default(),
            hold_on: HoldOn::default(),
            hint_zero: HintZero::default(),
            quota_from: Duration::from_secs(6 * 3600),
            quota_to: Duration::from_secs(31 * 86_400),
            counted: Vec::new(),
            ban_redirects: vec!["google.com/sorry".to_owned()],
            body_sample: 64 * 1024,
        }
    }
}

/// Which outages without an ask hold a gate, by the growing waits of its ladder.
///
/// Refusals and outages with an ask always hold; this is only about bare ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HoldOn {
    /// Statuses that hold without an ask. Default: none. A bare 500 never holds, even when
    /// listed: it speaks of one request.
    pub statuses: Vec<StatusCode>,
    /// Failures of the exchange before the head hold too. Default no: they say nothing about the
    /// provider asking for quiet. A program that skips whoever does not answer wants it.
    pub transport: bool,
}

impl HoldOn {
    /// Holding on these statuses.
    pub const fn statuses(statuses: Vec<StatusCode>) -> Self {
        Self {
            statuses,
            transport: false,
        }
    }

    /// Whether a bare `status` holds.
    pub fn covers(&self, status: StatusCode) -> bool {
        status != StatusCode::INTERNAL_SERVER_ERROR && self.statuses.contains(&status)
    }
}

/// What an ask for zero seconds means when no other source says more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HintZero {
    /// At least this long.
    Floor(Duration),
    /// At once.
    Immediate,
    /// As if nothing had been said.
    Ignore,
}

impl HintZero {
    /// The instant a zero told at `now` stands for.
    pub const fn until(self, now: Instant) -> Option<Instant> {
        match self {
            Self::Floor(floor) => Some(now.after(floor)),
            Self::Immediate => Some(now),
            Self::Ignore => None,
        }
    }
}

/// A floor of one second.
impl Default for HintZero {
    fn default() -> Self {
        Self::Floor(Duration::from_secs(1))
    }
}
