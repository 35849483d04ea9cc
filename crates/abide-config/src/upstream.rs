//! Where a provider is asked, in words of the file.

use abide_profile::Host;
use url::Url;

use crate::error::Origin;

/// What an upstream looks like.
pub(crate) const UPSTREAM: &str =
    "an address as \"https://api.example.org/v1\" (no query, no name or password)";

/// Where a provider is asked by a gateway.
#[derive(Clone, Debug, PartialEq)]
pub struct Upstream {
    pub(crate) url: Url,
    pub(crate) host: Host,
    pub(crate) origin: Origin,
}

impl Upstream {
    pub(crate) fn parse(text: &str, origin: Origin) -> Result<Self, String> {
        let wrong = || format!("upstream: expected {UPSTREAM}, found {text:?}");
        let url = Url::parse(text).map_err(|_| wrong())?;
        let plain = matches!(url.scheme(), "http" | "https")
            && url.username().is_empty()
            && url.password().is_none()
            && url.query().is_none()
            && url.fragment().is_none();
        if !plain {
            return Err(wrong());
        }
        let port = url.port_or_known_default().ok_or_else(wrong)?;
        let host = format!("{}:{port}", url.host_str().ok_or_else(wrong)?);
        Ok(Self {
            host: Host::parse(&host).ok_or_else(wrong)?,
            url,
            origin,
        })
    }

    /// The address.
    pub const fn url(&self) -> &Url {
        &self.url
    }
}
