//! The conformance suite on PostgreSQL, and what only a server can do: start anew.
#![cfg(feature = "postgres")]
#![allow(clippy::unwrap_used, reason = "test code")]

mod cases;
mod common;

use common::server::Server;
use common::{Scene, job, secs};

/// All on one server, a database each: starting one takes longer than any case.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_case_on_postgres() {
    let server = tokio::task::spawn_blocking(Server::begin).await.unwrap();
    let only = std::env::var("CASE").unwrap_or_default();
    macro_rules! on_postgres {
        ($of:ident, $case:ident) => {
            if stringify!($case).contains(&only) {
                eprintln!("case {}", stringify!($case));
                let server = server.clone();
                let scene = tokio::task::spawn_blocking(move || Scene::postgres(&server));
                cases::$of::$case(scene.await.unwrap()).await;
            }
        };
    }
    every_case!(on_postgres);
}

/// The server is killed while jobs are submitted and done: none is lost, none is done twice by two.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "two runs of three did not end within two minutes, and why is not found yet"]
async fn a_server_that_starts_anew_loses_nothing() {
    let server = tokio::task::spawn_blocking(Server::begin).await.unwrap();
    let theirs = server.clone();
    let scene = tokio::task::spawn_blocking(move || Scene::postgres(&theirs))
        .await
        .unwrap();
    let mut ids = Vec::new();
    for n in 0..200 {
        ids.push(
            scene
                .queue
                .submit(job(&format!("value {n}")))
                .await
                .unwrap(),
        );
    }
    let worker = scene.worker().concurrency(4).lease(secs(3)).build();
    let stop = tokio_util::sync::CancellationToken::new();
    let running = tokio::spawn({
        let (worker, stop) = (worker.clone(), stop.clone());
        async move { worker.run(stop).await }
    });
    for _ in 0..2 {
        let theirs = server.clone();
        let again = move || {
            theirs.kill();
            theirs.start();
        };
        tokio::task::spawn_blocking(again).await.unwrap();
        for n in 0..50 {
            // Whoever is told that it is not known submits again under the same key.
            let key = format!("{}-{n}", ids.len());
            let id = loop {
                match scene.queue.submit(job("done").unique(&key)).await {
                    Ok(id) => break id,
                    Err(e) => eprintln!("{e}"),
                }
            };
            ids.push(id);
        }
    }
    let done = async {
        for id in &ids {
            while scene.job(*id).await.state != abide_jobs::State::Done {
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
                scene.clock.pass(secs(1));
            }
        }
    };
    let done = tokio::time::timeout(secs(120), done).await;
    let left = scene.queue.counts().await.unwrap();
    assert!(done.is_ok(), "{left:?}");
    stop.cancel();
    running.await.unwrap().unwrap();
}
