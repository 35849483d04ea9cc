use abide::core::defer::DeferPolicy;
use abide_jobs::{Context, JobSpec, Outcome, State};

use crate::common::*;

const HOUR: u64 = 3600;

pub async fn d07_deferrals_use_no_attempt_up_and_stretch_no_backoff(scene: Scene) {
    // One step of progress each time: as many deferrals as steps.
    let id = scene.queue.submit(job("step 60")).await.unwrap();
    let worker = scene.worker().build();
    for n in 1..=50 {
        worker.round().await.unwrap();
        let job = scene.job(id).await;
        assert_eq!(
            (job.state, job.attempts, job.deferrals),
            (State::Deferred, 0, n)
        );
        assert_eq!(job.due, scene.queue.get(id).await.unwrap().due);
        assert_eq!(job.due.since(at(0)), secs(60 * u64::from(n)));
        assert_eq!(job.reason.as_deref(), Some("one step done"));
        scene.clock.pass(secs(60));
    }
    // The history is bounded.
    assert_eq!(scene.job(id).await.history.len(), 20);
}

pub async fn d08_the_handler_sees_both_counts(scene: Scene) {
    let seen = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let (notes, clock) = (seen.clone(), scene.clock.clone());
    let worker = scene
        .worker()
        .handler("count", move |ctx: Context, (): ()| {
            let (notes, clock) = (notes.clone(), clock.clone());
            async move {
                use abide::clock::Clock;
                let counts = (ctx.attempts(), ctx.deferrals(), ctx.in_a_row());
                let mut notes = notes.lock().unwrap();
                notes.push(counts);
                Ok::<_, std::io::Error>(match notes.len() {
                    1 | 2 => Outcome::Defer {
                        until: clock.wall().after(secs(100)),
                        reason: "later".to_owned(),
                    },
                    3 => Outcome::Retry("wrong".to_owned()),
                    _ => Outcome::done(()),
                })
            }
        })
        .build();
    let id = scene
        .queue
        .submit(JobSpec::handler("count", ()))
        .await
        .unwrap();
    for _ in 0..4 {
        worker.round().await.unwrap();
        scene.clock.pass(secs(100));
    }
    assert_eq!(
        *seen.lock().unwrap(),
        [(1, 0, 0), (1, 1, 1), (1, 2, 2), (2, 2, 2)]
    );
    let job = scene.job(id).await;
    assert_eq!(
        (job.state, job.attempts, job.deferrals),
        (State::Done, 2, 2)
    );
}

pub async fn d09_deferrals_are_bounded_in_count_and_age(scene: Scene) {
    let id = scene.queue.submit(job("defer 60")).await.unwrap();
    let worker = scene.worker().build();
    for row in 1..=3 {
        worker.round().await.unwrap();
        assert_eq!(scene.job(id).await.in_a_row, row);
        scene.clock.pass(secs(60));
    }
    worker.round().await.unwrap();
    let failed = scene.job(id).await;
    assert_eq!((failed.state, failed.deferrals), (State::Failed, 3));
    assert_eq!(
        failed.reason.as_deref(),
        Some("put off 3 times in a row (defer.in_a_row): not yet")
    );
    // One that makes progress is bounded by its age.
    let id = scene.queue.submit(job("step 90000")).await.unwrap();
    let mut days = 0;
    while scene.job(id).await.state != State::Failed {
        worker.round().await.unwrap();
        scene.clock.pass(secs(90_000));
        days += 1;
        assert!(days < 10);
    }
    assert_eq!(days, 7);
}

pub async fn d10_the_row_begins_anew_with_progress_and_a_class_may_allow_none(scene: Scene) {
    let none = DeferPolicy::default().in_a_row(0);
    let worker = scene.worker().class("strict", none).build();
    let id = scene
        .queue
        .submit(job("defer 60").class("strict"))
        .await
        .unwrap();
    worker.round().await.unwrap();
    assert_eq!(scene.job(id).await.state, State::Failed);
    // Two without progress, one with: the row is one again.
    let clock = scene.clock.clone();
    let worker = scene
        .worker()
        .handler("third", move |ctx: Context, (): ()| {
            let clock = clock.clone();
            async move {
                use abide::clock::Clock;
                if ctx.deferrals() == 2 {
                    ctx.set_checkpoint("half").await?;
                }
                // The same again is no progress.
                if ctx.deferrals() == 3 {
                    assert_eq!(ctx.checkpoint().unwrap(), "half");
                    ctx.set_checkpoint("half").await?;
                }
                Ok::<_, abide_jobs::QueueError>(Outcome::Defer {
                    until: clock.wall().after(secs(60)),
                    reason: "later".to_owned(),
                })
            }
        })
        .build();
    let id = scene
        .queue
        .submit(JobSpec::handler("third", ()))
        .await
        .unwrap();
    for row in [1, 2, 1, 2, 3] {
        worker.round().await.unwrap();
        assert_eq!(scene.job(id).await.in_a_row, row);
        scene.clock.pass(secs(60));
    }
}

pub async fn d8_an_ask_beyond_the_ceiling_ends_failed_and_visible(scene: Scene) {
    // The card catalogue's numbers.
    let policy = DeferPolicy::default().ceiling(secs(HOUR));
    let worker = scene.worker().policy(policy).build();
    let short = scene.queue.submit(job("defer 5")).await.unwrap();
    let equal = scene.queue.submit(job("defer 3600")).await.unwrap();
    let beyond = scene.queue.submit(job("defer 3601")).await.unwrap();
    worker.round().await.unwrap();
    assert_eq!(scene.job(short).await.due, at(30), "the floor");
    assert_eq!(scene.job(equal).await.due, at(3600));
    let beyond = scene.job(beyond).await;
    assert_eq!(beyond.state, State::Failed);
    let why = beyond.reason.unwrap();
    assert!(
        why.contains("later than 1 h from now (defer.ceiling)"),
        "{why}"
    );
    assert!(why.contains("2026-03-10T13:00:01Z"), "{why}");
}

pub async fn d10_counts_travel_with_the_job_through_a_restart(scene: Scene) {
    let id = scene.queue.submit(job("defer 60")).await.unwrap();
    scene.worker().build().round().await.unwrap();
    let other = scene.again();
    scene.clock.pass(secs(60));
    worker(&other, &scene.clock).build().round().await.unwrap();
    let job = other.get(id).await.unwrap();
    assert_eq!(
        (job.id, job.deferrals, job.in_a_row, job.attempts),
        (id, 2, 2, 0)
    );
    assert_eq!(job.history.len(), 2);
}
