//! A token bucket: requests at a steady rate, with some saved up for a burst.
//!
//! The bucket is full at the first arrival. It is counted in whole fractions of a token, so that
//! no rounding adds up: a client that sends at exactly the permitted instants is never refused.
//! The rate may change at given instants (a tier upgrade, a limit tightened at noon); the burst
//! stays.

use std::time::Duration;

use abide_core::time::nanos;
use abide_core::{Instant, Moment};
use http::StatusCode;

use super::{Hint, Job, Policy};
use crate::reply::{Answer, Reply};
use crate::request::{Request, RequestId};

/// At most `count` requests per `period` in the long run, and `burst` at once.
#[derive(Clone, Debug)]
pub struct TokenBucket {
    period: u64,
    burst: u64,
    /// From when on how many tokens come a period; sorted, the first from the origin.
    rates: Vec<(Instant, u64)>,
    hint: Hint,
    status: StatusCode,
    level: Option<Level>,
}

#[derive(Clone, Copy, Debug)]
struct Level {
    /// In units of 1/`period` nanoseconds of a token.
    credit: u128,
    at: Instant,
}

impl TokenBucket {
    /// `count` tokens a `period`, at most `burst` saved. Zeros are read as the smallest possible
    /// figure instead. Refuses with 429 and no hint.
    pub fn new(count: u64, period: Duration, burst: u64) -> Self {
        Self {
            period: nanos(period).max(1),
            burst: burst.max(1),
            rates: vec![(Instant::ORIGIN, count.max(1))],
            hint: Hint::None,
            status: StatusCode::TOO_MANY_REQUESTS,
            level: None,
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

    /// From `at` on, `count` tokens a period.
    #[must_use]
    pub fn changing(mut self, at: Instant, count: u64) -> Self {
        self.rates.push((at, count.max(1)));
        self.rates.sort_by_key(|(from, _)| *from);
        self
    }

    /// Takes one token, or says how long it is until there is one.
    pub(crate) fn take(&mut self, at: Instant) -> Result<(), Duration> {
        let full = u128::from(self.burst) * u128::from(self.period);
        let level = self.level.unwrap_or(Level { credit: full, at });
        // Less than a token beyond full is kept: it is the remainder of the last instant's
        // rounding, and without it a burst of one would drift by a nanosecond a request.
        let remainder = u128::from(self.count_at(at).min(self.period)) - 1;
        let cap = full.saturating_add(remainder);
        let credit = level
            .credit
            .saturating_add(self.gained(level.at, at))
            .min(cap);
        let price = u128::from(self.period);
        let (credit, verdict) = match credit.checked_sub(price) {
            Some(rest) => (rest, Ok(())),
            None => (credit, Err(self.until(at, price - credit).since(at))),
        };
        self.level = Some(Level { credit, at });
        verdict
    }

    fn count_at(&self, at: Instant) -> u64 {
        self.rates
            .iter()
            .rev()
            .find(|(from, _)| *from <= at)
            .map_or(1, |(_, count)| *count)
    }

    fn gained(&self, from: Instant, to: Instant) -> u128 {
        self.pieces(from)
            .map(|(begin, end, count)| {
                u128::from(nanos(end.min(to).since(begin))) * u128::from(count)
            })
            .fold(0, u128::saturating_add)
    }

    /// The first instant at which `credit` more has come in since `from`.
    fn until(&self, from: Instant, mut credit: u128) -> Instant {
        for (begin, end, count) in self.pieces(from) {
            let needed = credit.div_ceil(u128::from(count));
            let length = u128::from(nanos(end.since(begin)));
            if needed <= length {
                let needed = u64::try_from(needed).unwrap_or(u64::MAX);
                return begin.after(Duration::from_nanos(needed));
            }
            credit -= length * u128::from(count);
        }
        Instant::FAR
    }

    /// The stretches of constant rate from `from` on.
    fn pieces(&self, from: Instant) -> impl Iterator<Item = (Instant, Instant, u64)> {
        let ends = self
            .rates
            .iter()
            .skip(1)
            .map(|(at, _)| *at)
            .chain([Instant::FAR]);
        self.rates
            .iter()
            .zip(ends)
            .filter(move |(_, end)| from < *end)
            .map(move |((begin, count), end)| ((*begin).max(from), end, *count))
    }
}

impl Policy for TokenBucket {
    fn arrive(&mut self, at: Moment, _id: RequestId, _request: &Request) -> Reply {
        match self.take(at.now) {
            Ok(()) => Reply::accepted(Answer::ok()),
            Err(left) => self
                .hint
                .on(Reply::refused(Answer::refusal(self.status)), left),
        }
    }

    /// The burst at once, each further item the instant its token is whole.
    fn oracle(&self, job: Job) -> Duration {
        let beyond = job.items.saturating_sub(self.burst);
        let first = job.first_arrival().now;
        let last = self.until(first, u128::from(beyond) * u128::from(self.period));
        job.spread(last.since(first))
    }

    fn name(&self) -> &'static str {
        "token bucket"
    }

    fn describe(&self) -> String {
        let period = Duration::from_nanos(self.period);
        let mut text = format!("token bucket, burst {}", self.burst);
        for (from, count) in &self.rates {
            text += &format!(", {count} per {period:?}");
            if *from > Instant::ORIGIN {
                text += &format!(" from {from:?}");
            }
        }
        text
    }
}
