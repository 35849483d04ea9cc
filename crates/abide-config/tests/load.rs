//! Files, variables and flags: what is taken over, and what is said of mistakes.

#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests stop at the first surprise"
)]

use std::time::Duration;

use abide_config::{Config, ConfigError, File, Flag, Origin, Use, Value, check};

fn file(text: &str) -> File {
    File {
        path: "abide.toml".into(),
        text: text.into(),
    }
}

fn load(text: &str) -> Config {
    Config::load(Some(&file(text)), [], []).unwrap()
}

/// What is said of a file, one line a mistake.
fn said(text: &str) -> Vec<String> {
    check(&file(text))
        .iter()
        .map(ConfigError::to_string)
        .collect()
}

fn env(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs
        .iter()
        .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
        .collect()
}

fn flag(key: &'static str, value: &str) -> Flag {
    Flag {
        name: format!("--{key}"),
        key,
        value: value.into(),
    }
}

fn secs(s: u64) -> Value {
    Value::Duration(Duration::from_secs(s))
}

#[test]
fn the_nearer_source_counts_and_every_value_knows_where_it_is_from() {
    let text = "[defaults]\npatience = \"1s\"\n\n[fetch]\npatience = \"2s\"\n\n\
                [providers.p]\n  patience = \"3s\"\n";
    let f = file(text);
    let at = |line, column| Origin::File {
        path: "abide.toml".into(),
        line,
        column,
    };
    let is = |c: &Config, of, provider, s, origin: &Origin| {
        let e = c.effective(of, provider, "patience").unwrap();
        assert_eq!((e.value, e.origin), (&secs(s), origin));
    };
    let none = Config::default();
    is(&none, Use::Call, None, 30, &Origin::Default);
    is(&none, Use::Fetch, None, 300, &Origin::Default);
    let c = load(text);
    is(&c, Use::Call, None, 1, &at(2, 12));
    is(&c, Use::Fetch, None, 2, &at(5, 12));
    is(&c, Use::Call, Some("p"), 3, &at(8, 14));
    is(&c, Use::Fetch, Some("p"), 3, &at(8, 14));
    is(&c, Use::Call, Some("nobody"), 1, &at(2, 12));
    let c = Config::load(Some(&f), env(&[("ABIDE_PATIENCE", "4s")]), []).unwrap();
    is(
        &c,
        Use::Call,
        Some("p"),
        4,
        &Origin::Env("ABIDE_PATIENCE".into()),
    );
    let c = Config::load(
        Some(&f),
        env(&[("ABIDE_PATIENCE", "4s")]),
        [flag("patience", "5s")],
    );
    is(
        &c.unwrap(),
        Use::Fetch,
        Some("p"),
        5,
        &Origin::Flag("--patience".into()),
    );
}

#[test]
fn what_is_no_part_of_a_limit_is_said_with_its_place() {
    assert_eq!(
        said("[defaults]\npace.reserv = \"20%\"\n"),
        ["abide.toml:2:6: unknown key \"pace.reserv\"; did you mean \"pace.reserve\"?"]
    );
    for wrong in [
        "\"0%\"", "\"100%\"", "\"-5%\"", "\"half\"", "0", "0.2", "\"20\"",
    ] {
        let said = said(&format!("[providers.p]\npace.reserve = {wrong}\n"));
        assert!(
            said.len() == 1
                && said[0].starts_with("abide.toml:2:16: ")
                && said[0].contains("\"20%\" (1% to 99%)"),
            "{said:?}"
        );
    }
    let said = said("[defaults]\npace.spread = \"most\"\n");
    assert!(said[0].contains("\"even\""), "{said:?}");
}

#[test]
fn an_unknown_key_is_an_error_with_its_place_and_a_suggestion() {
    assert_eq!(
        said("[defaults]\npatiense = \"30s\"\n"),
        ["abide.toml:2:1: unknown key \"patiense\"; did you mean \"patience\"?"]
    );
    assert_eq!(
        said("[providers.x]\nhosst = []\nbackoff.bsae = \"1s\""),
        [
            "abide.toml:2:1: unknown key \"hosst\"; did you mean \"hosts\"?",
            "abide.toml:3:9: unknown key \"backoff.bsae\"; did you mean \"backoff.base\"?",
        ]
    );
    assert_eq!(
        said("[defaults]\nwait = \"3s\""),
        ["abide.toml:2:1: unknown key \"wait\"; did you mean \"wait.max\"?"]
    );
    assert_eq!(
        said("[default]"),
        ["abide.toml:1:2: unknown section \"default\"; did you mean [defaults]?"]
    );
    assert_eq!(
        said("patience = \"3s\""),
        ["abide.toml:1:1: unknown section \"patience\"; it belongs into a section, as [defaults]"]
    );
    assert_eq!(
        said("[defaults]\nqqqq = 1"),
        ["abide.toml:2:1: unknown key \"qqqq\""]
    );
}

#[test]
fn columns_count_characters_not_bytes() {
    let e = said("[defaults]\nban = { redirects = [\"é\"], zzzz = 2 }");
    assert_eq!(e, ["abide.toml:2:28: unknown key \"ban.zzzz\""]);
}

#[test]
fn every_mistake_is_told_at_once() {
    let e = said(
        "[defaults]\nattempts = 0\npatience = 30\nretry.on = [500, \"never\"]\nhold.on = [500]\n\
         rate = \"50\"\nbreaker.ratio = 2\nconcurrency = \"4\"\nhint.zero = \"2h\"\n\
         retry.write = \"always\"\nladder.steps = \"5s\"\nbody.sample = 64\npace.gentle = 1\n",
    );
    let expected = [
        "abide.toml:2:12: attempts: expected a whole number from 1 to 100, found 0",
        "abide.toml:3:12: patience: expected a duration from 0s to 366d, as \"30s\", \"2m 13s\" \
         or \"250ms\" (units: ms, s, m, h, d), found 30",
        "abide.toml:4:12: retry.on: expected a list of statuses (100 to 599), verdicts \
         (auth_error, client_error, not_found, offline, rate_limited, unavailable), phases \
         (connect, send, head, body) and \"asked\", found [500, \"never\"]",
        "abide.toml:5:11: hold.on: expected a list of statuses from 400 to 599 without 500, which \
         never holds, and \"transport\", found [500]",
        "abide.toml:6:8: rate: expected a rate as \"50/s\", \"1/10s\" or \"100/2s\", or \"none\", \
         found \"50\"",
        "abide.toml:7:17: breaker.ratio: expected a number from 0.01 to 1, found 2",
        "abide.toml:8:15: concurrency: expected a whole number from 1 to 100000, found \"4\"",
        "abide.toml:9:13: hint.zero: expected \"immediate\", \"ignore\", or a duration of at most \
         1h, as \"30s\", \"2m 13s\" or \"250ms\" (units: ms, s, m, h, d), found \"2h\"",
        "abide.toml:10:15: retry.write: expected one of \"never\", \"refused-only\", found \"always\"",
        "abide.toml:11:16: ladder.steps: expected a list of durations, each from 1ms to 31d, as \
         \"30s\", \"2m 13s\" or \"250ms\" (units: ms, s, m, h, d), found \"5s\"",
        "abide.toml:12:15: body.sample: expected a size from 0B to 16MiB, as \"64KiB\" or \
         \"10MB\", found 64",
        "abide.toml:13:15: pace.gentle: expected true or false, found 1",
    ];
    assert_eq!(e, expected);
}

#[test]
fn a_broken_file_says_where() {
    let e = said("[defaults]\npatience = \n");
    assert!(e[0].starts_with("abide.toml:2:1"), "{e:?}");
    let e = said("[defaults]\npatience = \"1s\"\npatience = \"2s\"\n");
    assert!(e[0].starts_with("abide.toml:3:1: "), "{e:?}");
}

#[test]
fn what_is_of_all_providers_stands_in_no_providers_section() {
    assert_eq!(
        said("[providers.p]\noutage.window = \"9s\"\n"),
        ["abide.toml:2:8: outage.window is of all providers together; put it into [defaults]"]
    );
}

#[test]
fn a_runs_knobs_stand_in_its_section_alone() {
    assert_eq!(
        said("[defaults]\nrun.streak = 2\n"),
        ["abide.toml:2:5: run.streak is a bulk run's alone; put it into [fetch]"]
    );
    assert_eq!(load("[fetch]\nrun.streak = 2\n").run(None).streak, 2);
}

#[test]
fn variables_are_read_as_text() {
    let c = Config::load(
        None,
        env(&[
            ("ABIDE_ATTEMPTS", "7"),
            ("ABIDE_RETRY_ON", "429, 503,asked"),
            ("ABIDE_PACE_GENTLE", "false"),
            ("ABIDE_LIMITS", "50/s, 1000/h"),
            ("ABIDE_BREAKER_RATIO", "0.25"),
            ("ABIDE_LADDER_STEPS", "5s,10s"),
            ("ABIDE_DEADLINE", ""),
            ("ABIDE_STATE", "/somewhere"),
            ("ABIDE_SOMETHING_ELSE", "1"),
            ("PATH", "/bin"),
        ]),
        [],
    );
    let c = c.unwrap();
    assert_eq!(c.call(Use::Call, None).attempts, 7);
    assert_eq!(c.provider(Use::Call, None).provider.windows.len(), 2);
}

#[test]
fn a_wrong_variable_is_named() {
    let e = Config::load(None, env(&[("ABIDE_ATTEMPTS", "many")]), []).unwrap_err();
    assert_eq!(
        e[0].to_string(),
        "ABIDE_ATTEMPTS: attempts: expected a whole number from 1 to 100, found \"many\""
    );
    let e = Config::load(None, env(&[("ABIDE_PATIENSE", "3s")]), []).unwrap_err();
    let expected = "ABIDE_PATIENSE: unknown variable; did you mean ABIDE_PATIENCE?";
    assert_eq!(e[0].to_string(), expected);
    let e = Config::load(None, [], [flag("rate", "fast")]).unwrap_err();
    assert!(
        e[0].to_string()
            .starts_with("--rate: rate: expected a rate"),
        "{}",
        e[0]
    );
}

#[test]
fn values_must_fit_each_other() {
    assert_eq!(
        said("[defaults]\nbackoff.base = \"10s\"\n"),
        [
            "abide.toml:2:16: backoff.base = \"10s\" is longer than backoff.max = \"8s\"; \
          backoff.max comes from its default"
        ]
    );
    let e = Config::load(
        Some(&file("[providers.p]\nbreaker.open_max = \"10s\"\n")),
        env(&[("ABIDE_BREAKER_OPEN", "20s")]),
        [],
    );
    assert_eq!(
        e.unwrap_err()[0].to_string(),
        "ABIDE_BREAKER_OPEN: breaker.open = \"20s\" is longer than breaker.open_max = \"10s\"; \
         breaker.open_max comes from abide.toml:2:20"
    );
    assert_eq!(
        said("[defaults]\nburst = 5\n"),
        ["abide.toml:2:9: burst means nothing without rate"]
    );
    // Good for a call, and cut in a run whose own default is shorter.
    load("[defaults]\nbreaker.open = \"2m\"\n");
}

#[test]
fn a_provider_is_known_by_its_hosts() {
    let c = load(
        "[providers.a]\nhosts = [\"api.example.org\", \"*.example.net\"]\n\
         [providers.b]\nhosts = [\"x.example.net\", \"localhost:8080\"]\n",
    );
    assert_eq!(c.provider_of("api.example.org", 443), Some("a"));
    assert_eq!(c.provider_of("y.example.net", 443), Some("a"));
    assert_eq!(
        c.provider_of("x.example.net", 443),
        Some("b"),
        "the closer one"
    );
    assert_eq!(c.provider_of("localhost", 80), None);
    assert_eq!(
        c.hosts("b").map(ToString::to_string).collect::<Vec<_>>(),
        ["x.example.net", "localhost:8080"]
    );
    let e = said("[providers.a]\nhosts = [\"x.org\"]\n[providers.b]\nhosts = [\"x.org\"]\n");
    assert_eq!(
        e,
        [
            "abide.toml:4:10: host x.org stands at \"b\" and at \"a\"; the other place is \
          abide.toml:2:10"
        ]
    );
    let e = said("[providers.a]\nhosts = [\"https://x.org\"]\n");
    assert!(e[0].contains("no scheme"), "{e:?}");
    let e = said("[providers]\nrate = \"1/s\"\n");
    assert!(e[0].contains("rate belongs to a provider"), "{e:?}");
}

#[test]
fn a_file_that_cannot_be_read_is_one_error() {
    let e = File::read(std::path::Path::new("/nowhere/abide.toml")).unwrap_err();
    assert!(
        e.to_string()
            .starts_with("/nowhere/abide.toml:1:1: cannot be read"),
        "{e}"
    );
}
