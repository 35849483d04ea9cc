//! One job, from its claim to what is written down of it.

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use abide::core::WallTime;
use abide::core::defer::Ended;

use super::end::{self, Came};
use super::request::Prepared;
use super::{Inner, Told};
use crate::handler::{Context, Outcome};
use crate::input::{Envelope, Input};
use crate::ops::finish::Finish;
use crate::record::{Job, State};
use crate::results::{JobResult, StoredResult};

/// When a job comes back for which this worker has no handler: another one may.
const NOT_HERE: Duration = Duration::from_secs(60);

/// How often an end is written down again that could not be: with the pauses in between, longer
/// than a server takes to start anew.
const TRIES: u32 = 60;
const AGAIN: Duration = Duration::from_secs(1);

impl Inner {
    /// Does a job, and writes down how it ended.
    pub(super) async fn one(self: &Arc<Self>, job: Job) {
        let progressed = Arc::new(AtomicBool::new(false));
        let opened = self.queue.inner.maker.open(&job);
        let (came, webhook) = match opened {
            Ok(Envelope { input, webhook }) => {
                let came = match self.is_late(&job) {
                    true => late(&job),
                    false => self.came(&job, input, &progressed).await,
                };
                (came, webhook)
            }
            Err(e) => (Came::failed(e.to_string()), None),
        };
        let now = self.queue.now();
        let policy = self.policy(&job.class);
        let moved = progressed.load(Ordering::Relaxed);
        let mut finish = end::write(&job, policy, moved, &came, (now, self.dice()));
        if finish.state.is_over() {
            finish.result = self.result(&job, came.result, now).await;
            let told = (&job, finish.state, finish.reason.as_deref());
            match webhook.map(|hook| self.queue.inner.maker.webhook(&hook, told, now)) {
                Some(Ok(hook)) => finish.webhook = Some(hook),
                Some(Err(e)) => tracing::warn!(job = job.id.0, error = %e, "nobody can be told"),
                None => {}
            }
        }
        let told = Told {
            id: job.id,
            title: job.title,
            state: finish.state,
            until: finish.state.waits().then_some(finish.due),
            reason: finish.reason.clone(),
        };
        self.finish(finish).await;
        if let Some(tell) = &self.tell {
            tell(&told);
        }
    }

    fn is_late(&self, job: &Job) -> bool {
        let standing = end::standing(job, false);
        self.policy(&job.class).is_late(self.queue.now(), &standing)
    }

    /// Writes an end down, however long the queue is out of reach.
    pub(super) async fn finish(&self, finish: Finish) {
        let id = finish.id;
        for _ in 0..TRIES {
            match self.queue.finish(finish.clone()).await {
                Ok(true) => return,
                Ok(false) => {
                    let job = id.0;
                    tracing::info!(job, "the job was another's by then: its end is not heard");
                    return;
                }
                Err(e) => {
                    tracing::warn!(job = id.0, error = %e, "its end cannot be written yet");
                    tokio::time::sleep(AGAIN).await;
                }
            }
        }
    }

    async fn came(&self, job: &Job, input: Input, progressed: &Arc<AtomicBool>) -> Came {
        match input {
            Input::Http(http) => {
                let Some(client) = &self.client else {
                    return not_here(self.queue.now(), "this worker sends no requests");
                };
                let prepared = match Prepared::of(client, &http, &self.credentials) {
                    Ok(prepared) => prepared,
                    Err(why) => return Came::failed(why),
                };
                self.gates.meet(&job.lane, prepared.target.as_ref());
                let made = prepared.run(client, (job, http), &self.queue, self.wait);
                let mut came = made.await;
                came.hold = self.gates.hold(&job.lane);
                came
            }
            Input::Handler { name, payload } => {
                self.gates.meet(&job.lane, None);
                let Some(run) = self.handlers.get(&name) else {
                    let why = format!("no handler {name:?} in this worker");
                    tracing::warn!(job = job.id.0, handler = name, "no such handler here");
                    return not_here(self.queue.now(), &why);
                };
                let context = Context::new(&self.queue, self.client.as_ref(), job, progressed);
                match unwinding(|| run(context, payload)).await {
                    Err(why) => Came::retry(format!("its handler panicked: {why}")),
                    Ok(Ok(outcome)) => told(outcome),
                    Ok(Err(e)) => {
                        let mut came = Came::of_error(&*e);
                        came.hold = self.gates.hold(&job.lane);
                        came
                    }
                }
            }
        }
    }

    async fn result(
        &self,
        job: &Job,
        result: Option<JobResult>,
        now: WallTime,
    ) -> Option<StoredResult> {
        let result = result?;
        let queue = self.queue.clone();
        let ttl = match job.keep {
            Some(nanos) => Duration::from_nanos(nanos.max(0).unsigned_abs()),
            None => queue.inner.keeping.ttl,
        };
        let expires = now.after(ttl);
        let large = result.body.len() > queue.inner.keeping.inline;
        let claim = (job.id, job.token);
        let make = move || {
            let inner = &queue.inner;
            let how = (&inner.keeping, &*inner.maker.seal);
            StoredResult::make(result, claim, expires, how, inner.results.as_deref())
        };
        let made = match large {
            true => tokio::task::spawn_blocking(make)
                .await
                .unwrap_or_else(|e| Err(e.to_string())),
            false => make(),
        };
        match made {
            Ok(made) => Some(made),
            Err(why) => {
                tracing::warn!(job = job.id.0, why, "its result cannot be kept");
                None
            }
        }
    }
}

fn told(outcome: Outcome) -> Came {
    match outcome {
        Outcome::Done(serde_json::Value::Null) => Came::done(None),
        Outcome::Done(value) => Came::done(Some(JobResult {
            body: value.to_string().into_bytes(),
            ..JobResult::default()
        })),
        Outcome::Fail(why) => Came::failed(why),
        Outcome::Retry(why) => Came::retry(why),
        Outcome::Defer { until, reason } => {
            let until = Some(until);
            Came::of(Ended::Refused { until }, reason)
        }
    }
}

fn late(job: &Job) -> Came {
    match job.deadline {
        Some(at) => Came::failed(format!(
            "not begun: its deadline was {at}, or it is too old"
        )),
        None => Came::failed(format!(
            "not begun: submitted at {}, it is older than defer.max_age",
            job.created
        )),
    }
}

fn not_here(now: WallTime, why: &str) -> Came {
    let until = Some(now.after(NOT_HERE));
    Came::of(Ended::TurnedAway { until }, why)
}

/// Runs a future of somebody else's; what it panicked with, if it did.
async fn unwinding<F: Future>(make: impl FnOnce() -> F) -> Result<F::Output, String> {
    let what = |panic: Box<dyn std::any::Any + Send>| {
        let text = panic.downcast_ref::<&str>().map(|t| (*t).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        text.unwrap_or_else(|| "without a word".to_owned())
    };
    let made = std::panic::catch_unwind(AssertUnwindSafe(make)).map_err(what)?;
    let mut running = pin!(made);
    std::future::poll_fn(|cx| {
        let polled = std::panic::catch_unwind(AssertUnwindSafe(|| running.as_mut().poll(cx)));
        match polled {
            Ok(Poll::Ready(value)) => Poll::Ready(Ok(value)),
            Ok(Poll::Pending) => Poll::Pending,
            Err(panic) => Poll::Ready(Err(what(panic))),
        }
    })
    .await
}

/// What a job is that is given back unfinished: in its place again, at once.
pub(super) fn put_back(job: &Job, why: &str, now: WallTime) -> Finish {
    let mut finish = end::unchanged(job);
    finish.state = State::Queued;
    finish.due = now;
    finish.attempts = job.attempts.saturating_sub(1);
    finish.reason = Some(why.to_owned());
    finish
}
