//! `abide fetch` as its user meets it.

mod common;

use std::fs;
use std::time::Duration;

use abide_sim::Answer;
use abide_sim::policy::{Hint, Plain, Quota, Reset, Service, Timed};
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
fn a_dry_run_names_and_counts_as_the_run_would() {
    let scene = plain();
    let lines = [
        r#"{"url": "https://api.github.com./user"}"#,
        r#"{"url": "https://api.github.com/graphql", "method": "POST", "body": {"query": "{ viewer { id } }"}}"#,
        r#"{"url": "https://api.github.com/graphql", "method": "POST", "body": {"query": "mutation { a }"}}"#,
        r#"{"url": "https://api.telegram.org/bot1:s3cr3t/getMe"}"#,
    ];
    scene.write("in.jsonl", &lines.join("\n"));
    let out = scene.run(&["fetch", "in.jsonl", "--dry-run"]);
    let text = String::from_utf8(out.stdout.clone()).unwrap();
    assert_eq!(code(&out), 0, "{}", err(&out));
    assert!(text.contains("4 items, 0 bad lines, 1 writes"), "{text}");
    assert!(text.contains("3  github\n"), "{text}");
    assert!(text.contains("1  telegram\n"), "{text}");
    assert!(!text.contains("s3cr3t"), "{text}");
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

/// A 200 that its profile sees through is no item done, whatever `--done-status` says of a 200.
#[test]
fn what_hides_in_a_200_is_not_done() {
    for (code_in_body, outcome, exit) in [(7, "failed", 1), (8, "not_found", 0)] {
        let hidden = format!("{{\"error\":{code_in_body}}}");
        let hidden = Answer::new(http::StatusCode::OK, hidden);
        let scene = Scene::new(Quota::new(1, Reset::Never).refusing_with(hidden));
        let profile = "[profiles.peer]\nhosts = [\"127.0.0.1\"]\n\
            rule = [{ json = { \"$.error\" = 7 }, verdict = \"client_error\" },\
            { json = { \"$.error\" = 8 }, verdict = \"not_found\" }]\n";
        scene.write("abide.toml", profile);
        scene.list(3);
        let args = ["fetch", "list.txt", "--config", "abide.toml"];
        let out = scene.run(&[&args[..], &["--done-status", "200"]].concat());
        assert_eq!(code(&out), exit, "{}", err(&out));
        let results = by_id(&String::from_utf8(out.stdout.clone()).unwrap());
        assert_eq!((count(&results, "done"), count(&results, outcome)), (1, 2));
        let reasons: Vec<_> = results
            .values()
            .filter_map(|r| r["reason"].as_str())
            .collect();
        let expected = match exit {
            1 => vec!["200 OK: its content says client_error"; 2],
            _ => vec![],
        };
        assert_eq!(reasons, expected);
    }
}
