//! The seam for rules that look into the body.
//!
//! JSONPath and regular expressions live outside the core; they enter as a [`BodyMatch`] that
//! looks at one answer and tells the parts it knows. What it leaves open, the status decides.

use super::Answer;
use crate::finding::Reading;
use crate::signal::Hint;
use crate::verdict::{Health, Scope, Verdict};

/// Rules of a profile for the answers of its provider.
pub trait BodyMatch {
    /// What the rules make of `answer`; `None` when no rule applies.
    ///
    /// The sample may be absent, cut off, or of any type: a body that does not parse must never
    /// hide the status, so return `None` for it.
    fn find(&self, answer: &Answer<'_>) -> Option<Parts>;
}

/// What rules found; every part left open falls back to the status and the headers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Parts {
    /// What the answer means, in place of what its status says.
    pub verdict: Option<Verdict>,
    /// Its effect on the provider's health, where it differs from the verdict's own.
    pub health: Option<Health>,
    /// What it covers.
    pub scope: Option<Scope>,
    /// When the body says to come back; believed after all headers.
    pub ask: Hint,
    /// Quotas that only the rules could read.
    pub readings: Vec<Reading>,
}
