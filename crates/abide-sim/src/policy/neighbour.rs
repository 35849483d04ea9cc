//! A neighbour: another client of the same limit, that takes its share steadily.

use std::time::Duration;

use abide_core::time::nanos;
use abide_core::{Instant, Moment};

use super::{Job, Policy, TokenBucket};
use crate::reply::Reply;
use crate::request::{Gate, Request, RequestId};

/// Whoever leaves nothing is not followed for ever.
const STEPS: u32 = 10_000;

/// Around a token bucket: from the first arrival on somebody else takes a token every so often,
/// and one that is not there yet as soon as it is, before anybody else.
#[derive(Clone, Debug)]
pub struct Neighbour {
    bucket: TokenBucket,
    every: Duration,
    began: Option<Instant>,
    /// How many it has wanted since, and how many of those it did not get yet.
    wanted: u32,
    owed: u32,
}

impl Neighbour {
    /// Takes `count` tokens a `period`, the first when one interval has passed.
    pub fn beside(bucket: TokenBucket, count: u32, period: Duration) -> Self {
        Self {
            bucket,
            every: (period / count.max(1)).max(Duration::from_nanos(1)),
            began: None,
            wanted: 0,
            owed: 0,
        }
    }

    /// Everything that the neighbour has taken by `now`.
    fn catch_up(&mut self, now: Instant) {
        let began = *self.began.get_or_insert(now);
        loop {
            let next = began.after(self.every.saturating_mul(self.wanted + 1));
            if next > now {
                break;
            }
            self.wanted += 1;
            self.owed += 1;
            self.collect(next);
        }
        self.collect(now);
    }

    fn collect(&mut self, at: Instant) {
        while self.owed > 0 && self.bucket.take(at).is_ok() {
            self.owed -= 1;
        }
    }
}

impl Policy for Neighbour {
    fn arrive(&mut self, at: Moment, id: RequestId, request: &Request) -> Reply {
        if self.began.is_some() {
            self.catch_up(at.now);
        } else {
            self.began = Some(at.now);
        }
        self.bucket.arrive(at, id, request)
    }

    fn gate(&self, request: &Request) -> Gate {
        self.bucket.gate(request)
    }

    /// The burst at once, then each token the instant it is whole, except those that the
    /// neighbour takes first. It is taken to be the faster at equal instants.
    fn oracle(&self, job: Job) -> Duration {
        let overhead = job.spread(Duration::ZERO);
        let mut taken = 0;
        for _ in 0..STEPS {
            let took = self
                .bucket
                .oracle(job.with_items(job.items.saturating_add(taken)));
            let by_then = nanos(took.saturating_sub(overhead)) / nanos(self.every);
            if by_then <= taken {
                return if job.items == 0 { overhead } else { took };
            }
            taken = by_then;
        }
        Duration::MAX
    }

    fn name(&self) -> &'static str {
        "neighbour"
    }

    fn describe(&self) -> String {
        let every = self.every;
        format!(
            "{}, of which another takes one every {every:?}",
            self.bucket.describe()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn neighbour() -> Neighbour {
        let second = Duration::from_secs(1);
        Neighbour::beside(TokenBucket::new(50, second, 10), 25, second)
    }

    fn accepted(policy: &mut Neighbour, ms: u64) -> bool {
        let at = Moment::new(Instant::from_millis(ms), Moment::default().wall);
        let reply = policy.arrive(at, RequestId::new(ms), &Request::get("/"));
        reply.fate == crate::reply::Fate::Accepted
    }

    #[test]
    fn half_of_the_limit_is_left() {
        let mut n = neighbour();
        let got = (0..10_000).filter(|ms| accepted(&mut n, *ms)).count();
        assert_eq!(got, 10 + 250, "the burst and 25 a second");
    }

    #[test]
    fn it_takes_while_nobody_else_does() {
        let mut n = neighbour();
        (0..10).for_each(|_| assert!(accepted(&mut n, 0)));
        // 10 tokens came in 200 ms; it has taken 5 of them.
        let got = (0..20).filter(|_| accepted(&mut n, 200)).count();
        assert_eq!(got, 5);
    }

    #[test]
    fn the_oracle_is_the_schedule_that_takes_every_token_left() {
        for items in [1, 10, 11, 12, 13, 50, 259] {
            let mut n = neighbour();
            let job = Job::new(items, Duration::from_millis(20));
            let last = (n.oracle(job).saturating_sub(job.trip)).as_micros() as u64;
            let (mut got, mut when) = (0, 0);
            for ms in 0..20_000 {
                while got < items && accepted(&mut n, ms) {
                    (got, when) = (got + 1, ms);
                }
            }
            assert_eq!((got, when * 1_000), (items, last), "{items} items");
        }
    }
}
