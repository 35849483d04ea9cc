//! Who may use the admin API, and from where.
//!
//! A web page that somebody on this machine has open must not reach it: `Host` has to be a name of
//! the gateway (else a page's own name, pointed here, would make it the page's origin), `Origin` has
//! to be absent or the gateway's own, and what a change says has to be JSON, which no form sends
//! (`api::asked::Told` sees to that). Nothing that
//! came through the proxy reaches it either: not in absolute form, not by way of a provider that
//! leads back here.
//!
//! Whoever shows the admin token may do everything. Reading is open where only this machine's
//! programs come in, to all whom the gateway lets use it; not to what another proxy hands on, whoever
//! is behind that. Changing never is.

use std::net::IpAddr;

use http::header::{
    AUTHORIZATION, FORWARDED, HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN, VIA,
};
use http::uri::Authority;
use http::{Method, Request, StatusCode, Version};

use crate::answer::Problem;
use crate::door::{Peer, Place};
use crate::gateway::Gateway;
use crate::via::came_before;

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// A proxy is asked by the whole address; over HTTP/2 every request tells it.
fn is_absolute<B>(request: &Request<B>) -> bool {
    request.uri().authority().is_some() && request.version() < Version::HTTP_2
}

/// The host by which the gateway is asked.
pub(super) fn host<B>(request: &Request<B>) -> Option<&str> {
    match request.uri().authority() {
        Some(authority) => Some(authority.as_str()),
        None => request.headers().get(HOST)?.to_str().ok(),
    }
}

/// Whether a request names the gateway as its host.
fn is_own<B>(gateway: &Gateway, peer: &Peer, request: &Request<B>) -> bool {
    let mut all = request.headers().get_all(HOST).iter();
    // Nearly everybody asks at the address where it came in.
    if let (Some(one), None) = (all.next(), all.next())
        && request.uri().authority().is_none()
        && one.as_bytes() == peer.named.as_bytes()
    {
        return true;
    }
    let names = &gateway.settings().admin.hosts;
    let told = request.headers().get_all(HOST).iter();
    let told = told.map(|host| host.to_str().unwrap_or_default());
    let authority = request.uri().authority().map(Authority::as_str);
    let mut all = told.chain(authority).peekable();
    all.peek().is_some() && all.all(|host| fits(host, &peer.place, names))
}

/// Whether a host is a name of the gateway. Ports are not compared: a port may be forwarded from any
/// other, and pages of this machine's other ports are told by `Origin`.
fn fits(host: &str, place: &Place, names: &[String]) -> bool {
    if names.iter().any(|name| name.eq_ignore_ascii_case(host)) {
        return true;
    }
    let Ok(authority) = host.parse::<Authority>() else {
        return false;
    };
    if host.contains('@') {
        return false;
    }
    let name = authority.host().to_ascii_lowercase();
    if name == "localhost" || name.ends_with(".localhost") || names.contains(&name) {
        return true;
    }
    let bare = name.strip_prefix('[').and_then(|n| n.strip_suffix(']'));
    let Ok(ip) = bare.unwrap_or(&name).parse::<IpAddr>() else {
        return false;
    };
    let ip = ip.to_canonical();
    // Who listens at every address of a machine has them all.
    let own = |own: IpAddr| own.is_unspecified() || own.to_canonical() == ip;
    ip.is_loopback() || place.ip.is_some_and(own)
}

/// Whether a page that some browser of this machine has open may have sent a request that nothing
/// else vouches for; why it is refused then. A browser tells whose page it is, or at least names its
/// host: a page cannot forge either.
pub(super) fn is_some_pages<B>(
    gateway: &Gateway,
    peer: &Peer,
    request: &Request<B>,
) -> Option<Box<Problem>> {
    let (settings, headers) = (gateway.settings(), request.headers());
    let told = |origin: &HeaderValue| {
        let mut named = settings.origins.iter();
        named.any(|o| o.as_bytes().eq_ignore_ascii_case(origin.as_bytes()))
    };
    if headers.get(ORIGIN).is_some_and(told) {
        return None;
    }
    if is_foreign(peer, request) {
        return Some(no_page(
            StatusCode::FORBIDDEN,
            "a web page of another origin asks; list its origin in gateway.origins to allow it",
        ));
    }
    // Where others than this machine come in, they may name it as they like.
    let here = settings.access.is_open() && peer.address.is_some();
    // A browser names a host; whoever names none is none.
    if here && host(request).is_some() && !is_own(gateway, peer, request) {
        return Some(no_page(
            StatusCode::MISDIRECTED_REQUEST,
            "Host is no name of this gateway; ask it by its address, or list the name in \
             gateway.admin_hosts",
        ));
    }
    None
}

fn no_page(status: StatusCode, detail: &str) -> Box<Problem> {
    let title = "The gateway does not answer this page";
    Box::new(Problem::new(status, title, "http_request_denied", detail))
}

/// Whether a request to the API is let in.
pub(super) fn admits<B>(
    gateway: &Gateway,
    peer: &Peer,
    request: &Request<B>,
) -> Result<(), Box<Problem>> {
    let headers = request.headers();
    if is_absolute(request) || came_before(headers, gateway.pseudonym()) {
        return Err(refused(
            StatusCode::FORBIDDEN,
            "it is not reached through a proxy; ask the gateway itself",
        ));
    }
    if !is_own(gateway, peer, request) {
        return Err(refused(
            StatusCode::MISDIRECTED_REQUEST,
            "Host is no name of this gateway; ask it by its address, or list the name in \
             gateway.admin_hosts",
        ));
    }
    if is_foreign(peer, request) {
        return Err(refused(
            StatusCode::FORBIDDEN,
            "a page of another origin asks; no page but the gateway's own may",
        ));
    }
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    if !shows_token(gateway, headers) {
        let here = peer.place.is_local() && !is_handed_on(headers);
        let open = here && gateway.settings().access.allows(peer.address, headers);
        if !reads || !open {
            return Err(Box::new(unknown(match gateway.admin_token() {
                Some(_) => {
                    "show the admin token as `Authorization: Bearer TOKEN`: it is \
                     gateway.admin_token, or stands in the file admin.token of the state folder"
                }
                None => "this gateway has no admin token, so nothing can be changed",
            })));
        }
    }
    Ok(())
}

/// Whether the figures may be seen: by whoever may use the gateway, where that was said or only
/// this machine's programs come in.
pub(super) fn may_see_figures(gateway: &Gateway, peer: &Peer, headers: &HeaderMap) -> bool {
    let access = &gateway.settings().access;
    let callers = peer.place.is_local() || !access.is_open();
    shows_token(gateway, headers) || callers && access.allows(peer.address, headers)
}

fn shows_token(gateway: &Gateway, headers: &HeaderMap) -> bool {
    let mut all = headers.get_all(AUTHORIZATION).iter();
    let (Some(told), None, Some(token)) = (all.next(), all.next(), gateway.admin_token()) else {
        return false;
    };
    let told = told.as_bytes();
    let Some((scheme, shown)) = told.split_at_checked(7) else {
        return false;
    };
    scheme.eq_ignore_ascii_case(b"bearer ") && token.is(shown.trim_ascii())
}

/// Whether a page of another origin asks. Browsers tell so by either field, where they know it.
fn is_foreign<B>(peer: &Peer, request: &Request<B>) -> bool {
    let headers = request.headers();
    if !headers.contains_key(ORIGIN) && !headers.contains_key(SITE) {
        return false;
    }
    let host = host(request).unwrap_or_default();
    let own = format!("{}://{host}", peer.scheme);
    let foreign = |told: &HeaderValue| !told.as_bytes().eq_ignore_ascii_case(own.as_bytes());
    let site = |told: &HeaderValue| !matches!(told.as_bytes(), b"same-origin" | b"none");
    headers.get_all(ORIGIN).iter().any(foreign) || headers.get_all(SITE).iter().any(site)
}

/// Whether somebody else is behind whoever connected: a proxy of this machine serves others.
fn is_handed_on(headers: &HeaderMap) -> bool {
    [VIA, FORWARDED, FORWARDED_FOR]
        .iter()
        .any(|name| headers.contains_key(name))
}

fn refused(status: StatusCode, detail: &str) -> Box<Problem> {
    let title = "The admin API does not answer this";
    Box::new(Problem::new(status, title, "http_request_denied", detail))
}

/// Whoever is not known.
pub(super) fn unknown(detail: &str) -> Problem {
    let mut problem = Problem::new(
        StatusCode::UNAUTHORIZED,
        "The gateway does not know the caller",
        "http_request_denied",
        detail,
    );
    problem.challenge = Some(HeaderValue::from_static("Bearer realm=\"abide\""));
    problem
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::door::Faces;

    #[test]
    fn gw_a_host_is_the_gateways_or_it_is_not() {
        let at = |ip: &str| Place {
            faces: Faces::All,
            ip: ip.parse().ok(),
        };
        let names = ["abide.lan".to_owned(), "abide.test:8080".to_owned()];
        let own = [
            ("localhost", "127.0.0.1"),
            ("LOCALHOST:4180", "127.0.0.1"),
            ("abide.localhost:1", "127.0.0.1"),
            ("127.0.0.1:4180", "127.0.0.1"),
            ("[::1]:4180", "127.0.0.1"),
            ("10.0.0.1:4180", "10.0.0.1"),
            ("10.0.0.1", "0.0.0.0"),
            ("abide.lan:4180", "10.0.0.1"),
            ("abide.test:8080", "10.0.0.1"),
        ];
        for (host, ip) in own {
            assert!(fits(host, &at(ip), &names), "{host} at {ip}");
        }
        let foreign = [
            ("evil.example", "127.0.0.1"),
            ("localhost.evil.example", "127.0.0.1"),
            ("127.0.0.1.evil.example", "127.0.0.1"),
            ("10.0.0.1", "127.0.0.1"),
            ("x@localhost", "127.0.0.1"),
            ("abide.test", "10.0.0.1"),
            ("notlocalhost", "127.0.0.1"),
            ("", "127.0.0.1"),
        ];
        for (host, ip) in foreign {
            assert!(!fits(host, &at(ip), &names), "{host} at {ip}");
        }
    }
}
