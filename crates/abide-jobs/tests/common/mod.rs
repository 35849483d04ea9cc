//! A clock that a test sets, and queues on every engine.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    unreachable_pub,
    reason = "test code; each file uses its part"
)]

pub mod peer;
#[cfg(feature = "postgres")]
pub mod server;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use abide::clock::Clock;
use abide::core::{Instant, WallTime};
use abide_jobs::{Context, Job, JobId, JobSpec, Outcome, Queue, Seal, Worker, WorkerBuilder};

/// Where tests begin: an even second.
pub const BEGIN: i64 = 1_773_144_000;

/// A clock that stands still until it is set; its two sides can be moved apart.
#[derive(Debug)]
pub struct Set {
    mono: AtomicU64,
    wall: AtomicI64,
}

impl Set {
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            mono: AtomicU64::new(1_000_000_000_000),
            wall: AtomicI64::new(BEGIN * 1_000_000_000),
        })
    }

    /// Time goes by.
    pub fn pass(&self, d: Duration) {
        let nanos = u64::try_from(d.as_nanos()).unwrap();
        self.mono.fetch_add(nanos, Ordering::SeqCst);
        self.jump(i64::try_from(nanos).unwrap());
    }

    /// The wall clock is set, forth or back.
    pub fn jump(&self, nanos: i64) {
        self.wall.fetch_add(nanos, Ordering::SeqCst);
    }
}

impl Clock for Set {
    fn now(&self) -> Instant {
        Instant::from_nanos(self.mono.load(Ordering::SeqCst))
    }

    fn wall(&self) -> WallTime {
        WallTime::from_unix_nanos(self.wall.load(Ordering::SeqCst))
    }
}

/// A queue, and what keeps it alive.
pub struct Scene {
    pub queue: Queue,
    pub clock: Arc<Set>,
    pub place: Place,
}

pub enum Place {
    Folder(tempfile::TempDir),
    Memory,
    #[cfg(feature = "postgres")]
    Server(server::Database),
}

pub fn seal() -> Seal {
    Seal::new([7; 32]).unwrap()
}

impl Scene {
    pub fn sqlite() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let clock = Set::new();
        let queue = Queue::builder().clock(clock.clone()).seal(seal());
        Self {
            queue: queue.open(dir.path()).unwrap(),
            clock,
            place: Place::Folder(dir),
        }
    }

    pub fn memory() -> Self {
        let clock = Set::new();
        let queue = Queue::builder().clock(clock.clone()).seal(seal());
        Self {
            queue: queue.in_memory().unwrap(),
            clock,
            place: Place::Memory,
        }
    }

    #[cfg(feature = "postgres")]
    pub fn postgres(server: &Arc<server::Server>) -> Self {
        let database = server::Database::fresh(server);
        let clock = Set::new();
        let queue = Queue::builder().clock(clock.clone()).seal(seal());
        Self {
            queue: queue.connect(&database.config()).unwrap(),
            clock,
            place: Place::Server(database),
        }
    }

    /// The same queue, opened once more, as another process would.
    pub fn again(&self) -> Queue {
        let queue = Queue::builder().clock(self.clock.clone()).seal(seal());
        match &self.place {
            Place::Folder(dir) => queue.open(dir.path()).unwrap(),
            Place::Memory => self.queue.clone(),
            #[cfg(feature = "postgres")]
            Place::Server(database) => queue.connect(&database.config()).unwrap(),
        }
    }

    pub async fn job(&self, id: JobId) -> Job {
        self.queue.get(id).await.unwrap()
    }

    /// A worker without a client whose handler `note` does as its payload says.
    pub fn worker(&self) -> WorkerBuilder {
        worker(&self.queue, &self.clock)
    }
}

/// A worker whose handler `do` ends as its payload says.
pub fn worker(queue: &Queue, clock: &Arc<Set>) -> WorkerBuilder {
    let clock = clock.clone();
    Worker::builder(queue.clone())
        .seed(1)
        .handler("do", move |ctx: Context, what: String| {
            let clock = clock.clone();
            async move { ends(&ctx, &clock, &what).await }
        })
}

async fn ends(ctx: &Context, clock: &Set, what: &str) -> Result<Outcome, std::io::Error> {
    let (word, number) = what.split_once(' ').unwrap_or((what, "0"));
    let secs = Duration::from_secs(number.parse().unwrap());
    Ok(match word {
        "done" => Outcome::done(serde_json::Value::Null),
        "value" => Outcome::done(number),
        "fail" => Outcome::Fail("it never works".to_owned()),
        "retry" => Outcome::Retry("not this time".to_owned()),
        "error" => return Err(std::io::Error::other("it broke")),
        "panic" => panic!("on purpose"),
        "defer" => Outcome::Defer {
            until: clock.wall().after(secs),
            reason: "not yet".to_owned(),
        },
        "step" => {
            ctx.set_checkpoint(ctx.deferrals()).await.unwrap();
            Outcome::Defer {
                until: clock.wall().after(secs),
                reason: "one step done".to_owned(),
            }
        }
        other => panic!("{other}"),
    })
}

pub fn job(what: &str) -> JobSpec {
    JobSpec::handler("do", what)
}

pub const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

pub fn at(secs: i64) -> WallTime {
    WallTime::from_unix_secs(BEGIN + secs)
}
