//! What a worker does beside its jobs: it beats, watches the others, and tidies up.

use std::sync::Arc;
use std::time::Duration;

use abide::core::defer::DeferPolicy;
use abide::core::{Instant, WallTime};

use super::one::put_back;
use super::{Inner, Worker, end};
use crate::error::QueueError;
use crate::input::Input;
use crate::ops::finish::Finish;
use crate::ops::keep::{self, Held};
use crate::ops::{claim, read};
use crate::prepare::HTTP;
use crate::record::{Job, State, history};

/// How often what is old is forgotten.
const TIDY: Duration = Duration::from_secs(60);

/// What a write is said to be that was under way when its worker died.
pub(crate) const UNKNOWN: &str = "effect unknown: it was under way when its worker ended; look at \
    the provider before running it again";

impl Worker {
    /// Beats, and takes over the jobs of workers that have been silent for a lease; as
    /// [`run`](Self::run) does by itself. How many were taken over.
    ///
    /// # Errors
    /// When the queue cannot be read or written.
    pub async fn watch(&self) -> Result<usize, QueueError> {
        self.inner.beat().await?;
        self.inner.take_over().await
    }
}

impl Inner {
    pub(super) async fn keep_beating(self: Arc<Self>) {
        let mut tidied = Instant::ORIGIN;
        loop {
            let kept = async {
                self.beat().await?;
                self.take_over().await?;
                let now = self.queue.inner.clock.now();
                if now.since(tidied) >= TIDY || tidied == Instant::ORIGIN {
                    tidied = now;
                    self.queue.tidy(&self.retention).await?;
                }
                Ok::<_, QueueError>(())
            };
            if let Err(e) = kept.await {
                tracing::warn!(error = %e, "the queue cannot be kept in order just now");
            }
            tokio::time::sleep(self.lease / 3).await;
        }
    }

    /// Shows that it lives. Jobs that are its no more (cancelled, or taken over) are let go.
    async fn beat(&self) -> Result<(), QueueError> {
        let before: Vec<Held> = self.running.lock().keys().copied().collect();
        let (name, now) = (self.name.clone(), self.queue.now());
        let beat = self
            .queue
            .inner
            .writer
            .call(move |db| keep::beat(db, &name, now));
        let ours = beat.await?;
        self.let_go(&before, &ours);
        for held in self.strays(&ours) {
            self.give_back(held).await;
        }
        Ok(())
    }

    fn let_go(&self, before: &[Held], ours: &[Held]) {
        let mut running = self.running.lock();
        for held in before.iter().filter(|h| !ours.contains(h)) {
            // One that has ended meanwhile is not there any more.
            if let Some(gone) = running.remove(held) {
                tracing::info!(job = held.0.0, "the job is wanted no more");
                if let Some(abort) = gone.abort {
                    abort.abort();
                }
            }
        }
    }

    /// Jobs that were claimed in its name and never reached it, as when a connection breaks at the
    /// commit: nobody else would ever take them for lost, since it beats for them. One that is just
    /// on its way is not met twice.
    fn strays(&self, ours: &[Held]) -> Vec<Held> {
        let running = self.running.lock();
        let unknown: Vec<Held> = ours
            .iter()
            .filter(|h| !running.contains_key(h))
            .copied()
            .collect();
        drop(running);
        let mut strays = self.strays.lock();
        let lost = unknown
            .iter()
            .filter(|h| strays.contains(h))
            .copied()
            .collect();
        *strays = unknown;
        lost
    }

    /// Takes over the jobs of workers that fell silent.
    async fn take_over(&self) -> Result<usize, QueueError> {
        let all = self.queue.look(keep::running).await?;
        let now = self.queue.inner.clock.now();
        let silent = self.watch.lock().silent(now, &all, self.lease);
        let mut taken = 0;
        for held in silent {
            if self.running.lock().contains_key(&held) {
                continue;
            }
            let Some(job) = self.queue.look(move |db| keep::held(db, held)).await? else {
                continue;
            };
            let wall = self.queue.now();
            let mut finish = after_death(&job, self.policy(&job.class), wall);
            if finish.state.is_over() {
                finish.webhook = self.told(&job, &finish, wall);
            }
            if self.queue.finish(finish).await? {
                taken += 1;
            }
        }
        if taken > 0 {
            tracing::warn!(
                jobs = taken,
                "took over the jobs of a worker that fell silent"
            );
            self.queue.inner.news.notify_waiters();
        }
        Ok(taken)
    }

    fn told(
        &self,
        job: &Job,
        finish: &Finish,
        now: WallTime,
    ) -> Option<crate::ops::submit::NewJob> {
        let maker = &self.queue.inner.maker;
        let hook = maker.open(job).ok()?.webhook?;
        let told = (job, finish.state, finish.reason.as_deref());
        maker.webhook(&hook, told, now).ok()
    }

    /// Gives back a job that was not finished in time; a write that may be under way is not.
    pub(super) async fn give_back(&self, held: Held) {
        self.running.lock().remove(&held);
        let Ok(Some(job)) = self.queue.look(move |db| keep::held(db, held)).await else {
            return;
        };
        let now = self.queue.now();
        let finish = match job.writes && job.intent {
            true => after_death(&job, self.policy(&job.class), now),
            false => put_back(&job, "its worker ended", now),
        };
        self.finish(finish).await;
    }

    /// Meets the lanes that have jobs, so that those which are held are known before the first
    /// fetch.
    pub(super) async fn meet_lanes(&self) -> Result<(), QueueError> {
        for lane in self.queue.look(claim::lanes).await? {
            if !lane.name.contains(" #") {
                self.gates.meet(&lane.name, None);
                continue;
            }
            let name = lane.name.clone();
            let first = self.queue.look(move |db| read::first(db, &lane)).await?;
            let target = first.and_then(|job| self.target(&job));
            if let Some(target) = target {
                self.gates.meet(&name, Some(&target));
            }
        }
        Ok(())
    }

    fn target(&self, job: &Job) -> Option<abide::Target> {
        if job.kind != HTTP {
            return None;
        }
        let Input::Http(http) = self.queue.inner.maker.open(job).ok()?.input else {
            return None;
        };
        let client = self.client.as_ref()?;
        super::request::Prepared::of(client, &http, &self.credentials)
            .ok()?
            .target
    }
}

/// What becomes of a job whose worker died.
fn after_death(job: &Job, policy: &DeferPolicy, now: WallTime) -> Finish {
    let mut finish = end::unchanged(job);
    finish.kills = job.kills.saturating_add(1);
    let poison = policy.is_poison(finish.kills);
    let why = match job.writes && job.intent {
        true => UNKNOWN.to_owned(),
        false if poison => format!("its worker died with it {} times", finish.kills),
        false => "its worker fell silent".to_owned(),
    };
    finish.history = Some(history::with(&job.history, now, &why));
    finish.reason = Some(why);
    if poison || job.writes && job.intent {
        tracing::warn!(job = job.id.0, why = finish.reason, "a job failed");
        end::count(job, "failed");
        finish.state = State::Failed;
        finish.ended = Some(now);
    } else {
        finish.state = State::Queued;
        finish.due = now;
    }
    finish
}
