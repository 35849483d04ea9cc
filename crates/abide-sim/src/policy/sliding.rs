//! A sliding window: never more than N in any stretch of T, wherever it begins.

use std::collections::VecDeque;
use std::time::Duration;

use abide_core::{Instant, Moment};
use http::StatusCode;

use super::job::times;
use super::{Hint, Job, Policy};
use crate::reply::{Answer, Reply};
use crate::request::{Request, RequestId};

/// At most `count` accepted requests in any `span`. Refused ones do not count.
#[derive(Clone, Debug)]
pub struct SlidingWindow {
    count: usize,
    span: Duration,
    hint: Hint,
    status: StatusCode,
    accepted: VecDeque<Instant>,
}

impl SlidingWindow {
    /// `count` requests (at least one) in any `span`. Refuses with 429 and no hint.
    pub fn new(count: usize, span: Duration) -> Self {
        Self {
            count: count.max(1),
            span,
            hint: Hint::None,
            status: StatusCode::TOO_MANY_REQUESTS,
            accepted: VecDeque::new(),
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

    fn forget(&mut self, now: Instant) {
        while self
            .accepted
            .front()
            .is_some_and(|first| first.after(self.span) <= now)
        {
            self.accepted.pop_front();
        }
    }

    /// How long it is until one more may come.
    pub(super) fn left(&mut self, now: Instant) -> Duration {
        self.forget(now);
        match self.accepted.front() {
            Some(first) if self.accepted.len() >= self.count => first.after(self.span).since(now),
            _ => Duration::ZERO,
        }
    }
}

impl Policy for SlidingWindow {
    fn arrive(&mut self, at: Moment, _id: RequestId, _request: &Request) -> Reply {
        self.forget(at.now);
        if self.accepted.len() < self.count {
            self.accepted.push_back(at.now);
            return Reply::accepted(Answer::ok());
        }
        let free = self
            .accepted
            .front()
            .map_or(at.now, |first| first.after(self.span));
        self.hint.on(
            Reply::refused(Answer::refusal(self.status)),
            free.since(at.now),
        )
    }

    /// As many as fit at once, and as many again one span later.
    fn oracle(&self, job: Job) -> Duration {
        let later = job.items.div_ceil(self.count as u64).saturating_sub(1);
        job.spread(times(self.span, later))
    }

    fn name(&self) -> &'static str {
        "sliding window"
    }

    fn describe(&self) -> String {
        format!("at most {} in any {:?}", self.count, self.span)
    }
}
