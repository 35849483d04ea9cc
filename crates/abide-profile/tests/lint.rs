//! Each lint speaks where it should, and keeps quiet where it should not.

#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests stop at the first surprise"
)]

use abide_profile::Catalogue;
use abide_profile::lint::{Level, lints};

/// A profile that no lint has anything against.
const CLEAN: &str = r#"name = "x"
title = "X"
docs = ["https://x.example/limits"]
evidence = "documented"
checked = "2026-11-01"
hosts = ["x.example"]

[[test]]
name = "a success"
status = 200
headers = { authorization-echo = "Bearer example-token-of-nobody-1" }
verdict = "success"

[[test]]
name = "a refusal"
status = 429
verdict = "rate_limited"

[[test]]
name = "no permission"
status = 403
verdict = "auth_error"
"#;

fn found(text: &str) -> Vec<String> {
    let all = Catalogue::built_in();
    assert_eq!(all.faults(text), [], "{text}");
    let profile = all.preview(text).unwrap();
    let lints = lints(&profile, text);
    lints.iter().map(ToString::to_string).collect()
}

fn with(more: &str) -> Vec<String> {
    found(&format!("{CLEAN}\n{more}"))
}

#[track_caller]
fn says(more: &str, wanted: &[&str]) {
    let got = with(more);
    assert_eq!(got.len(), wanted.len(), "{more}\n{got:#?}");
    for (got, wanted) in got.iter().zip(wanted) {
        assert!(got.contains(wanted), "{got}\n{wanted}");
    }
}

#[test]
fn a_clean_profile_is_left_alone() {
    assert_eq!(found(CLEAN), Vec::<String>::new());
}

#[test]
fn counts_are_no_times() {
    says(
        "[[reading]]\nreset = { header = \"x-remaining\" }\n[[test]]\nname = \"t\"\nstatus = 200\n\
         headers = { X-Remaining = \"5\" }\nverdict = \"success\"\n",
        &["sounds like a count"],
    );
    says("[[ask]]\nheader = \"x-rate-limit-reset\"\n", &[]);
}

#[test]
fn one_header_is_read_one_way() {
    says(
        "[[ask]]\nheader = \"x-back\"\nunit = \"epoch\"\n[[ask]]\nheader = \"X-Back\"\n",
        &["point in time here and as a length"],
    );
}

#[test]
fn a_rule_that_cannot_decide_is_found() {
    let rule = |more: &str| format!("[[rule]]\nwhy = \"w\"\n{more}\n");
    let two = |a: &str, b: &str| rule(a) + &rule(b);
    says(
        &two("status = [\"4xx\"]", "status = [429]"),
        &["rule 1 before it"],
    );
    says(&two("status = [429]", "status = [\"4xx\"]"), &[]);
    says(
        &two("status = [429]\nmethods = [\"GET\"]", "status = [429]"),
        &[],
    );
    says(
        &two(
            "json = { \"$.a\" = 1 }",
            "status = [429]\njson = { \"$.a\" = 1, \"$.b\" = 2 }",
        ),
        &["rule 1 before it"],
    );
}

#[test]
fn limits_that_contradict_are_found() {
    let gate = |a: &str, b: &str| {
        format!(
            "[[gate]]\nname = \"account\"\nlimits = [{{ count = 5, per = \"60s\"{a} }}, {{ count = 9, per = \"1m\"{b} }}]\n"
        )
    };
    says(&gate("", ""), &["9 per 1m contradicts 5 per 60s"]);
    says(&gate("", ", plan = \"pro\""), &[]);
    says(&gate(", credential = true", ", credential = false"), &[]);
}

#[test]
fn a_gate_of_no_use_is_found() {
    says(
        "[[gate]]\nname = \"search\"\nscope = \"route\"\n",
        &["\"search\" has no limits"],
    );
    says(
        "[[gate]]\nname = \"search\"\nscope = \"route\"\n[[rule]]\nwhy = \"w\"\nstatus = [429]\n\
         gate = \"search\"\n",
        &[],
    );
}

#[test]
fn a_wait_beyond_the_longest_hold_is_found() {
    let rule = "[[rule]]\nwhy = \"w\"\nstatus = [429]\nwait = \"2h\"\n";
    says(
        &format!("[policy]\nhold_max = \"1h\"\n{rule}"),
        &["longest hold believed"],
    );
    says(rule, &[]);
}

#[test]
fn expressions_that_match_anything_are_found() {
    let text = |t: &str| format!("[[rule]]\nwhy = \"w\"\nstatus = [429]\ntext = '{t}'\n");
    for wide in [".*", ".+", r"\d+", "", "[a-z ]+"] {
        says(&text(wide), &["nearly every text"]);
    }
    says(&text("(?i)too many"), &[]);
    says(&text("/too many/i"), &["(?i)too many"]);
    says(&text("/cdn-cgi/challenge"), &[]);
    let header = |t: &str| {
        format!("[[rule]]\nwhy = \"w\"\nstatus = [429]\nheader = {{ x = {{ matches = '{t}' }} }}\n")
    };
    says(&header(".*"), &["nearly every text"]);
    says(&header("^[0-9]+$"), &[]);
}

#[test]
fn a_rule_says_why() {
    says("[[rule]]\nstatus = [429]\n", &["why is missing"]);
}

#[test]
fn readings_are_tested() {
    says(
        "[[reading]]\nremaining = { header = \"x-left\" }\n",
        &["no test has the header x-left"],
    );
}

#[test]
fn secrets_are_not_published() {
    let all = Catalogue::built_in();
    for secret in [
        "Bearer a8Fk2LmQ9zXc7VbN4hJt",
        "ghp_a8Fk2LmQ9zXc7VbN4hJtR5yU",
        "AKIAQ7ZP3M5X2K9W8R4T",
    ] {
        let text = format!(
            "{CLEAN}\n[[test]]\nname = \"t\"\nstatus = 200\nbody = \"{secret}\"\nverdict = \"success\"\n"
        );
        let lints = lints(&all.preview(&text).unwrap(), &text);
        assert_eq!(lints.len(), 1, "{secret}: {lints:?}");
        assert_eq!(lints[0].level, Level::Error);
        assert!(!lints[0].to_string().contains(secret), "it is not repeated");
        assert!(lints[0].fault.line > 20);
    }
}

#[test]
fn what_every_profile_says_is_missed() {
    let got = found("name = \"x\"\nhosts = [\"x.example\"]\n");
    for wanted in [
        "title is missing",
        "docs is missing",
        "checked is missing",
        "evidence is missing",
        "no test shows a success",
        "no test shows a refusal",
        "fewer than three tests",
    ] {
        assert!(got.iter().any(|g| g.contains(wanted)), "{wanted}: {got:#?}");
    }
    let own = "name = \"generic\"\nextends = \"generic\"\n";
    assert_eq!(found(own), Vec::<String>::new(), "additions stand on it");
    assert!(found(&CLEAN.replace("2026-11-01", "soon"))[0].contains("is no day"));
}
