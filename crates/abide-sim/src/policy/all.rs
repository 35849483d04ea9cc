//! Several limits of which all must have room, as a provider documents them.
//!
//! What is turned away counts against none of them. Refusals tell in `Retry-After` how long it
//! really is until all have room.

use std::collections::HashSet;
use std::time::Duration;

use abide_core::Moment;
use http::StatusCode;

use super::{FixedWindow, Job, Policy, SlidingWindow, TokenBucket};
use crate::reply::{Answer, Reply};
use crate::request::{Request, RequestId};

/// One of several limits.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Limit {
    /// A rate with some saved up.
    Bucket(TokenBucket),
    /// A count until a boundary.
    Fixed(FixedWindow),
    /// At most so many in any stretch.
    Sliding(SlidingWindow),
}

impl Limit {
    fn left(&mut self, at: Moment) -> Duration {
        match self {
            Self::Bucket(limit) => limit.clone().take(at.now).err().unwrap_or_default(),
            Self::Fixed(limit) => limit.left(at.wall),
            Self::Sliding(limit) => limit.left(at.now),
        }
    }

    fn as_policy(&self) -> &dyn Policy {
        match self {
            Self::Bucket(limit) => limit,
            Self::Fixed(limit) => limit,
            Self::Sliding(limit) => limit,
        }
    }

    fn as_policy_mut(&mut self) -> &mut dyn Policy {
        match self {
            Self::Bucket(limit) => limit,
            Self::Fixed(limit) => limit,
            Self::Sliding(limit) => limit,
        }
    }
}

/// All of several limits, and so many requests at once.
#[derive(Clone, Debug)]
pub struct All {
    limits: Vec<Limit>,
    at_once: Option<usize>,
    busy: HashSet<RequestId>,
}

impl All {
    /// All of these. None at all let everything in.
    pub fn of(limits: impl Into<Vec<Limit>>) -> Self {
        Self {
            limits: limits.into(),
            at_once: None,
            busy: HashSet::new(),
        }
    }

    /// At most `count` requests (at least one) in service at once.
    #[must_use]
    pub fn at_once(self, count: usize) -> Self {
        Self {
            at_once: Some(count.max(1)),
            ..self
        }
    }
}

impl Policy for All {
    fn arrive(&mut self, at: Moment, id: RequestId, request: &Request) -> Reply {
        let refusal = || Reply::refused(Answer::refusal(StatusCode::TOO_MANY_REQUESTS));
        if self.at_once.is_some_and(|most| self.busy.len() >= most) {
            return refusal();
        }
        let left = self.limits.iter_mut().map(|l| l.left(at)).max();
        match left {
            Some(left) if !left.is_zero() => return refusal().retry_after(left),
            _ => {}
        }
        for limit in &mut self.limits {
            // It has room, and what else it would say is of no interest.
            drop(limit.as_policy_mut().arrive(at, id, request));
        }
        self.busy.insert(id);
        Reply::accepted(Answer::ok())
    }

    fn depart(&mut self, _at: Moment, id: RequestId) {
        self.busy.remove(&id);
    }

    /// The slowest of all the limits alone: a lower bound where they hinder each other.
    fn oracle(&self, job: Job) -> Duration {
        let limits = self.limits.iter().map(|l| l.as_policy().oracle(job));
        let width = job.workers.map(std::num::NonZeroU64::get);
        let width = match (width, self.at_once) {
            (Some(width), Some(most)) => Some(width.min(most as u64)),
            (None, most) => most.map(|n| n as u64),
            (width, None) => width,
        };
        let rounds = job.rounds(width.and_then(std::num::NonZeroU64::new));
        limits.max().unwrap_or_default().max(rounds)
    }

    fn name(&self) -> &'static str {
        "all"
    }

    fn describe(&self) -> String {
        let limits = self.limits.iter().map(|l| l.as_policy().describe());
        let at_once = self.at_once.map(|n| format!("at most {n} at once"));
        let all: Vec<String> = limits.chain(at_once).collect();
        match all.is_empty() {
            true => "no limit".to_owned(),
            false => all.join("; "),
        }
    }
}

#[cfg(test)]
mod tests {
    use abide_core::{Instant, WallTime};

    use super::*;
    use crate::reply::Fate;

    fn at(ms: u64) -> Moment {
        let now = Instant::from_millis(ms);
        Moment::new(
            now,
            WallTime::from_unix_secs(0).after(now.since(Instant::ORIGIN)),
        )
    }

    fn two() -> All {
        let second = Duration::from_secs(1);
        All::of([
            Limit::Sliding(SlidingWindow::new(3, second)),
            Limit::Fixed(FixedWindow::new(4, 10 * second)),
        ])
    }

    #[test]
    fn all_must_have_room_and_what_is_refused_counts_nowhere() {
        let mut all = two();
        let mut accepted = Vec::new();
        for ms in (0..12_000).step_by(100) {
            let reply = all.arrive(at(ms), RequestId::new(ms), &Request::get("/"));
            if reply.fate == Fate::Accepted {
                accepted.push(ms);
            }
        }
        assert_eq!(
            accepted,
            [0, 100, 200, 1_000, 10_000, 10_100, 10_200, 11_000]
        );
    }

    #[test]
    fn so_many_at_once() {
        let mut all = All::of([]).at_once(2);
        let fates: Vec<Fate> = (0..3)
            .map(|n| {
                all.arrive(at(0), RequestId::new(n), &Request::get("/"))
                    .fate
            })
            .collect();
        assert_eq!(fates, [Fate::Accepted, Fate::Accepted, Fate::Refused]);
        all.depart(at(1), RequestId::new(0));
        let again = all.arrive(at(1), RequestId::new(3), &Request::get("/"));
        assert_eq!(again.fate, Fate::Accepted);
    }

    #[test]
    fn the_slowest_limit_is_the_oracle() {
        let job = Job::new(9, Duration::ZERO);
        assert_eq!(two().oracle(job), Duration::from_secs(20));
    }
}
