//! What of a head goes on, in either direction.
//!
//! Fields that are about one connection end here (RFC 9110 section 7.6.1): those that every
//! connection has, and those that `Connection` names. What is meant for the gateway itself ends
//! here too.

use http::header::{
    CONNECTION, HeaderMap, HeaderName, HeaderValue, PROXY_AUTHORIZATION, TE, TRANSFER_ENCODING,
    UPGRADE,
};

use crate::access::TOKEN;

pub(crate) const PREFER: HeaderName = HeaderName::from_static("prefer");
/// How the gateway is told whom to be fair to.
pub(crate) const KEY: HeaderName = HeaderName::from_static("abide-key");
const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
const PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");

/// Beside `Connection` and what that names. Whether trailers are welcome is asked of the next hop
/// anew.
static OF_ONE_HOP: [HeaderName; 5] = [KEEP_ALIVE, PROXY_CONNECTION, TE, TRANSFER_ENCODING, UPGRADE];
static OF_OURS: [HeaderName; 4] = [KEY, TOKEN, PROXY_AUTHORIZATION, PREFER];

/// Takes the fields of one connection out of a head.
pub(crate) fn of_one_hop(headers: &mut HeaderMap) {
    // To look at all names once costs less than to look for each.
    let (mut connects, mut others) = (false, false);
    for name in headers.keys() {
        connects |= *name == CONNECTION;
        others |= OF_ONE_HOP.contains(name);
    }
    if connects {
        let named: Vec<HeaderName> = headers
            .get_all(CONNECTION)
            .iter()
            // What nearly everybody says names nothing that stays otherwise.
            .filter(|v| *v != "keep-alive" && *v != "close")
            .filter_map(|v| v.to_str().ok())
            .flat_map(|v| v.split(','))
            .filter_map(|name| name.trim().parse().ok())
            .collect();
        for name in named {
            headers.remove(name);
        }
        headers.remove(CONNECTION);
    }
    // Whether trailers are welcome is told to the next hop anew.
    if others {
        for name in &OF_ONE_HOP {
            headers.remove(name);
        }
    }
}

/// Whether a caller takes trailers.
pub(crate) fn takes_trailers(headers: &HeaderMap) -> bool {
    let all = headers.get_all(TE).iter().filter_map(|v| v.to_str().ok());
    all.flat_map(|v| v.split(','))
        .any(|coding| coding.trim().eq_ignore_ascii_case("trailers"))
}

/// Takes what is meant for the gateway out of a request.
pub(crate) fn of_ours(headers: &mut HeaderMap) {
    if !headers.keys().any(|name| OF_OURS.contains(name)) {
        return;
    }
    headers.remove(KEY);
    headers.remove(TOKEN);
    headers.remove(PROXY_AUTHORIZATION);
    if headers.contains_key(PREFER) {
        without_wait(headers);
    }
}

/// A wait that was followed here must not be followed once more behind us; other preferences go on.
fn without_wait(headers: &mut HeaderMap) {
    let all = headers
        .get_all(PREFER)
        .iter()
        .filter_map(|v| v.to_str().ok());
    let others: Vec<&str> = all
        .flat_map(|v| v.split(','))
        .map(str::trim)
        .filter(|preference| {
            let name = preference.split([';', '=']).next().unwrap_or_default();
            !name.trim().eq_ignore_ascii_case("wait")
        })
        .collect();
    let value = HeaderValue::try_from(others.join(", "));
    headers.remove(PREFER);
    if let Ok(value) = value
        && !value.is_empty()
    {
        headers.insert(PREFER, value);
    }
}

/// Who asks, for `Forwarded` (RFC 7239).
pub(crate) fn forwarded(peer: Option<std::net::IpAddr>) -> Option<HeaderValue> {
    let told = match peer? {
        std::net::IpAddr::V4(v4) => format!("for={v4}"),
        std::net::IpAddr::V6(v6) => format!("for=\"[{v6}]\""),
    };
    told.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(all: &[(&str, &str)]) -> HeaderMap {
        all.iter()
            .map(|(n, v)| (n.parse::<HeaderName>().unwrap(), v.parse().unwrap()))
            .collect()
    }

    #[test]
    fn gw_fields_of_one_connection_end_here() {
        let mut all = headers(&[
            ("connection", "close, X-Once"),
            ("connection", "keep-alive"),
            ("x-once", "1"),
            ("keep-alive", "timeout=5"),
            ("proxy-connection", "keep-alive"),
            ("te", "trailers"),
            ("transfer-encoding", "chunked"),
            ("upgrade", "h2c"),
            ("accept", "*/*"),
        ]);
        of_one_hop(&mut all);
        assert_eq!(all, headers(&[("accept", "*/*")]));
    }

    #[test]
    fn gw_what_is_for_the_gateway_ends_here() {
        let mut all = headers(&[
            ("abide-token", "0123456789abcdef"),
            ("abide-key", "tenant"),
            ("proxy-authorization", "Basic x"),
            ("prefer", "return=minimal, wait=20"),
            ("authorization", "theirs"),
        ]);
        of_ours(&mut all);
        let left = [("prefer", "return=minimal"), ("authorization", "theirs")];
        assert_eq!(all, headers(&left));
    }
}
