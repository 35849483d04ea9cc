//! What survives between one `abide fetch` and the next.

mod common;

use std::fs;
use std::io::Write as _;
use std::process::Stdio;
use std::time::Duration;

use abide_sim::Answer;
use abide_sim::policy::{Hint, Plain, Quota, Reset, Service, Timed, TokenBucket};
use common::{Scene, by_id, code, count, err};
use serde_json::Value;

/// Five a day, then 429 until tomorrow.
fn daily_quota() -> Quota {
    let refusal = Answer::new(http::StatusCode::TOO_MANY_REQUESTS, "");
    Quota::new(5, Reset::After(Duration::from_secs(86_400)))
        .hinting(Hint::True)
        .refusing_with(refusal)
}

fn plain() -> Scene {
    Scene::new(Plain::sized(100))
}

#[test]
fn an_input_that_changed_names_its_lines() {
    let scene = Scene::new(Quota::new(3, Reset::Never).hinting(Hint::None));
    let list = scene.list(10);
    let args = [
        "fetch",
        "list.txt",
        "--out",
        "out.jsonl",
        "--quiet",
        "--attempts",
        "1",
    ];
    scene.run(&args);
    let text = fs::read_to_string(&list).unwrap();
    fs::write(&list, text.replace("/item/4\n", "/item/other\n")).unwrap();
    let resume = [&args[..], &["--resume"]].concat();
    let out = scene.run(&resume);
    assert_eq!(code(&out), 2, "{}", err(&out));
    assert!(err(&out).contains("line 5"), "{}", err(&out));
    fs::write(&list, format!("{text}{}\n", scene.url("/item/new"))).unwrap();
    let out = scene.run(&resume);
    assert!(err(&out).contains("line 11 is new"), "{}", err(&out));
}

#[test]
fn what_was_skipped_is_asked_again_and_keeps_one_line() {
    let scene = Scene::new(daily_quota());
    scene.list(20);
    let args = ["fetch", "list.txt", "--out", "out.jsonl", "--quiet"];
    assert_eq!(code(&scene.run(&args)), 75);
    // Nothing is left to do: the skipped ones count as finished.
    assert_eq!(code(&scene.run(&[&args[..], &["--resume"]].concat())), 75);
    let before = scene.server.read(|t| t.requests);
    let again = scene.run(&[&args[..], &["--resume", "--retry-skipped"]].concat());
    assert_eq!(code(&again), 75, "the hold is remembered: {}", err(&again));
    assert_eq!(
        scene.server.read(|t| t.requests),
        before,
        "nothing is sent inside a hold"
    );
    assert_eq!(scene.results("out.jsonl").len(), 20);
}

#[test]
fn a_run_from_a_pipe_goes_on_without_it_and_its_state_shows_no_secret() {
    let slow = Timed::over(
        Plain::sized(10),
        Service::constant(Duration::from_millis(20)),
    );
    let scene = Scene::new(slow);
    let args = [
        "fetch",
        "-",
        "--out",
        "out.jsonl",
        "--quiet",
        "--concurrency",
        "2",
        "--run",
        "piped",
    ];
    let mut child = scene
        .abide(&args)
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut pipe = child.stdin.take().unwrap();
    for i in 0..100 {
        writeln!(pipe, "{}", scene.url(&format!("/item/{i}?token=s3cr3t{i}"))).unwrap();
    }
    drop(pipe);
    assert!(scene.seen(10, &mut child));
    child.kill().unwrap();
    child.wait().unwrap();
    for file in fs::read_dir(scene.path("state")).unwrap() {
        let path = file.unwrap().path();
        if path.is_file() {
            let bytes = fs::read(&path).unwrap();
            let shows = bytes.windows(6).any(|w| w == b"s3cr3t");
            assert!(!shows, "{} shows a secret", path.display());
        }
    }
    let out = scene.run(&["fetch", "--resume", "--run", "piped", "--quiet"]);
    assert_eq!(code(&out), 0, "{}", err(&out));
    let results = scene.results("out.jsonl");
    assert_eq!(count(&results, "done"), 100);
}

#[cfg(unix)]
#[test]
fn ctrl_c_finishes_the_wire_saves_and_says_how_to_go_on() {
    let slow = Timed::over(
        Plain::sized(10),
        Service::constant(Duration::from_millis(20)),
    );
    let scene = Scene::new(slow);
    scene.list(200);
    let args = [
        "fetch",
        "list.txt",
        "--out",
        "out.jsonl",
        "--concurrency",
        "4",
    ];
    let mut child = scene.start(&args);
    assert!(scene.seen(20, &mut child));
    let pid = child.id().to_string();
    std::process::Command::new("kill")
        .args(["-INT", &pid])
        .status()
        .unwrap();
    let out = child.wait_with_output().unwrap();
    assert_eq!(code(&out), 130, "{}", err(&out));
    assert!(err(&out).contains("--resume"), "{}", err(&out));
    let finished = scene.results("out.jsonl").len() as u64;
    assert_eq!(
        finished,
        scene.server.read(|t| t.requests),
        "what was sent has its line"
    );
    let out = scene.run(&[&args[..], &["--resume", "--quiet"]].concat());
    assert_eq!(code(&out), 0, "{}", err(&out));
    assert_eq!(
        scene.server.read(|t| t.requests),
        200,
        "nothing is asked twice"
    );
}

#[test]
fn an_unfinished_run_is_not_begun_again_by_mistake() {
    let slow = Timed::over(
        Plain::sized(10),
        Service::constant(Duration::from_millis(20)),
    );
    let scene = Scene::new(slow);
    scene.list(100);
    let args = ["fetch", "list.txt", "--out", "out.jsonl", "--quiet"];
    let mut child = scene.start(&args);
    assert!(scene.seen(10, &mut child));
    let second = scene.run(&[&args[..], &["--resume"]].concat());
    assert_eq!(code(&second), 74, "a run has one owner: {}", err(&second));
    child.kill().unwrap();
    child.wait().unwrap();
    let again = scene.run(&args);
    assert_eq!(code(&again), 2);
    assert!(err(&again).contains("--resume") && err(&again).contains("abide runs rm"));
    let list = scene.run(&["runs", "list", "--json"]);
    let runs: Value = serde_json::from_slice(&list.stdout).unwrap();
    assert_eq!(runs[0]["state"], "interrupted");
    let name = runs[0]["name"].as_str().unwrap().to_owned();
    assert_eq!(code(&scene.run(&["runs", "rm", &name])), 0);
    assert_eq!(code(&scene.run(&["runs", "show", &name])), 2);
}

#[cfg(unix)]
#[test]
fn a_full_disk_loses_nothing() {
    let scene = plain();
    scene.list(50);
    let full = fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let mut c = scene.abide(&["fetch", "list.txt", "--run", "full"]);
    let out = c.stdout(full).stderr(Stdio::piped()).output().unwrap();
    assert_eq!(code(&out), 74, "{}", err(&out));
    assert!(err(&out).contains("cannot be written"), "{}", err(&out));
    let out = scene.run(&["fetch", "list.txt", "--run", "full", "--resume", "--quiet"]);
    assert_eq!(code(&out), 0, "{}", err(&out));
    assert_eq!(by_id(&String::from_utf8(out.stdout).unwrap()).len(), 50);
}

#[test]
fn a_damaged_or_newer_state_is_left_as_it_is() {
    let scene = plain();
    scene.list(3);
    fs::create_dir(scene.path("state")).unwrap();
    scene.write(
        "state/state.db",
        "this is no database, and long enough to be looked at\n",
    );
    let out = scene.run(&["fetch", "list.txt"]);
    assert_eq!(code(&out), 74);
    assert!(err(&out).contains("state.db"), "{}", err(&out));
    let kept = fs::read_to_string(scene.path("state/state.db")).unwrap();
    assert!(kept.starts_with("this is no database"));
    assert_eq!(
        code(&scene.run(&["fetch", "list.txt", "--state", ":memory:", "--quiet"])),
        0
    );
}

#[test]
fn holds_are_remembered_across_runs() {
    let scene = Scene::new(
        TokenBucket::new(1, Duration::from_secs(3600), 5)
            .hinting(Hint::Fixed(Duration::from_secs(3600))),
    );
    scene.list(10);
    let args = [
        "fetch",
        "list.txt",
        "--out",
        "a.jsonl",
        "--quiet",
        "--patience",
        "1s",
    ];
    assert_eq!(code(&scene.run(&args)), 75);
    let sent = scene.server.read(|t| t.requests);
    let second = [
        "fetch",
        "list.txt",
        "--out",
        "b.jsonl",
        "--quiet",
        "--patience",
        "1s",
    ];
    assert_eq!(code(&scene.run(&second)), 75);
    assert_eq!(
        scene.server.read(|t| t.requests),
        sent,
        "a new process knows the hold"
    );
    assert_eq!(scene.server.read(|t| t.sent_inside_hold), 0);
}

#[test]
fn two_processes_share_a_hold() {
    let scene = Scene::new(
        TokenBucket::new(10, Duration::from_secs(1), 10)
            .hinting(Hint::Fixed(Duration::from_secs(1))),
    );
    scene.list(60);
    let mut first = scene.start(&["fetch", "list.txt", "--out", "a.jsonl", "--quiet"]);
    let mut second = scene.start(&["fetch", "list.txt", "--out", "b.jsonl", "--quiet"]);
    assert_eq!(first.wait().unwrap().code(), Some(0));
    assert_eq!(second.wait().unwrap().code(), Some(0));
    assert_eq!(scene.results("a.jsonl").len(), 60);
    assert_eq!(scene.results("b.jsonl").len(), 60);
    // The provider allows 250 ms for a client to hear of its own hold; the other process hears
    // of it within 100 ms.
    assert_eq!(scene.server.read(|t| t.sent_inside_hold), 0);
}

#[test]
fn an_output_that_somebody_shortens_is_noticed() {
    let slow = Timed::over(
        Plain::sized(10),
        Service::constant(Duration::from_millis(10)),
    );
    let scene = Scene::new(slow);
    scene.list(300);
    let args = [
        "fetch",
        "list.txt",
        "--out",
        "out.jsonl",
        "--quiet",
        "--concurrency",
        "2",
    ];
    let mut child = scene.start(&args);
    assert!(scene.seen(100, &mut child));
    fs::write(scene.path("out.jsonl"), "").unwrap();
    let out = child.wait_with_output().unwrap();
    assert_eq!(code(&out), 74, "{}", err(&out));
    let again = scene.run(&[&args[..], &["--resume"]].concat());
    assert_eq!(code(&again), 0, "{}", err(&again));
    assert_eq!(count(&scene.results("out.jsonl"), "done"), 300);
}

#[test]
fn what_is_asked_again_and_killed_is_not_forgotten() {
    let slow = Timed::over(
        Plain::sized(10),
        Service::constant(Duration::from_millis(20)),
    );
    let scene = Scene::new(slow);
    scene.list(60);
    let args = [
        "fetch",
        "list.txt",
        "--out",
        "out.jsonl",
        "--quiet",
        "--concurrency",
        "2",
    ];
    assert_eq!(code(&scene.run(&args)), 0);
    let text = fs::read_to_string(scene.path("out.jsonl")).unwrap();
    assert_eq!(text.lines().count(), 60);
    let resumed = scene.run(&[&args[..], &["--resume"]].concat());
    assert_eq!(
        code(&resumed),
        0,
        "nothing is left to do: {}",
        err(&resumed)
    );
    // The output loses its end: those items are asked again, also after a kill.
    let half: String = text.lines().take(30).map(|l| format!("{l}\n")).collect();
    fs::write(scene.path("out.jsonl"), half).unwrap();
    let before = scene.server.read(|t| t.requests);
    let mut child = scene.start(&[&args[..], &["--resume"]].concat());
    assert!(scene.seen(before + 5, &mut child));
    child.kill().unwrap();
    child.wait().unwrap();
    let last = scene.run(&[&args[..], &["--resume"]].concat());
    assert_eq!(code(&last), 0, "{}", err(&last));
    assert_eq!(count(&scene.results("out.jsonl"), "done"), 60);
}

#[test]
fn looking_at_runs_makes_no_state() {
    let scene = plain();
    assert_eq!(code(&scene.run(&["runs", "list"])), 0);
    assert_eq!(code(&scene.run(&["runs", "show", "x"])), 2);
    assert!(!scene.path("state").exists());
}
