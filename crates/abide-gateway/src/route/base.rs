//! The address in front of every request of a provider.

use http::Uri;
use http::uri::{Authority, PathAndQuery, Scheme};

/// Where a provider is asked.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Base {
    pub(crate) scheme: Scheme,
    pub(crate) authority: Authority,
    /// In front of every path, without a slash at its end.
    pub(crate) prefix: Box<str>,
}

/// Why an address is none of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadBase {
    /// Neither http nor https.
    #[error("it must begin with http:// or https://")]
    Scheme,
    /// A name and password.
    #[error("it must not hold a name or password: give a credential")]
    User,
    /// A query.
    #[error("it must not have a query")]
    Query,
    /// No host.
    #[error("it names no host")]
    Host,
}

/// Whether a path has a segment that leads upwards, however it is written.
fn climbs(rest: &str) -> bool {
    let path = rest.split(['?', '#']).next().unwrap_or_default();
    if !path.contains("..") && !path.contains('%') {
        return false;
    }
    path.split(['/', '\\']).any(|segment| {
        let plain = segment.to_ascii_lowercase().replace("%2e", ".");
        plain.split("%2f").any(|s| s == "..") || plain.split("%5c").any(|s| s == "..")
    })
}

impl Base {
    /// Reads an address.
    pub(crate) fn of(uri: &Uri) -> Result<Self, BadBase> {
        let scheme = match uri.scheme() {
            Some(s) if *s == Scheme::HTTP || *s == Scheme::HTTPS => s.clone(),
            _ => return Err(BadBase::Scheme),
        };
        let authority = uri.authority().ok_or(BadBase::Host)?;
        if authority.as_str().contains('@') {
            return Err(BadBase::User);
        }
        if authority.host().is_empty() {
            return Err(BadBase::Host);
        }
        if uri.query().is_some() {
            return Err(BadBase::Query);
        }
        Ok(Self {
            scheme,
            authority: authority.clone(),
            prefix: uri.path().trim_end_matches('/').into(),
        })
    }

    /// The address of a request, of what is left of its path and query. `None` where that is no
    /// path.
    pub(crate) fn uri(&self, rest: &str) -> Option<Uri> {
        // Whoever is asked below a path is asked nowhere else: a credential may be for that alone.
        if !self.prefix.is_empty() && climbs(rest) {
            return None;
        }
        let path = match (rest.as_bytes().first(), self.prefix.is_empty()) {
            (Some(b'/'), true) => PathAndQuery::try_from(rest),
            (None, true) => Ok(PathAndQuery::from_static("/")),
            (Some(b'?'), true) => PathAndQuery::try_from(format!("/{rest}")),
            _ => PathAndQuery::try_from(format!("{}{rest}", self.prefix)),
        };
        let mut parts = http::uri::Parts::default();
        parts.scheme = Some(self.scheme.clone());
        parts.authority = Some(self.authority.clone());
        parts.path_and_query = Some(path.ok()?);
        Uri::from_parts(parts).ok()
    }

    /// What of an address is left for a path of this base; `None` where it leads elsewhere.
    pub(crate) fn rest<'a>(&self, address: &'a str) -> Option<&'a str> {
        let rest = strip(address, self.scheme.as_str())?.strip_prefix("://")?;
        let rest = strip(rest, self.authority.as_str())?;
        let rest = rest.strip_prefix(&*self.prefix)?;
        // api.example is not api.example.org.
        matches!(rest.as_bytes().first(), None | Some(b'/' | b'?' | b'#')).then_some(rest)
    }
}

fn strip<'a>(text: &'a str, front: &str) -> Option<&'a str> {
    let (begin, rest) = text.split_at_checked(front.len())?;
    begin.eq_ignore_ascii_case(front).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gw_nothing_above_the_path_of_a_provider_is_asked() {
        let base = |url: &str| Base::of(&url.parse().unwrap()).unwrap();
        let below = base("https://api.shop.example/v1");
        for above in [
            "/../admin",
            "/x/..",
            "/%2E%2e/a",
            "/a%2f..%2Fb",
            "/..\\a",
            "/.%2e?x",
        ] {
            assert_eq!(below.uri(above), None, "{above}");
        }
        for fine in ["/a..b", "/x?to=../y", "/%2e", "/...", "/."] {
            assert!(below.uri(fine).is_some(), "{fine}");
        }
        assert!(base("https://api.shop.example").uri("/../x").is_some());
    }
}
