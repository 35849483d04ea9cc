//! A queue of jobs: what is asked of it, whoever keeps it.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use abide::clock::Clock;
use abide::core::WallTime;
use tokio::sync::Notify;

use crate::actor::{Actor, GROUP};
use crate::db::{Db, Fault};
use crate::error::QueueError;
use crate::open::QueueBuilder;
use crate::ops::act::{self, Act, Denied};
use crate::ops::claim::{Ask, Claimed, claim};
use crate::ops::finish::Finish;
use crate::ops::keep::{self, Held};
use crate::ops::read::{self, Count, Filter, Paused};
use crate::ops::submit::Submitted;
use crate::prepare::Maker;
use crate::record::{Job, JobId};
use crate::results::{JobResult, Keeping};
use crate::spec::JobSpec;

/// A queue of jobs. Clones share it.
#[derive(Clone, Debug)]
pub struct Queue {
    pub(crate) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) writer: Actor,
    /// Looks while the other writes.
    pub(crate) reader: Option<Actor>,
    pub(crate) maker: Maker,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) keeping: Keeping,
    pub(crate) results: Option<PathBuf>,
    /// Something is to be had.
    pub(crate) news: Arc<Notify>,
    /// Jobs claimed here so far.
    pub(crate) turn: AtomicU64,
    /// Others that share the database tell of news by themselves.
    pub(crate) told: bool,
}

impl Queue {
    /// Starts opening one.
    pub fn builder() -> QueueBuilder {
        QueueBuilder::default()
    }

    pub(crate) fn now(&self) -> WallTime {
        self.inner.clock.wall()
    }

    /// Takes a job in. When this returns it survives a power cut; where its key is taken, the job
    /// that has it is told.
    ///
    /// # Errors
    /// When it is no job, or the queue cannot be written.
    pub async fn submit(&self, spec: JobSpec) -> Result<JobId, QueueError> {
        let all = self.submit_all([spec]).await?;
        let none = || QueueError::Spec("nothing was submitted".to_owned());
        all.first().map(|s| s.id).ok_or_else(none)
    }

    /// Takes jobs in, in groups; of each what became of it, in their order.
    ///
    /// # Errors
    /// When one is no job (then none is taken in), or the queue cannot be written (then the groups
    /// before are in).
    pub async fn submit_all(
        &self,
        specs: impl IntoIterator<Item = JobSpec>,
    ) -> Result<Vec<Submitted>, QueueError> {
        let now = self.now();
        let made = specs.into_iter().map(|s| self.inner.maker.make(s, now));
        let jobs: Vec<_> = made.collect::<Result<_, _>>()?;
        let mut all = Vec::with_capacity(jobs.len());
        for group in jobs.chunks(GROUP) {
            all.extend(self.inner.writer.submit(group.to_vec()).await?);
        }
        self.inner.news.notify_waiters();
        Ok(all)
    }

    /// A job as it stands.
    ///
    /// # Errors
    /// [`QueueError::NoSuchJob`], or when the queue cannot be read.
    pub async fn get(&self, id: JobId) -> Result<Job, QueueError> {
        let found = self.look(move |db| read::get(db, id, false)).await?;
        found.ok_or(QueueError::NoSuchJob(id))
    }

    /// What came of a job; `None` where nothing is kept of it (yet, or any more).
    ///
    /// # Errors
    /// When the queue cannot be read, or the result was sealed with another key.
    pub async fn result(&self, id: JobId) -> Result<Option<JobResult>, QueueError> {
        let Some(stored) = self.look(move |db| read::result(db, id)).await? else {
            return Ok(None);
        };
        let inner = Arc::clone(&self.inner);
        let open = move || stored.open(id, &inner.maker.seal, inner.results.as_deref());
        let large = self.inner.results.is_some();
        let opened = match large {
            // A file is read.
            true => tokio::task::spawn_blocking(open).await,
            false => Ok(open()),
        };
        let closed = |_| QueueError::Closed("its reader ended".to_owned());
        opened.map_err(closed)?.map(Some)
    }

    /// Jobs as they stand, the youngest first.
    ///
    /// # Errors
    /// When the queue cannot be read.
    pub async fn list(&self, filter: Filter) -> Result<Vec<Job>, QueueError> {
        self.look(move |db| read::list(db, &filter)).await
    }

    /// How many jobs stand how, queue by queue. Looks at every job.
    ///
    /// # Errors
    /// When the queue cannot be read.
    pub async fn counts(&self) -> Result<Vec<Count>, QueueError> {
        self.look(read::counts).await
    }

    /// A job is not wanted any more. One that runs is told at its worker's next beat; what it has
    /// sent, it has sent.
    ///
    /// # Errors
    /// When there is no such job, or it is over already.
    pub async fn cancel(&self, id: JobId) -> Result<Job, QueueError> {
        let job = self.look(move |db| read::get(db, id, true)).await?;
        let job = job.ok_or(QueueError::NoSuchJob(id))?;
        let mut hook = None;
        if job.webhook.is_some() {
            let now = self.now();
            let told = (&job, crate::State::Cancelled, Some("cancelled by a person"));
            let envelope = self.inner.maker.open(&job)?;
            let made = envelope
                .webhook
                .map(|h| self.inner.maker.webhook(&h, told, now));
            hook = made.transpose()?;
        }
        self.act(id, Act::Cancel(hook)).await
    }

    /// A deferral, or the time of a job, is waited for no longer. The gate still holds, unless it
    /// is lifted too.
    ///
    /// # Errors
    /// When there is no such job, or it does not wait.
    pub async fn run_now(&self, id: JobId) -> Result<Job, QueueError> {
        self.act(id, Act::RunNow).await
    }

    /// A job that failed or was cancelled is tried again, from the beginning of its counts.
    ///
    /// # Errors
    /// When there is no such job, or it is not over.
    pub async fn retry(&self, id: JobId) -> Result<Job, QueueError> {
        self.act(id, Act::Retry).await
    }

    /// A job is more or less urgent than it was: 0 first, 7 last.
    ///
    /// # Errors
    /// When there is no such job, or it is over.
    pub async fn prioritise(&self, id: JobId, urgency: u8) -> Result<Job, QueueError> {
        self.act(id, Act::Prioritise(urgency.min(7))).await
    }

    async fn act(&self, id: JobId, what: Act) -> Result<Job, QueueError> {
        let now = self.now();
        let done = self
            .inner
            .writer
            .call(move |db| act::act(db, id, &what, now))
            .await?;
        self.inner.news.notify_waiters();
        done.map_err(|denied| match denied {
            Denied::NoSuchJob => QueueError::NoSuchJob(id),
            Denied::NotNow(state, what) => QueueError::NotNow { id, state, what },
        })
    }

    /// Nothing of a queue is begun until then, or until a person says so. What runs goes on.
    ///
    /// # Errors
    /// When the queue cannot be written.
    pub async fn pause(
        &self,
        queue: &str,
        until: Option<WallTime>,
        reason: Option<&str>,
    ) -> Result<(), QueueError> {
        let (queue, reason) = (queue.to_owned(), reason.map(str::to_owned));
        let until = until.unwrap_or(WallTime::MAX);
        self.inner
            .writer
            .call(move |db| act::pause(db, &queue, until, reason.as_deref()))
            .await
    }

    /// A queue goes on; whether it stood.
    ///
    /// # Errors
    /// When the queue cannot be written.
    pub async fn resume(&self, queue: &str) -> Result<bool, QueueError> {
        let queue = queue.to_owned();
        let stood = self
            .inner
            .writer
            .call(move |db| act::resume(db, &queue))
            .await;
        self.inner.news.notify_waiters();
        stood
    }

    /// The queues of which nothing is begun.
    ///
    /// # Errors
    /// When the queue cannot be read.
    pub async fn paused(&self) -> Result<Vec<Paused>, QueueError> {
        self.look(read::paused).await
    }

    /// What webhooks are signed with that bring no secret of their own.
    pub fn webhook_secret(&self) -> String {
        self.inner.maker.webhook_secret()
    }

    pub(crate) async fn look<T: Send + 'static>(
        &self,
        work: impl FnMut(&mut dyn Db) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, QueueError> {
        match &self.inner.reader {
            Some(reader) => reader.alone(work).await,
            None => self.inner.writer.alone(work).await,
        }
    }

    pub(crate) async fn claim(
        &self,
        queues: &[String],
        most: usize,
        closed: HashMap<String, WallTime>,
        worker: &str,
    ) -> Result<Claimed, QueueError> {
        let ask = Ask {
            queues: queues.to_vec(),
            most: most.min(GROUP),
            closed,
            worker: worker.to_owned(),
            now: self.now(),
            turn: self.inner.turn.load(Ordering::Relaxed),
        };
        let claimed = self.inner.writer.call(move |db| claim(db, &ask)).await?;
        let jobs = claimed.jobs.len() as u64;
        self.inner.turn.fetch_add(jobs, Ordering::Relaxed);
        Ok(claimed)
    }

    pub(crate) async fn finish(&self, end: Finish) -> Result<bool, QueueError> {
        self.inner.writer.finish(Box::new(end)).await
    }

    pub(crate) async fn checkpoint(&self, held: Held, to: Vec<u8>) -> Result<bool, QueueError> {
        let write = move |db: &mut dyn Db| keep::checkpoint(db, held, to.clone());
        self.inner.writer.call(write).await
    }

    pub(crate) async fn intend(&self, held: Held) -> Result<bool, QueueError> {
        self.inner
            .writer
            .call(move |db| keep::intend(db, held))
            .await
    }
}
