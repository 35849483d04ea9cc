use abide::core::WallTime;
use abide_jobs::{JobSpec, Outcome, Retention, State};
use serde_json::json;

use crate::common::*;

pub async fn a_job_is_done_once_and_its_value_is_kept(scene: Scene) {
    let id = scene.queue.submit(job("value 7")).await.unwrap();
    assert_eq!(scene.job(id).await.state, State::Queued);
    let worker = scene.worker().build();
    let round = worker.round().await.unwrap();
    assert_eq!((round.worked, round.next), (1, None));
    let done = scene.job(id).await;
    assert_eq!((done.state, done.attempts), (State::Done, 1));
    assert_eq!(done.ended, Some(at(0)));
    assert!(done.history.is_empty());
    let result = scene.queue.result(id).await.unwrap().unwrap();
    assert_eq!(result.body, b"\"7\"");
    assert_eq!(worker.round().await.unwrap().worked, 0);
}

pub async fn a_job_that_goes_wrong_uses_attempts_up_and_waits_longer_each_time(scene: Scene) {
    let id = scene.queue.submit(job("retry")).await.unwrap();
    let worker = scene.worker().build();
    for attempt in 1..=4 {
        assert_eq!(worker.round().await.unwrap().worked, 1);
        let now = scene.job(id).await;
        assert_eq!(now.attempts, attempt);
        if attempt < 4 {
            assert_eq!(now.state, State::Queued);
            // Drawn between nothing and 5, 15, 45 seconds.
            let wait = now.due.since(at(0));
            assert!(wait <= secs(600), "{wait:?}");
        }
        scene.clock.pass(secs(60));
    }
    let failed = scene.job(id).await;
    assert_eq!(failed.state, State::Failed);
    let why = failed.reason.unwrap();
    assert_eq!(why, "4 attempts came to nothing: not this time");
    assert_eq!(failed.history.len(), 4);
}

pub async fn a_handler_that_panics_or_errs_uses_an_attempt_up(scene: Scene) {
    let worker = scene.worker().build();
    for (what, why) in [
        ("panic", "its handler panicked: on purpose"),
        ("error", "it broke"),
    ] {
        let id = scene.queue.submit(job(what)).await.unwrap();
        worker.round().await.unwrap();
        let job = scene.job(id).await;
        assert_eq!((job.state, job.attempts), (State::Queued, 1));
        assert_eq!(job.reason.as_deref(), Some(why));
        scene.queue.cancel(id).await.unwrap();
    }
    // What can never work is not tried again.
    let id = scene.queue.submit(JobSpec::handler("do", 5)).await.unwrap();
    worker.round().await.unwrap();
    assert_eq!(scene.job(id).await.state, State::Failed);
}

pub async fn what_is_scheduled_waits_for_its_time(scene: Scene) {
    let far = job("done").at(at(30 * 24 * 3600));
    let far = scene.queue.submit(far).await.unwrap();
    let id = scene.queue.submit(job("done").at(at(60))).await.unwrap();
    let late = job("done").at(at(61)).deadline(at(62));
    let late = scene.queue.submit(late).await.unwrap();
    let worker = scene.worker().build();
    let round = worker.round().await.unwrap();
    assert_eq!((round.worked, round.next), (0, Some(at(60))));
    scene.clock.pass(secs(60));
    assert_eq!(worker.round().await.unwrap().worked, 1);
    assert_eq!(scene.job(id).await.state, State::Done);
    // One that is of no use any more is not begun.
    scene.clock.pass(secs(60));
    worker.round().await.unwrap();
    let late = scene.job(late).await;
    assert_eq!(late.state, State::Failed);
    assert!(late.reason.unwrap().starts_with("not begun"));
    // And one for next month is not old then.
    scene.clock.pass(secs(30 * 24 * 3600));
    worker.round().await.unwrap();
    assert_eq!(scene.job(far).await.state, State::Done);
}

pub async fn nothing_secret_stands_in_the_database(scene: Scene) {
    let spec = JobSpec::get("https://shop.example/x?api_key=s3cr3t-url")
        .header("authorization", "Bearer s3cr3t-head")
        .webhook(
            "https://hook.example/?token=s3cr3t-hook",
            Some("s3cr3t-key".into()),
        );
    let id = scene.queue.submit(spec).await.unwrap();
    scene
        .queue
        .submit(JobSpec::handler("do", json!("s3cr3t-payload")))
        .await
        .unwrap();
    let job = scene.job(id).await;
    assert_eq!(job.provider.as_deref(), Some("shop.example"));
    assert!(job.lane.starts_with("shop.example #"), "{}", job.lane);
    let shown = serde_json::to_string(&job).unwrap();
    assert!(!shown.contains("s3cr3t"), "{shown}");
    assert!(!format!("{job:?}").contains("s3cr3t"));
    match &scene.place {
        Place::Folder(dir) => {
            for file in std::fs::read_dir(dir.path()).unwrap() {
                let bytes = std::fs::read(file.unwrap().path()).unwrap();
                assert!(!bytes.windows(6).any(|w| w == b"s3cr3t"));
            }
        }
        Place::Memory => {}
        #[cfg(feature = "postgres")]
        Place::Server(database) => {
            let all = database.psql("SELECT * FROM abide_jobs.jobs");
            assert!(all.contains("shop.example") && !all.contains("s3cr3t"));
            let hex = database.psql("SELECT encode(input, 'escape') FROM abide_jobs.jobs");
            assert!(!hex.contains("s3cr3t"));
        }
    }
}

pub async fn results_are_forgotten_and_large_ones_kept_aside(scene: Scene) {
    let worker = scene
        .worker()
        .handler("large", |_, n: usize| async move {
            Ok::<_, std::io::Error>(Outcome::done("x".repeat(n)))
        })
        .build();
    let large = JobSpec::handler("large", 200_000).keep_result(secs(60));
    let id = scene.queue.submit(large).await.unwrap();
    worker.round().await.unwrap();
    let result = scene.queue.result(id).await.unwrap().unwrap();
    assert_eq!((result.body.len(), result.size), (200_002, 200_002));
    let files = || match &scene.place {
        Place::Folder(dir) => std::fs::read_dir(dir.path().join("results"))
            .unwrap()
            .count(),
        _ => 0,
    };
    let kept = usize::from(matches!(scene.place, Place::Folder(_)));
    assert_eq!(files(), kept);
    scene.clock.pass(secs(61));
    scene.queue.tidy(&Retention::default()).await.unwrap();
    assert_eq!(scene.queue.result(id).await.unwrap(), None);
    assert_eq!(files(), 0);
    assert_eq!(scene.job(id).await.state, State::Done);
}

pub async fn retention_forgets_what_is_over(scene: Scene) {
    let done = scene.queue.submit(job("done").unique("k")).await.unwrap();
    let failed = scene.queue.submit(job("fail")).await.unwrap();
    let waits = scene
        .queue
        .submit(job("done").at(WallTime::MAX))
        .await
        .unwrap();
    scene.worker().build().round().await.unwrap();
    let tidy = |days: u64| {
        scene.clock.pass(secs(days * 24 * 3600));
        scene.queue.tidy(&RETENTION)
    };
    assert_eq!(tidy(1).await.unwrap(), 0);
    assert_eq!(tidy(7).await.unwrap(), 1);
    assert!(scene.queue.get(done).await.is_err());
    assert_eq!(scene.job(failed).await.state, State::Failed);
    assert_eq!(tidy(30).await.unwrap(), 1);
    assert!(scene.queue.get(failed).await.is_err());
    assert_eq!(scene.job(waits).await.state, State::Queued);
    // Its key is free again.
    assert_ne!(
        scene.queue.submit(job("done").unique("k")).await.unwrap(),
        done
    );
    scene.queue.vacuum().await.unwrap();
}

static RETENTION: std::sync::LazyLock<Retention> = std::sync::LazyLock::new(Retention::default);

pub async fn a_job_without_a_handler_here_waits_for_another_worker(scene: Scene) {
    let id = scene
        .queue
        .submit(JobSpec::handler("other", 1))
        .await
        .unwrap();
    scene.worker().build().round().await.unwrap();
    let job = scene.job(id).await;
    assert_eq!(
        (job.state, job.attempts, job.in_a_row),
        (State::Deferred, 0, 0)
    );
    assert_eq!(
        job.reason.as_deref(),
        Some("no handler \"other\" in this worker")
    );
    scene.clock.pass(secs(60));
    let other = scene.worker().handler("other", |_, _: u32| async {
        Ok::<_, std::io::Error>(Outcome::done(()))
    });
    other.build().round().await.unwrap();
    assert_eq!(scene.job(id).await.state, State::Done);
}
