//! What an answer means.
//!
//! The body's rules of a profile come first (the seam is [`BodyMatch`]), then the status. Headers
//! say when to come back, never whether something is a refusal: a failed login that happens to
//! tell an empty quota stays a failed login, and quota left over says nothing against a 429.
//!
//! The ask that is found is the true one; no cap is applied here, since only what the provider
//! really asked for may travel to whoever has to decide.

mod asks;
mod body;
mod policy;
mod retry;
mod status;
#[cfg(test)]
mod tests;
mod transport;

use http::{HeaderMap, Method};

pub use self::body::{BodyMatch, Parts};
pub use self::policy::{ClassifyPolicy, HintZero, HoldOn};
pub use self::retry::RetryOn;
pub use self::transport::{Phase, Transport, TransportKind, of_transport, of_unknown};

use crate::finding::{Finding, Reading};
use crate::signal::Signal;
use crate::verdict::{GateClass, Health, Scope, Verdict};

/// What classification needs to know of the request.
#[derive(Clone, Copy, Debug)]
pub struct RequestView<'a> {
    /// Its method.
    pub method: &'a Method,
    /// The path of its URL, without the query.
    pub path: &'a str,
    /// Nothing but JSON is of use to the caller (its profile or its `Accept` says so), so a page
    /// in place of JSON is a failure.
    pub accepts_json: bool,
}

/// One answer, as far as it has come in.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    /// What its head said.
    pub signal: &'a Signal,
    /// Its headers, for rules that look at names of their own.
    pub headers: &'a HeaderMap,
    /// The beginning of its body; `None` while nothing of it has been read.
    pub sample: Option<&'a [u8]>,
    /// The sample is the whole body: it ended, or there is none.
    pub complete: bool,
    /// What followed its body, once that has come.
    pub trailers: Option<&'a HeaderMap>,
}

/// Decides what one answer means.
///
/// Call it again when more of the body is known: the worst finding wins, asks add up.
pub fn classify(
    request: &RequestView<'_>,
    answer: &Answer<'_>,
    body: Option<&dyn BodyMatch>,
    policy: &ClassifyPolicy,
) -> Finding {
    let mut parts = body
        .and_then(|rules| rules.find(request, answer))
        .unwrap_or_default();
    let (verdict, scope) = match parts.verdict {
        Some(verdict) => (verdict, status::scope_of(verdict)),
        None => status::of(request, answer, policy),
    };
    let (scope, class) = match parts.gate {
        Some((scope, class)) => (scope, class),
        None => (scope, GateClass::PLAIN),
    };
    let mut finding = Finding::of(verdict);
    finding.scope = scope;
    finding.class = class;
    finding.again = parts.again;
    finding.counted = policy.counted.contains(&answer.signal.status);
    finding.health = parts.health.unwrap_or_else(|| health(verdict, scope));
    finding.readings = readings(verdict, answer.signal, &mut parts);
    let told = asks::Told {
        signal: answer.signal,
        readings: &finding.readings,
        parts: &parts,
        policy,
    };
    finding.asks = told.asks(verdict, (scope, class));
    // Who says when to come back is well, only busy: a hold, not a failure.
    if verdict == Verdict::Unavailable && parts.health.is_none() && !finding.asks.is_empty() {
        finding.health = Health::Neutral;
    }
    finding.wait = parts.wait.filter(|_| finding.asks.is_empty());
    let quota = policy.quota_from..=policy.quota_to;
    let wait = finding
        .ask()
        .map(|ask| ask.until.since(answer.signal.at.now));
    if verdict == Verdict::RateLimited && wait.is_some_and(|wait| quota.contains(&wait)) {
        finding.verdict = Verdict::QuotaExhausted;
    }
    let covers_more = finding.asks.iter().any(|ask| ask.scope != Scope::Request);
    let bare = || verdict == Verdict::Unavailable && policy.hold_on.covers(answer.signal.status);
    finding.holds = scope != Scope::Request && (verdict.is_refusal() || bare()) || covers_more;
    finding
}

/// What a failure of the exchange means where a policy has a say in whether it holds.
pub fn of_failure(transport: &Transport, policy: &ClassifyPolicy) -> Finding {
    let mut finding = of_transport(transport);
    finding.holds = policy.hold_on.transport && finding.scope == Scope::Provider;
    finding
}

/// What the answer tells of quotas that is worth keeping.
fn readings(verdict: Verdict, signal: &Signal, parts: &mut Parts) -> Vec<Reading> {
    if !asks::quotas_count(verdict, signal) {
        return Vec::new();
    }
    let own = std::mem::take(&mut parts.readings);
    if parts.ignore_readings || signal.readings.is_empty() {
        return own;
    }
    let mut all = signal.readings.clone();
    all.extend_from_slice(&own);
    all
}

/// A provider that turns away one request for a reason of its own (too early, too large just
/// now) is well.
fn health(verdict: Verdict, scope: Scope) -> Health {
    if verdict == Verdict::Unavailable && scope == Scope::Request {
        Health::Neutral
    } else {
        verdict.health()
    }
}
