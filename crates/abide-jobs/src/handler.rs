//! Handlers: the work of a program's own, by name.

use std::collections::HashMap;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use abide::core::WallTime;
use abide::{Client, Governor};
use parking_lot::Mutex;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::QueueError;
use crate::ops::keep::Held;
use crate::queue::Queue;
use crate::record::{Job, JobId};

/// Any error of a handler.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// How a handler ended.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Outcome {
    /// It did what it was to do; what is to be kept of it.
    Done(Value),
    /// It will never work.
    Fail(String),
    /// It did not work this time. Uses an attempt up.
    Retry(String),
    /// It is to go on then. Uses no attempt up.
    Defer {
        /// Not before then, nor before the floor of its class.
        until: WallTime,
        /// Why.
        reason: String,
    },
}

impl Outcome {
    /// It did what it was to do, and this is to be kept; what is no JSON is not.
    pub fn done(value: impl Serialize) -> Self {
        Self::Done(serde_json::to_value(value).unwrap_or(Value::Null))
    }
}

type Running = Pin<Box<dyn Future<Output = Result<Outcome, BoxError>> + Send>>;
type Run = Arc<dyn Fn(Context, Value) -> Running + Send + Sync>;

/// The handlers of a worker.
#[derive(Clone, Default)]
pub(crate) struct Handlers(HashMap<String, Run>);

impl fmt::Debug for Handlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl Handlers {
    pub(crate) fn add<P, F, R, E>(&mut self, name: &str, handler: F)
    where
        P: DeserializeOwned + Send + 'static,
        F: Fn(Context, P) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Outcome, E>> + Send + 'static,
        E: Into<BoxError>,
    {
        let run: Run = Arc::new(move |context: Context, payload: Value| -> Running {
            match serde_json::from_value::<P>(payload) {
                Ok(payload) => {
                    let made = handler(context, payload);
                    Box::pin(async move { made.await.map_err(Into::into) })
                }
                // It will be no other tomorrow.
                Err(e) => {
                    let why = format!("its payload is not what its handler takes: {e}");
                    Box::pin(async move { Ok(Outcome::Fail(why)) })
                }
            }
        });
        self.0.insert(name.to_owned(), run);
    }

    pub(crate) fn get(&self, name: &str) -> Option<Run> {
        self.0.get(name).cloned()
    }
}

/// What a handler knows of its job, and what it can do for it. Clones share it.
#[derive(Clone, Debug)]
pub struct Context {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    queue: Queue,
    held: Held,
    attempts: u32,
    deferrals: u32,
    in_a_row: u32,
    client: Option<Client>,
    checkpoint: Mutex<Option<Value>>,
    progressed: Arc<AtomicBool>,
}

impl Context {
    pub(crate) fn new(
        queue: &Queue,
        client: Option<&Client>,
        job: &Job,
        progressed: &Arc<AtomicBool>,
    ) -> Self {
        let sealed = job.checkpoint.as_deref();
        let plain = sealed.and_then(|c| queue.inner.maker.seal.open(c));
        let checkpoint = plain.and_then(|c| serde_json::from_slice(&c).ok());
        Self {
            inner: Arc::new(Inner {
                queue: queue.clone(),
                held: (job.id, job.token),
                attempts: job.attempts,
                deferrals: job.deferrals,
                in_a_row: job.in_a_row,
                client: client.cloned(),
                checkpoint: Mutex::new(checkpoint),
                progressed: Arc::clone(progressed),
            }),
        }
    }

    /// The number of its job.
    pub fn id(&self) -> JobId {
        self.inner.held.0
    }

    /// Tries that count, this one included.
    pub fn attempts(&self) -> u32 {
        self.inner.attempts
    }

    /// How often the job was put off, ever.
    pub fn deferrals(&self) -> u32 {
        self.inner.deferrals
    }

    /// How often it was put off since it last made progress.
    pub fn in_a_row(&self) -> u32 {
        self.inner.in_a_row
    }

    /// The client of its worker, whose every send passes its provider's gates.
    pub fn client(&self) -> Option<&Client> {
        self.inner.client.as_ref()
    }

    /// The governor of its worker's client.
    pub fn governor(&self) -> Option<&Governor> {
        self.client().map(Client::governor)
    }

    /// The queue of its job.
    pub fn queue(&self) -> &Queue {
        &self.inner.queue
    }

    /// How far it got, as it said itself, in this try or an earlier one.
    pub fn checkpoint(&self) -> Option<Value> {
        self.inner.checkpoint.lock().clone()
    }

    /// Writes down how far it got. One that differs from the last is progress: deferrals in a row
    /// are counted anew.
    ///
    /// # Errors
    /// When it cannot be written, or the job is not this worker's any more: then it is to stop.
    pub async fn set_checkpoint(&self, to: impl Serialize) -> Result<(), QueueError> {
        let to = serde_json::to_value(to).map_err(|e| QueueError::Spec(e.to_string()))?;
        if self.checkpoint().as_ref() == Some(&to) {
            return Ok(());
        }
        let inner = &self.inner;
        let sealed = inner.queue.inner.maker.seal.seal(to.to_string().as_bytes());
        let sealed = sealed.ok_or_else(|| QueueError::Spec("it cannot be sealed".to_owned()))?;
        self.still(inner.queue.checkpoint(inner.held, sealed).await?)?;
        *inner.checkpoint.lock() = Some(to);
        inner.progressed.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Says that something is about to be done that must not be done twice. Found so after a crash
    /// the job ends as failed, its effect unknown ([`JobSpec::write`](crate::JobSpec::write)).
    ///
    /// # Errors
    /// When it cannot be written, or the job is not this worker's any more: then nothing may be
    /// done.
    pub async fn intend(&self) -> Result<(), QueueError> {
        let inner = &self.inner;
        self.still(inner.queue.intend(inner.held).await?)
    }

    fn still(&self, ours: bool) -> Result<(), QueueError> {
        match ours {
            true => Ok(()),
            false => Err(QueueError::NoSuchJob(self.id())),
        }
    }
}
