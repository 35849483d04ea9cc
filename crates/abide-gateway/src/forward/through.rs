//! One request to one provider: what of its head goes on, its gates and the provider behind them, and
//! what of the answer comes back.

use std::sync::Arc;
use std::time::Duration;

use abide::TurnedAway;
use abide::layer::{Error, Options};
use http::header::{
    EXPECT, FORWARDED, HOST, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER, TE, UPGRADE, VIA,
};
use http::response::Parts;
use http::{Request, Response, StatusCode};
use hyper::body::Incoming;

use super::upgrade::Upgrade;
use super::wish::{PREFERENCE_APPLIED, Wish};
use super::{denied, head, own};
use crate::answer::{Problem, of_failure, of_turned};
use crate::body::{Answer, Outgoing};
use crate::door::Peer;
use crate::gateway::Gateway;
use crate::record::{Outcome, Record};
use crate::route::{Front, Route, rewrite};
use crate::upstream::{Failure, Reply};
use crate::via::came_before;
use crate::ways::Ways;

const ATTEMPTS: HeaderName = HeaderName::from_static("abide-attempts");
const TRAILERS: HeaderValue = HeaderValue::from_static("trailers");
const WAITED: HeaderName = HeaderName::from_static("abide-waited");

/// Whom a request is for.
pub(super) struct Asked {
    pub(super) route: Arc<Route>,
    pub(super) to: http::Uri,
    pub(super) record: Record,
    /// Where fields of the answer that lead to the provider are to lead through the gateway: how its caller
    /// named the provider.
    pub(super) front: Option<Front>,
}

/// What came of it.
pub(super) type Came = Result<Response<abide::layer::Body<Reply>>, Error<Failure>>;

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
        front,
    } = asked;
    record.is_for(route.meter(gateway.meters()));
    if route.path_is_secret {
        record.shows(&gateway.governor().shown_path(&to));
    }
    let upgrade = Upgrade::of(&mut request);
    let (mut parts, body) = request.into_parts();
    let asked = named(&parts.uri, &parts.headers);
    if came_before(&parts.headers, gateway.pseudonym()) {
        return own(gateway, denied::looped(), Outcome::Denied, record);
    }
    let wish = Wish::of(&parts.headers, gateway.keys());
    parts.headers.remove(HOST);
    let front = asked.zip(front);
    hand_on(gateway, peer, &mut parts.headers);
    if let Some(upgrade) = &upgrade {
        upgrade.ask(&mut parts.headers);
    }
    parts.uri = to;
    let limits = &gateway.settings().limits;
    let body = Outgoing::of(body, limits.replay, idle_of(gateway, &route));
    let ahead = body.ahead();
    // Whoever wants to be asked for its body first is asked once somebody takes it.
    let may_read = !parts.headers.contains_key(EXPECT);
    let exchange = exchange(ways, &route, Request::from_parts(parts, body), &wish);
    let came = tokio::select! {
        biased;
        came = exchange => came,
        broke = ahead, if may_read => {
            return own(gateway, denied::broke(&broke), Outcome::Left, record);
        }
    };
    match came {
        // A provider that changes the protocol unasked: what it says from then on is for nobody.
        Ok(response)
            if response.status() == StatusCode::SWITCHING_PROTOCOLS && upgrade.is_none() =>
        {
            own(
                gateway,
                denied::unasked(&route.name),
                Outcome::Failed,
                record,
            )
        }
        Ok(response) => {
            let back = Back {
                peer,
                front,
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
    let trailers = head::takes_trailers(headers);
    head::of_one_hop(headers);
    head::of_ours(headers);
    if trailers {
        // We pass them on, so they are welcome. `Connection: TE` beside it would be right in HTTP/1.1, and
        // makes the HTTP library take the field out again in HTTP/2.
        headers.insert(TE, TRAILERS);
    }
    headers.append(VIA, gateway.via().clone());
    if gateway.settings().forwarded
        && let Some(told) = head::forwarded(peer.address)
    {
        headers.append(FORWARDED, told);
    }
}

/// Sends a request whose head is made, as its caller wishes.
pub(super) fn exchange(
    ways: &Ways,
    route: &Route,
    mut request: Request<Outgoing>,
    wish: &Wish,
) -> impl Future<Output = Came> + use<> {
    if let Some((name, value)) = &route.credential {
        request.headers_mut().insert(name, value.clone());
    }
    let mut options = Options::default();
    options.urgency = wish.urgency();
    options.fair = wish.fair;
    options.patience = wish.wait;
    options.streams = request.body().streams();
    *request.version_mut() = http::Version::HTTP_11;
    let mut way = ways.to(route);
    // The way is always ready: what it waits for it waits for in its future.
    way.call_with(request, options)
}

/// Where an answer goes.
pub(super) struct Back<'a> {
    pub(super) peer: &'a Peer,
    /// How the caller names the gateway and the provider, where fields are to lead through it.
    pub(super) front: Option<(HeaderValue, Front)>,
    pub(super) wish: Wish,
    pub(super) upgrade: Option<Upgrade>,
}

/// A provider's answer.
pub(super) fn passed(
    gateway: &Arc<Gateway>,
    route: &Route,
    response: Response<abide::layer::Body<Reply>>,
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
    if let Some((host, front)) = &back.front
        && let Ok(host) = host.to_str()
    {
        rewrite(headers, route, || front.of(back.peer.scheme, host, route));
    }
    if let Some(turned) = parts.extensions.remove::<TurnedAway>()
        && outcome == Outcome::Refused
        && !headers.contains_key(RETRY_AFTER)
        && let Some(seconds) = of_turned(&turned, gateway.settings().advertise_cap).retry_after
    {
        headers.insert(RETRY_AFTER, seconds.into());
    }
    headers.append(VIA, gateway.via().clone());
    headers.insert(ATTEMPTS, count(attempts));
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
        .unwrap_or_else(|| gateway.settings().limits.body_idle)
}

/// Nearly every request is sent once.
fn count(attempts: u32) -> HeaderValue {
    match attempts {
        1 => HeaderValue::from_static("1"),
        attempts => attempts.into(),
    }
}

/// Seconds, to the millisecond.
fn seconds(waited: Duration) -> HeaderValue {
    if waited.is_zero() {
        return HeaderValue::from_static("0");
    }
    let millis = waited
        .saturating_add(Duration::from_micros(500))
        .as_millis();
    let text = format!("{}.{:03}", millis / 1000, millis % 1000);
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static("0"))
}
