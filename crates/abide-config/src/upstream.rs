//! Where a provider is asked, and how: an address alone, or a section.
//!
//! ```toml
//! [providers.shop.upstream]
//! url = "https://api.shop.example/v1"
//! credential = { env = "SHOP_TOKEN", prefix = "Bearer " }
//! ```

use std::ops::Range;
use std::time::Duration;

use abide_profile::Host;
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use url::Url;

use crate::error::Origin;
use crate::lookup::meant;
use crate::private::{Proxy, without_secrets};
use crate::units::duration;

/// What an upstream looks like.
const LOOKS: &str = "an address as \"https://api.example.org/v1\" (no query, no name or password)";

/// Where a provider is asked by a gateway.
#[derive(Clone, Debug, PartialEq)]
pub struct Upstream {
    pub(crate) url: Url,
    pub(crate) host: Host,
    pub(crate) origin: Origin,
    /// Put into every request, so that callers need not hold it.
    pub credential: Option<Credential>,
    /// A file of certificate authorities, trusted beside the platform's.
    pub ca: Option<String>,
    /// A file of certificates by which we are known, with `key`.
    pub cert: Option<String>,
    /// The key of `cert`.
    pub key: Option<String>,
    /// An HTTP proxy on the way, as `http://proxy.example:3128`.
    pub proxy: Option<Proxy>,
    /// Every host of the provider may be of an inner network; otherwise only the address here may.
    pub private: bool,
    /// How long a connection to it may take, in place of the gateway's `connect`.
    pub connect: Option<Duration>,
    /// From a request to the head of its answer, in place of the gateway's `head`.
    pub head: Option<Duration>,
    /// How long a body may stand still, in place of the gateway's `body_idle`.
    pub body_idle: Option<Duration>,
    /// Hosts by which callers name the provider in place of a path.
    pub aliases: Vec<String>,
}

/// A credential that the gateway puts into requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credential {
    /// The header. Default `authorization`.
    pub header: String,
    /// Before the secret, as `Bearer `.
    pub prefix: String,
    /// Where the secret is.
    pub from: Secret,
}

/// Where a secret is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Secret {
    /// In a variable of the environment.
    Env(String),
    /// In a file.
    File(String),
}

/// What is wrong, where, and what was probably meant.
pub(crate) type Wrong = (Range<usize>, String, Option<String>);

const KEYS: [&str; 11] = [
    "aliases",
    "body_idle",
    "ca",
    "cert",
    "connect",
    "credential",
    "head",
    "key",
    "private",
    "proxy",
    "url",
];

/// As the gateway's own times.
const TIMES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(3_600));

impl Upstream {
    pub(crate) fn parse(text: &str, origin: Origin) -> Result<Self, String> {
        let wrong = || {
            let found = without_secrets(text);
            format!("upstream: expected {LOOKS}, found {found:?}")
        };
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
            credential: None,
            ca: None,
            cert: None,
            key: None,
            proxy: None,
            private: false,
            connect: None,
            head: None,
            body_idle: None,
            aliases: Vec::new(),
        })
    }

    /// The same provider at another address; all else stays as it is.
    pub(crate) fn moved_to(&mut self, other: Self) {
        (self.url, self.host, self.origin) = (other.url, other.host, other.origin);
    }

    /// Reads an address, or a section.
    pub(crate) fn read(
        value: &Spanned<DeValue<'_>>,
        origin: impl Fn(&Range<usize>) -> Origin,
    ) -> Result<Self, Wrong> {
        let at = |span: Range<usize>| move |why| (span, why, None);
        let table = match value.get_ref() {
            DeValue::String(text) => {
                let parsed = Self::parse(text, origin(&value.span()));
                return parsed.map_err(at(value.span()));
            }
            DeValue::Table(table) => table,
            _ => {
                let why = format!("upstream: expected {LOOKS}, or a section with `url`");
                return Err((value.span(), why, None));
            }
        };
        for key in table.keys() {
            unknown("upstream", key, &KEYS)?;
        }
        let Some(url) = table.get("url") else {
            let why = "upstream: a section needs `url`".to_owned();
            return Err((value.span(), why, None));
        };
        let mut made =
            Self::parse(text("url", url)?, origin(&url.span())).map_err(at(url.span()))?;
        made.ca = optional(table, "ca")?;
        made.cert = optional(table, "cert")?;
        made.key = optional(table, "key")?;
        if made.cert.is_some() != made.key.is_some() {
            let why = "upstream: `cert` and `key` need each other".to_owned();
            return Err((value.span(), why, None));
        }
        if let Some(proxy) = table.get("proxy") {
            let told = text("proxy", proxy)?;
            let url = Url::parse(told).ok();
            let url = url.filter(|u| u.scheme() == "http" && u.has_host());
            made.proxy = Some(Proxy::new(url.ok_or_else(|| {
                let found = without_secrets(told);
                let why = format!(
                    "proxy: expected an address as \"http://proxy.example:3128\", found {found:?}"
                );
                (proxy.span(), why, None)
            })?));
        }
        if let Some(private) = table.get("private") {
            made.private = private.get_ref().as_bool().ok_or_else(|| {
                let why = "private: expected true or false".to_owned();
                (private.span(), why, None)
            })?;
        }
        made.connect = time(table, "connect")?;
        made.head = time(table, "head")?;
        made.body_idle = time(table, "body_idle")?;
        if let Some(aliases) = table.get("aliases") {
            let all = aliases.get_ref().as_array().ok_or_else(|| {
                let why = "aliases: expected a list of hosts as [\"shop.localhost\"]".to_owned();
                (aliases.span(), why, None)
            })?;
            for alias in all {
                let told = text("aliases", alias)?;
                if Host::parse(told).is_none_or(|h| h.is_below()) {
                    let why = format!("aliases: {told:?} is no host as \"shop.localhost\"");
                    return Err((alias.span(), why, None));
                }
                made.aliases.push(told.to_ascii_lowercase());
            }
        }
        if let Some(credential) = table.get("credential") {
            made.credential = Some(read_credential(credential)?);
        }
        Ok(made)
    }

    /// The address.
    pub const fn url(&self) -> &Url {
        &self.url
    }

    /// Where it was said.
    pub const fn origin(&self) -> &Origin {
        &self.origin
    }
}

fn read_credential(value: &Spanned<DeValue<'_>>) -> Result<Credential, Wrong> {
    const LOOKS: &str = "{ env = \"SHOP_TOKEN\" } or { file = \"/run/secrets/shop\" }, perhaps with \
                         `header` and `prefix`";
    let wrong = || (value.span(), format!("credential: expected {LOOKS}"), None);
    let table = value.get_ref().as_table().ok_or_else(wrong)?;
    for key in table.keys() {
        unknown("credential", key, &["env", "file", "header", "prefix"])?;
    }
    let from = match (optional(table, "env")?, optional(table, "file")?) {
        (Some(name), None) => Secret::Env(name),
        (None, Some(path)) => Secret::File(path),
        _ => return Err(wrong()),
    };
    let header = optional(table, "header")?.unwrap_or_else(|| "authorization".to_owned());
    let prefix = optional(table, "prefix")?.unwrap_or_default();
    Ok(Credential {
        header,
        prefix,
        from,
    })
}

/// A key that nobody knows.
pub(crate) fn unknown(
    section: &str,
    key: &Spanned<std::borrow::Cow<'_, str>>,
    known: &[&str],
) -> Result<(), Wrong> {
    let name = key.get_ref().as_ref();
    if known.contains(&name) {
        return Ok(());
    }
    let help = meant(name, known.iter().copied());
    let help = help.map(|near| format!("did you mean {near:?}?"));
    let name: String = name.chars().take(40).collect();
    Err((key.span(), format!("{section}: unknown key {name:?}"), help))
}

pub(crate) fn text<'a>(key: &str, value: &'a Spanned<DeValue<'_>>) -> Result<&'a str, Wrong> {
    let told = value.get_ref().as_str();
    let told = told.filter(|t| !t.is_empty() && !t.chars().any(char::is_control));
    told.ok_or_else(|| (value.span(), format!("{key}: expected a text"), None))
}

fn time(table: &DeTable<'_>, key: &str) -> Result<Option<Duration>, Wrong> {
    let Some(value) = table.get(key) else {
        return Ok(None);
    };
    let told = value.get_ref().as_str().and_then(duration);
    let fits = told.filter(|t| (TIMES.0..=TIMES.1).contains(t));
    let why = || format!("{key}: expected a time from 1s to 1h, as \"30s\"");
    fits.map(Some).ok_or_else(|| (value.span(), why(), None))
}

pub(crate) fn optional(table: &DeTable<'_>, key: &str) -> Result<Option<String>, Wrong> {
    let value = table.get(key);
    let told = value.map(|value| text(key, value).map(str::to_owned));
    told.transpose()
}
