//! A penalty box: a token bucket that takes offence.
//!
//! Going over the bucket opens a hold. A request inside the hold is refused and restarts it, and
//! three refusals in a row bring a ban, whose end nothing moves. A client that lets its whole
//! width loose at once is banned by the requests that were already on the wire.

use std::time::Duration;

use abide_core::{Instant, Moment};
use http::StatusCode;

use super::{Hint, Job, Policy, TokenBucket};
use crate::reply::{Answer, Reply};
use crate::request::{Request, RequestId};

/// A bucket whose refusals hold, and whose holds become bans.
#[derive(Clone, Debug)]
pub struct PenaltyBox {
    bucket: TokenBucket,
    hold: Duration,
    strikes_to_ban: u32,
    ban: Duration,
    hint: Hint,
    held_until: Instant,
    banned_until: Instant,
    strikes: u32,
}

impl PenaltyBox {
    /// Around `bucket`: a hold of 2 s, and a ban of 10 s at the third refusal in a row, both told
    /// truly in `Retry-After`.
    pub const fn around(bucket: TokenBucket) -> Self {
        Self {
            bucket,
            hold: Duration::from_secs(2),
            strikes_to_ban: 3,
            ban: Duration::from_secs(10),
            hint: Hint::True,
            held_until: Instant::ORIGIN,
            banned_until: Instant::ORIGIN,
            strikes: 0,
        }
    }

    /// The length of a hold.
    #[must_use]
    pub fn holding(self, hold: Duration) -> Self {
        Self { hold, ..self }
    }

    /// Ban for `ban` at the `strikes`-th refusal in a row.
    #[must_use]
    pub fn banning(self, strikes: u32, ban: Duration) -> Self {
        Self {
            strikes_to_ban: strikes,
            ban,
            ..self
        }
    }

    /// What holds say in `Retry-After`; a ban always tells the truth.
    #[must_use]
    pub fn hinting(self, hint: Hint) -> Self {
        Self { hint, ..self }
    }

    fn strike(&mut self, now: Instant) -> Reply {
        self.strikes += 1;
        if self.strikes >= self.strikes_to_ban {
            self.strikes = 0;
            self.banned_until = now.after(self.ban);
            return Reply {
                ban: true,
                ..refusal().retry_after(self.ban)
            };
        }
        self.held_until = now.after(self.hold);
        self.hint.on(refusal(), self.hold)
    }
}

impl Policy for PenaltyBox {
    fn arrive(&mut self, at: Moment, _id: RequestId, _request: &Request) -> Reply {
        let now = at.now;
        if now < self.banned_until {
            return refusal().retry_after(self.banned_until.since(now));
        }
        if now < self.held_until || self.bucket.take(now).is_err() {
            return self.strike(now);
        }
        self.strikes = 0;
        Reply::accepted(Answer::ok())
    }

    /// Who never goes over never meets the box.
    fn oracle(&self, job: Job) -> Duration {
        self.bucket.oracle(job)
    }

    fn name(&self) -> &'static str {
        "penalty box"
    }

    fn describe(&self) -> String {
        format!(
            "{}, then a hold of {:?}, restarted by requests inside; {} in a row bring a ban of {:?}",
            self.bucket.describe(),
            self.hold,
            self.strikes_to_ban,
            self.ban
        )
    }
}

fn refusal() -> Reply {
    Reply::refused(Answer::refusal(StatusCode::TOO_MANY_REQUESTS))
}
