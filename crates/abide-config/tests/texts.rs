//! What is printed: the effective policy, the starter file, the page of knobs.

#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests stop at the first surprise"
)]

use abide_config::{Config, File, Flag, KNOBS, Use, check, docs, init, show, show_json};

fn file(text: &str) -> File {
    File {
        path: "abide.toml".into(),
        text: text.into(),
    }
}

/// Takes the comment mark off every line that sets a key.
fn uncommented(text: &str) -> String {
    let key = |l: &str| {
        // A provider is asked in one way, of which the file shows two.
        (l.starts_with("[providers") && !l.ends_with(".upstream]"))
            || l.split_once(" = ")
                .is_some_and(|(k, _)| k == "hosts" || KNOBS.iter().any(|n| n.key == k))
    };
    let lines = text.lines().map(|l| match l.strip_prefix("# ") {
        Some(rest) if key(rest) => rest,
        _ => l,
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_starter_file_changes_nothing_and_names_every_knob() {
    let text = init();
    assert_eq!(check(&file(&text)), []);
    for k in KNOBS {
        assert!(text.contains(&format!("\n# {} = ", k.key)), "{}", k.key);
        assert!(text.contains(&k.env()), "{}", k.key);
    }
    assert!(
        text.lines().all(|l| l.chars().count() <= 120),
        "lines fit a screen"
    );
}

#[test]
fn the_starter_file_taken_at_its_word_is_the_default() {
    let text = uncommented(&init());
    let c = Config::load(Some(&file(&text)), [], []).unwrap();
    let d = Config::default();
    for k in KNOBS {
        for of in [Use::Call, Use::Fetch] {
            let value = |c: &Config| c.effective(of, None, k.key).unwrap().value.clone();
            // What [defaults] says counts in a run too, except where [fetch] repeats it.
            assert_eq!(value(&c), value(&d), "{} {of:?}", k.key);
        }
    }
    assert_eq!(c.providers().collect::<Vec<_>>(), ["example"]);
}

#[test]
fn what_is_shown_reads_back_as_the_same_policy() {
    let text = "[defaults]\npatience = \"1m 30s\"\nretry.on = [500]\n\n[fetch]\ncontact = \"a \\\"b\\\" \\\\ c\"\n\n\
                [providers.\"a.b\"]\nhosts = [\"x.org\"]\nrate = \"1/10s\"\nburst = 3\n";
    let flag = Flag {
        name: "--attempts".into(),
        key: "attempts",
        value: "6".into(),
    };
    let c = Config::load(Some(&file(text)), [], [flag]).unwrap();
    let shown = show(&c);
    assert!(shown.contains("patience = \"1m 30s\""), "{shown}");
    assert!(shown.contains("# abide.toml:2:12"), "{shown}");
    assert!(shown.contains("# --attempts"), "{shown}");
    let back = Config::load(Some(&file(&shown)), [], []).unwrap();
    for of in [Use::Call, Use::Fetch] {
        for p in [None, Some("a.b")] {
            assert_eq!(back.call(of, p), c.call(of, p));
            assert_eq!(back.provider(of, p), c.provider(of, p));
            assert_eq!(back.classify(of, p), c.classify(of, p));
        }
    }
    assert_eq!(back.fetch(), c.fetch());
    let json = show_json(&c);
    assert_eq!(json["defaults"]["attempts"]["value"], 6);
    assert_eq!(json["defaults"]["attempts"]["origin"], "--attempts");
    assert_eq!(json["providers"]["a.b"]["rate"]["value"], "1/10s");
    assert_eq!(json["providers"]["a.b"]["hosts"][0], "x.org");
    assert_eq!(json["fetch"]["run.streak"]["value"], 3);
}

#[test]
fn the_page_of_knobs_is_current() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/policy.md");
    let written = std::fs::read_to_string(path).unwrap_or_default();
    let hint = "run: cargo run -p abide-config --example policy_docs > docs/policy.md";
    assert!(written == docs(), "docs/policy.md is out of date; {hint}");
}
