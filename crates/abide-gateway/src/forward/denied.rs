//! Requests that are for nobody, or not allowed: what is answered, and what to do.

use http::StatusCode;

use crate::answer::Problem;
use crate::body::CallerError;
use crate::route::NoRoute;

pub(super) fn bad_path() -> Problem {
    Problem::new(
        StatusCode::BAD_REQUEST,
        "The path cannot be handed on",
        "http_request_error",
        "the path is none that a provider could be asked for",
    )
}

/// 508 and not 502, which every gateway of the circle would try again, and each of its repeats anew.
pub(super) fn looped() -> Problem {
    Problem::new(
        StatusCode::LOOP_DETECTED,
        "The request came round in a circle",
        "proxy_loop_detected",
        "this gateway handed the request on before; the address of its provider leads back here",
    )
}

/// Nobody is there to read it: it is for the log.
pub(super) fn broke(e: &CallerError) -> Problem {
    Problem::new(
        StatusCode::BAD_REQUEST,
        "The request broke off",
        "http_request_error",
        e.to_string(),
    )
}

pub(super) fn unasked(provider: &str) -> Problem {
    Problem::new(
        StatusCode::BAD_GATEWAY,
        "The provider left HTTP",
        "http_protocol_error",
        format!("{provider} changed the protocol, and nobody had asked for it"),
    )
}

pub(super) fn no_route(why: &NoRoute) -> Problem {
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

pub(super) fn unlisted(host: &str) -> Problem {
    Problem::new(
        StatusCode::FORBIDDEN,
        "The host is not listed",
        "http_request_denied",
        format!(
            "{host} is no provider that is known here; a section [providers.NAME] with its `hosts` \
             in abide.toml adds it, `gateway.allow_unlisted` allows all"
        ),
    )
}

pub(super) fn no_tunnel() -> Problem {
    Problem::new(
        StatusCode::BAD_REQUEST,
        "A tunnel needs a host and a port",
        "http_request_error",
        "write CONNECT api.example.org:443, over HTTP/1.1",
    )
}

pub(super) fn only_reads(chain: &str) -> Problem {
    Problem::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "A chain is only read from",
        "http_request_error",
        format!("{chain}: GET and HEAD are asked of several providers; a write has one"),
    )
}

pub(super) fn no_such_path(chain: &str) -> Problem {
    Problem::new(
        StatusCode::NOT_FOUND,
        "The chain has no such path",
        "destination_not_found",
        format!("{chain}: its `path` in abide.toml says which there are"),
    )
}
