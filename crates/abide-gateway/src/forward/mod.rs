//! The path of one request through the gateway: who asks, whose it is, and what is answered.
//!
//! A request comes in one of three forms. `/github/repos/…` names its provider (a base URL was
//! changed); `http://host/path` is asked of a proxy; `CONNECT host:443` asks a proxy for a tunnel.
//! `/-/…` is for the gateway itself.

mod chain;
mod denied;
mod head;
mod proxied;
mod through;
mod tunnel;
mod upgrade;
mod wish;

use std::sync::Arc;

use bytes::Bytes;
use http::header::HOST;
use http::{Method, Request, Response};
use hyper::body::Incoming;

use self::proxied::{Proxied, port_of};
use self::through::Asked;
use crate::access::denied;
use crate::answer::Problem;
use crate::body::{Answer, Own};
use crate::door::{Faces, Peer};
use crate::gateway::Gateway;
use crate::inside;
use crate::record::{Outcome, Record};
use crate::route::{Base, Chain, Front, Route};
use crate::ways::Ways;

/// Answers one request.
pub(crate) async fn forward(
    gateway: &Arc<Gateway>,
    ways: &Ways,
    peer: &Peer,
    request: Request<Incoming>,
) -> Response<Answer> {
    let uri = request.uri();
    let path = uri.path();
    let record = Record::begin(gateway.books(), peer.address, request.method(), path);
    let elsewhere = uri
        .authority()
        .is_some_and(|authority| !peer.names_us(authority));
    let proxied = (elsewhere && request.version() < http::Version::HTTP_2)
        || request.method() == Method::CONNECT;
    // A path of another host that looks like ours is the other host's.
    if !proxied && inside::is_asked(gateway, &request) {
        let (answer, outcome) = Box::pin(inside::answer(gateway, peer, request)).await;
        return plain(answer, outcome, record);
    }
    if peer.place.faces == Faces::Admin {
        return plain(inside::elsewhere(gateway), Outcome::Own, record);
    }
    if !gateway
        .settings()
        .access
        .allows(peer.address, request.headers())
    {
        let answer = denied(proxied, &gateway.settings().name);
        return plain(answer, Outcome::Denied, record);
    }
    if !proxied && let Some(problem) = inside::is_some_pages(gateway, peer, &request) {
        return own(gateway, *problem, Outcome::Denied, record);
    }
    if request.method() == Method::CONNECT {
        return Box::pin(tunnel::open(gateway, peer, request, record)).await;
    }
    if !proxied && let Some(found) = by_chain(gateway, &request) {
        return match found {
            // Apart: every request that waits would take the room of what only chains need.
            Ok(asked) => Box::pin(chain::ask(gateway, ways, peer, request, asked, record)).await,
            Err(problem) => own(gateway, *problem, Outcome::Denied, record),
        };
    }
    let asked = match proxied {
        true => by_proxy(gateway, &request).map(|(route, to)| (route, to, None)),
        false => by_name(gateway, &request),
    };
    match asked {
        Ok((route, to, front)) => {
            let asked = Asked {
                route,
                to,
                record,
                front: front.filter(|_| gateway.settings().rewrite),
            };
            through::send(gateway, ways, peer, request, asked).await
        }
        Err(problem) => own(gateway, *problem, Outcome::Denied, record),
    }
}

/// Whose a request is, and where it goes.
type Whose = Result<(Arc<Route>, http::Uri), Box<Problem>>;

/// And how its caller named the provider.
type Named = Result<(Arc<Route>, http::Uri, Option<Front>), Box<Problem>>;

/// A chain, and what each of its members is asked.
type ChainAsked = Result<(Arc<Chain>, Vec<String>), Box<Problem>>;

/// The chain in front of its path, and what its members are asked.
fn by_chain(gateway: &Gateway, request: &Request<Incoming>) -> Option<ChainAsked> {
    let uri = request.uri();
    let whole = uri
        .path_and_query()
        .map_or_else(|| uri.path(), |p| p.as_str());
    let (chain, rest) = gateway.routes().chain(whole)?;
    Some(match chain.asks(rest) {
        Some(asks) => Ok((chain, asks)),
        None => Err(Box::new(denied::no_such_path(&chain.name))),
    })
}

/// By the name in front of its path.
fn by_name(gateway: &Gateway, request: &Request<Incoming>) -> Named {
    let uri = request.uri();
    let whole = uri
        .path_and_query()
        .map_or_else(|| uri.path(), |p| p.as_str());
    if let Some(route) = named_host(request).and_then(|host| gateway.routes().alias(host)) {
        let to = route.base.uri(whole);
        return match to {
            Some(to) => Ok((route, to, Some(Front::Host))),
            None => Err(Box::new(denied::bad_path())),
        };
    }
    let found = gateway.routes().find(whole);
    let (route, rest) = found.map_err(|why| Box::new(denied::no_route(&why)))?;
    match route.base.uri(rest) {
        Some(to) => Ok((route, to, Some(Front::Name))),
        None => Err(Box::new(denied::bad_path())),
    }
}

/// The host by which the caller names the gateway.
fn named_host(request: &Request<Incoming>) -> Option<&str> {
    match request.uri().authority() {
        Some(authority) => Some(authority.as_str()),
        None => request.headers().get(HOST)?.to_str().ok(),
    }
}

/// By its address, as a proxy is asked.
fn by_proxy(gateway: &Gateway, request: &Request<Incoming>) -> Whose {
    let uri = request.uri();
    let listed = gateway.governor().listed(uri);
    let listed = listed.ok_or_else(|| Box::new(denied::bad_path()))?;
    if !listed.named && !gateway.settings().allow_unlisted {
        let host = uri.authority().map_or("", |a| a.as_str());
        return Err(Box::new(denied::unlisted(host)));
    }
    let front = http::Uri::builder()
        .scheme(uri.scheme_str().unwrap_or_default())
        .authority(uri.authority().map_or("", |a| a.as_str()))
        .path_and_query("/")
        .build();
    let base = front.ok().and_then(|front| Base::of(&front).ok());
    let base = base.ok_or_else(|| Box::new(denied::bad_path()))?;
    let port = port_of(uri).unwrap_or_default();
    let path_is_secret = listed.path_is_secret;
    let proxied = Proxied::of(gateway, &listed, &base.authority, port);
    let mut route = proxied.route(listed, base);
    route.path_is_secret = path_is_secret;
    Ok((Arc::new(route), uri.clone()))
}

/// An answer of our own.
fn own(
    gateway: &Arc<Gateway>,
    problem: Problem,
    outcome: Outcome,
    record: Record,
) -> Response<Answer> {
    plain(problem.answer(&gateway.settings().name), outcome, record)
}

fn plain(answer: Response<Bytes>, outcome: Outcome, mut record: Record) -> Response<Answer> {
    record.answers(answer.status(), outcome);
    answer.map(|text| Answer::own(Own::new(text), record))
}
