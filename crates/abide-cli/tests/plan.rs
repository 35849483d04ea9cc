//! `abide plan` as its user meets it.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod common;

use std::process::{Command, Output, Stdio};

use common::{code, err};
use serde_json::Value;

const BUCKET: &str =
    "kind = \"bucket\"\ncount = 50\nper = \"1s\"\nburst = 10\nretry_after = \"1s\"\n";

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.path().join(name), text).unwrap();
    }

    fn plan(&self, args: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_abide"))
            .arg("plan")
            .args(args)
            .current_dir(self.0.path())
            .env_remove("ABIDE_CONFIG")
            .env("HOME", self.0.path())
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }

    fn json(&self, args: &[&str]) -> Value {
        let output = self.plan(&[args, &["--json"]].concat());
        assert!(output.stderr.is_empty(), "{}", err(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_documented_limit_is_kept_to_without_a_refusal() {
    let place = Place::new();
    let plan = place.json(&["--items", "5000", "--provider", "github", "--credential"]);
    assert_eq!(plan["done"], 5000, "{plan}");
    assert_eq!(
        (&plan["requests"], &plan["refusals"]),
        (&5000.into(), &0.into())
    );
    assert_eq!(plan["limit_known"], true);
    // 900 a minute: five whole minutes, and the rest of the sixth window.
    let seconds = plan["seconds"].as_f64().unwrap();
    assert!((300.0..330.0).contains(&seconds), "{seconds}");
    let accepted = plan["timeline"].as_array().unwrap().iter();
    let accepted: u64 = accepted.map(|c| c["accepted"].as_u64().unwrap()).sum();
    assert_eq!(accepted, 5000);
}

#[test]
fn people_are_told_in_plain_lines_without_colour() {
    let place = Place::new();
    let at = ["--at", "2026-12-01T09:00:00Z"];
    let args = [&["--items", "120", "--provider", "github"], &at[..]].concat();
    let output = place.plan(&args);
    let text = out(&output);
    assert_eq!(code(&output), 0, "{}", err(&output));
    assert!(text.contains("github (documented): 60/h"), "{text}");
    assert!(
        text.contains("other limits hold with one (--credential)"),
        "{text}"
    );
    assert!(text.contains("120 items take 1 h"), "{text}");
    assert!(text.contains("begun at 2026-12-01T09:00:00Z"), "{text}");
    assert!(text.contains("120 requests, 0 refused"), "{text}");
    assert!(
        text.contains("█") && text.contains("accepted, up to"),
        "{text}"
    );
    assert!(!text.contains('\u{1b}'), "{text}");
    assert_eq!(
        text,
        out(&place.plan(&args)),
        "the same seed, the same plan"
    );
}

#[test]
fn where_no_limit_is_known_that_is_said() {
    let place = Place::new();
    let output = place.plan(&["--items", "80", "--provider", "api.nowhere.example"]);
    let text = out(&output);
    assert!(text.contains("no limit by time is known"), "{text}");
    let plan = place.json(&["--items", "80", "--provider", "api.nowhere.example"]);
    assert_eq!(plan["limit_known"], false);
    // Eight at once over a trip of 100 ms, after a gentle start.
    let seconds = plan["seconds"].as_f64().unwrap();
    assert!((1.0..2.0).contains(&seconds), "{seconds}");
}

#[test]
fn a_hidden_limit_is_learned() {
    let place = Place::new();
    place.write("policy.toml", BUCKET);
    let args = ["--items", "1000", "--against", "policy.toml", "-c", "32"];
    let plan = place.json(&args);
    assert_eq!(
        (&plan["done"], &plan["limit_known"]),
        (&1000.into(), &false.into())
    );
    assert!(plan["refusals"].as_u64().unwrap() > 0, "{plan}");
    assert!(plan["held_seconds"].as_f64().unwrap() > 0.0, "{plan}");
    let fastest = plan["fastest_seconds"].as_f64().unwrap();
    assert!((19.0..21.0).contains(&fastest), "{fastest}");
    assert!(plan["seconds"].as_f64().unwrap() >= fastest);
    let text = out(&place.plan(&args));
    assert!(text.contains("× refused"), "{text}");
}

#[test]
fn what_would_be_skipped_is_said_and_is_exit_75() {
    let place = Place::new();
    place.write(
        "policy.toml",
        "kind = \"quota\"\ncount = 100\nretry_after = \"10m\"\n",
    );
    let output = place.plan(&["--items", "300", "--against", "policy.toml"]);
    assert_eq!(code(&output), 75, "{}", out(&output));
    assert!(
        out(&output).contains("200 of 300 items would be skipped"),
        "{}",
        out(&output)
    );
}

#[test]
fn a_bad_file_is_told_with_line_and_column() {
    let place = Place::new();
    place.write("policy.toml", "kind = \"fixed\"\ncount = 5\nper = \"30\"\n");
    let output = place.plan(&["--items", "10", "--against", "policy.toml"]);
    assert_eq!(code(&output), 2);
    assert!(
        err(&output).contains("policy.toml:3:7: \"30\" is no time"),
        "{}",
        err(&output)
    );
    place.write("policy.toml", "kind = \"none\"\nbrust = 5\n");
    let output = place.plan(&["--items", "10", "--against", "policy.toml"]);
    assert!(
        err(&output).contains("policy.toml:2:1: unknown field `brust`"),
        "{}",
        err(&output)
    );
    let output = place.plan(&["--items", "10", "--against", "missing.toml"]);
    assert_eq!(code(&output), 74);
}

#[test]
fn a_chart_is_drawn() {
    let place = Place::new();
    place.write("policy.toml", BUCKET);
    let args = ["--items", "200", "--against", "policy.toml", "--chart"];
    let output = place.plan(&[&args[..], &["plan.svg"]].concat());
    assert_eq!(code(&output), 0, "{}", err(&output));
    let svg = std::fs::read_to_string(place.0.path().join("plan.svg")).unwrap();
    for part in [
        "<svg",
        "200 items, policy.toml",
        "accepted",
        "refused (",
        "held",
    ] {
        assert!(svg.contains(part), "{part}");
    }
    let output = place.plan(&[&args[..], &["plan.png"]].concat());
    assert_eq!(code(&output), 0, "{}", err(&output));
    let png = std::fs::read(place.0.path().join("plan.png")).unwrap();
    assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"));
    let output = place.plan(&[&args[..], &["plan.gif"]].concat());
    assert_eq!(code(&output), 2);
    assert!(
        err(&output).contains("does not end in .svg or .png"),
        "{}",
        err(&output)
    );
}

#[test]
fn what_is_unknown_is_a_usage_error() {
    let place = Place::new();
    for (args, what) in [
        (&["--provider", "nonesuch"][..], "\"nonesuch\" is unknown"),
        (
            &["--provider", "github", "--plan", "gold"],
            "github has no plan \"gold\"",
        ),
        (&[], "--provider <NAME>"),
    ] {
        let output = place.plan(&[&["--items", "5"], args].concat());
        assert_eq!(code(&output), 2, "{args:?}");
        assert!(err(&output).contains(what), "{args:?}: {}", err(&output));
    }
}
