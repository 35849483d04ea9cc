//! `abide fetch` as its user meets it.

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
fn a_list_is_fetched_to_standard_output() {
    let scene = plain();
    scene.list(20);
    let out = scene.run(&["fetch", "list.txt"]);
    assert_eq!(code(&out), 0, "{}", err(&out));
    let results = by_id(&String::from_utf8(out.stdout.clone()).unwrap());
    assert_eq!(count(&results, "done"), 20);
    assert!(results["7"]["body"].as_str().unwrap().len() == 100);
    assert!(err(&out).contains("20 of 20 items done"), "{}", err(&out));
}

#[test]
fn csv_rows_become_addresses() {
    let scene = plain();
    scene.write("books.csv", "isbn,title\n978/1,\"a\nb\"\n979,c\n,empty\n");
    let template = scene.url("/item/{isbn}.json");
    let out = scene.run(&[
        "fetch",
        "books.csv",
        "--url",
        &template,
        "--id",
        "title",
        "--quiet",
    ]);
    assert_eq!(code(&out), 1, "an empty isbn is a bad row: {}", err(&out));
    let text = String::from_utf8(out.stdout).unwrap();
    assert!(text.contains("/item/978%2F1.json"), "{text}");
    let reason = "line 5, column 1 is empty";
    assert!(text.contains(reason), "{text}");
}

#[test]
fn a_csv_without_its_template_says_what_it_needs() {
    let scene = plain();
    scene.write("books.csv", "isbn,title\n1,2\n");
    let out = scene.run(&["fetch", "books.csv"]);
    assert_eq!(code(&out), 2);
    assert!(
        err(&out).contains("--url") && err(&out).contains("isbn, title"),
        "{}",
        err(&out)
    );
}

#[test]
fn bad_lines_are_reported_counted_and_end_in_the_output() {
    let scene = plain();
    let good = scene.url("/item/1");
    scene.write(
        "in.jsonl",
        &format!("{{\"url\":\"{good}\"}}\n{{\"url\":\n{{\"uri\":\"x\"}}\n"),
    );
    let out = scene.run(&["fetch", "in.jsonl", "--out", "out.jsonl", "--json"]);
    assert_eq!(code(&out), 1);
    assert!(err(&out).contains("line 2, column") && err(&out).contains("line 3, column"));
    let summary: Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(
        (&summary["bad_lines"], &summary["failed"]),
        (&2.into(), &2.into())
    );
    assert_eq!(scene.results("out.jsonl").len(), 3);

    let strict = scene.run(&["fetch", "in.jsonl", "--out", "strict.jsonl", "--strict"]);
    assert_eq!(code(&strict), 2);
    assert!(!scene.path("strict.jsonl").exists());
    assert_eq!(scene.server.read(|t| t.requests), 1, "strict sends nothing");
}

#[test]
fn duplicate_ids_name_both_lines() {
    let scene = plain();
    let url = scene.url("/x");
    let lines =
        format!("{{\"id\":\"a\",\"url\":\"{url}\"}}\n\n{{\"id\":\"a\",\"url\":\"{url}\"}}\n");
    scene.write("in.jsonl", &lines);
    let out = scene.run(&["fetch", "in.jsonl"]);
    assert_eq!(code(&out), 2);
    assert!(err(&out).contains("lines 1 and 3"), "{}", err(&out));
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
fn a_used_up_quota_stops_asking_and_tells_when() {
    let scene = Scene::new(daily_quota());
    scene.list(200);
    let out = scene.run(&[
        "fetch",
        "list.txt",
        "--out",
        "out.jsonl",
        "--json",
        "--concurrency",
        "4",
    ]);
    assert_eq!(code(&out), 75, "{}", err(&out));
    let summary: Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(
        (&summary["done"], &summary["skipped"]),
        (&5.into(), &195.into())
    );
    assert!(summary["retry_at"].is_string(), "{summary}");
    assert!(
        scene.server.read(|t| t.requests) <= 5 + 4,
        "at most what was on the wire"
    );
    let results = scene.results("out.jsonl");
    let skipped = results
        .values()
        .find(|r| r["outcome"] == "skipped")
        .unwrap();
    assert!(
        skipped["retry_at"].is_string() && skipped["reason"].is_string(),
        "{skipped}"
    );
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
fn results_come_in_input_order_when_asked() {
    let jitter = Service::jittered(Duration::from_millis(10), 0.9, fastrand::Rng::with_seed(3));
    let scene = Scene::new(Timed::over(Plain::sized(10), jitter));
    scene.list(200);
    let out = scene.run(&[
        "fetch",
        "list.txt",
        "--ordered",
        "--quiet",
        "--concurrency",
        "16",
    ]);
    assert_eq!(code(&out), 0, "{}", err(&out));
    let text = String::from_utf8(out.stdout).unwrap();
    let ids: Vec<u64> = text
        .lines()
        .map(|l| {
            serde_json::from_str::<Value>(l).unwrap()["id"]
                .as_str()
                .unwrap()
                .parse()
                .unwrap()
        })
        .collect();
    assert_eq!(ids, (1..=200).collect::<Vec<u64>>());
}

#[test]
fn bodies_are_saved_as_files() {
    let scene = plain();
    scene.list(5);
    let out = scene.run(&[
        "fetch",
        "list.txt",
        "--save-dir",
        "bodies",
        "--fsync",
        "--quiet",
    ]);
    assert_eq!(code(&out), 0, "{}", err(&out));
    for (_, r) in by_id(&String::from_utf8(out.stdout).unwrap()) {
        let file = scene.path("bodies").join(r["file"].as_str().unwrap());
        assert_eq!(fs::read(file).unwrap().len(), 100);
        assert!(r.get("body").is_none());
    }
    assert_eq!(fs::read_dir(scene.path("bodies")).unwrap().count(), 5);
}

#[test]
fn a_body_that_is_too_large_fails_its_item_saying_so() {
    let scene = Scene::new(Plain::sized(5000));
    scene.list(2);
    let out = scene.run(&[
        "fetch",
        "list.txt",
        "--max-body",
        "4KB",
        "--out",
        "out.jsonl",
        "--quiet",
    ]);
    assert_eq!(code(&out), 1);
    let results = scene.results("out.jsonl");
    assert!(
        results["1"]["reason"]
            .as_str()
            .unwrap()
            .contains("larger than 4000 bytes")
    );
    assert_eq!(
        scene.server.read(|t| t.requests),
        2,
        "it is not asked for again"
    );
}

#[test]
fn statuses_count_as_done_as_wanted() {
    let answer = Answer::new(http::StatusCode::CONFLICT, "{}");
    let scene = Scene::new(Plain::answering(answer));
    scene.list(1);
    let out = scene.run(&[
        "fetch",
        "list.txt",
        "--done-status",
        "200-299,409",
        "--quiet",
    ]);
    assert_eq!(code(&out), 0, "{}", err(&out));
    let out = scene.run(&["fetch", "list.txt", "--done-status", "9-1", "--quiet"]);
    assert_eq!(code(&out), 2);
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

#[test]
fn what_cannot_be_used_gets_one_clear_error() {
    let scene = plain();
    scene.list(3);
    let clear = |args: &[&str], expected: i32, words: &[&str]| {
        let out = scene.run(args);
        let text = err(&out);
        assert_eq!(code(&out), expected, "{args:?}: {text}");
        assert_eq!(
            text.lines().count(),
            1,
            "{args:?}: one error, one line: {text}"
        );
        for word in words {
            assert!(text.contains(word), "{args:?}: {text}");
        }
    };
    clear(
        &["fetch", "nowhere.txt"],
        74,
        &["nowhere.txt", "cannot be read"],
    );
    clear(&["fetch", "."], 74, &["folder"]);
    clear(
        &["fetch", "list.txt", "--out", "no/such/folder/out"],
        74,
        &["cannot be opened"],
    );
    clear(
        &["fetch", "list.txt", "--patience", "30"],
        2,
        &["--patience", "30s"],
    );
    clear(
        &["fetch", "list.txt", "--rate", "fast"],
        2,
        &["--rate", "50/s"],
    );
    clear(&["fetch", "list.txt", "-H", "NoColon"], 2, &["Name: value"]);
    clear(
        &["fetch", "list.txt", "--cacert", "list.txt"],
        2,
        &["no certificate"],
    );
    clear(&["fetch", "list.txt", "--resume"], 2, &["abide runs list"]);
    scene.write("here.jsonl", "already\n");
    clear(
        &["fetch", "list.txt", "--out", "here.jsonl"],
        74,
        &["exists already"],
    );
    assert_eq!(
        fs::read_to_string(scene.path("here.jsonl")).unwrap(),
        "already\n"
    );
    scene.write("latin.txt", "");
    fs::write(scene.path("latin.txt"), b"http://a.example/\xff\n").unwrap();
    let out = scene.run(&["fetch", "latin.txt", "--strict"]);
    assert!(
        err(&out).contains("line 1, column 18: not UTF-8"),
        "{}",
        err(&out)
    );
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
fn a_dry_run_sends_nothing_and_shows_no_secret() {
    let scene = plain();
    scene.write("in.txt", &format!("{}\n", scene.url("/x?api_key=s3cr3t")));
    let out = scene.run(&["fetch", "in.txt", "--dry-run"]);
    let text = String::from_utf8(out.stdout.clone()).unwrap();
    assert_eq!(code(&out), 0);
    assert!(
        text.contains("1 items") && !text.contains("s3cr3t"),
        "{text}"
    );
    assert_eq!(scene.server.read(|t| t.requests), 0);
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

#[test]
fn a_proxy_that_cannot_be_used_is_not_passed_over() {
    let scene = plain();
    scene.list(1);
    assert_eq!(
        code(&scene.run(&["fetch", "list.txt", "--proxy", "foo://127.0.0.1:1"])),
        2
    );
    let mut c = scene.abide(&["fetch", "list.txt"]);
    let out = c.env("ALL_PROXY", "garbage%%%").output().unwrap();
    assert_eq!(code(&out), 2, "{}", err(&out));
    assert_eq!(scene.server.read(|t| t.requests), 0);
}

#[test]
fn a_quote_that_is_never_closed_swallows_no_row_in_silence() {
    let scene = plain();
    scene.write("in.csv", "id,q\n1,2\n7,\"open\n8,9\n");
    let template = scene.url("/item/{q}");
    let out = scene.run(&["fetch", "in.csv", "--url", &template, "--out", "out.jsonl"]);
    assert_eq!(code(&out), 1);
    assert!(
        err(&out).contains("a quote that is never closed"),
        "{}",
        err(&out)
    );
}

#[test]
fn the_server_is_real() {
    // Guards the harness: a provider that sees nothing would make every test above pass.
    let scene = plain();
    scene.list(3);
    scene.run(&["fetch", "list.txt", "--quiet"]);
    assert_eq!(scene.server.read(|t| t.accepted), 3);
}
