//! Which provider a URL belongs to, and which gates a request to it passes.
//!
//! A provider of the catalogue has the gates that its profile names. An origin that no profile
//! names is its own generic provider, named by its host (and port, where that is not the
//! scheme's own). Its gates are the provider and the account; an unknown route is not told apart,
//! since an unknown scope must be read as the widest.

use std::borrow::Cow;
use std::sync::Arc;

use abide_core::outage::is_loopback;
use abide_core::{GateClass, Scope};
use abide_profile::{Asking, Profile};
use http::{HeaderMap, HeaderName, Method};
use smallvec::SmallVec;
use url::Url;

use crate::account::account;
use crate::names::{Credential, Names};
use crate::place::Place;
use crate::shard::Handle;
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

/// Whether a header carries a credential.
pub(crate) fn is_secret_header(name: &HeaderName) -> bool {
    let name = name.as_str();
    // A key that makes a write repeatable is no secret and must travel with it.
    name != "idempotency-key" && SECRET_WORDS.iter().any(|w| name.contains(w))
}

/// Where a request goes, without anything secret.
#[derive(Clone, Debug)]
pub struct Target {
    /// The provider's name.
    pub provider: Arc<str>,
    pub(crate) profile: Arc<Profile>,
    pub(crate) gates: Gates,
    /// It goes to this machine.
    pub(crate) loopback: bool,
}

/// Most requests pass no more gates than fit here without allocating.
pub(crate) type Gates = SmallVec<[TargetGate; 4]>;

/// A gate that a request passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TargetGate {
    pub(crate) scope: Scope,
    pub(crate) class: GateClass,
    /// Within what the bucket that the server will name is one; `None` where it names none.
    pub(crate) family: Option<u64>,
    /// What the request costs there.
    pub(crate) cost: u32,
    /// What it is keyed by, hashed.
    pub(crate) part: Credential,
}

/// A provider has one profile, so its name says it.
impl PartialEq for Target {
    fn eq(&self, other: &Self) -> bool {
        self.provider == other.provider && self.gates == other.gates
    }
}

impl Eq for Target {}

impl std::hash::Hash for Target {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.provider.hash(state);
        self.gates.hash(state);
    }
}

impl Target {
    /// The target of a request, or `None` when its URL has no host.
    pub(crate) fn of(
        shared: &Shared,
        method: &Method,
        url: &Url,
        headers: &HeaderMap,
    ) -> Option<Self> {
        let place = Place::of_url(url)?;
        let (provider, profile) = place.provider(shared);
        let gates = gates(&shared.names, &profile, method, &place, headers, None);
        Some(Self {
            provider: provider.into(),
            gates,
            loopback: is_loopback(place.host),
            profile,
        })
    }
}

/// The gates that a request to a place passes, widest first.
pub(crate) fn gates(
    names: &Names,
    profile: &Profile,
    method: &Method,
    place: &Place<'_>,
    headers: &HeaderMap,
    named: Option<&str>,
) -> Gates {
    let account = match named {
        Some(name) => Some(names.credential(&[b"account", name.as_bytes()])),
        None => account(names, profile, place, headers),
    };
    let asking = Asking {
        method,
        host: place.host,
        path: place.path,
        query: place.query,
        headers,
        credential: account.as_ref().map(|a| &a.bytes()[..]),
    };
    let gates = profile.gates().passed(&asking).map(|g| TargetGate {
        scope: g.scope,
        class: g.class,
        family: g.family.map(|family| names.family(g.scope, &family)),
        cost: g.cost,
        part: match g.key.as_slice() {
            [] => Credential::default(),
            key => names.credential(&[key]),
        },
    });
    gates.collect()
}

impl Target {
    /// What is known of its provider.
    pub const fn profile(&self) -> &Arc<Profile> {
        &self.profile
    }

    /// Where a provider is called by other ways than its addresses: its root, as nobody.
    pub(crate) fn of_provider(shard: &Handle) -> Self {
        let profile = shard.profile();
        let host = profile.told().hosts.first();
        let host = host.map_or(&**shard.name(), String::as_str);
        let url = Url::parse(&format!("https://{host}/")).ok();
        let target =
            url.and_then(|url| Self::of(shard.shared(), &Method::GET, &url, &HeaderMap::new()));
        let gates = target.map(|t| t.gates).unwrap_or_else(|| {
            let plain = [Scope::Provider, Scope::Account].map(|scope| TargetGate {
                scope,
                class: GateClass::PLAIN,
                family: None,
                cost: 1,
                part: Credential::default(),
            });
            plain.into_iter().collect()
        });
        Self {
            provider: Arc::clone(shard.name()),
            profile: Arc::clone(profile),
            gates,
            loopback: names_loopback(shard.name()),
        }
    }

    /// Where all routes of this account go.
    pub(crate) fn without_routes(&self) -> Self {
        let wide = self
            .gates
            .iter()
            .filter(|g| g.scope > Scope::Route && g.family.is_none());
        Self {
            gates: wide.copied().collect(),
            ..self.clone()
        }
    }
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

/// Whether a provider is an origin on this machine, by its name.
pub(crate) fn names_loopback(provider: &str) -> bool {
    let port = |p: &str| !p.is_empty() && p.bytes().all(|b| b.is_ascii_digit());
    let host = provider.rsplit_once(':').filter(|(_, p)| port(p));
    is_loopback(provider) || host.is_some_and(|(host, _)| is_loopback(host))
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

/// Whether a header of a request to a provider with this profile carries a credential.
pub(crate) fn is_secret_of(profile: &Profile, name: &HeaderName) -> bool {
    is_secret_header(name) || is_own_header(profile, name)
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

    fn target(url: &str) -> Target {
        let governor = crate::Governor::builder().build().unwrap();
        Target::of(
            governor.shared(),
            &Method::GET,
            &Url::parse(url).unwrap(),
            &HeaderMap::new(),
        )
        .unwrap()
    }

    fn account_of(url: &str) -> Option<Credential> {
        account_with(url, &HeaderMap::new())
    }

    fn account_with(url: &str, headers: &HeaderMap) -> Option<Credential> {
        let generic = abide_profile::Catalogue::built_in().generic();
        let url = Url::parse(url).unwrap();
        let place = Place::of_url(&url).unwrap();
        account(&Names::new((1, 2), [7; 32]), &generic, &place, headers)
    }

    #[test]
    fn origins_are_providers_and_keys_are_accounts() {
        assert_eq!(target("https://a.example/x").provider.as_ref(), "a.example");
        assert_eq!(
            target("https://api.github.com/user").provider.as_ref(),
            "github"
        );
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
    fn the_dot_of_a_full_name_makes_no_other_provider() {
        assert_eq!(
            target("https://a.example./x").provider.as_ref(),
            "a.example"
        );
        let github = target("https://api.github.com./user");
        assert_eq!(github.provider.as_ref(), "github");
        let aws = target("https://ec2.eu-west-1.amazonaws.com./");
        assert_eq!(aws.provider.as_ref(), "aws@ec2.eu-west-1.amazonaws.com");
    }

    #[test]
    fn the_order_of_credentials_makes_no_other_account() {
        let of = |names: [(&'static str, &'static str); 2]| {
            let headers = names.map(|(n, v)| (HeaderName::from_static(n), v.parse().unwrap()));
            account_with("https://a.example/", &headers.into_iter().collect())
        };
        let (key, token) = (("x-api-key", "1"), ("x-token", "2"));
        assert_eq!(of([key, token]), of([token, key]));
        assert_ne!(of([key, token]), of([("x-api-key", "2"), ("x-token", "1")]));
        assert_eq!(
            account_of("https://a.example/?pageToken=1"),
            account_of("https://a.example/?pageToken=2"),
            "a page is no account"
        );
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
