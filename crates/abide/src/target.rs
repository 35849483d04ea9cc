//! Which provider a URL belongs to, and which gates a request to it passes.
//!
//! An origin that no profile names is its own generic provider, named by its host (and port,
//! where that is not the scheme's own). Its gates are the provider and the account; an unknown
//! route is not told apart, since an unknown scope must be read as the widest.

use std::fmt::Write as _;
use std::sync::Arc;

use http::{HeaderMap, HeaderName};
use url::Url;

use crate::names::{Credential, Names};
use crate::shared::Shared;

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

/// Whether a header carries a credential.
pub(crate) fn is_secret_header(name: &HeaderName) -> bool {
    let name = name.as_str();
    // A key that makes a write repeatable is no secret and must travel with it.
    name != "idempotency-key" && SECRET_WORDS.iter().any(|w| name.contains(w))
}

/// Where a request goes, without anything secret.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// The provider's name.
    pub provider: Arc<str>,
    pub(crate) account: Credential,
}

impl Target {
    /// The target of a request, or `None` when its URL has no host.
    pub(crate) fn of(shared: &Shared, url: &Url, headers: &HeaderMap) -> Option<Self> {
        let provider = provider_of(shared, url)?;
        Some(Self {
            provider: provider.into(),
            account: account(&shared.names, url, headers),
        })
    }
}

/// Drops every header that carries a credential.
pub(crate) fn drop_credentials(headers: &mut HeaderMap) {
    let secrets: Vec<HeaderName> = headers
        .keys()
        .filter(|name| is_secret_header(name))
        .cloned()
        .collect();
    for name in secrets {
        headers.remove(name);
    }
}

/// The provider of an address: a configured one, or the origin itself.
fn provider_of(shared: &Shared, url: &Url) -> Option<String> {
    let host = url.host_str()?;
    let port = url.port_or_known_default().unwrap_or(0);
    let named = shared.namer.as_ref().and_then(|namer| namer(host, port));
    named.or_else(|| provider_name(url))
}

/// The generic provider's name of an origin.
fn provider_name(url: &Url) -> Option<String> {
    let mut name = url.host_str()?.to_owned();
    if let Some(port) = url.port() {
        let _ = write!(name, ":{port}");
    }
    Some(name)
}

fn account(names: &Names, url: &Url, headers: &HeaderMap) -> Credential {
    let mut parts: Vec<Vec<u8>> = Vec::new();
    let secrets = headers.iter().filter(|(name, _)| {
        // Cookies change from answer to answer; they name no account that lasts.
        is_secret_header(name) && !name.as_str().contains("cookie")
    });
    for (name, value) in secrets {
        parts.push(name.as_str().as_bytes().to_vec());
        parts.push(value.as_bytes().to_vec());
    }
    if !url.username().is_empty() || url.password().is_some() {
        parts.push(url.username().as_bytes().to_vec());
        parts.push(url.password().unwrap_or_default().as_bytes().to_vec());
    }
    if url.query().is_some() {
        for (name, value) in url.query_pairs() {
            if is_secret(&name) {
                parts.push(value.into_owned().into_bytes());
            }
        }
    }
    if parts.is_empty() {
        return Credential::default();
    }
    let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
    names.credential(&parts)
}

fn is_secret(name: &str) -> bool {
    SECRET_PARAMS.iter().any(|s| name.eq_ignore_ascii_case(s))
}

/// A URL as it may be shown: without userinfo, without the values of secret parameters, without
/// a fragment.
pub fn redacted(url: &Url) -> String {
    let mut shown = url.clone();
    // Both fail only for URLs that cannot have userinfo at all.
    let _ = shown.set_username("");
    let _ = shown.set_password(None);
    shown.set_fragment(None);
    if let Some(query) = url.query()
        && url.query_pairs().any(|(name, _)| is_secret(&name))
    {
        let kept: Vec<String> = query
            .split('&')
            .map(|pair| {
                let name = pair.split('=').next().unwrap_or_default();
                let plain = url::form_urlencoded::parse(pair.as_bytes()).next();
                match plain {
                    Some((n, _)) if is_secret(&n) => format!("{name}=…"),
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

    fn target(url: &str) -> Target {
        let governor = crate::Governor::builder().build().unwrap();
        Target::of(
            governor.shared(),
            &Url::parse(url).unwrap(),
            &HeaderMap::new(),
        )
        .unwrap()
    }

    fn account_of(url: &str) -> Credential {
        account(
            &Names::new((1, 2), [7; 32]),
            &Url::parse(url).unwrap(),
            &HeaderMap::new(),
        )
    }

    #[test]
    fn origins_are_providers_and_keys_are_accounts() {
        assert_eq!(target("https://a.example/x").provider.as_ref(), "a.example");
        assert_eq!(
            target("http://127.0.0.1:8080/x").provider.as_ref(),
            "127.0.0.1:8080"
        );
        assert_eq!(
            account_of("https://a.example/x"),
            account_of("https://a.example/y?page=2")
        );
        assert_ne!(
            account_of("https://a.example/?key=1"),
            account_of("https://a.example/?key=2")
        );
        assert_ne!(
            account_of("https://u:1@a.example/"),
            account_of("https://u:2@a.example/")
        );
    }

    #[test]
    fn inv11_a_shown_url_has_no_secret() {
        let url = Url::parse("https://me:pw@a.example/p?q=1&API_KEY=s3cr3t&b=2#frag").unwrap();
        assert_eq!(redacted(&url), "https://a.example/p?q=1&API_KEY=…&b=2");
    }
}
