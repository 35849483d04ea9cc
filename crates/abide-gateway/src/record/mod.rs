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

use abide::clock::Clock;
use abide::core::Instant;
use http::{Method, StatusCode};

pub use self::log::{Format, Log};
pub(crate) use self::meters::{BOUNDS, Histogram, Meters, Outcome, Provider};

/// What all requests are written down in.
#[derive(Debug)]
pub(crate) struct Books {
    clock: Arc<dyn Clock>,
    log: Log,
    meters: Meters,
}

impl Books {
    pub(crate) fn new(clock: Arc<dyn Clock>, log: Log) -> Self {
        Self {
            clock,
            log,
            meters: Meters::default(),
        }
    }

    pub(crate) const fn log(&self) -> &Log {
        &self.log
    }

    pub(crate) const fn meters(&self) -> &Meters {
        &self.meters
    }
}

/// One request, from its head to its answer's last byte.
pub(crate) struct Record {
    books: Arc<Books>,
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
        books: &Arc<Books>,
        client: Option<IpAddr>,
        method: &Method,
        path: &str,
    ) -> Self {
        Self {
            began: books.clock.now(),
            books: Arc::clone(books),
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

    /// Its path is written down so, and not as it was asked for.
    pub(crate) fn shows(&mut self, path: &str) {
        self.path = path.into();
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

    pub(crate) const fn carries(&mut self, bytes: u64) {
        self.bytes += bytes;
    }

    pub(crate) const fn breaks(&mut self) {
        self.broke = true;
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        let took = self.books.clock.now().since(self.began);
        if let Some(provider) = &self.provider {
            provider.ends(self.outcome, took, self.waited);
        }
        let log = &self.books.log;
        if log.wants(self.outcome) {
            let at = self.books.clock.wall();
            log.write(at, |out, format, at| {
                line::write(out, format, self, (at, took));
            });
        }
    }
}
