//! One request to one provider: what of its head goes on, its gates and the provider behind them, and
//! what of the answer comes back.

use std::sync::Arc;
use std::time::Duration;

use abide::TurnedAway;
use abide::layer::{Error, Options};
use http::header::{
    FORWARDED, HOST, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER, UPGRADE, VIA,
};
use http::{Request, Response};
use hyper::body::Incoming;

use super::upgrade::Upgrade;
use super::wish::{PREFERENCE_APPLIED, Wish};
use super::{Peer, denied, head, own};
use crate::answer::{Problem, of_failure, of_turned};
use crate::body::{Answer, Outgoing};
use crate::gateway::{Gateway, Ways};
use crate::record::{Outcome, Record};
use crate::route::{Route, rewrite};
use crate::upstream::{Failure, Reply};

const ATTEMPTS: HeaderName = HeaderName::from_static("abide-attempts");
const WAITED: HeaderName = HeaderName::from_static("abide-waited");

/// What a request may take beyond its patience, where nothing else was said: a minute is longer
/// than nearly every answer, and nobody hangs for ever.
const BEYOND_PATIENCE: Duration = Duration::from_secs(60);

/// Whom a request is for.
pub(super) struct Asked {
    pub(super) route: Arc<Route>,
    pub(super) to: http::Uri,
    pub(super) record: Record,
    /// Fields of the answer that lead to the provider are to lead through the gateway.
    pub(super) rewrites: bool,
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
        rewrites,
    } = asked;
    record.is_for(route.meter(gateway.meters()));
    let upgrade = Upgrade::of(&mut request);
    let (mut parts, body) = request.into_parts();
    if head::came_before(&parts.headers, gateway.pseudonym()) {
        return own(gateway, denied::looped(), Outcome::Denied, record);
    }
    let wish = Wish::of(&parts.headers, gateway.keys());
    let host = parts.headers.remove(HOST).filter(|_| rewrites);
    hand_on(gateway, peer, &mut parts.headers);
    if let Some(upgrade) = &upgrade {
        upgrade.ask(&mut parts.headers);
    }
    parts.uri = to;
    let limits = &gateway.settings().limits;
    let body = Outgoing::of(body, limits.replay, limits.body_idle);
    let came = exchange(ways, &route, Request::from_parts(parts, body), &wish).await;
    match came {
        Ok(response) => {
            let back = Back {
                peer,
                host,
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
    if let Some(wait) = wish.wait {
        options.patience = Some(wait);
        options.deadline = Some(wait.saturating_add(BEYOND_PATIENCE));
    }
    *request.version_mut() = http::Version::HTTP_11;
    let mut way = ways.to(route);
    // The way is always ready: what it waits for it waits for in its future.
    way.call_with(request, options)
}

/// Where an answer goes.
pub(super) struct Back<'a> {
    pub(super) peer: &'a Peer,
    /// How the caller names the gateway, where fields are to lead through it.
    pub(super) host: Option<HeaderValue>,
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
    let (attempts, waited) = (body.attempts(), body.waited());
    record.took(attempts, waited);
    let outcome = match body.finding().verdict.is_refusal() {
        true => Outcome::Refused,
        false => Outcome::Passed,
    };
    record.answers(parts.status, outcome);
    let headers = &mut parts.headers;
    let to = headers.get(UPGRADE).cloned();
    head::of_one_hop(headers);
    if let Some(host) = back.host.as_ref().and_then(|h| h.to_str().ok()) {
        let to = || format!("{}://{host}", back.peer.scheme);
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
    headers.insert(ATTEMPTS, count(attempts));
    headers.insert(WAITED, seconds(waited));
    if let Some(applied) = back.wish.applied() {
        headers.append(PREFERENCE_APPLIED, applied);
    }
    if let Some(upgrade) = back.upgrade {
        upgrade.answer(gateway, &mut parts, to);
    }
    let idle = gateway.settings().limits.body_idle;
    Response::from_parts(parts, Answer::passed(body, idle, record))
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
