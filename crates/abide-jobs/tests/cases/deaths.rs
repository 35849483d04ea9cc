use abide_jobs::{Context, JobSpec, Outcome, State, Worker};
use std::sync::Arc;
use tokio::sync::Notify;

use crate::common::*;

/// A worker that takes a job and never comes back, as one that was killed.
async fn dies_with(scene: &Scene, writes: bool) {
    let queue = scene.again();
    let taken = Arc::new(Notify::new());
    let tell = taken.clone();
    let worker = Worker::builder(queue)
        .lease(secs(30))
        .handler("do", move |ctx: Context, _: String| {
            let tell = tell.clone();
            async move {
                if writes {
                    ctx.intend().await?;
                }
                tell.notify_one();
                std::future::pending::<()>().await;
                Ok::<_, abide_jobs::QueueError>(Outcome::done(()))
            }
        })
        .build();
    let mut running = tokio::spawn(async move { worker.round().await.map(drop).unwrap() });
    taken.notified().await;
    running.abort();
    assert!((&mut running).await.is_err());
}

/// The next worker, which watches for a lease and takes over.
async fn takes_over(scene: &Scene) -> (Worker, usize) {
    let worker = scene.worker().lease(secs(30)).build();
    assert_eq!(worker.watch().await.unwrap(), 0, "it was seen just now");
    scene.clock.pass(secs(29));
    assert_eq!(worker.watch().await.unwrap(), 0, "it may be alive");
    scene.clock.pass(secs(1));
    let taken = worker.watch().await.unwrap();
    (worker, taken)
}

pub async fn a_read_under_way_is_done_again(scene: Scene) {
    let id = scene.queue.submit(job("done")).await.unwrap();
    dies_with(&scene, false).await;
    assert_eq!(scene.job(id).await.state, State::Running);
    let (worker, taken) = takes_over(&scene).await;
    assert_eq!(taken, 1);
    worker.round().await.unwrap();
    let job = scene.job(id).await;
    assert_eq!((job.state, job.attempts, job.kills), (State::Done, 2, 1));
    assert!(job.history[0].ends_with("its worker fell silent"));
}

pub async fn inv06_a_write_under_way_ends_effect_unknown(scene: Scene) {
    // One that had not begun to write is done again.
    let before = scene.queue.submit(job("done").write()).await.unwrap();
    dies_with(&scene, false).await;
    let (worker, _) = takes_over(&scene).await;
    worker.round().await.unwrap();
    assert_eq!(scene.job(before).await.state, State::Done);
    let id = scene.queue.submit(job("done").write()).await.unwrap();
    dies_with(&scene, true).await;
    let (worker, taken) = takes_over(&scene).await;
    assert_eq!((taken, worker.round().await.unwrap().worked), (1, 0));
    let job = scene.job(id).await;
    assert_eq!(job.state, State::Failed);
    assert!(job.reason.unwrap().starts_with("effect unknown"));
}

pub async fn a_job_that_kills_its_worker_is_poison(scene: Scene) {
    let id = scene.queue.submit(job("done")).await.unwrap();
    for kills in 1..=3 {
        dies_with(&scene, false).await;
        let (_, taken) = takes_over(&scene).await;
        assert_eq!(taken, 1);
        assert_eq!(scene.job(id).await.kills, kills);
    }
    let job = scene.job(id).await;
    assert_eq!(job.state, State::Failed);
    assert_eq!(
        job.reason.as_deref(),
        Some("its worker died with it 3 times")
    );
    assert_eq!(job.history.len(), 3);
}

pub async fn a_clock_that_jumps_takes_no_job_away(scene: Scene) {
    let held = Arc::new(Notify::new());
    let (begun, go) = (Arc::new(Notify::new()), held.clone());
    let tell = begun.clone();
    let worker = scene
        .worker()
        .lease(secs(30))
        .handler("hold", move |_, (): ()| {
            let (tell, go) = (tell.clone(), go.clone());
            async move {
                tell.notify_one();
                go.notified().await;
                Ok::<_, std::io::Error>(Outcome::done(()))
            }
        })
        .build();
    let id = scene
        .queue
        .submit(JobSpec::handler("hold", ()))
        .await
        .unwrap();
    let deferred = scene.queue.submit(job("defer 600")).await.unwrap();
    let running = tokio::spawn({
        let worker = worker.clone();
        async move { worker.round().await.unwrap() }
    });
    begun.notified().await;
    let other = scene.again();
    let watcher = worker_of(&other, &scene);
    for jump in [3600, -7200, 86_400] {
        scene.clock.jump(jump * 1_000_000_000);
        // Nothing is lost to whoever watches: beats that move are beats.
        for _ in 0..3 {
            scene.clock.pass(secs(20));
            worker.watch().await.unwrap();
            assert_eq!(watcher.watch().await.unwrap(), 0, "after {jump}");
        }
    }
    held.notify_one();
    running.await.unwrap();
    assert_eq!(scene.job(id).await.state, State::Done);
    // Nor is what waits: at the latest it is due when the clock says so.
    let mut left = 10;
    while scene.job(deferred).await.state != State::Failed && left > 0 {
        scene.clock.pass(secs(86_400));
        worker.round().await.unwrap();
        left -= 1;
    }
    assert_eq!(
        scene.job(deferred).await.state,
        State::Failed,
        "put off too often"
    );
}

fn worker_of(queue: &abide_jobs::Queue, scene: &Scene) -> Worker {
    worker(queue, &scene.clock).lease(secs(30)).build()
}

pub async fn whoever_was_taken_for_dead_is_not_heard(scene: Scene) {
    let (begun, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (tell, held) = (begun.clone(), go.clone());
    let slow = Worker::builder(scene.again())
        .handler("do", move |ctx: Context, _: String| {
            let (tell, held) = (tell.clone(), held.clone());
            async move {
                tell.notify_one();
                held.notified().await;
                // It is told, where it asks.
                assert!(ctx.set_checkpoint(1).await.is_err());
                assert!(ctx.intend().await.is_err());
                Ok::<_, std::io::Error>(Outcome::Fail("too late".to_owned()))
            }
        })
        .build();
    let id = scene.queue.submit(job("done")).await.unwrap();
    let running = tokio::spawn(async move { slow.round().await.unwrap() });
    begun.notified().await;
    let (worker, taken) = takes_over(&scene).await;
    assert_eq!(taken, 1);
    worker.round().await.unwrap();
    assert_eq!(scene.job(id).await.state, State::Done);
    go.notify_one();
    running.await.unwrap();
    let job = scene.job(id).await;
    assert_eq!((job.state, job.reason), (State::Done, None));
}
