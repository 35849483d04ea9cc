//! Forgetting: jobs that are over and results whose time is, and giving the room back.

use std::time::Duration;

use abide::core::WallTime;

use crate::error::QueueError;
use crate::ops::tidy::{self, Gone};
use crate::queue::Queue;
use crate::record::State;
use crate::results;

/// How long jobs that are over are remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Retention {
    /// Those that are done. Default 7 days: a week's work can be looked up.
    pub done: Duration,
    /// Those that failed or were cancelled. Default 30 days: somebody is to look at them.
    pub failed: Duration,
}

impl Default for Retention {
    fn default() -> Self {
        let day = Duration::from_secs(24 * 3600);
        Self {
            done: 7 * day,
            failed: 30 * day,
        }
    }
}

impl Queue {
    /// Forgets jobs of these states that were over before then, a piece at a time; how many.
    ///
    /// # Errors
    /// When the queue cannot be written.
    pub async fn purge(&self, states: &[State], before: WallTime) -> Result<u64, QueueError> {
        let mut jobs = 0;
        for state in states.iter().copied().filter(|s| s.is_over()) {
            loop {
                let work = move |db: &mut dyn crate::db::Db| tidy::jobs(db, state, before);
                let gone = self.inner.writer.call(work).await?;
                jobs += gone.jobs;
                self.removed(&gone).await;
                if !gone.more {
                    break;
                }
            }
        }
        Ok(jobs)
    }

    /// Forgets what the retention says is to be forgotten, and results whose time is over.
    ///
    /// # Errors
    /// When the queue cannot be written.
    pub async fn tidy(&self, retention: &Retention) -> Result<u64, QueueError> {
        let now = self.now();
        loop {
            let work = move |db: &mut dyn crate::db::Db| tidy::results(db, now);
            let gone = self.inner.writer.call(work).await?;
            self.removed(&gone).await;
            if !gone.more {
                break;
            }
        }
        let done = self
            .purge(&[State::Done], now.before(retention.done))
            .await?;
        let others = [State::Failed, State::Cancelled];
        Ok(done + self.purge(&others, now.before(retention.failed)).await?)
    }

    /// Gives room back to the system.
    ///
    /// # Errors
    /// When the queue cannot be written.
    pub async fn vacuum(&self) -> Result<(), QueueError> {
        self.inner.writer.alone(|db| db.shrink()).await
    }

    async fn removed(&self, gone: &Gone) {
        if gone.files.is_empty() {
            return;
        }
        let (dir, files) = (self.inner.results.clone(), gone.files.clone());
        // Files that could not be removed were told of.
        let _ = tokio::task::spawn_blocking(move || results::remove(dir.as_ref(), &files)).await;
    }
}
