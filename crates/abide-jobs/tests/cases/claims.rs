use std::sync::{Arc, Mutex};

use abide::core::queue::Urgency;
use abide_jobs::{Context, JobSpec, Outcome, State, Worker};

use crate::common::*;

/// A worker that notes in which order it was given its jobs.
fn noting(scene: &Scene, queue: &abide_jobs::Queue) -> (Worker, Arc<Mutex<Vec<String>>>) {
    let order = Arc::new(Mutex::new(Vec::new()));
    let notes = order.clone();
    let worker = worker(queue, &scene.clock)
        .concurrency(1)
        .handler("note", move |_: Context, name: String| {
            let notes = notes.clone();
            async move {
                notes.lock().unwrap().push(name);
                Ok::<_, std::io::Error>(Outcome::done(()))
            }
        })
        .build();
    (worker, order)
}

fn note(name: &str) -> JobSpec {
    JobSpec::handler("note", name)
}

pub async fn the_urgent_are_first_and_the_rest_in_order(scene: Scene) {
    let specs = [
        note("bulk 1"),
        note("bulk 2"),
        note("screen").urgency(Urgency::INTERACTIVE),
        note("plain").urgency(Urgency::NORMAL),
        note("bulk 3"),
    ];
    scene.queue.submit_all(specs).await.unwrap();
    let (worker, order) = noting(&scene, &scene.queue);
    worker.round().await.unwrap();
    let order = order.lock().unwrap().join(", ");
    assert_eq!(order, "screen, plain, bulk 1, bulk 2, bulk 3");
}

pub async fn two_workers_never_have_the_same_job(scene: Scene) {
    let specs = (0..400).map(|n| note(&n.to_string()));
    scene.queue.submit_all(specs).await.unwrap();
    let other = scene.again();
    let (one, first) = noting(&scene, &scene.queue);
    let (two, second) = noting(&scene, &other);
    let (a, b) = tokio::join!(one.round(), two.round());
    let worked = a.unwrap().worked + b.unwrap().worked;
    let mut all = first.lock().unwrap().clone();
    all.extend(second.lock().unwrap().clone());
    assert_eq!((worked, all.len()), (400, 400));
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 400);
}

pub async fn tenants_share_alike(scene: Scene) {
    let many = (0..50).map(|n| note(&format!("many {n}")).provider("shop").fair("many"));
    scene.queue.submit_all(many).await.unwrap();
    let few = (0..3).map(|n| note(&format!("few {n}")).provider("shop").fair("few"));
    scene.queue.submit_all(few).await.unwrap();
    let (worker, order) = noting(&scene, &scene.queue);
    worker.round().await.unwrap();
    let order = order.lock().unwrap();
    let last = order.iter().rposition(|n| n.starts_with("few")).unwrap();
    assert!(last < 8, "{:?}", &order[..10]);
}

pub async fn a_thousand_at_once_are_all_done(scene: Scene) {
    let all = scene
        .queue
        .submit_all((0..1000).map(|_| job("done")))
        .await
        .unwrap();
    let ids: Vec<i64> = all.iter().map(|s| s.id.0).collect();
    assert!(
        ids.windows(2).all(|w| w[0] < w[1]),
        "in the order of submission"
    );
    let worker = scene.worker().concurrency(64).build();
    assert_eq!(worker.round().await.unwrap().worked, 1000);
    let counts = scene.queue.counts().await.unwrap();
    assert_eq!(counts.len(), 1);
    assert_eq!((counts[0].state, counts[0].jobs), (State::Done, 1000));
}
