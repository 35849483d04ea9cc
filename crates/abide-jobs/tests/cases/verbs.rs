use abide_jobs::{Context, Filter, JobId, JobSpec, Outcome, QueueError, State};
use std::sync::Arc;
use tokio::sync::Notify;

use crate::common::*;

pub async fn d13b_run_now_cancels_a_deferral(scene: Scene) {
    let id = scene.queue.submit(job("defer 3000")).await.unwrap();
    let worker = scene.worker().build();
    worker.round().await.unwrap();
    assert_eq!(scene.job(id).await.due, at(3000));
    scene.queue.run_now(id).await.unwrap();
    let now = scene.job(id).await;
    assert_eq!(
        (now.state, now.due, now.in_a_row),
        (State::Queued, at(0), 0)
    );
    assert_eq!((now.deferrals, now.reason), (1, None));
    assert_eq!(worker.round().await.unwrap().worked, 1);
    assert_eq!(scene.job(id).await.deferrals, 2);
    // What is over does not run now.
    scene.queue.cancel(id).await.unwrap();
    let denied = scene.queue.run_now(id).await.unwrap_err();
    assert_eq!(
        denied.to_string(),
        format!("job {id} is cancelled: it cannot be run now")
    );
    let none = scene.queue.run_now(JobId(1_000_000)).await.unwrap_err();
    assert_eq!(none, QueueError::NoSuchJob(JobId(1_000_000)));
}

pub async fn cancel_ends_what_waits_and_what_runs(scene: Scene) {
    let id = scene.queue.submit(job("done")).await.unwrap();
    scene.queue.cancel(id).await.unwrap();
    let worker = scene.worker().build();
    assert_eq!(worker.round().await.unwrap().worked, 0);
    let job = scene.job(id).await;
    assert_eq!((job.state, job.ended), (State::Cancelled, Some(at(0))));
    assert!(scene.queue.cancel(id).await.is_err());
    // One that runs ends at its worker's next beat.
    let begun = Arc::new(Notify::new());
    let tell = begun.clone();
    let worker = scene
        .worker()
        .handler("for ever", move |_: Context, (): ()| {
            tell.notify_one();
            std::future::pending::<Result<Outcome, std::io::Error>>()
        })
        .build();
    let id = scene
        .queue
        .submit(JobSpec::handler("for ever", ()))
        .await
        .unwrap();
    let running = tokio::spawn({
        let worker = worker.clone();
        async move { worker.round().await.unwrap() }
    });
    begun.notified().await;
    scene.queue.cancel(id).await.unwrap();
    worker.watch().await.unwrap();
    running.await.unwrap();
    assert_eq!(scene.job(id).await.state, State::Cancelled);
}

pub async fn a_failed_job_is_retried_from_the_beginning_of_its_counts(scene: Scene) {
    let id = scene.queue.submit(job("fail")).await.unwrap();
    let worker = scene.worker().build();
    worker.round().await.unwrap();
    assert_eq!(scene.job(id).await.state, State::Failed);
    scene.clock.pass(secs(8 * 24 * 3600));
    scene.queue.retry(id).await.unwrap();
    let again = scene.job(id).await;
    assert_eq!(
        (again.state, again.attempts, again.created),
        (State::Queued, 0, at(0))
    );
    // It is tried, though it was submitted long ago.
    worker.round().await.unwrap();
    let failed = scene.job(id).await;
    assert_eq!(failed.reason.as_deref(), Some("it never works"));
    assert_eq!(failed.history.len(), 3);
    let done = scene.queue.submit(job("done")).await.unwrap();
    worker.round().await.unwrap();
    assert!(scene.queue.retry(done).await.is_err());
}

pub async fn a_queue_is_paused_until_a_time_with_a_reason(scene: Scene) {
    scene.queue.submit(job("done").queue("slow")).await.unwrap();
    scene.queue.submit(job("done")).await.unwrap();
    let until = Some(at(300));
    scene
        .queue
        .pause("slow", until, Some("the shop moves"))
        .await
        .unwrap();
    let worker = scene.worker().build();
    let round = worker.round().await.unwrap();
    assert_eq!((round.worked, round.next), (1, until));
    let paused = scene.queue.paused().await.unwrap();
    assert_eq!(paused[0].reason.as_deref(), Some("the shop moves"));
    scene.clock.pass(secs(300));
    assert_eq!(worker.round().await.unwrap().worked, 1);
    // Until a person says so.
    scene.queue.pause("slow", None, None).await.unwrap();
    scene.queue.submit(job("done").queue("slow")).await.unwrap();
    let round = worker.round().await.unwrap();
    assert_eq!((round.worked, round.next), (0, None));
    assert!(scene.queue.resume("slow").await.unwrap());
    assert!(!scene.queue.resume("slow").await.unwrap());
    assert_eq!(worker.round().await.unwrap().worked, 1);
}

pub async fn lists_are_filtered_and_paged(scene: Scene) {
    for n in 0..5 {
        let spec = job(if n < 2 { "fail" } else { "done" }).class("c");
        scene
            .queue
            .submit(spec.provider(format!("p{}", n % 2)))
            .await
            .unwrap();
    }
    scene.worker().build().round().await.unwrap();
    let mut filter = Filter::default();
    filter.state = Some(State::Failed);
    assert_eq!(scene.queue.list(filter.clone()).await.unwrap().len(), 2);
    filter.provider = Some("p1".to_owned());
    assert_eq!(scene.queue.list(filter).await.unwrap().len(), 1);
    let mut page = Filter::default();
    page.most = Some(2);
    page.class = Some("c".to_owned());
    let first = scene.queue.list(page.clone()).await.unwrap();
    assert!(first.len() == 2 && first[0].id > first[1].id);
    page.before = Some(first[1].id);
    let second = scene.queue.list(page).await.unwrap();
    assert!(second.len() == 2 && second[0].id < first[1].id);
    let json = serde_json::to_value(&first[0]).unwrap();
    assert_eq!(json["state"], "done");
    assert_eq!(json["created"], "2026-03-10T12:00:00Z");
}

pub async fn priorities_can_be_changed(scene: Scene) {
    let specs = (0..3).map(|_| job("done").at(at(10)));
    let all = scene.queue.submit_all(specs).await.unwrap();
    scene.queue.prioritise(all[2].id, 0).await.unwrap();
    scene.clock.pass(secs(10));
    let order = Arc::new(std::sync::Mutex::new(Vec::new()));
    let notes = order.clone();
    let worker = scene
        .worker()
        .concurrency(1)
        .handler("do", move |ctx: Context, _: String| {
            notes.lock().unwrap().push(ctx.id());
            async { Ok::<_, std::io::Error>(Outcome::done(())) }
        })
        .build();
    worker.round().await.unwrap();
    assert_eq!(*order.lock().unwrap(), [all[2].id, all[0].id, all[1].id]);
}

pub async fn webhooks_are_jobs_signed_and_told_once(scene: Scene) {
    let hook = "http://127.0.0.1:1/hook";
    let told = scene
        .queue
        .submit(job("done").webhook(hook, None))
        .await
        .unwrap();
    scene
        .queue
        .submit(job("retry").webhook(hook, None))
        .await
        .unwrap();
    let gone = scene
        .queue
        .submit(job("done").at(at(99)).webhook(hook, None))
        .await
        .unwrap();
    let worker = scene.worker().build();
    worker.round().await.unwrap();
    scene.queue.cancel(gone).await.unwrap();
    let mut filter = Filter::default();
    filter.class = Some("webhook".to_owned());
    let hooks = scene.queue.list(filter).await.unwrap();
    // One of what is done, one of what was cancelled, none of what is tried again.
    assert_eq!(hooks.len(), 2, "{hooks:?}");
    let hook = &hooks[1];
    assert_eq!(hook.title, "POST http://127.0.0.1:1/hook");
    let job = scene.job(told).await;
    assert_eq!(hook.unique_key, Some(format!("webhook:{told}:1")));
    assert!(
        !hook.writes,
        "it may be told twice: the receiver knows it by its delivery"
    );
    assert_eq!(job.webhook.as_deref(), Some("http://127.0.0.1:1/hook"));
}
