//! Until when, and who said so.
//!
//! Sources are believed in the order `Retry-After` (finer forms first), resets of quotas, body;
//! they are never averaged. The first that says when wins, and a zero yields to all of them.
//!
//! A reset counts only for a quota that is empty; on a refusal also for one that does not say how
//! much is left. A quota with something left is not why we were refused.

use super::policy::ClassifyPolicy;
use super::status::hint_is_for_the_next_step;
use crate::finding::{Ask, AskSource};
use crate::signal::{Hint, Signal};
use crate::time::Instant;
use crate::verdict::{Scope, Verdict};

/// What the answer asks for, strongest first.
pub(super) fn asks(
    verdict: Verdict,
    scope: Scope,
    signal: &Signal,
    body: Hint,
    policy: &ClassifyPolicy,
) -> Vec<Ask> {
    let told = (signal.retry_after, AskSource::RetryAfter);
    let body = (body, AskSource::Body);
    let mut asks = Vec::new();
    match verdict {
        Verdict::RateLimited | Verdict::QuotaExhausted => {
            let reset = (hint(refusal_reset(signal)), AskSource::RateLimitReset);
            asks.extend(first(&[told, reset, body], scope, signal, policy));
        }
        Verdict::Banned => asks.extend(first(&[told, body], scope, signal, policy)),
        Verdict::Unavailable => {
            let used_up = used_up(verdict, signal);
            let ask = first(&[told, body], scope, signal, policy);
            let zero = !matches!((told.0, body.0), (Hint::Until(_), _) | (_, Hint::Until(_)));
            asks.extend(ask.filter(|_| !zero || used_up.is_none()));
            asks.extend(used_up);
        }
        Verdict::Success | Verdict::NotFound => {
            if hint_is_for_the_next_step(signal.status) {
                asks.extend(first(&[told], Scope::Request, signal, policy));
            }
            asks.extend(first(&[body], Scope::Account, signal, policy));
            asks.extend(used_up(verdict, signal));
        }
        // Waiting heals neither a credential nor a mistake, whatever the headers tell.
        Verdict::AuthError | Verdict::ClientError | Verdict::Offline => {}
    }
    asks
}

/// Whether what the answer tells of quotas is worth keeping.
///
/// A stored answer tells an old balance. A refusal is never stored, so there `Age` is noise.
pub(super) const fn quotas_count(verdict: Verdict, signal: &Signal) -> bool {
    verdict.is_refusal() || !signal.is_cached()
}

/// The first source that says when; failing that, what a zero means by policy.
fn first(
    sources: &[(Hint, AskSource)],
    scope: Scope,
    signal: &Signal,
    policy: &ClassifyPolicy,
) -> Option<Ask> {
    let when = sources.iter().find_map(|(hint, source)| match hint {
        Hint::Until(until) => Some(Ask {
            until: *until,
            source: *source,
            scope,
        }),
        _ => None,
    });
    when.or_else(|| {
        let (_, source) = sources.iter().find(|(hint, _)| *hint == Hint::Zero)?;
        let until = policy.hint_zero.until(signal.at.now)?;
        Some(Ask {
            until,
            source: *source,
            scope,
        })
    })
}

/// An answer that was good (or at least no refusal) and yet used up what there was.
fn used_up(verdict: Verdict, signal: &Signal) -> Option<Ask> {
    let until = empty_reset(signal).filter(|_| quotas_count(verdict, signal))?;
    Some(Ask {
        until,
        source: AskSource::RateLimitReset,
        scope: Scope::Account,
    })
}

fn refusal_reset(signal: &Signal) -> Option<Instant> {
    empty_reset(signal).or_else(|| latest(signal, None))
}

fn empty_reset(signal: &Signal) -> Option<Instant> {
    latest(signal, Some(0))
}

/// The latest reset of the quotas that tell `remaining`. One that is empty and tells its window
/// but no reset is full again after a whole window at the latest.
fn latest(signal: &Signal, remaining: Option<u64>) -> Option<Instant> {
    let now = signal.at.now;
    let matching = signal.readings.iter().filter(|r| r.remaining == remaining);
    let resets = matching.filter_map(|r| match remaining {
        Some(_) => r.reset.or_else(|| r.window.map(|w| now.after(w))),
        None => r.reset,
    });
    resets.filter(|t| *t > now).max()
}

const fn hint(until: Option<Instant>) -> Hint {
    match until {
        Some(t) => Hint::Until(t),
        None => Hint::Absent,
    }
}
