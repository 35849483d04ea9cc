//! Who may use the gateway: whoever shows its token, or connects from an address that was named. On
//! loopback everybody of this machine may, where nothing else was said.

use std::fmt;
use std::net::IpAddr;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::header::{HeaderMap, HeaderName, HeaderValue, PROXY_AUTHORIZATION};
use http::{Response, StatusCode};
use ipnet::IpNet;
use subtle::ConstantTimeEq as _;

use crate::answer::Problem;

/// How a caller shows its token where the gateway is its base URL.
pub(crate) const TOKEN: HeaderName = HeaderName::from_static("abide-token");
const PROXY_AUTHENTICATE: HeaderName = HeaderName::from_static("proxy-authenticate");

/// Something only those who may know it know.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Box<str>);

impl Secret {
    /// A secret; `None` for one of less than 16 characters, which can be guessed, or one that no
    /// header could carry.
    pub fn new(text: &str) -> Option<Self> {
        let fit = text.len() >= 16 && text.bytes().all(|b| b.is_ascii_graphic());
        fit.then(|| Self(text.into()))
    }

    fn is_shown(&self, headers: &HeaderMap) -> bool {
        let shown = headers.get(TOKEN).map(HeaderValue::as_bytes);
        shown.is_some_and(|shown| self.is(shown))
            || proxied(headers).is_some_and(|shown| self.is(&shown))
    }

    /// Compares in a time that tells nothing of what is right.
    pub(crate) fn is(&self, told: &[u8]) -> bool {
        self.0.as_bytes().ct_eq(told).into()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// Who may use the gateway.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Access {
    /// Whoever shows it may.
    pub token: Option<Secret>,
    /// Whoever connects from there may.
    pub from: Vec<IpNet>,
}

impl Access {
    /// Nothing was said of who may.
    pub const fn is_open(&self) -> bool {
        self.token.is_none() && self.from.is_empty()
    }

    /// Whether a caller may. `None` is a caller over a socket file, whose permissions say it.
    pub(crate) fn allows(&self, peer: Option<IpAddr>, headers: &HeaderMap) -> bool {
        if self.is_open() {
            return true;
        }
        if peer.is_some_and(|peer| self.from.iter().any(|net| net.contains(&peer))) {
            return true;
        }
        let Some(token) = &self.token else {
            return peer.is_none();
        };
        token.is_shown(headers)
    }

    /// Whether a caller shows the token, which no web page knows.
    pub(crate) fn is_shown(&self, headers: &HeaderMap) -> bool {
        self.token.as_ref().is_some_and(|t| t.is_shown(headers))
    }
}

/// The token of a proxy's caller: `Bearer TOKEN`, or the password of `Basic`, as URLs of proxies
/// have it (`http://any:TOKEN@127.0.0.1:4180`).
fn proxied(headers: &HeaderMap) -> Option<Vec<u8>> {
    let told = headers.get(PROXY_AUTHORIZATION)?.to_str().ok()?;
    let (scheme, value) = told.split_once(' ')?;
    if scheme.eq_ignore_ascii_case("bearer") {
        return Some(value.trim().as_bytes().to_vec());
    }
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let pair = BASE64_STANDARD.decode(value.trim()).ok()?;
    let colon = pair.iter().position(|b| *b == b':')?;
    Some(pair[colon + 1..].to_vec())
}

/// What is answered who may not. `proxy` where the gateway is used as one.
pub(crate) fn denied(proxy: bool, name: &str) -> Response<bytes::Bytes> {
    let status = match proxy {
        true => StatusCode::PROXY_AUTHENTICATION_REQUIRED,
        false => StatusCode::UNAUTHORIZED,
    };
    let detail = match proxy {
        true => {
            "give the gateway's token in Proxy-Authorization, as Bearer or as the password of \
                 Basic"
        }
        false => "give the gateway's token in an Abide-Token header",
    };
    let problem = Problem::new(
        status,
        "The gateway does not know the caller",
        "http_request_denied",
        detail,
    );
    let mut answer = problem.answer(name);
    if proxy {
        let value = HeaderValue::from_static("Basic realm=\"abide\", Bearer");
        answer.headers_mut().insert(PROXY_AUTHENTICATE, value);
    } else {
        let value = HeaderValue::from_static("Abide-Token");
        let name = http::header::WWW_AUTHENTICATE;
        answer.headers_mut().insert(name, value);
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: HeaderName, value: &str) -> HeaderMap {
        [(name, value.parse().unwrap())].into_iter().collect()
    }

    #[test]
    fn gw_a_token_is_shown_in_each_way() {
        let access = Access {
            token: Secret::new("0123456789abcdef"),
            from: vec!["10.0.0.0/8".parse().unwrap()],
        };
        let outside = Some("192.0.2.1".parse().unwrap());
        let allows = |headers| access.allows(outside, &headers);
        assert!(allows(headers(TOKEN, "0123456789abcdef")));
        assert!(allows(headers(
            PROXY_AUTHORIZATION,
            "Bearer 0123456789abcdef"
        )));
        let basic = BASE64_STANDARD.encode("any:0123456789abcdef");
        assert!(allows(headers(
            PROXY_AUTHORIZATION,
            &format!("basic {basic}")
        )));
        assert!(!allows(headers(TOKEN, "0123456789abcdeF")));
        assert!(!allows(headers(PROXY_AUTHORIZATION, "Digest x")));
        assert!(!allows(HeaderMap::new()));
        assert!(!access.allows(None, &HeaderMap::new()));
        assert!(access.allows(Some("10.1.2.3".parse().unwrap()), &HeaderMap::new()));
    }

    #[test]
    fn gw_a_guessable_token_is_none() {
        assert!(Secret::new("0123456789abcde").is_none());
        assert!(Secret::new("0123456789 abcdef").is_none());
        assert_eq!(
            format!("{:?}", Secret::new("0123456789abcdef").unwrap()),
            "Secret"
        );
    }
}
