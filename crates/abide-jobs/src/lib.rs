//! Work that outlives its process, and comes back when it was asked to.
//!
//! A job is an HTTP request, or the work of a registered handler. It stands in a database: SQLite on
//! one machine, PostgreSQL (feature `postgres`) when there are several; both mean the same. A
//! refusal **puts it off**, until when the provider asked for, and uses no attempt up; while a
//! provider is held none of its jobs is fetched, and they cost nothing, however many they are.
//!
//! What lives here: the queue, its two engines, and the [`Worker`]. What never lives here: when
//! something may be sent (the gates of `abide`), and what becomes of a job when a try of it ends
//! ([`abide::core::defer`]).
//!
//! ```
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! use abide_jobs::{Context, JobSpec, Outcome, Queue, State, Worker};
//!
//! let queue = Queue::builder().in_memory().unwrap();
//! let id = queue.submit(JobSpec::handler("greet", "world")).await.unwrap();
//! let worker = Worker::builder(queue.clone())
//!     .handler("greet", |_: Context, whom: String| async move {
//!         Ok::<_, std::io::Error>(Outcome::done(format!("hello, {whom}")))
//!     })
//!     .build();
//! worker.round().await.unwrap();
//! assert_eq!(queue.get(id).await.unwrap().state, State::Done);
//! assert_eq!(queue.result(id).await.unwrap().unwrap().body, b"\"hello, world\"");
//! # });
//! ```

#[cfg(doctest)]
#[doc = include_str!("../../../docs/jobs.md")]
struct Manual;

mod actor;
mod db;
mod error;
mod handler;
mod input;
mod open;
mod ops;
mod prepare;
mod queue;
mod record;
mod results;
mod seal;
mod spec;
mod tidy;
mod worker;

pub use error::QueueError;
pub use handler::{BoxError, Context, Outcome};
pub use open::QueueBuilder;
pub use ops::read::{Count, Filter, Paused};
pub use ops::submit::Submitted;
pub use queue::Queue;
pub use record::{Job, JobId, State};
pub use results::{JobResult, Keeping};
pub use seal::Seal;
pub use spec::{DEFAULT_QUEUE, JobSpec};
pub use tidy::Retention;
pub use worker::{FindCredential, Round, Tell, Told, Worker, WorkerBuilder};
