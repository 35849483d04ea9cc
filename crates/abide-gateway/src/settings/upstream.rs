//! Where a provider is asked, and how.

use std::fs;
use std::sync::Arc;

use abide::TlsIdentity;
use abide_config::{Credential, Secret};
use http::{HeaderName, HeaderValue, Uri};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::read::BadSetting;

/// Where a provider is asked, and how.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Upstream {
    /// The provider.
    pub provider: String,
    /// `http://` or `https://`, a host, perhaps a port and a path in front of every request's.
    pub base: Uri,
    /// Hosts by which callers name it in place of a path.
    pub aliases: Vec<String>,
    /// Put into every request, in place of what the caller has there.
    pub credential: Option<(HeaderName, HeaderValue)>,
    /// What is special about the way there.
    pub transport: Transport,
}

/// What is special about the way to a provider.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Transport {
    /// Certificate authorities trusted beside the platform's.
    pub roots: Vec<CertificateDer<'static>>,
    /// Certificates by which the gateway is known there, and their key.
    pub identity: Option<Arc<TlsIdentity>>,
    /// An HTTP proxy on the way.
    pub proxy: Option<Uri>,
}

impl Transport {
    /// Nothing is special about it.
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }
}

impl Upstream {
    /// A provider at an address.
    pub fn new(provider: impl Into<String>, base: Uri) -> Self {
        Self {
            provider: provider.into(),
            base,
            aliases: Vec::new(),
            credential: None,
            transport: Transport::default(),
        }
    }

    /// As a configuration says it; its files and variables are read.
    pub(super) fn read(provider: &str, told: &abide_config::Upstream) -> Result<Self, BadSetting> {
        let bad = |what: String| BadSetting::of(provider, what);
        let uri = |url: &str| url.parse().map_err(|e| bad(format!("{url}: {e}")));
        let mut upstream = Self::new(provider, uri(told.url().as_str())?);
        upstream.aliases.clone_from(&told.aliases);
        upstream.transport.proxy = match &told.proxy {
            Some(proxy) => Some(uri(proxy.as_str())?),
            None => None,
        };
        let certs = |path: &String| {
            let all = CertificateDer::pem_file_iter(path);
            let all = all.and_then(Iterator::collect::<Result<Vec<_>, _>>);
            all.map_err(|e| bad(format!("{path}: {e}")))
        };
        if let Some(path) = &told.ca {
            upstream.transport.roots = certs(path)?;
        }
        if let (Some(cert), Some(path)) = (&told.cert, &told.key) {
            let key = PrivateKeyDer::from_pem_file(path);
            let key = key.map_err(|e| bad(format!("{path}: {e}")))?;
            upstream.transport.identity = Some(Arc::new((certs(cert)?, key)));
        }
        upstream.credential = match &told.credential {
            Some(credential) => Some(read_credential(credential).map_err(bad)?),
            None => None,
        };
        Ok(upstream)
    }
}

/// Errors name the place of a secret, never the secret.
fn read_credential(told: &Credential) -> Result<(HeaderName, HeaderValue), String> {
    let (secret, place) = match &told.from {
        Secret::Env(name) => {
            let value = std::env::var(name).map_err(|_| format!("the variable {name} is not set"));
            (value?, format!("the variable {name}"))
        }
        Secret::File(path) => {
            let text = fs::read_to_string(path).map_err(|e| format!("{path}: {e}"));
            (text?, path.clone())
        }
    };
    let name = HeaderName::try_from(&told.header)
        .map_err(|_| format!("{:?} is no name of a header", told.header))?;
    let value = HeaderValue::try_from(format!("{}{}", told.prefix, secret.trim()));
    let mut value = value.map_err(|_| format!("{place} holds what no header can carry"))?;
    value.set_sensitive(true);
    Ok((name, value))
}
