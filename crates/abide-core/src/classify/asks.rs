//! Until when, and who said so.
//!
//! Sources are believed in the order `Retry-After` (finer forms first), resets of quotas, body;
//! they are never averaged. The first that says when wins, and a zero yields to all of them.
//!
//! A reset counts only for a quota that is empty; on a refusal also for one that does not say how
//! much is left. A quota with something left is not why we were refused.

use super::body::Parts;
use super::policy::ClassifyPolicy;
use super::status::hint_is_for_the_next_step;
use crate::finding::{Ask, AskSource, Reading};
use crate::signal::{Hint, Signal};
use crate::time::Instant;
use crate::verdict::{GateClass, Scope, Verdict};

/// A gate, as an answer means it.
type Cover = (Scope, GateClass);

const ACCOUNT: Cover = (Scope::Account, GateClass::PLAIN);

/// Everything an answer told about when to come back.
pub(super) struct Told<'a> {
    pub(super) signal: &'a Signal,
    /// The quotas that count.
    pub(super) readings: &'a [Reading],
    pub(super) parts: &'a Parts,
    pub(super) policy: &'a ClassifyPolicy,
}

impl Told<'_> {
    /// What the answer asks for, strongest first.
    pub(super) fn asks(&self, verdict: Verdict, cover: Cover) -> Vec<Ask> {
        let mut asks = Vec::new();
        match verdict {
            Verdict::RateLimited | Verdict::QuotaExhausted => {
                let reset = (hint(self.refusal_reset()), AskSource::RateLimitReset);
                asks.extend(self.first(&[self.head(), reset, self.body()], cover));
            }
            Verdict::Banned => asks.extend(self.first(&[self.head(), self.body()], cover)),
            Verdict::Unavailable => {
                let used_up = self.used_up();
                let sources = [self.head(), self.body()];
                let when = sources.iter().any(|(h, _)| matches!(h, Hint::Until(_)));
                let ask = self.first(&sources, cover);
                asks.extend(ask.filter(|_| when || used_up.is_empty()));
                asks.extend(used_up);
            }
            Verdict::Success | Verdict::NotFound => {
                if hint_is_for_the_next_step(self.signal.status) {
                    let request = (Scope::Request, GateClass::PLAIN);
                    asks.extend(self.first(&[self.head()], request));
                }
                let told = match cover.0 {
                    Scope::Request => ACCOUNT,
                    _ => cover,
                };
                asks.extend(self.first(&[self.body()], told));
                asks.extend(self.used_up());
            }
            // Waiting heals neither a credential nor a mistake, whatever the headers tell.
            Verdict::AuthError | Verdict::ClientError | Verdict::Offline => {}
        }
        asks
    }

    const fn head(&self) -> (Hint, AskSource) {
        (self.signal.retry_after, AskSource::RetryAfter)
    }

    const fn body(&self) -> (Hint, AskSource) {
        (self.parts.ask, AskSource::Body)
    }

    /// The first source that says when; failing that, what a zero means by policy, and then the
    /// boundary that the provider is known to have.
    fn first(&self, sources: &[(Hint, AskSource)], (scope, class): Cover) -> Option<Ask> {
        let ask = |until, source| Ask {
            until,
            source,
            scope,
            class,
        };
        let boundary = self.parts.boundary.map(|t| ask(t, AskSource::Policy));
        if self.parts.ignore_ask {
            return boundary;
        }
        let when = sources.iter().find_map(|(hint, source)| match hint {
            Hint::Until(until) => Some(ask(*until, *source)),
            _ => None,
        });
        when.or(boundary).or_else(|| {
            let (_, source) = sources.iter().find(|(hint, _)| *hint == Hint::Zero)?;
            let until = self.policy.hint_zero.until(self.signal.at.now)?;
            Some(ask(until, *source))
        })
    }

    /// An answer that was good (or at least no refusal) and yet used up what there was: the
    /// latest reset of each gate it speaks of.
    fn used_up(&self) -> Vec<Ask> {
        let mut asks: Vec<Ask> = Vec::new();
        for r in self.readings.iter().filter(|r| r.remaining == Some(0)) {
            let Some(until) = self.reset(r) else {
                continue;
            };
            let (scope, class) = (r.scope.unwrap_or(Scope::Account), r.class);
            match asks
                .iter_mut()
                .find(|a| (a.scope, a.class) == (scope, class))
            {
                Some(a) => a.until = a.until.max(until),
                None => asks.push(Ask {
                    until,
                    source: AskSource::RateLimitReset,
                    scope,
                    class,
                }),
            }
        }
        asks
    }

    /// The latest reset of the quotas that are used up, or else of those that do not say.
    fn refusal_reset(&self) -> Option<Instant> {
        let latest = |remaining| {
            let told = self.readings.iter().filter(|r| r.remaining == remaining);
            told.filter_map(|r| self.reset(r)).max()
        };
        latest(Some(0)).or_else(|| latest(None))
    }

    /// When there is more. A quota that is used up and tells its window but no reset is full
    /// again after a whole window at the latest.
    fn reset(&self, r: &Reading) -> Option<Instant> {
        let now = self.signal.at.now;
        let window = r.window.filter(|_| r.remaining.is_some());
        let reset = r.reset.or_else(|| window.map(|w| now.after(w)));
        reset.filter(|t| *t > now)
    }
}

/// Whether what the answer tells of quotas is worth keeping.
///
/// A stored answer tells an old balance. A refusal is never stored, so there `Age` is noise.
pub(super) const fn quotas_count(verdict: Verdict, signal: &Signal) -> bool {
    verdict.is_refusal() || !signal.is_cached()
}

const fn hint(until: Option<Instant>) -> Hint {
    match until {
        Some(t) => Hint::Until(t),
        None => Hint::Absent,
    }
}
