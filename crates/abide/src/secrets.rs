//! What of a request is secret: told from the rest by its name, dropped at an origin's border, and
//! hidden wherever a URL is shown.

use std::borrow::Cow;

use abide_profile::Profile;
use http::{HeaderMap, HeaderName};
use url::Url;

/// The names under which credentials travel in a query: read for telling accounts apart, and
/// redacted wherever a URL is shown.
pub(crate) const SECRET_PARAMS: [&str; 18] = [
    "access_key",
    "access_token",
    "api-key",
    "api_key",
    "apikey",
    "appid",
    "auth",
    "auth_token",
    "client_secret",
    "code",
    "key",
    "password",
    "pwd",
    "secret",
    "sig",
    "signature",
    "token",
    "x-amz-signature",
];

/// How the names of parameters end that may carry a secret, beside those.
const SECRET_ENDS: [&str; 5] = ["api-key", "api_key", "apikey", "secret", "token"];

/// What the name of a header has in it that carries a credential: providers invent their own
/// (`X-Goog-Api-Key`, `X-Shopify-Access-Token`, `DD-API-KEY`), and one too many dropped at an
/// origin's border is a refused request, one too few a leaked key.
const SECRET_WORDS: [&str; 7] = [
    "auth",
    "cookie",
    "credential",
    "key",
    "secret",
    "signature",
    "token",
];

/// Names that nearly every request has, and that carry no credential: they need no search.
fn is_common(name: &str) -> bool {
    matches!(
        name,
        "accept"
            | "accept-encoding"
            | "accept-language"
            | "cache-control"
            | "connection"
            | "content-encoding"
            | "content-length"
            | "content-type"
            | "host"
            | "if-modified-since"
            | "if-none-match"
            | "origin"
            | "range"
            | "referer"
            | "te"
            | "traceparent"
            | "tracestate"
            | "user-agent"
    )
}

/// Whether one of those words is at the beginning.
fn has_secret_word(text: &[u8]) -> bool {
    // Most letters begin none of them, and every header of every request is looked at.
    matches!(text.first(), Some(b'a' | b'c' | b'k' | b's' | b't'))
        && SECRET_WORDS.iter().any(|w| text.starts_with(w.as_bytes()))
}

/// Whether a header carries a credential, by its name.
pub fn is_secret_header(name: &HeaderName) -> bool {
    let name = name.as_str();
    if is_common(name) {
        return false;
    }
    (0..name.len()).any(|at| has_secret_word(&name.as_bytes()[at..])) && !is_of_one_request(name)
}

/// Names that sound like a credential and are of one request only: taken for one, they would make an account
/// of every request. A key that makes a write repeatable must travel with it, whatever its provider calls it.
fn is_of_one_request(name: &str) -> bool {
    name.contains("idempotency") || name == "sec-websocket-key"
}

/// Whether a header of a request to a provider with this profile carries a credential.
pub(crate) fn is_secret_of(profile: &Profile, name: &HeaderName) -> bool {
    is_secret_header(name) || is_own_header(profile, name)
}

/// Drops every header that carries a credential, those that only the profile knows among them.
pub(crate) fn drop_credentials(headers: &mut HeaderMap, profile: &Profile) {
    let secrets: Vec<HeaderName> = headers
        .keys()
        .filter(|name| is_secret_header(name) || is_own_header(profile, name))
        .cloned()
        .collect();
    for name in secrets {
        headers.remove(name);
    }
}

pub(crate) fn is_own_header(profile: &Profile, name: &HeaderName) -> bool {
    let own = &profile.told().credential.headers;
    own.iter().any(|h| h.eq_ignore_ascii_case(name.as_str()))
}

pub(crate) fn is_own_parameter(profile: &Profile, name: &str) -> bool {
    profile.told().credential.query.iter().any(|q| q == name)
}

pub(crate) fn is_known_secret(name: &str) -> bool {
    SECRET_PARAMS.iter().any(|s| name.eq_ignore_ascii_case(s))
}

/// Whether a parameter may carry a secret: one too many hidden costs nothing.
pub(crate) fn is_secret(profile: &Profile, name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    is_known_secret(&lower)
        || SECRET_ENDS.iter().any(|end| lower.ends_with(end))
        || is_own_parameter(profile, name)
}

/// A path as it may be shown. Where a provider carries the credential in its paths, only their
/// last segment is: `/bot<token>/getMe` has a sister `/file/bot<token>/photo`.
pub fn shown_path<'a>(path: &'a str, profile: &Profile) -> Cow<'a, str> {
    let Some(secret) = profile.told().credential.segment else {
        return Cow::Borrowed(path);
    };
    let last = path.split('/').count() - 1;
    let shown = path.split('/').enumerate().map(|(i, segment)| {
        let plain = segment.is_empty() || i == last && i != secret;
        if plain { segment } else { "…" }
    });
    Cow::Owned(shown.collect::<Vec<_>>().join("/"))
}

/// A URL as it may be shown: without userinfo, without the values of secret parameters, without
/// a fragment, and without what its provider's profile calls a credential.
pub fn redacted(url: &Url, profile: &Profile) -> String {
    let mut shown = url.clone();
    // Both fail only for URLs that cannot have userinfo at all.
    let _ = shown.set_username("");
    let _ = shown.set_password(None);
    shown.set_fragment(None);
    if let Cow::Owned(path) = shown_path(url.path(), profile) {
        shown.set_path(&path);
    }
    if let Some(query) = url.query()
        && url.query_pairs().any(|(name, _)| is_secret(profile, &name))
    {
        let kept: Vec<String> = query
            .split('&')
            .map(|pair| {
                let name = pair.split('=').next().unwrap_or_default();
                let plain = url::form_urlencoded::parse(pair.as_bytes()).next();
                match plain {
                    Some((n, _)) if is_secret(profile, &n) => format!("{name}=…"),
                    _ => pair.to_owned(),
                }
            })
            .collect();
        shown.set_query(Some(&kept.join("&")));
    }
    shown.to_string().replace("%E2%80%A6", "…")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_that_carries_a_credential_is_told_by_its_name() {
        let is = |name| is_secret_header(&HeaderName::from_static(name));
        for name in ["authorization", "cookie", "dd-api-key", "x-csrf-token"] {
            assert!(is(name), "{name}");
        }
        for word in SECRET_WORDS {
            let name = format!("x-{word}-y").parse().unwrap();
            assert!(is_secret_header(&name), "{name}");
        }
        for name in [
            "accept",
            "idempotency-key",
            "x-idempotency-key",
            "sec-websocket-key",
            "referer",
            "x-request-id",
        ] {
            assert!(!is(name), "{name}");
        }
    }

    fn shown(name: &str, url: &str) -> String {
        let all = abide_profile::Catalogue::built_in();
        redacted(&Url::parse(url).unwrap(), &all.get(name).unwrap())
    }

    #[test]
    fn inv11_a_shown_url_has_no_secret() {
        assert_eq!(
            shown(
                "generic",
                "https://me:pw@a.example/p?q=1&API_KEY=s3cr3t&b=2#frag"
            ),
            "https://a.example/p?q=1&API_KEY=…&b=2"
        );
        for name in ["x_goog_api_key", "myApiKey", "sessionToken", "app-secret"] {
            let url = format!("https://a.example/?{name}=s3cr3t");
            assert_eq!(
                shown("generic", &url),
                format!("https://a.example/?{name}=…")
            );
        }
    }

    #[test]
    fn inv11_a_shown_url_has_no_secret_that_only_its_profile_knows() {
        assert_eq!(
            shown("telegram", "https://api.telegram.org/bot1:s3cr3t/getMe?x=1"),
            "https://api.telegram.org/…/getMe?x=1"
        );
        assert_eq!(
            shown(
                "telegram",
                "https://api.telegram.org/file/bot1:s3cr3t/photos/a.jpg"
            ),
            "https://api.telegram.org/…/…/…/a.jpg"
        );
        assert_eq!(
            shown("telegram", "https://api.telegram.org/bot1:s3cr3t"),
            "https://api.telegram.org/…"
        );
        assert_eq!(
            shown(
                "coingecko",
                "https://api.coingecko.com/ping?x_cg_demo_api_key=s3cr3t"
            ),
            "https://api.coingecko.com/ping?x_cg_demo_api_key=…"
        );
    }
}
