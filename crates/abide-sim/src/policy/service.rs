//! How long a provider takes to answer those it lets in.

use std::time::Duration;

use abide_core::Moment;
use fastrand::Rng;

use super::{Job, Policy};
use crate::reply::{Fate, Reply};
use crate::request::{Gate, Request, RequestId};

/// A service time with a seeded jitter.
#[derive(Clone, Debug)]
pub struct Service {
    mean: Duration,
    jitter: f64,
    rng: Rng,
}

impl Service {
    /// Always exactly `time`.
    pub fn constant(time: Duration) -> Self {
        Self::jittered(time, 0.0, Rng::with_seed(0))
    }

    /// Evenly spread over `mean × (1 ± jitter)`, with `jitter` from 0 to 1.
    pub fn jittered(mean: Duration, jitter: f64, rng: Rng) -> Self {
        let jitter = if jitter.is_finite() {
            jitter.clamp(0.0, 1.0)
        } else {
            0.0
        };
        Self { mean, jitter, rng }
    }

    /// The mean.
    pub const fn mean(&self) -> Duration {
        self.mean
    }

    /// The time of the next request.
    pub fn draw(&mut self) -> Duration {
        if self.jitter == 0.0 {
            return self.mean;
        }
        let factor = 1.0 + self.jitter * (2.0 * self.rng.f64() - 1.0);
        Duration::try_from_secs_f64(self.mean.as_secs_f64() * factor).unwrap_or(self.mean)
    }
}

/// Another policy whose accepted requests take their time. Refusals stay as quick as they were.
#[derive(Clone, Debug)]
pub struct Timed<P> {
    inner: P,
    service: Service,
}

impl<P: Policy> Timed<P> {
    /// `inner`, with `service` added to each answer it accepts.
    pub const fn over(inner: P, service: Service) -> Self {
        Self { inner, service }
    }
}

impl<P: Policy> Policy for Timed<P> {
    fn arrive(&mut self, at: Moment, id: RequestId, request: &Request) -> Reply {
        let mut reply = self.inner.arrive(at, id, request);
        if reply.fate == Fate::Accepted {
            reply.after = reply.after.saturating_add(self.service.draw());
        }
        reply
    }

    fn depart(&mut self, at: Moment, id: RequestId) {
        self.inner.depart(at, id);
    }

    fn gate(&self, request: &Request) -> Gate {
        self.inner.gate(request)
    }

    fn oracle(&self, job: Job) -> Duration {
        self.inner.oracle(job.serving(self.service.mean))
    }

    fn service(&self) -> Duration {
        self.inner.service().saturating_add(self.service.mean)
    }

    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn describe(&self) -> String {
        let Service { mean, jitter, .. } = self.service;
        format!(
            "{}, answered in {mean:?} ± {:.0} %",
            self.inner.describe(),
            jitter * 100.0
        )
    }
}
