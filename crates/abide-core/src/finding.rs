//! What was found in one answer: its verdict, what it asks for, and what it tells.

use std::fmt;
use std::time::Duration;

use crate::time::Instant;
use crate::verdict::{GateClass, Health, Scope, Verdict};

/// Where an ask came from, in the order in which sources are believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum AskSource {
    /// `Retry-After` or one of its millisecond forms.
    RetryAfter,
    /// A reset told by a quota header (or derived from its window).
    RateLimitReset,
    /// The body of the answer.
    Body,
    /// The instant was inferred from earlier answers.
    Learned,
    /// Nobody said: a default of the policy.
    Policy,
    /// A person placed the hold.
    Operator,
}

impl AskSource {
    /// The word used in output, logs and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RetryAfter => "retry-after",
            Self::RateLimitReset => "ratelimit-reset",
            Self::Body => "body",
            Self::Learned => "learned",
            Self::Policy => "policy-default",
            Self::Operator => "operator",
        }
    }
}

impl fmt::Display for AskSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The instant until which the provider asked us to stay away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// Not before this instant. Never shortened by any cap of ours.
    pub until: Instant,
    /// Who said so.
    pub source: AskSource,
    /// What is to stay away.
    pub scope: Scope,
    /// Which of the provider's own gates, where it has several of that scope.
    pub class: GateClass,
}

/// A bucket named by the server (as Discord's `X-RateLimit-Bucket`), hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BucketId(pub u64);

/// What an answer tells of one quota, whether it was a refusal or a success.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// The gate it speaks of; `None` when the answer does not say (read as the account).
    pub scope: Option<Scope>,
    /// Which of the provider's own gates, where it has several of that scope.
    pub class: GateClass,
    /// How many units one window holds.
    pub limit: Option<u64>,
    /// How many units are left; a negative number sent by a provider reads as 0.
    pub remaining: Option<u64>,
    /// When the quota is full again, or more of it is there.
    pub reset: Option<Instant>,
    /// The length of the window.
    pub window: Option<Duration>,
    /// What this request really cost, where the provider says.
    pub cost: Option<u32>,
    /// The bucket's name, where the provider gives one.
    pub bucket: Option<BucketId>,
}

/// Everything an answer (or one stage of it) was found to mean.
///
/// Findings about one request may come in stages: head, end of the sample, end of the body. The
/// worst one wins; readings add up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it means.
    pub verdict: Verdict,
    /// What it says about the provider's health.
    pub health: Health,
    /// What a refusal or an outage covers.
    pub scope: Scope,
    /// Which of the provider's own gates, where it has several of that scope.
    pub class: GateClass,
    /// Whether a gate is to be held: every refusal, and whatever `hold.on` names.
    pub holds: bool,
    /// What was asked, strongest first; empty when nobody said.
    pub asks: Vec<Ask>,
    /// How long to stay away at the least where nobody said: what the provider's profile knows.
    pub wait: Option<Duration>,
    /// The provider's word on whether asking again can help, where it gives one.
    pub again: Option<bool>,
    /// It counts against the provider's allowance of answers that lead to a ban.
    pub counted: bool,
    /// No head came: the exchange failed. Where our own network was down, this says nothing
    /// about the provider.
    pub unanswered: bool,
    /// Quotas told along the way.
    pub readings: Vec<Reading>,
}

impl Finding {
    /// A finding of `verdict` with its default health, covering this request only, asking nothing.
    pub const fn of(verdict: Verdict) -> Self {
        Self {
            verdict,
            health: verdict.health(),
            scope: Scope::Request,
            class: GateClass::PLAIN,
            holds: false,
            asks: Vec::new(),
            wait: None,
            again: None,
            counted: false,
            unanswered: false,
            readings: Vec::new(),
        }
    }

    /// A plain success.
    pub const fn success() -> Self {
        Self::of(Verdict::Success)
    }

    /// The exchange failed while our own network was down: it says nothing about the provider.
    pub const fn be_offline(&mut self) {
        self.verdict = Verdict::Offline;
        self.health = Verdict::Offline.health();
    }

    /// Until when whoever asks again has to wait: to the end of the hold it opened, which may be
    /// sooner than what was asked for (`hold.max`), and of what was asked of this request alone.
    pub fn waited_until(&self, held: Option<Instant>) -> Option<Instant> {
        let own = self.asks.iter().filter(|a| a.scope == Scope::Request);
        let until = held.max(own.map(|a| a.until).max());
        until.or_else(|| self.ask().map(|a| a.until))
    }

    /// The longest instant asked for, with its source.
    pub fn ask(&self) -> Option<Ask> {
        self.asks.iter().copied().max_by_key(|a| a.until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hold_that_is_believed_for_less_than_was_asked_ends_the_wait() {
        let at = |s: u64| Some(Instant::from_secs(s));
        let ask = |s, scope| Ask {
            until: Instant::from_secs(s),
            source: AskSource::RetryAfter,
            scope,
            class: GateClass::PLAIN,
        };
        let mut finding = Finding::of(Verdict::RateLimited);
        assert_eq!(finding.waited_until(None), None);
        assert_eq!(finding.waited_until(at(9)), at(9));
        finding.asks.push(ask(3600, Scope::Account));
        assert_eq!(finding.waited_until(at(30)), at(30));
        assert_eq!(finding.waited_until(None), at(3600));
        finding.asks.push(ask(60, Scope::Request));
        assert_eq!(finding.waited_until(at(30)), at(60));
    }
}
