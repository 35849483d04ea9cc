//! A fixed window: so many requests in each stretch of wall time, all of them at once if one likes.
//!
//! Windows begin at multiples of their length on the provider's wall clock, plus a phase. This is
//! the kind of limit that announces itself in `X-RateLimit-*` headers; the reset there is in whole
//! epoch seconds, rounded up, so a client that waits for it is never early.

use std::time::Duration;

use abide_core::time::nanos;
use abide_core::{Moment, WallTime};
use http::{HeaderValue, StatusCode};

use super::job::times;
use super::{Hint, Job, Policy};
use crate::reply::{Announced, Answer, Reply};
use crate::request::{Request, RequestId};

/// At most `count` requests in each window of `length`, aligned to the wall clock.
#[derive(Clone, Debug)]
pub struct FixedWindow {
    count: u64,
    length: u64,
    phase: Duration,
    announce: bool,
    hint: Hint,
    status: StatusCode,
    window: i128,
    used: u64,
}

impl FixedWindow {
    /// `count` requests (at least one) in each window of `length`, with windows at multiples of
    /// `length` since the Unix epoch. Refuses with 429, without headers.
    pub fn new(count: u64, length: Duration) -> Self {
        Self {
            count: count.max(1),
            length: nanos(length).max(1),
            phase: Duration::ZERO,
            announce: false,
            hint: Hint::None,
            status: StatusCode::TOO_MANY_REQUESTS,
            window: i128::MIN,
            used: 0,
        }
    }

    /// Windows begin `phase` later.
    #[must_use]
    pub fn shifted(self, phase: Duration) -> Self {
        Self { phase, ..self }
    }

    /// Every answer carries `X-RateLimit-Limit`, `-Remaining` and `-Reset`. Then an answer that
    /// leaves nothing announces a hold until the reset, be it a refusal or not.
    #[must_use]
    pub fn announced(self) -> Self {
        Self {
            announce: true,
            ..self
        }
    }

    /// What refusals say in `Retry-After`.
    #[must_use]
    pub fn hinting(self, hint: Hint) -> Self {
        Self { hint, ..self }
    }

    /// The status of refusals.
    #[must_use]
    pub fn refusing_with(self, status: StatusCode) -> Self {
        Self { status, ..self }
    }

    fn window_at(&self, wall: WallTime) -> i128 {
        (i128::from(wall.as_unix_nanos()) - self.phase_nanos()).div_euclid(i128::from(self.length))
    }

    fn begin(&self, window: i128) -> WallTime {
        let begin = window.saturating_mul(i128::from(self.length)) + self.phase_nanos();
        WallTime::from_unix_nanos(i64::try_from(begin).unwrap_or(i64::MAX))
    }

    fn phase_nanos(&self) -> i128 {
        i128::from(nanos(self.phase))
    }

    /// How long it is until one more may come.
    pub(super) fn left(&self, wall: WallTime) -> Duration {
        let window = self.window_at(wall);
        if window != self.window || self.used < self.count {
            return Duration::ZERO;
        }
        self.begin(window + 1).since(wall)
    }

    fn tell(&self, mut reply: Reply, at: Moment, end: WallTime) -> Reply {
        let remaining = self.count - self.used;
        let reset = end.as_unix_secs_ceil();
        if let Some(answer) = reply.answer_mut() {
            let headers = &mut answer.headers;
            headers.insert("x-ratelimit-limit", HeaderValue::from(self.count));
            headers.insert("x-ratelimit-remaining", HeaderValue::from(remaining));
            headers.insert("x-ratelimit-reset", HeaderValue::from(reset));
        }
        if remaining > 0 {
            return reply;
        }
        let reset = at.instant_at(WallTime::from_unix_secs(reset));
        reply.announcing(Announced::Until(reset))
    }
}

impl Policy for FixedWindow {
    fn arrive(&mut self, at: Moment, _id: RequestId, _request: &Request) -> Reply {
        let window = self.window_at(at.wall);
        if window != self.window {
            self.window = window;
            self.used = 0;
        }
        let end = self.begin(window + 1);
        let reply = if self.used < self.count {
            self.used += 1;
            Reply::accepted(Answer::ok())
        } else {
            Reply::refused(Answer::refusal(self.status))
        };
        let refused = !reply.acted;
        let reply = if self.announce {
            self.tell(reply, at, end)
        } else {
            reply
        };
        if refused {
            self.hint.on(reply, end.since(at.wall))
        } else {
            reply
        }
    }

    /// A full window at once, and another at each boundary.
    fn oracle(&self, job: Job) -> Duration {
        let first = job.first_arrival().wall;
        let later = job.items.div_ceil(self.count).saturating_sub(1);
        if later == 0 {
            return job.spread(Duration::ZERO);
        }
        let to_boundary = self.begin(self.window_at(first) + 1).since(first);
        let rest = times(Duration::from_nanos(self.length), later - 1);
        job.spread(to_boundary.saturating_add(rest))
    }

    fn name(&self) -> &'static str {
        "fixed window"
    }

    fn describe(&self) -> String {
        let length = Duration::from_nanos(self.length);
        let how = if self.announce { "announced" } else { "hidden" };
        format!(
            "fixed window, {} per {length:?} from {:?}, {how}",
            self.count, self.phase
        )
    }
}
