//! Clients in virtual time, for tests.
#![allow(dead_code, reason = "each test binary uses its own part")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

pub(crate) mod call;
pub(crate) mod script;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use abide_core::{Instant, Moment, WallTime};
use abide_sim::{Fate, Job, Policy, Reply, Request, RequestId};

pub(crate) const EPOCH: i64 = 1_773_144_000;

pub(crate) const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// `now` milliseconds after a start on an even second of the wall clock.
pub(crate) fn at(now: u64) -> Moment {
    moment(Instant::from_millis(now))
}

pub(crate) fn moment(now: Instant) -> Moment {
    Moment::new(
        now,
        WallTime::from_unix_secs(EPOCH).after(now.since(Instant::ORIGIN)),
    )
}

/// Arrivals at these milliseconds, each departing `after` its service time, and what became of
/// them: `+` accepted, `-` refused, `!` failed.
pub(crate) fn replay(policy: &mut dyn Policy, arrivals: &[u64]) -> (String, Vec<Reply>) {
    let mut busy = Busy::default();
    let mut fates = String::new();
    let mut replies = Vec::new();
    for (n, arrival) in arrivals.iter().enumerate() {
        let at = at(*arrival);
        busy.leave(policy, at.now);
        let id = RequestId::new(n as u64);
        let reply = policy.arrive(at, id, &Request::item(n.to_string()));
        busy.stay(at.now.after(reply.after), id);
        fates.push(match reply.fate {
            Fate::Accepted => '+',
            Fate::Refused => '-',
            _ => '!',
        });
        replies.push(reply);
    }
    (fates, replies)
}

pub(crate) fn fates(mut policy: impl Policy, arrivals: &[u64]) -> String {
    replay(&mut policy, arrivals).0
}

pub(crate) fn header<'a>(reply: &'a Reply, name: &str) -> Option<&'a [u8]> {
    reply
        .answer()
        .unwrap()
        .headers
        .get(name)
        .map(http::HeaderValue::as_bytes)
}

/// A client that knows everything: it tries each arrival on a copy of the provider first, and
/// sends at the first instant that is accepted. Returns the time of its job, and whether the real
/// provider accepted every item.
pub(crate) fn clairvoyant<P: Policy + Clone>(policy: &P, job: Job) -> (Duration, bool) {
    let mut policy = policy.clone();
    let mut busy = Busy::default();
    let workers = job.workers.map_or(job.items, |w| w.get()).min(job.items);
    let mut free: BinaryHeap<_> = (0..workers).map(|_| Reverse(job.start.now)).collect();
    let there = job.trip / 2;
    let (mut last_arrival, mut end, mut all) = (job.start.now, job.start.now, true);
    for n in 0..job.items {
        let Reverse(worker) = free.pop().unwrap();
        let id = RequestId::new(n);
        let request = Request::item(n.to_string());
        let accepts = |now: Instant| {
            let (mut policy, mut busy) = (policy.clone(), busy.clone());
            busy.leave(&mut policy, now);
            let at = Moment::new(now, job.start.wall_at(now));
            policy.arrive(at, id, &request).fate == Fate::Accepted
        };
        let arrival = first(worker.after(there).max(last_arrival), accepts);
        last_arrival = arrival;
        busy.leave(&mut policy, arrival);
        let reply = policy.arrive(
            Moment::new(arrival, job.start.wall_at(arrival)),
            id,
            &request,
        );
        all &= reply.fate == Fate::Accepted;
        let done = arrival.after(reply.after);
        busy.stay(done, id);
        let back = done.after(job.trip - there);
        free.push(Reverse(back));
        end = end.max(back);
    }
    (end.since(job.start.now), all)
}

/// The first instant from `from` on at which `yes` holds, by doubling and halving.
fn first(from: Instant, yes: impl Fn(Instant) -> bool) -> Instant {
    if yes(from) {
        return from;
    }
    let (mut no, mut step) = (0, 1_u64);
    while !yes(from.after(Duration::from_nanos(step))) {
        no = step;
        step *= 2;
        assert!(step < 1 << 60, "never accepted");
    }
    while step - no > 1 {
        let middle = no + (step - no) / 2;
        if yes(from.after(Duration::from_nanos(middle))) {
            step = middle;
        } else {
            no = middle;
        }
    }
    from.after(Duration::from_nanos(step))
}

#[derive(Clone, Default)]
struct Busy(BinaryHeap<Reverse<(Instant, RequestId)>>);

impl Busy {
    fn stay(&mut self, until: Instant, id: RequestId) {
        self.0.push(Reverse((until, id)));
    }

    fn leave(&mut self, policy: &mut (impl Policy + ?Sized), now: Instant) {
        while let Some(Reverse((until, id))) = self.0.peek().copied()
            && until <= now
        {
            self.0.pop();
            policy.depart(moment(until), id);
        }
    }
}
