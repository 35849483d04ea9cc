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
