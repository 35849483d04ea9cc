//! A provider whose answers break off, or trickle.
//!
//! The head is a flawless 200. A client that judges by the head alone writes half an item to its
//! output; one that has no idle timeout waits for a trickle for ever.

use std::time::Duration;

use abide_core::Moment;
use fastrand::Rng;

use super::{Job, Policy};
use crate::reply::{Drip, Fate, Reply};
use crate::request::{Gate, Request, RequestId};

/// Another policy some of whose accepted answers are cut or slow.
#[derive(Clone, Debug)]
pub struct Bodies<P> {
    inner: P,
    cut: f64,
    slow: f64,
    drip: Drip,
    rng: Rng,
}

impl<P: Policy> Bodies<P> {
    /// `inner`, with nothing wrong yet.
    pub const fn over(inner: P, rng: Rng) -> Self {
        let drip = Drip {
            piece: 1,
            gap: Duration::from_millis(10),
        };
        Self {
            inner,
            cut: 0.0,
            slow: 0.0,
            drip,
            rng,
        }
    }

    /// This share of the answers, from 0 to 1, breaks off somewhere inside the body. What was
    /// asked has been done all the same.
    #[must_use]
    pub fn cutting(self, share: f64) -> Self {
        Self { cut: share, ..self }
    }

    /// This share of the answers, from 0 to 1, trickles.
    #[must_use]
    pub fn dripping(self, share: f64, drip: Drip) -> Self {
        Self {
            slow: share,
            drip,
            ..self
        }
    }
}

impl<P: Policy> Policy for Bodies<P> {
    fn arrive(&mut self, at: Moment, id: RequestId, request: &Request) -> Reply {
        let mut reply = self.inner.arrive(at, id, request);
        if reply.fate != Fate::Accepted {
            return reply;
        }
        let (cut, slow) = (self.rng.f64() < self.cut, self.rng.f64() < self.slow);
        let mut broken = false;
        if let Some(answer) = reply.answer_mut() {
            if cut && !answer.body.is_empty() {
                answer.cut_after = Some(self.rng.usize(..answer.body.len()));
                broken = true;
            }
            if slow {
                answer.drip = Some(self.drip);
            }
        }
        if broken {
            reply.fate = Fate::Failed;
        }
        reply
    }

    fn depart(&mut self, at: Moment, id: RequestId) {
        self.inner.depart(at, id);
    }

    fn gate(&self, request: &Request) -> Gate {
        self.inner.gate(request)
    }

    /// As if every body came whole and at once.
    fn oracle(&self, job: Job) -> Duration {
        self.inner.oracle(job)
    }

    fn service(&self) -> Duration {
        self.inner.service()
    }

    fn name(&self) -> &'static str {
        "bodies"
    }

    fn describe(&self) -> String {
        let (cut, slow) = (self.cut * 100.0, self.slow * 100.0);
        format!(
            "{}, {cut:.0} % cut, {slow:.0} % slow",
            self.inner.describe()
        )
    }
}
