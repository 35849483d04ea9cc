//! An outage: between two instants nothing works.
//!
//! How it fails is drawn anew for each request: a gateway's 502 or 503, a closed connection, or
//! silence. A request that arrived before it is answered. Nothing that arrives inside takes
//! effect.

use std::time::Duration;

use abide_core::{Instant, Moment};
use fastrand::Rng;
use http::StatusCode;

use super::{Job, Policy};
use crate::reply::{Answer, Reply, What};
use crate::request::{Gate, Request, RequestId};

/// One way to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Failure {
    /// The connection is closed without an answer.
    Close,
    /// Nothing comes, and the connection stays open.
    Silence,
    /// An answer with this status.
    Status(StatusCode),
}

impl Failure {
    fn reply(self) -> Reply {
        Reply::failed(match self {
            Self::Close => What::Close,
            Self::Silence => What::Silence,
            Self::Status(status) => What::Answer(Answer::new(status, "")),
        })
    }
}

/// Another policy that is down for a while.
///
/// Instants are on the driver's scale; over a socket the server's start is its origin.
#[derive(Clone, Debug)]
pub struct Outage<P> {
    inner: P,
    from: Instant,
    until: Instant,
    failures: Vec<Failure>,
    rng: Rng,
}

impl<P: Policy> Outage<P> {
    /// `inner`, down from `from` until just before `until`: 502, 503 or a closed connection.
    pub fn over(inner: P, from: Instant, until: Instant, rng: Rng) -> Self {
        let failures = vec![
            Failure::Status(StatusCode::BAD_GATEWAY),
            Failure::Status(StatusCode::SERVICE_UNAVAILABLE),
            Failure::Close,
        ];
        Self {
            inner,
            from,
            until,
            failures,
            rng,
        }
    }

    /// Fail in these ways only, each as likely as the others.
    #[must_use]
    pub fn failing(self, failures: impl Into<Vec<Failure>>) -> Self {
        Self {
            failures: failures.into(),
            ..self
        }
    }
}

impl<P: Policy> Policy for Outage<P> {
    fn arrive(&mut self, at: Moment, id: RequestId, request: &Request) -> Reply {
        if self.from <= at.now && at.now < self.until {
            return self
                .rng
                .choice(&self.failures)
                .map_or(Failure::Close, |f| *f)
                .reply();
        }
        self.inner.arrive(at, id, request)
    }

    fn depart(&mut self, at: Moment, id: RequestId) {
        self.inner.depart(at, id);
    }

    fn gate(&self, request: &Request) -> Gate {
        self.inner.gate(request)
    }

    /// As much as fits before the outage, and the rest from its end on, when the inner policy is
    /// taken to be as fresh as at the start (a full bucket, nobody in service). An inner policy
    /// that carries more over makes this a lower bound.
    fn oracle(&self, job: Job) -> Duration {
        let whole = self.inner.oracle(job);
        let tail = job
            .way_back()
            .saturating_add(job.service)
            .saturating_add(self.inner.service());
        let arrives_in_time = |items: u64| {
            let last = self
                .inner
                .oracle(job.with_items(items))
                .saturating_sub(tail);
            items == 0 || job.start.now.after(last) < self.from
        };
        if self.until <= job.first_arrival().now || arrives_in_time(job.items) {
            return whole;
        }
        let (mut fits, mut too_many) = (0, job.items);
        while too_many - fits > 1 {
            let middle = fits + (too_many - fits) / 2;
            if arrives_in_time(middle) {
                fits = middle;
            } else {
                too_many = middle;
            }
        }
        let resume = self.until.before(job.trip / 2);
        let resume = Moment::new(resume, job.start.wall_at(resume));
        let rest = self
            .inner
            .oracle(job.with_items(job.items - fits).starting(resume));
        resume.now.since(job.start.now).saturating_add(rest)
    }

    fn service(&self) -> Duration {
        self.inner.service()
    }

    fn name(&self) -> &'static str {
        "outage"
    }

    fn describe(&self) -> String {
        format!(
            "{}, down from {:?} to {:?}",
            self.inner.describe(),
            self.from,
            self.until
        )
    }
}
