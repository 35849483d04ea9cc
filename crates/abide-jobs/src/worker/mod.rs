//! Doing jobs: as many at a time as wanted, from the queues named.
//!
//! The worker asks for jobs of open providers only, and sleeps until the first of these comes: a job
//! that is due, the end of a hold, a change of a gate, a word that something was submitted. While a
//! provider is held its jobs cost nothing, however many there are.
//!
//! It beats beside the jobs that it has, also while one waits at a gate. A worker that falls silent
//! loses its jobs to the next: reads are done again, a write that was under way ends as failed, its
//! effect unknown, and a job that died with its worker several times is poison and ends as failed.

mod builder;
mod end;
mod gates;
mod keeping;
mod one;
mod request;
mod run;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use abide::Client;
use abide::core::WallTime;
use abide::core::defer::DeferPolicy;
use parking_lot::Mutex;
use tokio::task::AbortHandle;

pub use builder::WorkerBuilder;
pub use request::FindCredential;
pub use run::Round;

use crate::handler::Handlers;
use crate::ops::keep::{Held, Watch};
use crate::queue::Queue;
use crate::record::{JobId, State};
use crate::tidy::Retention;
use gates::Gates;
use request::Credentials;

/// Does the jobs of a queue. Clones share it.
#[derive(Clone, Debug)]
pub struct Worker {
    inner: Arc<Inner>,
}

struct Inner {
    queue: Queue,
    client: Option<Client>,
    handlers: Handlers,
    default: DeferPolicy,
    classes: HashMap<String, DeferPolicy>,
    credentials: Credentials,
    concurrency: usize,
    queues: Vec<String>,
    name: String,
    lease: Duration,
    wait: Duration,
    grace: Duration,
    retention: Retention,
    gates: Gates,
    /// What is under way here.
    running: Mutex<HashMap<Held, Running>>,
    watch: Mutex<Watch>,
    tell: Option<Tell>,
    /// Claims in this worker's name that it does not know of.
    strays: Mutex<Vec<Held>>,
    dice: Mutex<fastrand::Rng>,
}

/// How a try of a job ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Told {
    /// The job.
    pub id: JobId,
    /// What it is, for people.
    pub title: String,
    /// How it stands now.
    pub state: State,
    /// When it comes back, where it does.
    pub until: Option<WallTime>,
    /// Why it stands so.
    pub reason: Option<String>,
}

/// Who is told how each try ended.
pub type Tell = Arc<dyn Fn(&Told) + Send + Sync>;

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inner")
            .field("name", &self.name)
            .field("handlers", &self.handlers)
            .finish_non_exhaustive()
    }
}

/// A job under way.
#[derive(Debug)]
struct Running {
    lane: String,
    /// Ends it.
    abort: Option<AbortHandle>,
}

impl Worker {
    /// Starts building one that does the jobs of a queue.
    pub fn builder(queue: Queue) -> WorkerBuilder {
        WorkerBuilder::new(queue)
    }

    /// The name under which it has jobs: another one at every start.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// The queue.
    pub fn queue(&self) -> &Queue {
        &self.inner.queue
    }
}

impl Inner {
    /// How jobs of a class come back.
    fn policy(&self, class: &str) -> &DeferPolicy {
        self.classes.get(class).unwrap_or(&self.default)
    }

    fn dice(&self) -> f64 {
        self.dice.lock().f64()
    }

    /// How many jobs of each lane, and of each provider, are under way here.
    fn lanes(&self) -> HashMap<String, usize> {
        let mut lanes = HashMap::new();
        for running in self.running.lock().values() {
            let provider = crate::ops::claim::provider_of(&running.lane);
            *lanes.entry(provider.to_owned()).or_default() += 1;
        }
        lanes
    }
}
