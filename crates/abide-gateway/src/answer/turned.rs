//! What the engine's refusals and failures are in HTTP.
//!
//! 429 where a provider refused or its limits are used up, 503 where it is down, 504 where time ran
//! out, 502 where the exchange failed. `Retry-After` is rounded up and at least a second, and left
//! out where nobody knows: an invented one is obeyed like a true one.

use std::time::Duration;

use abide::TurnedAway;
use abide::core::Verdict;
use abide::core::classify::{Transport, TransportKind};
use abide::core::refusal::{DecidedBy, RefusalKind};
use http::StatusCode;
use serde_json::Value;

use super::problem::{Problem, types};
use crate::upstream::{Failure, Forbidden, read};

/// A call that was turned away.
pub(crate) fn of_turned(turned: &TurnedAway, cap: Option<Duration>) -> Problem {
    let (status, kind, title, error) = kind(turned);
    let refusal = &turned.refusal;
    let mut problem = Problem::new(
        status,
        title,
        error,
        refusal.describe(&turned.provider, turned.at),
    );
    problem.kind = kind;
    problem.retry_after = refusal.retry_in(turned.at.now).map(|left| {
        let shown = cap.map_or(left, |cap| left.min(cap));
        let whole = shown.as_secs() + u64::from(shown.subsec_nanos() > 0);
        whole.max(1)
    });
    if let Ok(Value::Object(more)) = serde_json::to_value(turned) {
        // The status is that of our answer, the kind of refusal has a name of its own.
        problem.more = more;
    }
    problem
}

type Kind = (StatusCode, &'static str, &'static str, &'static str);

fn kind(turned: &TurnedAway) -> Kind {
    let limited = StatusCode::TOO_MANY_REQUESTS;
    let down = StatusCode::SERVICE_UNAVAILABLE;
    let refusal = &turned.refusal;
    match (refusal.kind, refusal.cause) {
        (RefusalKind::Offline, _) | (_, Some(Verdict::Offline)) => (
            down,
            types::REDUCED,
            "Our own network is down",
            "destination_ip_unroutable",
        ),
        (RefusalKind::BreakerOpen, _) => (
            down,
            types::REDUCED,
            "The provider is down",
            "destination_unavailable",
        ),
        (RefusalKind::QueueFull, _) => (
            down,
            types::REDUCED,
            "Too many requests wait",
            "connection_limit_reached",
        ),
        (RefusalKind::Closed, _) => (down, types::REDUCED, "Shut down", "proxy_internal_response"),
        (RefusalKind::CostTooLarge, _) => (
            StatusCode::UNPROCESSABLE_ENTITY,
            types::NONE,
            "The request costs more than the limit ever allows",
            "http_request_denied",
        ),
        (RefusalKind::DeadlinePassed, _) => (
            StatusCode::GATEWAY_TIMEOUT,
            types::NONE,
            "The provider did not answer in time",
            "http_response_timeout",
        ),
        (_, Some(Verdict::Banned)) => (
            limited,
            types::ABNORMAL,
            "The provider has shut us out",
            "http_request_error",
        ),
        (_, Some(Verdict::Unavailable)) => (
            down,
            types::REDUCED,
            "The provider is down",
            "destination_unavailable",
        ),
        (_, Some(Verdict::RateLimited | Verdict::QuotaExhausted)) => (
            limited,
            types::QUOTA,
            "The provider's limit is used up",
            "http_request_error",
        ),
        (RefusalKind::QueueTooLong | RefusalKind::DeadlineTooSoon, _) => (
            limited,
            types::QUOTA,
            "The queue is longer than the request may wait",
            "http_request_error",
        ),
        _ if refusal.decided_by == DecidedBy::Provider => (
            limited,
            types::QUOTA,
            "The provider is held",
            "http_request_error",
        ),
        _ => (
            down,
            types::REDUCED,
            "The provider cannot be asked",
            "destination_unavailable",
        ),
    }
}

/// An exchange that failed.
pub(crate) fn of_failure(provider: &str, failure: &Failure) -> Problem {
    if let Some(forbidden) = Forbidden::in_error(failure) {
        return of_forbidden(provider, forbidden);
    }
    match failure {
        Failure::Late(_) => {
            let mut problem = of_transport(provider, read(failure).as_ref());
            problem.error = "http_response_timeout";
            problem
        }
        _ => of_transport(provider, read(failure).as_ref()),
    }
}

/// A name that led where it must not.
pub(crate) fn of_forbidden(provider: &str, forbidden: &Forbidden) -> Problem {
    Problem::new(
        StatusCode::BAD_GATEWAY,
        "The provider's name leads into an inner network",
        "destination_ip_prohibited",
        format!("{provider}: {forbidden}; name its address as an upstream if it is meant"),
    )
}

/// An exchange that failed so; `None` where it was the caller's own body that broke off.
pub(crate) fn of_transport(provider: &str, told: Option<&Transport>) -> Problem {
    let bad = StatusCode::BAD_GATEWAY;
    let (status, error) = match told.map(|t| t.kind) {
        Some(TransportKind::Dns) => (bad, "dns_error"),
        Some(TransportKind::Refused) => (bad, "connection_refused"),
        Some(TransportKind::Unreachable) => (bad, "destination_ip_unroutable"),
        Some(TransportKind::NoNetwork) => {
            (StatusCode::SERVICE_UNAVAILABLE, "destination_ip_unroutable")
        }
        Some(TransportKind::Timeout) => (StatusCode::GATEWAY_TIMEOUT, "connection_timeout"),
        Some(TransportKind::Tls) => (bad, "tls_protocol_error"),
        Some(_) => (bad, "connection_terminated"),
        None => (StatusCode::BAD_REQUEST, "http_request_error"),
    };
    let what = told.map_or("the request broke off", abide::transport_words);
    Problem::new(
        status,
        "No answer came from the provider",
        error,
        format!("{provider}: {what}"),
    )
}
