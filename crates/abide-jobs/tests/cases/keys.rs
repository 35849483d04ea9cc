use abide_jobs::State;

use crate::common::*;

pub async fn a_unique_key_is_taken_once(scene: Scene) {
    let first = scene.queue.submit(job("done").unique("k")).await.unwrap();
    let other = scene.again();
    let both = [job("fail").unique("k"), job("done").unique("l")];
    let both = other.submit_all(both).await.unwrap();
    assert_eq!((both[0].id, both[0].fresh), (first, false));
    assert!(both[1].fresh);
    scene.worker().build().round().await.unwrap();
    // Also when it is over.
    assert_eq!(
        scene.queue.submit(job("done").unique("k")).await.unwrap(),
        first
    );
    assert_eq!(scene.job(first).await.state, State::Done);
}

pub async fn d10_one_of_a_key_runs_and_one_put_off_lets_others_run(scene: Scene) {
    let one = scene
        .queue
        .submit(job("defer 600").one_at_a_time("build"))
        .await
        .unwrap();
    let two = scene
        .queue
        .submit(job("done").one_at_a_time("build"))
        .await
        .unwrap();
    let free = scene.queue.submit(job("done")).await.unwrap();
    // Both are claimed together, and one of the key only.
    let worker = scene.worker().build();
    let first = worker.round().await.unwrap();
    assert_eq!(
        first.worked, 3,
        "the second of the key as soon as the first is put off"
    );
    assert_eq!(scene.job(one).await.state, State::Deferred);
    assert_eq!(scene.job(two).await.state, State::Done);
    assert_eq!(scene.job(free).await.state, State::Done);
    scene.clock.pass(secs(600));
    assert_eq!(worker.round().await.unwrap().worked, 1);
}

pub async fn a_cancelled_head_lets_the_next_of_its_key_run(scene: Scene) {
    let first = scene
        .queue
        .submit(job("defer 600").one_at_a_time("k"))
        .await
        .unwrap();
    let ids = scene
        .queue
        .submit_all((0..3).map(|_| job("done").one_at_a_time("k")))
        .await
        .unwrap();
    // Two workers, so that one meets the key while it is taken.
    let (a, b) = (scene.worker().build(), scene.worker().build());
    let (x, y) = tokio::join!(a.round(), b.round());
    let mut worked = x.unwrap().worked + y.unwrap().worked;
    for _ in 0..4 {
        worked += a.round().await.unwrap().worked;
    }
    assert_eq!(worked, 4);
    scene.queue.cancel(first).await.unwrap();
    assert_eq!(scene.job(first).await.state, State::Cancelled);
    for submitted in ids {
        assert_eq!(scene.job(submitted.id).await.state, State::Done);
    }
}

pub async fn many_of_one_key_are_all_done(scene: Scene) {
    let specs = (0..60).map(|n| match n % 3 {
        0 => job("done").one_at_a_time("k").provider("a"),
        1 => job("done").one_at_a_time("k").provider("b"),
        _ => job("done").one_at_a_time("l"),
    });
    scene.queue.submit_all(specs).await.unwrap();
    let other = scene.again();
    let (a, b) = (scene.worker().build(), worker(&other, &scene.clock).build());
    for _ in 0..60 {
        let (x, y) = tokio::join!(a.round(), b.round());
        x.unwrap();
        y.unwrap();
        let counts = scene.queue.counts().await.unwrap();
        if counts.len() == 1 && counts[0].state == State::Done {
            assert_eq!(counts[0].jobs, 60);
            return;
        }
    }
    panic!("{:?}", scene.queue.counts().await.unwrap());
}
