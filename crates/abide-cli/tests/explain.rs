//! `abide explain` as its user meets it.

#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests stop at the first surprise"
)]

mod common;

use std::io::Write as _;
use std::process::{Output, Stdio};

use common::{code, err};
use serde_json::Value;

const RAW: &str = "HTTP/1.1 100 Continue\r\n\r\nHTTP/2 429 \r\n\
    date: Tue, 10 Mar 2026 12:00:00 GMT\r\n\
    x-ratelimit-limit: 60\r\n\
    x-ratelimit-remaining: 0\r\n\
    x-ratelimit-reset: 1773144060\r\n\
    retry-after: -5\r\n\
    set-cookie: session=hunter2\r\n\
    content-type: application/json\r\n\r\n{\"message\": \"slow down\"}";

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.path().join(name), text).unwrap();
    }

    fn run(&self, args: &[&str]) -> Output {
        self.piped(args, "")
    }

    fn piped(&self, args: &[&str], input: &str) -> Output {
        let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_abide"))
            .arg("explain")
            .args(args)
            .current_dir(self.0.path())
            .env("HOME", self.0.path())
            .env_remove("XDG_CONFIG_HOME")
            .env_remove("ABIDE_PROFILES")
            .env_remove("ABIDE_CONFIG")
            .env("TZ", "UTC")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A command that refuses its flags does not read.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        child.wait_with_output().unwrap()
    }

    fn json(&self, args: &[&str], input: &str) -> Value {
        let out = self.piped(&[args, &["--json"]].concat(), input);
        assert_eq!(code(&out), 0, "{}", err(&out));
        serde_json::from_slice(&out.stdout).unwrap()
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn an_answer_is_explained_at_a_glance() {
    let out = Place::new().piped(&["--url", "https://api.example.org/v1/items"], RAW);
    assert_eq!(code(&out), 0, "{}", err(&out));
    let text = said(&out);
    for wanted in [
        "provider   generic (no profile names api.example.org",
        "429 Too Many Requests to GET /v1/items at 2026-03-10T12:00:00Z",
        "verdict    rate_limited",
        "covers     account: everything sent with this credential; it is held until then",
        "wait       60 s: x-ratelimit-reset 1773144060 − its Date 1773144000",
        "until      2026-03-10T12:01:00Z",
        "said by    ratelimit-reset",
        "decided by the status 429",
        "account: 0 of 60 left, more at 2026-03-10T12:01:00Z",
        "says 2026-03-10T12:01:00Z, and decides",
        "ignored: follows no grammar that is accepted",
        "not looked at: content-type, date, set-cookie",
        "GET        fails with retry_at 2026-03-10T12:01:00Z: the wait is longer than its patience",
        "POST       fails with retry_at 2026-03-10T12:01:00Z: a write is sent once",
        "a bulk run waits for everything the answer covers",
    ] {
        assert!(text.contains(wanted), "{wanted}\n{text}");
    }
    assert!(!text.contains("hunter2"), "{text}");
}

#[test]
fn json_has_all_of_it() {
    let told = Place::new().json(&[], RAW);
    assert_eq!(told["verdict"], "rate_limited");
    assert_eq!(told["wait_s"], 60.0);
    assert_eq!(told["until"], "2026-03-10T12:01:00Z");
    assert_eq!(told["source"], "ratelimit-reset");
    assert_eq!(told["quotas"][0]["remaining"], 0);
    assert_eq!(told["next"][0]["method"], "GET");
    assert_eq!(told["next"][0]["does"], "fail");
    assert_eq!(told["next"][1]["why"], "refused-write");
    assert!(!told.to_string().contains("hunter2"));
}

#[test]
fn a_short_wait_is_waited_by_a_read() {
    let flags = ["--status", "429", "--header", "Retry-After: 5"];
    let told = Place::new().json(&flags, "");
    assert_eq!(told["wait_s"], 5.0);
    assert_eq!(told["arithmetic"], "retry-after 5");
    assert_eq!(told["next"][0]["does"], "again");
}

#[test]
fn a_body_is_read_from_text_file_and_pipe() {
    let place = Place::new();
    let body = r#"{"retry_after": 12.5}"#;
    place.write("body.json", body);
    let status = ["--status", "429"];
    for more in [
        ["--body-text", body],
        ["--body", "body.json"],
        ["--body", "-"],
    ] {
        let told = place.json(&[status, more].concat(), body);
        assert_eq!(told["wait_s"], 12.5, "{more:?}");
        assert_eq!(told["arithmetic"], "$.retry_after 12.5");
        assert_eq!(told["body"][0]["decides"], true);
    }
}

#[test]
fn the_moment_is_told_by_flag_before_the_date() {
    let told = Place::new().json(&["--now", "2026-03-10T12:00:30Z"], RAW);
    assert_eq!(told["now"], "2026-03-10T12:00:30Z");
}

fn entry(url: &str, status: u16, body: &str) -> String {
    format!(
        r#"{{"startedDateTime": "2026-03-10T12:00:00Z", "time": 250, "request": {{"method": "POST", "url": "{url}"}},
        "response": {{"status": {status}, "headers": [{{"name": "Content-Type", "value": "application/json"}}], "content": {body}}}}}"#
    )
}

#[test]
fn an_entry_of_a_har_file_says_what_was_asked() {
    let base64 = r#"{"text": "eyJyZXRyeV9hZnRlciI6IDN9", "encoding": "base64"}"#;
    let told = Place::new().json(
        &[],
        &entry("https://a.example/x?api_key=hunter2", 429, base64),
    );
    assert_eq!(
        (&told["method"], &told["path"]),
        (&"POST".into(), &"/x".into())
    );
    assert_eq!(told["now"], "2026-03-10T12:00:01Z", "rounded up");
    assert_eq!(told["wait_s"], 3.0);
    assert!(!told.to_string().contains("hunter2"));
}

#[test]
fn of_a_har_file_the_last_that_was_turned_away_is_explained() {
    let place = Place::new();
    let text = r#"{"text": "{}"}"#;
    let url = "https://a.example/x";
    let (good, bad) = (entry(url, 200, text), entry(url, 503, text));
    let har = format!(r#"{{"log": {{"entries": [{good}, {bad}, {good}]}}}}"#);
    let told = place.json(&[], &har);
    assert_eq!(told["status"], 503);
    assert!(
        told["remarks"][0]
            .as_str()
            .unwrap()
            .starts_with("entry 2 of 3")
    );
    assert_eq!(place.json(&["--entry", "3"], &har)["status"], 200);
    let out = place.piped(&["--entry", "4"], &har);
    assert_eq!(code(&out), 2);
    assert!(err(&out).contains("3 entries"), "{}", err(&out));
}

#[test]
fn a_profile_of_ones_own_is_used() {
    let place = Place::new();
    std::fs::create_dir(place.0.path().join("own")).unwrap();
    place.write(
        "own/mine.toml",
        "name = \"mine\"\nhosts = [\"api.mine.example\"]\n[[rule]]\nwhy = \"too many at once\"\n\
         status = [400]\njson = { \"$.code\" = 17 }\nverdict = \"rate_limited\"\nwait = \"20s\"\n",
    );
    let args = [
        "--profiles",
        "own",
        "--status",
        "400",
        "--body-text",
        "{\"code\": 17}",
    ];
    for more in [
        ["--provider", "mine"],
        ["--url", "https://api.mine.example/a"],
    ] {
        let told = place.json(&[&args[..], &more].concat(), "");
        assert_eq!(told["provider"], "mine");
        assert_eq!(told["rule"], "mine rule 1");
        assert_eq!(told["why"], "too many at once");
        assert_eq!(told["wait_s"], 20.0);
    }
}

#[test]
fn bad_input_is_refused_with_its_place() {
    let place = Place::new();
    place.write("odd.txt", "\nhello\n");
    for (args, input, wanted, exit) in [
        (&["odd.txt"][..], "", "odd.txt:2: is no status line", 74),
        (&[], "", "standard input:1: is empty", 74),
        (&[], "{\"a\": ", "standard input: line 1, column 6", 74),
        (
            &[],
            "{\"response\": {\"status\": 0}}",
            "entry 1: has no answer",
            74,
        ),
        (&["none.txt"], "", "none.txt cannot be read", 74),
        (&["--status", "lots"], "", "--status", 2),
        (
            &["--status", "429", "--header", "hunter2"],
            "",
            "--header number 1",
            2,
        ),
        (&["--url", "hunter2"], "", "--url is no URL", 2),
        (
            &["--provider", "genric"],
            RAW,
            "\"generic\" may be meant",
            2,
        ),
        (&["--now", "soon"], RAW, "--now", 2),
        (
            &["--status", "429", "odd.txt"],
            "",
            "cannot be used with",
            2,
        ),
    ] {
        let out = place.piped(args, input);
        assert_eq!(code(&out), exit, "{args:?}: {}", err(&out));
        assert!(err(&out).contains(wanted), "{args:?}: {}", err(&out));
        assert!(!err(&out).contains("hunter2"), "{}", err(&out));
    }
}

#[test]
fn what_is_too_large_is_refused() {
    let place = Place::new();
    place.write("large", &"x".repeat(16 * 1024 * 1024 + 1));
    let out = place.run(&["large"]);
    assert_eq!(code(&out), 74);
    assert!(err(&out).contains("more than 16 MiB"), "{}", err(&out));
}

#[test]
fn control_characters_do_not_reach_the_terminal() {
    let raw = "HTTP/1.1 429 x\nretry-after: 5\u{9b}31m\n\n";
    let out = Place::new().piped(&[], raw);
    assert_eq!(code(&out), 0, "{}", err(&out));
    let odd = |c: char| c.is_control() && c != '\n';
    assert!(!said(&out).contains(odd), "{:?}", said(&out));
}

fn case(id: &str, provider: &str, wait: u32) -> String {
    format!(
        r#"{{"id": "{id}", "provider": "{provider}", "now": "2026-03-10T12:00:00Z", "request": {{"method": "GET", "path": "/"}}, "response": {{"status": 429, "headers": {{"retry-after": "5"}}, "body": null}}, "expect": {{"verdict": "rate_limited", "wait_s": {wait}}}}}"#
    )
}

#[test]
fn recorded_cases_are_run_and_what_differs_is_told() {
    let place = Place::new();
    let cases = [
        case("good", "generic", 5),
        case("short", "generic", 60),
        String::new(),
        "{\"id\": 5}".to_owned(),
        case("whose", "nobody", 5),
        case("argued", "generic", 60),
    ];
    place.write("cases.jsonl", &cases.join("\n"));
    place.write("argued.toml", "argued = \"five are told\"\n");
    let args = ["--cases", "cases.jsonl", "--disputed", "argued.toml"];
    let out = place.run(&args);
    assert_eq!(code(&out), 1, "{}", err(&out));
    let text = said(&out);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "short: wait_s: expected 60s, got 5s (the status)");
    assert!(lines[1].starts_with("cases.jsonl:4: "), "{text}");
    assert_eq!(lines[2], "whose: no profile nobody");
    assert_eq!(lines[3], "1 passed, 3 failed, 1 disputed");
    let out = place.run(&[&args[..], &["--verbose"]].concat());
    assert!(said(&out).contains("argued: disputed: five are told"));
    place.write("good.jsonl", &cases[0]);
    let out = place.run(&["--cases", "good.jsonl"]);
    assert_eq!(code(&out), 0);
    assert_eq!(said(&out), "1 passed, 0 failed, 0 disputed\n");
}

#[test]
fn a_credential_in_a_path_is_not_shown() {
    let url = "https://api.telegram.org/bot123:hunter2/sendMessage?api_key=hunter2";
    let flags = ["--url", url, "--status", "429", "--method", "post"];
    let out = Place::new().run(&flags);
    let text = said(&out);
    assert!(text.contains("provider   telegram"), "{text}");
    assert!(text.contains("POST /…/sendMessage"), "{text}");
    assert!(!text.contains("hunter2"), "{text}");
}
