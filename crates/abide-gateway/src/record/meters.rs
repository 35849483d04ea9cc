//! What is counted of each provider: made once when it is first met, and only added to then.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::RwLock;

/// How a request ended, for the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// A provider's answer, passed on.
    Passed,
    /// A provider's refusal, passed on.
    Refused,
    /// Turned away by us.
    TurnedAway,
    /// No answer came.
    Failed,
    /// It was not for any provider, or not allowed.
    Denied,
    /// The caller left first.
    Left,
    /// For the gateway itself.
    Own,
}

const OUTCOMES: [Outcome; 7] = [
    Outcome::Passed,
    Outcome::Refused,
    Outcome::TurnedAway,
    Outcome::Failed,
    Outcome::Denied,
    Outcome::Left,
    Outcome::Own,
];

impl Outcome {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Refused => "refused",
            Self::TurnedAway => "turned_away",
            Self::Failed => "failed",
            Self::Denied => "denied",
            Self::Left => "left",
            Self::Own => "own",
        }
    }
}

/// Upper bounds of the buckets, in seconds: OpenTelemetry's of `http.client.request.duration`.
pub(crate) const BOUNDS: [f64; 14] = [
    0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0,
];

/// How long something took, in buckets.
#[derive(Debug, Default)]
pub(crate) struct Histogram {
    /// The last one holds whatever was longer than every bound.
    buckets: [AtomicU64; BOUNDS.len() + 1],
    micros: AtomicU64,
}

impl Histogram {
    fn add(&self, took: Duration) {
        let seconds = took.as_secs_f64();
        let bucket = BOUNDS.partition_point(|bound| *bound < seconds);
        if let Some(bucket) = self.buckets.get(bucket) {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.micros.fetch_add(micros, Ordering::Relaxed);
    }

    /// Counts up to each bound and in all, and the sum in seconds.
    pub(crate) fn read(&self) -> ([u64; BOUNDS.len() + 1], f64) {
        let mut sum = 0;
        let counts = self.buckets.each_ref().map(|b| {
            sum += b.load(Ordering::Relaxed);
            sum
        });
        (counts, self.micros.load(Ordering::Relaxed) as f64 / 1e6)
    }
}

/// One provider's figures.
#[derive(Debug)]
pub(crate) struct Provider {
    name: Arc<str>,
    outcomes: [AtomicU64; OUTCOMES.len()],
    active: AtomicI64,
    pub(crate) took: Histogram,
    pub(crate) waited: Histogram,
}

impl Provider {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn begins(&self) {
        self.active.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn ends(&self, outcome: Outcome, took: Duration, waited: Duration) {
        self.active.fetch_sub(1, Ordering::Relaxed);
        if let Some(count) = self.outcomes.get(outcome as usize) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        self.took.add(took);
        if !waited.is_zero() {
            self.waited.add(waited);
        }
    }

    /// Requests by how they ended.
    pub(crate) fn outcomes(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let counts = self.outcomes.iter().map(|c| c.load(Ordering::Relaxed));
        OUTCOMES.iter().map(|o| o.as_str()).zip(counts)
    }

    /// Requests under way.
    pub(crate) fn active(&self) -> i64 {
        self.active.load(Ordering::Relaxed)
    }
}

/// All providers' figures.
#[derive(Debug, Default)]
pub(crate) struct Meters {
    providers: RwLock<HashMap<Arc<str>, Arc<Provider>>>,
}

/// Providers counted apart; those beyond are counted together, as what no label may grow without.
const MOST: usize = 10_000;
const OTHERS: &str = "*";

impl Meters {
    /// Of one provider.
    pub(crate) fn of(&self, name: &str) -> Arc<Provider> {
        if let Some(known) = self.providers.read().get(name) {
            return Arc::clone(known);
        }
        let mut providers = self.providers.write();
        let name = match providers.len() < MOST {
            true => name,
            false => OTHERS,
        };
        let made = providers.entry(name.into()).or_insert_with_key(|name| {
            Arc::new(Provider {
                name: Arc::clone(name),
                outcomes: Default::default(),
                active: AtomicI64::new(0),
                took: Histogram::default(),
                waited: Histogram::default(),
            })
        });
        Arc::clone(made)
    }

    /// Of all, by name.
    pub(crate) fn all(&self) -> Vec<Arc<Provider>> {
        let mut all: Vec<_> = self.providers.read().values().cloned().collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }
}
