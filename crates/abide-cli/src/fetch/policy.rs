//! From options and configuration to policies: flag, then environment, then file, then default.

use std::path::Path;
use std::sync::Arc;

use abide::core::pace::Window;
use abide::core::policy::ProviderPolicy;
use abide::run::BulkPolicy;
use abide::store::Store;
use abide::{Client, Governor};
use anyhow::Context;
use http::HeaderMap;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use super::args::Args;
use super::input::header_pair;
use crate::exit::Usage;

/// Everything the options come to.
pub(crate) struct Setup {
    pub(crate) bulk: BulkPolicy,
    pub(crate) headers: HeaderMap,
    provider: ProviderPolicy,
    roots: Vec<CertificateDer<'static>>,
    user_agent: String,
    proxy: Option<reqwest::Proxy>,
    max_redirects: u32,
}

fn usage(flag: &str, why: impl std::fmt::Display) -> anyhow::Error {
    Usage(format!("{flag}: {why}")).into()
}

impl Setup {
    pub(crate) fn new(args: &Args) -> anyhow::Result<Self> {
        let mut bulk = BulkPolicy::default();
        let mut provider = ProviderPolicy::default();
        provider.breaker = Some(abide::core::breaker::BreakerPolicy::for_run());
        let time = |flag: &str, text: &Option<String>| match text {
            None => Ok(None),
            Some(t) => abide_config::duration(t)
                .map(Some)
                .map_err(|e| usage(flag, e)),
        };
        if let Some(n) = args.concurrency {
            bulk.wire = n as usize;
        }
        let wire = u32::try_from(bulk.wire).unwrap_or(u32::MAX);
        bulk.run.concurrency = wire;
        provider.provider.concurrency = wire;
        if let Some(rate) = &args.rate {
            let rate = abide_config::rate(rate).map_err(|e| usage("--rate", e))?;
            provider.provider.windows = vec![Window::interval(rate.interval())];
        }
        if let Some(t) = time("--patience", &args.patience)? {
            bulk.run.patience = t;
        }
        bulk.run.wait_max = time("--wait-max", &args.wait_max)?.or(bulk.run.wait_max);
        if let Some(t) = time("--budget", &args.budget)? {
            bulk.run.wait_budget = t;
        }
        if let Some(n) = args.attempts {
            bulk.call.attempts = n;
        }
        if let Some(t) = time("--timeout", &args.timeout)? {
            bulk.attempt_timeout = t;
        }
        bulk.max_body = abide_config::size(&args.max_body).map_err(|e| usage("--max-body", e))?;
        bulk.done = statuses(&args.done_status)?;
        Ok(Self {
            bulk,
            headers: headers(args)?,
            provider,
            roots: args
                .cacert
                .as_deref()
                .map(roots)
                .transpose()?
                .unwrap_or_default(),
            user_agent: user_agent(args),
            proxy: args.proxy.as_deref().map(proxy).transpose()?,
            max_redirects: args.max_redirects,
        })
    }

    pub(crate) fn governor(&self, store: Arc<dyn Store>) -> anyhow::Result<Governor> {
        Ok(Governor::builder()
            .store(store)
            .policy(self.provider.clone())
            .build()?)
    }

    pub(crate) fn client(&self, governor: Governor) -> anyhow::Result<Client> {
        let mut http = reqwest::Client::builder()
            .user_agent(&self.user_agent)
            .cookie_store(true)
            // As many as may be on the wire: a connection thrown away is a handshake wasted.
            .pool_max_idle_per_host(self.bulk.wire);
        if let Some(proxy) = &self.proxy {
            http = http.proxy(proxy.clone());
        }
        let client = Client::builder()
            .roots(self.roots.clone())
            .http(http)
            .governor(governor)
            .max_redirects(self.max_redirects)
            .build()?;
        Ok(client)
    }
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

fn user_agent(args: &Args) -> String {
    let own = concat!("abide/", env!("CARGO_PKG_VERSION"));
    match (&args.user_agent, &args.contact) {
        (Some(text), _) => text.clone(),
        (None, Some(contact)) => format!("{own} ({contact})"),
        (None, None) => own.to_owned(),
    }
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
    // The address may carry a password: it is not repeated.
    reqwest::Proxy::all(address).map_err(|_| usage("--proxy", "this is no proxy's address"))
}

fn statuses(list: &str) -> anyhow::Result<Vec<(u16, u16)>> {
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
