//! What became of each request, for the log and the metrics.
//!
//! A record is begun with the request and ends with its answer's last byte, or when either side
//! leaves; then its line is written and its figures are counted. Nothing of a query or a credential
//! is in it.

mod line;
mod log;
mod meters;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use abide::core::Instant;
use http::{Method, StatusCode};

pub use self::log::{Format, Log};
pub(crate) use self::meters::{BOUNDS, Histogram, Meters, Outcome, Provider};
use crate::gateway::Gateway;

/// One request, from its head to its answer's last byte.
pub(crate) struct Record {
    gateway: Arc<Gateway>,
    began: Instant,
    client: Option<IpAddr>,
    method: Method,
    /// Without its query.
    path: Box<str>,
    provider: Option<Arc<Provider>>,
    status: Option<StatusCode>,
    outcome: Outcome,
    attempts: u32,
    waited: Duration,
    bytes: u64,
    broke: bool,
}

impl Record {
    /// A request has come.
    pub(crate) fn begin(
        gateway: &Arc<Gateway>,
        client: Option<IpAddr>,
        method: &Method,
        path: &str,
    ) -> Self {
        Self {
            began: gateway.governor().clock().now(),
            gateway: Arc::clone(gateway),
            client,
            method: method.clone(),
            path: path.into(),
            provider: None,
            status: None,
            outcome: Outcome::Left,
            attempts: 0,
            waited: Duration::ZERO,
            bytes: 0,
            broke: false,
        }
    }

    /// It is for this provider.
    pub(crate) fn is_for(&mut self, provider: Arc<Provider>) {
        provider.begins();
        self.provider = Some(provider);
    }

    /// It is answered.
    pub(crate) const fn answers(&mut self, status: StatusCode, outcome: Outcome) {
        self.status = Some(status);
        self.outcome = outcome;
    }

    /// What it took.
    pub(crate) const fn took(&mut self, attempts: u32, waited: Duration) {
        self.attempts = attempts;
        self.waited = waited;
    }

    pub(crate) const fn carries(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
    }

    pub(crate) const fn breaks(&mut self) {
        self.broke = true;
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        let took = self.gateway.governor().clock().now().since(self.began);
        if let Some(provider) = &self.provider {
            provider.ends(self.outcome, took, self.waited);
        }
        let log = self.gateway.log();
        if log.wants(self.outcome) {
            log.write(|out, format| line::write(out, format, self, took));
        }
    }
}
