//! Where a provider is asked, and how.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use abide::TlsIdentity;
use abide_config::{Credential, Secret};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::{HeaderName, HeaderValue, Uri};
use percent_encoding::percent_decode_str;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use url::Url;

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
    /// Every host of the provider may be of an inner network. Default no: a name that anybody can
    /// point anywhere would lead there.
    pub private: bool,
    /// How long a body may stand still, where that is not the gateway's own.
    pub body_idle: Option<Duration>,
}

/// What is special about the way to a provider.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Transport {
    /// Certificate authorities trusted beside the platform's.
    pub roots: Vec<CertificateDer<'static>>,
    /// Certificates by which the gateway is known there, and their key.
    pub identity: Option<Arc<TlsIdentity>>,
    /// An HTTP proxy on the way: without a name or password, which are in `proxy_auth`.
    pub proxy: Option<Uri>,
    /// How we are known to the proxy (`Proxy-Authorization`).
    pub proxy_auth: Option<HeaderValue>,
    /// How long a connection may take, where that is not the gateway's own.
    pub connect: Option<Duration>,
    /// From a request to the head of its answer, where that is not the gateway's own.
    pub head: Option<Duration>,
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
            private: false,
            body_idle: None,
        }
    }

    /// As a configuration says it; its files and variables are read.
    pub(super) fn read(provider: &str, told: &abide_config::Upstream) -> Result<Self, BadSetting> {
        let bad = |what: String| BadSetting::of(provider, what);
        let uri = |url: &str| {
            let shown = || abide_config::without_secrets(url);
            url.parse().map_err(|e| bad(format!("{}: {e}", shown())))
        };
        let mut upstream = Self::new(provider, uri(told.url().as_str())?);
        upstream.aliases.clone_from(&told.aliases);
        (upstream.private, upstream.body_idle) = (told.private, told.body_idle);
        (upstream.transport.connect, upstream.transport.head) = (told.connect, told.head);
        if let Some(proxy) = &told.proxy {
            let (url, auth) = known_to(proxy.url());
            upstream.transport.proxy = Some(uri(url.as_str())?);
            upstream.transport.proxy_auth = auth;
        }
        let certs = |path: &String| {
            let all = CertificateDer::pem_file_iter(path);
            let all = all.and_then(Iterator::collect::<Result<Vec<_>, _>>);
            all.map_err(|e| bad(format!("{path}: {e}")).because_of_outside())
        };
        if let Some(path) = &told.ca {
            upstream.transport.roots = certs(path)?;
        }
        if let (Some(cert), Some(path)) = (&told.cert, &told.key) {
            let key = PrivateKeyDer::from_pem_file(path);
            let key = key.map_err(|e| bad(format!("{path}: {e}")).because_of_outside())?;
            upstream.transport.identity = Some(Arc::new((certs(cert)?, key)));
        }
        upstream.credential = match &told.credential {
            Some(credential) => Some(read_credential(provider, credential)?),
            None => None,
        };
        Ok(upstream)
    }
}

/// The address of a proxy without its name and password, and these as the proxy is to be shown them.
fn known_to(proxy: &Url) -> (Url, Option<HeaderValue>) {
    let mut bare = proxy.clone();
    // An address with a host can be without either.
    let _ = (bare.set_username(""), bare.set_password(None));
    if proxy.username().is_empty() && proxy.password().is_none() {
        return (bare, None);
    }
    let mut pair: Vec<u8> = percent_decode_str(proxy.username()).collect();
    pair.push(b':');
    pair.extend(percent_decode_str(proxy.password().unwrap_or_default()));
    let value = format!("Basic {}", BASE64_STANDARD.encode(pair));
    let mut value = HeaderValue::try_from(value).ok();
    if let Some(value) = &mut value {
        value.set_sensitive(true);
    }
    (bare, value)
}

/// Errors name the place of a secret, never the secret.
fn read_credential(
    provider: &str,
    told: &Credential,
) -> Result<(HeaderName, HeaderValue), BadSetting> {
    let bad = |what: String| BadSetting::of(provider, what);
    let (secret, place) = match &told.from {
        Secret::Env(name) => {
            let value = std::env::var(name);
            let value = value.map_err(|_| bad(format!("the variable {name} is not set")));
            (value?, format!("the variable {name}"))
        }
        Secret::File(path) => {
            let text = fs::read_to_string(path);
            let text = text.map_err(|e| bad(format!("{path}: {e}")).because_of_outside());
            (text?, path.clone())
        }
    };
    let name = HeaderName::try_from(&told.header)
        .map_err(|_| bad(format!("{:?} is no name of a header", told.header)))?;
    let value = HeaderValue::try_from(format!("{}{}", told.prefix, secret.trim()));
    let mut value = value.map_err(|_| bad(format!("{place} holds what no header can carry")))?;
    value.set_sensitive(true);
    Ok((name, value))
}
