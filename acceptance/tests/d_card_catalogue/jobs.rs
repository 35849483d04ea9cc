//! Jobs come back when they were asked to: items 8 to 13, and limits a to d, each of which its author
//! admits and durable deferral lifts.
//!
//! The ceiling is the program's own, one hour. In virtual time: an hour is over at once.

use std::sync::Arc;

use abide::clock::Clock;
use abide::core::WallTime;
use abide::core::call::Safety;
use abide::core::defer::DeferPolicy;
use abide_acceptance::log::Log;
use abide_acceptance::script::{asking, bare, ok};
use abide_jobs::{Context, Job, JobId, JobSpec, Outcome, Queue, State, Worker};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use crate::*;

/// The program with its queue, and a worker that runs.
struct Jobs {
    world: Arc<World>,
    queue: Queue,
    stop: CancellationToken,
}

/// A refresh asks its source once; a build asks once an image, and remembers how far it got.
impl Jobs {
    fn begin(world: World) -> Self {
        let world = Arc::new(world);
        let queue = Queue::builder().governor(world.program.governor.clone());
        let queue = queue.in_memory().unwrap();
        let (refreshing, building) = (Arc::clone(&world), Arc::clone(&world));
        // No two builds at once, however they are run.
        let alone = Arc::new(Mutex::new(()));
        let worker = Worker::builder(queue.clone())
            .policy(DeferPolicy::default().ceiling(secs(3600)))
            .lease(secs(120))
            .seed(1)
            .handler("refresh", move |_: Context, provider: String| {
                let world = Arc::clone(&refreshing);
                async move { asks(&world, &provider).await.map(|()| Outcome::done(())) }
            })
            .handler("build", move |ctx: Context, images: u64| {
                let (world, alone) = (Arc::clone(&building), Arc::clone(&alone));
                async move {
                    let _alone = alone.lock().await;
                    let from = ctx.checkpoint().and_then(|c| c.as_u64()).unwrap_or(0);
                    for image in from..images {
                        asks(&world, IMAGES).await?;
                        let made = ctx.set_checkpoint(image + 1).await;
                        made.expect("memory can be written");
                        // Its work takes an hour an image.
                        tokio::time::sleep(secs(3600)).await;
                    }
                    Ok::<_, TurnedAway>(Outcome::done(images))
                }
            })
            .build();
        let stop = CancellationToken::new();
        let ends = stop.clone();
        tokio::spawn(async move { worker.run(ends).await });
        Self { world, queue, stop }
    }

    fn saying(replies: impl Into<Vec<Reply>>) -> Self {
        Self::begin(World::saying(replies))
    }

    async fn refresh(&self) -> JobId {
        let spec = JobSpec::handler("refresh", SOURCE).provider(SOURCE);
        self.queue.submit(spec).await.unwrap()
    }

    async fn job(&self, id: JobId) -> Job {
        self.queue.get(id).await.unwrap()
    }

    fn now(&self) -> WallTime {
        self.world.program.clock.wall()
    }

    fn sends(&self) -> usize {
        self.world.arrivals.count()
    }
}

impl Drop for Jobs {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

async fn asks(world: &World, provider: &str) -> Result<(), TurnedAway> {
    let called = world.program.governor.call(provider, Safety::Read, |_| {
        let sim = world.sim.clone();
        async move { sim.ask("/").await }
    });
    called.await.map(drop).map_err(|e| e.turned().clone())
}

#[tokio::test(start_paused = true)]
async fn d8_a_job_comes_back_when_asked() {
    let jobs = Jobs::saying([asking(429, 600), ok()]);
    let began = jobs.now();
    let id = jobs.refresh().await;
    tokio::time::sleep(secs(1)).await;
    let put_off = jobs.job(id).await;
    assert_eq!((put_off.state, put_off.attempts), (State::Deferred, 0));
    let wait = put_off.due.since(began);
    assert!(wait >= secs(600) && wait < secs(601), "{wait:?}");
    tokio::time::sleep(secs(605)).await;
    assert_eq!(jobs.job(id).await.state, State::Done);
    let gap = jobs.world.arrivals.gaps()[0];
    assert!(gap >= secs(600) && gap < secs(603), "{gap:?}");
}

/// A wait that a call may sit out is sat out; where the job comes back it is after 30 s at least.
#[tokio::test(start_paused = true)]
async fn d8_after_thirty_seconds_at_least() {
    let jobs = Jobs::saying([asking(429, 20), ok()]);
    let id = jobs.refresh().await;
    tokio::time::sleep(secs(25)).await;
    let job = jobs.job(id).await;
    assert_eq!((job.state, job.deferrals), (State::Done, 0));
    let jobs = Jobs::saying([asking(429, 0), asking(429, 0), asking(429, 0), ok()]);
    let began = jobs.now();
    let id = jobs.refresh().await;
    tokio::time::sleep(secs(5)).await;
    let job = jobs.job(id).await;
    assert_eq!((job.state, jobs.sends()), (State::Deferred, 3));
    assert!(job.due.since(began) >= secs(30));
}

#[tokio::test(start_paused = true)]
async fn d8_a_wait_over_one_hour_is_not_scheduled() {
    let jobs = Jobs::saying([asking(429, 3700)]);
    let id = jobs.refresh().await;
    tokio::time::sleep(secs(1)).await;
    let failed = jobs.job(id).await;
    assert_eq!((failed.state, jobs.sends()), (State::Failed, 1));
    let why = failed.reason.unwrap();
    assert!(
        why.contains("later than 1 h from now (defer.ceiling)"),
        "{why}"
    );
    let jobs = Jobs::saying([asking(429, 3590), ok()]);
    let id = jobs.refresh().await;
    tokio::time::sleep(secs(3700)).await;
    assert_eq!(jobs.job(id).await.state, State::Done);
}

#[tokio::test(start_paused = true)]
async fn d8_three_times_in_a_row_at_most() {
    let jobs = Jobs::saying([asking(429, 600)]);
    let id = jobs.refresh().await;
    tokio::time::sleep(secs(4 * 3600)).await;
    let failed = jobs.job(id).await;
    assert_eq!((failed.state, failed.deferrals), (State::Failed, 3));
    assert_eq!(jobs.sends(), 4);
    assert!(
        jobs.world
            .arrivals
            .gaps()
            .iter()
            .all(|gap| *gap >= secs(600))
    );
}

/// There, without it, the refresh would have been tried at 3 s and 21 s, and failed for good.
#[tokio::test(start_paused = true)]
async fn d9_a_refresh_outlives_what_a_short_backoff_would_not() {
    let jobs = Jobs::saying([asking(429, 45), asking(429, 45), ok()]);
    let id = jobs.refresh().await;
    tokio::time::sleep(secs(120)).await;
    let job = jobs.job(id).await;
    assert_eq!(
        (job.state, job.deferrals, job.attempts),
        (State::Done, 2, 1)
    );
}

/// Rate limits and other troubles are counted each on their own, and the job stays the same one.
#[tokio::test(start_paused = true)]
async fn d10_refusals_and_failures_are_counted_apart() {
    let failures = [bare(500), bare(500), bare(500)];
    let mut replies = vec![asking(429, 60)];
    replies.extend(failures.clone());
    replies.push(asking(429, 60));
    replies.push(ok());
    let jobs = Jobs::saying(replies);
    let id = jobs.refresh().await;
    tokio::time::sleep(secs(3600)).await;
    let job = jobs.job(id).await;
    assert_eq!(job.state, State::Done, "{job:?}");
    assert_eq!(job.deferrals, 2);
    // Failures used attempts up, refusals none.
    assert!(job.attempts >= 2 && job.attempts <= 4, "{job:?}");
    // How each try ended stays on the record.
    assert!(
        job.history
            .iter()
            .filter(|l| l.contains("put off until"))
            .count()
            == 2
    );
}

#[tokio::test(start_paused = true)]
async fn d10_the_lock_is_released_while_a_job_is_put_off() {
    let jobs = Jobs::saying([asking(429, 600), ok()]);
    let key = |spec: JobSpec| spec.one_at_a_time("refresh");
    let first = JobSpec::handler("refresh", SOURCE).provider(SOURCE);
    let first = jobs.queue.submit(key(first)).await.unwrap();
    tokio::time::sleep(secs(1)).await;
    assert_eq!(jobs.job(first).await.state, State::Deferred);
    // Another of its key, which asks somebody else, runs meanwhile.
    let other = JobSpec::handler("refresh", "other.example").provider("other.example");
    let other = jobs.queue.submit(key(other)).await.unwrap();
    tokio::time::sleep(secs(1)).await;
    assert_eq!(jobs.job(other).await.state, State::Done);
}

/// "Queued to retry. The last run failed while downloading: …" with "Retrying at"; also of a build.
#[tokio::test(start_paused = true)]
async fn d11_d13d_what_is_shown_of_a_job_that_waits() {
    let jobs = Jobs::begin(World::saying([asking(429, 600)]));
    let spec = JobSpec::handler("build", 3).provider(IMAGES);
    let build = jobs.queue.submit(spec).await.unwrap();
    tokio::time::sleep(secs(1)).await;
    let shown = serde_json::to_value(jobs.job(build).await).unwrap();
    assert_eq!(shown["state"], "deferred");
    let why = shown["reason"].as_str().unwrap();
    assert!(
        why.contains(IMAGES) && why.contains("rate limited"),
        "{why}"
    );
    assert_eq!(shown["provider"], IMAGES);
    assert!(shown["due"].as_str().unwrap().ends_with('Z'));
    assert!(shown["hold"].is_string(), "{shown}");
    assert_eq!(
        (&shown["attempts"], &shown["in_a_row"]),
        (&0.into(), &1.into())
    );
}

/// Thirty seconds before an image and sixty within are at most ninety seconds of quiet, inside a
/// grace of two minutes; here the worker beats also while a request waits at its gate.
#[tokio::test(start_paused = true)]
async fn d12_a_job_that_waits_is_not_taken_for_dead() {
    let jobs = Jobs::saying([asking(429, 29), asking(429, 29), ok()]);
    let other = Worker::builder(jobs.queue.clone()).lease(secs(120)).build();
    let id = jobs.refresh().await;
    for _ in 0..58 {
        tokio::time::sleep(secs(1)).await;
        assert_eq!(other.watch().await.unwrap(), 0);
    }
    tokio::time::sleep(secs(10)).await;
    let job = jobs.job(id).await;
    assert_eq!((job.state, job.kills, job.deferrals), (State::Done, 0, 0));
}

/// A deferral is no error: it is told at INFO, once, and nothing louder.
#[tokio::test(start_paused = true)]
async fn sc_d12_a_deferral_is_told_quietly() {
    let log = Log::begin();
    let jobs = Jobs::saying([asking(429, 600), ok()]);
    let id = jobs.refresh().await;
    tokio::time::sleep(secs(700)).await;
    assert_eq!(jobs.job(id).await.state, State::Done);
    assert_eq!(log.records(tracing::Level::INFO, "deferred").len(), 1);
    for loud in [tracing::Level::WARN, tracing::Level::ERROR] {
        assert_eq!(log.records(loud, ""), Vec::<String>::new());
    }
}

/// Limit a: there, a second refresh could ask early, since "no sooner than asked" held for the job.
#[tokio::test(start_paused = true)]
async fn d13a_a_second_job_asks_no_sooner_either() {
    let jobs = Jobs::saying([asking(429, 600), ok()]);
    let first = jobs.refresh().await;
    tokio::time::sleep(secs(1)).await;
    let second = jobs.refresh().await;
    tokio::time::sleep(secs(590)).await;
    assert_eq!(jobs.sends(), 1);
    let waits = jobs.job(second).await;
    assert_eq!(
        (waits.state, waits.started),
        (State::Queued, None),
        "it was not even begun"
    );
    tokio::time::sleep(secs(60)).await;
    assert_eq!(jobs.job(first).await.state, State::Done);
    assert_eq!(jobs.job(second).await.state, State::Done);
    assert!(jobs.world.arrivals.gaps()[0] >= secs(600));
}

/// Limit b: there was no way to run a job earlier.
#[tokio::test(start_paused = true)]
async fn d13b_a_person_may_run_it_now_once_the_hold_is_lifted() {
    let jobs = Jobs::saying([asking(429, 600), ok()]);
    let id = jobs.refresh().await;
    tokio::time::sleep(secs(1)).await;
    jobs.queue.run_now(id).await.unwrap();
    tokio::time::sleep(secs(60)).await;
    // The gate holds.
    assert_eq!((jobs.job(id).await.state, jobs.sends()), (State::Queued, 1));
    jobs.world.program.governor.lift_all(SOURCE);
    tokio::time::sleep(secs(1)).await;
    assert_eq!((jobs.job(id).await.state, jobs.sends()), (State::Done, 2));
}

/// Limit c: there, three retries were for the whole life of a job, so that a build of many hours
/// failed on its fourth rate limit, hours apart.
#[tokio::test(start_paused = true)]
async fn d13c_a_build_of_many_hours_outlives_many_rate_limits() {
    // Each image is refused once, then served.
    let replies: Vec<Reply> = (0..8).flat_map(|_| [asking(429, 600), ok()]).collect();
    let jobs = Jobs::begin(World::saying(replies));
    let spec = JobSpec::handler("build", 8).provider(IMAGES);
    let id = jobs.queue.submit(spec).await.unwrap();
    tokio::time::sleep(secs(12 * 3600)).await;
    let job = jobs.job(id).await;
    assert_eq!((job.state, job.deferrals), (State::Done, 8), "{job:?}");
    assert_eq!(jobs.sends(), 16, "no image was asked for twice");
}
