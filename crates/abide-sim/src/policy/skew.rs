//! A provider whose clock is wrong.
//!
//! Its `Date`, its resets and the boundaries of its windows all follow the wrong clock, as they do
//! in practice. A client that reads absolute times against the answer's own `Date` is right about
//! them; one that trusts its own clock waits too long or comes too early.

use std::time::Duration;

use abide_core::{Moment, WallTime};
use http::header::DATE;

use super::{Job, Policy};
use crate::provider::http_date;
use crate::reply::Reply;
use crate::request::{Gate, Request, RequestId};

/// Another policy whose wall clock is off.
#[derive(Clone, Debug)]
pub struct WrongClock<P> {
    inner: P,
    offset: Duration,
    fast: bool,
}

impl<P: Policy> WrongClock<P> {
    /// `inner`, with a clock that is ahead by `offset`.
    pub const fn ahead(inner: P, offset: Duration) -> Self {
        Self {
            inner,
            offset,
            fast: true,
        }
    }

    /// `inner`, with a clock that is behind by `offset`.
    pub const fn behind(inner: P, offset: Duration) -> Self {
        Self {
            inner,
            offset,
            fast: false,
        }
    }

    fn shift(&self, at: Moment) -> Moment {
        Moment::new(at.now, self.wall(at.wall))
    }

    const fn wall(&self, wall: WallTime) -> WallTime {
        if self.fast {
            wall.after(self.offset)
        } else {
            wall.before(self.offset)
        }
    }
}

impl<P: Policy> Policy for WrongClock<P> {
    fn arrive(&mut self, at: Moment, id: RequestId, request: &Request) -> Reply {
        let at = self.shift(at);
        let mut reply = self.inner.arrive(at, id, request);
        let date = http_date(at.wall.after(reply.after));
        if let Some(answer) = reply.answer_mut() {
            answer.headers.insert(DATE, date);
        }
        reply
    }

    fn depart(&mut self, at: Moment, id: RequestId) {
        let at = self.shift(at);
        self.inner.depart(at, id);
    }

    fn gate(&self, request: &Request) -> Gate {
        self.inner.gate(request)
    }

    fn oracle(&self, job: Job) -> Duration {
        self.inner.oracle(job.starting(self.shift(job.start)))
    }

    fn service(&self) -> Duration {
        self.inner.service()
    }

    fn name(&self) -> &'static str {
        "wrong clock"
    }

    fn describe(&self) -> String {
        let way = if self.fast { "ahead" } else { "behind" };
        format!("{}, clock {:?} {way}", self.inner.describe(), self.offset)
    }
}
