//! From options and configuration to policies: flag, then environment, then file, then default.

use std::path::Path;
use std::sync::Arc;

use abide::run::BulkPolicy;
use abide::store::Store;
use abide::{Client, Governor};
use abide_config::{FetchPolicy, Flag, Use};
use anyhow::Context;
use http::HeaderMap;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use super::args::Args;
use super::input::header_pair;
use crate::exit::Usage;
use crate::knobs::number;

/// Everything the options come to.
pub(crate) struct Setup {
    pub(crate) bulk: BulkPolicy,
    pub(crate) headers: HeaderMap,
    setup: abide_config::Setup,
    fetch: FetchPolicy,
    roots: Vec<CertificateDer<'static>>,
    proxy: Option<reqwest::Proxy>,
}

fn usage(flag: &str, why: impl std::fmt::Display) -> anyhow::Error {
    Usage(format!("{flag}: {why}")).into()
}

impl Setup {
    pub(crate) fn new(args: &Args) -> anyhow::Result<Self> {
        if args.proxy.is_none() {
            env_proxies()?;
        }
        let config = crate::config::load(args.config.as_deref(), flags(args))?;
        let catalogue = crate::catalogue::load(None, &config)?;
        let fetch = config.fetch();
        let setup = crate::config::setup(config, catalogue, Use::Fetch)?;
        let mut bulk = setup.bulk();
        bulk.done = statuses(args.done_status.as_deref())?;
        Ok(Self {
            bulk,
            headers: headers(args)?,
            setup,
            fetch,
            roots: args
                .cacert
                .as_deref()
                .map(roots)
                .transpose()?
                .unwrap_or_default(),
            proxy: args.proxy.as_deref().map(proxy).transpose()?,
        })
    }

    pub(crate) fn governor(&self, store: Arc<dyn Store>) -> anyhow::Result<Governor> {
        Ok(self.setup.governor().store(store).build()?)
    }

    pub(crate) fn client(&self, governor: Governor) -> anyhow::Result<Client> {
        let mut http = reqwest::Client::builder()
            .user_agent(self.user_agent())
            .cookie_store(true)
            .connect_timeout(self.fetch.timeout)
            .read_timeout(self.fetch.timeout)
            // As many as may be on the wire: a connection thrown away is a handshake wasted.
            .pool_max_idle_per_host(self.bulk.wire);
        if let Some(proxy) = &self.proxy {
            http = http.proxy(proxy.clone());
        }
        let client = Client::builder()
            .roots(self.roots.clone())
            .http(http)
            .governor(governor)
            .max_redirects(self.fetch.max_redirects)
            .build()?;
        Ok(client)
    }

    /// Whether the run says nothing of whom to write to.
    pub(crate) const fn is_anonymous(&self) -> bool {
        self.fetch.user_agent.is_none() && self.fetch.contact.is_none()
    }

    fn user_agent(&self) -> String {
        let own = concat!("abide/", env!("CARGO_PKG_VERSION"));
        match (&self.fetch.user_agent, &self.fetch.contact) {
            (Some(text), _) => text.clone(),
            (None, Some(contact)) => format!("{own} ({contact})"),
            (None, None) => own.to_owned(),
        }
    }
}

/// The options that set a knob.
fn flags(args: &Args) -> Vec<Flag> {
    args.knobs.flags([
        (
            "--max-redirects",
            "max_redirects",
            number(args.max_redirects),
        ),
        ("--max-body", "max_body", args.max_body.clone()),
        ("--user-agent", "user_agent", args.user_agent.clone()),
        ("--contact", "contact", args.contact.clone()),
    ])
}

fn headers(args: &Args) -> anyhow::Result<HeaderMap> {
    let mut headers = HeaderMap::new();
    for text in &args.headers {
        let (name, value) = text
            .split_once(':')
            .ok_or_else(|| usage("-H", format!("{:?} is not 'Name: value'", first_word(text))))?;
        let (name, value) = header_pair(name, value).map_err(|e| usage("-H", e))?;
        headers.append(name, value);
    }
    Ok(headers)
}

/// The beginning of what may be a secret.
fn first_word(text: &str) -> String {
    text.split_whitespace()
        .next()
        .unwrap_or_default()
        .chars()
        .take(20)
        .collect()
}

fn roots(path: &Path) -> anyhow::Result<Vec<CertificateDer<'static>>> {
    let what = || format!("the certificates in {} cannot be read", path.display());
    let mut roots = Vec::new();
    for cert in CertificateDer::pem_file_iter(path).with_context(what)? {
        roots.push(cert.with_context(what)?);
    }
    if roots.is_empty() {
        return Err(usage(
            "--cacert",
            format!("{} has no certificate", path.display()),
        ));
    }
    Ok(roots)
}

fn proxy(address: &str) -> anyhow::Result<reqwest::Proxy> {
    known_proxy(address).map_err(|why| usage("--proxy", why))?;
    // The address may carry a password: it is not repeated.
    reqwest::Proxy::all(address).map_err(|_| usage("--proxy", "this is no proxy's address"))
}

/// A proxy that cannot be used must not mean that requests go out directly.
fn known_proxy(address: &str) -> Result<(), &'static str> {
    match address.split_once("://") {
        Some(("http" | "https", rest)) if !rest.is_empty() => Ok(()),
        Some(_) => Err("only proxies of http:// and https:// are spoken to"),
        None if address.parse::<http::uri::Authority>().is_ok() => Ok(()),
        None => Err("this is no proxy's address"),
    }
}

/// Checks the proxies of the environment, which the HTTP client would pass over in silence.
fn env_proxies() -> anyhow::Result<()> {
    for name in [
        "HTTP_PROXY",
        "http_proxy",
        "HTTPS_PROXY",
        "https_proxy",
        "ALL_PROXY",
        "all_proxy",
    ] {
        if let Ok(address) = std::env::var(name)
            && !address.trim().is_empty()
        {
            known_proxy(address.trim()).map_err(|why| usage(name, why))?;
        }
    }
    Ok(())
}

/// The statuses that count as done where none are given.
pub(super) const DONE: &str = "200-299";

/// A list of statuses and ranges of them.
pub(super) fn statuses(list: Option<&str>) -> anyhow::Result<Vec<(u16, u16)>> {
    let list = list.unwrap_or(DONE);
    let wrong = |part: &str| {
        usage(
            "--done-status",
            format!("{part:?} is no status or range of statuses (100 to 599)"),
        )
    };
    list.split(',')
        .map(str::trim)
        .map(|part| {
            let (low, high) = part.split_once('-').unwrap_or((part, part));
            match (low.trim().parse::<u16>(), high.trim().parse::<u16>()) {
                (Ok(low), Ok(high)) if 100 <= low && low <= high && high <= 599 => Ok((low, high)),
                _ => Err(wrong(part)),
            }
        })
        .collect()
}
