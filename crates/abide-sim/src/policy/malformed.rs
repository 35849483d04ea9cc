//! A provider whose `Retry-After` nobody should believe.
//!
//! Refusals carry a value drawn from a list of forms met in the wild that are no valid hint, and
//! one that is valid but absurd. A client must neither crash, nor come at once, nor take a
//! hexadecimal number for a long wait.

use std::time::Duration;

use abide_core::Moment;
use fastrand::Rng;
use http::HeaderValue;
use http::header::RETRY_AFTER;

use super::{Job, Policy};
use crate::reply::{Announced, Fate, Reply};
use crate::request::{Gate, Request, RequestId};

/// `Retry-After` values that say nothing.
pub const MALFORMED: [&[u8]; 10] = [
    b"",
    b"-5",
    b"0x1F",
    b"1_0",
    b"1e3",
    b"soon",
    b"NaN",
    b"1 minute",
    b"Mon, 99 Foo 2026 25:61:61 GMT",
    b"\xff\xfe",
];

const HUGE: &[u8] = b"99999999999999999999999999";

/// Another policy whose refusals carry a useless `Retry-After` instead of the one they had.
#[derive(Clone, Debug)]
pub struct Malformed<P> {
    inner: P,
    huge: bool,
    rng: Rng,
}

impl<P: Policy> Malformed<P> {
    /// `inner`, with values drawn from [`MALFORMED`].
    pub const fn over(inner: P, rng: Rng) -> Self {
        Self {
            inner,
            huge: false,
            rng,
        }
    }

    /// Sometimes a number too large for any integer, too. It is valid, so it announces a hold
    /// without an end.
    #[must_use]
    pub fn and_huge(self) -> Self {
        Self { huge: true, ..self }
    }
}

impl<P: Policy> Policy for Malformed<P> {
    fn arrive(&mut self, at: Moment, id: RequestId, request: &Request) -> Reply {
        let mut reply = self.inner.arrive(at, id, request);
        if reply.fate != Fate::Refused {
            return reply;
        }
        let choice = self.rng.usize(..MALFORMED.len() + usize::from(self.huge));
        let text = MALFORMED.get(choice).copied();
        reply.announced = match text {
            Some(_) => None,
            None => Some(Announced::For(Duration::MAX)),
        };
        if let Some(answer) = reply.answer_mut()
            && let Ok(value) = HeaderValue::from_bytes(text.unwrap_or(HUGE))
        {
            answer.headers.insert(RETRY_AFTER, value);
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
        self.inner.oracle(job)
    }

    fn service(&self) -> Duration {
        self.inner.service()
    }

    fn name(&self) -> &'static str {
        "malformed"
    }

    fn describe(&self) -> String {
        format!("{}, malformed Retry-After", self.inner.describe())
    }
}
