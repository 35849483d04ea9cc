//! A run that goes on: in order, into its output, as it was begun, and after a kill.

#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests stop at the first surprise"
)]

mod common;

use std::fs;
use std::time::Duration;

use abide_sim::http::{Server, ServerOptions};
use abide_sim::policy::{Hint, Plain, Quota, Reset, Service, Timed};
use abide_sim::{Answer, Provider};
use common::{Scene, by_id, code, count, err};
use serde_json::Value;

const MS: Duration = Duration::from_millis(1);

fn slow() -> Timed<Plain> {
    Timed::over(Plain::sized(10), Service::constant(20 * MS))
}

const ARGS: [&str; 7] = [
    "fetch",
    "list.txt",
    "--out",
    "out.jsonl",
    "--run",
    "r",
    "--quiet",
];

fn resumed(more: &[&'static str]) -> Vec<&'static str> {
    [&ARGS[..], &["--resume"], more].concat()
}

/// A run that was killed half-way.
fn half(scene: &Scene, more: &[&'static str]) {
    scene.list(100);
    let args = [&ARGS[..], &["--concurrency", "4"], more].concat();
    let mut child = scene.start(&args);
    assert!(scene.seen(20, &mut child));
    child.kill().unwrap();
    child.wait().unwrap();
}

/// The ids of an output, line by line.
fn ids(scene: &Scene, name: &str) -> Vec<u32> {
    let text = fs::read_to_string(scene.path(name)).unwrap();
    let id = |line: &str| {
        let value: Value = serde_json::from_str(line).unwrap();
        value["id"].as_str().unwrap().parse().unwrap()
    };
    text.lines().map(id).collect()
}

#[cfg(unix)]
fn interrupt(child: &std::process::Child) {
    let pid = child.id().to_string();
    let mut kill = std::process::Command::new("kill");
    assert!(kill.args(["-INT", &pid]).status().unwrap().success());
}

#[cfg(unix)]
#[test]
fn an_ordered_run_that_was_interrupted_ends_complete_and_in_order() {
    let scene = Scene::new(slow());
    scene.list(100);
    let args = [&ARGS[..], &["--ordered", "--concurrency", "4"]].concat();
    let mut child = scene.start(&args);
    assert!(scene.seen(30, &mut child));
    interrupt(&child);
    let out = child.wait_with_output().unwrap();
    assert_eq!(code(&out), 130, "{}", err(&out));
    let so_far = ids(&scene, "out.jsonl");
    assert!(so_far.len() < 100 && so_far.is_sorted(), "{so_far:?}");
    let out = scene.run(&resumed(&["--ordered"]));
    assert_eq!(code(&out), 0, "{}", err(&out));
    assert!(ids(&scene, "out.jsonl").into_iter().eq(1..=100));
    assert_eq!(
        scene.server.read(|t| t.requests),
        100,
        "none is asked twice"
    );
}

/// A provider that makes its items wait leaves gaps in what an interrupted run writes.
#[cfg(unix)]
#[test]
fn an_ordered_run_that_was_interrupted_with_gaps_ends_in_order() {
    let scene = Scene::new(slow());
    let refusal = Answer::new(http::StatusCode::TOO_MANY_REQUESTS, "");
    let few = Quota::new(2, Reset::After(Duration::from_secs(2)))
        .hinting(Hint::True)
        .refusing_with(refusal);
    let held = Server::start(Provider::new(few), ServerOptions::default()).unwrap();
    let lines: String = (0..40)
        .map(|n| match n % 10 {
            3 => format!("{}/item/{n}\n", held.url()),
            _ => format!("{}\n", scene.url(&format!("/item/{n}"))),
        })
        .collect();
    scene.write("list.txt", &lines);
    let args = [&ARGS[..], &["--ordered"]].concat();
    let mut child = scene.start(&args);
    assert!(scene.seen(36, &mut child));
    interrupt(&child);
    let out = child.wait_with_output().unwrap();
    assert_eq!(code(&out), 130, "{}", err(&out));
    let so_far = ids(&scene, "out.jsonl");
    assert!(so_far.len() < 40 && so_far.is_sorted(), "{so_far:?}");
    assert_eq!(so_far.last(), Some(&40), "what came early was written");
    let out = scene.run(&resumed(&[]));
    assert_eq!(code(&out), 0, "{}", err(&out));
    assert!(ids(&scene, "out.jsonl").into_iter().eq(1..=40));
    // Nothing is left to do, and nothing is lost by doing it.
    let out = scene.run(&resumed(&[]));
    assert_eq!(code(&out), 0, "{}", err(&out));
    assert!(ids(&scene, "out.jsonl").into_iter().eq(1..=40));
}

#[test]
fn an_ordered_run_goes_on_in_order_also_when_nobody_says_so() {
    let scene = Scene::new(slow());
    half(&scene, &["--ordered"]);
    let loud: Vec<&str> = resumed(&[])
        .into_iter()
        .filter(|a| *a != "--quiet")
        .collect();
    let out = scene.run(&loud);
    assert_eq!(code(&out), 0, "{}", err(&out));
    let told = "run r goes on with --ordered, as it was begun";
    assert!(err(&out).contains(told), "{}", err(&out));
    assert!(ids(&scene, "out.jsonl").into_iter().eq(1..=100));
}

#[test]
fn options_that_would_change_the_output_half_way_are_refused() {
    let scene = Scene::new(slow());
    half(&scene, &["--save-dir", "bodies"]);
    let before = fs::read(scene.path("out.jsonl")).unwrap();
    for (more, told) in [
        (&["--ordered"][..], "begun without --ordered"),
        (&["--save-dir", "others"], "begun with --save-dir"),
        (
            &["--done-status", "404"],
            "begun with --done-status 200-299",
        ),
    ] {
        let out = scene.run(&resumed(more));
        assert_eq!(code(&out), 2, "{more:?}: {}", err(&out));
        assert!(err(&out).contains(told), "{}", err(&out));
        assert!(err(&out).contains("--run"), "what to do: {}", err(&out));
    }
    assert_eq!(fs::read(scene.path("out.jsonl")).unwrap(), before);
    assert!(!scene.path("others").exists());
    // The same in other words is the same.
    let out = scene.run(&resumed(&[
        "--save-dir",
        "./bodies",
        "--done-status",
        "200 - 299",
    ]));
    assert_eq!(code(&out), 0, "{}", err(&out));
    assert_eq!(fs::read_dir(scene.path("bodies")).unwrap().count(), 100);
}

#[test]
fn what_counts_as_done_is_remembered() {
    let scene = Scene::new(slow());
    half(&scene, &["--done-status", "404"]);
    let out = scene.run(&resumed(&[]));
    assert_eq!(code(&out), 1, "{}", err(&out));
    assert_eq!(count(&scene.results("out.jsonl"), "failed"), 100);
}

#[test]
fn another_output_is_refused_unless_it_is_new_and_then_the_run_names_it() {
    let scene = Scene::new(slow());
    half(&scene, &[]);
    let before = fs::read(scene.path("out.jsonl")).unwrap();
    scene.write("else.jsonl", "{\"id\":\"of another\"}\n");
    let into = |name: &'static str| {
        let mut args = resumed(&[]);
        args[3] = name;
        args
    };
    let out = scene.run(&into("else.jsonl"));
    assert_eq!(code(&out), 2, "{}", err(&out));
    assert!(err(&out).contains("holds something else"), "{}", err(&out));
    let kept = fs::read_to_string(scene.path("else.jsonl")).unwrap();
    assert_eq!(kept, "{\"id\":\"of another\"}\n");

    let out = scene.run(&into("new.jsonl"));
    assert_eq!(code(&out), 0, "{}", err(&out));
    assert_eq!(count(&scene.results("new.jsonl"), "done"), 100);
    assert_eq!(fs::read(scene.path("out.jsonl")).unwrap(), before);
    let shown = scene.run(&["runs", "list", "--json"]);
    let runs: Value = serde_json::from_slice(&shown.stdout).unwrap();
    let output = runs[0]["output"].as_str().unwrap();
    assert!(output.ends_with("new.jsonl"), "{output}");
    // Without --out the run goes on with the new one.
    let out = scene.run(&["fetch", "list.txt", "--run", "r", "--resume", "--quiet"]);
    assert_eq!(code(&out), 0, "{}", err(&out));
    assert_eq!(fs::read(scene.path("out.jsonl")).unwrap(), before);
}

/// Killed at any instant of asking again, also while the output is rewritten: what was done stays
/// done and is not asked for again, what was skipped ends once.
#[test]
fn inv10_killed_while_it_asks_again_for_what_was_skipped() {
    let refusal = Answer::new(http::StatusCode::TOO_MANY_REQUESTS, "");
    let quota = Quota::new(20, Reset::After(Duration::from_secs(2)))
        .hinting(Hint::True)
        .refusing_with(refusal);
    let scene = Scene::new(Timed::over(quota, Service::constant(5 * MS)));
    scene.list(60);
    let out = scene.run(&[&ARGS[..], &["--patience", "0s"]].concat());
    assert_eq!(code(&out), 75, "{}", err(&out));
    let first = scene.results("out.jsonl");
    assert!(count(&first, "done") >= 20 && count(&first, "skipped") > 0);
    let seed = std::env::var("ABIDE_SEED").ok();
    let seed = seed.and_then(|s| s.parse().ok());
    let seed = seed.unwrap_or_else(|| fastrand::u64(..));
    eprintln!("ABIDE_SEED={seed}");
    let mut dice = fastrand::Rng::with_seed(seed);
    let again = resumed(&["--retry-skipped", "--concurrency", "2"]);
    for round in 0..6 {
        let before = scene.server.read(|t| t.requests);
        let mut child = scene.start(&again);
        if round % 2 == 0 {
            std::thread::sleep(MS * dice.u32(..60));
        } else {
            scene.seen(before + dice.u64(1..6), &mut child);
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let out = scene.run(&again);
    assert_eq!(code(&out), 0, "{}", err(&out));
    // One line an item, and none lost.
    let last = by_id(&fs::read_to_string(scene.path("out.jsonl")).unwrap());
    assert_eq!(count(&last, "done"), 60);
    let truth = scene.server.truth();
    for (id, line) in first.iter().filter(|(_, line)| line["outcome"] == "done") {
        assert_eq!(last[id], *line);
        let n: u32 = id.parse().unwrap();
        let item = truth.item(&format!("/item/{}", n - 1));
        assert_eq!(item.accepted, 1, "item {id} was asked for again");
    }
}
