//! A policy with its ledger: the four instants of every request pass through here.

use std::collections::HashMap;
use std::time::{Duration, UNIX_EPOCH};

use abide_core::{Instant, Moment, WallTime};
use http::HeaderValue;
use http::header::DATE;

use crate::holds::Holds;
use crate::policy::{Job, Policy};
use crate::reply::{Announced, Reply, What};
use crate::request::{Gate, Request, RequestId};
use crate::truth::Truth;

/// A simulated provider that knows the truth about its clients.
///
/// In virtual time a driver calls [`send`](Self::send), [`arrive`](Self::arrive),
/// [`depart`](Self::depart) and [`receive`](Self::receive), each with its own instant and never
/// going back in time. Over a socket the sending is not seen, and
/// [`arrive_unseen`](Self::arrive_unseen) and [`wrote`](Self::wrote) take the place of the first
/// and the last.
#[derive(Debug)]
pub struct Provider {
    policy: Box<dyn Policy>,
    truth: Truth,
    holds: Holds,
    sent: HashMap<RequestId, Request>,
    pending: HashMap<RequestId, Pending>,
    next: u64,
    date: Date,
}

/// A request that has arrived and is not over yet.
#[derive(Debug)]
struct Pending {
    client: u32,
    gate: Gate,
    announced: Option<Announced>,
    departed: bool,
}

impl Provider {
    /// A provider with this policy and an empty ledger.
    pub fn new(policy: impl Policy + 'static) -> Self {
        Self {
            policy: Box::new(policy),
            truth: Truth::default(),
            holds: Holds::default(),
            sent: HashMap::new(),
            pending: HashMap::new(),
            next: 0,
            date: Date::default(),
        }
    }

    /// The client starts a request. This is the instant at which it is judged: it is inside a hold
    /// when an answer announcing one was [received](Self::receive) before this call.
    pub fn send(&mut self, now: Instant, request: Request) -> RequestId {
        let id = self.next_id();
        let gate = self.policy.gate(&request);
        self.sight(now, request.client, gate);
        self.sent.insert(id, request);
        id
    }

    /// A request that was sent reaches the provider. The answer is ready, and the request departs,
    /// [`Reply::after`] later.
    ///
    /// An id that was not sent, or has arrived already, finds its connection closed.
    #[must_use = "the reply says when the answer is ready and what it is"]
    pub fn arrive(&mut self, at: Moment, id: RequestId) -> Reply {
        match self.sent.remove(&id) {
            Some(request) => {
                let gate = self.policy.gate(&request);
                self.judge(at, id, gate, request)
            }
            None => Reply::failed(What::Close),
        }
    }

    /// A request reaches the provider over a wire on which nobody saw it start; it is judged by
    /// its arrival.
    pub fn arrive_unseen(&mut self, at: Moment, request: Request) -> (RequestId, Reply) {
        let id = self.next_id();
        let gate = self.policy.gate(&request);
        self.sight(at.now, request.client, gate);
        let reply = self.judge(at, id, gate, request);
        (id, reply)
    }

    /// The provider is done with a request: its answer is written, or its connection is gone.
    pub fn depart(&mut self, at: Moment, id: RequestId) {
        self.policy.depart(at, id);
        let Some(pending) = self.pending.get_mut(&id) else {
            return;
        };
        pending.departed = true;
        if pending.announced.is_none() {
            self.pending.remove(&id);
            self.truth.ended(at.now);
        }
    }

    /// The client has received the head of the answer, and with it any wait it asks for.
    pub fn receive(&mut self, now: Instant, id: RequestId) {
        self.told(id, |announced| (now, announced.end(now)));
        self.truth.ended(now);
    }

    /// The answer is written to a wire on which nobody sees it received.
    ///
    /// The client is taken to know of the hold one maximal round trip (`grace`) later. The hold's
    /// end counts from now: a client counts from its receipt, which is later, so one that behaves
    /// can never be found early.
    pub fn wrote(&mut self, now: Instant, id: RequestId, grace: Duration) {
        self.told(id, |announced| (now.after(grace), announced.end(now)));
    }

    /// What this provider has seen so far.
    pub const fn truth(&self) -> &Truth {
        &self.truth
    }

    /// The time the fastest schedule takes that the policy permits.
    pub fn oracle(&self, job: Job) -> Duration {
        self.policy.oracle(job)
    }

    /// The policy in one line.
    pub fn describe(&self) -> String {
        self.policy.describe()
    }

    fn next_id(&mut self) -> RequestId {
        let id = RequestId::new(self.next);
        self.next += 1;
        id
    }

    fn sight(&mut self, at: Instant, client: u32, gate: Gate) {
        let sighting = self.holds.sight(client, gate, at);
        self.truth.begun(at);
        self.truth.sent_inside_hold += u64::from(sighting.inside);
        self.truth.peak_burst_after_hold = self.truth.peak_burst_after_hold.max(sighting.burst);
    }

    fn judge(&mut self, at: Moment, id: RequestId, gate: Gate, request: Request) -> Reply {
        let mut reply = self.policy.arrive(at, id, &request);
        let written = at.wall.after(reply.after);
        if let Some(answer) = reply.answer_mut()
            && !answer.headers.contains_key(DATE)
        {
            answer.headers.insert(DATE, self.date.at(written));
        }
        let client = request.client;
        let announced = reply.announced;
        self.pending.insert(
            id,
            Pending {
                client,
                gate,
                announced,
                departed: false,
            },
        );
        self.truth.record(request, &reply);
        reply
    }

    fn told(&mut self, id: RequestId, hold: impl FnOnce(Announced) -> (Instant, Instant)) {
        let Some(pending) = self.pending.get_mut(&id) else {
            return;
        };
        let Pending { client, gate, .. } = *pending;
        let announced = pending.announced.take();
        if pending.departed {
            self.pending.remove(&id);
        }
        if let Some(announced) = announced {
            let (known, end) = hold(announced);
            self.holds.open(client, gate, known, end);
        }
    }
}

/// The `Date` header, written once a second however many answers carry it.
#[derive(Debug, Default)]
struct Date {
    second: i64,
    value: Option<HeaderValue>,
}

impl Date {
    fn at(&mut self, wall: WallTime) -> HeaderValue {
        let second = wall.as_unix_nanos().div_euclid(1_000_000_000);
        match &self.value {
            Some(value) if second == self.second => value.clone(),
            _ => {
                let value = http_date(wall);
                self.second = second;
                self.value = Some(value.clone());
                value
            }
        }
    }
}

/// A wall time as a `Date` header tells it: whole seconds, rounded down, not before 1970.
pub(crate) fn http_date(wall: WallTime) -> HeaderValue {
    let second = u64::try_from(wall.as_unix_nanos() / 1_000_000_000).unwrap_or(0);
    let text = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(second));
    HeaderValue::from_str(&text).unwrap_or_else(|_| HeaderValue::from_static(""))
}
