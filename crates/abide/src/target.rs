//! Which provider a URL belongs to, and which gates a request to it passes.
//!
//! A provider of the catalogue has the gates that its profile names. An origin that no profile
//! names is its own generic provider, named by its host (and port, where that is not the
//! scheme's own). Its gates are the provider and the account; an unknown route is not told apart,
//! since an unknown scope must be read as the widest.

use std::sync::Arc;

use abide_core::gate::{GateKey, MAX_GATES};
use abide_core::outage::is_loopback;
use abide_core::{GateClass, Scope};
use abide_profile::{Asking, Profile};
use http::{HeaderMap, Method};
use smallvec::SmallVec;
use url::Url;

use crate::account::account;
use crate::names::{Credential, Names};
use crate::place::Place;
use crate::shared::Shared;

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
pub(crate) type Gates = SmallVec<[TargetGate; 5]>;

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
    /// Its name in memory, of the provider's and this: it is remembered with the gate.
    pub(crate) key: GateKey,
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
        Self::as_of(shared, method, url, headers, None)
    }

    /// As [`of`](Self::of), as an account of this name, where the request does not tell.
    pub(crate) fn as_of(
        shared: &Shared,
        method: &Method,
        url: &Url,
        headers: &HeaderMap,
        named: Option<&str>,
    ) -> Option<Self> {
        let place = Place::of_url(url)?;
        let (provider, profile, several) = place.provider(shared);
        let account = match named {
            Some(name) => Some(named_account(&shared.names, name)),
            None => account(&profile, &place, headers, |parts| {
                shared.names.credential(parts)
            }),
        };
        let mut gates = Gates::new();
        self::gates(
            &shared.names,
            &provider,
            &profile,
            (method, &place, headers),
            account,
            (&Known::default(), &mut Known::default()),
            &mut gates,
        );
        if several {
            let part = host_part(&shared.names, &place);
            add_host(&mut gates, &shared.names, &provider, part);
        }
        Some(Self {
            provider: provider.into(),
            gates,
            loopback: is_loopback(place.host),
            profile,
        })
    }
}

/// Adds the gates that a request to a place passes, widest first. Those that are `known` are not
/// named anew; those that are not, and last, are put to the `new` ones.
pub(crate) fn gates(
    names: &Names,
    provider: &str,
    profile: &Profile,
    (method, place, headers): (&Method, &Place<'_>, &HeaderMap),
    account: Option<Credential>,
    (known, new): (&Known, &mut Known),
    to: &mut Gates,
) {
    let asking = Asking {
        method,
        host: place.host,
        path: place.path,
        query: place.query,
        headers,
        credential: account.as_ref().map(|a| &a.bytes()[..]),
    };
    to.extend(profile.gates().passing(&asking).map(|passing| {
        let lasts = passing.lasts();
        if let Some(gate) = lasts.and_then(|at| known.get(at)) {
            let cost = passing.cost();
            return TargetGate { cost, ..gate };
        }
        let g = passing.passed();
        let part = match g.key.as_slice() {
            [] => Credential::default(),
            key => names.credential(&[key]),
        };
        let gate = TargetGate {
            scope: g.scope,
            class: g.class,
            family: g.family.map(|n| names.family(g.scope, &g.key[..n])),
            cost: g.cost,
            part,
            key: names.spec(g.scope, provider, part.bytes()).key,
        };
        if let Some(at) = lasts {
            new.put(at, gate);
        }
        gate
    }));
}

/// Those gates of one account that are the same whatever it asks for, by their places in the
/// profile.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known(Vec<Option<TargetGate>>);

impl Known {
    fn get(&self, at: usize) -> Option<TargetGate> {
        *self.0.get(at)?
    }

    fn put(&mut self, at: usize, gate: TargetGate) {
        if self.0.len() <= at {
            self.0.resize(at + 1, None);
        }
        self.0[at] = Some(gate);
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Both together.
    pub(crate) fn join(mut self, other: &Self) -> Self {
        for (at, gate) in other.0.iter().enumerate() {
            if let Some(gate) = gate {
                self.put(at, *gate);
            }
        }
        self
    }
}

/// What the gate of one host of several is keyed by.
pub(crate) fn host_part(names: &Names, place: &Place<'_>) -> Credential {
    names.credential(&[b"host", place.authority().as_bytes()])
}

/// Adds the gate of one host of several, last: where a set is full the provider's own breaker
/// stands in.
pub(crate) fn add_host(gates: &mut Gates, names: &Names, provider: &str, part: Credential) {
    if gates.len() < MAX_GATES {
        gates.push(TargetGate {
            scope: Scope::Provider,
            class: GateClass::HOST,
            family: None,
            cost: 1,
            part,
            key: names.spec(Scope::Provider, provider, part.bytes()).key,
        });
    }
}

/// What tells an account of this name from others.
pub(crate) const fn account_parts(name: &str) -> [&[u8]; 2] {
    [b"account", name.as_bytes()]
}

/// The account of this name, where its requests do not tell.
pub(crate) fn named_account(names: &Names, name: &str) -> Credential {
    names.credential(&account_parts(name))
}

impl Target {
    /// What is known of its provider.
    pub const fn profile(&self) -> &Arc<Profile> {
        &self.profile
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

/// Whether a provider is an origin on this machine, by its name.
pub(crate) fn names_loopback(provider: &str) -> bool {
    let port = |p: &str| !p.is_empty() && p.bytes().all(|b| b.is_ascii_digit());
    let host = provider.rsplit_once(':').filter(|(_, p)| port(p));
    is_loopback(provider) || host.is_some_and(|(host, _)| is_loopback(host))
}

#[cfg(test)]
mod tests {
    use http::HeaderName;

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
        let names = Names::new((1, 2), [7; 32]);
        account(&generic, &place, headers, |parts| names.credential(parts))
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
}
