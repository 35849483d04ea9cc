//! A concurrency limit: so many requests in service at once; what comes on top is turned away.
//!
//! A request counts from its arrival to its departure. One that is turned away takes a moment to
//! be told so, and occupies nothing meanwhile.

use std::collections::HashSet;
use std::num::NonZeroU64;
use std::time::Duration;

use abide_core::Moment;
use http::StatusCode;

use super::{Job, Policy, Service};
use crate::reply::{Answer, Reply};
use crate::request::{Request, RequestId};

/// At most `limit` requests in service at once; over it, a quick 503.
#[derive(Clone, Debug)]
pub struct Concurrency {
    limit: NonZeroU64,
    service: Service,
    refuse_after: Duration,
    status: StatusCode,
    busy: HashSet<RequestId>,
}

impl Concurrency {
    /// `limit` (at least one) at once, each taking `service`. Refuses with 503 after 2 ms.
    pub fn new(limit: u64, service: Service) -> Self {
        Self {
            limit: NonZeroU64::new(limit).unwrap_or(NonZeroU64::MIN),
            service,
            refuse_after: Duration::from_millis(2),
            status: StatusCode::SERVICE_UNAVAILABLE,
            busy: HashSet::new(),
        }
    }

    /// The status of refusals, and the time they take.
    #[must_use]
    pub fn refusing_with(self, status: StatusCode, after: Duration) -> Self {
        Self {
            status,
            refuse_after: after,
            ..self
        }
    }
}

impl Policy for Concurrency {
    fn arrive(&mut self, _at: Moment, id: RequestId, _request: &Request) -> Reply {
        if self.busy.len() as u64 >= self.limit.get() {
            return Reply::refused(Answer::refusal(self.status)).taking(self.refuse_after);
        }
        self.busy.insert(id);
        Reply::accepted(Answer::ok()).taking(self.service.draw())
    }

    fn depart(&mut self, _at: Moment, id: RequestId) {
        self.busy.remove(&id);
    }

    /// A reference, not a bound: the time of a client that has as many requests unanswered as the
    /// limit allows, each with the mean service time. A client that times its next request to
    /// arrive just as a place is given back saves the round trips.
    fn oracle(&self, job: Job) -> Duration {
        job.serving(self.service.mean()).rounds(Some(self.limit))
    }

    fn service(&self) -> Duration {
        self.service.mean()
    }

    fn name(&self) -> &'static str {
        "concurrency"
    }

    fn describe(&self) -> String {
        format!(
            "at most {} at once, {:?} each",
            self.limit,
            self.service.mean()
        )
    }
}
