//! `kill -9`, and what is left.

mod common;

use std::time::Duration;

use abide_sim::policy::{Plain, Service, Timed};
use common::{Scene, code, count, err};

const ITEMS: usize = 500;

fn slow() -> Timed<Plain> {
    Timed::over(
        Plain::sized(200),
        Service::constant(Duration::from_millis(5)),
    )
}

/// 500 items, a tenth of them writes, killed ten times at random instants.
#[test]
fn inv10_killed_ten_times_every_item_has_exactly_one_line() {
    let scene = Scene::new(slow());
    let lines: String = (0..ITEMS)
        .map(|i| {
            let (method, body) = if i % 10 == 0 {
                ("POST", "\"x\"")
            } else {
                ("GET", "null")
            };
            let url = scene.url(&format!("/item/{i}"));
            format!(
                "{{\"id\":\"{i}\",\"method\":\"{method}\",\"url\":\"{url}\",\"body\":{body}}}\n"
            )
        })
        .collect();
    scene.write("in.jsonl", &lines);
    let seed = std::env::var("ABIDE_SEED")
        .ok()
        .and_then(|s| s.parse().ok());
    let seed = seed.unwrap_or_else(|| fastrand::u64(..));
    eprintln!("ABIDE_SEED={seed}");
    let mut dice = fastrand::Rng::with_seed(seed);
    let args = [
        "fetch",
        "in.jsonl",
        "--out",
        "out.jsonl",
        "--quiet",
        "--concurrency",
        "8",
    ];
    let mut kills = 0;
    for round in 0..10 {
        let mut all = args.to_vec();
        if round > 0 {
            all.push("--resume");
        }
        let before = scene.server.read(|t| t.requests);
        let mut child = scene.start(&all);
        let more = dice.u64(1..50);
        if scene.seen(before + more, &mut child) {
            kills += 1;
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let last = scene.run(&[&args[..], &["--resume"]].concat());
    let results = scene.results("out.jsonl");
    assert_eq!(results.len(), ITEMS, "{}", err(&last));
    assert!(kills >= 5, "only {kills} kills hit a run under way");
    let unknown: Vec<_> = results
        .values()
        .filter(|r| r["outcome"] == "failed")
        .map(|r| r["reason"].as_str().unwrap().to_owned())
        .collect();
    assert!(
        unknown.iter().all(|r| r.starts_with("effect unknown")),
        "{unknown:?}"
    );
    assert_eq!(
        code(&last),
        i32::from(!unknown.is_empty()),
        "{}",
        err(&last)
    );
    assert_eq!(count(&results, "done"), ITEMS - unknown.len());
    let truth = scene.server.truth();
    assert!(truth.written_twice().is_empty(), "a write was sent twice");
    let done: Vec<String> = results
        .values()
        .filter(|r| r["outcome"] == "done")
        .map(|r| format!("/item/{}", r["id"].as_str().unwrap()))
        .collect();
    let never = truth.never_accepted(done.iter().map(String::as_str));
    assert!(never.is_empty(), "reported done, never accepted: {never:?}");
}

/// A write on the wire at the kill ends `failed: effect unknown`, and is not sent again.
#[test]
fn inv06_a_write_in_flight_at_a_kill_is_not_sent_again() {
    let scene = Scene::new(Timed::over(
        Plain::sized(10),
        Service::constant(Duration::from_secs(3600)),
    ));
    let url = scene.url("/item/1");
    scene.write(
        "in.jsonl",
        &format!("{{\"id\":\"w\",\"method\":\"POST\",\"url\":\"{url}\"}}\n"),
    );
    let args = ["fetch", "in.jsonl", "--out", "out.jsonl", "--quiet"];
    let mut child = scene.start(&args);
    assert!(scene.seen(1, &mut child));
    child.kill().unwrap();
    child.wait().unwrap();
    let again = scene.run(&[&args[..], &["--resume"]].concat());
    assert_eq!(code(&again), 1, "{}", err(&again));
    let results = scene.results("out.jsonl");
    assert!(
        results["w"]["reason"]
            .as_str()
            .unwrap()
            .starts_with("effect unknown")
    );
    assert_eq!(scene.server.read(|t| t.requests), 1);
}

/// A write that still waited for its turn at the kill was never sent: it is sent on resume.
#[test]
fn inv06_a_write_that_waited_at_a_kill_is_sent_on_resume() {
    let scene = Scene::new(slow());
    let lines: String = (0..100)
        .map(|i| {
            let url = scene.url(&format!("/item/{i}"));
            format!("{{\"id\":\"{i}\",\"method\":\"POST\",\"url\":\"{url}\"}}\n")
        })
        .collect();
    scene.write("in.jsonl", &lines);
    let args = [
        "fetch",
        "in.jsonl",
        "--out",
        "out.jsonl",
        "--quiet",
        "--concurrency",
        "1",
    ];
    let mut child = scene.start(&args);
    assert!(scene.seen(3, &mut child));
    child.kill().unwrap();
    child.wait().unwrap();
    scene.run(&[&args[..], &["--resume"]].concat());
    let results = scene.results("out.jsonl");
    assert_eq!(results.len(), 100);
    // One was on the wire, and one more may have had its intent written.
    assert!(count(&results, "failed") <= 2, "{results:?}");
    assert!(scene.server.truth().written_twice().is_empty());
}

/// Writes whose lines are gone have ended: they are told of, not sent again.
#[test]
fn inv06_a_deleted_output_sends_no_write_again() {
    let scene = Scene::new(Plain::sized(10));
    let url = scene.url("/item/1");
    scene.write(
        "in.jsonl",
        &format!("{{\"id\":\"w\",\"method\":\"POST\",\"url\":\"{url}\"}}\n"),
    );
    let args = ["fetch", "in.jsonl", "--out", "out.jsonl", "--quiet"];
    assert_eq!(code(&scene.run(&args)), 0);
    std::fs::remove_file(scene.path("out.jsonl")).unwrap();
    let again = scene.run(&[&args[..], &["--resume"]].concat());
    assert_eq!(code(&again), 1, "{}", err(&again));
    let reason = "its line was lost; it had ended done";
    assert_eq!(scene.results("out.jsonl")["w"]["reason"], reason);
    assert_eq!(scene.server.read(|t| t.requests), 1);
}
