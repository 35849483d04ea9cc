//! What is asked of the gateway itself, below `/-/`: whether it lives, whether it is ready, its
//! figures, and its admin API. No provider can be named `-`, so nothing of it is reached by a proxied
//! path; what a proxy is asked for, or a provider's own host name, is never for the gateway.
//!
//! Where it has a listener of its own, only whether it lives and is ready is answered beside what is
//! proxied: whoever looks after the process may ask there, and nobody else learns anything.

mod api;
mod figures;
mod guard;

use std::sync::Arc;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use hyper::body::Incoming;

pub(crate) use self::api::document;
use crate::answer::Problem;
use crate::door::{Faces, Peer};
use crate::gateway::Gateway;
use crate::record::Outcome;

/// In front of every path of its own.
const PREFIX: &str = "/-/";

const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

/// Whether a request that names no other host is for the gateway itself. Where a provider has a host
/// name here, all below that is the provider's.
pub(crate) fn is_asked(gateway: &Gateway, request: &Request<Incoming>) -> bool {
    let alias = || guard::host(request).and_then(|host| gateway.routes().alias(host));
    request.uri().path().starts_with(PREFIX) && alias().is_none()
}

/// Why a request for a provider is refused that some web page may have sent. Providers' names for
/// callers are names of the gateway.
pub(crate) fn is_some_pages(
    gateway: &Gateway,
    peer: &Peer,
    request: &Request<Incoming>,
) -> Option<Box<Problem>> {
    if gateway.settings().access.is_shown(request.headers()) {
        return None;
    }
    let refused = guard::is_some_pages(gateway, peer, request)?;
    let alias = || guard::host(request).and_then(|host| gateway.routes().alias(host));
    let misnamed = refused.status == StatusCode::MISDIRECTED_REQUEST;
    (!misnamed || alias().is_none()).then_some(refused)
}

/// Answers.
pub(crate) async fn answer(
    gateway: &Arc<Gateway>,
    peer: &Peer,
    request: Request<Incoming>,
) -> (Response<Bytes>, Outcome) {
    let path = request.uri().path();
    if peer.place.faces == Faces::Data && !matches!(path, "/-/live" | "/-/ready") {
        return (
            nothing(gateway, "there are /-/live and /-/ready"),
            Outcome::Own,
        );
    }
    if path.starts_with(api::PREFIX) {
        return match guard::admits(gateway, peer, &request) {
            Ok(()) => (api::answer(gateway, request).await, Outcome::Own),
            Err(problem) => (problem.answer(&gateway.settings().name), Outcome::Denied),
        };
    }
    if path == "/-/metrics" && !guard::may_see_figures(gateway, peer, request.headers()) {
        let problem = guard::unknown("give the admin token as Authorization: Bearer");
        return (problem.answer(&gateway.settings().name), Outcome::Denied);
    }
    (plainly(gateway, request.method(), path), Outcome::Own)
}

/// What only looks.
fn plainly(gateway: &Arc<Gateway>, method: &Method, path: &str) -> Response<Bytes> {
    if !matches!(*method, Method::GET | Method::HEAD) {
        return Problem::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "Only GET and HEAD are answered here",
            "http_request_error",
            format!("{method} {path}"),
        )
        .answer(&gateway.settings().name);
    }
    match path {
        "/-/live" => text(StatusCode::OK, "live\n".to_owned()),
        "/-/ready" => {
            let mut missing = gateway.life().missing();
            if !gateway.governor().is_store_well() {
                missing.push("store");
            }
            match missing.as_slice() {
                [] => text(StatusCode::OK, "ready\n".to_owned()),
                missing => {
                    let line = format!("not ready: {}\n", missing.join(", "));
                    text(StatusCode::SERVICE_UNAVAILABLE, line)
                }
            }
        }
        "/-/metrics" => {
            let mut response = text(StatusCode::OK, figures::write(gateway));
            let kind = HeaderValue::from_static(figures::TYPE);
            response.headers_mut().insert(CONTENT_TYPE, kind);
            response
        }
        _ => nothing(
            gateway,
            "there are /-/live, /-/ready, /-/metrics and /-/api/v1/openapi.json",
        ),
    }
}

/// What a listener that is for the gateway itself only answers to all else.
pub(crate) fn elsewhere(gateway: &Gateway) -> Response<Bytes> {
    nothing(
        gateway,
        "providers are asked at gateway.listen; here is /-/ only",
    )
}

fn nothing(gateway: &Gateway, detail: &str) -> Response<Bytes> {
    Problem::new(
        StatusCode::NOT_FOUND,
        "There is nothing here",
        "http_request_error",
        detail,
    )
    .answer(&gateway.settings().name)
}

fn text(status: StatusCode, text: String) -> Response<Bytes> {
    let mut response = Response::new(Bytes::from(text));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, TEXT);
    response.headers_mut().insert(CACHE_CONTROL, NO_STORE);
    response
}
