//! The body rules a profile of the simulated GraphQL endpoint would have.

use abide_core::Verdict;
use abide_core::classify::{Answer, BodyMatch, Parts, RequestView};

/// Knows the refusal that hides in a 200, and the quota in a 403.
#[derive(Clone, Copy, Debug, Default)]
pub struct GraphqlRules;

impl BodyMatch for GraphqlRules {
    fn find(&self, _: &RequestView<'_>, answer: &Answer<'_>) -> Option<Parts> {
        let says = |word: &[u8]| {
            let sample = answer.sample.unwrap_or_default();
            sample.windows(word.len()).any(|w| w == word)
        };
        let verdict = if says(b"RATE_LIMITED") {
            Verdict::RateLimited
        } else if says(b"quotaExceeded") {
            Verdict::QuotaExhausted
        } else {
            return None;
        };
        let mut parts = Parts::default();
        parts.verdict = Some(verdict);
        Some(parts)
    }
}
