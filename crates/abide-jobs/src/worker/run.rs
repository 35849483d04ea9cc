//! The rounds of a worker: claim, do, sleep until there is something to do.

use std::sync::Arc;
use std::time::Duration;

use abide::Governor;
use abide::core::WallTime;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{Inner, Running, Worker};
use crate::error::QueueError;
use crate::record::Job;

/// A worker sleeps no longer than this at once: a timer counts time awake only, and another worker
/// may have put off a job and died.
const NAP: Duration = Duration::from_secs(10);

/// How often is looked for what other processes have submitted, where the database does not tell.
const LOOK: Duration = Duration::from_millis(200);

/// How long is waited after the queue could not be read.
const AGAIN: Duration = Duration::from_secs(1);

/// What came of one round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Round {
    /// Jobs that were worked.
    pub worked: usize,
    /// When there may be more.
    pub next: Option<WallTime>,
}

impl Worker {
    /// Works until it is told to stop. What is under way then may finish within the grace; what
    /// does not is put back.
    ///
    /// # Errors
    /// When the queue cannot be read at the start. Later troubles are logged and outlived.
    pub async fn run(&self, stop: CancellationToken) -> Result<(), QueueError> {
        let inner = &self.inner;
        inner.meet_lanes().await?;
        let beating = tokio::spawn(Arc::clone(inner).keep_beating());
        let mut tasks = JoinSet::new();
        inner.work(&mut tasks, &stop).await;
        inner.end(&mut tasks).await;
        beating.abort();
        Ok(())
    }

    /// Works off what is due now, and returns when all of it has ended: for tests, and for whoever
    /// has a loop of his own.
    ///
    /// # Errors
    /// When the queue cannot be read or written.
    pub async fn round(&self) -> Result<Round, QueueError> {
        let inner = &self.inner;
        inner.meet_lanes().await?;
        let mut tasks = JoinSet::new();
        let mut worked = 0;
        loop {
            let (jobs, next) = inner.claim(inner.concurrency - tasks.len()).await?;
            worked += jobs.len();
            let none = jobs.is_empty();
            jobs.into_iter()
                .for_each(|job| inner.start(&mut tasks, job));
            if none && tasks.is_empty() {
                return Ok(Round { worked, next });
            }
            if none || tasks.len() >= inner.concurrency {
                tasks.join_next().await;
            }
        }
    }
}

impl Inner {
    async fn work(self: &Arc<Self>, tasks: &mut JoinSet<()>, stop: &CancellationToken) {
        let news = Arc::clone(&self.queue.inner.news);
        let mut changes = self.gates.governor().map(Governor::changes);
        while !stop.is_cancelled() {
            while tasks.try_join_next().is_some() {}
            // Whatever comes from here on wakes.
            let told = news.notified();
            tokio::pin!(told);
            told.as_mut().enable();
            let mut sleep = NAP;
            let free = self.concurrency.saturating_sub(tasks.len());
            if free > 0 {
                match self.claim(free).await {
                    Ok((jobs, next)) => {
                        let some = !jobs.is_empty();
                        jobs.into_iter().for_each(|job| self.start(tasks, job));
                        if some {
                            // There may be more, and only who finds nothing knows when.
                            continue;
                        }
                        let now = self.queue.now();
                        sleep = next.map_or(NAP, |next| next.since(now)).min(NAP);
                    }
                    Err(e) => {
                        tracing::warn!(error = %e, "no jobs can be had just now");
                        sleep = AGAIN;
                    }
                }
            }
            tokio::select! {
                () = stop.cancelled() => {}
                () = &mut told => {}
                _ = tasks.join_next(), if !tasks.is_empty() => {}
                () = changed(&mut changes) => {}
                () = self.others(), if free > 0 => {}
                () = tokio::time::sleep(sleep) => {}
            }
        }
    }

    /// Lets what is under way finish, and puts back what does not.
    async fn end(self: &Arc<Self>, tasks: &mut JoinSet<()>) {
        let all = async { while tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(self.grace, all).await.is_ok() {
            return;
        }
        let left: Vec<_> = self.running.lock().keys().copied().collect();
        tasks.shutdown().await;
        for held in left {
            self.give_back(held).await;
        }
    }

    pub(super) fn start(self: &Arc<Self>, tasks: &mut JoinSet<()>, job: Job) {
        let held = (job.id, job.token);
        let running = Running {
            lane: job.lane.clone(),
            abort: None,
        };
        self.running.lock().insert(held, running);
        let inner = Arc::clone(self);
        let abort = tasks.spawn(async move {
            inner.one(job).await;
            inner.running.lock().remove(&held);
        });
        if let Some(running) = self.running.lock().get_mut(&held) {
            running.abort = Some(abort);
        }
    }

    async fn claim(&self, most: usize) -> Result<(Vec<Job>, Option<WallTime>), QueueError> {
        if most == 0 {
            return Ok((Vec::new(), None));
        }
        let closed = self.gates.closed(&self.lanes());
        let claimed = self.queue.claim(&self.queues, most, closed, &self.name);
        let claimed = claimed.await?;
        Ok((claimed.jobs, claimed.next))
    }

    /// Returns when another process has written to the queue.
    async fn others(&self) {
        if self.queue.inner.told || self.queue.inner.results.is_none() {
            return std::future::pending().await;
        }
        loop {
            tokio::time::sleep(LOOK).await;
            let look = self.queue.look(|db| db.changed());
            if look.await.unwrap_or_default() {
                return;
            }
        }
    }
}

/// Returns when a gate has changed; never where nobody tells.
async fn changed<T>(changes: &mut Option<tokio::sync::mpsc::UnboundedReceiver<T>>) {
    let Some(tells) = changes else {
        return std::future::pending().await;
    };
    if tells.recv().await.is_none() {
        // Nobody will tell any more.
        *changes = None;
        return;
    }
    while tells.try_recv().is_ok() {}
}
