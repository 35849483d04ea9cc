//! Durable jobs through the real binary: submitted, worked, killed, looked at.
#![allow(clippy::unwrap_used, reason = "test code")]

mod common;

use std::process::Child;
use std::time::Duration;

use abide_sim::policy::{Hint, Plain, Service, Timed, TokenBucket};
use common::{Scene, code, err};
use serde_json::Value;

fn out(output: &std::process::Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn json(scene: &Scene, args: &[&str]) -> Value {
    let all = [args, &["--json"]].concat();
    let output = scene.run(&all);
    assert_eq!(code(&output), 0, "{}", err(&output));
    serde_json::from_str(&out(&output)).unwrap()
}

/// How many jobs stand how.
fn count(scene: &Scene, state: &str) -> u64 {
    let told = json(scene, &["jobs", "counts"]);
    let counts = told["counts"].as_array().unwrap();
    let fits = counts.iter().filter(|c| c["state"] == state);
    fits.map(|c| c["jobs"].as_u64().unwrap()).sum()
}

fn submit(scene: &Scene, more: &[&str], paths: impl IntoIterator<Item = String>) -> Vec<i64> {
    let urls: Vec<String> = paths.into_iter().map(|p| scene.url(&p)).collect();
    let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
    let told = json(scene, &[&["submit"], more, &urls].concat());
    let all = told.as_array().unwrap();
    all.iter().map(|s| s["id"].as_i64().unwrap()).collect()
}

fn until(what: &str, mut done: impl FnMut() -> bool) {
    for _ in 0..600 {
        if done() {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("in a minute it was not so that {what}");
}

fn stop(mut child: Child) -> std::process::ExitStatus {
    let pid = child.id().to_string();
    let asked = std::process::Command::new("kill")
        .args(["-TERM", &pid])
        .status();
    assert!(asked.unwrap().success());
    child.wait().unwrap()
}

#[test]
fn a_request_is_submitted_made_and_its_answer_fetched() {
    let scene = Scene::new(Plain::sized(20));
    let id = submit(
        &scene,
        &["-H", "x-api-key: s3cr3t"],
        ["/one?token=s3cr3t".to_owned()],
    )[0];
    let id = id.to_string();
    let none = scene.run(&["jobs", "result", &id]);
    assert_eq!(code(&none), 75, "{}", err(&none));
    let worked = scene.run(&["worker", "--once"]);
    assert_eq!(code(&worked), 0, "{}", err(&worked));
    assert!(out(&worked).contains("done"), "{}", out(&worked));
    let result = scene.run(&["jobs", "result", &id]);
    assert_eq!((code(&result), result.stdout.len()), (0, 20));
    let job = json(&scene, &["jobs", "show", &id]);
    assert_eq!(
        (&job["state"], &job["attempts"]),
        (&"done".into(), &1.into())
    );
    // Neither shown nor stored.
    let shown = out(&scene.run(&["jobs", "show", &id])) + &out(&scene.run(&["jobs", "list"]));
    assert!(
        shown.contains("/one") && !shown.contains("s3cr3t"),
        "{shown}"
    );
    for file in std::fs::read_dir(scene.path("state")).unwrap() {
        let path = file.unwrap().path();
        if let Ok(bytes) = std::fs::read(&path) {
            let found = bytes.windows(6).any(|w| w == b"s3cr3t");
            assert!(!found, "{}", path.display());
        }
    }
    let gone = json(&scene, &["jobs", "purge"]);
    assert_eq!(gone["purged"], 1);
    assert_eq!(code(&scene.run(&["jobs", "show", &id])), 2);
}

#[test]
fn d8_a_refused_request_is_put_off_shown_and_run_now() {
    let bucket = TokenBucket::new(1, Duration::from_secs(600), 1).hinting(Hint::True);
    let scene = Scene::new(bucket);
    let ids = submit(&scene, &[], (0..3).map(|n| format!("/{n}")));
    let worked = scene.run(&["worker", "--once", "--wait", "0s"]);
    assert_eq!(code(&worked), 75, "{}{}", out(&worked), err(&worked));
    let put_off = json(&scene, &["jobs", "list", "--only", "deferred"]);
    let refused = put_off
        .as_array()
        .unwrap()
        .iter()
        .find(|j| j["in_a_row"] == 1);
    let refused = refused.expect("one was refused");
    assert!(refused["reason"].as_str().unwrap().contains("rate limited"));
    assert!(refused["hold"].is_string() && refused["due"].is_string());
    assert_eq!(refused["attempts"], 0);
    let text = out(&scene.run(&["jobs", "show", &refused["id"].to_string()]));
    assert!(
        text.contains("not before") && text.contains("deferrals    1, 1 in a row"),
        "{text}"
    );
    // A second worker knows the hold by the state they share, and sends nothing.
    let before = scene.server.read(|t| t.requests);
    let run = scene.run(&["jobs", "run", &refused["id"].to_string()]);
    assert_eq!(code(&run), 0, "{}", err(&run));
    scene.run(&["worker", "--once", "--wait", "0s"]);
    assert_eq!(scene.server.read(|t| t.requests), before);
    // One that is not wanted any more.
    let id = ids[2].to_string();
    assert_eq!(code(&scene.run(&["jobs", "cancel", &id])), 0);
    assert_eq!(json(&scene, &["jobs", "show", &id])["state"], "cancelled");
    assert_eq!(code(&scene.run(&["jobs", "cancel", &id])), 2);
    assert_eq!(code(&scene.run(&["jobs", "retry", &id])), 0);
}

#[test]
fn d8_an_ask_beyond_the_ceiling_fails_and_is_seen() {
    let scene = Scene::new(TokenBucket::new(1, Duration::from_secs(7200), 1).hinting(Hint::True));
    submit(&scene, &[], (0..2).map(|n| format!("/{n}")));
    let args = [
        "worker",
        "--once",
        "--wait",
        "0s",
        "-c",
        "1",
        "--defer-ceiling",
        "1h",
    ];
    let worked = scene.run(&args);
    assert_eq!(code(&worked), 1, "{}{}", out(&worked), err(&worked));
    let failed = json(&scene, &["jobs", "list", "--only", "failed"]);
    let why = failed[0]["reason"].as_str().unwrap();
    assert!(
        why.contains("later than 1 h from now (defer.ceiling)"),
        "{why}"
    );
}

/// Three hundred jobs, a third of them writes, one of each key, and workers that are killed.
#[test]
fn inv10_killed_workers_lose_no_job_and_send_no_write_twice() {
    let time = Service::constant(Duration::from_millis(20));
    let scene = Scene::new(Timed::over(Plain::sized(10), time));
    let reads = submit(&scene, &[], (0..200).map(|n| format!("/read/{n}")));
    let writes = submit(
        &scene,
        &["-X", "POST"],
        (0..100).map(|n| format!("/write/{n}")),
    );
    let args = ["worker", "--quiet", "--lease", "600ms", "-c", "8"];
    let mut killed = 0;
    for round in 0..4 {
        let mut child = scene.start(&args);
        let before = scene.server.read(|t| t.requests);
        if scene.seen(before + 20 + 5 * round, &mut child) {
            killed += 1;
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert!(killed >= 3, "{killed}");
    let child = scene.start(&args);
    let all = (reads.len() + writes.len()) as u64;
    until("every job is over", || {
        count(&scene, "done") + count(&scene, "failed") == all
    });
    let ended = stop(child);
    assert!(ended.success(), "{ended:?}");
    // What failed is writes that were under way, and says so; nothing was written twice.
    let failed = json(&scene, &["jobs", "list", "--only", "failed"]);
    for job in failed.as_array().unwrap() {
        let why = job["reason"].as_str().unwrap();
        assert!(why.starts_with("effect unknown"), "{why}");
        assert!(job["title"].as_str().unwrap().starts_with("POST"));
    }
    let twice = scene.server.read(|t| t.written_twice().len());
    assert_eq!(twice, 0);
}

/// A worker that waits hears of what another process submits, and ends in good order.
#[test]
fn a_waiting_worker_hears_of_new_jobs_and_ends_when_told_to() {
    let scene = Scene::new(Plain::sized(10));
    let child = scene.start(&["worker", "--json"]);
    std::thread::sleep(Duration::from_millis(500));
    for n in 0..3 {
        submit(
            &scene,
            &["--unique-key", &format!("k{n}")],
            [format!("/{n}")],
        );
    }
    let again = submit(&scene, &["--unique-key", "k0"], ["/again".to_owned()]);
    until("all are done", || count(&scene, "done") == 3);
    let job = json(&scene, &["jobs", "show", &again[0].to_string()]);
    assert!(job["title"].as_str().unwrap().ends_with("/0"));
    assert!(stop(child).success());
}

#[test]
fn what_makes_no_sense_is_told() {
    let scene = Scene::new(Plain::sized(10));
    for (args, says) in [
        (vec!["submit", "ftp://x"], "its address is none of http"),
        (vec!["submit", "http://x", "--at", "soon"], "is no time"),
        (
            vec!["submit", "http://x", "-H", "s3cr3t"],
            "a header looks like",
        ),
        (
            vec!["submit", "http://x", "--credential", "SHOP"],
            "is no credential",
        ),
        (vec!["jobs", "show", "7"], "there is no job 7"),
        (
            vec!["jobs", "list", "--only", "lost"],
            "is no state of a job",
        ),
        (vec!["jobs", "purge", "--only", "queued"], "is not over"),
    ] {
        let output = scene.run(&args);
        assert_eq!(code(&output), 2, "{args:?}: {}", err(&output));
        assert!(err(&output).contains(says), "{args:?}: {}", err(&output));
        assert!(!err(&output).contains("s3cr3t"));
    }
}
