//! What an address shows of itself, whether it came as a URL or as a URI, and whose it is.
//!
//! A URL was normalised when it was parsed; the host of a URI is as its caller wrote it, so it is
//! normalised before the catalogue is asked, and the provider found is remembered by what was
//! written.

use std::fmt::Write as _;
use std::sync::Arc;

use abide_profile::Profile;
#[cfg(feature = "layer")]
use http::{HeaderMap, Uri, header, uri::Authority};
use url::Url;

use crate::shared::Shared;

/// What an address shows of itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    /// Its host. The dot of a fully qualified name makes no other provider of it.
    pub(crate) host: &'a str,
    /// Its port, where that is not the scheme's own.
    pub(crate) port: Option<u16>,
    /// Its port.
    pub(crate) effective: u16,
    pub(crate) path: &'a str,
    pub(crate) query: Option<&'a str>,
    pub(crate) user: &'a str,
    pub(crate) password: Option<&'a str>,
}

impl<'a> Place<'a> {
    /// `None` for a URL without a host.
    pub(crate) fn of_url(url: &'a Url) -> Option<Self> {
        Some(Self {
            host: without_dot(url.host_str()?),
            port: url.port(),
            effective: url.port_or_known_default().unwrap_or(0),
            path: url.path(),
            query: url.query(),
            user: url.username(),
            password: url.password(),
        })
    }

    /// The host of a request may stand in its URI or, where that is only a path, in its `Host`.
    /// `None` where it stands in neither.
    #[cfg(feature = "layer")]
    pub(crate) fn of_uri(uri: &'a Uri, headers: &'a HeaderMap) -> Option<Self> {
        let own = match uri.scheme_str() {
            Some("http" | "ws") => 80,
            _ => 443,
        };
        let (user, host, port) = match uri.authority() {
            // Most are a name and nothing else.
            Some(authority) if is_bare(authority.as_str()) => (None, authority.as_str(), None),
            Some(authority) => {
                let user = authority.as_str().rsplit_once('@').map(|(user, _)| user);
                (user, authority.host(), authority.port_u16())
            }
            None => {
                let told = headers.get(header::HOST)?.to_str().ok()?;
                let (host, port) = host_and_port(told)?;
                (None, host, port)
            }
        };
        if host.is_empty() {
            return None;
        }
        let (user, password) = match user.map(|user| (user, user.split_once(':'))) {
            Some((_, Some((user, password)))) => (user, Some(password)),
            Some((user, None)) => (user, None),
            None => ("", None),
        };
        Some(Self {
            host: without_dot(host),
            port: port.filter(|p| *p != own),
            effective: port.unwrap_or(own),
            path: uri.path(),
            query: uri.query(),
            user,
            password,
        })
    }

    /// The host as a URL would have it: a name in lower case and in ASCII, an address in its one
    /// form.
    pub(crate) fn normal_host(&self) -> Option<String> {
        let host = url::Host::parse(self.host).ok()?.to_string();
        Some(host)
    }

    /// The generic provider's name of an origin.
    fn name(&self) -> String {
        let mut name = self.host.to_owned();
        if let Some(port) = self.port {
            let _ = write!(name, ":{port}");
        }
        name
    }

    /// The host of a provider that has several, as its breaker is named.
    pub(crate) fn authority(&self) -> String {
        self.name()
    }

    /// The provider of an address and its profile: a configured one, one of the catalogue, or the
    /// origin itself. With it whether several hosts answer for it.
    pub(crate) fn provider(&self, shared: &Shared) -> (String, Arc<Profile>, bool) {
        let (host, port) = (self.host, self.effective);
        let known = || shared.catalogue.find(host, port, self.path);
        if let Some(named) = shared.namer.as_ref().and_then(|namer| namer(host, port)) {
            let (several, told) = (named.several_hosts, named.profile.as_deref());
            let told = told.unwrap_or(&named.provider);
            if let Some(profile) = shared.catalogue.get(told) {
                return (named.provider, profile, several);
            }
            return match known() {
                // Of several services of one host each has limits and words of its own.
                Some(p) if !p.told().paths.is_empty() => {
                    (format!("{}+{}", named.provider, p.name()), p, several)
                }
                Some(p) => (named.provider, p, several),
                None => (named.provider, shared.catalogue.generic(), several),
            };
        }
        match known() {
            Some(profile) => {
                let (name, several) = (profile.provider(host), profile.has_several_hosts());
                let told = own_profile(shared, &name).unwrap_or(profile);
                (name, told, several)
            }
            None => (self.name(), shared.catalogue.generic(), false),
        }
    }
}

/// The profile that the configuration gives a provider which the catalogue found by its address.
fn own_profile(shared: &Shared, name: &str) -> Option<Arc<Profile>> {
    let section = name.split(['@', '+']).next()?;
    let told = shared.profiler.as_ref()?(section)?;
    shared.catalogue.get(&told)
}

/// Whether an authority has neither user nor port, and is no address in brackets.
#[cfg(feature = "layer")]
fn is_bare(authority: &str) -> bool {
    !authority.bytes().any(|b| matches!(b, b'@' | b':' | b'['))
}

fn without_dot(host: &str) -> &str {
    host.strip_suffix('.').unwrap_or(host)
}

/// The parts of a `Host`; `None` when it is none.
#[cfg(feature = "layer")]
fn host_and_port(told: &str) -> Option<(&str, Option<u16>)> {
    // Whoever writes a user there means something else than a host.
    if told.contains('@') || Authority::try_from(told).is_err() {
        return None;
    }
    match told.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => Some((host, Some(port.parse().ok()?))),
        _ => Some((told, None)),
    }
}

#[cfg(feature = "layer")]
#[cfg(test)]
mod tests {
    use super::*;

    fn headers(host: &str) -> HeaderMap {
        [(header::HOST, host.parse().unwrap())]
            .into_iter()
            .collect()
    }

    #[test]
    fn a_uri_shows_what_its_url_does() {
        for text in [
            "https://a.example/x/y?z=1",
            "http://a.example:443/",
            "https://a.example:443/",
            "http://u:p@a.example:8080/x",
            "http://u@a.example./x",
            "http://[::1]:8080/x",
        ] {
            let (uri, url) = (text.parse().unwrap(), Url::parse(text).unwrap());
            let none = HeaderMap::new();
            let (a, b) = (Place::of_uri(&uri, &none), Place::of_url(&url));
            assert_eq!(format!("{a:?}"), format!("{b:?}"), "{text}");
        }
    }

    #[test]
    fn a_path_alone_needs_a_host_beside_it() {
        let uri: Uri = "/x".parse().unwrap();
        assert!(Place::of_uri(&uri, &HeaderMap::new()).is_none());
        let beside = headers("a.example:8080");
        let place = Place::of_uri(&uri, &beside).unwrap();
        assert_eq!((place.host, place.port), ("a.example", Some(8080)));
        let v6 = headers("[::1]");
        assert_eq!(Place::of_uri(&uri, &v6).unwrap().host, "[::1]");
        for wrong in ["", "u@a.example", "a b", "a:x", ":80"] {
            assert!(Place::of_uri(&uri, &headers(wrong)).is_none(), "{wrong:?}");
        }
    }

    #[test]
    fn a_host_has_one_form() {
        let normal = |host| {
            let uri: Uri = format!("http://{host}/").parse().unwrap();
            let none = HeaderMap::new();
            Place::of_uri(&uri, &none).unwrap().normal_host()
        };
        assert_eq!(normal("A.Example").as_deref(), Some("a.example"));
        assert_eq!(normal("127.1").as_deref(), Some("127.0.0.1"));
        assert_eq!(normal("[::0:1]").as_deref(), Some("[::1]"));
    }
}
