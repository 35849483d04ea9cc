//! Whatever is in the file, the environment or on the command line: an answer, never a panic.

use abide_config::{Config, File, Flag, KNOBS, check, docs, show, show_json};
use proptest::prelude::*;

fn file(text: String) -> File {
    File {
        path: "abide.toml".into(),
        text,
    }
}

/// Values of all sorts, good and bad.
fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<i64>().prop_map(|n| n.to_string()),
        any::<f64>().prop_map(|n| format!("{n:?}").replace("NaN", "nan")),
        any::<bool>().prop_map(|b| b.to_string()),
        "[0-9]{1,25}(ns|us|ms|s|m|h|d|/s|/10s|KiB|GiB|)".prop_map(|s| format!("{s:?}")),
        "\\PC{0,20}".prop_map(|s| format!("{s:?}")),
        "\"[a-z_]{0,12}\"",
        Just("[]".to_owned()),
        Just("1979-05-27".to_owned()),
        "\\[(\"5s\"|503|\"50/s\"|true)(, ?(\"x\"|500|\"asked\"))?\\]",
        "\\{ ?(base|max|x) = \"1s\" ?\\}",
    ]
}

fn key() -> impl Strategy<Value = String> {
    let known: Vec<&str> = KNOBS.iter().map(|k| k.key).chain(["hosts"]).collect();
    prop_oneof![
        4 => proptest::sample::select(known).prop_map(str::to_owned),
        1 => "[a-z_]{1,10}(\\.[a-z_]{1,10}){0,2}",
    ]
}

fn document() -> impl Strategy<Value = String> {
    let section = "\\[(defaults|fetch|providers\\.[a-z]{1,5}|providers|x)\\]";
    let lines = proptest::collection::vec((key(), value()), 0..8);
    proptest::collection::vec((section, lines), 0..4).prop_map(|sections| {
        let mut out = String::new();
        for (head, lines) in sections {
            out += &format!("{head}\n");
            for (k, v) in lines {
                out += &format!("{k} = {v}\n");
            }
        }
        out
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn any_document(text in document()) {
        let f = file(text);
        match Config::load(Some(&f), [], []) {
            Ok(c) => {
                prop_assert!(!show(&c).is_empty());
                prop_assert!(show_json(&c).is_object());
                let _ = (c.provider(abide_config::Use::Fetch, Some("a")), c.run(None));
            }
            Err(errors) => {
                prop_assert!(!errors.is_empty());
                for e in errors {
                    // One line, with its place.
                    let line = e.to_string();
                    prop_assert!(line.starts_with("abide.toml:") && !line.contains('\n'), "{}", line);
                }
            }
        }
    }

    #[test]
    fn any_text(text in "\\PC*", bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = check(&file(text));
        let _ = check(&file(String::from_utf8_lossy(&bytes).into_owned()));
    }

    #[test]
    fn any_variable_and_flag(k in proptest::sample::select(KNOBS), a: String, b in value()) {
        let env = [(k.env(), a.clone()), (a.clone(), b.clone())];
        let flag = Flag { name: "--x".into(), key: k.key, value: b };
        if let Err(errors) = Config::load(None, env, [flag]) {
            prop_assert!(!errors.is_empty());
        }
    }
}

#[test]
fn deep_nesting_is_refused_not_followed() {
    for open in ["[", "{a=", "a."] {
        let text = format!("[defaults]\nx = {}", open.repeat(50_000));
        assert!(!check(&file(text)).is_empty());
    }
    let dotted = format!("[defaults]\n{}a = 1", "a.".repeat(20_000));
    assert!(!check(&file(dotted)).is_empty());
    let names = format!("[{}a]\nb = 1", "providers.".repeat(20_000));
    assert!(!check(&file(names)).is_empty());
    assert!(!docs().is_empty());
}
