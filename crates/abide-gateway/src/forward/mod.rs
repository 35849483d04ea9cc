//! The path of one request through the gateway: whose it is, what of its head goes on, its gates and
//! the provider behind them, and what of the answer comes back.

mod head;
mod wish;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use abide::TurnedAway;
use abide::layer::{Error, Options};
use bytes::Bytes;
use http::header::{FORWARDED, HOST, HeaderName, HeaderValue, RETRY_AFTER, VIA};
use http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use tower_service::Service as _;

use self::wish::{PREFERENCE_APPLIED, Wish};
use crate::answer::{Problem, of_failure, of_turned};
use crate::body::{Answer, Outgoing, Own};
use crate::gateway::{Gateway, Ways};
use crate::inside;
use crate::record::{Outcome, Record};
use crate::route::{NoRoute, Route, rewrite};

const ATTEMPTS: HeaderName = HeaderName::from_static("abide-attempts");
const WAITED: HeaderName = HeaderName::from_static("abide-waited");

/// What a request may take beyond its patience, where nothing else was said: a minute is longer
/// than nearly every answer, and nobody hangs for ever.
const BEYOND_PATIENCE: Duration = Duration::from_secs(60);

/// Whom a connection is from.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    /// `None` over a socket of this machine's file system.
    pub(crate) address: Option<IpAddr>,
    /// In front of the gateway's own addresses: `http` or `https`.
    pub(crate) scheme: &'static str,
}

/// Hands a request on, and its answer back.
pub(crate) async fn forward(
    gateway: &Arc<Gateway>,
    ways: &Ways,
    peer: &Peer,
    request: Request<Incoming>,
) -> Response<Answer> {
    let path = request.uri().path();
    let mut record = Record::begin(gateway, peer.address, request.method(), path);
    if path.starts_with(inside::PREFIX) {
        let answer = inside::answer(gateway, request.method(), path);
        record.answers(answer.status(), Outcome::Own);
        return answer.map(|text| Answer::own(Own::new(text), record));
    }
    let whole = request.uri().path_and_query().map_or(path, |p| p.as_str());
    match gateway.routes().find(whole) {
        Ok((route, rest)) => match route.base.uri(rest) {
            Some(to) => {
                let asked = Asked { route, to, record };
                through(gateway, ways, peer, request, asked).await
            }
            None => own(gateway, bad_path(), Outcome::Denied, record),
        },
        Err(why) => own(gateway, no_route(&why), Outcome::Denied, record),
    }
}

/// Whom a request is for.
struct Asked {
    route: Arc<Route>,
    to: http::Uri,
    record: Record,
}

async fn through(
    gateway: &Arc<Gateway>,
    ways: &Ways,
    peer: &Peer,
    request: Request<Incoming>,
    asked: Asked,
) -> Response<Answer> {
    let Asked {
        route,
        to,
        mut record,
    } = asked;
    record.is_for(gateway.meters().of(&route.name));
    let (mut parts, body) = request.into_parts();
    if head::came_before(&parts.headers, gateway.pseudonym()) {
        return own(gateway, looped(), Outcome::Denied, record);
    }
    let wish = Wish::of(&parts.headers, gateway.keys());
    let back = parts.headers.remove(HOST);
    let headers = &mut parts.headers;
    head::of_one_hop(headers);
    head::of_ours(headers);
    headers.append(VIA, gateway.via().clone());
    if gateway.settings().forwarded
        && let Some(told) = head::forwarded(peer.address)
    {
        headers.append(FORWARDED, told);
    }
    let mut options = Options::default();
    options.urgency = wish.urgency();
    options.fair = wish.fair;
    if let Some(wait) = wish.wait {
        options.patience = Some(wait);
        options.deadline = Some(wait.saturating_add(BEYOND_PATIENCE));
    }
    parts.extensions.insert(options);
    parts.uri = to;
    parts.version = http::Version::HTTP_11;
    let body = Outgoing::of(body, gateway.settings().limits.replay);
    let mut way = match route.own {
        true => ways.own.clone(),
        false => ways.public.clone(),
    };
    // The way is always ready: what it waits for it waits for in its future.
    match way.call(Request::from_parts(parts, body)).await {
        Ok(response) => {
            let back = Back {
                peer,
                host: back,
                wish,
            };
            passed(gateway, &route, response, &back, record)
        }
        Err(e) => failed(gateway, &route, &e, record),
    }
}

/// Where an answer goes.
struct Back<'a> {
    peer: &'a Peer,
    host: Option<HeaderValue>,
    wish: Wish,
}

/// A provider's answer.
fn passed(
    gateway: &Arc<Gateway>,
    route: &Route,
    response: Response<abide::layer::Body<Incoming>>,
    back: &Back<'_>,
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
    head::of_one_hop(headers);
    if gateway.settings().rewrite
        && let Some(host) = back.host.as_ref().and_then(|h| h.to_str().ok())
    {
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
    headers.insert(ATTEMPTS, attempts.into());
    headers.insert(WAITED, seconds(waited));
    if let Some(applied) = back.wish.applied() {
        headers.append(PREFERENCE_APPLIED, applied);
    }
    let idle = gateway.settings().limits.body_idle;
    Response::from_parts(parts, Answer::passed(body, idle, record))
}

/// There is no answer to pass on.
fn failed(
    gateway: &Arc<Gateway>,
    route: &Route,
    error: &Error<crate::upstream::Failure>,
    mut record: Record,
) -> Response<Answer> {
    let (problem, outcome) = match error {
        Error::Turned(turned) => {
            record.took(turned.refusal.attempts, turned.refusal.waited);
            let problem = of_turned(turned, gateway.settings().advertise_cap);
            (problem, Outcome::TurnedAway)
        }
        Error::Inner(failure) => (of_failure(&route.name, failure), Outcome::Failed),
        _ => (bad_path(), Outcome::Denied),
    };
    own(gateway, problem, outcome, record)
}

/// An answer of our own.
fn own(
    gateway: &Arc<Gateway>,
    problem: Problem,
    outcome: Outcome,
    mut record: Record,
) -> Response<Answer> {
    record.answers(problem.status, outcome);
    let answer = problem.answer(&gateway.settings().name);
    answer.map(|text: Bytes| Answer::own(Own::new(text), record))
}

/// Seconds, to the millisecond.
fn seconds(waited: Duration) -> HeaderValue {
    if waited.is_zero() {
        return HeaderValue::from_static("0");
    }
    let text = format!("{:.3}", waited.as_secs_f64());
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static("0"))
}

fn bad_path() -> Problem {
    Problem::new(
        StatusCode::BAD_REQUEST,
        "The path cannot be handed on",
        "http_request_error",
        "the path is none that a provider could be asked for",
    )
}

fn looped() -> Problem {
    Problem::new(
        StatusCode::BAD_GATEWAY,
        "The request came round in a circle",
        "proxy_loop_detected",
        "this gateway handed the request on before; the address of its provider leads back here",
    )
}

fn no_route(why: &NoRoute) -> Problem {
    let detail = match why {
        NoRoute::Nameless => "write the provider's name in front of the path, as \
                              /github/repos/rust-lang/rust; `abide providers` lists the names"
            .to_owned(),
        NoRoute::Unknown => "no provider has that name; `abide providers` lists those known, and \
                             a section [providers.NAME] with an `upstream` in abide.toml adds one"
            .to_owned(),
        NoRoute::Hostless { example } => {
            format!("the provider has many hosts; name the one you mean, as /{example}/…")
        }
        NoRoute::Foreign { host } => {
            format!("{host:?} is no host of that provider")
        }
    };
    Problem::new(
        StatusCode::NOT_FOUND,
        "No provider is asked by this path",
        "destination_not_found",
        detail,
    )
}
