//! A quota: so many requests, and then none until it is reset.
//!
//! Unlike a limit by rate, it is not worth waiting for inside a call: the reset is hours away, or
//! nobody says when.

use std::time::Duration;

use abide_core::{Instant, Moment};
use bytes::Bytes;
use http::StatusCode;

use super::job::times;
use super::{FixedWindow, Hint, Job, Policy};
use crate::reply::{Answer, Fate, Reply};
use crate::request::{Request, RequestId};

/// When a quota is whole again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reset {
    /// So long after the first request that it let in.
    After(Duration),
    /// At each multiple of this on the wall clock.
    Every(Duration),
    /// Not while anyone watches.
    Never,
}

/// `count` requests between resets.
#[derive(Clone, Debug)]
pub struct Quota {
    count: u64,
    reset: Reset,
    hint: Hint,
    refusal: Answer,
    calendar: Option<FixedWindow>,
    used: u64,
    since: Option<Instant>,
}

impl Quota {
    /// `count` requests (at least one) between resets. Refuses with 403 and a body that names the
    /// quota, without any hint.
    pub fn new(count: u64, reset: Reset) -> Self {
        let body = br#"{"error":{"code":403,"errors":[{"reason":"quotaExceeded"}]}}"#;
        let calendar = match reset {
            Reset::Every(period) => Some(FixedWindow::new(count, period)),
            Reset::After(_) | Reset::Never => None,
        };
        Self {
            count: count.max(1),
            reset,
            hint: Hint::None,
            refusal: Answer::new(StatusCode::FORBIDDEN, Bytes::from_static(body)),
            calendar,
            used: 0,
            since: None,
        }
    }

    /// What refusals say in `Retry-After`. The truth about a quota that never resets is nothing.
    #[must_use]
    pub fn hinting(self, hint: Hint) -> Self {
        let calendar = self.calendar.map(|calendar| calendar.hinting(hint));
        Self {
            hint,
            calendar,
            ..self
        }
    }

    /// The answer of refusals, to which hints are added.
    #[must_use]
    pub fn refusing_with(self, refusal: Answer) -> Self {
        Self { refusal, ..self }
    }

    fn refuse(&self, left: Option<Duration>) -> Reply {
        let reply = Reply::refused(self.refusal.clone());
        match (self.hint, left) {
            (Hint::True, None) => reply,
            (hint, left) => hint.on(reply, left.unwrap_or_default()),
        }
    }
}

impl Policy for Quota {
    fn arrive(&mut self, at: Moment, id: RequestId, request: &Request) -> Reply {
        if let Some(calendar) = &mut self.calendar {
            let mut reply = calendar.arrive(at, id, request);
            if reply.fate == Fate::Refused
                && let Some(answer) = reply.answer_mut()
            {
                let hints = std::mem::take(&mut answer.headers);
                *answer = self.refusal.clone();
                answer.headers.extend(hints);
            }
            return reply;
        }
        let since = *self.since.get_or_insert(at.now);
        let left = match self.reset {
            Reset::After(period) if since.after(period) <= at.now => {
                self.since = Some(at.now);
                self.used = 0;
                None
            }
            Reset::After(period) => Some(since.after(period).since(at.now)),
            Reset::Every(_) | Reset::Never => None,
        };
        if self.used < self.count {
            self.used += 1;
            return Reply::accepted(Answer::ok());
        }
        self.refuse(left)
    }

    /// The items that a quota without reset never lets in are left out.
    fn oracle(&self, job: Job) -> Duration {
        let later = job.items.div_ceil(self.count).saturating_sub(1);
        match (&self.calendar, self.reset) {
            (Some(calendar), _) => calendar.oracle(job),
            (None, Reset::After(period)) => job.spread(times(period, later)),
            (None, _) => job
                .with_items(job.items.min(self.count))
                .spread(Duration::ZERO),
        }
    }

    fn name(&self) -> &'static str {
        "quota"
    }

    fn describe(&self) -> String {
        format!("{} requests, reset {:?}", self.count, self.reset)
    }
}
