//! One request to one provider: what of its head goes on, its gates and the provider behind them, and
//! what of the answer comes back.

use std::sync::Arc;
use std::time::Duration;

use abide::TurnedAway;
use abide::layer::{Error, Options};
use http::header::{
    FORWARDED, HOST, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER, UPGRADE, VIA,
};
use http::response::Parts;
use http::{Request, Response};
use hyper::body::Incoming;
use tower_service::Service as _;

use super::upgrade::Upgrade;
use super::wish::{PREFERENCE_APPLIED, Wish};
use super::{denied, head, own};
use crate::answer::{Problem, of_failure, of_turned};
use crate::body::{Answer, Outgoing};
use crate::door::Peer;
use crate::gateway::Gateway;
use crate::record::{Outcome, Record};
use crate::route::{Route, rewrite};
use crate::upstream::Failure;
use crate::via::came_before;
use crate::ways::Ways;

const ATTEMPTS: HeaderName = HeaderName::from_static("abide-attempts");
const WAITED: HeaderName = HeaderName::from_static("abide-waited");

/// Whom a request is for.
pub(super) struct Asked {
    pub(super) route: Arc<Route>,
    pub(super) to: http::Uri,
    pub(super) record: Record,
    /// Fields of the answer that lead to the provider are to lead through the gateway.
    pub(super) rewrites: bool,
    /// The provider was named by a host of its own, not in front of the path.
    pub(super) by_alias: bool,
}

/// What came of it.
pub(super) type Came = Result<Response<abide::layer::Body<Incoming>>, Error<Failure>>;

/// Sends it through its gates to its provider, and hands the answer back.
pub(super) async fn send(
    gateway: &Arc<Gateway>,
    ways: &Ways,
    peer: &Peer,
    mut request: Request<Incoming>,
    asked: Asked,
) -> Response<Answer> {
    let Asked {
        route,
        to,
        mut record,
        rewrites,
        by_alias,
    } = asked;
    record.is_for(gateway.meters().of(&route.name));
    let upgrade = Upgrade::of(&mut request);
    let (mut parts, body) = request.into_parts();
    let asked = named(&parts.uri, &parts.headers).filter(|_| rewrites);
    if came_before(&parts.headers, gateway.pseudonym()) {
        return own(gateway, denied::looped(), Outcome::Denied, record);
    }
    let wish = Wish::of(&parts.headers, gateway.keys());
    parts.headers.remove(HOST);
    hand_on(gateway, peer, &mut parts.headers);
    if let Some(upgrade) = &upgrade {
        upgrade.ask(&mut parts.headers);
    }
    parts.uri = to;
    let limits = &gateway.settings().limits;
    let body = Outgoing::of(body, limits.replay, idle_of(gateway, &route));
    let came = exchange(ways, &route, Request::from_parts(parts, body), &wish).await;
    match came {
        Ok(response) => {
            let back = Back {
                peer,
                host: asked,
                by_alias,
                wish,
                upgrade,
            };
            passed(gateway, &route, response, back, record)
        }
        Err(e) => {
            let (problem, outcome) = failed(gateway, &route, &e, &mut record);
            own(gateway, problem, outcome, record)
        }
    }
}

/// How a caller names the gateway: over HTTP/2 in the address, else in `Host`.
pub(super) fn named(uri: &http::Uri, headers: &HeaderMap) -> Option<HeaderValue> {
    match uri.authority() {
        Some(authority) => authority.as_str().parse().ok(),
        None => headers.get(HOST).cloned(),
    }
}

/// What of a request's head goes on to a provider.
pub(super) fn hand_on(gateway: &Gateway, peer: &Peer, headers: &mut HeaderMap) {
    head::of_one_hop(headers);
    head::of_ours(headers);
    headers.append(VIA, gateway.via().clone());
    if gateway.settings().forwarded
        && let Some(told) = head::forwarded(peer.address)
    {
        headers.append(FORWARDED, told);
    }
}

/// Sends a request whose head is made, as its caller wishes.
pub(super) async fn exchange(
    ways: &Ways,
    route: &Route,
    mut request: Request<Outgoing>,
    wish: &Wish,
) -> Came {
    if let Some((name, value)) = &route.credential {
        request.headers_mut().insert(name, value.clone());
    }
    let mut options = Options::default();
    options.urgency = wish.urgency();
    options.fair = wish.fair;
    options.patience = wish.wait;
    options.streams = request.body().streams();
    request.extensions_mut().insert(options);
    *request.version_mut() = http::Version::HTTP_11;
    let mut way = ways.to(route);
    // The way is always ready: what it waits for it waits for in its future.
    way.call(request).await
}

/// Where an answer goes.
pub(super) struct Back<'a> {
    pub(super) peer: &'a Peer,
    /// How the caller names the gateway, where fields are to lead through it.
    pub(super) host: Option<HeaderValue>,
    pub(super) by_alias: bool,
    pub(super) wish: Wish,
    pub(super) upgrade: Option<Upgrade>,
}

/// A provider's answer.
pub(super) fn passed(
    gateway: &Arc<Gateway>,
    route: &Route,
    response: Response<abide::layer::Body<Incoming>>,
    back: Back<'_>,
    mut record: Record,
) -> Response<Answer> {
    let (mut parts, body) = response.into_parts();
    let spent = (body.attempts(), body.waited());
    record.took(spent.0, spent.1);
    let outcome = match body.finding().verdict.is_refusal() {
        true => Outcome::Refused,
        false => Outcome::Passed,
    };
    record.answers(parts.status, outcome);
    let to = parts.headers.get(UPGRADE).cloned();
    dress(gateway, route, &mut parts, spent, &back, outcome);
    if let Some(upgrade) = back.upgrade {
        match upgrade.answer(gateway, back.peer, &mut parts, to, record) {
            Some(kept) => record = kept,
            None => return Response::from_parts(parts, Answer::left()),
        }
    }
    let idle = idle_of(gateway, route);
    Response::from_parts(parts, Answer::passed(body, idle, record))
}

/// What of the head of a provider's answer goes on, and what we add to it.
pub(super) fn dress(
    gateway: &Gateway,
    route: &Route,
    parts: &mut Parts,
    (attempts, waited): (u32, Duration),
    back: &Back<'_>,
    outcome: Outcome,
) {
    let headers = &mut parts.headers;
    head::of_one_hop(headers);
    if let Some(host) = back.host.as_ref().and_then(|h| h.to_str().ok()) {
        let scheme = back.peer.scheme;
        let to = || match back.by_alias {
            true => format!("{scheme}://{host}"),
            false => format!("{scheme}://{host}/{}", route.name),
        };
        rewrite(headers, route, to);
    }
    if let Some(turned) = parts.extensions.remove::<TurnedAway>()
        && outcome == Outcome::Refused
        && !headers.contains_key(RETRY_AFTER)
        && let Some(seconds) = of_turned(&turned, gateway.settings().advertise_cap).retry_after
    {
        headers.insert(RETRY_AFTER, seconds.into());
    }
    headers.append(VIA, gateway.via().clone());
    headers.insert(ATTEMPTS, attempts.into());
    headers.insert(WAITED, seconds(waited));
    if let Some(applied) = back.wish.applied() {
        headers.append(PREFERENCE_APPLIED, applied);
    }
}

/// There is no answer to pass on: what is told instead.
pub(super) fn failed(
    gateway: &Gateway,
    route: &Route,
    error: &Error<Failure>,
    record: &mut Record,
) -> (Problem, Outcome) {
    match error {
        Error::Turned(turned) => {
            record.took(turned.refusal.attempts, turned.refusal.waited);
            let problem = of_turned(turned, gateway.settings().advertise_cap);
            (problem, Outcome::TurnedAway)
        }
        Error::Inner(failure) => (of_failure(&route.name, failure), Outcome::Failed),
        _ => (denied::bad_path(), Outcome::Denied),
    }
}

/// How long a body of a provider may stand still.
pub(super) fn idle_of(gateway: &Gateway, route: &Route) -> Duration {
    route
        .body_idle
        .unwrap_or(gateway.settings().limits.body_idle)
}

/// Seconds, to the millisecond.
fn seconds(waited: Duration) -> HeaderValue {
    if waited.is_zero() {
        return HeaderValue::from_static("0");
    }
    let text = format!("{:.3}", waited.as_secs_f64());
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static("0"))
}
