//! Making a worker.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use abide::Client;
use abide::core::defer::DeferPolicy;
use parking_lot::Mutex;
use serde::de::DeserializeOwned;

use super::gates::Gates;
use super::request::{Credentials, FindCredential};
use super::{Inner, Tell, Told, Worker};
use crate::handler::{BoxError, Context, Handlers, Outcome};
use crate::ops::keep::Watch;
use crate::prepare::WEBHOOK;
use crate::queue::Queue;
use crate::tidy::Retention;

/// Jobs at a time. Default 8, as a run has requests on the wire.
const CONCURRENCY: usize = 8;

/// After how long a silent worker is taken for dead. Default 30 s: three beats, each of which may
/// wait for a slow disk; a lease much longer leaves jobs lying after a crash.
const LEASE: Duration = Duration::from_secs(30);

/// How long a request waits at its gates before its job is put back. Default 10 s: a shorter wait is
/// waited out more cheaply than it is written down and found again; a longer one would keep a place
/// from others.
const WAIT: Duration = Duration::from_secs(10);

/// How long what is under way may take when the worker is to end. Default 20 s: longer than an
/// answer, shorter than a service manager waits.
const GRACE: Duration = Duration::from_secs(20);

/// Builds a [`Worker`].
pub struct WorkerBuilder {
    queue: Queue,
    client: Option<Client>,
    handlers: Handlers,
    default: DeferPolicy,
    classes: HashMap<String, DeferPolicy>,
    credentials: Credentials,
    concurrency: usize,
    queues: Vec<String>,
    name: Option<String>,
    lease: Duration,
    wait: Duration,
    grace: Duration,
    retention: Retention,
    seed: Option<u64>,
    tell: Option<Tell>,
}

impl fmt::Debug for WorkerBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerBuilder")
            .field("handlers", &self.handlers)
            .finish_non_exhaustive()
    }
}

impl WorkerBuilder {
    pub(super) fn new(queue: Queue) -> Self {
        let mut classes = HashMap::new();
        // Somebody's server may be away for a night.
        classes.insert(WEBHOOK.to_owned(), DeferPolicy::default().attempts(10));
        Self {
            queue,
            client: None,
            handlers: Handlers::default(),
            default: DeferPolicy::default(),
            classes,
            credentials: Credentials::default(),
            concurrency: CONCURRENCY,
            queues: Vec::new(),
            name: None,
            lease: LEASE,
            wait: WAIT,
            grace: GRACE,
            retention: Retention::default(),
            seed: None,
            tell: None,
        }
    }

    /// Sends requests by this client, and asks its governor which providers are open.
    #[must_use]
    pub fn client(mut self, client: Client) -> Self {
        self.client = Some(client);
        self
    }

    /// Does the jobs of that name. An error that is or holds a refusal of abide's puts the job off;
    /// any other uses an attempt up.
    #[must_use]
    pub fn handler<P, F, R, E>(mut self, name: &str, handler: F) -> Self
    where
        P: DeserializeOwned + Send + 'static,
        F: Fn(Context, P) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Outcome, E>> + Send + 'static,
        E: Into<BoxError>,
    {
        self.handlers.add(name, handler);
        self
    }

    /// How jobs come back whose class has no policy of its own.
    #[must_use]
    pub fn policy(mut self, policy: DeferPolicy) -> Self {
        self.default = policy;
        self
    }

    /// How jobs of a class come back.
    #[must_use]
    pub fn class(mut self, name: &str, policy: DeferPolicy) -> Self {
        self.classes.insert(name.to_owned(), policy);
        self
    }

    /// Where the credentials are found that requests name.
    #[must_use]
    pub fn credentials(mut self, find: FindCredential) -> Self {
        self.credentials = Credentials(Some(find));
        self
    }

    /// Jobs at a time; at least one.
    #[must_use]
    pub fn concurrency(mut self, jobs: usize) -> Self {
        self.concurrency = jobs.max(1);
        self
    }

    /// Does jobs of these queues only.
    #[must_use]
    pub fn queues(mut self, names: impl IntoIterator<Item = String>) -> Self {
        self.queues = names.into_iter().collect();
        self
    }

    /// After how long a silent worker is taken for dead, by all workers of the queue alike.
    #[must_use]
    pub const fn lease(mut self, lease: Duration) -> Self {
        self.lease = lease;
        self
    }

    /// How long a request waits at its gates before its job is put back.
    #[must_use]
    pub const fn wait(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }

    /// How long what is under way may take when it is to end.
    #[must_use]
    pub const fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// How long jobs that are over are remembered.
    #[must_use]
    pub const fn retention(mut self, retention: Retention) -> Self {
        self.retention = retention;
        self
    }

    /// A name to know it by; one of its own at every start is added.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Tells somebody how each try ended.
    #[must_use]
    pub fn tell(mut self, tell: impl Fn(&Told) + Send + Sync + 'static) -> Self {
        self.tell = Some(Arc::new(tell));
        self
    }

    /// Makes every throw of the dice repeatable.
    #[must_use]
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// The worker.
    pub fn build(self) -> Worker {
        let governor = self.client.as_ref().map(|c| c.governor().clone());
        let of_queue = self.queue.inner.maker.governor.clone();
        let dice = self
            .seed
            .map_or_else(fastrand::Rng::new, fastrand::Rng::with_seed);
        // Never seeded: two workers of one name must not share their jobs.
        let name = format!(
            "{}-{}-{:08x}",
            self.name.as_deref().unwrap_or("worker"),
            std::process::id(),
            fastrand::u32(..)
        );
        Worker {
            inner: Arc::new(Inner {
                queue: self.queue,
                client: self.client,
                handlers: self.handlers,
                default: self.default,
                classes: self.classes,
                credentials: self.credentials,
                concurrency: self.concurrency,
                queues: self.queues,
                name,
                lease: self.lease,
                wait: self.wait,
                grace: self.grace,
                retention: self.retention,
                gates: Gates::of(governor.or(of_queue)),
                running: Mutex::default(),
                watch: Mutex::new(Watch::default()),
                strays: Mutex::default(),
                tell: self.tell,
                dice: Mutex::new(dice),
            }),
        }
    }
}
