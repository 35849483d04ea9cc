//! `abide providers` as its user meets it.

#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests stop at the first surprise"
)]

mod common;

use std::process::{Command, Output, Stdio};

use common::{code, err};
use serde_json::Value;

const OWN: &str = r#"name = "mine"
title = "Mine"
docs = ["https://mine.example/limits"]
evidence = "observed"
checked = "2026-11-01"
hosts = ["api.mine.example", "*.mine.example"]

[[gate]]
name = "account"
limits = [{ count = 60, per = "1m" }, { count = 5000, per = "1d", window = "fixed", zone = "UTC", plan = "pro" }]

[[rule]]
why = "too many at once"
status = [400]
json = { "$.code" = 17 }
verdict = "rate_limited"

[[test]]
name = "a success"
status = 200
verdict = "success"

[[test]]
name = "too many"
status = 400
body = '{"code": 17}'
verdict = "rate_limited"

[[test]]
name = "another mistake"
status = 400
body = '{"code": 18}'
verdict = "client_error"
"#;

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        std::fs::create_dir(place.0.path().join("own")).unwrap();
        place.write("own/mine.toml", OWN);
        place
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.path().join(name), text).unwrap();
    }

    fn run(&self, args: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_abide"))
            .arg("providers")
            .args(args)
            .current_dir(self.0.path())
            .env("HOME", self.0.path())
            .env_remove("XDG_CONFIG_HOME")
            .env_remove("ABIDE_PROFILES")
            .env_remove("ABIDE_CONFIG")
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }

    fn json(&self, args: &[&str]) -> Value {
        let out = self.run(&[args, &["--json"]].concat());
        assert_eq!(code(&out), 0, "{}", err(&out));
        serde_json::from_slice(&out.stdout).unwrap()
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn all_are_listed_and_ones_own_are_marked() {
    let place = Place::new();
    let text = said(&place.run(&[]));
    assert!(text.contains("generic "), "{text}");
    assert!(!text.contains("mine"), "{text}");
    let text = said(&place.run(&["--profiles", "own"]));
    let line = text.lines().find(|l| l.starts_with("mine*")).unwrap();
    for wanted in [
        "Mine",
        "60/min, 5000/day",
        "observed",
        "2026-11-01",
        "api.mine.example +1",
    ] {
        assert!(line.contains(wanted), "{wanted}: {line}");
    }
    let told = place.json(&["--profiles", "own"]);
    let mine = told
        .as_array()
        .unwrap()
        .iter()
        .find(|p| p["name"] == "mine");
    assert_eq!(mine.unwrap()["origin"], "own/mine.toml");
}

#[test]
fn one_is_shown_in_full() {
    let place = Place::new();
    let text = said(&place.run(&["mine", "--profiles", "own"]));
    for wanted in [
        "own/mine.toml",
        "parents    generic",
        "observed, checked 2026-11-01",
        "account: counts by the credential",
        "60/min (bucket, evenly)",
        "5000/day (fixed window, UTC), plan pro",
        "mine rule 1 -> rate_limited: too many at once",
        "generic rule 1",
        "$.retry_after",
        "tests: 3",
    ] {
        assert!(text.contains(wanted), "{wanted}\n{text}");
    }
    let told = place.json(&["mine", "--profiles", "own"]);
    assert_eq!(told["parents"][0], "generic");
    let rules = told["rules"].as_array().unwrap();
    let own = rules.iter().find(|r| r["name"] == "mine rule 1").unwrap();
    assert_eq!(own["why"], "too many at once");
    assert_eq!(told["profile"]["gate"][0]["limits"][0]["count"], 60);
}

#[test]
fn what_nothing_uses_yet_is_called_declared() {
    let place = Place::new();
    let policy = "[policy]\nrole = \"local\"\nprobe = \"/up\"\nhandled_below = [429]\n\
                  idempotency = { header = \"Idempotency-Key\" }\n";
    place.write("own/own.toml", &format!("name = \"own\"\n{policy}"));
    let text = said(&place.run(&["own", "--profiles", "own"]));
    for wanted in [
        "declared: writes are made repeatable by: Idempotency-Key",
        "declared: handled by the client's own library: 429",
        "declared: cheap route: /up",
        "declared: is: on this machine",
    ] {
        assert!(text.contains(wanted), "{wanted}\n{text}");
    }
}

#[test]
fn an_unknown_name_is_a_usage_error_with_a_guess() {
    let out = Place::new().run(&["genric"]);
    assert_eq!(code(&out), 2);
    assert!(
        err(&out).contains("\"generic\" may be meant"),
        "{}",
        err(&out)
    );
}

#[test]
fn a_folder_with_a_broken_profile_is_refused_with_its_place() {
    let place = Place::new();
    place.write(
        "own/broken.toml",
        "name = \"b\"\n[[rule]]\nverdit = \"banned\"\n",
    );
    let out = place.run(&["--profiles", "own"]);
    assert_eq!(code(&out), 2);
    assert!(err(&out).contains("own/broken.toml:3:1: "), "{}", err(&out));
    let out = place.run(&["--profiles", "nowhere"]);
    assert_eq!(code(&out), 74);
}

#[test]
fn profiles_may_stand_on_one_another_whatever_their_files_are_called() {
    let place = Place::new();
    place.write(
        "own/a.toml",
        "name = \"a\"\nextends = \"mine\"\nhosts = [\"a.example\"]\n",
    );
    let told = place.json(&["a", "--profiles", "own"]);
    assert_eq!(told["parents"], serde_json::json!(["mine", "generic"]));
    let out = place.run(&["check", "own/a.toml", "own/mine.toml"]);
    assert_eq!(code(&out), 0, "{}", said(&out));
}

#[test]
fn what_extends_a_provider_stands_on_ones_own_version_of_it() {
    let place = Place::new();
    place.write("own/a.toml", "name = \"a\"\nextends = \"github\"\n");
    place.write(
        "own/github.toml",
        "name = \"github\"\nextends = \"github\"\n[[rule]]\nwhy = \"my own\"\nstatus = [418]\n",
    );
    let text = said(&place.run(&["a", "--profiles", "own"]));
    assert!(text.contains("my own"), "{text}");
}

#[test]
fn sections_of_profiles_extend_each_other_in_any_order() {
    let place = Place::new();
    place.write(
        "abide.toml",
        "[profiles.a]\nextends = \"b\"\n[profiles.b]\nextends = \"c\"\n[profiles.c]\n\
         extends = \"mine\"\n",
    );
    let told = place.json(&["a", "--profiles", "own"]);
    assert_eq!(
        told["parents"],
        serde_json::json!(["b", "c", "mine", "generic"])
    );
    place.write(
        "abide.toml",
        "[profiles.a]\nextends = \"b\"\n[profiles.b]\nextends = \"a\"\n",
    );
    let out = place.run(&["a"]);
    assert_eq!(code(&out), 2);
    let wanted = "in a circle: a -> b -> a; let one of them";
    assert!(err(&out).contains(wanted), "{}", err(&out));
    assert!(err(&out).contains("[profiles.a]"), "{}", err(&out));
}

#[test]
fn checked_files_stand_on_each_other_and_on_those_of_the_folder() {
    let place = Place::new();
    place.write(
        "b.toml",
        "name = \"b\"\nextends = \"mine\"\n[[gate]]\nname = \"own\"\nscope = \"route\"\n",
    );
    place.write(
        "a.toml",
        "name = \"a\"\nextends = \"b\"\n[[rule]]\nwhy = \"x\"\nstatus = [418]\ngate = \"own\"\n",
    );
    for files in [["a.toml", "b.toml"], ["b.toml", "a.toml"]] {
        let args = [&["check"], &files[..], &["--profiles", "own"]].concat();
        let out = place.run(&args);
        assert_eq!(code(&out), 0, "{}", said(&out));
    }
    let out = place.run(&["check", "a.toml", "--profiles", "own"]);
    assert_eq!(code(&out), 1);
    assert!(said(&out).contains("extends \"b\", which is no profile"));
}

#[test]
fn a_sound_profile_passes_its_check() {
    let out = Place::new().run(&["check", "own/mine.toml"]);
    assert_eq!(code(&out), 0, "{}", said(&out));
    assert_eq!(
        said(&out),
        "1 file: 0 wrong, 0 warnings; tests: 3 passed, 0 failed\n"
    );
}

#[test]
fn whatever_is_wrong_is_told_with_its_place() {
    let place = Place::new();
    let broken = OWN
        .replace("verdict = \"client_error\"", "verdict = \"banned\"")
        .replace("[[rule]]", "[[rule]]\ngate = \"acount\"")
        .replace("title = \"Mine\"\n", "");
    place.write("broken.toml", &broken);
    let out = place.run(&["check", "broken.toml"]);
    assert_eq!(code(&out), 1, "{}", said(&out));
    let text = said(&out);
    for wanted in [
        "broken.toml:12:1: rule[1].gate: \"acount\" is unknown; \"account\" may be meant",
        "warning: title is missing",
        "broken.toml:29:",
        "test \"another mistake\": verdict: expected banned, got client_error (the status)",
        "1 file: 1 wrong, 1 warning; tests: 2 passed, 1 failed",
    ] {
        assert!(text.contains(wanted), "{wanted}\n{text}");
    }
}

#[test]
fn warnings_fail_when_asked_for() {
    let place = Place::new();
    place.write("odd.toml", &OWN.replace("title = \"Mine\"\n", ""));
    let out = place.run(&["check", "odd.toml"]);
    assert_eq!(code(&out), 0, "{}", said(&out));
    assert!(said(&out).contains("0 wrong, 1 warning"), "{}", said(&out));
    assert_eq!(code(&place.run(&["check", "odd.toml", "--strict"])), 1);
    assert_eq!(code(&place.run(&["check", "nowhere.toml"])), 74);
    assert_eq!(code(&place.run(&["check"])), 2);
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let place = Place::new();
    let mut child = Command::new(env!("CARGO_BIN_EXE_abide"))
        .args(["providers", "--json"])
        .current_dir(place.0.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let out = child.wait_with_output().unwrap();
    assert_eq!((code(&out), err(&out)), (0, String::new()));
}
