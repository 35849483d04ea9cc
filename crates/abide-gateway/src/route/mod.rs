//! Whose a request is: the name in front of its path, and where that provider is asked.
//!
//! A name is that of a provider of the settings or of the catalogue. Where a provider has many hosts
//! (`*.myshopify.com`) the one meant is named with it: `/shopify@shop.myshopify.com/…`. Whatever is
//! not known is refused, saying what would make it known.

mod base;
mod chain;
mod links;
mod one;

use std::collections::HashMap;
use std::sync::Arc;

use abide::profile::{Catalogue, Host, Profile};
use http::Uri;
use parking_lot::RwLock;

pub use self::base::BadBase;
pub(crate) use self::base::Base;
pub(crate) use self::chain::Chain;
pub(crate) use self::links::{Front, rewrite};
pub(crate) use self::one::{Route, Way};
use crate::settings::{ChainRoute, Upstream};

/// Why nobody is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoRoute {
    /// There is no name in front of the path.
    Nameless,
    /// Nothing has that name.
    Unknown,
    /// It has many hosts, and none was named.
    Hostless { example: String },
    /// The host that was named is not one of its.
    Foreign { host: String },
}

/// All providers that can be asked.
#[derive(Debug)]
pub(crate) struct Routes {
    catalogue: Arc<Catalogue>,
    /// Those asked before; bounded, since hosts named with a provider are callers' words.
    known: RwLock<HashMap<Box<str>, Arc<Route>>>,
    /// Hosts by which callers name a provider.
    aliases: HashMap<String, Arc<Route>>,
    chains: HashMap<String, Arc<Chain>>,
}

/// Names remembered; a name beyond is looked up each time.
const KNOWN: usize = 4_096;

impl Routes {
    /// # Errors
    /// When an address is none, with the provider it is of.
    pub(crate) fn new(
        catalogue: Arc<Catalogue>,
        upstreams: &[Upstream],
        chains: &[ChainRoute],
        path_is_secret: impl Fn(&Uri) -> bool,
    ) -> Result<Self, (String, BadBase)> {
        let (mut known, mut aliases) = (HashMap::new(), HashMap::new());
        for upstream in upstreams {
            let name: Box<str> = upstream.provider.as_str().into();
            let base = Base::of(&upstream.base).map_err(|e| (upstream.provider.clone(), e))?;
            let way = match upstream.transport.is_plain() {
                true => Way::Named,
                false => Way::Own(name.clone()),
            };
            let credential = upstream.credential.clone();
            let mut route = Route::new(name.clone(), base, way, credential);
            route.body_idle = upstream.body_idle;
            route.path_is_secret = path_is_secret(&upstream.base);
            let route = Arc::new(route);
            for alias in &upstream.aliases {
                aliases.insert(alias.clone(), Arc::clone(&route));
            }
            known.insert(name, route);
        }
        let chains = chains
            .iter()
            .map(|c| (c.name.clone(), Arc::new(Chain::new(c))));
        Ok(Self {
            catalogue,
            known: RwLock::new(known),
            aliases,
            chains: chains.collect(),
        })
    }

    /// The provider that a `Host` names.
    pub(crate) fn alias(&self, host: &str) -> Option<Arc<Route>> {
        if self.aliases.is_empty() {
            return None;
        }
        let host = host.to_ascii_lowercase();
        let known = self.aliases.get(&host).or_else(|| {
            let (name, _port) = host.rsplit_once(':')?;
            self.aliases.get(name)
        });
        known.map(Arc::clone)
    }

    /// The chain in front of a path, and what is left of the path for it.
    pub(crate) fn chain<'a>(&self, path: &'a str) -> Option<(Arc<Chain>, &'a str)> {
        if self.chains.is_empty() {
            return None;
        }
        let inner = path.strip_prefix('/')?;
        let end = inner.find(['/', '?']).unwrap_or(inner.len());
        let (name, rest) = inner.split_at(end);
        Some((Arc::clone(self.chains.get(name)?), rest))
    }

    /// The provider of this name.
    pub(crate) fn provider(&self, name: &str) -> Result<Arc<Route>, NoRoute> {
        let known = self.known.read().get(name).map(Arc::clone);
        known.map_or_else(|| self.make(name), Ok)
    }

    /// The provider in front of a path, and what is left of the path for it.
    pub(crate) fn find<'a>(&self, path: &'a str) -> Result<(Arc<Route>, &'a str), NoRoute> {
        let inner = path.strip_prefix('/').ok_or(NoRoute::Nameless)?;
        let end = inner.find(['/', '?']).unwrap_or(inner.len());
        let (name, rest) = inner.split_at(end);
        if name.is_empty() {
            return Err(NoRoute::Nameless);
        }
        Ok((self.provider(name)?, rest))
    }

    fn make(&self, name: &str) -> Result<Arc<Route>, NoRoute> {
        let (provider, host) = match name.split_once('@') {
            Some((provider, host)) => (provider, Some(host)),
            None => (name, None),
        };
        let profile = self.catalogue.get(provider).ok_or(NoRoute::Unknown)?;
        if profile.told().hosts.is_empty() {
            return Err(NoRoute::Unknown);
        }
        let authority = match host {
            Some(host) => named(&profile, host)?,
            None => only(&profile)?,
        };
        let uri: Result<Uri, _> = format!("https://{authority}/").parse();
        let base = uri.ok().and_then(|uri| Base::of(&uri).ok());
        let base = base.ok_or(NoRoute::Unknown)?;
        let mut route = Route::new(name.into(), base, Way::Public, None);
        route.path_is_secret = profile.told().credential.segment.is_some();
        let route = Arc::new(route);
        let mut known = self.known.write();
        if known.len() < KNOWN {
            known.insert(name.into(), Arc::clone(&route));
        }
        Ok(route)
    }
}

/// The host that a caller named with a provider, where it is one of the provider's.
fn named(profile: &Profile, authority: &str) -> Result<String, NoRoute> {
    let foreign = || NoRoute::Foreign {
        host: authority.to_owned(),
    };
    let parsed: http::uri::Authority = authority.parse().map_err(|_| foreign())?;
    if authority.contains('@') || parsed.host().is_empty() {
        return Err(foreign());
    }
    let port = parsed.port_u16().unwrap_or(443);
    let mut hosts = profile.told().hosts.iter().filter_map(|h| Host::parse(h));
    match hosts.any(|h| h.matches(parsed.host(), port)) {
        true => Ok(authority.to_owned()),
        false => Err(foreign()),
    }
}

/// The host of a provider that nobody had to name: its first.
fn only(profile: &Profile) -> Result<String, NoRoute> {
    let hosts = &profile.told().hosts;
    let first = hosts.iter().find(|h| !h.starts_with("*."));
    first.cloned().ok_or_else(|| {
        let below = hosts.first().map_or("", |h| h.trim_start_matches("*."));
        NoRoute::Hostless {
            example: format!("{}@HOST.{below}", profile.name()),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn routes() -> Routes {
        let own = Upstream::new("shop", "http://127.0.0.1:9000/v1/".parse().unwrap());
        Routes::new(Arc::new(Catalogue::built_in()), &[own], &[], |_| false).unwrap()
    }

    fn asked(path: &str) -> Result<String, NoRoute> {
        let routes = routes();
        let (route, rest) = routes.find(path)?;
        Ok(route.base.uri(rest).unwrap().to_string())
    }

    #[test]
    fn a_name_in_front_of_the_path_is_the_provider() {
        let of = |path| asked(path).unwrap();
        assert_eq!(
            of("/github/repos/rust-lang/rust?page=2"),
            "https://api.github.com/repos/rust-lang/rust?page=2"
        );
        assert_eq!(of("/github"), "https://api.github.com/");
        assert_eq!(of("/github?a=b"), "https://api.github.com/?a=b");
        assert_eq!(of("/shop/x%2Fy//z"), "http://127.0.0.1:9000/v1/x%2Fy//z");
        assert_eq!(of("/shop"), "http://127.0.0.1:9000/v1");
    }

    #[test]
    fn one_of_many_hosts_is_named_with_its_provider() {
        assert_eq!(
            asked("/shopify@shop.myshopify.com/admin").unwrap(),
            "https://shop.myshopify.com/admin"
        );
        let Err(NoRoute::Hostless { example }) = asked("/shopify/admin") else {
            panic!("a shop must be named");
        };
        assert!(example.starts_with("shopify@HOST."), "{example}");
    }

    #[test]
    fn no_other_host_is_reached_by_naming_it() {
        for path in [
            "/shopify@evil.example/x",
            "/shopify@127.0.0.1/x",
            "/github@evil.example/x",
            "/github@u:p@api.github.com/x",
            "/github@/x",
        ] {
            assert!(
                matches!(asked(path), Err(NoRoute::Foreign { .. })),
                "{path}"
            );
        }
        assert_eq!(asked("/nobody/x"), Err(NoRoute::Unknown));
        assert_eq!(asked("/generic/x"), Err(NoRoute::Unknown));
        assert_eq!(asked("//x"), Err(NoRoute::Nameless));
        assert_eq!(asked("*"), Err(NoRoute::Nameless));
    }
}
