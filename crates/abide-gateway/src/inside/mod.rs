//! What is asked of the gateway itself, below `/-/`: whether it lives, whether it is ready, and its
//! figures. No provider can be named `-`, so nothing of it is reached by a proxied path.

mod figures;

use std::sync::Arc;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use http::{Method, Response, StatusCode};

use crate::answer::Problem;
use crate::gateway::Gateway;

/// In front of every path of its own.
pub(crate) const PREFIX: &str = "/-/";

/// Whether a path is answered to everybody: whoever looks after the process need not know its token.
pub(crate) fn is_open(path: &str) -> bool {
    matches!(path, "/-/live" | "/-/ready")
}

const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

/// Answers.
pub(crate) fn answer(gateway: &Arc<Gateway>, method: &Method, path: &str) -> Response<Bytes> {
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
            let missing = gateway.life().missing();
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
        _ => Problem::new(
            StatusCode::NOT_FOUND,
            "There is nothing here",
            "http_request_error",
            "there are /-/live, /-/ready and /-/metrics",
        )
        .answer(&gateway.settings().name),
    }
}

fn text(status: StatusCode, text: String) -> Response<Bytes> {
    let mut response = Response::new(Bytes::from(text));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, TEXT);
    response.headers_mut().insert(CACHE_CONTROL, NO_STORE);
    response
}
