//! The seam for rules that look into the body.
//!
//! JSONPath and regular expressions live outside the core; they enter as a [`BodyMatch`] that
//! looks at one answer and tells the parts it knows. What it leaves open, the status decides.

use std::time::Duration;

use super::{Answer, RequestView};
use crate::finding::Reading;
use crate::signal::Hint;
use crate::time::Instant;
use crate::verdict::{GateClass, Health, Scope, Verdict};

/// Rules of a profile for the answers of its provider.
pub trait BodyMatch {
    /// What the rules make of `answer`; `None` when no rule applies.
    ///
    /// The sample may be absent, cut off, or of any type: a body that does not parse must never
    /// hide the status, so return `None` for it.
    fn find(&self, request: &RequestView<'_>, answer: &Answer<'_>) -> Option<Parts>;
}

/// What rules found; every part left open falls back to the status and the headers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Parts {
    /// What the answer means, in place of what its status says.
    pub verdict: Option<Verdict>,
    /// Its effect on the provider's health, where it differs from the verdict's own.
    pub health: Option<Health>,
    /// The gate it covers: its scope, and which of that scope.
    pub gate: Option<(Scope, GateClass)>,
    /// When the body says to come back; believed after all headers.
    pub ask: Hint,
    /// Nothing the answer says about waiting is meant.
    pub ignore_ask: bool,
    /// Nothing its common headers say about quotas is meant.
    pub ignore_readings: bool,
    /// The provider's own boundary, where nobody says when to come back (the end of its day).
    pub boundary: Option<Instant>,
    /// How long to stay away at the least, where nobody says and there is no boundary.
    pub wait: Option<Duration>,
    /// The provider's word on whether asking again can help.
    pub again: Option<bool>,
    /// Quotas that only the rules could read.
    pub readings: Vec<Reading>,
}
