//! Whom a proxy's caller means, and by which way he is reached.
//!
//! A host that belongs to a provider of the configuration is reached by that provider's way: through
//! its proxy, with its authorities and certificates. Its credential goes to the address that the
//! operator wrote it down for, and nowhere else. Where a name leads into an inner network is his to
//! say as well: by that address, by an address in place of a name, or by `private`; that a pattern
//! or a rate names it says nothing of where it may lead.

use std::net::IpAddr;

use abide::Listed;
use http::Uri;
use http::uri::Authority;

use crate::gateway::Gateway;
use crate::route::{Base, Route, Way};
use crate::settings::Upstream;
use crate::upstream::Reach;

/// How a host that was asked for is reached.
pub(super) struct Proxied<'a> {
    /// What the configuration says of its provider.
    pub(super) upstream: Option<&'a Upstream>,
    pub(super) reach: Reach,
}

impl<'a> Proxied<'a> {
    pub(super) fn of(gateway: &'a Gateway, listed: &Listed, to: &Authority, port: u16) -> Self {
        let settings = gateway.settings();
        let upstream = settings.upstream_of(&listed.provider);
        let upstream = upstream.filter(|_| listed.configured);
        let written = || {
            let at = upstream?.base.authority()?;
            let theirs = port_of(&upstream?.base)?;
            Some(at.host().eq_ignore_ascii_case(to.host()) && theirs == port)
        };
        let private = upstream.is_some_and(|u| u.private);
        let named = private || written() == Some(true) || is_an_address(to.host());
        let reach = match listed.configured && named {
            true if settings.reach_inner => Reach::Anywhere,
            true => Reach::Named,
            false => settings.outer_reach(),
        };
        Self { upstream, reach }
    }

    /// The route to it.
    pub(super) fn route(&self, listed: Listed, base: Base) -> Route {
        let named = self.reach == Reach::Named;
        let own = self.upstream.filter(|u| !u.transport.is_plain());
        let is_theirs = |u: &&Upstream| {
            u.base.scheme() == Some(&base.scheme)
                && u.base
                    .host()
                    .is_some_and(|h| h.eq_ignore_ascii_case(base.authority.host()))
                && port_of(&u.base) == base.authority.port_u16().or_else(|| standard(&base.scheme))
        };
        let way = match own.map(|u| u.provider.as_str().into()) {
            Some(name) if named => Way::Own(name),
            Some(name) => Way::OwnPublic(name),
            None if named => Way::Named,
            None => Way::Public,
        };
        let credential = self
            .upstream
            .filter(is_theirs)
            .and_then(|u| u.credential.clone());
        let mut route = Route::new(listed.provider.into(), base, way, credential);
        route.body_idle = self.upstream.and_then(|u| u.body_idle);
        route
    }
}

/// The port of an address.
pub(super) fn port_of(uri: &Uri) -> Option<u16> {
    uri.port_u16().or_else(|| standard(uri.scheme()?))
}

fn standard(scheme: &http::uri::Scheme) -> Option<u16> {
    match scheme.as_str() {
        "http" => Some(80),
        "https" => Some(443),
        _ => None,
    }
}

/// An address as it is, or this machine's own name: nobody else can point it elsewhere.
fn is_an_address(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    bare.parse::<IpAddr>().is_ok() || bare.eq_ignore_ascii_case("localhost")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use abide::core::call::CallPolicy;
    use abide::store::Memory;
    use abide_config::{Setup, Use};

    use super::*;
    use crate::Log;
    use crate::settings::Settings;

    fn gateway(inner: bool) -> Gateway {
        let text = "
            [providers.wild]
            hosts = [\"*.nip.io\", \"rated.example\", \"127.0.0.1:9000\", \"localhost:9000\"]
            [providers.told]
            hosts = [\"*.told.example\"]
            upstream = \"http://inner.told.example:8080/v1\"
            [providers.private]
            hosts = [\"*.private.example\"]
            upstream = { url = \"https://private.example\", private = true }
        ";
        let setup = Setup::from_text("abide.toml", text, Use::Gateway).unwrap();
        let mut settings = Settings::read(setup.config()).unwrap();
        settings.reach_inner = inner;
        let store = Arc::new(Memory::new([7; 32]));
        let governor = setup.governor().store(store).build().unwrap();
        Gateway::new(settings, governor, CallPolicy::default(), Log::none()).unwrap()
    }

    fn reach(gateway: &Gateway, url: &str) -> Reach {
        let uri: Uri = url.parse().unwrap();
        let listed = gateway.governor().listed(&uri).unwrap();
        let authority = uri.authority().unwrap();
        Proxied::of(gateway, &listed, authority, port_of(&uri).unwrap()).reach
    }

    #[test]
    fn gw_only_what_the_operator_wrote_down_leads_into_an_inner_network() {
        let gateway = gateway(false);
        for (url, expected) in [
            ("http://10.0.0.1.nip.io/", Reach::Public),
            ("http://rated.example/", Reach::Public),
            ("http://127.0.0.1:9000/", Reach::Named),
            ("http://localhost:9000/", Reach::Named),
            ("http://127.0.0.1:9001/", Reach::Public),
            ("http://localhost:9001/", Reach::Public),
            ("http://inner.told.example:8080/", Reach::Named),
            ("http://inner.told.example:22/", Reach::Public),
            ("http://other.told.example:8080/", Reach::Public),
            ("https://any.private.example/", Reach::Named),
            ("https://api.github.com/", Reach::Public),
            ("https://unlisted.example/", Reach::Public),
        ] {
            assert_eq!(reach(&gateway, url), expected, "{url}");
        }
    }

    #[test]
    fn gw_a_childs_own_gateway_reaches_what_the_child_could() {
        let gateway = gateway(true);
        for url in ["http://intranet.corp/", "http://127.0.0.1:9000/"] {
            assert_eq!(reach(&gateway, url), Reach::Anywhere, "{url}");
        }
    }
}
