//! How many answers that lead to a ban a provider lets us have.
//!
//! Some providers shut out whoever collects too many refusals and failed logins (ten thousand in
//! ten minutes, at one). Each such answer is counted; when most of the allowance is spent nothing
//! is sent until enough of it has come back, since what is on the wire may still be refused.

use std::time::Duration;

use crate::pace::Sliding;
use crate::time::Instant;

/// A twentieth is kept for what is on the wire when the rest is spent.
const KEPT: u32 = 20;

/// So many such answers in so much time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllowancePolicy {
    /// How many.
    pub count: u32,
    /// In any stretch of this.
    pub per: Duration,
}

/// What is left of an allowance.
#[derive(Clone, Debug)]
pub(crate) struct Allowance(Sliding);

impl Allowance {
    pub(crate) fn new(policy: AllowancePolicy) -> Self {
        let most = policy.count - policy.count / KEPT;
        Self(Sliding::new(most, policy.per))
    }

    /// One more such answer came; returns until when nothing may be sent, if anything is spent.
    pub(crate) fn spend(&mut self, now: Instant) -> Option<Instant> {
        self.0.charge(now, now, 1);
        let next = self.0.earliest(1);
        (next > now).then_some(next)
    }
}
